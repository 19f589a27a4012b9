"""Entmax: the simplex with a Tsallis entropy, between softmax (alpha = 1) and sparsemax (alpha = 2)."""

from __future__ import annotations

from math import exp, expm1, log, log1p
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array, Shape, entropy, marginals, max_value, maximize, omega, workspace
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.core.vectors import max_of
from structlearn.structures.flat.simplex import Simplex, SimplexRecord
from structlearn.structures.flat.sparsemax import sparsemax

MOST_STEPS = 100


class TsallisRecord(NamedTuple):
    """Omega(z) = sum_k (z_k^alpha - z_k) / (alpha (alpha - 1)) on the simplex, alpha in [1, 2]."""

    inner: SimplexRecord
    alpha: float


def entmax(theta: ArrayLike, alpha: float = 1.5) -> Array:
    """argmax_{z in simplex} <theta, z> - Omega_alpha(z) (Peters, Niculae and Martins 2019).

    Parameters
    ----------
    theta : array-like of shape (n_labels,) or (n, n_labels)
        Scores; -inf forbids a label.
    alpha : float in [1, 2]
        1 is softmax, 2 sparsemax; above 1, labels far below the best get exactly 0.

    Returns
    -------
    ndarray of the shape of `theta`, rows of non-negative numbers that sum to 1.
    """
    scores = np.asarray(theta, dtype=np.float64)
    if scores.ndim not in (1, 2) or scores.shape[-1] == 0:
        raise ValueError(f"Entmax takes a row of scores or a stack of rows; got the shape {scores.shape}.")
    simplex = Simplex(scores.shape[-1])
    record = TsallisRecord(simplex.record, check_alpha(alpha))
    return simplex.respond(record, scores)[0] if scores.size else scores.copy()


def tsallis(z: ArrayLike, alpha: float = 1.5) -> Any:
    """Omega_alpha(z) = sum_k (z_k^alpha - z_k) / (alpha (alpha - 1)), over the last axis.

    The negative Tsallis entropy: sum_k z_k log z_k at alpha = 1, and (||z||^2 - 1)/2 at alpha = 2 on the
    simplex. 0 at the vertices of the simplex, negative inside.
    """
    p, rate = np.asarray(z, dtype=np.float64), check_alpha(alpha) - 1.0
    log_z = np.log(p, where=p > 0, out=np.zeros(p.shape))
    terms = p * (np.expm1(rate * log_z) / rate if rate > 0.0 else log_z)
    return terms.sum(axis=-1) / alpha


def check_alpha(alpha: float) -> float:
    """Return alpha itself; ValueError outside [1, 2]."""
    if not 1.0 <= alpha <= 2.0:
        raise ValueError(f"Entmax needs alpha in [1, 2] (1 is softmax, 2 is sparsemax); got {alpha}.")
    return float(alpha)


@implements(workspace, TsallisRecord)
@jitable
def tsallis_workspace(structure: TsallisRecord, shape: Shape) -> Array:
    return np.empty(shape[0] * shape[1])


@implements(max_value, TsallisRecord)
@implements(maximize, TsallisRecord)
@kernel
def tsallis_maximize(
    structure: TsallisRecord, shape: Shape, theta: Array, shared: Array, work: Array, vertex: Array
) -> float:
    alpha = structure.alpha
    if alpha == 1.0:
        return marginals(structure.inner, shape, theta, shared, work, vertex)
    if alpha == 2.0:
        return sparsemax(theta, vertex) + 0.5  # Omega_2 = 1/2 ||z||^2 - 1/2
    top = max_of(theta)
    if top == -np.inf:
        vertex[:] = 0.0
        return top
    rate = alpha - 1.0
    n = _candidates(theta, top, 1.0 / rate, work)
    shift = _shift_by_squares(work, n) if alpha == 1.5 else _shift_by_newton(work, n, rate)
    return top + _write_point(theta, top, shift, rate, vertex)


@implements(omega, TsallisRecord)
@kernel
def tsallis_omega(
    structure: TsallisRecord, shape: Shape, theta: Array, shared: Array, work: Array, z: Array, value: float
) -> float:
    """sum_k z_k (z_k^rate - 1) / (alpha rate): every term has one sign, so that nothing cancels."""
    alpha, rate = structure.alpha, structure.alpha - 1.0
    if rate == 0.0:
        return -entropy(structure.inner, shape, theta, shared, work, z, value)
    total = 0.0
    for k in range(z.size):
        if z[k] > 0.0:
            total += z[k] * expm1(rate * log(z[k]))
    return total / (alpha * rate)


@kernel
def _candidates(theta: Array, top: float, depth: float, kept: Array) -> int:
    """kept <- the differences theta_k - top above -depth, in order; returns their number."""
    n = 0
    for k in range(theta.size):
        kept[n] = theta[k] - top
        n += kept[n] > -depth
    return n


@kernel
def _power(y: float, rate: float) -> float:
    """(1 + rate y)_+^(1/rate): exp(y) in the limit of rate -> 0, which this way of writing it keeps."""
    if rate == 0.5:
        root = max(1.0 + 0.5 * y, 0.0)
        return root * root
    return exp(log1p(rate * y) / rate) if rate * y > -1.0 else 0.0


@kernel
def _shift_by_newton(kept: Array, n: int, rate: float) -> float:
    """eta with F(eta) = sum_k (1 + rate (kept_k - eta))_+^(1/rate) = 1.

    F falls with eta and is convex; F(0) >= 1, since the largest entry is 0. So Newton's method climbs from 0
    and never passes the root. The slope of a term p is -p/(1 + rate (kept_k - eta)).
    """
    eta = 0.0
    for _ in range(MOST_STEPS):
        total, slope = -1.0, 0.0
        for k in range(n):
            y = kept[k] - eta
            p = _power(y, rate)
            if p > 0.0:
                total += p
                slope += p / (1.0 + rate * y)
        step = total / slope
        eta += step
        if step <= 1e-15 * max(eta, 1.0):
            break
    return eta


@kernel
def _shift_by_squares(kept: Array, n: int) -> float:
    """Find the same eta for rate 1/2: sum_k (x_k - tau)_+^2 = 1, x = kept/2, tau = eta/2 - 1, from tau = -1.

    The same method with neither powers nor branches: its loop vectorises.
    """
    tau = -1.0
    for _ in range(MOST_STEPS):
        total, slope = -1.0, 0.0
        for k in range(n):
            root = max(0.5 * kept[k] - tau, 0.0)
            total += root * root
            slope += root
        step = total / (2.0 * slope)
        tau += step
        if step <= 1e-15:
            break
    return 2.0 * (tau + 1.0)


@kernel
def _write_point(theta: Array, top: float, shift: float, rate: float, z: Array) -> float:
    """Write z at the shift, scaled to sum to exactly one; return <theta - top, z> - Omega(z).

    With y = theta - top - shift, z^alpha - z = rate z y, so Omega(z) = sum_k z_k y_k / (1 + rate).
    """
    total = 0.0
    for k in range(theta.size):
        z[k] = theta[k] - top  # written down first: at 1e6, theta - (top + shift) would lose ten digits
    for k in range(theta.size):
        z[k] = _power(z[k] - shift, rate)
        total += z[k]
    value = 0.0
    for k in range(theta.size):
        if z[k] > 0.0:
            z[k] = min(z[k] / total, 1.0)
            below = theta[k] - top
            value += z[k] * (below - (below - shift) / (1.0 + rate))
    return value
