"""The weighted, centred data of a regression, without the rounding that large means would bring.

Centring is a subtraction of numbers that may be a million times their difference. It is done entry by entry
(x - mean is then as exact as x is), never as a difference of two sums. Of sparse X only the columns that are
mostly filled are laid out for it: for a column of which a share s <= 1/2 is stored, mean^2 is at most
s/(1 - s) <= 1 times the variance, so that a difference of sums is harmless there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.estimators.scikit import Rows
from structlearn.solvers.loop import TOO_LARGE

#: Rows (or columns) of X that are turned into centred float64 at once.
AT_ONCE = 2048
#: Products take only the columns with weights if all are this many times as many.
FEW_COLUMNS = 4


class Design:
    """The matrix A with rows sqrt(p_i) (x_i - mean).

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    p : ndarray of shape (n,), weights that sum to 1
    centred : whether to subtract the weighted means of the columns

    Attributes
    ----------
    X : as given, but for columns of a sparse matrix that are laid out
    means : ndarray of shape (d,), the weighted means; zeros unless centred
    """

    def __init__(self, X: Rows, p: Array, centred: bool) -> None:
        self.X = X
        self.root = np.sqrt(p)
        self.shape = X.shape
        self.centred = centred
        self.is_sparse = sparse.issparse(X)
        self.means = np.zeros(X.shape[1])
        #: dense: what rounding of the means has left; sparse: what is subtracted from products, not entries
        self._left = np.zeros(X.shape[1])
        if centred and isinstance(X, np.ndarray):
            self._centre_dense(X, p)
        elif centred:
            self._centre_sparse(X, p)

    def _centre_dense(self, X: Array, p: Array) -> None:
        """Set the float64 nearest to each mean, and the rest that it leaves."""
        near = weighted_mean(X, p)
        self.means = near
        beyond = np.sum([p[rows] @ self._block(rows) for rows in row_slices(self.shape[0])], axis=0)
        self.means = near + beyond
        left = (near - self.means) + beyond
        noise = (self.shape[0] + 16) * np.finfo(np.float64).eps * np.abs(beyond)
        self._left = np.where(np.abs(left) > noise, left, 0.0)  # a constant column becomes zero

    def _block(self, rows: slice = slice(None), columns: slice | Array = slice(None)) -> Array:
        """Return x_i - mean as a dense array; not to be changed, for it may be X itself."""
        block = self.X[rows, columns]
        if isinstance(block, np.ndarray) and not self.centred:
            return _float64(block)
        if isinstance(block, np.ndarray):
            return (_float64(block) - self.means[columns]) - self._left[columns]
        return block.toarray() - self._left[columns]

    def _centre_sparse(self, given: sparse.csr_matrix, p: Array) -> None:
        n, d = self.shape
        X = given.tocsc()
        self.means = self._left = X.T @ p
        filled = np.flatnonzero(2 * np.diff(X.indptr) > n)
        if not filled.size:
            return
        rest = np.setdiff1d(np.arange(d), filled)
        inner = Design(X[:, filled].toarray(), p, True)
        both = sparse.hstack([X[:, rest].astype(np.float64), sparse.csc_matrix(inner._block())], format="csc")
        self.X = both[:, np.argsort(np.concatenate([rest, filled]))].asformat(given.format)
        self.means[filled] = inner.means
        self._left = self.means.copy()
        self._left[filled] = 0.0

    @cached_property
    def sizes(self) -> Array:
        """The norms of the columns as they are stored, of shape (d,), to which rounding is proportional."""
        squares = np.zeros(self.shape[1])
        if isinstance(self.X, np.ndarray):
            for rows in row_slices(self.shape[0]):
                squares += self.root[rows] ** 2 @ self._block(rows) ** 2
        else:
            squares += self.X.astype(np.float64).power(2).T @ self.root**2
        return np.sqrt(squares)

    def times(self, w: Array) -> Array:
        """Return A w."""
        if self.is_sparse:
            return self.root * (self.X @ w - self._left @ w)
        used = np.flatnonzero(w)
        taken = used if FEW_COLUMNS * used.size <= w.size else slice(None)
        blocks = (self._block(rows, taken) @ w[taken] for rows in row_slices(self.shape[0]))
        return self.root * np.concatenate(list(blocks))

    def residual(self, y: Array, w: Array) -> Array:
        """Return y - A w, orthogonal to sqrt(p) as y and A are where they are centred."""
        return self.project(y - self.times(w))

    def project(self, r: Array) -> Array:
        """Return the part of r that is orthogonal to sqrt(p); r itself where nothing is centred."""
        for _ in range(2 if self.centred else 0):  # once more for what rounding left
            r = r - self.root * (self.root @ r)
        return r

    def adjoint(self, r: Array) -> Array:
        """Return A^T r."""
        weighted = self.root * r
        if self.is_sparse:
            return self.X.T @ weighted - self._left * weighted.sum()
        total = np.zeros(self.shape[1])
        for rows in row_slices(self.shape[0]):
            total += weighted[rows] @ self._block(rows)
        return total

    def gram(self) -> Array:
        """Return A^T A, of shape (d, d)."""
        if self.is_sparse:
            scaled = sparse.diags_array(self.root) @ self.X
            return (scaled.T @ scaled).toarray() - np.outer(self._left, self._left)
        total = np.zeros((self.shape[1], self.shape[1]))
        for rows in row_slices(self.shape[0]):
            block = self.root[rows, None] * self._block(rows)
            total += block.T @ block
        return total

    def kernel(self) -> Array:
        """Return A A^T, of shape (n, n)."""
        if self.is_sparse:
            scaled = sparse.diags_array(self.root) @ self.X
            cross = np.outer(self.root, scaled @ self._left)
            square = float(self._left @ self._left)
            return (scaled @ scaled.T).toarray() - cross - cross.T + square * np.outer(self.root, self.root)
        total = np.zeros((self.shape[0], self.shape[0]))
        for columns in row_slices(self.shape[1]):
            block = self.root[:, None] * self._block(columns=columns)
            total += block @ block.T
        return total

    def laid_out(self) -> Array:
        """Return A as a dense array."""
        return self.root[:, None] * self._block()

    def triangle(self, y: Array) -> Array:
        """Return R of a QR decomposition of A with y as one more column, never laid out as a whole."""
        from scipy import linalg

        R = np.zeros((0, self.shape[1] + 1))
        for rows in row_slices(self.shape[0], max(AT_ONCE, 2 * self.shape[1])):
            block = np.c_[self.root[rows, None] * self._block(rows), y[rows]]
            R = linalg.qr(np.concatenate([R, block]), mode="r", check_finite=False)[0][: R.shape[1]]
        return R

    def columns(self, weighted: bool) -> tuple[Rows, Array]:
        """Return columns for coordinate descent, and what remains to be subtracted along sqrt(p): sqrt(n) A.

        Float32 is kept where the values stay as they are: where X is neither centred entrywise nor weighted.
        """
        root = np.sqrt(self.shape[0]) * self.root
        if isinstance(self.X, np.ndarray):
            dense = self._block() if self.centred else self.X
            return np.asfortranarray(dense * root[:, None] if weighted else dense), np.zeros(self.shape[1])
        X = self.X.tocsc()
        if weighted:
            X = sparse.csc_matrix((X.data * root[X.indices], X.indices, X.indptr), shape=X.shape)
        return X, np.sqrt(self.shape[0]) * self._left


class CentredData(NamedTuple):
    """A checked data set, centred where there is an intercept."""

    A: Design
    #: times sqrt(p), like the rows of A
    y: Array
    #: the mean of y
    intercept: float
    #: the number of examples, or the sum of their weights
    n: float
    weighted: bool

    @classmethod
    def of(cls, X: Rows, y: Array, weight: Array | None, *, centred: bool) -> CentredData:
        """Lay out rows and targets with sample weights; `centred` where there is an intercept."""
        n = X.shape[0]
        p = np.full(n, 1 / n) if weight is None else weight / weight.sum()
        total = float(n) if weight is None else float(weight.sum())
        A, mean = Design(X, p, centred), 0.0
        if centred:
            y, mean = centre(y, p)
        return cls(A, A.project(np.sqrt(p) * y), mean, total, weight is not None)

    @property
    def at_zero(self) -> float:
        """P(0)."""
        with np.errstate(over="ignore"):
            return float(self.y @ self.y) / 2

    def check_squares(self) -> None:
        """Raise ValueError if squares are infinite; where `solve` trains, it checks that itself."""
        with np.errstate(over="ignore"):
            if not np.isfinite(self.A.sizes @ self.A.sizes + self.at_zero):
                raise ValueError(TOO_LARGE)


def times(X: Rows, w: Array) -> Array:
    """Return X w in float64, without a float64 copy of all of X."""
    if sparse.issparse(X) or X.dtype == np.float64:
        return X @ w
    return np.concatenate([_float64(X[rows]) @ w for rows in row_slices(X.shape[0])])


def weighted_mean(X: Array, p: Array) -> Array:
    """Return sum_i p_i x_i, to the rounding of float64."""
    if X.dtype == np.float64:
        return p @ X
    return np.sum([p[rows] @ _float64(X[rows]) for rows in row_slices(X.shape[0])], axis=0)


def centre(y: Array, p: Array) -> tuple[Array, float]:
    """Return y minus its weighted mean, and the mean."""
    design = Design(y[:, None], p, True)
    return design._block()[:, 0], float(design.means[0])


def row_slices(n: int, size: int = AT_ONCE) -> Iterator[slice]:
    return (slice(a, min(a + size, n)) for a in range(0, n, size))


def _float64(block: Array) -> Array:
    return block.astype(np.float64, copy=False)


def quadratic_forms(X: Rows, means: Array, matrix: Array) -> Array:
    """Return (x - means)^T M (x - means) of each row x, M positive semidefinite: below zero it is 0."""
    found = np.empty(X.shape[0])
    for rows in row_slices(X.shape[0]):
        block = X[rows]
        block = (block if isinstance(block, np.ndarray) else block.toarray()) - means
        found[rows] = np.maximum(np.einsum("ij,ij->i", block @ matrix, block), 0.0)
    return found
