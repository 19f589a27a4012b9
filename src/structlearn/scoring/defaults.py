"""What scorings do unless they implement it themselves."""

from __future__ import annotations

from typing import Any

from structlearn.core.contract import prefetch, score, score_subset
from structlearn.core.kernels import implements, kernel, leaf


@implements(score_subset, object)
@kernel
def score_all(scoring: Any, i: Any, w: Any, wanted: Any, work: Any, theta: Any) -> None:
    score(scoring, i, w, work, theta)


@implements(prefetch, object)
@leaf
def no_prefetch(scoring: Any, i: Any) -> None:
    """For a scoring that is read in sequence."""
