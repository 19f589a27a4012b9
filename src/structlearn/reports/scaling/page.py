"""The report of a study: a page with pictures and tables, and all numbers as CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from structlearn.reports.comparison import write_csv
from structlearn.reports.machine import machine
from structlearn.reports.page import Page
from structlearn.reports.plots import save_both
from structlearn.reports.scaling.analysis import Exponent, growth
from structlearn.reports.scaling.figures import study_figures
from structlearn.reports.scaling.grid import Cell, known_lambdas
from structlearn.reports.scaling.measure import Effort
from structlearn.reports.scaling.results import FAILED, NOT_RUN, Results
from structlearn.reports.tables import brief, size
from structlearn.storage.atomic import atomic_write

_LEAD = (
    "What it takes each solver to come to a duality gap, over the number of examples n and the "
    "regularisation lambda. All solvers minimise the same function of the weights, from the same start."
)
_HOW = (
    "Gaps are absolute: the primal value minus the solver's own dual bound. Costs are shares, so that the "
    "primal value of zero weights is about 1 (alignment: 4.5). Seconds are those of the processor in "
    "training, the evaluations of the gap included, without compilation and without reading and laying out "
    "the data. Memory is the peak above what the process held before. Each cell is one run in a process of "
    'its own, with one thread and one seed. "> 12" means: not reached in 12 seconds. What a solver did not '
    'reach it does not try again with more examples: "skipped". A star marks exponents of solvers that did '
    "not come there with all sizes."
)
_ALT = {
    "time": "Processor seconds to each gap against the number of examples, on logarithmic axes",
    "winners": "The quickest solver for each number of examples and each lambda",
}
_CAPTION = {
    "time": "Processor seconds against the number of examples, both on logarithmic axes. In the corner of "
    "each panel are the exponents of fitted lines: n^1 doubles with twice the examples. Arrows: not reached.",
    "winners": "The solver with the fewest processor seconds, of those that were run; none: no solver came "
    "there in its time.",
}
_show = partial(brief, digits=2)


def write_study(studies: Sequence[Results], out: Path, *, about: Mapping[str, object]) -> Path:
    """Write index.html, the figures and the numbers of all problems into `out`; the path of the page."""
    rows = [row for results in studies for row in table(results)]
    write_csv(out / "table.csv", list(rows[0]), ([*row.values()] for row in rows))
    with atomic_write(out / "table.json") as aside:
        aside.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    page = Page("How solvers scale", _LEAD).text(_HOW)
    for results in studies:
        _add_problem(page, results, out)
    page.section("What was run").definitions(about)
    page.section("Where it was run").definitions(machine())
    page.text(
        "Beside this page: table.csv and table.json with a row for each cell; the pictures as PNG and SVG."
    )
    page.write(out / "index.html")
    return out / "index.html"


def table(results: Results) -> list[dict[str, object]]:
    """Return a row for each cell, run or not; what does not exist is None."""
    return [_row(results, cell) for cell in results.cells()]


def _row(results: Results, cell: Cell) -> dict[str, object]:
    one = results.get(cell)
    row: dict[str, object] = {
        "problem": results.problem,
        "solver": cell.solver,
        "n": cell.n,
        "lambda": cell.lam,
        "regularization": cell.regularization,
        "status": results.status(cell),
        "tol": one and one.tol,
        "limit": one and one.limit,
        "gap": one and one.gap,
        **_efforts("", None if one is None else one.end),
    }
    for gap in results.gaps:
        row.update(_efforts(f"_to_{gap:g}", results.effort(cell, gap)))
    row["sentence"] = one and one.sentence
    return row


def _efforts(suffix: str, took: Effort | None) -> dict[str, object]:
    values = dict.fromkeys(Effort._fields) if took is None else took._asdict()
    return {f"{name}{suffix}": value for name, value in values.items()}


def _add_problem(page: Page, results: Results, out: Path) -> None:
    page.section(results.problem).text(
        f"{results.what[:1].upper()}{results.what[1:]}. {count_cells(results)}"
    )
    for name, figure, narrow in study_figures(results):
        save_both(figure, out / f"{results.problem}-{name}")
        page.figure(out / f"{results.problem}-{name}.svg", _CAPTION[name], alt=_ALT[name], narrow=narrow)
    header, rows = exponent_table(results)
    page.table(
        header,
        rows,
        "Exponents b of CPU seconds ~ n^b, with their standard errors, and of oracle calls after the slash.",
        groups=_groups(results, 1, 2),
    )
    header, rows = seconds_table(results)
    page.table(header, rows, "CPU seconds to each gap.", groups=_groups(results, 2, len(results.sizes)))
    header, rows = whole_table(results)
    caption = f"With n = {results.sizes[-1]:,}: passes, oracle calls, CPU seconds and memory to each gap."
    page.table(header, rows, caption, groups=_groups(results, 2, 4))
    failed = {one.solver: one.sentence for one in results.found if one.status == FAILED}
    if failed:
        page.definitions(failed)


def _groups(results: Results, first: int, span: int) -> list[tuple[object, int]]:
    return [("", first), *((f"gap {gap:g}", span) for gap in results.gaps)]


def count_cells(results: Results) -> str:
    """Return how many cells have run, and what became of the others."""
    states = [results.status(cell) for cell in results.cells()]
    each = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    more = " Give more --minutes for those that were not run." if NOT_RUN in states else ""
    return f"{len(states)} cells: {each}.{more}"


def exponent_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return a row for each solver; for each gap the exponents at lambda = 0.01 and at 1/n."""
    shown = [lam for lam in ("0.01", "1/n") if lam in results.lambdas]
    rows = [
        [solver, *(_growth_said(results, solver, lam, gap) for gap in results.gaps for lam in shown)]
        for solver in results.solvers
    ]
    return ["solver", *(f"lambda {lam}" for lam in shown * len(results.gaps))], rows


def _growth_said(results: Results, solver: str, lam: str, gap: float) -> str:
    seconds = growth(results, solver, lam, gap)
    calls = growth(results, solver, lam, gap, "oracle_calls")
    return "–" if seconds is None else f"{_exponent_text(seconds)} / {_exponent_text(calls, error=False)}"


def _exponent_text(found: Exponent | None, *, error: bool = True) -> str:
    if found is None:
        return "–"
    more = f" ± {found.error:.2f}" if error else ""
    return f"{found.exponent:.2f}{more}{'' if found.whole or not error else ' *'}"


def seconds_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return a row for each lambda and solver, a column for each gap and size."""
    rows = []
    for lam in results.lambdas:
        for solver in results.solvers:
            cells = [Cell(solver, n, lam) if lam in known_lambdas(n) else None for n in results.sizes]
            said = [
                "" if one is None else results.seconds_text(one, gap, _show)
                for gap in results.gaps
                for one in cells
            ]
            rows.append([f"lambda {lam}", solver, *said])
    return ["", "solver", *(f"n {n:,}" for n in results.sizes * len(results.gaps))], rows


def whole_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return a table with all examples: passes, calls, seconds and memory to each gap."""
    n = results.sizes[-1]
    rows = []
    for lam in results.lambdas:
        for solver in results.solvers:
            cell = Cell(solver, n, lam)
            rows.append([f"lambda {lam}", solver, *_flat(_whole(results, cell, gap) for gap in results.gaps)])
    return ["", "solver", *(("passes", "calls", "seconds", "memory") * len(results.gaps))], rows


def _whole(results: Results, cell: Cell, gap: float) -> list[str]:
    took = results.effort(cell, gap)
    if took is None:
        return ["", "", results.seconds_text(cell, gap, _show), ""]
    return [brief(took.passes, 3), brief(took.oracle_calls), _show(took.cpu_seconds), size(took.memory_bytes)]


def _flat(parts: Iterable[list[str]]) -> list[str]:
    return [one for part in parts for one in part]
