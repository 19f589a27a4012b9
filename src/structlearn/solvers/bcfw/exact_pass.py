"""Exact block steps where Phi_i Phi_i^T is a multiple of the identity: the block problem is a projection.

With a = p ||x_i||^2 / lambda, block i's part of the dual is, up to a constant in z_i,

    <theta + c, z> - a/2 ||z - z_i||^2 - Omega(z)

so that Omega = 0 gives z_i <- project(z_i + (theta + c) / a), and Omega = 1/2 ||.||^2 gives
z_i <- project((a z_i + theta + c) / (1 + a)). On the simplex this is the multiclass SVM's exact dual step
(Crammer and Singer 2001), on one switch the box-constrained coordinate ascent of Hsieh et al. (2008).
"""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import (
    Array,
    add_pullback,
    max_value,
    maximize,
    prefetch,
    project,
    score,
    scoring_workspace,
    strong_convexity,
    workspace,
)
from structlearn.core.kernels import kernel, leaf
from structlearn.core.prefetching import prefetch_line
from structlearn.problem.oracle import ExampleBlocks
from structlearn.scoring.erased import ErasedScoring
from structlearn.solvers.bcfw.rounds import Accumulators
from structlearn.solvers.bcfw.scratch import three_apart
from structlearn.solvers.bcfw.totals import COST, LAG_COST, STEPS
from structlearn.structures.erased import ErasedStructure

#: How many visits ahead the features of a block are asked for.
AHEAD = 3


@leaf
def shuffle(order: Array, size: int, seed: np.uint64) -> np.uint64:
    """Permute the first entries (Fisher and Yates), by a linear congruential generator; return its state."""
    for q in range(size - 1, 0, -1):
        seed = seed * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        r = np.int64(((seed >> np.uint64(32)) * np.uint64(q + 1)) >> np.uint64(32))
        order[q], order[r] = order[r], order[q]
    return seed


@kernel
def exact_pass(
    structure: ErasedStructure,
    scoring: ErasedScoring,
    problem: tuple[ExampleBlocks, Array],
    order: Array,
    limits: tuple[int, float, int],
    own: Accumulators,
    point: tuple[Array, Array, Array],
) -> tuple[int, int]:
    """Maximise the dual exactly over one block at a time, round after round, at most `room` times.

    The first round takes the blocks of `order` as they come. Each later one is shuffled, and leaves out what
    had no gap in the round before; `order` is changed in place. A round whose gaps add up to at most `goal`
    is the last. Blocks have one shape and no shared parts.

    problem : the blocks and p ||x_i||^2 of each of them; limits : room, goal, seed of the shuffles
    own : `Accumulators`; point : z, the bounds h and the gaps

    Returns
    -------
    visits made, and how many blocks at the front of `order` are left for the next round (0 at the goal).
    """
    blocks, steep = problem
    room, goal, seed = limits
    w, totals, lag, pace = own
    z, h, gaps = point
    convexity = strong_convexity(structure)
    work = workspace(structure, blocks.largest)
    tools = scoring_workspace(scoring)
    shape = blocks.largest
    size = blocks.most_parts
    cost = blocks.cost
    shared = np.empty(0)
    theta, target, delta = three_apart(size)
    state = np.uint64(seed)
    length = order.size
    visits = 0
    while length > 0 and visits < room:
        end = min(length, room - visits)
        kept = 0
        total = 0.0
        for q in range(end):
            soon = order[min(q + AHEAD, length - 1)]
            prefetch(scoring, soon)
            prefetch_line(z, soon * size)
            prefetch_line(cost, soon * size)
            prefetch_line(gaps, soon)
            prefetch_line(steep, soon)
            prefetch_line(blocks.weight, soon)
            i = order[q]
            p = blocks.weight[i]
            first = i * size
            score(scoring, i, w, tools, theta)
            here = 0.0
            for j in range(size):
                theta[j] += cost[first + j]
                here += theta[j] * z[first + j]
            gap = max_value(structure, shape, theta, shared, work, delta) - here - (h[i] if h.size else 0.0)
            gaps[i] = p * gap
            totals[STEPS] += 1.0
            if gap <= 0.0:
                continue
            order[kept] = i
            kept += 1
            total += p * gap
            a = steep[i] / pace.metric
            if a + convexity == 0.0:  # no features: the scores are the costs, whatever w is
                maximize(structure, shape, theta, shared, work, delta)
            else:
                for j in range(size):
                    target[j] = (a * z[first + j] + theta[j]) / (a + convexity)
                project(structure, shape, target, shared, work, delta)
            paid = 0.0
            gain = 0.0
            for j in range(size):
                fresh, old = delta[j], z[first + j]
                delta[j] = fresh - old
                z[first + j] = fresh
                paid += cost[first + j] * delta[j]
                gain -= convexity * (fresh * fresh - old * old) / 2.0
            if h.size:
                h[i] += gain
            add_pullback(scoring, i, delta, -p / pace.strength, w, tools)
            totals[COST] += p * (paid + gain)
            if lag.size:
                age = totals[STEPS] * (totals[STEPS] - 1.0) / 2.0
                add_pullback(scoring, i, delta, -age * p / pace.strength, lag, tools)
                totals[LAG_COST] += age * p * (paid + gain)
        visits += end
        if end < length:  # no room for the rest of this round: it stays active
            for q in range(end, length):
                order[kept] = order[q]
                kept += 1
        elif total <= goal:
            return visits, 0
        length = kept
        state = shuffle(order, length, state)
    return visits, length
