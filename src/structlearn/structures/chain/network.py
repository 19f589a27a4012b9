"""Newton steps of flows through a chain: potentials in a network of resistors.

A mixture of label sequences is a unit flow x_t[j, k] from label j at position t - 1 to label k at t; step 0
comes from one source. Node (t, k) has two potentials, q_t[k] where flow comes in and p_{t+1}[k] where it goes
out, joined by a resistor of 1; the edge x_t[j, k] joins p_t[j] and q_t[k] by a conductance w_t[j, k] >= 0.
After the last position, p is grounded. With currents g and h put in, potentials solve

    (1 + sum_j w_t[j, k]) q_t[k] = g_t[k] + p_{t+1}[k] + sum_j w_t[j, k] p_t[j]
    (1 + sum_k w_t[j, k]) p_t[j] = h_t[j] + q_{t-1}[j] + sum_k w_t[j, k] q_t[k]      (no 1, no q for t = 0)

Each q has p for neighbours only, so all q are eliminated first, then the p position by position. Pivots are
sums of the conductances that are left: no difference is ever taken, so that conductances of 1e-20 and 1e20
side by side do no harm (Grassmann, Taksar and Heyman 1985).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import inline, leaf


class ResistorNetwork(NamedTuple):
    """A layered network of at most M labels per position, of L positions.

    sizes : (L,) labels per position. weight : (L, M, M) conductances. total : (L, M) 1 + sum_j w_t[j, k].
    factor : (L, M, 2 M) shares of a pivot's neighbours, of its own position and of the next.
    pivot : (L, M). table : (2 M, 2 M) conductances while positions are eliminated.
    """

    sizes: Array
    weight: Array
    total: Array
    factor: Array
    pivot: Array
    table: Array


@inline
def n_nodes_before(count: Array, t: int) -> int:
    """Return the number of nodes that step t comes from."""
    return count[t - 1] if t > 0 else 1


@leaf
def eliminate_positions(network: ResistorNetwork) -> None:
    """Compute total, factor and pivot from the weights."""
    count, table = network.sizes, network.table
    length = count.size
    _add_incoming(network)
    table[0, 0] = 0.0
    for t in range(length):
        rows, ahead = n_nodes_before(count, t), count[t]
        after = ahead if t < length - 1 else 0
        for j in range(rows, rows + after):
            for k in range(j, rows + after):
                table[j, k] = 0.0
        _add_step(network, t, rows, after)
        _eliminate_position(network, t, rows, rows + after)
        for j in range(after):
            for k in range(j, after):
                table[j, k] = table[rows + j, rows + k]


@leaf
def _add_incoming(network: ResistorNetwork) -> None:
    count, weight, total = network.sizes, network.weight, network.total
    for t in range(count.size):
        for k in range(count[t]):
            total[t, k] = 1.0
        for j in range(n_nodes_before(count, t)):
            for k in range(count[t]):
                total[t, k] += weight[t, j, k]


@leaf
def _add_step(network: ResistorNetwork, t: int, rows: int, after: int) -> None:
    """Add conductances left by eliminating q_t: among p_t, to p_{t+1}, at last to the ground (diagonal)."""
    weight, total, table = network.weight, network.total, network.table
    share = network.pivot[t]  # its own values come later
    ahead = network.sizes[t]
    for j in range(rows):
        for k in range(ahead):
            share[k] = weight[t, j, k] / total[t, k]
        for i in range(j + 1, rows):
            joined = 0.0
            for k in range(ahead):
                joined += share[k] * weight[t, i, k]
            table[j, i] += joined
        for k in range(after):
            table[j, rows + k] = share[k]
        table[j, j] = 0.0
        if after == 0:
            for k in range(ahead):
                table[j, j] += share[k]


@leaf
def _eliminate_position(network: ResistorNetwork, t: int, rows: int, size: int) -> None:
    """Eliminate the `rows` nodes p_t; a node without neighbours keeps its potential of 0."""
    table, factor, pivot = network.table, network.factor, network.pivot
    for i in range(rows):
        left = table[i, i]
        for j in range(i + 1, size):
            left += table[i, j]
        pivot[t, i] = left if left > 0.0 else np.inf
        for j in range(i, size):
            factor[t, i, j] = table[i, j] / pivot[t, i]
        for j in range(i + 1, size):
            joined = table[i, j]
            if joined > 0.0:
                for k in range(j + 1, size):
                    table[j, k] += joined * factor[t, i, k]
                table[j, j] += joined * factor[t, i, i]


@leaf
def potentials(network: ResistorNetwork, g: Array, h: Array, p: Array, q: Array) -> None:
    """p, q <- the potentials of currents g into q and h into p."""
    count, weight, total = network.sizes, network.weight, network.total
    length = count.size
    for t in range(length):
        for k in range(count[t]):
            q[t, k] = g[t, k] / total[t, k]
        for j in range(n_nodes_before(count, t)):
            current = h[t, j] + (q[t - 1, j] if t > 0 else 0.0)
            for k in range(count[t]):
                current += weight[t, j, k] * q[t, k]
            p[t, j] = current
    _substitute(network, p)
    for t in range(length):
        for j in range(n_nodes_before(count, t)):
            for k in range(count[t]):
                q[t, k] += weight[t, j, k] * p[t, j] / total[t, k]
        if t < length - 1:
            for k in range(count[t]):
                q[t, k] += p[t + 1, k] / total[t, k]


@leaf
def _substitute(network: ResistorNetwork, p: Array) -> None:
    """p <- potentials, from the currents into the p that are left of all."""
    count, factor, pivot = network.sizes, network.factor, network.pivot
    length = count.size
    for t in range(length):
        rows = n_nodes_before(count, t)
        for i in range(rows):
            for j in range(i + 1, rows):
                p[t, j] += factor[t, i, j] * p[t, i]
            for j in range(count[t] if t < length - 1 else 0):
                p[t + 1, j] += factor[t, i, rows + j] * p[t, i]
    for t in range(length - 1, -1, -1):
        rows = n_nodes_before(count, t)
        for i in range(rows - 1, -1, -1):
            found = p[t, i] / pivot[t, i]
            for j in range(i + 1, rows):
                found += factor[t, i, j] * p[t, j]
            for j in range(count[t] if t < length - 1 else 0):
                found += factor[t, i, rows + j] * p[t + 1, j]
            p[t, i] = found
