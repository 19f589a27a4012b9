"""How far the scores can move with the weights: norms of Phi."""

from __future__ import annotations

from math import sqrt

import numpy as np

from structlearn.core.contract import Array, Record, max_value, workspace
from structlearn.core.kernels import kernel
from structlearn.problem.objective import Objective
from structlearn.problem.oracle import ExampleLayout


def spectral_norm(
    objective: Objective, rng: np.random.Generator, *, tol: float = 1e-3, most: int = 100
) -> float:
    """Return ||A|| with A w = (sqrt(p_i) Phi_i w)_i: how far scores move with the weights, at most.

    The estimate comes from below; iterations end when it grows by less than `tol` of itself.
    """
    direction = rng.normal(size=objective.n_weights)
    square = 0.0
    for _ in range(most):
        direction /= np.linalg.norm(direction)
        image = _gram(objective, direction)
        before, square = square, float(direction @ image)
        if square <= before * (1 + 2 * tol) or not image.any():
            break
        direction = image
    return sqrt(square)


def _gram(objective: Objective, w: Array) -> Array:
    """Return A^T A w = sum_i p_i Phi_i^T Phi_i w. Shared weights are their own scores, and sum p = 1."""
    scoring = objective.scoring
    out = np.zeros(w.size)
    scoring.shared(out)[:] = scoring.shared(w)
    for first, last in scoring.chunks():
        sizes = np.diff(scoring.start[first : last + 1])
        weighted = scoring.scores(w, first, last) * np.repeat(objective.weight[first:last], sizes)
        scoring.pullback(weighted, first, last, out)
    return out


def mixed_norm(objective: Objective) -> float:
    """sqrt(sum_i p_i rho_i^2), rho_i = max_{v in M_i} sum_j v_j ||Phi_i^T e_j|| >= max_v ||Phi_i^T v||."""
    oracle, shared = objective.oracle, np.ones(objective.scoring.n_shared)

    def one(chunk: tuple[int, int]) -> float:
        norms = objective.scoring.part_norms(*chunk)
        return oracle.run(squared_maxima, oracle.layout, objective.weight, *chunk, norms, shared)

    return sqrt(sum(oracle.each_chunk(one)))


@kernel
def squared_maxima(
    structure: Record,
    layout: ExampleLayout,
    weight: Array,
    first: int,
    last: int,
    theta: Array,
    shared: Array,
) -> float:
    """sum_i p_i (max_z <theta_i, z>)^2 over a range of examples."""
    work = workspace(structure, layout.largest)
    vertex = np.empty(layout.most_parts + shared.size)
    offset = layout.start[first]
    total = 0.0
    for i in range(first, last):
        a, b = layout.start[i] - offset, layout.start[i + 1] - offset
        shape = (layout.shapes[i, 0], layout.shapes[i, 1])
        scratch = vertex[: b - a + shared.size]
        total += weight[i] * max_value(structure, shape, theta[a:b], shared, work, scratch) ** 2
    return total
