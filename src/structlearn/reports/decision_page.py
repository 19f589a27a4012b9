"""The page of decisions: how much they cost more than the best ones, and those that cost most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structlearn import metrics
from structlearn.core.contract import Array
from structlearn.reports.grid_paths import PathDrawing, draw_paths, grid_columns
from structlearn.reports.page import Page
from structlearn.reports.summaries import lead

#: At most so many bins of regrets, and parts of an example in which decisions differ.
MOST_BINS = 12
MOST_PARTS = 8
#: Edges of all drawings: those of further examples are left out.
MOST_EDGES = 60_000


class DecidedExamples(NamedTuple):
    """Examples with true costs, and what was decided.

    predicted, costs : predicted and true costs, (n, parts)
    decided, best : decisions, and the best ones by the true costs, (n, parts)
    baseline : decisions of the two-stage model, or None
    structure : what may be decided
    sense : "min" or "max"
    """

    predicted: Array
    costs: Array
    decided: Array
    best: Array
    baseline: Array | None
    structure: Any
    sense: str = "min"

    @property
    def noun(self) -> str:
        """What the numbers of parts are."""
        return "cost" if self.sense == "min" else "value"

    def regrets(self, decided: Array) -> Array:
        """Return what each decision loses, at least 0: rounding aside it is never less."""
        return np.maximum(metrics.regret(self.costs, decided, self.best, sense=self.sense), 0.0)


class _Bin(NamedTuple):
    """How many decisions lose so much, of the model and of the baseline, and as shares of the longest bar."""

    name: str
    examples: int
    share: float
    other_examples: int
    other_share: float


class _Example(NamedTuple):
    number: int
    note: str
    #: part, predicted, true, decided, best
    rows: Sequence[Sequence[object]]
    n_different: int
    drawing: PathDrawing | None


def decision_page(found: DecidedExamples, *, title: str = "Decisions", limit: int = 200) -> Page:
    """Return a page of regrets and of the decisions that cost most; `html()` or `write(path)` it."""
    regrets = found.regrets(found.decided)
    columns = grid_columns(found.structure)
    most = max(1, MOST_EDGES // (2 * len(found.structure.edges))) if columns else limit
    order = np.argsort(-regrets, kind="stable")[: min(limit, most)].tolist()
    return Page(
        title,
        lead(len(regrets), len(order), "example", judged=True),
        "decisions.html",
        figures=_figures(found, regrets),
        bins=_bins(regrets, None if found.baseline is None else found.regrets(found.baseline)),
        baseline=found.baseline is not None,
        noun=found.noun,
        drawn=columns is not None,
        examples=[_example(found, i, columns) for i in order],
    )


def _figures(found: DecidedExamples, regrets: Array) -> dict[str, str]:
    """Return the key figures by their names."""
    best = metrics.decision_costs(found.costs, found.best)
    scale = float(np.abs(best).sum())
    shown: dict[str, str] = {}
    for name, decided in (("regret", found.decided), ("regret of two stages", found.baseline)):
        if decided is not None:
            total = float(found.regrets(decided).sum())
            shown[name] = f"{100 * total / scale:.2f}%" if scale else f"{total / len(best):.4g} on average"
    size = metrics.decision_costs(np.abs(found.costs), found.best)
    shown["best decisions"] = f"{100 * np.mean(regrets <= 1e-9 * size):.1f}%"
    shown[f"mean {found.noun}"] = f"{metrics.decision_costs(found.costs, found.decided).mean():.4g}"
    shown[f"best possible mean {found.noun}"] = f"{best.mean():.4g}"
    return shown


def _bins(regrets: Array, others: Array | None) -> list[_Bin]:
    """Count regrets: first those of zero, then in steps of equal width."""
    other = np.empty(0) if others is None else others
    largest = max(float(regrets.max()), float(other.max(initial=0.0)))
    width = _round_step(largest / (MOST_BINS - 1))
    tiny = 1e-9 * largest
    n = max(1, int(np.ceil(largest / width - 1e-9))) if largest > 0 else 0
    counts = [
        np.concatenate(
            [[(one <= tiny).sum()], np.histogram(one[one > tiny], width * np.arange(n + 1))[0] if n else []]
        ).astype(int)
        for one in (regrets, other)
    ]
    names = ["0", *(f"{width * k:.4g} to {width * (k + 1):.4g}" for k in range(n))]
    longest = max(1, *(int(one.max()) for one in counts))
    return [_Bin(name, int(a), a / longest, int(b), b / longest) for name, a, b in zip(names, *counts)]


def _round_step(least: float) -> float:
    """Return the least of 1, 2 and 5 times a power of ten that is at least this."""
    if not least > 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(least))
    return float(next((k * power for k in (1, 2, 5) if k * power >= least), 10 * power))


def _example(found: DecidedExamples, i: int, columns: int | None) -> _Example:
    costs, decided, best = (np.ravel(one[i]) for one in (found.costs, found.decided, found.best))
    drawing = None if columns is None else draw_paths(found.structure.edges, columns, costs, decided, best)
    different = np.flatnonzero(decided != best)
    rows: list[Sequence[object]] = []
    if drawing is None:
        lost = np.abs(costs * (decided - best))[different]
        worst = different[np.argsort(-lost, kind="stable")][:MOST_PARTS]
        predicted = np.ravel(found.predicted[i])
        rows = [
            (
                _part_name(found.structure, j), f"{predicted[j]:.4g}", f"{costs[j]:.4g}",
                f"{decided[j]:g}", f"{best[j]:g}",
            )
            for j in worst.tolist()
        ]  # fmt: skip
    return _Example(i + 1, _note(found, i, costs, decided, best), rows, len(different), drawing)


def _note(found: DecidedExamples, i: int, costs: Array, decided: Array, best: Array) -> str:
    """Return what an example's decisions cost, in words."""
    regret = abs(float(costs @ decided - costs @ best))
    said = f"{found.noun} {costs @ decided:.4g}, best {costs @ best:.4g}, regret {regret:.4g}"
    if found.baseline is None:
        return said
    return f"{said}; two stages {costs @ np.ravel(found.baseline[i]):.4g}"


def _part_name(structure: Any, j: int) -> str:
    """Return what a part is called."""
    kind = type(structure).__name__
    if kind in ("ShortestPath", "SpanningTree"):
        one, other = structure.edges[j].tolist()
        return f"edge {j}: {one} {'→' if kind == 'ShortestPath' else '–'} {other}"
    if kind == "Knapsack":
        return f"item {j}"
    if kind == "Assignment":
        row, column = divmod(j, structure.n_columns)
        return f"row {row}, column {column}"
    if kind == "Tour":
        one, other = (int(ends[j]) for ends in np.triu_indices(structure.n_nodes, 1))
        return f"{one} – {other}"
    return f"part {j}"
