"""Two stages: costs are predicted by least squares, whatever is then decided. The baseline.

    P(B) = lambda/2 ||B||^2 + sum_i p_i 1/2 ||t_i - X_i B||^2
    D(r) = sum_i p_i (<t_i, r_i> - 1/2 ||r_i||^2) - 1/(2 lambda) ||sum_i p_i X_i^T r_i||^2

with targets t; D at the residuals of the optimum is its value.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from scipy import linalg

from structlearn.core.contract import Array
from structlearn.core.sentences import Statement
from structlearn.estimators.scikit import Rows
from structlearn.solvers.solution import Certificate, Row

#: Up to this many columns the normal equations are solved directly.
MOST_COLUMNS = 4000
#: Lambda for rows of unit length.
UNIT = 1e-4


class LeastSquaresFit(NamedTuple):
    """Weights of shape (columns, targets), and how good they are."""

    weights: Array
    certificate: Certificate
    row: Row
    regularization: float


def fit_two_stage(
    rows: Rows, targets: Array, weight: Array, given: float | None, tol: float
) -> LeastSquaresFit:
    """Fit targets of shape (rows, m); `weight` is that of each row, `given` is lambda.

    Unless given it is `UNIT` times the mean squared length of a row.
    """
    begin = time.perf_counter()
    root = np.sqrt(weight)[:, None]
    A: Rows = rows * root if isinstance(rows, np.ndarray) else rows.multiply(root).tocsr()
    T = targets * root
    squares = np.square(A if isinstance(A, np.ndarray) else A.data).sum()
    regularization = UNIT * float(squares) if given is None else float(given)
    right = A.T @ T
    B = _solve(A, np.asarray(right), regularization)
    residual = T - A @ B
    primal = regularization / 2 * float(np.vdot(B, B)) + float(np.vdot(residual, residual)) / 2
    pulled = A.T @ residual
    at_zero = float(np.vdot(T, T)) / 2
    dual = float(np.vdot(T, residual)) - float(np.vdot(residual, residual)) / 2
    dual -= float(np.vdot(pulled, pulled)) / (2 * regularization) if regularization > 0 else 0.0
    rounding = 1e-12 * (at_zero + abs(primal))
    dual = min(dual, primal) - rounding
    gap, tolerance = primal - dual, tol * at_zero
    converged = gap <= tolerance
    status = Statement(
        "Least squares, solved directly: the duality gap {gap} is {within} {tol=} of P(0)={at_zero}"
        + ("." if converged else ": raise {regularization}, or scale the features."),
        gap=f"{gap:.3g}", within="within" if converged else "above", tol=tol, at_zero=f"{at_zero:.4g}",
    )  # fmt: skip
    seconds = time.perf_counter() - begin
    row = Row(0, 1.0, 0, seconds, primal, dual, gap)
    certificate = Certificate(
        primal, dual, gap, 1.0, 0, seconds, status, True, converged, rounding, tolerance
    )
    return LeastSquaresFit(B, certificate, row, regularization)


def _solve(A: Rows, right: Array, regularization: float) -> Array:
    """Return (A^T A + lambda I)^-1 right."""
    d = A.shape[1]
    if d <= MOST_COLUMNS:
        gram = A.T @ A
        gram = gram if isinstance(gram, np.ndarray) else gram.toarray()
        gram[np.diag_indices(d)] += regularization
        try:
            return linalg.solve(gram, right, assume_a="pos")
        except linalg.LinAlgError:
            return np.linalg.lstsq(gram, right, rcond=None)[0]
    from scipy.sparse.linalg import LinearOperator, cg  # slow to import, and models predict without it

    operator = LinearOperator((d, d), matvec=lambda v: A.T @ (A @ v) + regularization * v, dtype=np.float64)
    return np.stack([cg(operator, column, rtol=1e-10)[0] for column in right.T], axis=1)
