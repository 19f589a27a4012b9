"""Shortest paths: the best way through a directed graph, edge by edge."""

from __future__ import annotations

from collections import deque
from functools import cached_property
from operator import index
from typing import NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array, Shape, max_value, maximize, workspace
from structlearn.core.kernels import implements, jitable, leaf
from structlearn.core.vectors import longest_range
from structlearn.structures.decisions.decision import Decisions, stored_decisions
from structlearn.structures.graphs import make_graph
from structlearn.structures.instances import of_instances
from structlearn.structures.registry import count, pairs

#: Relative rounding errors that make no cycle worth going round.
_ROUNDING = 1e-14


class PathGraph(NamedTuple):
    """The nodes and edges that lie on some walk from source to target, the source first, the target last.

    Where there is no cycle nodes are in topological order. Edges are sorted by the node that they lead to.
    """

    n_parts: int
    #: the user's number of each node
    nodes: Array
    #: where the edges into each node begin
    first: Array
    #: the node that each edge leaves
    tail: Array
    #: its number among the user's edges
    part: Array
    acyclic: bool
    most_chosen: int


@of_instances
class PathRecord(NamedTuple):
    """The compiled form of `ShortestPath`: graphs end to end; `failed` names a cycle that makes no sense."""

    nodes: Array
    arcs: Array
    first: Array
    tail: Array
    part: Array
    acyclic: Array
    failed: Array


class PathWork(NamedTuple):
    """Scratch memory: of each node the best score of a way to it, and the last edge of that way."""

    best: Array
    last: Array
    seen: Array


@stored_decisions("paths from a source to a target", {"edges": pairs, "source": count, "target": count})
class ShortestPath(Decisions):
    """Paths from `source` to `target` in a directed graph: z_e = 1 where the path uses edge e.

    `maximize(theta)` is the path of the highest score, so that theta = -lengths is for the shortest. Graphs
    without cycles take any scores, by recursion in topological order. Graphs with cycles are searched by the
    method of Bellman and Ford. Where going round a cycle raises the score for ever (a cycle of negative cost)
    there is no best path, and a ValueError names the cycle.

    Parameters
    ----------
    edges : integer array-like of shape (m, 2)
        Edge e leads from edges[e, 0] to edges[e, 1]. The parts are the edges, in this order.
    source, target : int
    """

    def __init__(self, edges: ArrayLike, source: SupportsIndex, target: SupportsIndex) -> None:
        ends = np.asarray(edges)
        n_nodes = int(ends.max(initial=-1)) + 1 if ends.dtype.kind in "iu" else 1
        self.edges = make_graph(max(n_nodes, index(source) + 1, index(target) + 1), edges).edges
        self.source, self.target = index(source), index(target)
        self.instances = (_path_graph(self.edges, self.source, self.target),)

    @classmethod
    def grid(cls, rows: int, columns: int) -> ShortestPath:
        """Ways from the upper left to the lower right corner of a grid, by steps to the right and down.

        Nodes are numbered row by row. Edges are those of the literature's benchmarks: of each row first those
        to the right, then those down.
        """
        if min(rows, columns) < 1 or rows * columns < 2:
            raise ValueError(f"A grid of ways needs at least two nodes; got {rows} x {columns}.")
        edges = []
        for row in range(rows):
            here = row * columns + np.arange(columns)
            edges.append(np.stack([here[:-1], here[1:]], axis=1))
            if row < rows - 1:
                edges.append(np.stack([here, here + columns], axis=1))
        return cls(np.concatenate(edges), 0, rows * columns - 1)

    @cached_property
    def instance_record(self) -> PathRecord:
        graphs: tuple[PathGraph, ...] = self.instances
        nodes = np.cumsum([0, *(graph.nodes.size for graph in graphs)])
        arcs = np.cumsum([0, *(graph.part.size for graph in graphs)])
        first, tail, part = (
            np.concatenate([getattr(graph, name) for graph in graphs]).astype(np.int32)
            for name in ("first", "tail", "part")
        )
        failed = np.zeros(2 + max(graph.nodes.size for graph in graphs), dtype=np.int64)
        acyclic = np.array([graph.acyclic for graph in graphs])
        return PathRecord(nodes, arcs, first, tail, part, acyclic, failed)

    @property
    def content(self) -> tuple[object, ...]:
        return *self.instance_record._replace(failed=np.empty(0)), *self.masks

    def raise_failure(self) -> None:
        super().raise_failure()
        failed = self.instance_record.failed
        if failed[0]:
            graph = self.instances[int(failed[0]) - 1]
            cycle = graph.nodes[failed[2 : 2 + failed[1]][::-1]]
            failed[0] = 0
            way = " -> ".join(str(node) for node in [*cycle.tolist(), int(cycle[0])])
            raise ValueError(
                f"The cycle {way} has a negative cost, so that no path is shortest; give costs of at least "
                "0, or a graph without cycles, or a structlearn.structures.Program with bounds."
            )


def _path_graph(edges: Array, source: int, target: int) -> PathGraph:
    """Lay a graph out; ValueError where no path leads from source to target."""
    if source == target:
        raise ValueError(f"source and target must be two nodes; both are {source}.")
    if min(source, target) < 0:
        raise ValueError(f"Nodes are numbered from 0; got source={source}, target={target}.")
    n = max(int(edges.max(initial=0)), source, target) + 1
    useful = (edges[:, 1] != source) & (edges[:, 0] != target)
    ahead = reachable(edges[useful], source, n)
    behind = reachable(edges[useful][:, ::-1], target, n)
    if not ahead[target]:
        raise ValueError(f"No path leads from node {source} to node {target}.")
    kept = ahead & behind
    part = np.flatnonzero(useful & kept[edges[:, 0]] & kept[edges[:, 1]])
    nodes, acyclic = _topological(edges[part], np.flatnonzero(kept), source, target)
    place = np.full(n, -1)
    place[nodes] = np.arange(nodes.size)
    part = part[np.argsort(place[edges[part, 1]], kind="stable")]
    first = np.searchsorted(place[edges[part, 1]], np.arange(nodes.size + 1))
    tail = place[edges[part, 0]]
    longest = _longest(first, tail) if acyclic else nodes.size - 1
    return PathGraph(len(edges), nodes, first, tail, part, acyclic, min(longest, len(edges)))


def _longest(first: Array, tail: Array) -> int:
    """Return how many edges the longest path has, of a graph without cycles."""
    depth = np.zeros(first.size - 1, dtype=np.int64)
    for v in range(1, depth.size):
        depth[v] = 1 + depth[tail[first[v] : first[v + 1]]].max()
    return int(depth[-1])


def reachable(edges: Array, start: int, n: int) -> Array:
    """Return which of n nodes can be reached from `start`."""
    order = np.argsort(edges[:, 0], kind="stable")
    heads = edges[order, 1]
    first = np.searchsorted(edges[order, 0], np.arange(n + 1))
    found = np.zeros(n, dtype=bool)
    found[start] = True
    waiting = deque([start])
    while waiting:
        v = waiting.popleft()
        for u in heads[first[v] : first[v + 1]].tolist():
            if not found[u]:
                found[u] = True
                waiting.append(u)
    return found


def _topological(edges: Array, nodes: Array, source: int, target: int) -> tuple[Array, bool]:
    """Return the nodes so that edges lead forward, if they can; else source first and target last."""
    entering = np.bincount(edges[:, 1], minlength=int(nodes.max()) + 1)
    order = np.argsort(edges[:, 0], kind="stable")
    heads = edges[order, 1]
    first = np.searchsorted(edges[order, 0], np.arange(int(nodes.max()) + 2))
    found, waiting = [], deque([source])
    while waiting:
        v = waiting.popleft()
        found.append(v)
        for u in heads[first[v] : first[v + 1]].tolist():
            entering[u] -= 1
            if entering[u] == 0:
                waiting.append(u)
    if len(found) == nodes.size:
        return np.array(found), True
    between = nodes[(nodes != source) & (nodes != target)]
    return np.concatenate([[source], between, [target]]), False


# ---- compiled answers ------------------------------------------------------------------------------


@implements(workspace, PathRecord)
@jitable
def path_workspace(structure: PathRecord, shape: Shape) -> PathWork:
    n = longest_range(structure.nodes)
    return PathWork(np.empty(n), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64))


@implements(max_value, PathRecord)
@implements(maximize, PathRecord)
@leaf
def path_maximize(
    structure: PathRecord, shape: Shape, theta: Array, shared: Array, work: PathWork, vertex: Array
) -> float:
    g = shape[1]
    n = structure.nodes[g + 1] - structure.nodes[g]
    first = structure.first[structure.nodes[g] + g :]
    tail, part = structure.tail[structure.arcs[g] :], structure.part[structure.arcs[g] :]
    for j in range(vertex.size):
        vertex[j] = 0.0
    for v in range(n):
        work.best[v], work.last[v] = -np.inf, -1
    work.best[0] = 0.0
    if structure.acyclic[g]:
        _sweep(n, first, tail, part, theta, 0.0, work)
    elif not _search(n, first, tail, part, theta, work):
        if structure.failed[0] == 0:
            _note_cycle(g, n, tail, work, structure.failed)
        return -np.inf
    if work.best[n - 1] == -np.inf:
        return -np.inf
    v, value = n - 1, 0.0
    while v != 0:
        e = work.last[v]
        vertex[part[e]] = 1.0
        value += theta[part[e]]
        v = tail[e]
    return value


@leaf
def _sweep(n: int, first: Array, tail: Array, part: Array, theta: Array, slack: float, work: PathWork) -> int:
    """Extend the best ways to all nodes by one edge each, in order; returns the last node that gained."""
    gained = -1
    for v in range(1, n):
        best, last = work.best[v], work.last[v]
        for e in range(first[v], first[v + 1]):
            score = work.best[tail[e]] + theta[part[e]]
            if score > best + slack:
                best, last, gained = score, e, v
        work.best[v], work.last[v] = best, last
    return gained


@leaf
def _search(n: int, first: Array, tail: Array, part: Array, theta: Array, work: PathWork) -> bool:
    """Bellman and Ford; False where a cycle raises the score for ever, from a node of which `seen` begins."""
    size = 0.0
    for e in range(first[n]):
        if theta[part[e]] > -np.inf:
            size += abs(theta[part[e]])
    for _ in range(n):
        gained = _sweep(n, first, tail, part, theta, _ROUNDING * size, work)
        if gained < 0:
            return True
    work.seen[0] = gained
    return False


@leaf
def _note_cycle(g: int, n: int, tail: Array, work: PathWork, failed: Array) -> None:
    """failed <- the graph, and the nodes of a cycle among the last edges, against its direction."""
    v = work.seen[0]
    for _ in range(n):
        v = tail[work.last[v]]
    start, count = v, 0
    while count == 0 or v != start:
        failed[2 + count] = v
        v = tail[work.last[v]]
        count += 1
    failed[0], failed[1] = g + 1, count
