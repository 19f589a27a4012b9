"""The best of the other cells in the row and column of a cell, for tables of one sentence pair."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel


@kernel
def best_two(table: Array) -> tuple[Array, Array]:
    """Return the best and the second best of each row and of each column."""
    m, n = table.shape
    rows, columns = np.zeros((m, 2)), np.zeros((n, 2))
    for i in range(m):
        for j in range(n):
            _enter(rows, i, table[i, j])
            _enter(columns, j, table[i, j])
    return rows, columns


@kernel
def _enter(best: Array, k: int, value: float) -> None:
    if value > best[k, 0]:
        best[k, 1], best[k, 0] = best[k, 0], value
    elif value > best[k, 1]:
        best[k, 1] = value


@kernel
def best_others(rivals: tuple[Array, Array], i: int, j: int, value: float) -> tuple[float, float]:
    """Return the best among the others in row i, and in column j."""
    rows, columns = rivals
    return (
        rows[i, 1] if value >= rows[i, 0] else rows[i, 0],
        columns[j, 1] if value >= columns[j, 0] else columns[j, 0],
    )


@kernel
def value_at(table: Array, i: int, j: int) -> float:
    inside = 0 <= i < table.shape[0] and 0 <= j < table.shape[1]
    return table[i, j] if inside else 0.0
