"""The results of a study of one problem: what is kept of each cell, and what became of those never run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from structlearn.reports.scaling.grid import Cell, cells, lambdas
from structlearn.reports.scaling.measure import Effort

REACHED, OUT_OF_TIME, STOPPED, FAILED = "reached", "out of time", "stopped", "failed"
#: What no record is of.
SKIPPED, NOT_RUN = "skipped", "not run"


@dataclass(frozen=True)
class CellResult:
    """What became of a cell.

    status : "reached" (the last gap it was to reach), "out of time", "stopped" (by the solver itself) or
        "failed" (refused, or its process ended early)
    sentence : why it ended
    tol : the smallest gap that it was to reach
    limit : processor seconds that it had
    gap, end : where it ended; None if it failed
    reached : what each gap took, by the gap; None for one that was not reached
    seconds : by the clock, with the start of its process and the loading of data
    """

    solver: str
    n: int
    lam: str
    status: str
    sentence: str
    tol: float
    limit: float
    gap: float | None
    end: Effort | None
    reached: dict[float, Effort | None]
    seconds: float

    @property
    def cell(self) -> Cell:
        return Cell(self.solver, self.n, self.lam)

    def to_json(self) -> dict[str, object]:
        """Return it in the form that a file keeps."""
        found = asdict(self)
        found["end"] = None if self.end is None else self.end._asdict()
        found["reached"] = {f"{gap:g}": took and took._asdict() for gap, took in self.reached.items()}
        return found

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> CellResult:
        """Return what `to_json` gave; ValueError or KeyError for anything else."""
        end = None if found["end"] is None else Effort(**found["end"])
        reached = {float(gap): took and Effort(**took) for gap, took in found["reached"].items()}
        return cls(**{**found, "end": end, "reached": reached})


class Results:
    """The cells of one problem, by solver, number of examples and lambda.

    Parameters
    ----------
    problem, what : its name, and what it is in words
    solvers, sizes, gaps : what the study is over; gaps from large to small
    found : the results that there are
    """

    def __init__(
        self,
        problem: str,
        what: str,
        solvers: Sequence[str],
        sizes: Sequence[int],
        gaps: Sequence[float],
        found: Sequence[CellResult] = (),
    ) -> None:
        self.problem, self.what = problem, what
        self.solvers, self.sizes, self.gaps = list(solvers), list(sizes), list(gaps)
        self._found = {one.cell: one for one in found}

    def __getitem__(self, cell: Cell) -> CellResult:
        return self._found[cell.run]

    def __contains__(self, cell: object) -> bool:
        return isinstance(cell, Cell) and cell.run in self._found

    def get(self, cell: Cell) -> CellResult | None:
        """Return the result of a cell; None if it has not run."""
        return self._found.get(cell.run)

    def add(self, one: CellResult) -> None:
        self._found[one.cell] = one

    @property
    def found(self) -> list[CellResult]:
        return list(self._found.values())

    @property
    def lambdas(self) -> list[str]:
        """Names of all lambdas, from large to small; 1/n last."""
        return lambdas(self.sizes[-1])

    def cells(self) -> Iterator[Cell]:
        """All cells, whether they have run or not."""
        for n in self.sizes:
            yield from cells(self.solvers, n)

    def targets(self, cell: Cell) -> list[float]:
        """Return the gaps that a cell is to reach: those that its solver reached at the next smaller size.

        What a solver had no time for with fewer examples it need not try with more.
        """
        before = self._before(cell)
        if before is None:
            return self.gaps
        return [gap for gap in self.gaps if before.reached.get(gap) is not None]

    def _before(self, cell: Cell) -> CellResult | None:
        """Return the result at the next smaller size, with the same solver and lambda."""
        smaller = (self.get(cell._replace(n=n)) for n in reversed(self.sizes) if n < cell.n)
        return next((one for one in smaller if one is not None), None)

    def effort(self, cell: Cell, gap: float) -> Effort | None:
        """Return what the gap took; None where it was not reached."""
        one = self.get(cell)
        return None if one is None else one.reached.get(gap)

    def seconds(self, cell: Cell, gap: float) -> float | None:
        """Return processor seconds to a gap."""
        took = self.effort(cell, gap)
        return None if took is None else took.cpu_seconds

    def beyond(self, cell: Cell, gap: float) -> float | None:
        """Return processor seconds after which the gap was not reached; None if that was not tried."""
        one = self.get(cell)
        if one is None or one.end is None or gap < one.tol or self.effort(cell, gap) is not None:
            return None
        return one.end.cpu_seconds

    def status(self, cell: Cell) -> str:
        """Return what became of a cell."""
        one = self.get(cell)
        if one is not None:
            return one.status
        return NOT_RUN if self.targets(cell) else SKIPPED

    def seconds_text(self, cell: Cell, gap: float, show: Callable[[float], str]) -> str:
        """Return seconds to a gap: "1.2", "> 12" if it was not reached in 12, or why there are none."""
        seconds, beyond = self.seconds(cell, gap), self.beyond(cell, gap)
        if seconds is not None:
            return show(seconds)
        if beyond is not None:
            return f"> {show(beyond)}"
        failed = cell in self and self[cell].status == FAILED
        return FAILED if failed else NOT_RUN if gap in self.targets(cell) else SKIPPED
