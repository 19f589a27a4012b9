"""The best label sequence that keeps constraints on counts, with a bound on all that keep them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.structures.chain.count_search import PackedCounts, search_counts
from structlearn.structures.chain.prices import CountedSteps, find_prices

#: Sequences kept at a position: of a first search without prices, then of searches with them.
_FIRST_WIDTH, _WIDTHS = 8, (32, 256, 2048, 16384)
#: Bits of the whole number that holds all counts.
_BITS = 62


class Limit(NamedTuple):
    """low <= n(y) <= high.

    event : (K + 1, K) whole numbers of at least 0, how much the count n grows at a step from label j to k;
        the last row is for the first label of a sequence
    """

    event: Array
    low: float
    high: float


class ConstrainedSequence(NamedTuple):
    """Labels, their score, and a bound on the score of any sequence that keeps the limits.

    -inf and no labels where no sequence is found; a bound of -inf proves that there is none.
    """

    labels: Array
    value: float
    bound: float


def best_within_limits(
    unary: Array, steps: Array, limits: Iterable[Limit], at_least: float = -np.inf
) -> ConstrainedSequence:
    """Return the best label sequence within limits; of a score above `at_least`, if there is one.

    Parameters
    ----------
    unary : ndarray of shape (L, K); -inf forbids a label
    steps : ndarray of shape (L, K, K); the first table is not used
    """
    counted = _counted(unary, steps, list(limits))
    packed = pack_counts(counted)
    labels, price = np.zeros(len(unary), dtype=np.int64), np.zeros(len(counted.low))
    value, lost = search_counts(counted, packed, price, at_least, _FIRST_WIDTH, labels)
    if lost > value:
        bound, value = find_prices(counted, value, labels, price)
        lost = bound
        for width in _WIDTHS:
            if lost <= value:
                break
            value, lost = search_counts(counted, packed, price, value, width, labels)
            bound = min(bound, max(lost, value))
        lost = bound if bound > value else -np.inf
    if value <= at_least:
        return ConstrainedSequence(labels[:0], -np.inf, max(lost, at_least))
    return ConstrainedSequence(labels, float(value), float(max(lost, value)))


def _counted(unary: Array, steps: Array, limits: list[Limit]) -> CountedSteps:
    k = unary.shape[1]
    event = np.array([one.event for one in limits], dtype=np.int64).reshape(-1, k + 1, k)
    low, high = np.array([(one.low, one.high) for one in limits], dtype=float).reshape(-1, 2).T.copy()
    most = event.max(axis=(1, 2), initial=0) * len(unary)
    high = np.where(high >= most, np.inf, high)  # it says nothing
    labels, between = (np.ascontiguousarray(one, dtype=np.float64) for one in (unary, steps))
    return CountedSteps(labels, between, event, low, high)


def pack_counts(counted: CountedSteps) -> PackedCounts:
    """Return how the counts are packed; ValueError where there are too many of them."""
    is_open = counted.high == np.inf
    cap = np.where(is_open, counted.low, counted.high).astype(np.int64)
    bits = [int(one).bit_length() for one in cap]
    if sum(bits) > _BITS:
        raise ValueError(
            f"The constraints count up to {', '.join(map(str, cap.tolist()))}, which is too much to be kept "
            f"together ({sum(bits)} bits, {_BITS} at most); use fewer of them, or smaller numbers."
        )
    place = np.cumsum([0, *bits])[:-1].astype(np.int64)
    mask = np.array([(1 << size) - 1 for size in bits], dtype=np.int64)
    return PackedCounts(place, mask, cap, is_open.astype(np.uint8))
