"""Exact block steps where Phi_i Phi_i^T is a multiple of the identity: the block problem is a projection.

With a = p ||x_i||^2 / lambda, block i's part of the dual is, up to a constant in z_i,

    <theta + c, z> - a/2 ||z - z_i||^2 - Omega(z)

so that Omega = 0 gives z_i <- project(z_i + (theta + c) / a), and Omega = 1/2 ||.||^2 gives
z_i <- project((a z_i + theta + c) / (1 + a)). On the simplex this is the multiclass SVM's exact dual step
(Crammer and Singer 2001), on one switch the box-constrained coordinate ascent of Hsieh et al. (2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structlearn.contract import (
    corner,
    curvature,
    move,
    nearest,
    nearest_workspace,
    peak,
    score,
    scratch,
    squared_norm,
    workspace,
)
from structlearn.kernels import kernel
from structlearn.solvers.totals import COST, LAG_COST, STEPS


@kernel
def exact_pass(
    regularized: Any,
    structure: Any,
    scoring: Any,
    blocks: Any,
    regularization: Any,
    order: Any,
    w: Any,
    z: Any,
    gaps: Any,
    totals: Any,
    h: Any,
    lag: Any,
) -> None:
    """One exact maximisation of the dual for each block of `order`. Blocks have no shared parts."""
    bend = curvature(regularized)
    work = workspace(regularized, blocks.largest)
    near = nearest_workspace(structure, blocks.largest)
    tools = scratch(scoring)
    shared = np.empty(0)
    scores = np.empty(blocks.most_parts)
    targets = np.empty(blocks.most_parts)
    corners = np.empty(blocks.most_parts)
    for q in range(order.size):
        i = order[q]
        first = blocks.start[i]
        size = blocks.start[i + 1] - first
        p = blocks.weight[i]
        cost = blocks.cost[first : first + size]
        z_i = z[first : first + size]
        theta, target, delta = scores[:size], targets[:size], corners[:size]
        shape = (blocks.shapes[i, 0], blocks.shapes[i, 1])
        score(scoring, i, w, tools, theta)
        here = 0.0
        for j in range(size):
            theta[j] += cost[j]
            here += theta[j] * z_i[j]
        gap = peak(regularized, shape, theta, shared, work, delta) - here - (h[i] if h.size else 0.0)
        gaps[i] = p * gap
        totals[STEPS] += 1.0
        if gap <= 0.0:
            continue
        # ||Phi^T e||^2 of a unit vector e is ||x||^2
        for j in range(size):
            delta[j] = 0.0
        delta[0] = 1.0
        a = p * squared_norm(scoring, i, delta, tools) / regularization
        if a + bend == 0.0:  # no features: the scores are the costs, whatever w is
            corner(regularized, shape, theta, shared, work, delta)
        else:
            for j in range(size):
                target[j] = (a * z_i[j] + theta[j]) / (a + bend)
            nearest(structure, shape, target, shared, near, delta)
        paid = 0.0
        gain = 0.0
        for j in range(size):
            paid += cost[j] * (delta[j] - z_i[j])
            gain -= bend * (delta[j] * delta[j] - z_i[j] * z_i[j]) / 2.0
            fresh = delta[j]
            delta[j] -= z_i[j]
            z_i[j] = fresh
        if h.size:
            h[i] += gain
        move(scoring, i, delta, -p / regularization, w, tools)
        totals[COST] += p * (paid + gain)
        if lag.size:
            age = totals[STEPS] * (totals[STEPS] - 1.0) / 2.0
            move(scoring, i, delta, -age * p / regularization, lag, tools)
            totals[LAG_COST] += age * p * (paid + gain)
