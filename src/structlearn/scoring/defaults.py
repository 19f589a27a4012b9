"""Default implementations of operations on scorings."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from structlearn.core.contract import (
    Array,
    Record,
    add_pullback,
    gram,
    prefetch,
    score,
    score_subset,
    scoring_workspace,
    squared_norm,
)
from structlearn.core.kernels import implements, jitable, kernel, leaf


class FewWeights(Protocol):
    """A record of a scoring that has few enough weights to go through all of them."""

    @property
    def n_weights(self) -> int: ...


@implements(score_subset, object)
@kernel
def score_all(scoring: Record, i: int, w: Array, wanted: Array, work: object, theta: Array) -> None:
    score(scoring, i, w, work, theta)


@implements(prefetch, object)
@leaf
def no_prefetch(scoring: Record, i: int) -> None:
    """Do nothing, for a scoring that is read in sequence."""


# ---- products by way of the weights ------------------------------------------------------------------


def by_pullback(record: type) -> None:
    """Register, for records of few weights: ||Phi^T delta||^2 and Phi Phi^T delta from Phi^T delta itself."""
    implements(scoring_workspace, record)(pulled_workspace)
    implements(squared_norm, record)(pulled_squared_norm)
    implements(gram, record)(pulled_gram)


@jitable
def pulled_workspace(scoring: FewWeights) -> Array:
    """Return room for Phi_i^T delta while its norm or its scores are taken."""
    return np.empty(scoring.n_weights)


@kernel
def pulled_squared_norm(scoring: Record, i: int, delta: Array, work: Array) -> float:
    for j in range(work.size):
        work[j] = 0.0
    add_pullback(scoring, i, delta, 1.0, work, work)
    total = 0.0
    for j in range(work.size):
        total += work[j] * work[j]
    return total


@kernel
def pulled_gram(scoring: Record, i: int, delta: Array, wanted: Array, work: Array, out: Array) -> None:
    for j in range(work.size):
        work[j] = 0.0
    add_pullback(scoring, i, delta, 1.0, work, work)
    score_subset(scoring, i, work, wanted, work, out)
