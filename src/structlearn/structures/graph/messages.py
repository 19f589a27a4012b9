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

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import inline, leaf
from structlearn.core.vectors import argmax_of, max_of
from structlearn.structures.graph.pair_scores import add_given, pair_score
from structlearn.structures.graph.shapes import OFFSET, shaped_score, transform

#: Less than this share of the largest is this share, so that it has a logarithm.
_TINY = 1e-300


class NodeArcs(NamedTuple):
    """One graph, as seen from its nodes: node v has the arcs first[v] .. first[v + 1] - 1, by their heads.

    Those from middle[v] on lead to later nodes. `edge` of an arc is its edge, `ends` the nodes of an edge.
    """

    first: Array
    middle: Array
    head: Array
    reverse: Array
    edge: Array
    ends: Array


class MessageWork(NamedTuple):
    """Scratch memory: messages (edges, K), those kept for a trial, and more.

    Exponentials of the tables at a temperature (by the distance of states where tables are rows of `shapes`),
    scores of one node, what is sent, and parabolas.
    """

    message: Array
    kept: Array
    power: Array
    score: Array
    sent: Array
    hull: Array


@inline
def gather_scores(arcs: NodeArcs, v: int, node: Array, work: MessageWork) -> float:
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


@inline
def send(table: Array, e: int, ahead: bool, share: float, work: MessageWork) -> float:
    """message[e, y] <- max_x share score[x] - message[e, x] + table[e, x, y], less its maximum (returned)."""
    score, sent, message = work.score, work.sent, work.message
    n_states = score.size
    for x in range(n_states):
        sent[x] = share * score[x] - message[e, x]
    if table.shape[1] == 1 and table.shape[2] > 1:
        transform(sent, table[e, 0], work.hull, message[e])
        return take_off_maximum(message, e) + table[e, 0, OFFSET]
    if table.shape[1] == 1:
        return send_potts(table[e, 0, 0], e, work)
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
    return take_off_maximum(message, e)


@inline
def take_off_maximum(message: Array, e: int) -> float:
    top = message[e, 0]
    for y in range(1, message.shape[1]):
        top = max(top, message[e, y])
    for y in range(message.shape[1]):
        message[e, y] -= top
    return top


@inline
def send_potts(likes: float, e: int, work: MessageWork) -> float:
    """Send where like states have one score and unlike ones none, in K steps instead of K * K."""
    sent, message = work.sent, work.message
    n_states = sent.size
    if likes >= 0.0:
        top = max_of(sent)
        for y in range(n_states):
            message[e, y] = max(sent[y] - top, -likes)
        return top + likes
    first, second = argmax_of(sent), -np.inf
    for x in range(n_states):
        second = max(second, sent[x] if x != first else -np.inf)
    for y in range(n_states):
        message[e, y] = max(sent[y] + likes, sent[first] if y != first else second)
    return take_off_maximum(message, e)


@leaf
def fill_powers(table: Array, n_edges: int, temperature: float, power: Array) -> None:
    """power <- exp(table / temperature), over the largest of each edge's; of Potts tables the smaller one."""
    k = table.shape[1]
    for e in range(n_edges):
        if k == 1 and table.shape[2] > 1:
            top = shaped_score(table[e, 0], 0, 0)
            for d in range(1, power.shape[2]):
                top = max(top, shaped_score(table[e, 0], 0, d))
            for d in range(power.shape[2]):
                power[e, 0, d] = np.exp((shaped_score(table[e, 0], 0, d) - top) / temperature)
            continue
        if k == 1:
            power[e, 0, 0] = np.exp(-abs(table[e, 0, 0]) / temperature)
            continue
        top = table[e, 0, 0]
        for a in range(k):
            for b in range(k):
                top = max(top, table[e, a, b])
        for a in range(k):
            for b in range(k):
                power[e, a, b] = np.exp((table[e, a, b] - top) / temperature)


@inline
def add_powers(power: float, attracts: bool, e: int, work: MessageWork) -> None:
    """message[e, y] <- sum_x sent[x] times the power of like states, or of unlike ones: one of them is 1.

    The largest of `sent` is 1: it is not subtracted from sums that may be much smaller.
    """
    sent, message = work.sent, work.message
    like, unlike = (1.0, power) if attracts else (power, 1.0)
    first, rest = argmax_of(sent), 0.0
    for x in range(sent.size):
        rest += sent[x] if x != first else 0.0
    for y in range(sent.size):
        others = rest if y == first else sent[first] + rest - sent[y]
        message[e, y] = like * sent[y] + unlike * others


@inline
def send_soft(table: Array, e: int, ahead: bool, share: float, temperature: float, work: MessageWork) -> None:
    """Run `send` with temperature log sum_x exp(. / temperature) instead of the maximum, by `fill_powers`."""
    score, sent, message, power = work.score, work.sent, work.message, work.power
    n_states = score.size
    for x in range(n_states):
        sent[x] = share * score[x] - message[e, x]
    top = max_of(sent)
    for x in range(n_states):
        sent[x] = np.exp((sent[x] - top) / temperature)
        message[e, x] = 0.0
    if table.shape[1] == 1 and table.shape[2] > 1:
        for x in range(n_states):
            for y in range(n_states):
                message[e, y] += sent[x] * power[e, 0, abs(x - y)]
    elif table.shape[1] == 1:
        add_powers(power[e, 0, 0], table[e, 0, 0] >= 0.0, e, work)
    elif ahead:
        for x in range(n_states):
            for y in range(n_states):
                message[e, y] += sent[x] * power[e, x, y]
    else:
        for y in range(n_states):
            for x in range(n_states):
                message[e, y] += sent[x] * power[e, y, x]
    for y in range(n_states):
        message[e, y] = temperature * np.log(max(message[e, y], _TINY))
    take_off_maximum(message, e)


@inline
def send_all(arcs: NodeArcs, v: int, forward: bool, table: Array, work: MessageWork) -> float:
    """Send from node v to the later (or earlier) nodes, after `gather_scores`; return what is taken off."""
    share = share_of(arcs, v)
    taken = 0.0
    a, b = (arcs.middle[v], arcs.first[v + 1]) if forward else (arcs.first[v], arcs.middle[v])
    for p in range(a, b):
        e = arcs.edge[p]
        taken += send(table, e, arcs.ends[e, 0] == v, share, work)
    return taken


@inline
def share_of(arcs: NodeArcs, v: int) -> float:
    """Return the share of v's score that each chain of nodes in their order through v has."""
    before, after = arcs.middle[v] - arcs.first[v], arcs.first[v + 1] - arcs.middle[v]
    return 1.0 / max(before, after, 1)


@leaf
def sweep(arcs: NodeArcs, forward: bool, node: Array, table: Array, work: MessageWork) -> float:
    """Let every node send to the later ones, in their order, or to the earlier ones; return the bound."""
    n = arcs.middle.size
    bound = 0.0
    for t in range(n):
        v = t if forward else n - 1 - t
        bound += gather_scores(arcs, v, node, work)
        bound += send_all(arcs, v, forward, table, work)
    return bound


@leaf
def sweep_soft(
    arcs: NodeArcs, forward: bool, node: Array, table: Array, temperature: float, work: MessageWork
) -> None:
    """Sweep at a temperature, for which there are `fill_powers`."""
    n = arcs.middle.size
    for t in range(n):
        v = t if forward else n - 1 - t
        gather_scores(arcs, v, node, work)
        a, b = (arcs.middle[v], arcs.first[v + 1]) if forward else (arcs.first[v], arcs.middle[v])
        for p in range(a, b):
            e = arcs.edge[p]
            send_soft(table, e, arcs.ends[e, 0] == v, share_of(arcs, v), temperature, work)


@leaf
def round_messages(
    arcs: NodeArcs, node: Array, table: Array, work: MessageWork, settled: Array, states: Array
) -> None:
    """Let nodes in turn take their best state, given those before them and messages of those after.

    settled : the states of nodes that have but one, -1 of the others.
    """
    score, message = work.score, work.message
    n_states = score.size
    for v in range(arcs.middle.size):
        if settled[v] >= 0:
            states[v] = settled[v]
            continue
        given_neighbours(arcs, v, arcs.middle[v], node, table, states, score)
        for p in range(arcs.middle[v], arcs.first[v + 1]):
            e = arcs.edge[p]
            for x in range(n_states):
                score[x] += message[e, x]
        states[v] = argmax_of(score)


@inline
def given_neighbours(
    arcs: NodeArcs, v: int, last: int, node: Array, table: Array, states: Array, score: Array
) -> None:
    """score[x] <- that of state x of node v, given the states of the heads of its arcs before `last`."""
    n_states = score.size
    for x in range(n_states):
        score[x] = node[v, x]
    for p in range(arcs.first[v], last):
        e = arcs.edge[p]
        add_given(table, e, arcs.ends[e, 0] == v, states[arcs.head[p]], score)


@leaf
def improve(
    arcs: NodeArcs, node: Array, table: Array, work: MessageWork, settled: Array, states: Array
) -> None:
    """Let unsettled nodes in turn take their best state, given all others, until none changes.

    The number of rounds is bounded: equal states may seem better in turn, by rounding.
    """
    score = work.score
    for _ in range(arcs.middle.size + 1):
        changed = False
        for v in range(arcs.middle.size):
            if settled[v] >= 0:
                continue
            given_neighbours(arcs, v, arcs.first[v + 1], node, table, states, score)
            best = argmax_of(score)
            if score[best] > score[states[v]]:
                states[v] = best
                changed = True
        if not changed:
            break


@inline
def value_of(arcs: NodeArcs, node: Array, table: Array, states: Array) -> float:
    """Return the score of a labelling."""
    ends, value = arcs.ends, 0.0
    for v in range(arcs.middle.size):
        value += node[v, states[v]]
    for e in range(ends.shape[0]):
        value += pair_score(table, e, states[ends[e, 0]], states[ends[e, 1]])
    return value
