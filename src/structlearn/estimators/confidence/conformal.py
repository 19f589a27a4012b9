"""Sets of outputs that hold the true one with a probability that is guaranteed (split conformal prediction).

An output y of an example with scores theta does not conform by s(y) = A(theta) - <theta, z(y)>, where A is
log Z, so that s(y) = -log p(y), or, without probabilities, the largest score. Of n calibration examples that
are exchangeable with a new one, the ceil((n + 1) coverage)-th smallest s is exceeded by that of the new
example with a probability of at most 1 - coverage: its set is of all y with s(y) up to there.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from numbers import Real
from typing import Any, NamedTuple

from structlearn.core.contract import Array

#: What adding up in another order may change in a score.
_ROUNDING = 1e-9
_FIRST = 8


class Conformal(NamedTuple):
    """What `conformalize` keeps: sorted scores of nonconformity that are finite, and of how many examples."""

    scores: Array
    n: int


def check_coverage(coverage: float) -> None:
    """Raise ValueError unless the coverage is between 0 and 1."""
    if not isinstance(coverage, Real) or not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage must be a number between 0 and 1, both excluded; got {coverage!r}.")


def examples_needed(coverage: float) -> int:
    """Return the least n for which ceil((n + 1) coverage) <= n."""
    return ceil(round(coverage / (1.0 - coverage), 9))


def largest_score(scores: Array, n: int, coverage: float, *, noun: str = "labellings") -> float:
    """Return the ceil((n + 1) coverage)-th smallest of n scores; `scores` are the finite ones, sorted.

    ValueError, about sets of this noun (or intervals), if there are too few.
    """
    check_coverage(coverage)
    if n < examples_needed(coverage):
        what = "Intervals" if noun == "intervals" else "Sets"
        raise ValueError(
            f"{what} of coverage {coverage:g} need {examples_needed(coverage)} examples in conformalize; it "
            f"had {n}."
        )
    place = ceil(round((n + 1) * coverage, 9))
    if place > len(scores):
        raise ValueError(
            f"No set of {noun} has coverage {coverage:g}: {n - len(scores)} of the {n} examples in "
            "conformalize have labels that the model does not know or does not allow."
        )
    return float(scores[place - 1])


def outputs_above(
    k_best: Callable[[int], tuple[Array, Array]], threshold: float, max_size: int
) -> list[Any] | None:
    """Return all outputs whose scores reach the threshold, and the best always; None if above max_size.

    k_best : from k to the k best outputs and their scores, best first
    """
    threshold -= _ROUNDING * (1.0 + abs(threshold))
    k = _FIRST
    while True:
        asked = min(k, max_size + 1)
        outputs, scores = k_best(asked)
        n = max(int((scores >= threshold).sum()), 1)
        if n > max_size:
            return None
        if n < asked:
            return list(outputs[:n])
        k *= 4
