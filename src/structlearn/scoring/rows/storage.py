"""Rows of features, dense or sparse: the few operations by which compiled code reads both alike."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import implements, leaf, operation
from structlearn.core.products import times_matrix


class DenseRows(NamedTuple):
    """A row of features is a row of X."""

    X: Array


class SparseRows(NamedTuple):
    """The same in CSR form."""

    data: Array
    indices: Array
    indptr: Array


# ---- dense rows with many zeros ------------------------------------------------------------------------


@leaf
def count_nonzeros(X: Array, counts: Array) -> None:
    """counts[r] <- how many entries of row r are not zero."""
    for r in range(X.shape[0]):
        count = 0
        for j in range(X.shape[1]):
            count += 1 if X[r, j] != 0.0 else 0
        counts[r] = count


@leaf
def take_nonzeros(X: Array, starts: Array, columns: Array, values: Array) -> None:
    """Write those entries and their columns, row by row; starts : where each row begins."""
    for r in range(X.shape[0]):
        at = starts[r]
        for j in range(X.shape[1]):
            if X[r, j] != 0.0:
                columns[at], values[at] = j, X[r, j]
                at += 1


# ---- lengths -------------------------------------------------------------------------------------------


@leaf
def add_dense_squares(X: Array, squares: Array) -> None:
    """squares[r] <- squares[r] + <x_r, x_r>, in float64."""
    for r in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            total += np.float64(X[r, j]) * np.float64(X[r, j])
        squares[r] += total


@leaf
def add_sparse_squares(data: Array, indptr: Array, squares: Array) -> None:
    """Do the same for the rows of a CSR matrix."""
    for r in range(squares.size):
        x = data[indptr[r] : indptr[r + 1]]  # a slice, so that the loop vectorises
        total = 0.0
        for k in range(x.size):
            total += np.float64(x[k]) * np.float64(x[k])
        squares[r] += total


# ---- both alike ----------------------------------------------------------------------------------------


@operation
def extent(rows: DenseRows | SparseRows, row: int) -> Any:
    """Return where the entries of a row are, and how many."""


@operation
def entry(rows: DenseRows | SparseRows, at: int, k: int) -> Any:
    """Return the feature and the value of the k-th entry of the row that is at `at`."""


@operation
def row_scores(
    rows: DenseRows | SparseRows, row: int, w: Array, first: int, stride: int, theta: Array
) -> None:
    """theta[k] <- sum_j x_j w[first + j stride + k], for the row x."""


@implements(extent, DenseRows)
@leaf
def _dense_extent(rows: DenseRows, row: int) -> tuple[int, int]:
    return row, rows.X.shape[1]


@implements(extent, SparseRows)
@leaf
def _sparse_extent(rows: SparseRows, row: int) -> tuple[int, int]:
    at = rows.indptr[row]
    return at, rows.indptr[row + 1] - at


@implements(entry, DenseRows)
@leaf
def _dense_entry(rows: DenseRows, at: int, k: int) -> tuple[int, float]:
    return k, rows.X[at, k]


@implements(entry, SparseRows)
@leaf
def _sparse_entry(rows: SparseRows, at: int, k: int) -> tuple[int, float]:
    return rows.indices[at + k], rows.data[at + k]


@implements(row_scores, DenseRows)
@leaf
def _dense_scores(rows: DenseRows, row: int, w: Array, first: int, stride: int, theta: Array) -> None:
    if stride > 1:
        times_matrix(rows.X[row], None, w, first, stride, theta)
        return
    total = 0.0  # a single label: the long loop is the one over features
    for j in range(rows.X.shape[1]):
        total += rows.X[row, j] * w[first + j]
    theta[0] = total


@implements(row_scores, SparseRows)
@leaf
def _sparse_scores(rows: SparseRows, row: int, w: Array, first: int, stride: int, theta: Array) -> None:
    a, b = rows.indptr[row], rows.indptr[row + 1]
    times_matrix(rows.data[a:b], rows.indices[a:b], w, first, stride, theta)
