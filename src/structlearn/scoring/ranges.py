"""Scores and pullbacks of many examples at once, compiled once for all scorings."""

from __future__ import annotations

from typing import Any

from structlearn.core.contract import add_pullback, score, scoring_workspace
from structlearn.core.kernels import kernel


@kernel
def score_range(scoring: Any, start: Any, first: Any, last: Any, w: Any, theta: Any) -> None:
    """theta <- local scores of examples first .. last - 1, end to end."""
    work = scoring_workspace(scoring)
    for i in range(first, last):
        score(scoring, i, w, work, theta[start[i] - start[first] : start[i + 1] - start[first]])


@kernel
def pullback_range(scoring: Any, start: Any, first: Any, last: Any, delta: Any, out: Any) -> None:
    """out <- out + sum_i Phi_i^T delta_i over the local parts of examples first .. last - 1."""
    work = scoring_workspace(scoring)
    for i in range(first, last):
        add_pullback(scoring, i, delta[start[i] - start[first] : start[i + 1] - start[first]], 1.0, out, work)
