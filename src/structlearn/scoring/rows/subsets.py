"""Compiled answers of rows times labels about a few parts: their scores, and products of their vertices."""

from __future__ import annotations

from typing import Any

from structlearn.core.contract import gram, score_subset
from structlearn.core.kernels import implements, kernel
from structlearn.scoring.rows.kernels import (
    FEW_LABELS,
    LONGEST_GRAM,
    DenseRows,
    SparseRows,
    dense_add_pullback,
    dense_row,
    sparse_add_pullback,
    sparse_row,
    sparse_squared_and_clear,
    squared_and_clear,
)


@kernel
def _few(wanted: Any, first: Any, n: Any) -> Any:
    """Whether so few of n labels are wanted that they are scored one by one."""
    count = 0
    for k in range(first, first + n):
        count += 1 if wanted[k] else 0
    return count * FEW_LABELS <= n or n == 1


@kernel
def _add_constants(w: Any, d: Any, n: Any, wanted: Any, theta: Any) -> None:
    for j in range(theta.size):
        if wanted[j]:
            theta[j] += w[d * n + j % n]


@implements(score_subset, DenseRows)
@kernel
def dense_score_subset(scoring: Any, i: Any, w: Any, wanted: Any, work: Any, theta: Any) -> None:
    """Row by row: label by label where few are wanted, all at once where they are many."""
    X, n = scoring.X, scoring.n_labels
    d = X.shape[1]
    a = scoring.first[i]
    length = scoring.first[i + 1] - a
    W = w[: d * n].reshape(d, n)
    for t in range(length):
        if not _few(wanted, t * n, n):
            dense_row(X, a + t, W, theta[t * n : (t + 1) * n])
            continue
        row = X[a + t]
        for k in range(n):
            if wanted[t * n + k]:
                total = 0.0
                for j in range(d):
                    total += row[j] * W[j, k]
                theta[t * n + k] = total
    if scoring.intercept:
        _add_constants(w, d, n, wanted, theta)


@implements(score_subset, SparseRows)
@kernel
def sparse_score_subset(scoring: Any, i: Any, w: Any, wanted: Any, work: Any, theta: Any) -> None:
    d, n = scoring.n_features, scoring.n_labels
    a = scoring.first[i]
    length = scoring.first[i + 1] - a
    W = w[: d * n].reshape(d, n)
    for t in range(length):
        if not _few(wanted, t * n, n):
            sparse_row(scoring, a + t, W, theta[t * n : (t + 1) * n])
            continue
        p, q = scoring.indptr[a + t], scoring.indptr[a + t + 1]
        data, features = scoring.data[p:q], scoring.indices[p:q]
        for k in range(n):
            if wanted[t * n + k]:
                total = 0.0
                for j in range(data.size):
                    total += data[j] * W[features[j], k]
                theta[t * n + k] = total
    if scoring.intercept:
        _add_constants(w, d, n, wanted, theta)


@kernel
def _gram_of_rows(scoring: Any, i: Any, length: Any, delta: Any, out: Any) -> None:
    """out[t, k] <- sum_u <x_t, x_u> delta[u, k]; most of delta is zero."""
    n = scoring.n_labels
    first = scoring.gram_first[i]
    for j in range(length * n):
        out[j] = 0.0
    for u in range(length):
        for k in range(n):
            part = delta[u * n + k]
            if part != 0.0:
                for t in range(length):
                    out[t * n + k] += scoring.gram[first + u * length + t] * part


@kernel
def _copy_shared(delta: Any, n_local: Any, out: Any) -> None:
    """Features of shared parts are unit vectors."""
    for j in range(n_local, delta.size):
        out[j] = delta[j]


@implements(gram, DenseRows)
@kernel
def dense_gram(scoring: Any, i: Any, delta: Any, wanted: Any, work: Any, out: Any) -> None:
    length = scoring.first[i + 1] - scoring.first[i]
    n_local = length * scoring.n_labels
    if length <= LONGEST_GRAM:
        _gram_of_rows(scoring, i, length, delta, out)
    else:
        dense_add_pullback(scoring, i, delta, 1.0, work[0], work)
        dense_score_subset(scoring, i, work[0], wanted, work, out[:n_local])
        squared_and_clear(work[0])
    _copy_shared(delta, n_local, out)


@implements(gram, SparseRows)
@kernel
def sparse_gram(scoring: Any, i: Any, delta: Any, wanted: Any, work: Any, out: Any) -> None:
    length = scoring.first[i + 1] - scoring.first[i]
    n_local = length * scoring.n_labels
    if length <= LONGEST_GRAM:
        _gram_of_rows(scoring, i, length, delta, out)
    else:
        sparse_add_pullback(scoring, i, delta, 1.0, work[0], work)
        sparse_score_subset(scoring, i, work[0], wanted, work, out[:n_local])
        sparse_squared_and_clear(scoring, i, work[0])
    _copy_shared(delta, n_local, out)
