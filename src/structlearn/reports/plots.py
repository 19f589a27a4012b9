"""Figures, drawn with matplotlib's objects alone: no display, no global state, safe in threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from structlearn.core.contract import Array
from structlearn.core.wording import shorten
from structlearn.solvers import History
from structlearn.storage.atomic import atomic_write

#: Okabe and Ito's colours, which people with any colour vision can tell apart (without the yellow, too pale).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v")
WRONG = "#D55E00"
DPI = 150
#: The width of figures for narrow screens, in inches.
NARROW = 5.2
#: With at most `MOST_NUMBERS` classes, each cell shows its number; with `MOST_TICKS`, each class its tick.
MOST_NUMBERS, MOST_TICKS = 12, 60
_LONGEST_NAME = 50
Labels = Sequence[object] | Array
#: What progress can be measured in, and how the axis is named.
MEASURES = {
    "passes": "passes over the data",
    "seconds": "seconds (without compilation)",
    "oracle_calls": "oracle calls",
}


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure, whole or not at all, in the format that the ending of `path` names (.png, .svg ...)."""
    path = Path(path)
    with atomic_write(path) as aside:
        figure.savefig(aside, format=path.suffix.removeprefix(".") or "png", dpi=DPI)


def save_both(figure: Figure, path: Path) -> None:
    """Write a figure as .png and as .svg."""
    for kind in (".png", ".svg"):
        save_figure(figure, path.with_name(path.name + kind))


def new_figure(width: float, height: float) -> Figure:
    """Make a white figure of this many inches, with a canvas of its own."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def panels(
    rows: int, columns: int, height: float, *, stacked: bool = False, width: float = 10, share: bool = False
) -> Array:
    """Make the axes of a new figure, (rows, columns): side by side, or in one column for narrow screens.

    height : of a row, in inches
    width : of all columns that are side by side
    share : whether all have the same scales
    """
    shape = (rows * columns, 1) if stacked else (rows, columns)
    figure = new_figure(NARROW, (height - 0.6) * shape[0]) if stacked else new_figure(width, height * rows)
    return figure.subplots(*shape, squeeze=False, sharex=share, sharey=share).reshape(rows, columns)


def _save_if_asked(figure: Figure, path: str | Path | None) -> Figure:
    if path is not None:
        save_figure(figure, path)
    return figure


def _plain(texts: Iterable[Text]) -> None:
    """Show texts that come from data letter by letter: a dollar sign starts no formula."""
    for text in texts:
        text.set_parse_math(False)


# ---- the way to the optimum ------------------------------------------------------------------------


def plot_history(
    histories: History | Mapping[str, History],
    path: str | Path | None = None,
    x: str = "passes",
    *,
    stacked: bool = False,
) -> Figure:
    """Plot the gap on a logarithmic scale and, beside it, primal values with dual bounds below them.

    Parameters
    ----------
    histories : History, or mapping from names to histories
        One training run, or several to compare.
    path : str or Path, optional
        Where to write the figure.
    x : {"passes", "seconds", "oracle_calls"}
        What progress is measured in.
    stacked : bool
        Whether the axes are below each other, for narrow screens.

    Returns
    -------
    figure : matplotlib Figure
        Two axes: the gap, one line a run; and two lines a run, the primal solid and the dual dashed.

    """
    if x not in MEASURES:
        raise ValueError(f"x must be one of {', '.join(map(repr, MEASURES))}; got {x!r}.")
    named = histories if isinstance(histories, Mapping) else {"": histories}
    if not named:
        raise ValueError("There is no history to plot.")
    gaps, values = panels(1, 2, 4.2 if len(named) == 1 else 4.6, stacked=stacked)[0]
    lines = [_draw_run(gaps, values, history, x, number) for number, history in enumerate(named.values())]
    log_scale(gaps, [history.gap for history in named.values()])
    gaps.set(title="Duality gap", xlabel=MEASURES[x], ylabel="gap = primal - dual")
    values.set(title="Primal value and dual bound", xlabel=f"{MEASURES[x]}, log scale", ylabel="objective")
    # The first passes change most; zero, where runs start, has its place on this scale.
    values.set_xscale("symlog", linthresh=smallest_step(named.values(), x))
    add_grid(gaps)
    add_grid(values)
    known = dict(zip(named, lines)) if isinstance(histories, Mapping) else {}
    return _save_if_asked(explain_lines(gaps.figure, known, values, stacked=stacked), path)


def explain_lines(
    figure: Figure, runs: Mapping[str, Line2D], values: Axes | None = None, *, stacked: bool = False
) -> Figure:
    """Name the runs below the figure, and the two kinds of lines in the axes `values`."""
    if values is not None:
        kinds = [Line2D([], [], color="0.3", linestyle=style) for style in ("-", "--")]
        values.legend(
            kinds, ["primal (what is minimised)", "dual (a bound on its minimum)"], edgecolor="none"
        )
    if runs:
        place = {
            "loc": "outside lower center",
            "ncols": min(len(runs), 2 if stacked else 4),
            "frameon": False,
        }
        legend = figure.legend(runs.values(), (shorten(str(name), _LONGEST_NAME) for name in runs), **place)
        _plain(legend.get_texts())
    return figure


def log_scale(axes: Axes, curves: Iterable[Array]) -> None:
    """Set a logarithmic scale, which cannot find its range among zeros."""
    if not any(np.any(curve > 0) for curve in curves):
        axes.set_ylim(1e-16, 1)
    axes.set_yscale("log")


def add_grid(axes: Axes) -> None:
    """Draw a faint grid instead of a frame."""
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def smallest_step(histories: Iterable[History], x: str) -> float:
    """Return the smallest positive place of all histories on the axis `x`."""
    places = np.concatenate([history[x] for history in histories])
    return float(min(places[places > 0], default=1.0))


def _draw_run(gaps: Axes, values: Axes, history: History, x: str, number: int) -> Line2D:
    look = look_of(number)
    draw_line(values, history[x], history.primal, linestyle="-", **look)
    draw_line(values, history[x], history.dual, linestyle="--", **look)
    return draw_line(gaps, history[x], history.gap, linestyle="-", **look)


def look_of(number: int) -> dict[str, Any]:
    """Return colour and mark of a run by its number."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 4,
    }


def draw_line(axes: Axes, x: Array, y: Array, **look: Any) -> Line2D:
    """Draw a line with marks, and return it for the legend."""
    # Marks a tenth of the axes apart; matplotlib fails to space them where there is nothing to draw.
    spacing = 0.1 if np.any(np.isfinite(y) & (y > 0)) else None
    (line,) = axes.plot(x, y, markevery=spacing, **look)
    return line


# ---- sequences of images ---------------------------------------------------------------------------


def plot_sequences(
    X: Sequence[Array],
    y_true: Sequence[Labels],
    predictions: Mapping[str, Sequence[Labels]],
    path: str | Path | None = None,
) -> Figure:
    """Draw sequences of square images, one row each, above their true labels and each model's readings.

    Parameters
    ----------
    X : sequence of ndarray of shape (length, side * side)
        Pixels from 0 (white) to 1 (black).
    y_true : sequence of label arrays
    predictions : mapping from names of models to sequences of label arrays
        Wrong labels are white in a coloured box.
    path : str or Path, optional
        Where to write the figure.

    """
    if not len(X):
        raise ValueError("There is no sequence to plot.")
    side = isqrt(X[0].shape[1])
    if any(side * side != images.shape[1] for images in X):
        raise ValueError(f"Images must be square and of one size; got {X[0].shape[1]} pixels.")
    longest = max(len(images) for images in X)
    figure = new_figure(1.5 + 0.56 * longest, len(X) * (0.68 + 0.24 * (1 + len(predictions))) + 0.5)
    figure.suptitle("What each model reads (boxed: wrong)")
    grid = figure.subplots(len(X), 1, squeeze=False)[:, 0]
    for i, axes in enumerate(grid):
        readings = [("true", y_true[i]), *((name, labels[i]) for name, labels in predictions.items())]
        _draw_sequence(axes, X[i].reshape(-1, side, side), readings)
        axes.set(xlim=(-0.6, longest - 0.4), ylim=(0.6 + 0.42 * len(readings), -0.5), aspect="equal")
    figure.draw_without_rendering()  # with axes of fixed shape, only the second drawing has room for all
    return _save_if_asked(figure, path)


def _draw_sequence(axes: Axes, images: Array, readings: Sequence[tuple[str, Labels]]) -> None:
    """Draw images of size 0.9 at 0, 1, 2 ..., and below a line of labels per reading, the true one first."""
    for name, labels in readings:
        if len(labels) != len(images):
            raise ValueError(f"{name!r} has {len(labels)} labels for a sequence of {len(images)} images.")
    for t, image in enumerate(images):
        axes.imshow(image, cmap="gray_r", vmin=0, vmax=1, extent=(t - 0.45, t + 0.45, 0.45, -0.45))
        axes.add_patch(Rectangle((t - 0.45, -0.45), 0.9, 0.9, fill=False, edgecolor="0.7", linewidth=0.8))
    true = readings[0][1]
    heights = 0.72 + 0.42 * np.arange(len(readings))
    for height, (_, labels) in zip(heights, readings):
        for t, (label, right) in enumerate(zip(labels, true)):
            _draw_label(axes, t, height, label, wrong=label != right)
    axes.set_yticks(heights, [str(name) for name, _ in readings])
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    _plain(axes.get_yticklabels())


def _draw_label(axes: Axes, x: float, y: float, label: object, *, wrong: bool) -> None:
    look: dict[str, Any] = {"color": "black"}
    if wrong:
        box = {"facecolor": WRONG, "edgecolor": "none", "boxstyle": "round,pad=0.18"}
        look = {"color": "white", "fontweight": "bold", "bbox": box}
    axes.text(x, y, f"{label}", ha="center", va="center", parse_math=False, **look)


# ---- what follows what -----------------------------------------------------------------------------


def plot_transitions(transition_coef: Array, classes: Labels, path: str | Path | None = None) -> Figure:
    """Return a heat map of the weights of steps from one label (row) to the next (column); white is zero.

    Parameters
    ----------
    transition_coef : ndarray of shape (K, K)
        The `transition_coef_` of a `ChainClassifier`.
    classes : sequence of K labels
    path : str or Path, optional
        Where to write the figure.

    """
    weights = np.asarray(transition_coef, dtype=np.float64)
    k = len(classes)
    if weights.shape != (k, k):
        raise ValueError(f"{k} classes have a {k} x {k} table of transitions; got the shape {weights.shape}.")
    size = float(np.clip(0.44 * k, 4, 14))
    figure = new_figure(size + 1.8, size + 0.8)
    axes = figure.subplots()
    limit = float(np.abs(weights).max(initial=0)) or 1.0
    image = axes.imshow(weights, cmap="PuOr_r", vmin=-limit, vmax=limit)
    figure.colorbar(image, ax=axes, label="weight (above 0: encouraged, below: discouraged)", shrink=0.85)
    axes.set(title="Learned transitions", xlabel="to label", ylabel="from label")
    _tick_classes(axes, [str(label) for label in classes])
    if k <= MOST_NUMBERS:
        _write_numbers(axes, weights, limit)
    return _save_if_asked(figure, path)


def _tick_classes(axes: Axes, names: list[str]) -> None:
    shown = range(0, len(names), -(-len(names) // MOST_TICKS))
    labels = [names[k] for k in shown]
    size = 10 if len(names) <= 20 else 8
    axes.set_xticks(shown, labels, fontsize=size, rotation=90 if max(map(len, labels), default=0) > 2 else 0)
    axes.set_yticks(shown, labels, fontsize=size)
    _plain([*axes.get_xticklabels(), *axes.get_yticklabels()])


def _write_numbers(axes: Axes, weights: Array, limit: float) -> None:
    digits = 1 if limit >= 1 else 2
    for (row, column), weight in np.ndenumerate(np.round(weights, digits) + 0.0):  # no "-0.0"
        colour = "white" if abs(weight) > 0.6 * limit else "black"
        axes.text(column, row, f"{weight:.{digits}f}", ha="center", va="center", color=colour, fontsize=8)
