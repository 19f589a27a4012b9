"""Features of a row and of a column, concatenated: theta_ij = <w_1, u_i> + <w_2, v_j>.

The features of m * n parts are never written out. Rows and columns are items, such as words, whose vectors
are kept once, so that an example is a few numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array, add_pullback, score
from structlearn.core.kernels import implements, leaf
from structlearn.scoring.base import Scoring, contiguous, starts, starts_of
from structlearn.scoring.defaults import by_pullback
from structlearn.scoring.parts.parts import add_scaled, plus_dot


class Items(NamedTuple):
    """One side of all examples: example i has the rows index[start[i] : start[i + 1]] of `vectors`."""

    vectors: Array
    index: Array  # type: ignore[assignment]
    start: Array

    @property
    def lengths(self) -> Array:
        """The number of items of each example."""
        return np.diff(self.start)


def _check_items(items: Items) -> Items:
    starts_of(items.lengths, items.index.size)
    if items.index.size and not 0 <= items.index.min() <= items.index.max() < len(items.vectors):
        raise ValueError(f"Items must be numbers of vectors, 0 to {len(items.vectors) - 1}.")
    return Items(*map(contiguous, items))


class SummedParts(NamedTuple):
    """Compiled form."""

    rows: Items
    columns: Items
    n_weights: int
    n_shared: int


class SumScoring(Scoring):
    """theta_ij = <w_1, u_i> + <w_2, v_j>, with w = (w_1, w_2).

    Parameters
    ----------
    rows, columns : Items
    """

    def __init__(self, rows: Items, columns: Items) -> None:
        self.rows, self.columns = _check_items(rows), _check_items(columns)
        self.shapes = np.stack([rows.lengths, columns.lengths], axis=1).astype(np.int64)
        self.start = starts(self.shapes.prod(axis=1))
        self.n_features = self.n_weights = rows.vectors.shape[1] + columns.vectors.shape[1]

    @property
    def record(self) -> SummedParts:
        return SummedParts(self.rows, self.columns, self.n_weights, 0)

    def _part_norms(self, first: int, last: int) -> Array:
        squares = np.empty(self.start[last] - self.start[first])
        sums_square_range(self.record, first, last, squares)
        return np.sqrt(squares)


by_pullback(SummedParts)


@implements(score, SummedParts)
@leaf
def sums_score(scoring: SummedParts, i: int, w: Array, work: Array, theta: Array) -> None:
    rows, columns = scoring.rows, scoring.columns
    d = rows.vectors.shape[1]
    a, b = rows.start[i], columns.start[i]
    m, n = rows.start[i + 1] - a, columns.start[i + 1] - b
    for c in range(n):  # the columns' terms in the first row, then each row's own on top, from the last one
        theta[c] = plus_dot(0.0, columns.vectors[columns.index[b + c]], w[d:])
    for r in range(m - 1, -1, -1):
        own = plus_dot(0.0, rows.vectors[rows.index[a + r]], w[:d])
        for c in range(n):
            theta[r * n + c] = own + theta[c]


@implements(add_pullback, SummedParts)
@leaf
def sums_add_pullback(
    scoring: SummedParts, i: int, delta: Array, scale: float, w: Array, work: Array
) -> None:
    rows, columns = scoring.rows, scoring.columns
    d = rows.vectors.shape[1]
    a, b = rows.start[i], columns.start[i]
    m, n = rows.start[i + 1] - a, columns.start[i + 1] - b
    for r in range(m):
        total = 0.0
        for c in range(n):
            total += delta[r * n + c]
        if total != 0.0:
            add_scaled(rows.vectors[rows.index[a + r]], scale * total, w[:d])
    for c in range(n):
        total = 0.0
        for r in range(m):
            total += delta[r * n + c]
        if total != 0.0:
            add_scaled(columns.vectors[columns.index[b + c]], scale * total, w[d:])


@leaf
def sums_square_range(scoring: SummedParts, first: int, last: int, squares: Array) -> None:
    """squares <- ||u_i||^2 + ||v_j||^2."""
    rows, columns = scoring.rows, scoring.columns
    at = 0
    for i in range(first, last):
        for r in range(rows.start[i], rows.start[i + 1]):
            u = rows.vectors[rows.index[r]]
            for c in range(columns.start[i], columns.start[i + 1]):
                v = columns.vectors[columns.index[c]]
                squares[at] = plus_dot(0.0, u, u) + plus_dot(0.0, v, v)
                at += 1
