"""Moves of many nodes at once by a maximum flow: fusion of two labellings, and alpha-expansion.

Each node keeps its state or takes that of a proposal. Where the four scores of an edge attract, the best of
these 2^n labellings is a minimum cut (Boykov, Veksler and Zabih 2001, "Fast approximate energy minimization
via graph cuts"): so for Potts tables that attract and for all metric ones. Elsewhere the scores of an edge
whose ends decide differently are lowered until they do; that of staying is not, so that a move never makes
the labelling worse (Rother, Kumar, Kolmogorov and Blake 2005, "Digital tapestry").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import leaf
from structlearn.core.vectors import assign
from structlearn.structures.cut.max_flow import SOURCE, CutWork, saturate
from structlearn.structures.graph.inference import LabelWork
from structlearn.structures.graph.messages import NodeArcs, value_of
from structlearn.structures.graph.pair_scores import pair_score

if TYPE_CHECKING:
    from structlearn.structures.graph.bounded import BoundedWork

#: A round of expansions that gains less than this share of what is missing is the last.
_PAYS = 0.01


@leaf
def load_moves(arcs: NodeArcs, labels: LabelWork, states: Array, proposal: Array, flow: CutWork) -> None:
    """t(x, y) = t00 + (t10 - t00) x + (t01 - t00) y + c xy with xy = (x + y - |x - y|) / 2, x = 1: moves."""
    node, table, ends = labels.node, labels.table, arcs.ends
    for v in range(arcs.middle.size):
        flow.excess[v] = node[v, proposal[v]] - node[v, states[v]]
    for v in range(arcs.middle.size):
        for p in range(arcs.middle[v], arcs.first[v + 1]):
            e = arcs.edge[p]
            i, j = ends[e, 0], ends[e, 1]
            stay = pair_score(table, e, states[i], states[j])
            first = pair_score(table, e, proposal[i], states[j])
            second = pair_score(table, e, states[i], proposal[j])
            half = 0.5 * (stay + pair_score(table, e, proposal[i], proposal[j]) - first - second)
            flow.excess[i] += first - stay + half
            flow.excess[j] += second - stay + half
            flow.capacity[p] = flow.capacity[arcs.reverse[p]] = max(half, 0.0)


@leaf
def push_messages(arcs: NodeArcs, message: Array, states: Array, proposal: Array, flow: CutWork) -> None:
    """Set the flow that messages to the earlier ends of edges amount to: this start saves half the time.

    After Komodakis and Tziritas 2007, "Approximate labeling via graph cuts based on linear programming".
    """
    for v in range(arcs.middle.size):
        for p in range(arcs.middle[v], arcs.first[v + 1]):
            e, back, most = arcs.edge[p], arcs.reverse[p], flow.capacity[p]
            push = max(min(message[e, proposal[v]] - message[e, states[v]], most), -most)
            flow.excess[v] += push
            flow.excess[arcs.head[p]] -= push
            flow.capacity[back] -= push
            flow.capacity[p] += push


@leaf
def fuse(
    arcs: NodeArcs, labels: LabelWork, states: Array, proposal: Array, message: Array, flow: CutWork
) -> None:
    """proposal <- the best labelling of which each node's state is one of both (see above)."""
    load_moves(arcs, labels, states, proposal, flow)
    push_messages(arcs, message, states, proposal, flow)
    saturate(arcs.first, arcs.head, arcs.reverse, flow)
    for v in range(arcs.middle.size):
        if flow.tree[v] != SOURCE:
            proposal[v] = states[v]


@leaf
def expand(arcs: NodeArcs, value: float, bound: float, work: BoundedWork) -> float:
    """Propose every state in turn to all nodes, as long as a round pays; return the value."""
    labels, states, proposal, n = work.labels, work.labels.states, work.best, arcs.middle.size
    n_states, in_vain, before = labels.node.shape[1], 0, -np.inf
    while value - before > _PAYS * max(bound - value, 0.0):  # rounding may put the bound below
        before = value
        for x in range(n_states):
            for v in range(n):
                proposal[v] = x
            fuse(arcs, labels, states, proposal, work.messages.message, work.flow)
            found = value_of(arcs, labels.node, labels.table, proposal)
            in_vain += 1
            if found > value:
                value, in_vain = found, 0
                assign(states[:n], proposal[:n])
            if in_vain == n_states:
                return value
    return value
