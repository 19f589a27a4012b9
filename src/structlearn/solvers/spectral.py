"""The largest singular value of the scores, by power iteration."""

from __future__ import annotations

from math import sqrt

import numpy as np

from structlearn.contract import Array
from structlearn.objective import Objective


def spectral_norm(
    objective: Objective, rng: np.random.Generator, *, tol: float = 1e-3, most: int = 100
) -> float:
    """||A|| with A w = (sqrt(p_i) Phi_i w)_i: how far scores move with the weights, at most.

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
    """A^T A w = sum_i p_i Phi_i^T Phi_i w. Shared weights are their own scores, and sum p = 1."""
    scoring = objective.scoring
    out = np.zeros(w.size)
    scoring.shared(out)[:] = scoring.shared(w)
    for first, last in scoring.chunks():
        sizes = np.diff(scoring.start[first : last + 1])
        weighted = scoring.scores(w, first, last) * np.repeat(objective.weight[first:last], sizes)
        scoring.pullback(weighted, first, last, out)
    return out
