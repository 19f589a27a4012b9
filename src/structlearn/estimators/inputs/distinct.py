"""Distinct examples in an order that does not depend on the order in which they came.

Rows are compared by 64-bit hashes: the sum over a row's entries of a mixing of column and value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from structlearn.core.bits import mix_bits
from structlearn.core.contract import Array
from structlearn.core.kernels import leaf
from structlearn.estimators.scikit import Rows

ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class DistinctExamples:
    """Rows, their labels and weights, whose distinct examples are looked for when they are asked for."""

    rows: Rows
    codes: Array
    weight: Array | None

    @cached_property
    def found(self) -> tuple[Array, Array]:
        """What `canonical_examples` returns."""
        return canonical_examples(self.rows, self.codes, self.weight)


def canonical_examples(X: Rows, codes: Array, weight: Array | None) -> tuple[Array, Array]:
    """Return distinct examples in an order independent of how they came, and all examples' weights.

    Equal rows with equal outputs become one example of their summed weight: a weight of 2 then is the same
    problem as a repeated row, up to rounding, and so is any order of the rows.

    Returns
    -------
    active : first occurrences, sorted by a hash of their contents
    weight : their summed weights; the others' are not to be used
    """
    hashes = row_hashes(X)
    if codes.ndim == 1:
        add_code_hashes(codes, hashes)
    else:
        hashes ^= row_hashes(codes)
    weight = np.ones(hashes.size) if weight is None else weight
    order = np.argsort(hashes, kind="stable")
    order = order[weight[order] > 0]
    new = np.r_[True, np.diff(hashes[order]) != 0]
    for at in np.flatnonzero(~new):  # equal hashes: merge only what is equal
        new[at] = not (
            _same(X, order[at - 1], order[at]) and np.array_equal(codes[order[at - 1]], codes[order[at]])
        )
    group = np.cumsum(new) - 1
    active = order[new]
    summed = weight.copy()
    summed[active] = np.bincount(group, weights=weight[order])
    return active, summed


def row_hashes(X: Rows) -> Array:
    """Return a 64-bit hash of each row; zeros of dense rows do not count."""
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    if isinstance(X, np.ndarray):
        for a in range(0, X.shape[0], ROWS_AT_ONCE):  # float32 becomes float64
            some = slice(a, a + ROWS_AT_ONCE)
            hash_dense_rows(_bits(X[some]), hashes[some])
    else:
        hash_sparse_rows(_bits(X.data), X.indices, X.indptr, hashes)
    return hashes


def _bits(values: Array) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)


@leaf
def hash_dense_rows(bits: Array, hashes: Array) -> None:
    """Hash rows of shape (n, d), given as the bits of float64 numbers."""
    for i in range(bits.shape[0]):
        total = np.uint64(0)
        for j in range(bits.shape[1]):
            if bits[i, j] << np.uint64(1):  # neither 0.0 nor -0.0
                total += mix_bits(bits[i, j] + mix_bits(np.uint64(j + 1)))
        hashes[i] = total


@leaf
def hash_sparse_rows(bits: Array, indices: Array, indptr: Array, hashes: Array) -> None:
    """Hash the rows of a CSR array, its values given as bits."""
    for i in range(hashes.size):
        total = np.uint64(0)
        for at in range(indptr[i], indptr[i + 1]):
            total += mix_bits(bits[at] + mix_bits(np.uint64(indices[at] + 1)))
        hashes[i] = total


@leaf
def add_code_hashes(codes: Array, hashes: Array) -> None:
    """Make each example's code, a whole number, part of its hash."""
    for i in range(hashes.size):
        hashes[i] ^= mix_bits(np.uint64(codes[i]))


def _same(X: Rows, i: int, j: int) -> bool:
    if isinstance(X, np.ndarray):
        return np.array_equal(X[i], X[j])
    return (X[[i]] != X[[j]]).nnz == 0  # SciPy 1.13 has no rows of sparse arrays
