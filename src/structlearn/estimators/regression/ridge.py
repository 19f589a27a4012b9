"""Ridge regression and least squares in closed form, with a bound of what rounding leaves.

    P(w) = 1/2 ||y - A w||^2 + lambda/2 ||w||^2 has the gradient g = lambda w - A^T r and the Hessian
    H = A^T A + lambda I, so that P(w) - min P = 1/2 <g, H^-1 g>, which is at most 1/2 of
    ||g||^2 / lambda, and of ||S^-1 g||^2 / mu, mu the least eigenvalue of S^-1 H S^-1,

with S the norms of H's columns, which makes mu independent of the columns' units. The first of the two is the
gap of the dual point r; the second serves lambda = 0, where only r with A^T r = 0 would be dual points.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, lsqr

from structlearn.core.contract import Array
from structlearn.core.sentences import Statement
from structlearn.estimators.regression.design import Design
from structlearn.solvers.solution import Certificate, Row
from structlearn.solvers.stopping import Tolerance

#: Sparse problems with more rows and more columns than this are solved by LSQR.
LARGEST_GRAM = 3000
#: Sparse problems of at most this many entries, zeros included, are laid out if their Gram matrix fails.
LARGEST_LAID_OUT = 2**24
#: Random probes for the trace of a hat matrix that is too large to form.
PROBES = 20
#: Corrections of a solution by the same factors.
CORRECTIONS = 6
EPSILON = float(np.finfo(np.float64).eps)


class Bounds(NamedTuple):
    """P(w), a lower bound of its minimum, and what rounding may have done to P."""

    primal: float
    #: not above min P; 0, as P is never negative, where no better bound is known
    dual: float
    rounding: float
    #: whether there is a bound other than 0
    bounded: bool

    @property
    def gap(self) -> float:
        return self.primal - self.dual


class Ridge(NamedTuple):
    """argmin_w P(w), and trace(A (A^T A + lambda I)^-1 A^T)."""

    w: Array
    trace: float
    bounds: Bounds
    #: of LSQR; 0 for a direct solution
    iterations: int = 0


class SpectralFactors(NamedTuple):
    """What solves the problem for any w and its residual r: w + correct(w, r) is the minimum, up to rounding.

    curvature : a lower bound of mu, 0 where none is known
    """

    correct: Callable[[Array, Array], Array]
    trace: float
    curvature: float = 0.0


def ridge(A: Design, y: Array, regularization: float, *, max_iterations: int, seed: int) -> Ridge:
    """Solve by Cholesky factors of the smaller Gram matrix; by orthogonal factors if lambda is (almost) 0.

    For lambda = 0 the least squares solution of least norm; its trace is the rank. Large sparse problems are
    solved by LSQR, and their trace is estimated from random signs.
    """
    if A.is_sparse and min(A.shape) > LARGEST_GRAM:
        return _iterative(A, y, regularization, max_iterations, seed)
    factors = _factors(A, regularization)
    w, r = np.zeros(A.shape[1]), y
    best = certify(A, y, w, r, regularization, factors.curvature)
    for _ in range(CORRECTIONS):
        if best.gap <= 2 * best.rounding:
            break
        changed = w + factors.correct(w, r)
        residual = A.residual(y, changed)
        bounds = certify(A, y, changed, residual, regularization, factors.curvature)
        if bounds.gap >= best.gap:
            break
        w, r, best = changed, residual, bounds
    return Ridge(w, factors.trace, best)


def certify(A: Design, y: Array, w: Array, r: Array, regularization: float, curvature: float = 0.0) -> Bounds:
    """Return P(w) and the bounds of the module's first lines, enlarged by possible rounding errors.

    r : the residual of w
    """
    n, d = A.shape
    unit, size_r, weights = EPSILON / 2, float(np.linalg.norm(r)), np.abs(w)
    of_residual = unit * (d + 16) * (float(np.linalg.norm(y)) + float(weights @ A.sizes))
    noise = unit * ((n + 16) * A.sizes * size_r + 4 * regularization * weights)
    g = np.abs(regularization * w - A.adjoint(r)) + noise
    penalty = regularization / 2 * float(w @ w)
    primal = size_r**2 / 2 + penalty
    rounding = of_residual * (size_r + of_residual) + unit * (n + 16) * size_r**2 + unit * (d + 16) * penalty
    lengths = []
    if regularization > 0:
        lengths.append(float(np.linalg.norm(g)) / np.sqrt(regularization))
    if curvature > 0:
        lengths.append(float(np.linalg.norm(g / _scales(A, regularization))) / np.sqrt(curvature))
    if not lengths:
        return Bounds(primal, 0.0, rounding, bounded=False)
    gap = float(min(lengths) + of_residual) ** 2 / 2
    return Bounds(primal, max(primal - rounding - gap, 0.0), rounding, bounded=True)


def _scales(A: Design, regularization: float) -> Array:
    """Return S; ones for columns of zeros, which play no part."""
    scales = np.sqrt(A.sizes**2 + regularization)
    return np.where(scales > 0, scales, 1.0)


def ridge_certificate(found: Ridge, row: Row, tolerance: Tolerance, max_passes: float) -> Certificate:
    """Return the certificate of a solution, whose history is one row."""
    return Certificate(
        *(row.primal, row.dual, row.gap, row.passes, row.oracle_calls, row.seconds),
        status=_status(found, tolerance, max_passes),
        converged=bool(row.gap <= tolerance.gap),
        rounding=found.bounds.rounding,
        tolerance=tolerance.gap,
    )


def _status(found: Ridge, tolerance: Tolerance, max_passes: float) -> str:
    """Return the reason why the solution is what it is, and what to do if its gap is above the tolerance."""
    bounds = found.bounds
    if bounds.gap <= tolerance.gap:
        return f"Solved directly: the duality gap is {bounds.gap:.3g}."
    left = Statement("gap {gap} above {tolerance}", gap=f"{bounds.gap:.3g}", tolerance=tolerance.sentence)
    if found.iterations >= max_passes:
        advice = "Stopped after {max_passes=} with {left}: raise it, {tol} or {regularization}."
        return Statement(advice, max_passes=float(max_passes), left=left)
    if not bounds.bounded:
        return (
            "Solved directly, without a dual bound: regularization=0 has one only where columns are "
            "independent beyond rounding, and X is dense or small; for a certificate raise regularization."
        )
    return (
        f"Solved directly, with {left}: float64 cannot certify that; scale the columns of X, or raise tol or "
        "regularization."
    )


# ---- factors ---------------------------------------------------------------------------------------


def _factors(A: Design, regularization: float) -> SpectralFactors:
    if regularization > np.sqrt(EPSILON) * float(A.sizes.max(initial=0.0)) ** 2:
        return _cholesky(A, regularization)
    found = None
    if A.shape[1] <= A.shape[0]:
        found = (_orthogonal if _fits(A) else _scaled_gram)(A, regularization)
    return found or _singular_factors(A, regularization)


def _fits(A: Design) -> bool:
    return not A.is_sparse or A.shape[0] * A.shape[1] <= LARGEST_LAID_OUT


def _cholesky(A: Design, regularization: float) -> SpectralFactors:
    n, d = A.shape
    gram = A.gram() if d <= n else A.kernel()
    gram[np.diag_indices_from(gram)] += regularization
    factor = linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)

    def correct(w: Array, r: Array) -> Array:
        g = A.adjoint(r) - regularization * w
        if d <= n:
            return linalg.cho_solve(factor, g, check_finite=False)
        return (g - A.adjoint(linalg.cho_solve(factor, A.times(g), check_finite=False))) / regularization

    inverse, _ = linalg.lapack.dpotri(factor[0], lower=True)
    return SpectralFactors(correct, min(n, d) - regularization * float(np.trace(inverse)))


def _orthogonal(A: Design, regularization: float) -> SpectralFactors | None:
    """Solve by QR of the rows of A and sqrt(lambda) I, columns scaled to norm 1; None if dependent."""
    n, d = A.shape
    kept = np.flatnonzero(A.sizes**2 + regularization > 0)
    scales, root = _scales(A, regularization)[kept], np.sqrt(regularization)
    B = A.laid_out()[:, kept] / scales
    if regularization > 0:
        B = np.concatenate([B, np.diag(root / scales)])
    Q, R = linalg.qr(B, mode="economic", check_finite=False, overwrite_a=True)
    values = linalg.svdvals(R, check_finite=False) if kept.size else np.ones(1)
    if values[-1] <= EPSILON * max(n, d) * values[0]:
        return None

    def correct(w: Array, r: Array) -> Array:
        target = Q[:n].T @ r - (root * (Q[n:].T @ w) if regularization > 0 else 0.0)
        change = np.zeros(d)
        change[kept] = linalg.solve_triangular(R, target, check_finite=False) / scales
        return change

    trace = float(kept.size)
    if regularization > 0:
        inverse = linalg.solve_triangular(R, np.eye(d), check_finite=False) / scales[:, None]
        trace -= regularization * float(np.sum(inverse**2))
    rounding = 10 * EPSILON * B.shape[0] * d * np.sqrt(d)  # of a QR decomposition (Higham 2002, th. 19.4)
    return SpectralFactors(correct, trace, max(float(values[-1]) - rounding, 0.0) ** 2)


def _scaled_gram(A: Design, regularization: float) -> SpectralFactors | None:
    """Return the eigenvectors of S^-1 H S^-1, for sparse data too large to lay out; None as above."""
    n, d = A.shape
    scales = _scales(A, regularization)
    gram = A.gram() / np.outer(scales, scales)
    gram[np.diag_indices_from(gram)] += regularization / scales**2
    values, V = linalg.eigh(gram, check_finite=False)
    if values[0] <= EPSILON * (n + d) * values[-1]:
        return None

    def correct(w: Array, r: Array) -> Array:
        along = V.T @ ((A.adjoint(r) - regularization * w) / scales)
        return (V @ (along / values)) / scales

    trace = d - regularization * float(np.sum((V / scales[:, None]) ** 2 / values))
    return SpectralFactors(correct, trace, max(float(values[0]) - 10 * EPSILON * (n + d) * d, 0.0))


class Singular(NamedTuple):
    """The positive singular values of A, its right singular vectors, of shape (d, rank), and r -> U^T r."""

    values: Array
    V: Array
    left: Callable[[Array], Array]


def singular(A: Design) -> Singular:
    """Return the decomposition of A; of its smaller Gram matrix if A is sparse and too large to lay out."""
    n, d = A.shape
    if _fits(A):
        U, s, Vt = linalg.svd(A.laid_out(), full_matrices=False, check_finite=False)
        kept = s > EPSILON * max(n, d) * s.max(initial=0.0)
        U = U[:, kept]
        return Singular(s[kept], Vt[kept].T, lambda r: U.T @ r)
    squares, vectors = linalg.eigh(A.gram() if d <= n else A.kernel(), check_finite=False)
    kept = squares > EPSILON * max(n, d) * squares.max(initial=0.0)
    s, vectors = np.sqrt(squares[kept]), vectors[:, kept]
    if d > n:
        V = np.stack([A.adjoint(u) for u in vectors.T], axis=1) / s if kept.any() else np.zeros((d, 0))
        return Singular(s, V, lambda r: vectors.T @ r)
    return Singular(s, vectors, lambda r: (vectors.T @ A.adjoint(r)) / s)


def projections(A: Design, y: Array) -> tuple[Array, Array, Array, float]:
    """Return the singular values, V and U^T y of `singular`, and the rest of ||y||^2; no U if n > d."""
    n, d = A.shape
    if n <= d or not _fits(A):
        s, V, left = singular(A)
        along = left(y)
        return s, V, along, max(float(y @ y) - float(along @ along), 0.0)
    R = A.triangle(y)
    U, s, Vt = linalg.svd(R[:d, :d], check_finite=False)
    along = U.T @ R[:d, d]
    kept = s > EPSILON * n * s.max(initial=0.0)
    rest = float(np.sum(R[d:, d] ** 2)) + float(np.sum(along[~kept] ** 2))
    return s[kept], Vt[kept].T, along[kept], rest


def _singular_factors(A: Design, regularization: float) -> SpectralFactors:
    s, V, left = singular(A)

    def correct(w: Array, r: Array) -> Array:
        return V @ ((s * left(r) - regularization * (V.T @ w)) / (s * s + regularization))

    return SpectralFactors(correct, float(np.sum(s * s / (s * s + regularization))))


# ---- LSQR ------------------------------------------------------------------------------------------


def _iterative(A: Design, y: Array, regularization: float, max_iterations: int, seed: int) -> Ridge:
    """Solve by LSQR, with Hutchinson's estimate of the trace: the mean of <v, A (A^T A + lambda I)^-1 A^T v>.

    Columns are scaled to unit norm, except where lambda = 0 leaves many solutions, of which the one of least
    norm is found in the columns' own units.
    """
    n, d = A.shape
    scales = _scales(A, regularization) if regularization > 0 or d <= n else np.ones(d)
    rows, root = sparse.diags_array(np.sqrt(regularization) / scales), np.zeros(d)

    def times(v: Array) -> Array:
        return np.concatenate([A.times(v / scales), rows @ v])

    def adjoint(u: Array) -> Array:
        return A.adjoint(u[:n]) / scales + rows @ u[n:]

    B = LinearOperator((n + d, d), matvec=times, rmatvec=adjoint, dtype=np.float64)

    def solve(target: Array, accuracy: float) -> tuple[Array, int]:
        found = lsqr(
            B,
            np.concatenate([target, root]),
            atol=accuracy,
            btol=accuracy,
            conlim=0,
            iter_lim=max_iterations,
        )
        return found[0] / scales, int(found[2])

    w, iterations = solve(y, 1e-14)
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], size=(PROBES, n))
    trace = np.mean([v @ A.times(solve(v, 1e-4)[0]) for v in signs])
    bounds = certify(A, y, w, A.residual(y, w), regularization)
    return Ridge(w, float(np.clip(trace, 0.0, min(A.shape))), bounds, iterations)
