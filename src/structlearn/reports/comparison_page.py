"""The report of a comparison: one page with charts to touch, the figures, and the numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from structlearn.reports.comparison import EFFORTS, GAPS, Comparison
from structlearn.reports.comparison_plots import comparison_figures
from structlearn.reports.machine import machine
from structlearn.reports.page import Page, embed
from structlearn.reports.plots import MEASURES, save_both
from structlearn.reports.runs import Run
from structlearn.reports.tables import brief, final_row
from structlearn.storage.atomic import make_folder

_EFFORTS = ("passes", "calls", "seconds")
_ALT = {
    "gap": "Curves of the duality gap of each solver against passes, oracle calls and seconds",
    "values": "Curves of the primal and dual values of each solver",
    "error": "Curves of the test error of each solver against passes, oracle calls and seconds",
}


def write_report(
    comparison: Comparison, out: str | Path, *, title: str, about: Mapping[str, object], error_name: str
) -> Path:
    """Write index.html, the figures and the numbers into the folder `out`; the path of the page."""
    out = make_folder(out)
    comparison.to_csv(out / "curves.csv")
    comparison.table_to_csv(out / "table.csv")
    figures = []
    for name, figure, narrow in comparison_figures(comparison, error_name):
        save_both(figure, out / name)
        figures.append((embed(out / f"{name}.svg"), _ALT[name], embed(narrow)))
    page = Page(
        title,
        f"{len(comparison)} solvers on the same objective, from the same start, with the same seed and "
        "stopping rule.",
        "comparison.html",
        best=comparison.best_dual,
        data=chart_data(comparison, error_name),
        figures=figures,
        near=_near(comparison),
        ended=_end_table(comparison, error_name),
        separate=bool(comparison.parameters.get("separate")),
        fates={name: _fate(run) for name, run in comparison.items()},
        setting={**about, **_setting(comparison.parameters)},
        machine=machine(),
    )
    page.write(out / "index.html")
    return out / "index.html"


def _near(comparison: Comparison) -> dict[str, object]:
    """Return the table of what it took to come close."""
    rows = []
    for name in comparison:
        took = [comparison.reached(name, gap) or {} for gap in GAPS]
        rows.append([name, *(brief(one.get(effort), 3) for one in took for effort in EFFORTS)])
    groups = [("", 1), *((f"gap {gap:g}", len(EFFORTS)) for gap in GAPS)]
    return {"header": ["solver", *(len(GAPS) * _EFFORTS)], "rows": rows, "groups": groups}


def _end_table(comparison: Comparison, error_name: str) -> dict[str, object]:
    """Return the table of where each solver ended."""
    columns = ["solver", "gap", "primal", "dual", *_EFFORTS, *(["error"] * comparison.tested), "memory"]
    rows = [[final_row(run)[name] for name in columns] for run in comparison.values()]
    return {"header": [error_name if name == "error" else name for name in columns], "rows": rows}


def _fate(run: Run) -> str:
    """Return the status of a run; and whether its problem was a relaxation."""
    relaxed = (
        "" if run.certificate.exact else " The oracle is a relaxation, whose problem is the one certified."
    )
    return run.certificate.status + relaxed


def _setting(parameters: Mapping[str, object]) -> dict[str, str]:
    """Return the parameters that were chosen: None stands for no choice."""
    return {name: _plain(value) for name, value in parameters.items() if value is not None}


def _plain(value: object) -> str:
    """Return a parameter's value in a few words; of an object, such as a transformer, its name."""
    text = str(value)
    text = type(value).__name__ if " object at 0x" in text or hasattr(value, "get_params") else text
    return text if len(text) <= 200 else f"{text[:200]} ..."


def chart_data(comparison: Comparison, error_name: str) -> dict[str, object]:
    """Return what the page's script draws: for each run its columns, numbers that are not finite as null."""
    return {
        "measures": MEASURES,
        "tol": comparison.tol,
        "errorName": error_name if comparison.tested else "",
        "runs": [_columns(run, comparison.best_dual) for run in comparison.values()],
    }


def _columns(run: Run, best_dual: float) -> dict[str, object]:
    names = (*EFFORTS, "primal", "dual", "gap")
    columns = {name: [float(value) for value in run.history[name]] for name in names}
    columns["above"] = [value - best_dual for value in columns["primal"]]
    columns["error"] = run.errors
    finite = {
        name: [value if math.isfinite(value) else None for value in values]
        for name, values in columns.items()
    }
    return {"name": run.name, "columns": finite}
