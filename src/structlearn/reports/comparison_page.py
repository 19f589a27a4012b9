"""The report of a comparison: one page with charts to touch, the figures, and the numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from structlearn.reports.comparison import EFFORTS, GAPS, Comparison
from structlearn.reports.comparison_plots import comparison_figures
from structlearn.reports.machine import machine
from structlearn.reports.page import Page
from structlearn.reports.plots import MEASURES, save_figure
from structlearn.reports.runs import Run
from structlearn.reports.tables import brief, size
from structlearn.storage.atomic import make_folder

_EFFORTS = dict(zip(EFFORTS, ("passes", "calls", "seconds"), strict=True))
_LEAD = "{n} solvers on the same objective, from the same start, with the same seed and stopping rule."
_CERTIFICATE = (
    "Each solver minimises the same function of the weights, the primal value. Each also gives a dual "
    "value, a proven lower bound on the primal value of any weights whatever. The gap between the two "
    "bounds how far from the optimum the weights are, without anyone knowing the optimum. The best bound "
    "that any of the solvers found is {best:.6g}; a primal value above it by 0.01 is at most 0.01 above "
    "the optimum."
)
_CHARTS = (
    "Point at a curve for its numbers, or press a solver's name to hide it and show it again. Both axes "
    "of the gap are logarithmic: a straight line down means that each tenth of the gap costs the same "
    "multiple of the effort. Seconds are those of training alone, without compilation and without "
    "testing."
)
_NEAR = (
    "Passes over the data, oracle calls and seconds at the first evaluation with a gap of at most 0.1, "
    "0.01 and 0.001; a dash where the solver never came so close. A pass is as many oracle calls as there"
    " are examples. Gaps are evaluated after each of the first passes and more rarely later, so these "
    "figures are a little high."
)
_END = (
    "Where each solver ended. Memory is the peak during training above what the process held before it, "
    "measured {where}; testing is not counted."
)
_WHERE = {
    True: "in a process of each solver's own",
    False: "in one process for all solvers (use --separate, or separate=True, for one each)",
}
_ALT = {
    "gap": "Curves of the duality gap of each solver against passes, oracle calls and seconds",
    "values": "Curves of the primal and dual values of each solver",
    "error": "Curves of the test error of each solver against passes, oracle calls and seconds",
}
_FILES = {
    "curves.csv": "every evaluation of every solver",
    "table.csv": "the two tables",
    "gap, values, error": "the curves as .png and .svg (error only where there is a test)",
}


def write_report(
    comparison: Comparison, out: str | Path, *, title: str, about: Mapping[str, Any], error_name: str
) -> Path:
    """Write index.html, the figures and the numbers into the folder `out`; the path of the page."""
    out = make_folder(out)
    comparison.to_csv(out / "curves.csv")
    comparison.table_to_csv(out / "table.csv")
    figures = []
    for name, figure in comparison_figures(comparison, error_name):
        save_figure(figure, out / f"{name}.png")
        save_figure(figure, out / f"{name}.svg")
        figures.append(name)
    page = Page(title, _LEAD.format(n=len(comparison)), style=_resource("comparison.css"))
    _add_charts(page, comparison, out, figures, error_name)
    _add_tables(page, comparison, error_name)
    _add_setting(page, comparison, about)
    page.write(out / "index.html")
    return out / "index.html"


def _add_charts(page: Page, comparison: Comparison, out: Path, figures: list[str], error_name: str) -> None:
    page.text(_CERTIFICATE.format(best=comparison.best_dual))
    page.section("The way to the optimum").text(_CHARTS)
    page.script(_resource("comparison.js"), chart_data(comparison, error_name))
    for name in figures:
        page.figure(out / f"{name}.svg", "", alt=_ALT[name], fallback=True)


def _add_tables(page: Page, comparison: Comparison, error_name: str) -> None:
    rows = comparison.table()
    page.section("What it took to come close")
    header = ["solver", *(name for _ in GAPS for name in _EFFORTS.values())]
    groups = [("", 1), *((f"gap {gap:g}", len(_EFFORTS)) for gap in GAPS)]
    near = [
        [row["solver"], *(brief(row[f"{effort}_to_{gap:g}"], 3) for gap in GAPS for effort in _EFFORTS)]
        for row in rows
    ]
    page.table(header, near, _NEAR, groups=groups)
    page.section("Where each solver ended")
    header = ["solver", "gap", "primal", "dual", "passes", "calls", "seconds"]
    header += [error_name] if comparison.tested else []
    where = _WHERE[bool(comparison.parameters.get("separate"))]
    ended = [_end(row, comparison.tested) for row in rows]
    page.table([*header, "memory"], ended, _END.format(where=where))
    page.definitions({name: _fate(run) for name, run in comparison.items()})


def _end(row: Mapping[str, Any], tested: bool) -> list[str]:
    values = [brief(row[name], 3) for name in ("gap",)]
    values += [brief(row[name], 6) for name in ("primal", "dual")]
    values += [brief(row[name], 3) for name in EFFORTS]
    values += [brief(row["test_error"])] if tested else []
    return [row["solver"], *values, size(row["memory_bytes"])]


def _fate(run: Run) -> str:
    """The status of a run; and whether its problem was a relaxation."""
    relaxed = (
        "" if run.certificate.exact else " The oracle is a relaxation, whose problem is the one certified."
    )
    return run.certificate.status + relaxed


def _add_setting(page: Page, comparison: Comparison, about: Mapping[str, Any]) -> None:
    page.section("What was run")
    parameters = {name: _plain(value) for name, value in comparison.parameters.items()}
    page.definitions({**about, **parameters}).section("Where it was run").definitions(machine())
    page.text("Beside this page:").definitions(_FILES)


def _plain(value: Any) -> str:
    """A parameter's value in a few words; an object's name without its address."""
    text = str(value)
    text = type(value).__name__ if " object at 0x" in text else text
    return text if len(text) <= 200 else f"{text[:200]} ..."


def chart_data(comparison: Comparison, error_name: str) -> dict[str, Any]:
    """What the page's script draws: for each run its columns, numbers that are not finite as null."""
    return {
        "measures": MEASURES,
        "tol": comparison.tol,
        "errorName": error_name if comparison.tested else "",
        "runs": [_columns(run, comparison.best_dual) for run in comparison.values()],
    }


def _columns(run: Run, best_dual: float) -> dict[str, Any]:
    names = (*EFFORTS, "primal", "dual", "gap")
    columns = {name: [float(value) for value in run.history[name]] for name in names}
    columns["above"] = [value - best_dual for value in columns["primal"]]
    columns["error"] = run.errors
    finite = {
        name: [value if math.isfinite(value) else None for value in values]
        for name, values in columns.items()
    }
    return {"name": run.name, "columns": finite}


def _resource(name: str) -> str:
    return files("structlearn.reports").joinpath(name).read_text(encoding="utf-8")
