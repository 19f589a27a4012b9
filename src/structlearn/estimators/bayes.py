"""Linear regression in closed form: ridge, the Gaussian posterior, and evidence maximisation.

Everything works on the weighted, centred rows sqrt(p_i) (x_i - mean), which are never laid out for sparse X.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse, stats
from scipy.sparse.linalg import LinearOperator, lsqr

from structlearn.contract import Array

#: Rows (or columns) of X that are turned into centred float64 at once.
AT_ONCE = 2048
#: Sparse problems with more rows and more columns than this are solved by LSQR.
LARGEST_GRAM = 3000
#: Random probes for the trace of a hat matrix that is too large to form.
PROBES = 20
EPSILON = float(np.finfo(np.float64).eps)


class Design:
    """The matrix A with rows sqrt(p_i) (x_i - mean).

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    p : ndarray of shape (n,), weights that sum to 1
    means : ndarray of shape (d,), the weighted means of the columns, or None to leave them as they are
    """

    def __init__(self, X: Any, p: Array, means: Array | None) -> None:
        self.X = X
        self.root = np.sqrt(p)
        self.shape = X.shape
        self.centred = means is not None
        self.means = np.zeros(X.shape[1]) if means is None else means

    def times(self, w: Array) -> Array:
        """A w."""
        return self.root * (times(self.X, w) - self.means @ w)

    def pull(self, r: Array) -> Array:
        """A^T r."""
        weighted = self.root * r
        if sparse.issparse(self.X):
            product = self.X.T @ weighted
        else:
            product = sum(weighted[rows] @ _float64(self.X[rows]) for rows in chunks(self.shape[0]))
        return product - self.means * weighted.sum()

    def gram(self) -> Array:
        """A^T A, of shape (d, d)."""
        if sparse.issparse(self.X):
            scaled = sparse.diags_array(self.root) @ self.X
            return (scaled.T @ scaled).toarray() - np.outer(self.means, self.means)
        total = np.zeros((self.shape[1], self.shape[1]))
        for rows in chunks(self.shape[0]):
            block = self.root[rows, None] * (_float64(self.X[rows]) - self.means)
            total += block.T @ block
        return total

    def kernel(self) -> Array:
        """A A^T, of shape (n, n)."""
        if sparse.issparse(self.X):
            scaled = sparse.diags_array(self.root) @ self.X
            cross = np.outer(self.root, scaled @ self.means)
            square = float(self.means @ self.means)
            return (scaled @ scaled.T).toarray() - cross - cross.T + square * np.outer(self.root, self.root)
        total = np.zeros((self.shape[0], self.shape[0]))
        for columns in chunks(self.shape[1]):
            block = self.root[:, None] * (_float64(self.X[:, columns]) - self.means[columns])
            total += block @ block.T
        return total

    def laid_out(self) -> Array:
        """A itself, for dense X."""
        return self.root[:, None] * (_float64(self.X) - self.means)

    def operator(self) -> Any:
        return LinearOperator(self.shape, matvec=self.times, rmatvec=self.pull, dtype=np.float64)


def times(X: Any, w: Array) -> Array:
    """X w in float64, without a float64 copy of all of X."""
    if sparse.issparse(X) or X.dtype == np.float64:
        return X @ w
    return np.concatenate([_float64(X[rows]) @ w for rows in chunks(X.shape[0])])


def weighted_means(X: Any, p: Array) -> Array:
    """sum_i p_i x_i, for weights that sum to 1."""
    return Design(X, p, None).pull(np.sqrt(p))


def chunks(n: int) -> Iterator[slice]:
    return (slice(a, min(a + AT_ONCE, n)) for a in range(0, n, AT_ONCE))


def _float64(block: Array) -> Array:
    return block.astype(np.float64, copy=False)


# ---- ridge -----------------------------------------------------------------------------------------


class Ridge(NamedTuple):
    """argmin_w 1/2 ||y - A w||^2 + lambda/2 ||w||^2, and trace(A (A^T A + lambda I)^-1 A^T)."""

    w: Array
    trace: float
    #: 1 for a direct solution
    iterations: int = 1


def ridge(A: Design, y: Array, regularization: float, *, max_iterations: int, seed: Any) -> Ridge:
    """By Cholesky factors of the smaller Gram matrix; by singular values where lambda is (almost) 0.

    For lambda = 0 the least squares solution of least norm; its trace is the rank. Large sparse problems are
    solved by LSQR, and their trace is estimated from random signs.
    """
    n, d = A.shape
    is_sparse = sparse.issparse(A.X)
    if is_sparse and min(n, d) > LARGEST_GRAM:
        return _iterative(A, y, regularization, max_iterations, seed)
    gram = A.gram() if d <= n else A.kernel()
    if regularization > np.sqrt(EPSILON) * gram.diagonal().max(initial=0.0):
        gram[np.diag_indices_from(gram)] += regularization
        factor = linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
        if d <= n:
            w = linalg.cho_solve(factor, A.pull(y), check_finite=False)
        else:
            w = A.pull(linalg.cho_solve(factor, y, check_finite=False))
        inverse, _ = linalg.lapack.dpotri(factor[0], lower=True)
        return Ridge(w, min(n, d) - regularization * float(np.trace(inverse)))
    if is_sparse:
        values, V = eigenpairs(A)
        along = V.T @ A.pull(y)
        return Ridge(
            V @ (along / (values + regularization)), float(np.sum(values / (values + regularization)))
        )
    U, s, Vt = linalg.svd(A.laid_out(), full_matrices=False, check_finite=False)
    kept = s > EPSILON * max(n, d) * s.max(initial=0.0)
    U, s, Vt = U[:, kept], s[kept], Vt[kept]
    filtered = s / (s * s + regularization)
    return Ridge(Vt.T @ (filtered * (U.T @ y)), float(np.sum(filtered * s)))


def ridge_values(A: Design, y: Array, w: Array, regularization: float) -> tuple[float, float]:
    """P(w), and D of the best multiple s of the residual r = y - A w.

    D(s) = s <y, r> - s^2/2 (||r||^2 + ||A^T r||^2/lambda). For lambda = 0 a dual point needs A^T r = 0, the
    normal equations, which hold up to rounding; what they miss is charged at the size of the weights.
    """
    r = y - A.times(w)
    pull = A.pull(r)
    primal = float(r @ r) / 2 + regularization / 2 * float(w @ w)
    if regularization == 0:
        return primal, primal - float(np.abs(pull) @ np.abs(w))
    curvature = float(r @ r) + float(pull @ pull) / regularization
    dual = float(y @ r) ** 2 / (2 * curvature) if curvature > 0 else 0.0
    return primal, min(dual, primal)


def _iterative(A: Design, y: Array, regularization: float, max_iterations: int, seed: Any) -> Ridge:
    """LSQR, and Hutchinson's estimate of the trace: the mean of <v, A (A^T A + lambda I)^-1 A^T v>."""

    def solve(target: Array, accuracy: float) -> Any:
        damp = np.sqrt(regularization)
        return lsqr(A.operator(), target, damp=damp, atol=accuracy, btol=accuracy, iter_lim=max_iterations)

    found = solve(y, 1e-12)
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], size=(PROBES, A.shape[0]))
    trace = np.mean([v @ A.times(solve(v, 1e-4)[0]) for v in signs])
    return Ridge(found[0], float(np.clip(trace, 0.0, min(A.shape))), int(found[2]))


def eigenpairs(A: Design) -> tuple[Array, Array]:
    """The positive eigenvalues of A^T A and their eigenvectors, of shape (d, rank)."""
    n, d = A.shape
    values, vectors = linalg.eigh(A.gram() if d <= n else A.kernel(), check_finite=False)
    kept = values > EPSILON * max(n, d) * values.max(initial=0.0)
    values, vectors = values[kept], vectors[:, kept]
    if d > n:
        vectors = (
            np.stack([A.pull(u) for u in vectors.T], axis=1) / np.sqrt(values)
            if kept.any()
            else np.zeros((d, 0))
        )
    return values, vectors


# ---- evidence --------------------------------------------------------------------------------------


class Evidence(NamedTuple):
    """The posterior at the most likely precisions."""

    mean: Array
    covariance: Array
    prior_precision: float
    noise_precision: float
    #: log p(y | prior and noise precision) at each iteration, the last one at the answer
    path: Array
    converged: bool


class _Spectrum(NamedTuple):
    """y and A in the basis of the eigenvectors: the evidence of both precisions is a sum over them."""

    values: Array  # eigenvalues of X^T X
    along: Array  # y along the left singular vectors
    rest: float  # what is left of ||y||^2
    n: float
    d: int

    def moments(self, alpha: float, beta: float) -> tuple[float, float, float]:
        """The effective number of weights gamma, ||m||^2, and the squared residual at the mean m."""
        share = alpha / (alpha + beta * self.values)
        gamma = float(np.sum(1 - share))
        m = np.sqrt(self.values) * self.along * beta / (alpha + beta * self.values)
        return gamma, float(m @ m), self.rest + float(np.sum((self.along * share) ** 2))

    def log_evidence(self, alpha: float, beta: float) -> float:
        _, mm, residual = self.moments(alpha, beta)
        log_determinant = float(np.sum(np.log1p(beta * self.values / alpha)))
        return (self.n * np.log(beta / (2 * np.pi)) - beta * residual - alpha * mm - log_determinant) / 2

    def mackay(self, alpha: float, beta: float) -> tuple[float, float]:
        """alpha = gamma / ||m||^2, beta = (n - gamma) / residual (MacKay 1992): quick, mostly uphill."""
        gamma, mm, residual = self.moments(alpha, beta)
        if min(mm, residual, self.n - gamma) <= 0:
            return np.inf, np.inf
        return gamma / mm, (self.n - gamma) / residual

    def em(self, alpha: float, beta: float) -> tuple[float, float]:
        """One step of expectation maximisation: slow, never downhill."""
        gamma, mm, residual = self.moments(alpha, beta)
        return self.d / (mm + (self.d - gamma) / alpha), self.n / (residual + gamma / beta)


def maximise_evidence(A: Design, y: Array, n: float, max_iterations: int = 10_000) -> Evidence:
    """Bayesian linear regression: w ~ N(0, I/alpha), y ~ N(A w, I/beta), both precisions by evidence.

    p(y | alpha, beta) = integral p(y | w, beta) p(w | alpha) dw is raised by MacKay's fixed point and, where
    that would lower it, by a step of expectation maximisation. An intercept is taken at its estimate (by
    centring), as in scikit-learn's BayesianRidge, whose fixed point without hyperpriors is the same.

    n : the number of examples, or the sum of their weights
    """
    values, V = eigenpairs(A)
    along = np.sqrt(n) * (V.T @ A.pull(y)) / np.sqrt(values)
    variance = float(y @ y)
    rest = max(n * variance - float(along @ along), n * variance * EPSILON)
    spectrum = _Spectrum(n * values, along, rest, n, A.shape[1])
    if variance == 0 or not values.size:  # nothing to explain, or nothing to explain it with
        alpha, beta = 1.0, 1 / variance if variance > 0 else 1.0
        path, converged = [spectrum.log_evidence(alpha, beta)], True
    else:
        alpha, beta, path, converged = _climb(
            spectrum, float(values.sum()) / variance, 1 / variance, max_iterations
        )
    precisions = alpha + beta * spectrum.values
    mean = V @ (beta * np.sqrt(spectrum.values) * along / precisions)
    covariance = (V * (1 / precisions - 1 / alpha)) @ V.T
    covariance[np.diag_indices_from(covariance)] += 1 / alpha
    return Evidence(mean, covariance, alpha, beta, np.array(path), converged)


def _climb(
    spectrum: _Spectrum, alpha: float, beta: float, max_iterations: int
) -> tuple[float, float, list[float], bool]:
    """From a first guess uphill until neither precision changes; they stay within 1e12 of the guess."""
    limits = np.array([[alpha], [beta]]) * np.array([1e-12, 1e12])
    path = [spectrum.log_evidence(alpha, beta)]
    for _ in range(max_iterations):
        for step in (spectrum.mackay, spectrum.em):
            new_alpha, new_beta = np.clip(step(alpha, beta), limits[:, 0], limits[:, 1]).tolist()
            value = spectrum.log_evidence(new_alpha, new_beta)
            if value >= path[-1]:
                break
        else:
            return alpha, beta, path, True  # only rounding is left
        change = max(abs(np.log(new_alpha / alpha)), abs(np.log(new_beta / beta)))
        alpha, beta = new_alpha, new_beta
        path.append(value)
        if change < 1e-10:
            return alpha, beta, path, True
    return alpha, beta, path, False


# ---- predictions -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class GaussianPrediction:
    """A normal distribution for each example.

    Attributes
    ----------
    mean, std : ndarray of shape (n,)
    """

    mean: Array
    std: Array

    def interval(self, level: float = 0.95) -> Array:
        """The central intervals that hold `level` of the probability, of shape (n, 2)."""
        return central_interval(self.mean, self.std, level)

    def logpdf(self, y: Any) -> Array:
        """log p(y_i), of shape (n,)."""
        return stats.norm(self.mean, self.std).logpdf(np.asarray(y, dtype=np.float64))


def central_interval(mean: Array, std: Array, level: float) -> Array:
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, as in 0.95; got {level!r}.")
    half = stats.norm.ppf((1 + level) / 2) * std
    return np.stack([mean - half, mean + half], axis=-1)
