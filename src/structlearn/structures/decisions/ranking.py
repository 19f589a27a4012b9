"""Parts by their scores, the highest first, sorted in place in compiled code."""

from __future__ import annotations

from structlearn.core.contract import Array
from structlearn.core.kernels import leaf


@leaf
def rank(scores: Array, order: Array) -> None:
    """order <- the numbers of the scores, the highest first, ties in order of their numbers. A heapsort."""
    n = scores.size
    for j in range(n):
        order[j] = j
    for j in range(n // 2 - 1, -1, -1):
        _sink(scores, order, j, n)
    for last in range(n - 1, 0, -1):
        order[0], order[last] = order[last], order[0]
        _sink(scores, order, 0, last)


@leaf
def _sink(scores: Array, order: Array, j: int, n: int) -> None:
    """Move an entry down a heap whose root comes last."""
    while 2 * j + 1 < n:
        child = 2 * j + 1
        if child + 1 < n and _comes_first(scores, order[child], order[child + 1]):
            child += 1
        if not _comes_first(scores, order[j], order[child]):
            return
        order[j], order[child] = order[child], order[j]
        j = child


@leaf
def _comes_first(scores: Array, one: int, other: int) -> bool:
    return scores[one] > scores[other] or (scores[one] == scores[other] and one < other)
