"""Features for each part: theta = F w, one row of features a part.

Serves matchings (features of an edge) and a user's own structure.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import (
    Array,
    add_pullback,
    gram,
    score,
    score_subset,
    scoring_workspace,
    squared_norm,
)
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.scoring.base import Scoring, starts_of


class DenseParts(NamedTuple):
    """Compiled form: rows start[i]:start[i + 1] of F are the parts of example i."""

    F: Array
    start: Array
    n_shared: int
    intercept: bool


class PartScoring(Scoring):
    """theta_i = F_i w, plus w's last entry where there is an intercept.

    Parameters
    ----------
    F : ndarray of shape (all examples' parts, d), float32 or float64
    shapes : int array of shape (n_examples, 2)
        Rows and columns of each example's parts, as its structure counts them.
    sizes : int array of shape (n_examples,), optional
        Numbers of parts; rows times columns unless given.
    intercept : bool
        Whether every part has one more feature, the constant 1.
    """

    n_shared = 0

    def __init__(
        self, F: Array, shapes: Array, *, sizes: Array | None = None, intercept: bool = False
    ) -> None:
        self.F = F
        self.shapes = np.asarray(shapes, dtype=np.int64).reshape(-1, 2)
        self.intercept = intercept
        sizes = self.shapes[:, 0] * self.shapes[:, 1] if sizes is None else sizes
        self.start = starts_of(sizes, len(F))
        self.n_features = F.shape[1]
        self.n_weights = self.n_features + intercept

    @property
    def record(self) -> DenseParts:
        return DenseParts(self.F, self.start, 0, bool(self.intercept))

    def _scores(self, w: Array, first: int, last: int) -> Array:
        d = self.F.shape[1]
        theta = self._parts(first, last) @ w[:d]
        return theta + w[d] if self.intercept else theta

    def _pullback(self, delta: Array, first: int, last: int, out: Array) -> None:
        d = self.F.shape[1]
        out[:d] += delta @ self._parts(first, last)
        if self.intercept:
            out[d] += delta.sum()

    def _part_norms(self, first: int, last: int) -> Array:
        parts = self._parts(first, last)
        return np.sqrt(np.sum(parts * parts, axis=1) + self.intercept)

    def _parts(self, first: int, last: int) -> Array:
        return self.F[self.start[first] : self.start[last]].astype(np.float64, copy=False)


@implements(scoring_workspace, DenseParts)
@jitable
def parts_workspace(scoring: Any) -> Any:
    """Phi_i^T delta while its norm or its scores are taken."""
    return np.empty(scoring.F.shape[1] + int(scoring.intercept))


@kernel
def _part_score(scoring: Any, part: Any, w: Any) -> Any:
    row = scoring.F[part]
    total = w[row.size] if scoring.intercept else 0.0
    for j in range(row.size):
        total += row[j] * w[j]
    return total


@implements(score, DenseParts)
@kernel
def parts_score(scoring: Any, i: Any, w: Any, work: Any, theta: Any) -> None:
    a = scoring.start[i]
    for r in range(scoring.start[i + 1] - a):
        theta[r] = _part_score(scoring, a + r, w)


@implements(score_subset, DenseParts)
@kernel
def parts_score_subset(scoring: Any, i: Any, w: Any, wanted: Any, work: Any, theta: Any) -> None:
    a = scoring.start[i]
    for r in range(scoring.start[i + 1] - a):
        if wanted[r]:
            theta[r] = _part_score(scoring, a + r, w)


@implements(add_pullback, DenseParts)
@kernel
def parts_add_pullback(scoring: Any, i: Any, delta: Any, scale: Any, w: Any, work: Any) -> None:
    a = scoring.start[i]
    d = scoring.F.shape[1]
    for r in range(scoring.start[i + 1] - a):
        if delta[r] != 0.0:
            change = scale * delta[r]
            row = scoring.F[a + r]
            for j in range(d):
                w[j] += change * row[j]
            if scoring.intercept:
                w[d] += change


@implements(gram, DenseParts)
@kernel
def parts_gram(scoring: Any, i: Any, delta: Any, wanted: Any, work: Any, out: Any) -> None:
    work[:] = 0.0
    parts_add_pullback(scoring, i, delta, 1.0, work, work)
    parts_score_subset(scoring, i, work, wanted, work, out)


@implements(squared_norm, DenseParts)
@kernel
def parts_squared_norm(scoring: Any, i: Any, delta: Any, work: Any) -> Any:
    work[:] = 0.0
    parts_add_pullback(scoring, i, delta, 1.0, work, work)
    total = 0.0
    for j in range(work.size):
        total += work[j] * work[j]
    return total
