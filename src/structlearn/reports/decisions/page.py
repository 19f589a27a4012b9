"""The report of the study of decisions: a page with pictures and tables, and all numbers as CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from structlearn.core.contract import Array
from structlearn.reports.comparison import write_csv
from structlearn.reports.decisions.grid import FACTORS, METHODS, N_TEST, PROBLEMS
from structlearn.reports.decisions.study import DecisionResult
from structlearn.reports.machine import machine
from structlearn.reports.page import Page
from structlearn.reports.plots import COLOURS, MARKERS, add_grid, panels, save_both
from structlearn.storage.atomic import atomic_write

_LEAD = (
    "Costs are predicted, then something is decided by them. How much more do these decisions cost than the "
    "best ones, if the model is trained for the decision, and if it is trained for the costs?"
)
_HOW = (
    "Data is that of the literature (Elmachtoub and Grigas 2022; Tang and Khalil 2024): costs are a "
    "polynomial of five Gaussian features, times noise. Models are linear, so that they are right at degree "
    f"1 alone. Regret is normalised, in per cent, on {N_TEST:,} examples that training does not see. Lambda "
    f"is the one of up to {len(FACTORS)} with the least regret on n/4 further examples; alpha only rescales "
    "lambda here. Means and standard deviations are over seeds, each of which draws coefficients of its own. "
    "CPU seconds are those of all fits."
)
_CAPTION = (
    "Mean normalised regret, in per cent, against the degree of the polynomial; bars are standard deviations "
    "over seeds."
)


class Group(NamedTuple):
    """Data sets that differ in their seed alone: regrets in per cent and CPU seconds, (seeds, methods)."""

    problem: str
    degree: int
    noise: float
    n: int
    regrets: Array
    seconds: Array

    @property
    def saved(self) -> tuple[float, float]:
        """How much less regret SPO+ has than two-stage: the mean over seeds, and its standard error."""
        names = list(METHODS)
        less = self.regrets[:, names.index("two-stage")] - self.regrets[:, names.index("spo+")]
        error = less.std(ddof=1) / np.sqrt(less.size) if less.size > 1 else np.nan
        return float(less.mean()), float(error)


def write_decisions(results: Sequence[DecisionResult], out: Path, about: Mapping[str, object]) -> Path:
    """Write index.html, the figures and the numbers into `out`; return the path of the page."""
    rows = [{**one.cell._asdict(), **method._asdict()} for one in results for method in one.methods]
    write_csv(out / "table.csv", list(rows[0]), ([*row.values()] for row in rows))
    with atomic_write(out / "table.json") as aside:
        aside.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    groups = grouped(results)
    page = Page("Decisions", _LEAD).text(_HOW)
    for problem in dict.fromkeys(one.problem for one in groups):
        _add_problem(page, problem, [one for one in groups if one.problem == problem], out)
    page.section("What was run").definitions(about)
    page.section("Where it was run").definitions(machine())
    page.text(
        "Beside this page: table.csv and table.json with a row for each method and data set; the pictures."
    )
    page.write(out / "index.html")
    return out / "index.html"


def grouped(results: Iterable[DecisionResult]) -> list[Group]:
    """Put the data sets together that differ in their seed alone, in order."""
    found: dict[tuple[str, float, int, int], list[DecisionResult]] = {}
    for one in results:
        cell = one.cell
        found.setdefault((cell.problem, cell.noise, cell.n, cell.degree), []).append(one)
    order = {name: k for k, name in enumerate(PROBLEMS)}
    return [
        Group(problem, degree, noise, n, *_numbers(found[problem, noise, n, degree]))
        for problem, noise, n, degree in sorted(found, key=lambda key: (order[key[0]], *key[1:]))
    ]


def _numbers(results: Sequence[DecisionResult]) -> tuple[Array, Array]:
    by_method = [{one.method: one for one in result.methods} for result in results]
    regrets = [[100 * one[name].test_regret for name in METHODS] for one in by_method]
    return np.array(regrets), np.array([[one[name].cpu_seconds for name in METHODS] for one in by_method])


def _add_problem(page: Page, problem: str, groups: Sequence[Group], out: Path) -> None:
    what = PROBLEMS[problem][0]
    page.section(problem).text(f"{what[:1].upper()}{what[1:]}.")
    figure, narrow = (regret_figure(groups, stacked=stacked) for stacked in (False, True))
    save_both(figure, out / problem)
    page.figure(out / f"{problem}.svg", _CAPTION, alt=_CAPTION, narrow=narrow)
    page.table(
        ["noise", "n", "degree", *METHODS, "SPO+ saves"],
        table_rows(groups),
        "Mean normalised regret ± standard deviation over seeds, in per cent; a star marks the least. Last: "
        "two-stage minus SPO+ on the same data, ± its standard error.",
    )
    page.table(
        ["n", *METHODS],
        [[f"{n:,}", *(f"{one:.2g}" for one in seconds)] for n, seconds in _seconds(groups)],
        "CPU seconds per data set, all fits and their validation included.",
    )


def table_rows(groups: Sequence[Group]) -> list[list[str]]:
    """Return a row for each group: its data, and the regret of each method."""
    rows = []
    for one in groups:
        means = one.regrets.mean(axis=0)
        spreads = one.regrets.std(axis=0, ddof=1) if len(one.regrets) > 1 else np.full_like(means, np.nan)
        regrets = [
            _with_spread(mean, spread) + (" *" if k == means.argmin() else "")
            for k, (mean, spread) in enumerate(zip(means, spreads, strict=True))
        ]
        rows.append([f"{one.noise:g}", f"{one.n:,}", str(one.degree), *regrets, _with_spread(*one.saved)])
    return rows


def _with_spread(mean: float, spread: float) -> str:
    return f"{mean:.2f}" if np.isnan(spread) else f"{mean:.2f} ± {spread:.2f}"


def _seconds(groups: Sequence[Group]) -> list[tuple[int, Array]]:
    sizes = sorted({one.n for one in groups})
    return [(n, np.concatenate([one.seconds for one in groups if one.n == n]).mean(axis=0)) for n in sizes]


def regret_figure(groups: Sequence[Group], *, stacked: bool = False) -> Figure:
    """Draw regret against degree, a line for each method, a panel for each noise and number of examples."""
    noises, sizes = (sorted({getattr(one, name) for one in groups}) for name in ("noise", "n"))
    grid = panels(len(noises), len(sizes), 3.6, stacked=stacked, width=4.2 * len(sizes) + 0.6)
    for row, noise in zip(grid, noises, strict=True):
        for axes, n in zip(row, sizes, strict=True):
            here = [one for one in groups if one.noise == noise and one.n == n]
            degrees = [one.degree for one in here]
            for k, name in enumerate(METHODS):
                values = np.stack([one.regrets[:, k] for one in here])
                spread = values.std(axis=1, ddof=1) if values.shape[1] > 1 else None
                shift = 0.06 * (k - 1.5)  # so that bars can be told apart
                axes.errorbar(
                    np.add(degrees, shift), values.mean(axis=1), spread, capsize=2, **_look(k, name)
                )
            axes.set_title(f"n = {n:,}, noise {noise:g}", fontsize=10)
            axes.set_xticks(degrees)
            axes.set_ylim(bottom=0)
            axes.set(xlabel="degree", ylabel="regret, per cent")
            add_grid(axes)
    figure: Figure = grid[0, 0].figure
    handles = [Line2D([], [], **_look(k, name)) for k, name in enumerate(METHODS)]
    figure.legend(
        handles, list(METHODS), loc="outside lower center", ncols=2 if stacked else 4, frameon=False
    )
    return figure


def _look(k: int, name: str) -> dict[str, Any]:
    return {"color": COLOURS[k], "marker": MARKERS[k], "markersize": 4.5, "linewidth": 1.4, "label": name}
