"""Graphs that are too wide for variable elimination, compiled: a labelling, and a bound on all others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array, max_value, maximize, workspace
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.core.vectors import assign, longest_range
from structlearn.structures.cut.max_flow import SOURCE, cut_work, saturate
from structlearn.structures.graph.inference import (
    GraphScores,
    LabelWork,
    best_by_elimination,
    edge_ends,
    fill,
    label_work,
    write,
)
from structlearn.structures.graph.messages import (
    MessageWork,
    NodeArcs,
    improve,
    round_messages,
    sweep,
    value_of,
)

#: A sweep that lowers the bound by less than this share of what is missing does not pay.
_STALLED = 1e-3
#: For two states, one that lowers it by less than this share leaves it where it is.
_RESTS = 1e-6
#: Temperatures of `_tighten`, the sweeps at each, and how they fall: to 0.01 of the first.
_TEMPERATURES, _SWEEPS_EACH, _COOLING = 12, 10, 0.68


class BoundedGraphs(NamedTuple):
    """Graphs of which some are too wide: by maximum flow or message passing."""

    scores: GraphScores
    middle: Array  # of each node, the first of its arcs to a later one
    most_sweeps: int


class BoundedWork(NamedTuple):
    """The same, and that of message passing (with another labelling) and of maximum flow."""

    labels: LabelWork
    best: Array
    messages: MessageWork
    flow: Any


@implements(workspace, BoundedGraphs)
@jitable
def bounded_workspace(structure: Any, shape: Any) -> Any:
    scores = structure.scores
    n, m, k = longest_range(scores.graph.nodes), longest_range(scores.graph.edges), scores.n_states
    messages = MessageWork(np.empty((m, k)), np.empty((m, k)), np.empty(k), np.empty(k))
    best = np.zeros(n, dtype=np.int64)
    return BoundedWork(
        label_work(scores), best, messages, cut_work(n if k == 2 else 1, 2 * m if k == 2 else 1)
    )


@kernel
def _arcs_of(structure: Any, g: Any) -> Any:
    scores, graph = structure.scores, structure.scores.graph
    a, b = graph.nodes[g], graph.nodes[g + 1]
    c, d = 2 * graph.edges[g], 2 * graph.edges[g + 1]
    first = graph.first[a + g : b + g + 1]
    return NodeArcs(first, structure.middle[a:b], graph.head[c:d], graph.edge[c:d], edge_ends(scores, g))


@kernel
def _attraction(table: Any, e: Any) -> Any:
    """Of two states: what like ones at the ends of an edge have more than unlike ones."""
    return table[e, 0, 0] + table[e, 1, 1] - table[e, 0, 1] - table[e, 1, 0]


@kernel
def _attracts(table: Any, n_edges: Any) -> Any:
    """Whether the ends of every edge attract each other; not so where a difference of -inf is no number."""
    found = True
    for e in range(n_edges):
        found &= 0.0 <= _attraction(table, e) < np.inf
    return found


@kernel
def _best_cut(structure: Any, g: Any, arcs: Any, work: Any) -> None:
    """Two states: t(x, y) = t00 + (t10 - t00) x + (t01 - t00) y + c xy with xy = (x + y - |x - y|) / 2."""
    graph, labels, flow = structure.scores.graph, work.labels, work.flow
    node, table = labels.node, labels.table
    for v in range(arcs.middle.size):
        flow.excess[v] = node[v, 1] - node[v, 0]
    for e in range(arcs.ends.shape[0]):
        half = 0.5 * _attraction(table, e)
        flow.excess[arcs.ends[e, 0]] += table[e, 1, 0] - table[e, 0, 0] + half
        flow.excess[arcs.ends[e, 1]] += table[e, 0, 1] - table[e, 0, 0] + half
    for p in range(arcs.edge.size):
        flow.capacity[p] = 0.5 * _attraction(table, arcs.edge[p])
    saturate(arcs.first, arcs.head, graph.reverse[2 * graph.edges[g] : 2 * graph.edges[g + 1]], flow)
    for v in range(arcs.middle.size):
        labels.states[v] = 1 if flow.tree[v] == SOURCE else 0


@kernel
def _lift_forbidden(arcs: Any, labels: Any) -> Any:
    """Replace -inf by a score so low that no labelling with it is as good as any without; returns the least
    score of these. Messages are differences, in which -inf would make numbers that are none.
    """
    node, table, k = labels.node, labels.table, labels.node.shape[1]
    total = 1.0
    for v in range(arcs.middle.size):
        total += _largest(node[v])
    for e in range(arcs.ends.shape[0]):
        for a in range(k):
            total += _largest(table[e, a])
    for v in range(arcs.middle.size):
        for x in range(k):
            node[v, x] = max(node[v, x], -3.0 * total)
    for e in range(arcs.ends.shape[0]):
        for a in range(k):
            for b in range(k):
                table[e, a, b] = max(table[e, a, b], -3.0 * total)
    return -total


@kernel
def _largest(row: Any) -> Any:
    """The largest absolute value that is finite."""
    found = 0.0
    for x in range(row.size):
        found = max(found, abs(row[x]) if row[x] > -np.inf else 0.0)
    return found


@kernel
def _best_constant(arcs: Any, work: Any) -> Any:
    """best <- one state everywhere, which is hard to beat where neighbours attract; returns its value."""
    labels, n = work.labels, arcs.middle.size
    value, found = -np.inf, 0
    for x in range(labels.node.shape[1]):
        labels.states[:n] = x
        one = value_of(arcs, labels.node, labels.table, labels.states)
        if one > value:
            value, found = one, x
    work.best[:n] = found
    return value


@kernel
def _search(arcs: Any, most_sweeps: Any, work: Any) -> Any:
    """states <- the best labelling met; returns its value, and a bound on that of any."""
    labels, messages = work.labels, work.messages
    node, table, states, best = labels.node, labels.table, labels.states, work.best
    n, m = arcs.middle.size, arcs.ends.shape[0]
    for e in range(m):
        for x in range(node.shape[1]):
            messages.message[e, x] = 0.0
    value, bound, before = _best_constant(arcs, work), np.inf, np.inf
    for _ in range(most_sweeps):
        sweep(arcs, True, node, table, 0.0, messages)
        bound = min(bound, sweep(arcs, False, node, table, 0.0, messages))
        round_messages(arcs, node, table, messages, states)
        improve(arcs, node, table, messages, states)
        found = value_of(arcs, node, table, states)
        if found > value:
            value = found
            assign(best[:n], states[:n])
        if bound - value <= 1e-12 * (abs(bound) + abs(value)) or before - bound < _STALLED * (bound - value):
            break
        before = bound
    assign(states[:n], best[:n])
    return value, max(bound, value)


@kernel
def _sweep_on(arcs: Any, value: Any, bound: Any, most_sweeps: Any, work: Any) -> Any:
    """Two states: where sweeps rest is the optimum of the linear program (Kolmogorov and Wainwright 2005, "On
    the optimality of tree-reweighted max-product message-passing"), so that no temperature is needed.
    """
    labels, messages = work.labels, work.messages
    for _ in range(most_sweeps):
        before = bound
        sweep(arcs, True, labels.node, labels.table, 0.0, messages)
        bound = min(bound, sweep(arcs, False, labels.node, labels.table, 0.0, messages))
        if before - bound <= _RESTS * (bound - value):
            break
    return max(bound, value)


@kernel
def _tighten(arcs: Any, value: Any, bound: Any, work: Any) -> Any:
    """A lower bound on what no labelling exceeds, by sweeps at falling temperatures.

    At the temperature t the smooth dual is within t n log K of the other: t begins where this is what is
    missing, and falls until it is a hundredth of it.
    """
    labels, messages = work.labels, work.messages
    node, table = labels.node, labels.table
    n, k = arcs.middle.size, node.shape[1]
    temperature = (bound - value) / (n * np.log(k))
    for _ in range(_TEMPERATURES):
        for _ in range(_SWEEPS_EACH):
            sweep(arcs, True, node, table, temperature, messages)
            sweep(arcs, False, node, table, temperature, messages)
        for e in range(arcs.ends.shape[0]):
            assign(messages.kept[e], messages.message[e])
        sweep(arcs, True, node, table, 0.0, messages)
        bound = min(bound, sweep(arcs, False, node, table, 0.0, messages))
        for e in range(arcs.ends.shape[0]):
            assign(messages.message[e], messages.kept[e])
        temperature *= _COOLING
        if bound - value <= 1e-12 * (abs(bound) + abs(value)):
            break
    return max(bound, value)


@kernel
def best_labelling(structure: Any, g: Any, tight: Any, work: Any) -> Any:
    """states <- the best labelling found; returns its value, and a bound on that of any, or a `tight` one."""
    scores, labels = structure.scores, work.labels
    if scores.elimination.exact[g]:
        value = best_by_elimination(scores, g, labels)
        return value, value
    arcs = _arcs_of(structure, g)
    if scores.n_states == 2 and _attracts(labels.table, arcs.ends.shape[0]):
        _best_cut(structure, g, arcs, work)
        value = value_of(arcs, labels.node, labels.table, labels.states)
        return value, value
    least = _lift_forbidden(arcs, labels)
    value, bound = _search(arcs, structure.most_sweeps, work)
    if value < least:
        return -np.inf, bound if bound >= least else -np.inf
    if tight and bound - value > 1e-12 * (abs(bound) + abs(value)):
        if scores.n_states == 2:
            bound = _sweep_on(arcs, value, bound, structure.most_sweeps, work)
        else:
            bound = _tighten(arcs, value, bound, work)
    return value, bound


@implements(maximize, BoundedGraphs)
@kernel
def bounded_maximize(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, vertex: Any) -> Any:
    fill(structure.scores, shape[1], theta, shared, work.labels)
    value, _ = best_labelling(structure, shape[1], False, work)
    if value == -np.inf:
        vertex[:] = 0.0
        return value
    write(structure.scores, shape[1], work.labels.states, vertex)
    return value


@implements(max_value, BoundedGraphs)
@kernel
def bounded_max_value(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, vertex: Any) -> Any:
    """An upper bound of the maximum."""
    fill(structure.scores, shape[1], theta, shared, work.labels)
    return best_labelling(structure, shape[1], True, work)[1]
