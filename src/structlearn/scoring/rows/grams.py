"""Gram matrices of the rows of an example."""

from __future__ import annotations

from typing import Any

import numpy as np

from structlearn.core.kernels import implements, kernel, leaf, operation
from structlearn.scoring.rows.kernels import DenseRows, SparseRows


@operation
def row_product(scoring: Any, row: int, other: int) -> Any:
    """Inner product of two rows of features, without the constant."""


@implements(row_product, DenseRows)
@leaf
def _dense_inner(scoring: Any, row: Any, other: Any) -> Any:
    total = 0.0
    for j in range(scoring.X.shape[1]):
        total += np.float64(scoring.X[row, j]) * np.float64(scoring.X[other, j])
    return total


@implements(row_product, SparseRows)
@leaf
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
