"""What a study is over: solvers, numbers of examples, lambdas, gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from structlearn.core.registry import one_of
from structlearn.reports.comparison import named_solvers
from structlearn.solvers.registry import HINGE, solvers_for, whole_name

#: A solver's name and its options.
Named = tuple[str, Mapping[str, object]]
#: The solvers of a study unless others are named. Plain block-coordinate Frank-Wolfe is that of its paper:
#: one dense vector per example, one step per oracle call, no exact steps where a block would have them.
SOLVERS: dict[str, Named] = {
    "extragradient-plain": ("extragradient", {"variant": "plain"}),
    "extragradient": ("extragradient", {}),
    "stochastic-extragradient": ("stochastic-extragradient", {}),
    "fw": ("fw", {}),
    "bcfw-plain": ("bcfw", {"form": "dense", "exact": False}),
    "bcfw": ("bcfw", {}),
    "cutting-plane": ("cutting-plane", {}),
    "subgradient": ("subgradient", {}),
    "stochastic-subgradient": ("stochastic-subgradient", {}),
}
#: The smallest number of examples, and the name of the lambda that shrinks with their number.
FEWEST, PER_EXAMPLE = 100, "1/n"
#: A size is left out if the whole data is less than this many times as large.
_APART = 1.5


class Cell(NamedTuple):
    """One run of a study: a solver, a number of examples, a lambda (by its name: a number, or "1/n")."""

    solver: str
    n: int
    lam: str

    @property
    def regularization(self) -> float:
        """The lambda itself."""
        return 1.0 / self.n if self.lam == PER_EXAMPLE else float(self.lam)

    @property
    def run(self) -> Cell:
        """The cell that is run for it: with 100 examples 0.01 is the same as 1/n."""
        same = (
            self.lam != PER_EXAMPLE and self.lam not in lambdas(self.n) and self.lam in known_lambdas(self.n)
        )
        return self._replace(lam=PER_EXAMPLE) if same else self

    @property
    def file(self) -> str:
        """The name of the file that keeps its result."""
        return f"{self.solver}-{self.n}-{self.lam.replace('/', 'by')}.json"


def chosen_solvers(names: Sequence[str] | None) -> dict[str, Named]:
    """Return the solvers of a study, or those of these names: its own, or any that train the hinge."""
    if names is None:
        return SOLVERS
    if not names:
        raise ValueError("There is no solver to compare; name at least one.")
    known = {**{name: (name, {}) for name in solvers_for(HINGE)}, **SOLVERS}
    whole = [one_of("solver", whole_name(str(name)), known) for name in named_solvers(names)]
    return {name: known[name] for name in whole}


def sample_sizes(total: int, largest: int | None = None) -> list[int]:
    """Return numbers of examples: 100, 300, 1000, 3000, ..., and all; or as many as `largest`."""
    most = total if largest is None else min(total, largest)
    digits = len(str(most))
    grid = [first * 10**power for power in range(2, digits) for first in (1, 3)]
    return [*(n for n in grid if _APART * n <= most), most]


def lambdas(n: int) -> list[str]:
    """Return the names of lambdas: 1, 0.1, 0.01, ... as long as they are above 1/n; then 1/n."""
    powers = range(len(str(n)))
    return [*(f"{10.0**-power:g}" for power in powers if 10**power < n), PER_EXAMPLE]


def known_lambdas(n: int) -> list[str]:
    """Return the names of `lambdas`, and the number that 1/n is, if it is one of the other powers of ten."""
    whole = str(n).strip("0") == "1"
    return [*lambdas(n)[:-1], *([f"{1.0 / n:g}"] if whole else []), PER_EXAMPLE]


def cells(solvers: Sequence[str], n: int) -> list[Cell]:
    """Return all cells of a size; small lambdas first, which matter most if time runs out."""
    return [Cell(solver, n, lam) for lam in reversed(lambdas(n)) for solver in solvers]
