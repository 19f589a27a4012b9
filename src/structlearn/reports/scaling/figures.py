"""The pictures of a study: seconds against the number of examples, and who is quickest where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from structlearn.reports.plots import MARKERS, add_grid, panels
from structlearn.reports.scaling.analysis import growth, winner, without_winner
from structlearn.reports.scaling.grid import PER_EXAMPLE, Cell, known_lambdas
from structlearn.reports.scaling.results import Results
from structlearn.reports.tables import brief

#: One for each solver, and the colours of the page's curves.
COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#b0508a", "#b87f00"),
    *("#4d4d4d", "#3a96cc", "#8c510a", "#6a51a3", "#607d3b"),
)
#: The lambdas of the figure of seconds: one that stays, one that shrinks.
_SHOWN = ("0.01", PER_EXAMPLE)


def study_figures(results: Results) -> Iterator[tuple[str, Figure, Figure]]:
    """Yield the names of figures of one problem, the figures, and the same ones for narrow screens."""
    for name, draw in (("time", time_figure), ("winners", winner_figure)):
        yield name, draw(results), draw(results, stacked=True)


def colour_of(results: Results, solver: str) -> str:
    """Return the colour of a solver."""
    return COLOURS[results.solvers.index(solver) % len(COLOURS)]


# ---- seconds against n ------------------------------------------------------------------------------


def time_figure(results: Results, *, stacked: bool = False) -> Figure:
    """Draw seconds to each gap against n, with the exponents of fitted lines; one row per lambda shown."""
    shown = [lam for lam in _SHOWN if lam in results.lambdas]
    grid = panels(len(shown), len(results.gaps), 4.2, stacked=stacked, width=13, share=True)
    for row, lam in zip(grid, shown, strict=True):
        for axes, gap in zip(row, results.gaps, strict=True):
            for solver in results.solvers:
                _draw_times(axes, results, solver, lam, gap)
            axes.set_title(f"to gap {gap:g}, lambda = {lam}", fontsize=10)
            _explain_exponents(axes, results, lam, gap)
        for axes in row if stacked else row[:1]:
            axes.set_ylabel("CPU seconds")
    for axes in grid.ravel() if stacked else grid[-1]:
        axes.set_xlabel("examples n")
        axes.tick_params(labelbottom=True)
    _scale(list(grid.ravel()), results)
    figure: Figure = grid[0, 0].figure
    _name_solvers(figure, results, columns=2 if stacked else 5)
    return figure


def _draw_times(axes: Axes, results: Results, solver: str, lam: str, gap: float) -> None:
    """Draw a line through what was reached, an arrow head where a cell ran out of time."""
    look = _look(results, solver)
    cells = [Cell(solver, n, lam) for n in results.sizes if lam in known_lambdas(n)]
    reached = [(one.n, seconds) for one in cells if (seconds := results.seconds(one, gap)) is not None]
    if reached:
        axes.plot(*zip(*reached, strict=True), linewidth=1.4, **look)
    beyond = [(one.n, seconds) for one in cells if (seconds := results.beyond(one, gap)) is not None]
    if beyond:
        arrow = {**look, "marker": "$\\uparrow$", "markersize": 9, "linestyle": "none"}
        axes.plot(*zip(*beyond, strict=True), **arrow)
        if reached:
            axes.plot(
                *zip(reached[-1], beyond[0], strict=True), color=look["color"], linestyle=":", linewidth=1
            )


def _look(results: Results, solver: str) -> dict[str, Any]:
    number = results.solvers.index(solver)
    return {
        "color": colour_of(results, solver),
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 4.5,
    }


def _explain_exponents(axes: Axes, results: Results, lam: str, gap: float) -> None:
    """Draw a small table of exponents in the corner of a panel, the slowest growth first."""
    found = {solver: growth(results, solver, lam, gap) for solver in results.solvers}
    fitted = sorted((one.exponent, solver, one.whole) for solver, one in found.items() if one is not None)
    handles = [Line2D([], [], color=colour_of(results, solver), linewidth=2) for _, solver, _ in fitted]
    names = [f"n^{exponent:.2f}{'' if whole else ' *'}" for exponent, _, whole in fitted]
    if fitted:
        style = {"fontsize": 7.5, "loc": "lower right", "handlelength": 1.0, "labelspacing": 0.15}
        axes.legend(handles, names, framealpha=0.8, edgecolor="none", borderpad=0.2, **style)


def _scale(panels: Sequence[Axes], results: Results) -> None:
    for axes in panels:
        axes.set(xscale="log", yscale="log")
        axes.set_xticks(results.sizes, [f"{n:,}" for n in results.sizes], fontsize=8)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        left, right = results.sizes[0], results.sizes[-1]
        margin = max((right / left) ** 0.06, 1.2)
        axes.set_xlim(left / margin, right * margin)
        add_grid(axes)


def _name_solvers(figure: Figure, results: Results, columns: int) -> None:
    handles = [Line2D([], [], **_look(results, solver)) for solver in results.solvers]
    legend = figure.legend(
        handles, results.solvers, loc="outside lower center", ncols=min(len(handles), columns), frameon=False
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


# ---- the winner over n and lambda -------------------------------------------------------------------


def winner_figure(results: Results, *, stacked: bool = False) -> Figure:
    """Return a map for each gap.

    In the place of a number of examples and a lambda, the quickest solver's colour.
    """
    width = max(3 * (0.85 * len(results.sizes)) + 1.6, 9)
    height = 0.62 * len(results.lambdas) + 1.3
    row = panels(1, len(results.gaps), height, stacked=stacked, width=width, share=True)[0]
    for axes, gap in zip(row, results.gaps, strict=True):
        _draw_map(axes, results, gap)
        axes.set_title(f"to gap {gap:g}", fontsize=10)
        axes.set_xlabel("examples n")
        axes.tick_params(labelbottom=True)
    for axes in row if stacked else row[:1]:
        axes.set_ylabel("lambda")
    figure: Figure = row[0].figure
    return figure


def _draw_map(axes: Axes, results: Results, gap: float) -> None:
    names = results.lambdas
    for column, n in enumerate(results.sizes):
        known = known_lambdas(n)
        for row, lam in enumerate(names):
            _draw_place(axes, results, (column, row), gap, Cell("", n, lam) if lam in known else None)
    axes.set(xlim=(-0.5, len(results.sizes) - 0.5), ylim=(len(names) - 0.5, -0.5))
    axes.set_xticks(range(len(results.sizes)), [f"{n:,}" for n in results.sizes], fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _draw_place(axes: Axes, results: Results, place: tuple[int, int], gap: float, cell: Cell | None) -> None:
    """Write the winner's name and seconds in its colour; if there is none, why; nothing where no cell is."""
    if cell is None:
        return
    best = winner(results, cell.n, cell.lam, gap)
    colour = "0.85" if best is None else colour_of(results, best.solver)
    corner = (place[0] - 0.48, place[1] - 0.47)
    axes.add_patch(Rectangle(corner, 0.96, 0.94, facecolor=colour, edgecolor="none"))
    if best is None:
        text = without_winner(results, cell.n, cell.lam, gap)
    else:
        text = f"{_wrap_name(best.solver)}\n{brief(best.cpu_seconds, 2)} s"
    ink = "white" if best is not None and _is_dark(colour) else "black"
    axes.text(*place, text, ha="center", va="center", fontsize=6.6, color=ink, parse_math=False)


def _wrap_name(name: str) -> str:
    """Return a name in at most two lines."""
    first, dash, rest = name.partition("-")
    return f"{first}{dash}\n{rest}" if len(name) > 13 and rest else name


def _is_dark(colour: str) -> bool:
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return bool(np.dot((0.299, 0.587, 0.114), (red, green, blue)) < 150)
