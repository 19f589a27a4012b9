"""Compiled answers of rows times labels about a few parts: their scores, and products of their corners."""

from __future__ import annotations

from typing import Any

import numpy as np

from structlearn.contract import gram, score_some
from structlearn.kernels import answer, kernel, question
from structlearn.scoring.row_kernels import (
    FEW_LABELS,
    LONGEST_GRAM,
    DenseRows,
    SparseRows,
    dense_move,
    dense_row,
    sparse_move,
    sparse_row,
    sparse_squared_and_clear,
    squared_and_clear,
)


@question
def whole_row(scoring: Any, row: int, w: Any, table: Any, t: int) -> None:
    """table[t] <- scores of all labels on a row of features, without the constant."""


@question
def label_score(scoring: Any, row: int, w: Any, k: int) -> Any:
    """The score of label k on a row of features, without the constant."""


@question
def n_features(scoring: Any) -> Any:
    """How many features a row has, without the constant."""


@answer(n_features, DenseRows)
@kernel
def dense_features(scoring: Any) -> Any:
    return scoring.X.shape[1]


@answer(n_features, SparseRows)
@kernel
def sparse_features(scoring: Any) -> Any:
    return scoring.n_features


@answer(whole_row, DenseRows)
@kernel
def dense_whole_row(scoring: Any, row: Any, w: Any, table: Any, t: Any) -> None:
    d, n = scoring.X.shape[1], scoring.n_labels
    dense_row(scoring.X, row, w[: d * n].reshape(d, n), table, t)


@answer(whole_row, SparseRows)
@kernel
def sparse_whole_row(scoring: Any, row: Any, w: Any, table: Any, t: Any) -> None:
    d, n = scoring.n_features, scoring.n_labels
    sparse_row(scoring, row, w[: d * n].reshape(d, n), table, t)


@answer(label_score, DenseRows)
@kernel
def dense_label_score(scoring: Any, row: Any, w: Any, k: Any) -> Any:
    total = 0.0
    for j in range(scoring.X.shape[1]):
        total += scoring.X[row, j] * w[j * scoring.n_labels + k]
    return total


@answer(label_score, SparseRows)
@kernel
def sparse_label_score(scoring: Any, row: Any, w: Any, k: Any) -> Any:
    total = 0.0
    for p in range(scoring.indptr[row], scoring.indptr[row + 1]):
        total += scoring.data[p] * w[scoring.indices[p] * scoring.n_labels + k]
    return total


@answer(score_some, SparseRows)
@answer(score_some, DenseRows)
@kernel
def score_some_rows(scoring: Any, i: Any, w: Any, wanted: Any, work: Any, theta: Any) -> None:
    """Row by row: label by label where few are wanted, all at once where they are many."""
    n = scoring.n_labels
    a = scoring.first[i]
    length = scoring.first[i + 1] - a
    table = theta.reshape(length, n)
    labels = work[1]
    d = n_features(scoring)
    for t in range(length):
        count = 0
        for k in range(n):
            labels[count] = k
            count += 1 if wanted[t * n + k] else 0
        if count * FEW_LABELS <= n or n == 1:
            for q in range(count):
                table[t, labels[q]] = label_score(scoring, a + t, w, labels[q])
        else:
            whole_row(scoring, a + t, w, table, t)
        if scoring.intercept:
            for q in range(count):
                table[t, labels[q]] += w[d * n + labels[q]]


@question
def row_product(scoring: Any, row: int, other: int) -> Any:
    """Inner product of two rows of features, without the constant."""


@answer(row_product, DenseRows)
@kernel
def _dense_inner(scoring: Any, row: Any, other: Any) -> Any:
    total = 0.0
    for j in range(scoring.X.shape[1]):
        total += np.float64(scoring.X[row, j]) * np.float64(scoring.X[other, j])
    return total


@answer(row_product, SparseRows)
@kernel
def _sparse_inner(scoring: Any, row: Any, other: Any) -> Any:
    """By merging the sorted indices."""
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


@kernel
def fill_gram(scoring: Any) -> None:
    """Gram matrices of the rows of each example that is not too long for one, the constant included."""
    constant = 1.0 if scoring.intercept else 0.0
    for i in range(scoring.first.size - 1):
        a = scoring.first[i]
        at = scoring.gram_first[i]
        if scoring.gram_first[i + 1] == at:
            continue
        length = scoring.first[i + 1] - a
        for t in range(length):
            for u in range(t + 1):
                value = row_product(scoring, a + t, a + u) + constant
                scoring.gram[at + t * length + u] = value
                scoring.gram[at + u * length + t] = value


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


@answer(gram, DenseRows)
@kernel
def dense_gram(scoring: Any, i: Any, delta: Any, wanted: Any, work: Any, out: Any) -> None:
    length = scoring.first[i + 1] - scoring.first[i]
    n_local = length * scoring.n_labels
    if length <= LONGEST_GRAM:
        _gram_of_rows(scoring, i, length, delta, out)
    else:
        dense_move(scoring, i, delta, 1.0, work[0], work)
        score_some_rows(scoring, i, work[0], wanted, work, out[:n_local])
        squared_and_clear(work[0])
    _copy_shared(delta, n_local, out)


@answer(gram, SparseRows)
@kernel
def sparse_gram(scoring: Any, i: Any, delta: Any, wanted: Any, work: Any, out: Any) -> None:
    length = scoring.first[i + 1] - scoring.first[i]
    n_local = length * scoring.n_labels
    if length <= LONGEST_GRAM:
        _gram_of_rows(scoring, i, length, delta, out)
    else:
        sparse_move(scoring, i, delta, 1.0, work[0], work)
        score_some_rows(scoring, i, work[0], wanted, work, out[:n_local])
        sparse_squared_and_clear(scoring, i, work[0])
    _copy_shared(delta, n_local, out)
