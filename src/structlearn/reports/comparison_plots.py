"""The figures of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from structlearn.core.contract import Array
from structlearn.reports.comparison import Comparison
from structlearn.reports.plots import (
    MEASURES,
    add_grid,
    draw_line,
    explain_lines,
    log_scale,
    look_of,
    panels,
    smallest_step,
)
from structlearn.reports.runs import Run

#: From a run to its values at each evaluation.
Curve = Callable[[Run], Array]


def comparison_figures(comparison: Comparison, error_name: str) -> Iterator[tuple[str, Figure, Figure]]:
    """Make named figures, also for narrow screens: the gap, the values and, if there is a test, its error."""
    gap = partial(
        _by_measure, comparison, lambda run: run.history.gap, "gap = primal - dual", tol=comparison.tol
    )
    error = partial(_by_measure, comparison, lambda run: np.array(run.errors), error_name, log=False)
    draws = {"gap": gap, "values": partial(_values, comparison)} | (
        {"error": error} if comparison.tested else {}
    )
    for name, draw in draws.items():
        yield name, draw(), draw(stacked=True)


def _by_measure(
    comparison: Comparison,
    curve: Curve,
    label: str,
    *,
    log: bool = True,
    tol: float = 0.0,
    stacked: bool = False,
) -> Figure:
    """Draw one curve per solver against passes, oracle calls and seconds, side by side or in a column."""
    row = panels(1, len(MEASURES), 4.6, stacked=stacked, width=13)[0]
    for axes, measure in zip(row, MEASURES, strict=True):
        if axes is not row[0]:
            axes.sharey(row[0])
        lines = _draw(axes, comparison, measure, curve)
        if log:
            log_scale(axes, [curve(run) for run in comparison.values()])
        if tol > 0:
            axes.axhline(tol, color="0.5", linewidth=0.8, linestyle=":")
        named = stacked or axes is row[0]
        axes.set_ylabel(label if named else "")
        axes.tick_params(labelleft=named)
    return explain_lines(row[0].figure, dict(zip(comparison, lines)), stacked=stacked)


def _values(comparison: Comparison, *, stacked: bool = False) -> Figure:
    """Draw how far the primal values are above the best bound, then the values and all bounds."""
    above, values = panels(1, 2, 4.6, stacked=stacked, width=13)[0]
    best = comparison.best_dual
    lines = _draw(above, comparison, "passes", lambda run: run.history.primal - best)
    log_scale(above, [run.history.primal - best for run in comparison.values()])
    above.set_ylabel("primal - best dual bound of all solvers")
    _draw(values, comparison, "passes", lambda run: run.history.primal)
    _draw(values, comparison, "passes", lambda run: run.history.dual, linestyle="--")
    values.set_ylabel("objective")
    return explain_lines(above.figure, dict(zip(comparison, lines)), values, stacked=stacked)


def _draw(
    axes: Axes, comparison: Comparison, measure: str, curve: Curve, linestyle: str = "-"
) -> list[Line2D]:
    lines = [
        draw_line(axes, run.history[measure], curve(run), linestyle=linestyle, **look_of(number))
        for number, run in enumerate(comparison.values())
    ]
    step = smallest_step((run.history for run in comparison.values()), measure)
    axes.set_xscale("symlog", linthresh=step)  # zero, where runs start, has its place
    axes.set_xlim(left=0)
    axes.set_xticks([tick for tick in axes.get_xticks() if tick == 0 or step <= tick <= axes.get_xlim()[1]])
    axes.set_xlabel(f"{MEASURES[measure]}, log scale")
    add_grid(axes)
    return lines
