"""Features for each part in CSR form: theta = F w, as `PartScoring` for rows that are mostly zeros."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from structlearn.core.contract import Array, add_pullback, score
from structlearn.core.kernels import implements, leaf
from structlearn.scoring.base import Scoring, check_csr, starts_of
from structlearn.scoring.defaults import by_pullback


class SparseParts(NamedTuple):
    """Compiled form: rows start[i]:start[i + 1] of a CSR matrix are the parts of example i."""

    data: Array
    indices: Array
    indptr: Array
    start: Array
    n_weights: int
    n_shared: int
    intercept: bool


class SparsePartScoring(Scoring):
    """theta_i = F_i w, plus w's last entry where there is an intercept.

    Parameters
    ----------
    F : CSR matrix of shape (all examples' parts, d), float32 or float64
    shapes, sizes, intercept : as for `PartScoring`
    """

    def __init__(
        self, F: sparse.csr_matrix, shapes: ArrayLike, *, sizes: ArrayLike, intercept: bool = False
    ) -> None:
        check_csr(F)
        self.F = F
        self.shapes = np.asarray(shapes, dtype=np.int64).reshape(-1, 2)
        self.intercept = intercept
        self.start = starts_of(sizes, F.shape[0])
        self.n_features = F.shape[1]
        self.n_weights = self.n_features + intercept

    @property
    def record(self) -> SparseParts:
        F, intercept = self.F, bool(self.intercept)
        indices, indptr = F.indices.astype(np.int64, copy=False), F.indptr.astype(np.int64, copy=False)
        return SparseParts(F.data, indices, indptr, self.start, self.n_weights, 0, intercept)

    @property
    def n_terms(self) -> int:
        return int(np.diff(self.F.indptr).max(initial=0)) + int(self.intercept)

    def _part_norms(self, first: int, last: int) -> Array:
        rows = self.F[self.start[first] : self.start[last]].astype(np.float64)
        return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel() + float(self.intercept))


by_pullback(SparseParts)


@implements(score, SparseParts)
@leaf
def sparse_parts_score(scoring: SparseParts, i: int, w: Array, work: object, theta: Array) -> None:
    first = scoring.start[i]
    constant = w[scoring.n_weights - 1] if scoring.intercept else 0.0
    for r in range(scoring.start[i + 1] - first):
        total = constant
        for k in range(scoring.indptr[first + r], scoring.indptr[first + r + 1]):
            total += scoring.data[k] * w[scoring.indices[k]]
        theta[r] = total


@implements(add_pullback, SparseParts)
@leaf
def sparse_parts_add_pullback(
    scoring: SparseParts, i: int, delta: Array, scale: float, w: Array, work: object
) -> None:
    first = scoring.start[i]
    for r in range(scoring.start[i + 1] - first):
        if delta[r] != 0.0:
            change = scale * delta[r]
            for k in range(scoring.indptr[first + r], scoring.indptr[first + r + 1]):
                w[scoring.indices[k]] += change * scoring.data[k]
            if scoring.intercept:
                w[scoring.n_weights - 1] += change
