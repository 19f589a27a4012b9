"""Rows times labels: every row of features scores every label.

Serves multiclass and multi-label problems (a row an example) and chains (a row a position). The weights are
W of shape (d, K), feature by feature, with one more row for the intercept where there is one, then the
shared parts' own weights. Feature-major, because a sparse row touches few features and all labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from structlearn.contract import Array, move, score, scratch, squared_norm
from structlearn.kernels import answer, kernel
from structlearn.scoring.base import Scoring

#: Dense data with fewer non-zeros than this is faster, and no larger, as CSR.
SPARSE_ENOUGH = 0.3
#: Up to this length ||Phi^T delta||^2 comes from the stored Gram matrix of the rows.
LONGEST_GRAM = 256


class DenseRows(NamedTuple):
    """Compiled form: rows first[i]:first[i + 1] of X are example i."""

    X: Array
    first: Array
    n_labels: int
    n_shared: int
    intercept: bool
    gram: Array
    gram_first: Array


class SparseRows(NamedTuple):
    """The same in CSR form."""

    data: Array
    indices: Array
    indptr: Array
    n_features: int
    first: Array
    n_labels: int
    n_shared: int
    intercept: bool
    gram: Array
    gram_first: Array


class RowScoring(Scoring):
    """theta_i = (X_i W).ravel(), then the shared weights.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, d), float32 or float64
        All examples' rows, end to end.
    lengths : int array of shape (n_examples,)
    n_labels, n_shared : int
    intercept : bool
        Whether every row has one more feature, the constant 1.
    """

    def __init__(self, X: Any, lengths: Array, n_labels: int, *, n_shared: int = 0, intercept: bool = False):
        self.X = X
        self.n_labels = n_labels
        self.n_shared = n_shared
        self.intercept = intercept
        self.first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.start = self.first * n_labels
        self.shapes = np.stack([np.diff(self.first), np.full(len(lengths), n_labels)], axis=1)
        self.n_weights = (X.shape[1] + intercept) * n_labels + n_shared
        self._record: DenseRows | SparseRows | None = None

    @property
    def record(self) -> DenseRows | SparseRows:
        if self._record is None:
            self._record = self._build_record()
        return self._record

    def _build_record(self) -> DenseRows | SparseRows:
        lengths = np.diff(self.first)
        gram_first = np.concatenate([[0], np.cumsum(np.where(lengths <= LONGEST_GRAM, lengths**2, 0))])
        gram = np.empty(gram_first[-1])
        tail = (self.first, self.n_labels, self.n_shared, bool(self.intercept), gram, gram_first)
        X = self.X
        if not sparse.issparse(X) and np.count_nonzero(X) < SPARSE_ENOUGH * X.size:
            X = sparse.csr_matrix(X)
        if sparse.issparse(X):
            indices, indptr = X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64, copy=False)
            record: DenseRows | SparseRows = SparseRows(X.data, indices, indptr, X.shape[1], *tail)
            fill_sparse_gram(record)
        else:
            record = DenseRows(X, *tail)
            fill_dense_gram(record)
        return record

    def label_weights(self, w: Array) -> Array:
        """W of shape (d, K) or, with an intercept, (d + 1, K), as a view of `w`."""
        return w[: self.n_weights - self.n_shared].reshape(-1, self.n_labels)

    def scores(self, w: Array, first: int, last: int) -> Array:
        W = self.label_weights(w)
        d = self.X.shape[1]
        rows = self._rows(first, last)
        theta = rows @ W[:d]
        if self.intercept:
            theta += W[d]
        return theta.ravel()

    def pullback(self, delta: Array, first: int, last: int, out: Array) -> None:
        W = self.label_weights(out)
        d = self.X.shape[1]
        table = delta.reshape(-1, self.n_labels)
        W[:d] += self._rows(first, last).T @ table
        if self.intercept:
            W[d] += table.sum(axis=0)

    def _rows(self, first: int, last: int) -> Any:
        """Rows of a range of examples, in float64: float32 is for storage."""
        return self.X[self.first[first] : self.first[last]].astype(np.float64, copy=False)


# ---- dense -----------------------------------------------------------------------------------------


@kernel
def fill_dense_gram(scoring: Any) -> None:
    for i in range(scoring.first.size - 1):
        a = scoring.first[i]
        length = scoring.first[i + 1] - a
        gram = scoring.gram[scoring.gram_first[i] : scoring.gram_first[i + 1]]
        if gram.size == 0:
            continue
        for t in range(length):
            for u in range(t + 1):
                value = 1.0 if scoring.intercept else 0.0
                for j in range(scoring.X.shape[1]):
                    value += np.float64(scoring.X[a + t, j]) * np.float64(scoring.X[a + u, j])
                gram[t * length + u] = value
                gram[u * length + t] = value


@kernel
def _longest(scoring: Any) -> Any:
    longest = 1
    for i in range(scoring.first.size - 1):
        longest = max(longest, scoring.first[i + 1] - scoring.first[i])
    return longest


@answer(scratch, DenseRows)
@kernel
def dense_scratch(scoring: Any) -> Any:
    """Rows in float64, and a pulled-back direction of the size of W."""
    d = scoring.X.shape[1]
    return np.empty((_longest(scoring), d)), np.empty((d, scoring.n_labels))


@kernel
def _load(X: Any, first: Any, rows: Any) -> None:
    for t in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            rows[t, j] = X[first + t, j]


@answer(score, DenseRows)
@kernel
def dense_score(scoring: Any, i: Any, w: Any, work: Any, theta: Any) -> None:
    a = scoring.first[i]
    length = scoring.first[i + 1] - a
    d = scoring.X.shape[1]
    n = scoring.n_labels
    rows = work[0][:length]
    _load(scoring.X, a, rows)
    W = w[: d * n].reshape(d, n)
    if length == 1:  # cheaper than a call to BLAS
        for k in range(n):
            theta[k] = 0.0
        for j in range(d):
            x = rows[0, j]
            for k in range(n):
                theta[k] += x * W[j, k]
    else:
        np.dot(rows, W, theta.reshape(length, n))
    if scoring.intercept:
        _add_to_rows(w[d * n : (d + 1) * n], theta)


@kernel
def _add_to_rows(one: Any, theta: Any) -> None:
    n = one.size
    for t in range(theta.size // n):
        for k in range(n):
            theta[t * n + k] += one[k]


@kernel
def _squared(x: Any) -> Any:
    total = 0.0
    for j in range(x.size):
        total += x[j] * x[j]
    return total


@kernel
def _norm_by_gram(scoring: Any, i: Any, length: Any, delta: Any) -> Any:
    """sum_{t, u} <x_t, x_u> <delta_t, delta_u>, plus the shared parts, whose features are unit vectors."""
    n = scoring.n_labels
    gram = scoring.gram[scoring.gram_first[i] : scoring.gram_first[i + 1]]
    total = _squared(delta[length * n :])
    for t in range(length):
        own = delta[t * n : (t + 1) * n]
        for u in range(t + 1):
            other = delta[u * n : (u + 1) * n]
            inner = 0.0
            for k in range(n):
                inner += own[k] * other[k]
            total += (1.0 if t == u else 2.0) * gram[t * length + u] * inner
    return total


@kernel
def _dense_pull(scoring: Any, i: Any, delta: Any, work: Any) -> Any:
    """X_i^T delta_i of shape (d, K), in scratch memory."""
    n = scoring.n_labels
    length = scoring.first[i + 1] - scoring.first[i]
    rows = work[0][:length]
    _load(scoring.X, scoring.first[i], rows)
    np.dot(rows.T, delta[: length * n].reshape(length, n), work[1])
    return work[1]


@kernel
def _column_sum(delta: Any, length: Any, n: Any, scale: Any, out: Any) -> None:
    for t in range(length):
        for k in range(n):
            out[k] += scale * delta[t * n + k]


@answer(squared_norm, DenseRows)
@kernel
def dense_squared_norm(scoring: Any, i: Any, delta: Any, work: Any) -> Any:
    length = scoring.first[i + 1] - scoring.first[i]
    if length <= LONGEST_GRAM:
        return _norm_by_gram(scoring, i, length, delta)
    n = scoring.n_labels
    total = _squared(_dense_pull(scoring, i, delta, work).ravel()) + _squared(delta[length * n :])
    if scoring.intercept:
        constant = np.zeros(n)
        _column_sum(delta, length, n, 1.0, constant)
        total += _squared(constant)
    return total


@kernel
def _move_shared(delta: Any, n_local: Any, scale: Any, w: Any) -> None:
    shared = delta[n_local:]
    own = w[w.size - shared.size :]
    for j in range(shared.size):
        own[j] += scale * shared[j]


@answer(move, DenseRows)
@kernel
def dense_move(scoring: Any, i: Any, delta: Any, scale: Any, w: Any, work: Any) -> None:
    d = scoring.X.shape[1]
    n = scoring.n_labels
    length = scoring.first[i + 1] - scoring.first[i]
    if length == 1:
        a = scoring.first[i]
        for j in range(d):
            x = scale * scoring.X[a, j]
            own = w[j * n : (j + 1) * n]
            for k in range(n):
                own[k] += x * delta[k]
    else:
        pulled = _dense_pull(scoring, i, delta, work).ravel()
        for j in range(d * n):
            w[j] += scale * pulled[j]
    if scoring.intercept:
        _column_sum(delta, length, n, scale, w[d * n : (d + 1) * n])
    _move_shared(delta, length * n, scale, w)


# ---- sparse ----------------------------------------------------------------------------------------


@kernel
def fill_sparse_gram(scoring: Any) -> None:
    """Inner products of sparse rows by merging their sorted indices."""
    for i in range(scoring.first.size - 1):
        a = scoring.first[i]
        length = scoring.first[i + 1] - a
        gram = scoring.gram[scoring.gram_first[i] : scoring.gram_first[i + 1]]
        if gram.size == 0:
            continue
        for t in range(length):
            for u in range(t + 1):
                value = _sparse_inner(scoring, a + t, a + u) + (1.0 if scoring.intercept else 0.0)
                gram[t * length + u] = value
                gram[u * length + t] = value


@kernel
def _sparse_inner(scoring: Any, row: Any, other: Any) -> Any:
    p, p_end = scoring.indptr[row], scoring.indptr[row + 1]
    q, q_end = scoring.indptr[other], scoring.indptr[other + 1]
    total = 0.0
    while p < p_end and q < q_end:
        if scoring.indices[p] == scoring.indices[q]:
            total += np.float64(scoring.data[p]) * np.float64(scoring.data[q])
            p += 1
            q += 1
        elif scoring.indices[p] < scoring.indices[q]:
            p += 1
        else:
            q += 1
    return total


@answer(scratch, SparseRows)
@kernel
def sparse_scratch(scoring: Any) -> Any:
    """A pulled-back direction, zero between uses; only where some example is too long for a Gram matrix."""
    size = (scoring.n_features + 1) * scoring.n_labels + scoring.n_shared
    return np.zeros(size if _longest(scoring) > LONGEST_GRAM else 0)


@answer(score, SparseRows)
@kernel
def sparse_score(scoring: Any, i: Any, w: Any, work: Any, theta: Any) -> None:
    n = scoring.n_labels
    a = scoring.first[i]
    for t in range(scoring.first[i + 1] - a):
        own = theta[t * n : (t + 1) * n]
        for k in range(n):
            own[k] = 0.0
        for p in range(scoring.indptr[a + t], scoring.indptr[a + t + 1]):
            x = scoring.data[p]
            column = w[scoring.indices[p] * n : (scoring.indices[p] + 1) * n]
            for k in range(n):
                own[k] += x * column[k]
    if scoring.intercept:
        _add_to_rows(w[scoring.n_features * n : (scoring.n_features + 1) * n], theta)


@answer(squared_norm, SparseRows)
@kernel
def sparse_squared_norm(scoring: Any, i: Any, delta: Any, work: Any) -> Any:
    length = scoring.first[i + 1] - scoring.first[i]
    if length <= LONGEST_GRAM:
        return _norm_by_gram(scoring, i, length, delta)
    n = scoring.n_labels
    sparse_move(scoring, i, delta, 1.0, work, work)
    a, b = scoring.first[i], scoring.first[i + 1]
    total = _squared_and_clear(work[scoring.n_features * n :])
    for p in range(scoring.indptr[a], scoring.indptr[b]):
        j = scoring.indices[p]
        total += _squared_and_clear(work[j * n : (j + 1) * n])  # a feature seen before adds zero
    return total


@kernel
def _squared_and_clear(x: Any) -> Any:
    total = _squared(x)
    for j in range(x.size):
        x[j] = 0.0
    return total


@answer(move, SparseRows)
@kernel
def sparse_move(scoring: Any, i: Any, delta: Any, scale: Any, w: Any, work: Any) -> None:
    n = scoring.n_labels
    a = scoring.first[i]
    length = scoring.first[i + 1] - a
    for t in range(length):
        own = delta[t * n : (t + 1) * n]
        for p in range(scoring.indptr[a + t], scoring.indptr[a + t + 1]):
            x = scale * scoring.data[p]
            column = w[scoring.indices[p] * n : (scoring.indices[p] + 1) * n]
            for k in range(n):
                column[k] += x * own[k]
    if scoring.intercept:
        _column_sum(delta, length, n, scale, w[scoring.n_features * n : (scoring.n_features + 1) * n])
    _move_shared(delta, length * n, scale, w)
