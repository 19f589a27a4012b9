"""The columns of a matrix of features, dense or sparse, as the kernels of least squares use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from numba import types
from numba.extending import overload

from structlearn.core.contract import Array


class DenseColumns(NamedTuple):
    """The columns of a Fortran-ordered matrix."""

    values: Array


class SparseColumns(NamedTuple):
    """The columns of a CSC matrix, minus means_j q where they are centred (q is a unit vector).

    A residual has one entry more than there are rows: r = r[:-1] + r[-1] q. As y and the centred columns are
    orthogonal to q, so is r, and no operation below touches a row that has no entry in the column.
    """

    values: Array
    rows: Array
    start: Array
    means: Array


Columns = DenseColumns | SparseColumns


def along(columns: Columns, j: int, r: Array) -> float:
    """Return <x_j, r>."""
    raise NotImplementedError("Call it in a kernel: it is compiled for each kind of columns.")


def retreat(columns: Columns, j: int, amount: float, r: Array) -> None:
    """r <- r - amount x_j."""


def _along_dense(columns: DenseColumns, j: int, r: Array) -> float:
    x = columns.values[:, j]
    total = 0.0
    for i in range(x.size):
        total += x[i] * r[i]
    return total


def _retreat_dense(columns: DenseColumns, j: int, amount: float, r: Array) -> None:
    x = columns.values[:, j]
    for i in range(x.size):
        r[i] -= amount * x[i]


def _along_sparse(columns: SparseColumns, j: int, r: Array) -> float:
    first, last = columns.start[j], columns.start[j + 1]
    values, rows = columns.values[first:last], columns.rows[first:last]
    total = r[-1] * columns.means[j]
    for k in range(values.size):
        total += values[k] * r[rows[k]]
    return total


def _retreat_sparse(columns: SparseColumns, j: int, amount: float, r: Array) -> None:
    first, last = columns.start[j], columns.start[j + 1]
    values, rows = columns.values[first:last], columns.rows[first:last]
    for k in range(values.size):
        r[rows[k]] -= amount * values[k]
    r[-1] += amount * columns.means[j]


# Not `operation`: a call for each short column, with its counting of references, took three times as long.
# Numba warns where one function inlines the same one twice: ask once a kernel.


@overload(along, inline="always", strict=False)
def _choose_along(columns: types.NamedTuple, j: types.Type, r: types.Type) -> Callable[..., float]:
    return _along_sparse if columns.instance_class is SparseColumns else _along_dense


@overload(retreat, inline="always", strict=False)
def _choose_retreat(
    columns: types.NamedTuple, j: types.Type, amount: types.Type, r: types.Type
) -> Callable[..., None]:
    return _retreat_sparse if columns.instance_class is SparseColumns else _retreat_dense
