"""Two stages: costs are predicted by least squares, whatever is then decided. The baseline.

    P(B) = lambda/2 ||B||^2 + sum_i p_i 1/2 ||t_i - X_i B||^2
    D(r) = sum_i p_i (<t_i, r_i> - 1/2 ||r_i||^2) - 1/(2 lambda) ||sum_i p_i X_i^T r_i||^2

with targets t; D at the residuals of the optimum is its value. Where no weight may be negative, B >= 0, the
last norm is that of the positive part, ||max(sum_i p_i X_i^T r_i, 0)||.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from scipy import linalg

from structlearn.core.contract import Array
from structlearn.core.sentences import Statement
from structlearn.estimators.scikit import Rows
from structlearn.problem.penalties import NonNegative, SquaredL2
from structlearn.solvers.solution import Certificate, Row

#: Up to this many columns the normal equations are solved directly.
MOST_COLUMNS = 4000
#: Up to this many columns, active sets find weights that are not negative.
MOST_ACTIVE = 500
#: Lambda for rows of unit length.
UNIT = 1e-4


class LeastSquaresFit(NamedTuple):
    """Weights of shape (columns, targets), and how good they are."""

    weights: Array
    certificate: Certificate
    row: Row
    regularization: float


def fit_two_stage(
    rows: Rows, targets: Array, weight: Array, given: float | None, tol: float, *, positive: bool = False
) -> LeastSquaresFit:
    """Fit targets of shape (rows, m); `weight` is that of each row, `given` is lambda.

    Unless given it is `UNIT` times the mean squared length of a row. `positive` is for B >= 0.
    """
    begin = time.perf_counter()
    root = np.sqrt(weight)[:, None]
    A: Rows = rows * root if isinstance(rows, np.ndarray) else rows.multiply(root).tocsr()
    T = targets * root
    squares = np.square(A if isinstance(A, np.ndarray) else A.data).sum()
    regularization = UNIT * float(squares) if given is None else float(given)
    penalty = NonNegative(regularization) if positive else SquaredL2(regularization)
    right = np.asarray(A.T @ T)
    B = (_solve_nonnegative if positive else _solve)(A, right, regularization)
    residual = T - A @ B
    primal = penalty.value(B.ravel()) + float(np.vdot(residual, residual)) / 2
    pulled = np.asarray(A.T @ residual).ravel()
    at_zero = float(np.vdot(T, T)) / 2
    dual = float(np.vdot(T, residual)) - float(np.vdot(residual, residual)) / 2
    dual -= penalty.conjugate(pulled)
    rounding = 1e-12 * (at_zero + abs(primal))
    dual = min(dual, primal) - rounding
    gap, tolerance = primal - dual, tol * at_zero
    converged = gap <= tolerance
    status = Statement(
        "Least squares, {how}: the duality gap {gap} is {within} {tol=} of P(0)={at_zero}"
        + ("." if converged else ": raise {regularization}, or scale the features."),
        how="with no weight below zero" if positive else "solved directly",
        gap=f"{gap:.3g}", within="within" if converged else "above", tol=tol, at_zero=f"{at_zero:.4g}",
    )  # fmt: skip
    seconds = time.perf_counter() - begin
    row = Row(0, 1.0, 0, seconds, primal, dual, gap)
    certificate = Certificate(
        primal, dual, gap, 1.0, 0, seconds, status, True, converged, rounding, tolerance
    )
    return LeastSquaresFit(B, certificate, row, regularization)


def _gram(A: Rows, regularization: float) -> Array:
    """Return A^T A + lambda I."""
    found = A.T @ A
    gram: Array = found if isinstance(found, np.ndarray) else found.toarray()
    gram[np.diag_indices(len(gram))] += regularization
    return gram


def _solve(A: Rows, right: Array, regularization: float) -> Array:
    """Return (A^T A + lambda I)^-1 right."""
    d = A.shape[1]
    if d <= MOST_COLUMNS:
        gram = _gram(A, regularization)
        try:
            return linalg.solve(gram, right, assume_a="pos")
        except linalg.LinAlgError:
            return np.linalg.lstsq(gram, right, rcond=None)[0]
    from scipy.sparse.linalg import LinearOperator, cg  # slow to import, and models predict without it

    operator = LinearOperator((d, d), matvec=lambda v: A.T @ (A @ v) + regularization * v, dtype=np.float64)
    return np.stack([cg(operator, column, rtol=1e-10)[0] for column in right.T], axis=1)


def _solve_nonnegative(A: Rows, right: Array, regularization: float) -> Array:
    """Return argmin_{B >= 0} 1/2 <B, G B> - <B, right>, where G = A^T A + lambda I.

    With G = L L^T, each column of B has the least ||L^T b - L^-1 right|| of those that are not negative.
    """
    from scipy.optimize import nnls

    if A.shape[1] > MOST_ACTIVE:
        return _descend_nonnegative(A, right, regularization)
    try:
        factor = linalg.cholesky(_gram(A, regularization), lower=True)
    except linalg.LinAlgError:
        return _descend_nonnegative(A, right, regularization)
    targets = linalg.solve_triangular(factor, right, lower=True)
    return np.stack([nnls(factor.T, column)[0] for column in targets.T], axis=1)


def _descend_nonnegative(A: Rows, right: Array, regularization: float) -> Array:
    """Return the same by L-BFGS-B, to eight digits; each weight is in units of its own curvature."""
    from scipy.optimize import minimize

    squares = A**2 if isinstance(A, np.ndarray) else A.power(2)
    curvature = np.asarray(squares.sum(axis=0)).ravel() + regularization
    unit = 1 / np.sqrt(np.where(curvature > 0, curvature, 1.0))[:, None]

    def value(flat: Array) -> tuple[float, Array]:
        B = unit * flat.reshape(right.shape)
        bent = A.T @ (A @ B) + regularization * B
        return float(np.vdot(B, bent / 2 - right)), (unit * (bent - right)).ravel()

    options = {"maxiter": 10_000, "maxfun": 20_000, "ftol": 0.0, "gtol": 1e-8 * np.abs(unit * right).max()}
    limits = [(0, None)] * right.size
    found = minimize(value, np.zeros(right.size), jac=True, method="L-BFGS-B", bounds=limits, options=options)
    return unit * found.x.reshape(right.shape)
