"""One compiled pass of block-coordinate Frank-Wolfe over dense blocks, and the start for smooth losses."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import (
    Array,
    add_pullback,
    maximize,
    omega,
    score,
    scoring_workspace,
    squared_norm,
    strong_convexity,
    workspace,
)
from structlearn.core.kernels import kernel
from structlearn.problem.oracle import ExampleBlocks
from structlearn.scoring.erased import ErasedScoring
from structlearn.solvers.bcfw.rounds import Accumulators
from structlearn.solvers.bcfw.scratch import three_apart
from structlearn.solvers.bcfw.totals import COST, LAG_COST, STEPS
from structlearn.structures.erased import ErasedStructure


@kernel
def advance(z: Array, gamma: float, delta: Array) -> None:
    """z <- z + gamma delta. Compiled also where the pass is not: an interruption cannot tear it."""
    for j in range(z.size):
        z[j] += gamma * delta[j]


@kernel
def plain_pass(
    structure: ErasedStructure,
    scoring: ErasedScoring,
    blocks: ExampleBlocks,
    order: Array,
    own: Accumulators,
    point: tuple[Array, Array, Array],
) -> None:
    """Run algorithm 4 of the paper for the blocks of `order`; the comments number its lines.

    own : `Accumulators`; point : z, the bounds h and the gaps
    """
    w, totals, lag, pace = own
    z, h, gaps = point
    convexity = strong_convexity(structure)
    work = workspace(structure, blocks.largest)
    tools = scoring_workspace(scoring)
    n_shared = scoring.n_shared
    shared = w[w.size - n_shared :]
    scores, vertices, _ = three_apart(blocks.most_parts + n_shared)
    for q in range(order.size):
        i = order[q]  # line 3: pick a block
        first = blocks.start[i]
        size = blocks.start[i + 1] - first
        p = blocks.weight[i]
        cost = blocks.cost[first : first + size]
        z_i = z[first + i * n_shared : first + size + (i + 1) * n_shared]
        theta = scores[:size]
        delta = vertices[: size + n_shared]
        # line 4: s = argmax <theta + c, s> - Omega(s)
        score(scoring, i, w, tools, theta)
        for j in range(size):
            theta[j] += cost[j]
        shape = (blocks.shapes[i, 0], blocks.shapes[i, 1])
        best = maximize(structure, shape, theta, shared, work, delta)
        if best == -np.inf:  # no answer (see `structlearn.core.callbacks`)
            continue
        rise = 0.0  # of -Omega, from z_i to s
        if h.size and convexity == 0.0:
            rise = -omega(structure, shape, theta, shared, work, delta, best) - h[i]
        # line 5: delta = s - z_i and the block gap g = <theta + c, delta> - Omega(s) + Omega(z_i)
        along = 0.0
        for j in range(size):
            delta[j] -= z_i[j]
            along += theta[j] * delta[j]
        for j in range(n_shared):
            delta[size + j] -= z_i[size + j]
            along += shared[j] * delta[size + j]
        across = square = 0.0
        if convexity > 0.0:
            for j in range(blocks.curved[i]):
                across += z_i[j] * delta[j]
                square += delta[j] * delta[j]
            rise = -across - square / 2.0
        gap = along + rise
        gaps[i] = p * gap
        totals[STEPS] += 1.0
        if gap <= 0.0:
            continue
        # line 6: the exact step, slope / (p ||Phi^T delta||^2 / lambda + convexity ||delta||^2), at most 1
        norm = squared_norm(scoring, i, delta, tools)
        slope = gap
        steep = p * norm / pace.metric
        if convexity > 0.0:
            slope = along - across
            steep += square
        gamma = slope / steep if steep > slope else 1.0
        # line 7: z_i and w move together
        paid = 0.0
        for j in range(size):
            paid += cost[j] * delta[j]
        advance(z_i, gamma, delta)
        length = -gamma * p / pace.strength
        add_pullback(scoring, i, delta, length, w, tools)
        change = gamma * paid
        if h.size:  # -Omega is concave: between z_i and s it is at least the mixture of its values there
            gain = gamma * rise
            if convexity > 0.0:
                gain = -gamma * across - gamma * gamma * square / 2.0
            h[i] += gain
            change += gain
        totals[COST] += p * change
        if lag.size:  # line 8: sum_t t w_t = T (T + 1) / 2 w_T - sum_t t (t - 1) / 2 (w_t - w_{t-1})
            age = totals[STEPS] * (totals[STEPS] - 1.0) / 2.0
            add_pullback(scoring, i, delta, age * length, lag, tools)
            totals[LAG_COST] += age * p * change


@kernel
def smooth_start(
    structure: ErasedStructure, blocks: ExampleBlocks, n_shared: int, fraction: float, z: Array, h: Array
) -> None:
    """z_i <- (1 - share) mu_i + share argmin_z Omega(z) - <c_i, z>, and h_i <- a bound below -Omega(z_i)."""
    work = workspace(structure, blocks.largest)
    shared = np.zeros(n_shared)
    middle = np.empty(blocks.most_parts + n_shared)
    for i in range(blocks.shapes.shape[0]):
        size = blocks.start[i + 1] - blocks.start[i]
        z_i = z[blocks.start[i] + i * n_shared : blocks.start[i + 1] + (i + 1) * n_shared]
        if fraction > 0.0:
            shape = (blocks.shapes[i, 0], blocks.shapes[i, 1])
            theta = blocks.cost[blocks.start[i] : blocks.start[i + 1]]
            value = maximize(structure, shape, theta, shared, work, middle[: size + n_shared])
            for j in range(size):
                value -= theta[j] * middle[j]
            h[i] = fraction * value
            for j in range(size + n_shared):
                z_i[j] += fraction * (middle[j] - z_i[j])
        else:
            for j in range(blocks.curved[i]):
                h[i] -= z_i[j] * z_i[j] / 2.0
