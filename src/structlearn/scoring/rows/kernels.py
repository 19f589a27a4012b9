"""Compiled answers of rows times labels, dense and sparse."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array, add_pullback, prefetch, score, scoring_workspace, squared_norm
from structlearn.core.kernels import implements, jitable, kernel, leaf
from structlearn.core.prefetching import CACHE_LINE, prefetch_line
from structlearn.core.vectors import longest_range

#: Up to this length ||Phi^T delta||^2 comes from the stored Gram matrix of the rows.
LONGEST_GRAM = 256
#: A row of delta with at most n_labels / FEW_LABELS non-zeros is moved label by label.
FEW_LABELS = 3


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


# ---- dense -----------------------------------------------------------------------------------------


@jitable
def _row_workspace(scoring: Any, n_features: Any) -> Any:
    """A pulled-back direction, zero between uses (only if some example has no Gram matrix), and labels."""
    n = scoring.n_labels
    size = (n_features + int(scoring.intercept)) * n + scoring.n_shared
    too_long = longest_range(scoring.first) > LONGEST_GRAM
    return np.zeros(size if too_long else 0), np.empty(n + 1, dtype=np.int64)


@implements(scoring_workspace, DenseRows)
@jitable
def dense_workspace(scoring: Any) -> Any:
    return _row_workspace(scoring, scoring.X.shape[1])


@implements(score, DenseRows)
@leaf
def dense_score(scoring: Any, i: Any, w: Any, work: Any, theta: Any) -> None:
    X = scoring.X
    a = scoring.first[i]
    length = scoring.first[i + 1] - a
    d = X.shape[1]
    n = scoring.n_labels
    if n == 1:  # a single label: the long loop is the one over features
        for t in range(length):
            theta[t] = _dense_dot(X, a + t, w)
    else:
        W = w[: d * n].reshape(d, n)
        for t in range(length):
            dense_row(X, a + t, W, theta[t * n : (t + 1) * n])
    if scoring.intercept:
        _add_constant(w[d * n : (d + 1) * n], length, theta)


@leaf
def dense_row(X: Any, row: Any, W: Any, theta: Any) -> None:
    """theta <- X[row] W, without the constant.

    Four features at once: one load and one store of theta for all. Faster than BLAS on so few rows.
    """
    d = W.shape[0]
    by_four = d // 4 * 4
    for k in range(theta.size):
        theta[k] = 0.0
    for j in range(0, by_four, 4):
        x, x1, x2, x3 = X[row, j], X[row, j + 1], X[row, j + 2], X[row, j + 3]
        for k in range(theta.size):
            theta[k] += x * W[j, k] + x1 * W[j + 1, k] + x2 * W[j + 2, k] + x3 * W[j + 3, k]
    for j in range(by_four, d):
        x = X[row, j]
        for k in range(theta.size):
            theta[k] += x * W[j, k]


@implements(prefetch, DenseRows)
@leaf
def dense_prefetch(scoring: Any, i: Any) -> None:
    """All of an example of one row; the rest of a longer one follows in sequence, which needs no asking."""
    row = scoring.X[scoring.first[i]]
    for j in range(0, row.size, CACHE_LINE // row.itemsize):
        prefetch_line(row, j)


@leaf
def _dense_dot(X: Any, row: Any, w: Any) -> Any:
    total = 0.0
    for j in range(X.shape[1]):
        total += X[row, j] * w[j]
    return total


@leaf
def _add_constant(constant: Any, length: Any, theta: Any) -> None:
    """The intercept's weights, on every row."""
    n = constant.size
    for t in range(length):
        row = theta[t * n : (t + 1) * n]
        for k in range(n):
            row[k] += constant[k]


@leaf
def _squared(x: Any) -> Any:
    total = 0.0
    for j in range(x.size):
        total += x[j] * x[j]
    return total


@leaf
def _norm_by_gram(scoring: Any, i: Any, length: Any, delta: Any) -> Any:
    """sum_{t, u} <x_t, x_u> <delta_t, delta_u>, plus the shared parts, whose features are unit vectors."""
    n = scoring.n_labels
    table = delta[: length * n].reshape(length, n)
    first = scoring.gram_first[i]
    total = _squared(delta[length * n :])
    for t in range(length):
        for u in range(t + 1):
            inner = 0.0
            for k in range(n):
                inner += table[t, k] * table[u, k]
            total += (1.0 if t == u else 2.0) * scoring.gram[first + t * length + u] * inner
    return total


@leaf
def _column_sum(delta: Any, length: Any, n: Any, scale: Any, out: Any) -> None:
    for t in range(length):
        for k in range(n):
            out[k] += scale * delta[t * n + k]


@leaf
def squared_and_clear(x: Any) -> Any:
    total = _squared(x)
    for j in range(x.size):
        x[j] = 0.0
    return total


@implements(squared_norm, DenseRows)
@leaf
def dense_squared_norm(scoring: Any, i: Any, delta: Any, work: Any) -> Any:
    length = scoring.first[i + 1] - scoring.first[i]
    if length <= LONGEST_GRAM:
        return _norm_by_gram(scoring, i, length, delta)
    dense_add_pullback(scoring, i, delta, 1.0, work[0], work)
    return squared_and_clear(work[0])


@leaf
def _add_shared(delta: Any, n_local: Any, scale: Any, w: Any) -> None:
    shared = delta[n_local:]
    own = w[w.size - shared.size :]
    for j in range(shared.size):
        own[j] += scale * shared[j]


@leaf
def _nonzero_labels(row: Any, labels: Any) -> Any:
    """Labels where a row of delta is not zero; returns how many."""
    count = 0
    for k in range(row.size):
        labels[count] = k
        count += 1 if row[k] != 0.0 else 0
    return count


@implements(add_pullback, DenseRows)
@leaf
def dense_add_pullback(scoring: Any, i: Any, delta: Any, scale: Any, w: Any, work: Any) -> None:
    """Row by row: z_i mixes few vertices, so that most of a row of delta is zero."""
    d = scoring.X.shape[1]
    n = scoring.n_labels
    a = scoring.first[i]
    length = scoring.first[i + 1] - a
    labels = work[1]
    if n == 1:
        for t in range(length):
            change = scale * delta[t]
            for j in range(d):
                w[j] += change * scoring.X[a + t, j]
    else:
        W = w[: d * n].reshape(d, n)
        for t in range(length):
            row = delta[t * n : (t + 1) * n]
            count = _nonzero_labels(row, labels)
            if count * FEW_LABELS <= n:
                for q in range(count):
                    k = labels[q]
                    change = scale * row[k]
                    for j in range(d):
                        W[j, k] += change * scoring.X[a + t, j]
            else:
                for j in range(d):
                    x = scale * scoring.X[a + t, j]
                    for k in range(n):
                        W[j, k] += x * row[k]
    if scoring.intercept:
        _column_sum(delta, length, n, scale, w[d * n : (d + 1) * n])
    _add_shared(delta, length * n, scale, w)


# ---- sparse ----------------------------------------------------------------------------------------


@implements(scoring_workspace, SparseRows)
@jitable
def sparse_workspace(scoring: Any) -> Any:
    return _row_workspace(scoring, scoring.n_features)


@implements(score, SparseRows)
@leaf
def sparse_score(scoring: Any, i: Any, w: Any, work: Any, theta: Any) -> None:
    n, d = scoring.n_labels, scoring.n_features
    a = scoring.first[i]
    length = scoring.first[i + 1] - a
    if n == 1:
        for t in range(length):
            theta[t] = _sparse_dot(scoring, a + t, w)
    else:
        W = w[: d * n].reshape(d, n)
        for t in range(length):
            sparse_row(scoring, a + t, W, theta[t * n : (t + 1) * n])
    if scoring.intercept:
        _add_constant(w[d * n : (d + 1) * n], length, theta)


@leaf
def _sparse_dot(scoring: Any, row: Any, w: Any) -> Any:
    total = 0.0
    for p in range(scoring.indptr[row], scoring.indptr[row + 1]):
        total += scoring.data[p] * w[scoring.indices[p]]
    return total


@leaf
def sparse_row(scoring: Any, row: Any, W: Any, theta: Any) -> None:
    """theta <- X[row] W, without the constant; four features at once, as `dense_row`."""
    p, end = scoring.indptr[row], scoring.indptr[row + 1]
    for k in range(theta.size):
        theta[k] = 0.0
    while p + 4 <= end:
        x, x1, x2, x3 = scoring.data[p], scoring.data[p + 1], scoring.data[p + 2], scoring.data[p + 3]
        j, j1 = scoring.indices[p], scoring.indices[p + 1]
        j2, j3 = scoring.indices[p + 2], scoring.indices[p + 3]
        for k in range(theta.size):
            theta[k] += x * W[j, k] + x1 * W[j1, k] + x2 * W[j2, k] + x3 * W[j3, k]
        p += 4
    while p < end:
        x, j = scoring.data[p], scoring.indices[p]
        for k in range(theta.size):
            theta[k] += x * W[j, k]
        p += 1


@implements(prefetch, SparseRows)
@leaf
def sparse_prefetch(scoring: Any, i: Any) -> None:
    a = scoring.first[i]
    for p in range(scoring.indptr[a], scoring.indptr[a + 1], CACHE_LINE // scoring.data.itemsize):
        prefetch_line(scoring.data, p)
        prefetch_line(scoring.indices, p)


@implements(squared_norm, SparseRows)
@leaf
def sparse_squared_norm(scoring: Any, i: Any, delta: Any, work: Any) -> Any:
    length = scoring.first[i + 1] - scoring.first[i]
    if length <= LONGEST_GRAM:
        return _norm_by_gram(scoring, i, length, delta)
    sparse_add_pullback(scoring, i, delta, 1.0, work[0], work)
    return sparse_squared_and_clear(scoring, i, work[0])


@kernel
def sparse_squared_and_clear(scoring: Any, i: Any, pulled: Any) -> Any:
    """The squared norm of Phi_i^T delta, which is then zero again; only what example i touches."""
    n = scoring.n_labels
    a, b = scoring.first[i], scoring.first[i + 1]
    total = squared_and_clear(pulled[scoring.n_features * n :])
    for p in range(scoring.indptr[a], scoring.indptr[b]):
        j = scoring.indices[p]
        total += squared_and_clear(pulled[j * n : (j + 1) * n])  # a feature seen before adds zero
    return total


@implements(add_pullback, SparseRows)
@leaf
def sparse_add_pullback(scoring: Any, i: Any, delta: Any, scale: Any, w: Any, work: Any) -> None:
    n, d = scoring.n_labels, scoring.n_features
    a = scoring.first[i]
    length = scoring.first[i + 1] - a
    labels = work[1]
    if n == 1:
        for t in range(length):
            change = scale * delta[t]
            for p in range(scoring.indptr[a + t], scoring.indptr[a + t + 1]):
                w[scoring.indices[p]] += change * scoring.data[p]
    else:
        W = w[: d * n].reshape(d, n)
        for t in range(length):
            row = delta[t * n : (t + 1) * n]
            count = _nonzero_labels(row, labels)
            if count * FEW_LABELS <= n:
                for q in range(count):
                    k = labels[q]
                    change = scale * row[k]
                    for p in range(scoring.indptr[a + t], scoring.indptr[a + t + 1]):
                        W[scoring.indices[p], k] += change * scoring.data[p]
            else:
                for p in range(scoring.indptr[a + t], scoring.indptr[a + t + 1]):
                    x, j = scale * scoring.data[p], scoring.indices[p]
                    for k in range(n):
                        W[j, k] += x * row[k]
    if scoring.intercept:
        _column_sum(delta, length, n, scale, w[d * n : (d + 1) * n])
    _add_shared(delta, length * n, scale, w)
