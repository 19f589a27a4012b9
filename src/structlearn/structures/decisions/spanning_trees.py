"""Spanning trees: the edges that join all nodes of an undirected graph without a cycle."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array, Shape, max_value, maximize, workspace
from structlearn.core.kernels import implements, jitable, leaf
from structlearn.core.vectors import longest_range
from structlearn.structures.decisions.decision import Decisions, stored_decisions
from structlearn.structures.decisions.paths import reachable
from structlearn.structures.decisions.ranking import rank
from structlearn.structures.graphs import Graph, make_graph
from structlearn.structures.instances import of_instances
from structlearn.structures.registry import pairs


class SpannedGraph(NamedTuple):
    """One instance: a connected graph."""

    graph: Graph

    @property
    def n_parts(self) -> int:
        return len(self.graph.edges)

    @property
    def most_chosen(self) -> int:
        return self.graph.n_nodes - 1


@of_instances
class SpanningRecord(NamedTuple):
    """The compiled form of `SpanningTree`: graphs end to end."""

    nodes: Array
    edges: Array
    ends: Array


class SpanningWork(NamedTuple):
    """Scratch memory: edges by their scores, and of each node another one of its component."""

    order: Array
    above: Array


@stored_decisions("spanning trees of a graph", {"edges": pairs})
class SpanningTree(Decisions):
    """Spanning trees of an undirected graph: z_e = 1 where the tree uses edge e. Kruskal's algorithm.

    Parameters
    ----------
    edges : integer array-like of shape (m, 2)
        Pairs of nodes, which are numbered from 0. The parts are the edges, in this order.
    """

    def __init__(self, edges: ArrayLike) -> None:
        ends = np.asarray(edges)
        n_nodes = int(ends.max(initial=0)) + 1 if ends.dtype.kind in "iu" else 1
        graph = make_graph(n_nodes, edges)
        self.edges = graph.edges
        joined = reachable(np.concatenate([self.edges, self.edges[:, ::-1]]), 0, n_nodes)
        if n_nodes < 2 or not joined.all():
            alone = int(np.argmin(joined)) if n_nodes > 1 else 0
            raise ValueError(f"The graph has no spanning tree: no edges lead from node 0 to node {alone}.")
        self.instances = (SpannedGraph(graph),)

    @cached_property
    def instance_record(self) -> SpanningRecord:
        graphs = [one.graph for one in self.instances]
        nodes = np.cumsum([0, *(graph.n_nodes for graph in graphs)])
        edges = np.cumsum([0, *(len(graph.edges) for graph in graphs)])
        return SpanningRecord(nodes, edges, np.concatenate([graph.edges for graph in graphs]))


@implements(workspace, SpanningRecord)
@jitable
def tree_workspace(structure: SpanningRecord, shape: Shape) -> SpanningWork:
    m, n = longest_range(structure.edges), longest_range(structure.nodes)
    return SpanningWork(np.empty(m, dtype=np.int64), np.empty(n, dtype=np.int64))


@implements(max_value, SpanningRecord)
@implements(maximize, SpanningRecord)
@leaf
def tree_maximize(
    structure: SpanningRecord, shape: Shape, theta: Array, shared: Array, work: SpanningWork, vertex: Array
) -> float:
    g = shape[1]
    n = structure.nodes[g + 1] - structure.nodes[g]
    ends = structure.ends[structure.edges[g] : structure.edges[g + 1]]
    order = work.order[: theta.size]
    rank(theta, order)
    for v in range(n):
        work.above[v] = v
    for e in range(theta.size):
        vertex[e] = 0.0
    value, joined = 0.0, 1
    for k in range(theta.size):
        e = order[k]
        one, other = _root(work.above, ends[e, 0]), _root(work.above, ends[e, 1])
        if one != other and theta[e] > -np.inf:
            work.above[one] = other
            vertex[e] = 1.0
            value += theta[e]
            joined += 1
    return value if joined == n else -np.inf


@leaf
def _root(above: Array, v: int) -> int:
    """Return the node that stands for the component of v; ways to it become shorter."""
    while above[v] != v:
        above[v] = above[above[v]]
        v = above[v]
    return v
