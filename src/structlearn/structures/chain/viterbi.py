"""Viterbi: the best of all label sequences, whose steps have the same scores everywhere or their own."""

from __future__ import annotations

from typing import NamedTuple

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.core.vectors import argmax_of, max_of


class SequenceScores(NamedTuple):
    """Scores of label sequences of length L.

    unary : (L, K). steps : (L, K, K) as (from, to), the first unused; or (1, K, K), the same for all steps.
    start, end : (K,), or empty. -inf forbids.
    """

    unary: Array
    steps: Array
    start: Array
    end: Array


@kernel
def best_prefixes(scores: SequenceScores, best: Array) -> None:
    """best[t, k] <- score of the best prefix that ends with label k at position t, end score included.

    The inner loops run over the next state, so that they vectorise, and take four previous states at once.
    """
    unary, steps, start, end = scores
    length, n = unary.shape
    for k in range(n):
        best[0, k] = unary[0, k]
    for k in range(start.size):
        best[0, k] += start[k]
    for t in range(1, length):
        s = min(t, steps.shape[0] - 1)
        for k in range(n):
            best[t, k] = best[t - 1, 0] + steps[s, 0, k]
        by_four = 1 + (n - 1) // 4 * 4
        for j in range(1, by_four, 4):
            a, b, c, d = best[t - 1, j], best[t - 1, j + 1], best[t - 1, j + 2], best[t - 1, j + 3]
            for k in range(n):
                one = max(a + steps[s, j, k], b + steps[s, j + 1, k])
                two = max(c + steps[s, j + 2, k], d + steps[s, j + 3, k])
                best[t, k] = max(best[t, k], max(one, two))
        for j in range(by_four, n):
            a = best[t - 1, j]
            for k in range(n):
                best[t, k] = max(best[t, k], a + steps[s, j, k])
        for k in range(n):
            best[t, k] += unary[t, k]
    for k in range(end.size):
        best[length - 1, k] += end[k]


@kernel
def best_score(scores: SequenceScores, best: Array) -> float:
    """Return the score of the best sequence; `best`, (L, K), is scratch."""
    best_prefixes(scores, best)
    return max_of(best[scores.unary.shape[0] - 1])


@kernel
def best_path(scores: SequenceScores, best: Array, vertex: Array) -> tuple[float, int, int]:
    """vertex <- unary parts and steps of the best sequence, laid out as the scores.

    Returns its score, its first and its last label.

    The forward pass keeps no back-pointers; the way back finds each predecessor again.
    """
    best_prefixes(scores, best)
    unary, steps = scores.unary, scores.steps
    length, n = unary.shape
    vertex[:] = 0.0
    k = last = argmax_of(best[length - 1])
    value = best[length - 1, k]
    for t in range(length - 1, 0, -1):
        vertex[t * n + k] = 1.0
        s = min(t, steps.shape[0] - 1)
        before = 0
        reached = best[t - 1, 0] + steps[s, 0, k]
        for j in range(1, n):
            through = best[t - 1, j] + steps[s, j, k]
            before = j if through > reached else before
            reached = max(reached, through)
        vertex[unary.size + (s * n + before) * n + k] += 1.0
        k = before
    vertex[k] = 1.0
    return value, k, last
