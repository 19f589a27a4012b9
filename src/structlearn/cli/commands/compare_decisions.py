"""`structlearn compare decisions`: losses that are trained for the decision beside regression."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from structlearn.cli.support.errors import say
from structlearn.cli.support.options import option, switch

if TYPE_CHECKING:
    from structlearn.reports.decisions.grid import DecisionGrid

DECISIONS = "decisions"


@dataclass(frozen=True)
class DecisionStudyOptions:
    """Which part of the grid is run."""

    out: Annotated[Path, option("DIR", "Folder for the report.")]
    problems: Annotated[str | None, option("A,B", "paths, knapsack.  [default: both]", "--problem")] = None
    quick: Annotated[bool, switch("--quick", "Degrees 1 and 4, 100 examples, two seeds: half a minute.")] = (
        False
    )
    seeds: Annotated[int | None, option("N", "Seeds.  [default: 10]", min=1)] = None
    largest: Annotated[int | None, option("N", "Most examples.  [default: 5,000]", min=1)] = None

    def grid(self) -> DecisionGrid:
        """Return the data sets of the study."""
        from structlearn.reports.decisions.grid import chosen_grid

        given = self.problems
        names = None if given is None else [n.strip() for n in given.split(",") if n.strip()]
        return chosen_grid(names, quick=self.quick, seeds=self.seeds, largest=self.largest)


def study_decisions(wanted: DecisionStudyOptions, jobs: int) -> None:
    """Run the study, or what is left of it, and write its report."""
    from structlearn.core.wording import align_columns
    from structlearn.reports.decisions.grid import METHODS
    from structlearn.reports.decisions.page import grouped, table_rows, write_decisions
    from structlearn.reports.decisions.study import run_cells
    from structlearn.storage.atomic import check_writable, make_folder

    if jobs < 1:
        raise ValueError(f"--jobs must be at least 1 here, a number of processes; got {jobs}.")
    grid = wanted.grid()
    cells = list(grid.cells())
    check_writable(make_folder(wanted.out) / "index.html")
    say(f"{len(cells)} data sets, {len(METHODS)} methods each, {jobs} at once.")
    try:
        results = run_cells(cells, wanted.out, jobs, say)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Interrupted: data sets that have ended are kept in {wanted.out}; the same command goes on."
        ) from None
    about = {name: ", ".join(map(str, values)) for name, values in grid._asdict().items()}
    page = write_decisions(results, wanted.out, about)
    groups = grouped(results)
    shown = [(one.problem, *row) for one, row in zip(groups, table_rows(groups), strict=True)]
    print(align_columns([("problem", "noise", "n", "degree", *METHODS, "SPO+ saves"), *shown]))
    print(f"\npage: {page}")
