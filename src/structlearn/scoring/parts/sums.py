"""Features of a row and of a column, concatenated: theta_ij = <w_1, u_i> + <w_2, v_j>.

The features of m * n parts are never written out. Rows and columns are items, such as words, whose vectors
are kept once, so that an example is a few numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array, add_pullback, gram, score, scoring_workspace, squared_norm
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.scoring.base import Scoring, starts_of


class Items(NamedTuple):
    """One side of all examples: example i has the rows index[start[i] : start[i + 1]] of `vectors`."""

    vectors: Array
    index: Array  # type: ignore[assignment]
    start: Array

    @property
    def lengths(self) -> Array:
        """How many items each example has."""
        return np.diff(self.start)


def _check_items(items: Items) -> None:
    starts_of(items.lengths, items.index.size)
    if items.index.size and not 0 <= items.index.min() <= items.index.max() < len(items.vectors):
        raise ValueError(f"Items are numbers of vectors, 0 to {len(items.vectors) - 1}.")


class SummedParts(NamedTuple):
    """Compiled form."""

    rows: Items
    columns: Items
    n_shared: int


class SumScoring(Scoring):
    """theta_ij = <w_1, u_i> + <w_2, v_j>, with w = (w_1, w_2).

    Parameters
    ----------
    rows, columns : Items
    """

    n_shared = 0

    def __init__(self, rows: Items, columns: Items) -> None:
        for side in (rows, columns):
            _check_items(side)
        self.rows, self.columns = rows, columns
        self.shapes = np.stack([rows.lengths, columns.lengths], axis=1).astype(np.int64)
        self.start = np.concatenate([[0], np.cumsum(self.shapes.prod(axis=1))]).astype(np.int64)
        self.n_features = self.n_weights = rows.vectors.shape[1] + columns.vectors.shape[1]

    @property
    def record(self) -> SummedParts:
        return SummedParts(self.rows, self.columns, 0)

    def _part_norms(self, first: int, last: int) -> Array:
        squares = np.empty(self.start[last] - self.start[first])
        sums_square_range(self.record, first, last, squares)
        return np.sqrt(squares)


@implements(scoring_workspace, SummedParts)
@jitable
def sums_workspace(scoring: Any) -> Any:
    """Phi_i^T delta while its norm or its scores are taken."""
    return np.empty(scoring.rows.vectors.shape[1] + scoring.columns.vectors.shape[1])


@kernel
def _dot(vector: Any, w: Any) -> Any:
    total = 0.0
    for k in range(vector.size):
        total += vector[k] * w[k]
    return total


@kernel
def _add(vector: Any, scale: Any, w: Any) -> None:
    for k in range(vector.size):
        w[k] += scale * vector[k]


@implements(score, SummedParts)
@kernel
def sums_score(scoring: Any, i: Any, w: Any, work: Any, theta: Any) -> None:
    rows, columns = scoring.rows, scoring.columns
    d = rows.vectors.shape[1]
    a, b = rows.start[i], columns.start[i]
    m, n = rows.start[i + 1] - a, columns.start[i + 1] - b
    for c in range(n):  # the columns' terms in the first row, then each row's own on top, from the last one
        theta[c] = _dot(columns.vectors[columns.index[b + c]], w[d:])
    for r in range(m - 1, -1, -1):
        own = _dot(rows.vectors[rows.index[a + r]], w[:d])
        for c in range(n):
            theta[r * n + c] = own + theta[c]


@implements(add_pullback, SummedParts)
@kernel
def sums_add_pullback(scoring: Any, i: Any, delta: Any, scale: Any, w: Any, work: Any) -> None:
    rows, columns = scoring.rows, scoring.columns
    d = rows.vectors.shape[1]
    a, b = rows.start[i], columns.start[i]
    m, n = rows.start[i + 1] - a, columns.start[i + 1] - b
    for r in range(m):
        total = 0.0
        for c in range(n):
            total += delta[r * n + c]
        if total != 0.0:
            _add(rows.vectors[rows.index[a + r]], scale * total, w[:d])
    for c in range(n):
        total = 0.0
        for r in range(m):
            total += delta[r * n + c]
        if total != 0.0:
            _add(columns.vectors[columns.index[b + c]], scale * total, w[d:])


@implements(gram, SummedParts)
@kernel
def sums_gram(scoring: Any, i: Any, delta: Any, wanted: Any, work: Any, out: Any) -> None:
    work[:] = 0.0
    sums_add_pullback(scoring, i, delta, 1.0, work, work)
    sums_score(scoring, i, work, work, out)


@implements(squared_norm, SummedParts)
@kernel
def sums_squared_norm(scoring: Any, i: Any, delta: Any, work: Any) -> Any:
    work[:] = 0.0
    sums_add_pullback(scoring, i, delta, 1.0, work, work)
    return _dot(work, work)


@kernel
def sums_square_range(scoring: Any, first: Any, last: Any, squares: Any) -> None:
    """squares <- ||u_i||^2 + ||v_j||^2."""
    rows, columns = scoring.rows, scoring.columns
    at = 0
    for i in range(first, last):
        for r in range(rows.start[i], rows.start[i + 1]):
            u = rows.vectors[rows.index[r]]
            for c in range(columns.start[i], columns.start[i + 1]):
                v = columns.vectors[columns.index[c]]
                squares[at] = _dot(u, u) + _dot(v, v)
                at += 1
