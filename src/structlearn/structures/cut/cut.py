"""Cuts: a label 0 or 1 for each node of a graph, and what it costs that neighbours differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array, Shape, max_value, maximize, project, project_workspace, workspace
from structlearn.core.forms import count
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.core.vectors import longest_range
from structlearn.structures.base import SparseVertices, Structure, Weights, one_each
from structlearn.structures.cut.max_flow import SOURCE, CutWork, cut_work, saturate
from structlearn.structures.cut.projection import CutNearestWork, dual_bound, project_cut, project_work
from structlearn.structures.flat.switches import encode_switches
from structlearn.structures.graphs import Graph, GraphRecord, graph_record, grid_graph, make_graph
from structlearn.structures.registry import check_graph, pairs, stored


class Cuts(Structure):
    """Cuts of several graphs: the structure of a data set whose examples have graphs of their own.

        M = {(z, e) : 0 <= z_i <= 1,  |z_i - z_j| <= e_ij <= 1}

    The parts are the nodes (z_i is 1 where node i has the label 1), then the edges (e_ij is 1 where edge ij
    is cut). An output has e_ij = |z_i - z_j|. The vertices of M also contain all others with 0/1 entries and
    e_ij >= |z_i - z_j|: an edge may be cut without need. Where its score is negative nobody wants that, so
    that the best vertex is the best output, and neighbours attract each other. Where its score is positive
    it is always cut, and its nodes do not see each other: a repulsive (supermodular) edge, with which
    the problem would be NP-hard, acts as no edge. So `maximize` is exact for all scores, by one maximum flow,
    and no sign of any weight need be constrained. In training the hinge charges the whole positive score of
    an edge that the gold output does not cut, which drives edges to attraction.

    The shape of an example is (number of parts, number of its graph).

    Parameters
    ----------
    graphs : sequence of Graph
    """

    threshold = 0.5
    has_graphs = True
    no_marginals = " (its partition function is #P-hard); use project ({loss=sparsemax}), or {loss=hinge}"

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self.graphs = list(graphs)

    @cached_property
    def record(self) -> GraphRecord:
        return graph_record(self.graphs)

    @cached_property
    def n_parts(self) -> Array:
        """The number of parts of each graph: its nodes and edges."""
        return np.array([graph.n_nodes + len(graph.edges) for graph in self.graphs])

    def fits(self, shape: Shape | Array) -> bool | Array:
        size, graph = shape
        known = (graph >= 0) & (graph < len(self.graphs))
        return known & (self.n_parts[np.where(known, graph, 0)] == size)

    def shape(self, theta: Array) -> Shape:
        """Return the graph with as many parts; ValueError if there is none, or another one."""
        fit = np.flatnonzero(self.n_parts == np.size(theta))
        if fit.size == 1:
            return int(np.size(theta)), int(fit[0])
        counts = sorted({int(count) for count in self.n_parts})
        raise ValueError(
            f"{np.size(theta)} parts fit {fit.size} graphs, not one; graphs here have {counts} parts "
            "(nodes + edges)."
        )

    @property
    def output_axes(self) -> tuple[int | str, ...]:
        return ()  # nodes, while scores are of nodes and edges

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return the labels y, a 0/1 vector of length n_nodes, then 1 for each edge between unlike labels."""
        graph = self._graph_of(np.asarray(y), shape)
        on = encode_switches(y, graph.n_nodes)
        return np.concatenate([on, np.abs(on[graph.edges[:, 0]] - on[graph.edges[:, 1]])])

    def _graph_of(self, y: Array, shape: Shape | None) -> Graph:
        if shape is not None:
            return self.graphs[shape[1]]
        if len(self.graphs) == 1:
            return self.graphs[0]
        fit = [graph for graph in self.graphs if graph.n_nodes == y.size]
        if len(fit) != 1:
            raise ValueError(f"{len(fit)} graphs have {y.size} nodes: give the shape (parts, graph).")
        return fit[0]

    def decode(self, vertex: Array) -> Array:
        """Return the labels of the nodes, as integers 0 and 1."""
        n_nodes = self.graphs[self.shape(vertex)[1]].n_nodes
        return (vertex[:n_nodes] > 0.5).astype(np.int64)

    def cost(
        self,
        mu: Array,
        *,
        weights: Weights = None,
        nodes: Weights = None,
        normalized: bool = True,
    ) -> Array:
        """c_i = a_i (1 - 2 mu_i) on the nodes, 0 on the edges: <c, z - mu> = sum_i a_i |z_i - mu_i|.

        a_i is the weight of the gold label (`weights` is (weight of 0, weight of 1), default ones) times
        that of the node (`nodes`, of length n_nodes), over n_nodes where `normalized`.
        """
        return self._cost(self.graphs[self.shape(mu)[1]], mu, weights, nodes, normalized)

    def cost_many(self, gold: SparseVertices, shapes: Array, **options: Any) -> Array:
        nodes = one_each(options.pop("nodes", None), len(shapes), "nodes")
        weights, normalized = options.get("weights"), options.get("normalized", True)
        costs = [
            self._cost(self.graphs[which], gold.dense(i, size), weights, nodes[i], normalized)
            for i, (size, which) in enumerate(shapes)
        ]
        return np.concatenate(costs)

    @staticmethod
    def _cost(graph: Graph, mu: Array, weights: Weights, nodes: Weights, normalized: bool) -> Array:
        on = mu[: graph.n_nodes]
        scale = np.ones(graph.n_nodes) if nodes is None else _check_cost_weights(nodes, graph.n_nodes, "node")
        if weights is not None:
            scale = scale * _check_cost_weights(weights, 2, "label")[on.astype(np.int64)]
        if normalized:
            scale = scale / graph.n_nodes
        return np.concatenate([(1.0 - 2.0 * on) * scale, np.zeros(len(graph.edges))])


@stored("labels on or off at the nodes of a graph", {"n_nodes": count, "edges": pairs})
class Cut(Cuts):
    """<theta, (y, e)> = sum_i theta_i y_i + sum_ij theta_ij e_ij,    y in {0, 1}^n,  e_ij >= |y_i - y_j|.

    Binary labels of the nodes of one graph. A negative score of an edge is the price of unlike labels at its
    ends; a positive one counts as no edge (see `Cuts`, the same for several graphs, for the polytope). A part
    vector holds the nodes, then the edges, in the order given. `maximize` is exact, by maximum flow, and
    so is `project`, by a Newton method on flows. There are no `marginals`: the partition function is #P-hard.

    Parameters
    ----------
    n_nodes : int
    edges : integer array-like of shape (E, 2)
        Pairs of nodes. `Cut.grid(rows, columns)` makes those of an image.
    """

    def __init__(self, n_nodes: int, edges: ArrayLike) -> None:
        super().__init__([make_graph(n_nodes, edges)])
        self.n_nodes, self.edges = self.graphs[0]

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> Structure:
        check_graph(arguments["n_nodes"], arguments["edges"])
        return cls(**arguments)

    @classmethod
    def grid(cls, rows: int, columns: int, connectivity: int = 4) -> Cut:
        """Make cuts of an image, pixels row by row, each with its 4 or 8 neighbours."""
        return cls(*grid_graph(rows, columns, connectivity))

    def shape(self, theta: Array) -> Shape:
        if np.size(theta) != self.n_parts[0]:
            raise ValueError(
                f"A cut of {self.n_nodes} nodes and {len(self.edges)} edges has {self.n_parts[0]} parts "
                f"(nodes + edges); got {np.size(theta)}."
            )
        return int(self.n_parts[0]), 0

    @property
    def local_axes(self) -> tuple[int | str, ...]:
        return (int(self.n_parts[0]),)


def _check_cost_weights(weights: Weights, size: int, noun: str) -> Array:
    found = np.asarray(weights, dtype=np.float64)
    if found.shape != (size,):
        raise ValueError(f"Cost weights must have the shape ({size},), one per {noun}; got {found.shape}.")
    if not np.isfinite(found).all() or found.min() < 0:
        raise ValueError("Cost weights must be finite and at least 0.")
    return found


# ---- compiled answers ------------------------------------------------------------------------------


@implements(workspace, GraphRecord)
@jitable
def cut_workspace(structure: GraphRecord, shape: Shape) -> CutWork:
    return cut_work(longest_range(structure.nodes), 2 * longest_range(structure.edges))


@kernel
def _saturate_graph(
    structure: GraphRecord, graph: int, theta: Array, level: float, work: CutWork
) -> tuple[int, Array]:
    """Find the maximum flow of the node scores less `level`; return the nodes' number and the edges' ends.

    No edge need carry more than all supply, which stands for the infinite capacity of a forbidden cut.
    """
    begin, end = structure.nodes[graph], structure.nodes[graph + 1]
    a, b = 2 * structure.edges[graph], 2 * structure.edges[graph + 1]
    n = end - begin
    supply = 1.0
    for v in range(n):
        work.excess[v] = theta[v] - level
        supply += max(work.excess[v], 0.0)
    edge = structure.edge[a:b]
    for arc in range(b - a):
        work.capacity[arc] = min(max(-theta[n + edge[arc]], 0.0), supply)
    first = structure.first[begin + graph : end + graph + 1]
    saturate(first, structure.head[a:b], structure.reverse[a:b], work)
    return n, structure.ends[structure.edges[graph] : structure.edges[graph + 1]]


@implements(max_value, GraphRecord)
@implements(maximize, GraphRecord)
@kernel
def cut_maximize(
    structure: GraphRecord, shape: Shape, theta: Array, shared: Array, work: CutWork, vertex: Array
) -> float:
    n, ends = _saturate_graph(structure, shape[1], theta, 0.0, work)
    value = 0.0
    for v in range(n):
        on = work.tree[v] == SOURCE
        vertex[v] = 1.0 if on else 0.0
        value += theta[v] if on else 0.0
    for e in range(ends.shape[0]):
        cut = theta[n + e] > 0.0 or vertex[ends[e, 0]] != vertex[ends[e, 1]]
        vertex[n + e] = 1.0 if cut else 0.0
        value += theta[n + e] if cut else 0.0
    return value


@implements(project_workspace, GraphRecord)
@jitable
def cut_project_workspace(structure: GraphRecord, shape: Shape) -> CutNearestWork:
    flow = cut_workspace(structure, shape)
    return project_work(flow, longest_range(structure.nodes), longest_range(structure.edges))


@implements(project, GraphRecord)
@kernel
def cut_project(
    structure: GraphRecord, shape: Shape, theta: Array, shared: Array, work: CutNearestWork, point: Array
) -> float:
    # 1. The maximum flow at the scores less 1/2, edge by edge.
    n, ends = _saturate_graph(structure, shape[1], theta, 0.5, work.flow)
    arcs = 2 * structure.edges[shape[1]]
    first = structure.nodes[shape[1]] + shape[1]
    for v in range(n):
        for arc in range(structure.first[first + v], structure.first[first + v + 1]):
            e = structure.edge[arcs + arc]
            if ends[e, 0] == v:
                back = work.flow.capacity[structure.reverse[arcs + arc]]
                work.f[e] = 0.5 * (back - work.flow.capacity[arc])
    # 2. From there to the projection.
    project_cut(theta[:n], theta[n:], ends, work)
    _keep_together(theta[n:], ends, work.z)
    # 3. Written as parts.
    value = 0.0
    for v in range(n):
        point[v] = work.z[v]
    for e in range(ends.shape[0]):
        point[n + e] = min(max(theta[n + e], abs(work.z[ends[e, 0]] - work.z[ends[e, 1]])), 1.0)
    for k in range(point.size):
        value += point[k] * (theta[k] - 0.5 * point[k]) if point[k] != 0.0 else 0.0
    return max(value, dual_bound(theta[:n], theta[n:], ends, work))


@kernel
def _keep_together(b: Array, ends: Array, z: Array) -> None:
    """Make the ends of an edge that must not be cut equal: they differ by rounding only."""
    changed = True
    while changed:
        changed = False
        for e in range(b.size):
            i, j = ends[e, 0], ends[e, 1]
            if b[e] == -np.inf and z[i] != z[j]:
                z[i] = z[j] = min(z[i], z[j])
                changed = True
