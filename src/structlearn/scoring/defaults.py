"""What scorings do unless they implement it themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from structlearn.core.contract import (
    add_pullback,
    gram,
    prefetch,
    score,
    score_subset,
    scoring_workspace,
    squared_norm,
)
from structlearn.core.kernels import implements, jitable, kernel, leaf


@implements(score_subset, object)
@kernel
def score_all(scoring: Any, i: Any, w: Any, wanted: Any, work: Any, theta: Any) -> None:
    score(scoring, i, w, work, theta)


@implements(prefetch, object)
@leaf
def no_prefetch(scoring: Any, i: Any) -> None:
    """For a scoring that is read in sequence."""


# ---- products by way of the weights ------------------------------------------------------------------


def by_pullback(record: type) -> None:
    """Register, for records of few weights: ||Phi^T delta||^2 and Phi Phi^T delta from Phi^T delta itself."""
    implements(scoring_workspace, record)(pulled_workspace)
    implements(squared_norm, record)(pulled_squared_norm)
    implements(gram, record)(pulled_gram)


@jitable
def pulled_workspace(scoring: Any) -> Any:
    """Phi_i^T delta while its norm or its scores are taken."""
    return np.empty(scoring.n_weights)


@kernel
def pulled_squared_norm(scoring: Any, i: Any, delta: Any, work: Any) -> Any:
    for j in range(work.size):
        work[j] = 0.0
    add_pullback(scoring, i, delta, 1.0, work, work)
    total = 0.0
    for j in range(work.size):
        total += work[j] * work[j]
    return total


@kernel
def pulled_gram(scoring: Any, i: Any, delta: Any, wanted: Any, work: Any, out: Any) -> None:
    for j in range(work.size):
        work[j] = 0.0
    add_pullback(scoring, i, delta, 1.0, work, work)
    score_subset(scoring, i, work, wanted, work, out)
