"""Sweeps of message passing at a temperature, with exponentials taken once for many sweeps.

At the temperature t a message is t log sum_x exp((sent[x] + table[x, y]) / t). With offsets a and b at both
ends of an edge, its table becomes the *kernel* exp((a[x] + table[x, y] - b[y]) / t), whose largest entries
are about 1, and a message a product with that matrix. Offsets are taken up anew at each temperature from what
is sent then: what lies hundreds of temperatures below them counts as nothing (as in stabilised scaling for
optimal transport, Schmitzer 2019).

A node's share of its score over the temperature are the logarithms of its *belief*, which at the optimum of
the smooth dual is its marginal in every chain: so beliefs become the nodes of a point of the local polytope.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, leaf
from structlearn.core.vectors import max_of
from structlearn.structures.chain.exponential import exponential
from structlearn.structures.graph.messages import MessageWork, NodeArcs, gather_scores
from structlearn.structures.graph.pair_scores import pair_score

#: A sum of exponentials that is less counts as this.
_LEAST = 1e-290


class SmoothWork(NamedTuple):
    """Scratch memory: kernels of all edges (m, K, K), offsets of their ends (m, K), and beliefs (n, K)."""

    kernel: Array
    first: Array
    second: Array
    belief: Array


@jitable
def smooth_work(n: int, m: int, k: int) -> SmoothWork:
    offsets = np.empty((2, m, k))
    return SmoothWork(np.empty((m, k, k)), offsets[0], offsets[1], np.empty((n, k)))


@leaf
def _take_up_message(
    table: Array, e: int, ahead: bool, temperature: float, sent: Array, smooth: SmoothWork
) -> None:
    """Set offsets and kernel of edge e to those at which `sent` has exponentials of at most 1."""
    first, second, matrix = smooth.first, smooth.second, smooth.kernel
    n_states = sent.size
    for x in range(n_states):
        if ahead:
            first[e, x], second[e, x] = sent[x], -np.inf
        else:
            first[e, x], second[e, x] = np.inf, -sent[x]
    for x in range(n_states):
        for y in range(n_states):
            if ahead:
                second[e, y] = max(second[e, y], sent[x] + pair_score(table, e, x, y))
            else:
                first[e, x] = min(first[e, x], -sent[y] - pair_score(table, e, x, y))
    for x in range(n_states):
        for y in range(n_states):
            below = first[e, x] + pair_score(table, e, x, y) - second[e, y]
            matrix[e, x, y] = exponential(below / temperature)


@leaf
def send_smooth(e: int, ahead: bool, temperature: float, work: MessageWork, smooth: SmoothWork) -> None:
    """message[e, y] <- t log sum_x exp((sent[x] + table[e, x, y]) / t), by the kernel, less its maximum."""
    first, second, matrix = smooth.first, smooth.second, smooth.kernel
    sent, message = work.sent, work.message
    n_states = sent.size
    for x in range(n_states):
        sent[x] += -first[e, x] if ahead else second[e, x]
    top = max_of(sent)
    for x in range(n_states):
        sent[x] = exponential((sent[x] - top) / temperature)
    if ahead:
        for y in range(n_states):
            message[e, y] = 0.0
        for x in range(n_states):
            for y in range(n_states):
                message[e, y] += sent[x] * matrix[e, x, y]
    else:
        for y in range(n_states):
            total = 0.0
            for x in range(n_states):
                total += sent[x] * matrix[e, y, x]
            message[e, y] = total
    best = -np.inf
    for y in range(n_states):
        offset = second[e, y] if ahead else -first[e, y]
        message[e, y] = offset + temperature * np.log(max(message[e, y], _LEAST))
        best = max(best, message[e, y])
    for y in range(n_states):
        message[e, y] -= best


@leaf
def smooth_sweep(
    arcs: NodeArcs,
    forward: bool,
    node: Array,
    table: Array,
    temperature: float,
    anew: bool,
    work: MessageWork,
    smooth: SmoothWork,
) -> None:
    """Let every node send to the later ones, in their order, or to the earlier ones, and note its belief.

    anew : whether offsets are taken up, as they must be in the first sweep at a temperature.
    """
    n, score, sent = arcs.middle.size, work.score, work.sent
    for t in range(n):
        v = t if forward else n - 1 - t
        gather_scores(arcs, v, node, work)
        before, after = arcs.middle[v] - arcs.first[v], arcs.first[v + 1] - arcs.middle[v]
        share = 1.0 / max(before, after, 1)
        for x in range(score.size):
            score[x] *= share
            smooth.belief[v, x] = score[x]
        a, b = (arcs.middle[v], arcs.first[v + 1]) if forward else (arcs.first[v], arcs.middle[v])
        for p in range(a, b):
            e = arcs.edge[p]
            ahead = arcs.ends[e, 0] == v
            for x in range(score.size):
                sent[x] = score[x] - work.message[e, x]
            if anew:
                _take_up_message(table, e, ahead, temperature, sent, smooth)
            send_smooth(e, ahead, temperature, work, smooth)
