"""The local polytope in the place of the marginal one, compiled: fractional points, and bounds on all.

A point of the local polytope has a distribution over the states of each node and one over the pairs of states
of each edge, whose margins are those of its nodes. It is the relaxation whose dual message passing descends;
its points need not be mixtures of labellings, except on forests.

`maximize` anneals smooth messages (see `smooth`), rounds the beliefs of nodes to distributions, and couples
them along each edge in the best way (see `transport`): a point of the polytope, whatever the messages are.
`max_value` is the dual value of the messages: no point of the polytope is above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array, Shape, max_value, maximize, workspace
from structlearn.core.kernels import implements, jitable, kernel, leaf
from structlearn.core.memory import Memory
from structlearn.core.vectors import assign, longest_range
from structlearn.structures.chain.exponential import exponential
from structlearn.structures.graph.bounded import (
    BoundedGraphs,
    BoundedWork,
    best_labelling,
    bounded_workspace,
    node_arcs,
)
from structlearn.structures.graph.elimination import EliminationRecord, elimination_record
from structlearn.structures.graph.inference import GraphScores, edge_ends, fill_tables, graph_sizes, write
from structlearn.structures.graph.messages import NodeArcs, sweep
from structlearn.structures.graph.smooth import SmoothWork, smooth_sweep, smooth_work
from structlearn.structures.graph.transport import TransportWork, couple, transport_work
from structlearn.structures.graphs import Graph
from structlearn.structures.labels.label_tree import edges_form_forest

#: The first temperature, where 1 is that at which the smooth dual may be off by what is missing; how it falls
#: from round to round, their number, and the sweeps in each.
_FIRST, _COOLING, _ROUNDS, _SWEEPS = 3.0, 0.6, 8, 20
#: Shares of what was missing: what a good point may miss, and how far a round must lower the bound to go on.
_ENOUGH, _PAYS = 0.05, 0.01
#: Beliefs of less are no part of a point.
_LEAST_BELIEF = 1e-3
#: What is missing from the bound, over both, where a labelling is as good as a point.
_CLOSED = 1e-9


class LocalGraphs(NamedTuple):
    """Graphs of which the forests alone are eliminated."""

    bounded: BoundedGraphs


class LocalWork(NamedTuple):
    """Scratch memory; distributions of nodes (n, K), the joint one of an edge, and a point."""

    bounded: BoundedWork
    smooth: SmoothWork
    transport: TransportWork
    nodes: Array
    pair: Array
    point: Array


def local_elimination(
    graphs: Sequence[Graph], n_states: int, memory: Memory | None = None
) -> EliminationRecord:
    """Return orders for the elimination of the forests, and of these alone."""
    forests = np.array([edges_form_forest(*graph) for graph in graphs])
    largest = max(graph.n_nodes for graph in graphs) * n_states
    record = elimination_record(graphs, n_states, largest, memory=memory)
    return record._replace(exact=record.exact * forests)


@implements(workspace, LocalGraphs)
@jitable
def local_workspace(structure: LocalGraphs, shape: Shape) -> LocalWork:
    scores = structure.bounded.scores
    n, m, k = longest_range(scores.graph.nodes), longest_range(scores.graph.edges), scores.n_states
    return LocalWork(
        bounded_workspace(structure.bounded, shape),
        smooth_work(n, m, k),
        transport_work(k),
        np.empty((n, k)),
        np.empty((k, k)),
        np.empty(shape[0]),
    )


@leaf
def _is_closed(value: float, bound: float) -> bool:
    return bound - value <= _CLOSED * (abs(bound) + abs(value))


@leaf
def _temperature(arcs: NodeArcs, missing: float, n_states: int) -> float:
    """Return a temperature at which the smooth dual, within t n log K, may be off by what is missing."""
    return missing / (arcs.middle.size * np.log(n_states))


@leaf
def anneal(arcs: NodeArcs, temperature: float, work: LocalWork) -> None:
    """Run the sweeps of a round."""
    labels, messages, smooth = work.bounded.labels, work.bounded.messages, work.smooth
    for s in range(_SWEEPS):
        smooth_sweep(arcs, True, labels.node, labels.table, temperature, s == 0, messages, smooth)
        smooth_sweep(arcs, False, labels.node, labels.table, temperature, False, messages, smooth)


@leaf
def _read_bound(arcs: NodeArcs, work: LocalWork) -> float:
    """Return the dual value of the messages, after a sweep without temperature; the messages stay."""
    labels, messages = work.bounded.labels, work.bounded.messages
    for e in range(arcs.ends.shape[0]):
        assign(messages.kept[e], messages.message[e])
    sweep(arcs, True, labels.node, labels.table, messages)
    bound = sweep(arcs, False, labels.node, labels.table, messages)
    for e in range(arcs.ends.shape[0]):
        assign(messages.message[e], messages.kept[e])
    return bound


@leaf
def _may_have(scores: GraphScores, row: int, x: int) -> bool:
    """Return whether the node of a row of all graphs may have state x."""
    return scores.allowed.shape[0] == 0 or scores.allowed[row, x] != 0


@leaf
def _distributions(scores: GraphScores, g: int, temperature: float, work: LocalWork) -> None:
    """Compute the nodes' distributions from their beliefs in allowed states, without what is small."""
    belief, nodes = work.smooth.belief, work.nodes
    k, first = nodes.shape[1], scores.graph.nodes[g]
    for v in range(graph_sizes(scores, g)[0]):
        top = -np.inf
        for x in range(k):
            top = max(top, belief[v, x] if _may_have(scores, first + v, x) else -np.inf)
        total = 0.0
        for x in range(k):
            nodes[v, x] = 0.0
            if _may_have(scores, first + v, x):
                nodes[v, x] = exponential((belief[v, x] - top) / temperature)
            total += nodes[v, x]
        kept = 0.0
        for x in range(k):
            nodes[v, x] = nodes[v, x] if nodes[v, x] >= _LEAST_BELIEF * total else 0.0
            kept += nodes[v, x]
        for x in range(k):
            nodes[v, x] /= kept


@kernel
def _write_point(scores: GraphScores, g: int, work: LocalWork, point: Array) -> None:
    """Write the part vector of the nodes' distributions, coupled along each edge."""
    nodes, table, pair, k = work.nodes, work.bounded.labels.table, work.pair, scores.n_states
    n, m = graph_sizes(scores, g)
    ends = edge_ends(scores, g)
    point[:] = 0.0
    for v in range(n):
        for x in range(k):
            point[v * k + x] = nodes[v, x]
    for e in range(m):
        couple(table, e, nodes[ends[e, 0]], nodes[ends[e, 1]], pair, work.transport)
        begin = n * k + e * scores.n_tied
        for a in range(k):
            for b in range(k):
                if pair[a, b] > 0.0:
                    point[begin + scores.part[a, b]] += scores.sign[a, b] * pair[a, b]


@leaf
def _value_at(theta: Array, shared: Array, point: Array) -> float:
    """Return <theta, z>; -inf where z has what is forbidden."""
    value = 0.0
    for j in range(point.size):
        if point[j] != 0.0:
            value += point[j] * (theta[j] if j < theta.size else shared[j - theta.size])
    return value


@kernel
def _best_point(
    structure: BoundedGraphs,
    g: int,
    value: float,
    bound: float,
    theta: Array,
    shared: Array,
    work: LocalWork,
    best: Array,
) -> float:
    """best <- the best point of all rounds, where it is above `value`; returns its value."""
    scores, arcs = structure.scores, node_arcs(structure, g)
    point = work.point[: best.size]
    temperature = _temperature(arcs, bound - value, scores.n_states)
    enough = bound - _ENOUGH * (bound - value)
    for r in range(_ROUNDS):
        at = _FIRST * _COOLING**r * temperature
        anneal(arcs, at, work)
        _distributions(scores, g, at, work)
        _write_point(scores, g, work, point)
        found = _value_at(theta, shared, point)
        if found > value:
            value = found
            assign(best, point)
        if value >= enough:
            break
    return value


@implements(maximize, LocalGraphs)
@kernel
def local_maximize(
    structure: LocalGraphs, shape: Shape, theta: Array, shared: Array, work: LocalWork, vertex: Array
) -> float:
    inner, g = structure.bounded, shape[1]
    fill_tables(inner.scores, g, theta, shared, work.bounded.labels)
    value, bound = best_labelling(inner, g, False, work.bounded)[:2]
    vertex[:] = 0.0
    if value == -np.inf:
        return value
    write(inner.scores, g, work.bounded.labels.states, vertex)
    if _is_closed(value, bound):
        return value
    return _best_point(inner, g, value, bound, theta, shared, work, vertex)


@implements(max_value, LocalGraphs)
@kernel
def local_max_value(
    structure: LocalGraphs, shape: Shape, theta: Array, shared: Array, work: LocalWork, vertex: Array
) -> float:
    """Return an upper bound of the maximum."""
    inner, g = structure.bounded, shape[1]
    fill_tables(inner.scores, g, theta, shared, work.bounded.labels)
    value, bound = best_labelling(inner, g, False, work.bounded)[:2]
    if value == -np.inf or _is_closed(value, bound):
        return bound
    arcs = node_arcs(inner, g)
    temperature = _temperature(arcs, bound - value, inner.scores.n_states)
    for r in range(_ROUNDS):
        before = bound
        anneal(arcs, _FIRST * _COOLING**r * temperature, work)
        bound = min(bound, _read_bound(arcs, work))
        if r > 2 and before - bound < _PAYS * (bound - value):
            break
    return max(bound, value)
