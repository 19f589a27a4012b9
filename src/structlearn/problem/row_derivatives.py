"""J v of predictions for rows of scores (the simplex, the cube), compiled, from the answers alone.

    simplex  J = diag(s) - s s'/sum(s),  s = z^(2 - alpha) where z > 0: softmax 1, sparsemax 2, entmax between
    cube     J = diag(z (1 - z)) for the entropy, 1 strictly between 0 and 1 for the squared norm

Answers and directions are float32 or float64; sums are in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import inline, kernel
from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.regularizers import Shannon, SquaredNorm, Tsallis
from structlearn.structures import Cube, Simplex

RowDerivative = Callable[[Array, Array], Array]


def row_derivative(loss: FenchelYoungLoss) -> RowDerivative | None:
    """Return J v as a function of answers z and v, both (n, K); None for other structures."""
    omega = loss.regularizer
    if isinstance(loss.structure, Simplex) and isinstance(omega, Shannon | SquaredNorm | Tsallis):
        alpha = omega.alpha if isinstance(omega, Tsallis) else 1.0 if isinstance(omega, Shannon) else 2.0
        return lambda z, v: _move_on_simplex(2.0 - alpha, z, v, np.empty_like(v))
    if isinstance(loss.structure, Cube) and isinstance(omega, Shannon | SquaredNorm):
        smooth = isinstance(omega, Shannon)
        return lambda z, v: _move_in_cube(smooth, z, v, np.empty_like(v))
    return None


@inline
def _slope(z: float, power: float) -> float:
    if z <= 0.0:
        return 0.0
    if power == 0.0:
        return 1.0
    if power == 0.5:
        return sqrt(z)
    return z if power == 1.0 else z**power


@kernel
def _move_on_simplex(power: float, z: Array, v: Array, moved: Array) -> Array:
    """Write J v of every row; NaN where a direction that counts is not finite."""
    for i in range(z.shape[0]):
        total = mean = 0.0
        for k in range(z.shape[1]):
            s = _slope(z[i, k], power)
            total += s
            mean += s * v[i, k] if s > 0.0 else 0.0
        mean = mean / total if abs(mean) < np.inf else np.nan
        for k in range(z.shape[1]):
            s = _slope(z[i, k], power)
            moved[i, k] = s * (v[i, k] - mean) if s > 0.0 else 0.0
    return moved


@kernel
def _move_in_cube(smooth: bool, z: Array, v: Array, moved: Array) -> Array:
    for i in range(z.shape[0]):
        for k in range(z.shape[1]):
            s = z[i, k] * (1.0 - z[i, k]) if smooth else 1.0
            moved[i, k] = s * v[i, k] if 0.0 < z[i, k] < 1.0 else 0.0
    return moved
