"""The page of labelled graphs: a drawing of each, its nodes coloured by their labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.reports.labelled_nodes import error_note, hues_of, n_wrong, worst_first
from structlearn.reports.page import Page
from structlearn.reports.summaries import Summary, lead

#: Larger graphs are not drawn.
MOST_NODES = 1000
_MOST_EDGES = 10_000
_SWEEPS = 60


class DrawnGraph(NamedTuple):
    """A graph with predicted labels and, where they are known, gold labels (-1: unknown) and positions."""

    n_nodes: int
    edges: ArrayLike
    labels: Array
    gold: Array | None = None
    positions: Array | None = None


class _Node(NamedTuple):
    x: float
    y: float
    label: int
    hue: int
    wrong: bool
    title: str


class _Drawing(NamedTuple):
    number: int
    note: str
    size: tuple[int, int]
    radius: float
    nodes: Sequence[_Node]
    lines: Sequence[tuple[float, float, float, float]]


def graph_page(
    graphs: Sequence[DrawnGraph],
    *,
    title: str = "Labelled graphs",
    limit: int = 200,
    summary: Summary | None = None,
) -> Page:
    """Return a page that draws graphs, those with most wrong nodes first; `html()` or `write(path)` it."""
    shares = [n_wrong(one.labels, one.gold) / one.n_nodes for one in graphs]
    colours = hues_of([one.labels for one in graphs] + [one.gold for one in graphs if one.gold is not None])
    shown = worst_first(shares, graphs, limit)
    return Page(
        title,
        lead(len(graphs), len(shown), "graph", judged=summary is not None),
        "graphs.html",
        summary=summary,
        legend=[(hue, label) for label, hue in colours.items()],
        drawings=[_drawing(number, one, colours) for number, one in shown],
    )


def _drawing(number: int, one: DrawnGraph, colours: dict[int, int]) -> _Drawing:
    told = error_note(one.labels, one.gold, "nodes")
    edges = np.asarray(one.edges, dtype=np.int64).reshape(-1, 2)
    if one.n_nodes > MOST_NODES or len(edges) > _MOST_EDGES:
        large = f"{one.n_nodes} nodes and {len(edges)} edges: too large to be drawn"
        return _Drawing(number, ", ".join(filter(None, [told, large])), (0, 0), 0.0, [], [])
    places = (
        place_nodes(one.n_nodes, edges)
        if one.positions is None
        else np.asarray(one.positions, dtype=np.float64)
    )
    radius = float(np.clip(160 / np.sqrt(one.n_nodes), 4, 14))
    at, size = _fit_into_drawing(places, radius)
    nodes = [_node(one, v, at[v], colours) for v in range(one.n_nodes)]
    lines = [(*at[a].tolist(), *at[b].tolist()) for a, b in edges.tolist()]
    return _Drawing(number, told, size, radius, nodes, lines)


def _node(one: DrawnGraph, v: int, at: Array, colours: dict[int, int]) -> _Node:
    label, gold = int(one.labels[v]), None if one.gold is None else int(one.gold[v])
    wrong = gold is not None and gold >= 0 and gold != label
    title = f"node {v}: {label}" + (f", gold {gold}" if wrong else "")
    return _Node(float(at[0]), float(at[1]), label, colours[label], wrong, title)


def _fit_into_drawing(places: Array, radius: float) -> tuple[Array, tuple[int, int]]:
    """Return places in a drawing of at most 640 units, and its size."""
    places = np.where(np.abs(places) <= 1e100, places, 0.0)
    low, extent = places.min(axis=0), np.ptp(places, axis=0)
    side = 120 + 520 * min(1.0, np.sqrt(len(places)) / 12)
    inside = side * (extent / max(extent.max(), 1e-12))
    margin = radius + 6
    at = margin + (places - low) * (side / max(extent.max(), 1e-12))
    wide, high = np.ceil(inside + 2 * margin).astype(int).tolist()
    return np.round(at, 1), (wide, high)


def place_nodes(n: int, edges: Array) -> Array:
    """Place nodes: edges pull, all nodes push (Fruchterman and Reingold 1991), starting from a circle."""
    angle = 2 * np.pi * np.arange(n) / max(n, 1)
    places = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ideal = 2.0 / np.sqrt(max(n, 1))
    for sweep in range(_SWEEPS):
        apart = places[:, None] - places[None]
        squared = np.square(apart).sum(axis=2) + 1e-9
        force = (apart * (ideal**2 / squared)[..., None]).sum(axis=1)
        along = places[edges[:, 0]] - places[edges[:, 1]]
        pull = along * (np.linalg.norm(along, axis=1) / ideal)[:, None]
        np.add.at(force, edges[:, 0], -pull)
        np.add.at(force, edges[:, 1], pull)
        force -= 0.3 * places  # parts that no edge joins stay near
        length = np.linalg.norm(force, axis=1, keepdims=True) + 1e-12
        places = places + force / length * np.minimum(length, 0.3 * (1 - sweep / _SWEEPS))
    return places
