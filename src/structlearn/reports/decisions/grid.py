"""What the study of decisions is over: problems, degrees, numbers of examples, noise, seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from structlearn.core.registry import one_of
from structlearn.data import DecisionData, make_knapsacks, make_shortest_paths

#: The losses that are compared, and their options; three draws of noise are those of PyEPO's notebooks.
METHODS: Mapping[str, Mapping[str, Any]] = {
    "spo+": {},
    "imitation": {},
    "perturbed": {"n_samples": 3},
    "two-stage": {},
}
#: Problems by name: what they are, and the sense of their costs.
PROBLEMS = {
    "paths": ("shortest paths on a grid of 5 x 5 nodes", "min"),
    "knapsack": ("knapsacks of two dimensions with 32 items", "max"),
}
#: Lambda, in units of what regularization="auto" is for the same data. They are tried in this order, until
#: `PATIENCE` in a row that are at most 1 are no better.
FACTORS = (100.0, 10.0, 1.0, 0.1, 0.01)
PATIENCE = 2
#: Examples on which regret is measured, and the share of n more on which lambda is chosen.
N_TEST, VALIDATION = 1000, 0.25


class DecisionCell(NamedTuple):
    """One data set of the study, on which all methods are trained."""

    problem: str
    degree: int
    noise: float
    n: int
    seed: int

    @property
    def file(self) -> str:
        """The name of the file that keeps its result."""
        return f"{self.problem}-{self.degree}-{self.noise:g}-{self.n}-{self.seed}.json"

    @property
    def n_validation(self) -> int:
        return max(int(VALIDATION * self.n), 10)

    def data(self) -> DecisionData:
        """Return examples to train, to validate and to test with, in this order."""
        size = self.n + self.n_validation + N_TEST
        if self.problem == "paths":
            return make_shortest_paths(size, degree=self.degree, noise=self.noise, random_state=self.seed)
        return make_knapsacks(
            size, dimensions=2, degree=self.degree, noise=self.noise, random_state=self.seed
        )


class DecisionGrid(NamedTuple):
    """All data sets of a study."""

    problems: Sequence[str] = tuple(PROBLEMS)
    degrees: Sequence[int] = (1, 2, 4, 6)
    noises: Sequence[float] = (0.0, 0.5)
    sizes: Sequence[int] = (100, 1000, 5000)
    seeds: Sequence[int] = tuple(range(10))

    def cells(self) -> Iterator[DecisionCell]:
        """Return the data sets, small ones first."""
        for n, seed, problem, degree, noise in product(
            self.sizes, self.seeds, self.problems, self.degrees, self.noises
        ):
            yield DecisionCell(problem, degree, noise, n, seed)


def chosen_grid(
    problems: Sequence[str] | None, *, quick: bool, seeds: int | None, largest: int | None
) -> DecisionGrid:
    """Return the grid of the literature, or the part of it that is asked for."""
    whole = DecisionGrid(degrees=(1, 4), sizes=(100,), seeds=range(2)) if quick else DecisionGrid()
    if problems is not None:
        if not problems:
            raise ValueError("There is no problem to study; name at least one.")
        whole = whole._replace(problems=[one_of("problem", one, PROBLEMS) for one in problems])
    if seeds is not None:
        whole = whole._replace(seeds=range(seeds))
    sizes = [n for n in whole.sizes if largest is None or n <= largest]
    if not sizes:
        raise ValueError(f"The study begins with {whole.sizes[0]} examples; --largest is {largest}.")
    return whole._replace(sizes=sizes)
