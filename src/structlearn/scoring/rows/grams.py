"""The Gram matrices of the rows of each example: <x_t, x_u> for all pairs of its rows, the constant included.

Sparse rows are taken entry by entry: an entry is multiplied with the entries of earlier rows that have the
same feature, which a list per feature leads to. So the time is that of the pairs of entries that meet.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import implements, kernel, leaf, operation
from structlearn.scoring.rows.kernels import RowsWithGram
from structlearn.scoring.rows.storage import DenseRows, SparseRows


class EntryLists(NamedTuple):
    """Lists of the entries of one example by feature; entries count from the first of the example.

    last : the last entry of each feature, -1 for none
    before : the entry before each entry in its feature's list, -1 for none
    owner : the row of each entry, from 0
    """

    last: Array
    before: Array
    owner: Array


@operation
def entry_lists(rows: DenseRows | SparseRows, n_features: int, first: Array) -> Any:
    """Allocate empty lists for examples whose rows are first[i]:first[i + 1]."""


@operation
def add_products(rows: DenseRows | SparseRows, a: int, length: int, lists: EntryLists, gram: Array) -> None:
    """gram[t, u] += <x_{a + t}, x_{a + u}> for u <= t < length, where gram is (length, length), flat."""


@implements(entry_lists, DenseRows)
@kernel
def _no_lists(rows: DenseRows, n_features: int, first: Array) -> EntryLists:
    nothing = np.empty(0, dtype=np.int32)
    return EntryLists(nothing, nothing, nothing)


@implements(entry_lists, SparseRows)
@kernel
def _empty_lists(rows: SparseRows, n_features: int, first: Array) -> EntryLists:
    most = 0
    for i in range(first.size - 1):
        most = max(most, rows.indptr[first[i + 1]] - rows.indptr[first[i]])
    last = np.full(n_features, -1, dtype=np.int32)
    return EntryLists(last, np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32))


@implements(add_products, DenseRows)
@leaf
def _add_dense_products(rows: DenseRows, a: int, length: int, lists: EntryLists, gram: Array) -> None:
    for t in range(length):
        for u in range(t + 1):
            total = 0.0
            for j in range(rows.X.shape[1]):
                total += np.float64(rows.X[a + t, j]) * np.float64(rows.X[a + u, j])
            gram[t * length + u] += total


@implements(add_products, SparseRows)
@leaf
def _add_sparse_products(rows: SparseRows, a: int, length: int, lists: EntryLists, gram: Array) -> None:
    begin, end = rows.indptr[a], rows.indptr[a + length]
    for t in range(length):
        for p in range(rows.indptr[a + t], rows.indptr[a + t + 1]):
            j, own = rows.indices[p], np.float64(rows.data[p])
            q = lists.last[j]
            lists.before[p - begin], lists.owner[p - begin], lists.last[j] = q, t, p - begin
            gram[t * length + t] += own * own
            while q >= 0:
                gram[t * length + lists.owner[q]] += own * np.float64(rows.data[begin + q])
                q = lists.before[q]
    for p in range(begin, end):
        lists.last[rows.indices[p]] = -1


@kernel
def fill_gram(scoring: RowsWithGram, n_features: int) -> None:
    """Compute the Gram matrix of the rows of each example that is not too long, the constant included."""
    constant = 1.0 if scoring.intercept else 0.0
    lists = entry_lists(scoring.rows, n_features, scoring.first)
    for i in range(scoring.first.size - 1):
        a, at = scoring.first[i], scoring.gram_first[i]
        length = scoring.first[i + 1] - a
        gram = scoring.gram[at : scoring.gram_first[i + 1]]
        if gram.size == 0:
            continue
        gram[:] = 0.0
        add_products(scoring.rows, a, length, lists, gram)
        for t in range(length):
            for u in range(t + 1):
                value = gram[t * length + u] + constant
                gram[t * length + u] = value
                gram[u * length + t] = value
