"""Scores and pullbacks of many examples at once, compiled once for all scorings."""

from __future__ import annotations

from structlearn.core.contract import Array, add_pullback, score, scoring_workspace
from structlearn.core.kernels import kernel
from structlearn.scoring.erased import ErasedScoring


@kernel
def score_range(scoring: ErasedScoring, start: Array, first: int, last: int, w: Array, theta: Array) -> None:
    """theta <- local scores of examples first .. last - 1, end to end."""
    work = scoring_workspace(scoring)
    for i in range(first, last):
        score(scoring, i, w, work, theta[start[i] - start[first] : start[i + 1] - start[first]])


@kernel
def pullback_range(
    scoring: ErasedScoring, start: Array, first: int, last: int, delta: Array, out: Array
) -> None:
    """out <- out + sum_i Phi_i^T delta_i over the local parts of examples first .. last - 1."""
    work = scoring_workspace(scoring)
    for i in range(first, last):
        add_pullback(scoring, i, delta[start[i] - start[first] : start[i + 1] - start[first]], 1.0, out, work)
