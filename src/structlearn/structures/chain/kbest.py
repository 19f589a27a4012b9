"""The k best label sequences of a chain, best first."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.structures.base import nothing_allowed
from structlearn.structures.chain.viterbi import SequenceScores, best_prefixes


def k_best_sequences(unary: Array, steps: Array, k: int) -> tuple[Array, Array]:
    """argmax^(1..k)_y sum_t unary[t, y_t] + steps[t, y_(t-1), y_t]: the best label sequences, their scores.

    Parameters
    ----------
    unary : ndarray of shape (L, K); -inf forbids a label.
    steps : ndarray of shape (L, K, K); the first table is not used.
    k : int
        At least 1.

    Returns
    -------
    labels : int ndarray of shape (k', L)
        All different; k' = min(k, the number of allowed sequences).
    scores : ndarray of shape (k',)
        Not increasing. Of equal ones that comes first which the search meets first, always the same.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}.")
    length, n_labels = unary.shape
    k = min(k, n_labels**length)  # a Python integer: no overflow
    labels, n_found = _search(unary, steps, k)
    if n_found == 0:
        raise nothing_allowed("The score vector")
    labels = labels[:n_found]
    scores = _scores(unary, steps, labels)
    order = np.argsort(-scores, kind="stable")  # the search adds up in another order: rounding may differ
    return labels[order], scores[order]


def _scores(unary: Array, steps: Array, labels: Array) -> Array:
    positions = np.arange(unary.shape[0])
    between = steps[positions[1:], labels[:, :-1], labels[:, 1:]]
    return unary[positions, labels].sum(axis=1) + between.sum(axis=1)


@kernel
def _search(unary: Array, steps: Array, k: int) -> tuple[Array, int]:
    """Find sequences (k, L), and return their number: deviations from what was found, best first.

    A candidate (parent, t, j) follows the found sequence `parent` from position t on, has the label j at
    t - 1, and before that the best prefix that ends in j; t = L deviates in the last label. Each found
    sequence offers the next best j at its own place, and the second best at each place before it. So every
    sequence is offered once, after a better one, and the heap holds at most k L candidates.
    """
    length = unary.shape[0]
    best = np.empty(unary.shape)
    none = unary[0, :0]
    best_prefixes(SequenceScores(unary, steps, none, none), best)
    labels = np.empty((k, length), dtype=np.int64)
    suffix = np.empty(length + 1)  # score of what comes after a position, within one sequence
    through, j = _next(best, steps, length, 0, np.inf, -1)
    found = arrivals = 0
    if j < 0:
        return labels, found
    heap = [(-through, arrivals, 0, length, j)]  # of equal scores, what came first
    while found < k and len(heap) > 0:
        # 1. The best candidate, written out.
        _, _, parent, place, j = heappop(heap)
        for t in range(place, length):
            labels[found, t] = labels[parent, t]
        labels[found, place - 1] = j
        for t in range(place - 1, 0, -1):
            labels[found, t - 1] = _next(best, steps, t, labels[found, t], np.inf, -1)[1]
        suffix[length] = 0.0
        for t in range(length - 1, -1, -1):
            after = steps[t + 1, labels[found, t], labels[found, t + 1]] if t + 1 < length else 0.0
            suffix[t] = suffix[t + 1] + unary[t, labels[found, t]] + after
        # 2. What deviates from it, at its own place and before.
        for t in range(place, 0, -1):
            label = labels[found, t] if t < length else 0
            taken = labels[found, t - 1]
            through, j = _next(best, steps, t, label, _through(best, steps, t, taken, label), taken)
            if j >= 0:
                arrivals += 1
                heappush(heap, (-through - suffix[t], arrivals, found, t, j))
        found += 1
    return labels, found


@kernel
def _through(best: Array, steps: Array, t: int, j: int, label: int) -> float:
    """Score of the best prefix with j at t - 1, the step to `label` at t included (none to the end)."""
    return best[t - 1, j] + (steps[t, j, label] if t < best.shape[0] else 0.0)


@kernel
def _next(best: Array, steps: Array, t: int, label: int, bound: float, last: int) -> tuple[float, int]:
    """Find the j at t - 1 that follows `last`, of score `bound`, by score and then by number; -1 if none."""
    value, chosen = -np.inf, -1
    for j in range(best.shape[1]):
        through = _through(best, steps, t, j, label)
        if through > value and (through < bound or (through == bound and j > last)):
            value, chosen = through, j
    return value, chosen
