"""Features for each part: theta = F w, one row of features per part.

Serves matchings (features of an edge) and a user's own structure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array, add_pullback, score, score_subset
from structlearn.core.kernels import implements, leaf
from structlearn.scoring.base import Scoring, contiguous, starts_of
from structlearn.scoring.defaults import by_pullback


class DenseParts(NamedTuple):
    """Compiled form: rows start[i]:start[i + 1] of F are the parts of example i."""

    F: Array
    start: Array
    n_weights: int
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

    def __init__(
        self, F: Array, shapes: Array, *, sizes: Array | None = None, intercept: bool = False
    ) -> None:
        self.F = contiguous(F)
        self.shapes = np.asarray(shapes, dtype=np.int64).reshape(-1, 2)
        self.intercept = intercept
        sizes = self.shapes[:, 0] * self.shapes[:, 1] if sizes is None else sizes
        self.start = starts_of(sizes, len(F))
        self.n_features = F.shape[1]
        self.n_weights = self.n_features + intercept

    @property
    def record(self) -> DenseParts:
        return DenseParts(self.F, self.start, self.n_weights, 0, bool(self.intercept))

    def _scores(self, w: Array, first: int, last: int) -> Array:
        d = self.n_features
        theta = self._parts(first, last) @ w[:d]
        return theta + w[d] if self.intercept else theta

    def _pullback(self, delta: Array, first: int, last: int, out: Array) -> None:
        d = self.n_features
        out[:d] += delta @ self._parts(first, last)
        if self.intercept:
            out[d] += delta.sum()

    def _part_norms(self, first: int, last: int) -> Array:
        return row_norms(self.F[self.start[first] : self.start[last]], self.intercept)

    def _parts(self, first: int, last: int) -> Array:
        return self.F[self.start[first] : self.start[last]].astype(np.float64, copy=False)


by_pullback(DenseParts)


def row_norms(X: Array, intercept: bool = False) -> Array:
    """Return the length of each row, a constant 1 included where there is an intercept."""
    squares, X = np.empty(len(X)), X.view()
    X.flags.writeable = False  # one compiled type
    square_rows(X, float(intercept), squares)
    return np.sqrt(squares)


@leaf
def square_rows(X: Array, constant: float, out: Array) -> None:
    """out[r] <- constant + ||X[r]||^2, in float64."""
    for r in range(X.shape[0]):
        total = constant
        for j in range(X.shape[1]):
            x = np.float64(X[r, j])
            total += x * x
        out[r] = total


@leaf
def plus_dot(total: float, x: Array, w: Array) -> float:
    """Return total + <x, w> over the entries that x has."""
    for j in range(x.size):
        total += x[j] * w[j]
    return total


@leaf
def add_scaled(x: Array, scale: float, w: Array) -> None:
    """w <- w + scale x over the entries that x has."""
    for j in range(x.size):
        w[j] += scale * x[j]


@leaf
def score_rows(X: Array, a: int, b: int, w: Array, intercept: bool, theta: Array) -> None:
    """theta <- X[a:b] w, plus the weight behind those of the features where there is an intercept."""
    constant = float(w[X.shape[1]]) if intercept else 0.0
    for r in range(b - a):
        theta[r] = plus_dot(constant, X[a + r], w)


@leaf
def add_rows(X: Array, a: int, b: int, delta: Array, scale: float, intercept: bool, w: Array) -> None:
    """Apply the adjoint: w <- w + scale X[a:b]^T delta."""
    for r in range(b - a):
        if delta[r] != 0.0:
            change = scale * delta[r]
            add_scaled(X[a + r], change, w)
            if intercept:
                w[X.shape[1]] += change


@implements(score, DenseParts)
@leaf
def parts_score(scoring: DenseParts, i: int, w: Array, work: Array, theta: Array) -> None:
    score_rows(scoring.F, scoring.start[i], scoring.start[i + 1], w, scoring.intercept, theta)


@implements(score_subset, DenseParts)
@leaf
def parts_score_subset(
    scoring: DenseParts, i: int, w: Array, wanted: Array, work: Array, theta: Array
) -> None:
    a = scoring.start[i]
    constant = float(w[scoring.F.shape[1]]) if scoring.intercept else 0.0
    for r in range(scoring.start[i + 1] - a):
        if wanted[r]:
            theta[r] = plus_dot(constant, scoring.F[a + r], w)


@implements(add_pullback, DenseParts)
@leaf
def parts_add_pullback(
    scoring: DenseParts, i: int, delta: Array, scale: float, w: Array, work: Array
) -> None:
    add_rows(scoring.F, scoring.start[i], scoring.start[i + 1], delta, scale, scoring.intercept, w)
