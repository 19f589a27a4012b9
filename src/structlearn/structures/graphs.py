"""Undirected graphs, and the arrays in which compiled code reads many of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import index
from typing import NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.memory import Memory

#: Steps (down, right) to the neighbours of a pixel, each pair of pixels once.
_STEPS = {4: ((0, 1), (1, 0)), 8: ((0, 1), (1, 0), (1, 1), (1, -1))}


class Graph(NamedTuple):
    """Nodes 0 .. n_nodes - 1, and pairs of them."""

    n_nodes: int
    #: (E, 2)
    edges: Array


class GraphRecord(NamedTuple):
    """Several graphs, end to end. Node v of graph g has the arcs first[v] .. first[v + 1] - 1 of that graph.

    An edge (i, j) is two arcs, i to j and j to i, each the reverse of the other; numbers of arcs, nodes and
    edges are counted within a graph.
    """

    nodes: Array  # where each graph's nodes begin,
    edges: Array  # and its edges
    ends: Array  # (all edges, 2)
    first: Array  # one more entry a graph than it has nodes
    head: Array
    reverse: Array
    edge: Array  # the edge of each arc


def make_graph(n_nodes: SupportsIndex, edges: ArrayLike, *, copy: bool = True) -> Graph:
    """Make a checked graph: `edges` is an integer array-like of shape (E, 2), E may be 0.

    Without `copy`, edges that are as compiled code reads them stay where they are.
    """
    n = index(n_nodes)
    if n < 1:
        raise ValueError(f"A graph needs at least 1 node; got n_nodes={n_nodes}.")
    pairs = _as_pairs(edges)
    wrong = np.flatnonzero((pairs.min(axis=1, initial=0) < 0) | (pairs.max(axis=1, initial=0) >= n))
    if wrong.size:
        raise ValueError(
            f"Edge {tuple(pairs[wrong[0]].tolist())} leaves the graph: its nodes are 0 .. {n - 1}."
        )
    loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if loops.size:
        raise ValueError(f"Edge {loops[0]} joins node {pairs[loops[0], 0]} with itself; leave it out.")
    return Graph(n, pairs.astype(np.int32) if copy else np.require(pairs, np.int32, ("C", "A", "W")))


def _as_pairs(edges: ArrayLike) -> Array:
    try:
        pairs = np.asarray(edges)
    except ValueError:
        raise ValueError("Edges are pairs of nodes, of shape (E, 2); some have another length.") from None
    pairs = pairs.reshape(-1, 2) if pairs.size == 0 else pairs
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"Edges are pairs of nodes, of shape (E, 2); got the shape {pairs.shape}{_shape_advice(pairs)}."
        )
    if pairs.size and not np.issubdtype(pairs.dtype, np.integer):
        raise ValueError(f"Edges are pairs of integers, nodes counted from 0; got {pairs.dtype}.")
    return pairs


def _shape_advice(pairs: Array) -> str:
    """Say what may have been given in the place of pairs."""
    if pairs.ndim == 2 and pairs.shape[0] == 2:
        return ": transpose it"
    if pairs.ndim == 2 and pairs.shape[0] == pairs.shape[1]:
        return " (an adjacency matrix A has the edges np.argwhere(np.triu(A, 1)))"
    return ""


def grid_graph(rows: int, columns: int, connectivity: int = 4) -> Graph:
    """Join the pixels of an image, row by row, each with its 4 or 8 neighbours."""
    if min(rows, columns) < 1:
        raise ValueError(f"A grid needs at least one row and one column; got {rows} x {columns}.")
    if connectivity not in _STEPS:
        raise ValueError(f"connectivity is 4 or 8; got {connectivity!r}.")
    pixel = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    pairs = []
    for down, right in _STEPS[connectivity]:
        here = pixel[: rows - down, max(-right, 0) : columns - max(right, 0)]
        there = pixel[down:, max(right, 0) : columns - max(-right, 0)]
        pairs.append(np.stack([here.ravel(), there.ravel()], axis=1))
    return Graph(rows * columns, np.concatenate(pairs))


def graph_record(graphs: Sequence[Graph], memory: Memory | None = None) -> GraphRecord:
    """Return the compiled form of some graphs, in room that `memory` has."""
    nodes = np.cumsum([0, *(graph.n_nodes for graph in graphs)])
    edges = np.cumsum([0, *(len(graph.edges) for graph in graphs)])
    room = partial((memory or Memory()).empty, dtype=np.int32)
    ends, first = room(2 * edges[-1]).reshape(-1, 2), room(nodes[-1] + len(graphs))
    arcs = [room(2 * edges[-1]) for _ in range(3)]
    for g, graph in enumerate(graphs):
        ends[edges[g] : edges[g + 1]] = graph.edges
        first[nodes[g] + g : nodes[g + 1] + g + 1], *parts = _arcs(graph)
        for whole, part in zip(arcs, parts):
            whole[2 * edges[g] : 2 * edges[g + 1]] = part
    return GraphRecord(nodes, edges, ends, first, *arcs)


def _arcs(graph: Graph) -> tuple[Array, Array, Array, Array]:
    """Return first, head, reverse and edge of the arcs, sorted by their tails and then by their heads."""
    n = len(graph.edges)
    tail, head = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
    order = np.lexsort((head, tail))
    place = np.empty_like(order)
    place[order] = np.arange(2 * n)
    first = np.searchsorted(tail[order], np.arange(graph.n_nodes + 1))
    return first, head[order], place[order - np.where(order < n, -n, n)], order % max(n, 1)
