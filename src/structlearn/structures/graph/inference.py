"""Graphs that variable elimination answers for, compiled: scores as tables, the best labelling, marginals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import (
    Array,
    Shape,
    entropy,
    log_partition,
    marginals,
    marginals_workspace,
    max_value,
    maximize,
    project,
    project_workspace,
    workspace,
)
from structlearn.core.kernels import implements, jitable, kernel, leaf
from structlearn.core.vectors import longest_range
from structlearn.structures.graph.elimination import (
    EliminationRecord,
    SeparatorTables,
    eliminate,
    read_back,
    write_marginals,
)
from structlearn.structures.graph.shapes import ROW
from structlearn.structures.graphs import GraphRecord
from structlearn.structures.regularized import clip_entropy
from structlearn.structures.sparsemap import SparseMAPScratch, active_set_project, sparsemap_scratch


class GraphScores(NamedTuple):
    """Several graphs, how the parts of their edges make tables, and elimination orders."""

    n_states: int
    part: Array
    sign: Array
    n_tied: int
    graph: GraphRecord
    elimination: EliminationRecord
    allowed: Array  # (all nodes, n_states), which states each may have; no rows where all may have all
    limit: float  # of tables by the distance of states (see `shapes`), and its power; 0 of others
    power: float


class ExactGraphs(NamedTuple):
    """Graphs that are all eliminated."""

    scores: GraphScores


class LabelWork(NamedTuple):
    """Scratch memory: the scores as tables, a labelling, and that of variable elimination."""

    node: Array
    table: Array
    states: Array
    elimination: SeparatorTables


@jitable
def label_work(scores: GraphScores) -> LabelWork:
    n, m, k = longest_range(scores.graph.nodes), longest_range(scores.graph.edges), scores.n_states
    plan = scores.elimination
    row = np.empty(k)
    tables = np.empty((2, plan.most_entries))
    elimination = SeparatorTables(tables[0], tables[1], np.zeros(plan.widest + 1, dtype=np.int64), row)
    rows, columns = (1, ROW) if scores.power > 0.0 else (1, 1) if is_potts(scores) else (k, k)
    return LabelWork(np.empty((n, k)), np.empty((m, rows, columns)), np.zeros(n, dtype=np.int64), elimination)


@jitable
def is_potts(scores: GraphScores) -> bool:
    """Return whether only like states have a score, the same one: `table` then holds it (`pair_scores`)."""
    return scores.n_tied == 1 and scores.sign[0, 0] == 1.0


@implements(marginals_workspace, ExactGraphs)
@implements(workspace, ExactGraphs)
@jitable
def exact_workspace(structure: ExactGraphs, shape: Shape) -> LabelWork:
    return label_work(structure.scores)


@leaf
def graph_sizes(scores: GraphScores, g: int) -> tuple[int, int]:
    """Return the numbers of nodes and of edges of a graph."""
    nodes, edges = scores.graph.nodes, scores.graph.edges
    return nodes[g + 1] - nodes[g], edges[g + 1] - edges[g]


@kernel
def edge_ends(scores: GraphScores, g: int) -> Array:
    return scores.graph.ends[scores.graph.edges[g] : scores.graph.edges[g + 1]]


@leaf
def _part(theta: Array, shared: Array, j: int) -> float:
    """Return the score of part j: both vectors together hold all parts, wherever a projection cuts them."""
    return theta[j] if j < theta.size else shared[j - theta.size]


@leaf
def _forbid(scores: GraphScores, g: int, n: int, node: Array) -> None:
    """node[v, x] <- -inf where node v may not have state x."""
    first = scores.graph.nodes[g]
    for v in range(n):
        for x in range(scores.n_states):
            if scores.allowed[first + v, x] == 0:
                node[v, x] = -np.inf


@leaf
def fill_tables(scores: GraphScores, g: int, theta: Array, shared: Array, work: LabelWork) -> tuple[int, int]:
    """Write the scores as tables, (n, K) and those of `pair_scores`; return n and m."""
    k = scores.n_states
    n, m = graph_sizes(scores, g)
    for v in range(n):
        for x in range(k):
            work.node[v, x] = _part(theta, shared, v * k + x)
    if scores.allowed.shape[0] > 0:
        _forbid(scores, g, n, work.node)
    for e in range(m):
        begin = n * k + e * scores.n_tied
        if scores.power > 0.0:  # w (1 - min(|a - b|^p, limit) / limit)
            likes = _part(theta, shared, begin)
            work.table[e, 0, 0], work.table[e, 0, 1] = likes, -likes / scores.limit
            work.table[e, 0, 2], work.table[e, 0, 3] = scores.limit, scores.power
            continue
        for a in range(work.table.shape[1]):
            for b in range(work.table.shape[1]):
                sign = scores.sign[a, b]
                work.table[e, a, b] = 0.0
                if sign != 0.0:
                    work.table[e, a, b] = sign * _part(theta, shared, begin + scores.part[a, b])
    return n, m


@kernel
def write(scores: GraphScores, g: int, states: Array, vertex: Array) -> None:
    """Write the part vector of a labelling."""
    k = scores.n_states
    n, m = graph_sizes(scores, g)
    ends = edge_ends(scores, g)
    vertex[:] = 0.0
    for v in range(n):
        vertex[v * k + states[v]] = 1.0
    for e in range(m):
        a, b = states[ends[e, 0]], states[ends[e, 1]]
        if scores.sign[a, b] != 0.0:
            vertex[n * k + e * scores.n_tied + scores.part[a, b]] = scores.sign[a, b]


@leaf
def _eliminate_graph(scores: GraphScores, g: int, work: LabelWork, soft: bool) -> float:
    first, last = scores.elimination.first[g], scores.elimination.first[g + 1]
    return eliminate(scores.elimination, first, last, work.node, work.table, work.elimination, soft)


@leaf
def best_by_elimination(scores: GraphScores, g: int, work: LabelWork) -> float:
    value = _eliminate_graph(scores, g, work, False)
    first, last = scores.elimination.first[g], scores.elimination.first[g + 1]
    if value > -np.inf:
        read_back(scores.elimination, first, last, work.node, work.table, work.elimination, work.states)
    return value


# ---- all graphs are eliminated ---------------------------------------------------------------------


@implements(maximize, ExactGraphs)
@kernel
def exact_maximize(
    structure: ExactGraphs, shape: Shape, theta: Array, shared: Array, work: LabelWork, vertex: Array
) -> float:
    fill_tables(structure.scores, shape[1], theta, shared, work)
    value = best_by_elimination(structure.scores, shape[1], work)
    if value == -np.inf:
        vertex[:] = 0.0
        return value
    write(structure.scores, shape[1], work.states, vertex)
    return value


@implements(max_value, ExactGraphs)
@kernel
def exact_max_value(
    structure: ExactGraphs, shape: Shape, theta: Array, shared: Array, work: LabelWork, vertex: Array
) -> float:
    fill_tables(structure.scores, shape[1], theta, shared, work)
    return _eliminate_graph(structure.scores, shape[1], work, False)


@implements(log_partition, ExactGraphs)
@kernel
def exact_log_partition(
    structure: ExactGraphs, shape: Shape, theta: Array, shared: Array, work: LabelWork, mean: Array
) -> float:
    fill_tables(structure.scores, shape[1], theta, shared, work)
    return _eliminate_graph(structure.scores, shape[1], work, True)


@implements(marginals, ExactGraphs)
@kernel
def exact_marginals(
    structure: ExactGraphs, shape: Shape, theta: Array, shared: Array, work: LabelWork, mean: Array
) -> float:
    scores, g = structure.scores, shape[1]
    n, m = fill_tables(scores, g, theta, shared, work)
    value = _eliminate_graph(scores, g, work, True)
    mean[:] = 0.0
    if value == -np.inf:
        return value
    k = scores.n_states
    nodes, pairs = np.empty((n, k)), np.empty((m, k, k))
    first, last = scores.elimination.first[g], scores.elimination.first[g + 1]
    found = write_marginals(
        scores.elimination, first, last, work.node, work.table, work.elimination, nodes, pairs
    )
    for v in range(n):
        for x in range(k):
            mean[v * k + x] = min(nodes[v, x], 1.0)
    for e in range(m):
        for a in range(k):
            for b in range(k):
                sign = scores.sign[a, b]
                if sign != 0.0:
                    mean[n * k + e * scores.n_tied + scores.part[a, b]] += sign * pairs[e, a, b]
    work.elimination.row[0] = found
    return value


@implements(entropy, ExactGraphs)
@kernel
def exact_entropy(
    structure: ExactGraphs,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: LabelWork,
    mean: Array,
    log_z: float,
) -> float:
    scores = structure.scores
    n, _ = graph_sizes(scores, shape[1])
    return clip_entropy(work.elimination.row[0], n * np.log(scores.n_states))


# ---- projections: the squared norm covers states, as it does in chains -----------------------------


@implements(project_workspace, ExactGraphs)
@jitable
def graph_project_workspace(structure: ExactGraphs, shape: Shape) -> SparseMAPScratch[object]:
    n_curved = longest_range(structure.scores.graph.nodes) * structure.scores.n_states
    return sparsemap_scratch(n_curved, shape[0], workspace(structure, shape))


@implements(project, ExactGraphs)
@kernel
def graph_project(
    structure: ExactGraphs, shape: Shape, theta: Array, shared: Array, work: SparseMAPScratch, point: Array
) -> float:
    n_curved = graph_sizes(structure.scores, shape[1])[0] * structure.scores.n_states
    return active_set_project(structure, shape, theta[:n_curved], theta[n_curved:], work, point)
