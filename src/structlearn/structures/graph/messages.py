"""Message passing on graphs with cycles: a labelling, and a bound on what any labelling can reach.

Sequential tree-reweighted message passing (Kolmogorov 2006, "Convergent tree-reweighted message passing for
energy minimization"): a block-coordinate descent on the dual of the linear program over the local polytope.
Nodes are visited in their order and back; an edge keeps the one message that was sent last. The sum of the
maxima that are taken off on the way back is an upper bound, whatever the messages are, and never rises.

Descent by coordinates may stop above the optimum of the linear program. At a temperature, maxima become
logarithms of sums, and the descent goes to the optimum of a smooth dual (Savchynskyy, Schmidt, Kappes and
Schnorr 2012, "Efficient MRF energy minimization via adaptive diminishing smoothing"): so where it stops,
sweeps at falling temperatures go on from there, and the bound is read off by a sweep at temperature zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.core.vectors import argmax_of, max_of


class NodeArcs(NamedTuple):
    """One graph, as seen from its nodes: node v has the arcs first[v] .. first[v + 1] - 1, by their heads.

    Those from middle[v] on lead to later nodes. `edge` of an arc is its edge, `ends` the nodes of an edge.
    """

    first: Array
    middle: Array
    head: Array
    edge: Array
    ends: Array


class MessageWork(NamedTuple):
    """Scratch memory: messages (edges, K), those kept for a trial, scores of one node, and what is sent."""

    message: Array
    kept: Array
    score: Array
    sent: Array


@kernel
def gather(arcs: Any, v: Any, node: Any, work: Any) -> Any:
    """score[x] <- what node v and all messages to it say of state x, less the maximum, which is returned."""
    score, message = work.score, work.message
    n_states = score.size
    for x in range(n_states):
        score[x] = node[v, x]
    for p in range(arcs.first[v], arcs.first[v + 1]):
        e = arcs.edge[p]
        for x in range(n_states):
            score[x] += message[e, x]
    top = max_of(score)
    for x in range(n_states):
        score[x] -= top
    return top


@kernel
def send(table: Any, e: Any, ahead: Any, share: Any, work: Any) -> Any:
    """message[e, y] <- max_x share score[x] - message[e, x] + table[e, x, y], less its maximum (returned)."""
    score, sent, message = work.score, work.sent, work.message
    n_states = score.size
    for x in range(n_states):
        sent[x] = share * score[x] - message[e, x]
    if ahead:
        for y in range(n_states):
            message[e, y] = sent[0] + table[e, 0, y]
        for x in range(1, n_states):
            for y in range(n_states):
                message[e, y] = max(message[e, y], sent[x] + table[e, x, y])
    else:
        for y in range(n_states):
            found = sent[0] + table[e, y, 0]
            for x in range(1, n_states):
                found = max(found, sent[x] + table[e, y, x])
            message[e, y] = found
    top = message[e, 0]
    for y in range(1, n_states):
        top = max(top, message[e, y])
    for y in range(n_states):
        message[e, y] -= top
    return top


@kernel
def send_soft(table: Any, e: Any, ahead: Any, share: Any, temperature: Any, work: Any) -> None:
    """The same with temperature log sum_x exp(. / temperature) in the place of the maximum."""
    score, sent, message = work.score, work.sent, work.message
    n_states = score.size
    for x in range(n_states):
        sent[x] = share * score[x] - message[e, x]
    best = -np.inf
    for y in range(n_states):
        top = -np.inf
        for x in range(n_states):
            top = max(top, sent[x] + (table[e, x, y] if ahead else table[e, y, x]))
        total = 0.0
        for x in range(n_states):
            through = sent[x] + (table[e, x, y] if ahead else table[e, y, x])
            total += np.exp((through - top) / temperature)
        message[e, y] = top + temperature * np.log(total)
        best = max(best, message[e, y])
    for y in range(n_states):
        message[e, y] -= best


@kernel
def sweep(arcs: Any, forward: Any, node: Any, table: Any, temperature: Any, work: Any) -> Any:
    """Every node sends to the later ones, in their order, or to the earlier ones; returns the bound."""
    n = arcs.middle.size
    bound = 0.0
    for t in range(n):
        v = t if forward else n - 1 - t
        bound += gather(arcs, v, node, work)
        before, after = arcs.middle[v] - arcs.first[v], arcs.first[v + 1] - arcs.middle[v]
        share = 1.0 / max(before, after, 1)
        a, b = (arcs.middle[v], arcs.first[v + 1]) if forward else (arcs.first[v], arcs.middle[v])
        for p in range(a, b):
            e = arcs.edge[p]
            ahead = arcs.ends[e, 0] == v
            if temperature > 0.0:
                send_soft(table, e, ahead, share, temperature, work)
            else:
                bound += send(table, e, ahead, share, work)
    return bound


@kernel
def round_messages(arcs: Any, node: Any, table: Any, work: Any, states: Any) -> None:
    """One node after the other takes its best state, given those before it and messages of those after it."""
    score, message = work.score, work.message
    n_states = score.size
    for v in range(arcs.middle.size):
        given_neighbours(arcs, v, arcs.middle[v], node, table, states, score)
        for p in range(arcs.middle[v], arcs.first[v + 1]):
            e = arcs.edge[p]
            for x in range(n_states):
                score[x] += message[e, x]
        states[v] = argmax_of(score)


@kernel
def given_neighbours(arcs: Any, v: Any, last: Any, node: Any, table: Any, states: Any, score: Any) -> None:
    """score[x] <- that of state x of node v, given the states of the heads of its arcs before `last`."""
    n_states = score.size
    for x in range(n_states):
        score[x] = node[v, x]
    for p in range(arcs.first[v], last):
        e, other = arcs.edge[p], states[arcs.head[p]]
        if arcs.ends[e, 0] == v:
            for x in range(n_states):
                score[x] += table[e, x, other]
        else:
            for x in range(n_states):
                score[x] += table[e, other, x]


@kernel
def improve(arcs: Any, node: Any, table: Any, work: Any, states: Any) -> None:
    """One node after the other takes its best state, given all others, until none changes."""
    score = work.score
    changed = True
    while changed:
        changed = False
        for v in range(arcs.middle.size):
            given_neighbours(arcs, v, arcs.first[v + 1], node, table, states, score)
            best = argmax_of(score)
            if score[best] > score[states[v]]:
                states[v] = best
                changed = True


@kernel
def value_of(arcs: Any, node: Any, table: Any, states: Any) -> Any:
    """The score of a labelling."""
    ends, value = arcs.ends, 0.0
    for v in range(arcs.middle.size):
        value += node[v, states[v]]
    for e in range(ends.shape[0]):
        value += table[e, states[ends[e, 0]], states[ends[e, 1]]]
    return value
