"""Paths on grids as drawings: the decided one beside the best one, edges as strong as their costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array

#: Larger grids are not drawn.
MOST_DRAWN_EDGES = 10_000
_SIDE = 260.0
_MARGIN = 10.0


class DrawnEdge(NamedTuple):
    """An edge of a grid: where it is, how strong it is drawn, and what it costs."""

    x1: float
    y1: float
    x2: float
    y2: float
    #: from 0 (the cheapest of the example) to 1 (the dearest)
    strength: float
    #: "" off the path, "both" on both paths, "own" on this one alone
    kind: str
    title: str


class PathDrawing(NamedTuple):
    """Two panels of one size: the decided path, and the best one."""

    size: tuple[int, int]
    panels: Sequence[tuple[str, str, Sequence[DrawnEdge]]]
    #: the radius of nodes, and their places
    radius: float
    nodes: Sequence[tuple[float, float]]


def grid_columns(structure: Any) -> int | None:
    """Return in how many columns the nodes of paths are a grid, row by row; None if they are not.

    They are where each edge joins neighbours, beside, below or across a corner.
    """
    if type(structure).__name__ != "ShortestPath" or len(structure.instances) != 1:
        return None
    edges = structure.edges
    n = int(edges.max()) + 1
    if len(edges) > MOST_DRAWN_EDGES or n < 4:
        return None
    for columns in range(2, n // 2 + 1):
        if n % columns == 0:
            down, right = (np.abs(np.diff(one, axis=1)) for one in np.divmod(edges, columns))
            if np.maximum(down, right).max() <= 1:
                return columns
    return None


def draw_paths(edges: Array, columns: int, costs: Array, decided: Array, best: Array) -> PathDrawing:
    """Draw the decided path beside the best one."""
    n = int(edges.max()) + 1
    rows = -(-n // columns)
    step = _SIDE / (max(rows, columns) - 1)
    down, right = np.divmod(np.arange(n), columns)
    places = np.round(_MARGIN + step * np.stack([right, down], axis=1), 1)
    low, high = float(costs.min()), float(costs.max())
    strength = (costs - low) / (high - low) if high > low else np.full(len(costs), 0.5)
    at = [(float(x), float(y)) for x, y in places]
    ends = [(*at[a], *at[b]) for a, b in edges.tolist()]
    panels = []
    for name, own, other in (("decided", decided, best), ("best", best, decided)):
        drawn = [
            _edge(
                ends[e], float(strength[e]), own[e] > 0, other[e] > 0, e, edges[e].tolist(), float(costs[e])
            )
            for e in np.argsort(own, kind="stable").tolist()
        ]
        panels.append((name, f"{float(costs @ own):.4g}", drawn))
    size = (round(2 * _MARGIN + step * (columns - 1)), round(2 * _MARGIN + step * (rows - 1)))
    return PathDrawing(size, panels, round(min(4.0, step / 8), 2), at)


def _edge(
    ends: tuple[float, float, float, float],
    strength: float,
    on: bool,
    on_other: bool,
    e: int,
    nodes: list[int],
    cost: float,
) -> DrawnEdge:
    kind = "" if not on else "both" if on_other else "own"
    title = f"edge {e}: {nodes[0]} → {nodes[1]}, cost {cost:.4g}" if on else ""
    return DrawnEdge(*ends, round(strength, 2), kind, title)
