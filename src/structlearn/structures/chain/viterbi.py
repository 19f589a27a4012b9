"""Viterbi: the best of all label sequences, whose steps have the same scores everywhere or their own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.core.vectors import argmax_of, max_of

#: Chains of at least this many labels look for labels that can be passed over.
PRUNED = 128


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
def step_ranges(steps: Array, least: Array, most: Array) -> None:
    """least[j], most[j] <- the smallest and the largest score of a step from label j."""
    for j in range(steps.shape[0]):
        low, high = np.inf, -np.inf
        for k in range(steps.shape[1]):
            low, high = min(low, steps[j, k]), max(high, steps[j, k])
        least[j], most[j] = low, high


@kernel
def useful_labels(before: Array, least: Array, most: Array, useful: Array) -> int:
    """Set useful <- the labels that may come before any other in a best sequence; return how many.

    Every prefix goes on with at least max_i before[i] + least[i]: below that, no step from j matters.
    """
    floor = -np.inf
    for i in range(before.size):
        floor = max(floor, before[i] + least[i])
    n_useful = 0
    for j in range(before.size):
        if before[j] + most[j] >= floor:
            useful[n_useful] = j
            n_useful += 1
    return n_useful


@kernel
def best_steps(before: Array, steps: Array, useful: Array, here: Array) -> None:
    """here[k] <- max of before[j] + steps[j, k] over useful labels j."""
    here[:] = -np.inf
    for i in range(useful.size):
        score, row = before[useful[i]], steps[useful[i]]
        for k in range(here.size):
            here[k] = max(here[k], score + row[k])


@kernel
def best_prefixes_of_many(unary: Array, steps: Array, best: Array) -> None:
    """Fill in best[1:] as `best_prefixes` does where all steps have the same scores, for many labels.

    Exact: only labels that cannot precede any other in a best sequence are passed over.
    """
    length, n = unary.shape
    least, most, useful = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
    step_ranges(steps, least, most)
    for t in range(1, length):
        n_useful = useful_labels(best[t - 1], least, most, useful)
        best_steps(best[t - 1], steps, useful[:n_useful], best[t])
        for k in range(n):
            best[t, k] += unary[t, k]


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
    prunes = n >= PRUNED and steps.shape[0] == 1 and length > 2
    if prunes:
        best_prefixes_of_many(unary, steps[0], best)
    for t in range(length if prunes else 1, length):
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
