"""Graphs that are too wide for variable elimination, compiled: a labelling, and a bound on all others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array, Shape, max_value, maximize, workspace
from structlearn.core.kernels import implements, jitable, kernel, leaf
from structlearn.core.vectors import assign, longest_range
from structlearn.structures.cut.max_flow import cut_work
from structlearn.structures.graph.branching import BranchWork, branch_and_bound, graph_branch_work
from structlearn.structures.graph.descent import find_labelling, is_closed, sweep_on, tighten
from structlearn.structures.graph.expansion import expand, fuse
from structlearn.structures.graph.inference import (
    GraphScores,
    LabelWork,
    best_by_elimination,
    edge_ends,
    fill_tables,
    label_work,
    write,
)
from structlearn.structures.graph.messages import (
    MessageWork,
    NodeArcs,
    value_of,
)
from structlearn.structures.graph.pair_scores import attraction
from structlearn.structures.graph.search import AnnealingWork, annealing_work, search
from structlearn.structures.graph.shapes import ROW, largest_shaped, recognise

#: How an answer was found.
ELIMINATION, FLOW, MESSAGES, BRANCHES = range(4)
#: Sweeps before branch and bound is tried.
_FIRST_SWEEPS = 32
#: Without a limit.
_MANY = 1 << 62
#: The short branch and bound reads this share of what the long one may.
_SHORT = 8


class BoundedGraphs(NamedTuple):
    """Graphs of which some are too wide: by maximum flow or message passing."""

    scores: GraphScores
    middle: Array  # of each node, the first of its arcs to a later one
    most_sweeps: int
    most_visits: int = 0  # of branch and bound at every node, on average, before temperatures are tried
    most_branches: int = 0  # its subproblems after that; none unless asked for
    most_read: int = 0  # entries of tables and messages that it reads in these, and before an eighth of it
    effort: int = 0  # sweeps of the search for a better labelling


class BoundedWork(NamedTuple):
    """Scratch memory: that of elimination, and of message passing, maximum flow and branch and bound."""

    labels: LabelWork
    rows: Array  # tables by the distance of states, where they are recognised
    best: Array  # another labelling
    messages: MessageWork
    flow: Any
    branches: BranchWork
    search: AnnealingWork


@implements(workspace, BoundedGraphs)
@jitable
def bounded_workspace(structure: BoundedGraphs, shape: Shape) -> BoundedWork:
    scores = structure.scores
    n, m, k = longest_range(scores.graph.nodes), longest_range(scores.graph.edges), scores.n_states
    labels = label_work(scores)
    whole = scores.power == 0.0
    power = np.empty(labels.table.shape) if whole else np.empty((m, 1, k))
    hull = np.empty((2, k + 1))
    messages = MessageWork(np.empty((m, k)), np.empty((m, k)), power, np.empty(k), np.empty(k), hull)
    rows = np.empty((m if whole else 0, 1, ROW))
    best, flow = np.zeros(n, dtype=np.int64), cut_work(n, 2 * m)
    wanted = annealing_work(n, k, structure.effort > 0)
    return BoundedWork(labels, rows, best, messages, flow, graph_branch_work(n, k), wanted)


@kernel
def node_arcs(structure: BoundedGraphs, g: int) -> NodeArcs:
    scores, graph = structure.scores, structure.scores.graph
    a, b = graph.nodes[g], graph.nodes[g + 1]
    c, d = 2 * graph.edges[g], 2 * graph.edges[g + 1]
    first = graph.first[a + g : b + g + 1]
    middle, ends = structure.middle[a:b], edge_ends(scores, g)
    return NodeArcs(first, middle, graph.head[c:d], graph.reverse[c:d], graph.edge[c:d], ends)


@leaf
def _attracts(table: Array, n_edges: int) -> bool:
    """Return whether the ends of every edge attract each other; False where a difference is not a number."""
    found = True
    for e in range(n_edges):
        found &= 0.0 <= attraction(table, e) < np.inf
    return found


@leaf
def _best_cut(arcs: NodeArcs, work: BoundedWork) -> None:
    """Find the best labelling of two states that attract: each node stays at 0 or moves to 1."""
    labels, n = work.labels, arcs.middle.size
    for v in range(n):
        work.best[v], labels.states[v] = 0, 1
    for e in range(arcs.ends.shape[0]):
        work.messages.message[e, 0] = work.messages.message[e, 1] = 0.0
    fuse(arcs, labels, work.best, labels.states, work.messages.message, work.flow)


@leaf
def lift_forbidden(arcs: NodeArcs, labels: LabelWork) -> float:
    """Replace -inf by a score so low that no labelling with it is as good as any without; return the least
    score of these. Messages are differences, in which -inf would make NaN.
    """
    node, table, k = labels.node, labels.table, labels.table.shape[1]
    total = 1.0
    for v in range(arcs.middle.size):
        total += _largest(node[v])
    shaped = k == 1 and table.shape[2] > 1
    for e in range(arcs.ends.shape[0]):
        for a in range(k):
            total += largest_shaped(table[e, 0]) if shaped else _largest(table[e, a])
    for v in range(arcs.middle.size):
        for x in range(node.shape[1]):
            node[v, x] = max(node[v, x], -3.0 * total)
    for e in range(arcs.ends.shape[0]):
        for a in range(k):
            for b in range(k):
                table[e, a, b] = max(table[e, a, b], -3.0 * total)
    return -total


@leaf
def _largest(row: Array) -> float:
    """Return the largest absolute value that is finite."""
    found = 0.0
    for x in range(row.size):
        found = max(found, abs(row[x]) if row[x] > -np.inf else 0.0)
    return found


@kernel
def _with_rows(work: BoundedWork) -> BoundedWork:
    """Return the same scratch memory with rows in the place of whole tables."""
    own = work.labels
    labels = LabelWork(own.node, work.rows, own.states, own.elimination)
    return BoundedWork(labels, work.rows, work.best, work.messages, work.flow, work.branches, work.search)


@kernel
def best_labelling(
    structure: BoundedGraphs, g: int, tight: bool, work: BoundedWork
) -> tuple[float, float, int]:
    """states <- the best labelling found; its value, a bound on any, or a `tight` one, and the method."""
    scores, labels = structure.scores, work.labels
    if scores.elimination.exact[g]:
        value = best_by_elimination(scores, g, labels)
        return value, value, ELIMINATION
    arcs = node_arcs(structure, g)
    free = scores.allowed.shape[0] == 0
    if scores.n_states == 2 and free and _attracts(labels.table, arcs.ends.shape[0]):
        _best_cut(arcs, work)
        value = value_of(arcs, labels.node, labels.table, labels.states)
        return value, value, FLOW
    least = lift_forbidden(arcs, labels)
    if recognise(labels.table, arcs.ends.shape[0], scores.n_states, work.rows):
        work = _with_rows(work)
    closes, most_sweeps = tight or structure.most_branches > 0, structure.most_sweeps
    if closes and structure.most_visits > 0:
        most_sweeps = min(most_sweeps, _FIRST_SWEEPS)
    value, bound = find_labelling(arcs, most_sweeps, tight, work)
    method = MESSAGES
    if not is_closed(value, bound):
        if closes:
            value, bound = _close(structure, arcs, value, bound, least, work)
            method = BRANCHES
        else:
            value = expand(arcs, value, bound, work)
    if not tight and structure.effort > 0 and not is_closed(value, bound):
        states = labels.states
        value = search(arcs, labels.node, labels.table, value, bound, structure.effort, states, work.search)
    if value < least:
        return -np.inf, bound if bound >= least else -np.inf, method
    return value, max(bound, value), method


@leaf
def visits_that_read(n_entries: int, arcs: NodeArcs, labels: LabelWork) -> int:
    """Count the visits of sweeps that read `n_entries`: of each edge the table once, the message twice."""
    a_sweep = arcs.ends.shape[0] * labels.node.shape[1] * (labels.table.shape[1] + 2)
    return n_entries * arcs.middle.size // max(a_sweep, 1)


@kernel
def _close(
    structure: BoundedGraphs, arcs: NodeArcs, value: float, bound: float, least: float, work: BoundedWork
) -> tuple[float, float]:
    """Close the gap by branch and bound, from the best expansion; after some time from tighter bounds."""
    n, low, most = arcs.middle.size, 3.0 * least, structure.most_branches
    visits = visits_that_read(structure.most_read, arcs, work.labels)
    value = expand(arcs, value, bound, work)
    assign(work.best[:n], work.labels.states[:n])
    few = min(structure.most_visits * n, visits // _SHORT)
    value, bound = branch_and_bound(arcs, value, bound, low, _MANY, few, work)
    if not is_closed(value, bound):
        bound = sweep_on(arcs, value, bound, structure.most_sweeps, work)
        if structure.scores.n_states > 2 and not is_closed(value, bound):
            bound = tighten(arcs, value, bound, work)
        if most > 0:
            value, bound = branch_and_bound(arcs, value, bound, low, most, visits, work)
    assign(work.labels.states[:n], work.best[:n])
    return value, bound


@kernel
def bounded_answer(
    structure: BoundedGraphs,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: BoundedWork,
    vertex: Array,
    tight: bool,
) -> float:
    """Return a tight upper bound of the maximum; else write a labelling and return its value."""
    fill_tables(structure.scores, shape[1], theta, shared, work.labels)
    value, bound, _ = best_labelling(structure, shape[1], tight, work)
    if tight:
        return bound
    if value == -np.inf:
        vertex[:] = 0.0
        return value
    write(structure.scores, shape[1], work.labels.states, vertex)
    return value


@implements(maximize, BoundedGraphs)
@kernel
def bounded_maximize(
    structure: BoundedGraphs, shape: Shape, theta: Array, shared: Array, work: BoundedWork, vertex: Array
) -> float:
    return bounded_answer(structure, shape, theta, shared, work, vertex, False)


@implements(max_value, BoundedGraphs)
@kernel
def bounded_max_value(
    structure: BoundedGraphs, shape: Shape, theta: Array, shared: Array, work: BoundedWork, vertex: Array
) -> float:
    """Return an upper bound of the maximum."""
    return bounded_answer(structure, shape, theta, shared, work, vertex, True)
