"""Viterbi where only listed steps have scores: the others score zero, or are forbidden.

    best_t[k] = unary_t[k] + max( rest_t[k], max over listed j -> k of best_(t-1)[j] + score[j -> k] )
    rest_t[k] = max over j with j -> k not listed of best_(t-1)[j]

`rest` is found by going down the labels from the best, until each k has met one that does not list it: few
rounds, as lists are short. No step from j can matter at t whose best score is not above the least `rest`:
those labels are passed over, and the answer stays exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.core.vectors import argmax_of, max_of


class SparseRecord(NamedTuple):
    """Compiled form of `SparseChain`.

    first : (K + 1,) the steps from label j are first[j]:first[j + 1]; after, before : (m,) their labels
    into : (K + 1,), edge : (m,) the numbers of the steps to label k are edge[into[k]:into[k + 1]]
    free : whether all other steps may be made, without a score
    """

    n_labels: int
    first: Array
    before: Array
    after: Array
    into: Array
    edge: Array
    free: bool


class SparsePathScratch(NamedTuple):
    """Scratch memory: best prefixes (L, K), three rows, and labels that are still open, with stamps."""

    best: Array
    rest: Array
    left: Array
    most: Array
    open: Array
    stamp: Array


@kernel
def best_rest(record: SparseRecord, before: Array, work: SparsePathScratch) -> float:
    """Set rest[k] <- max of before[j] over j -> k not listed, -inf where there is none; return the least."""
    n, first, after = record.n_labels, record.first, record.after
    rest, left, still, stamp = work.rest, work.left, work.open, work.stamp
    rest[:] = -np.inf
    if not record.free:
        return -np.inf
    n_open, least = 0, np.inf
    for k in range(n):
        left[k] = before[k]
        stamp[k] = -1
        if record.into[k + 1] - record.into[k] < n:
            still[n_open] = k
            n_open += 1
        else:
            least = -np.inf
    while n_open > 0:
        j = argmax_of(left)
        if left[j] == -np.inf:
            return -np.inf
        for e in range(first[j], first[j + 1]):
            stamp[after[e]] = j
        kept = 0
        for i in range(n_open):
            k = still[i]
            if stamp[k] == j:
                still[kept] = k
                kept += 1
            else:
                rest[k] = before[j]
        if kept < n_open:
            least = min(least, before[j])
        n_open = kept
        left[j] = -np.inf
    return least


@kernel
def sparse_prefixes(
    record: SparseRecord, length: int, theta: Array, shared: Array, work: SparsePathScratch
) -> None:
    """best[t, k] <- score of the best prefix that ends with label k at position t."""
    n, first, after, best = record.n_labels, record.first, record.after, work.best
    for j in range(n):
        work.most[j] = -np.inf
        for e in range(first[j], first[j + 1]):
            work.most[j] = max(work.most[j], shared[e])
    for k in range(n):
        best[0, k] = theta[k]
    for t in range(1, length):
        least = best_rest(record, best[t - 1], work)
        for k in range(n):
            best[t, k] = work.rest[k]
        for j in range(n):
            score = best[t - 1, j]
            if score + work.most[j] <= least:
                continue
            for e in range(first[j], first[j + 1]):
                best[t, after[e]] = max(best[t, after[e]], score + shared[e])
        for k in range(n):
            best[t, k] += theta[t * n + k]


@kernel
def sparse_value(
    record: SparseRecord, length: int, theta: Array, shared: Array, work: SparsePathScratch
) -> float:
    """Return the score of the best sequence."""
    sparse_prefixes(record, length, theta, shared, work)
    return max_of(work.best[length - 1])


@kernel
def sparse_path(
    record: SparseRecord, length: int, theta: Array, shared: Array, work: SparsePathScratch, vertex: Array
) -> float:
    """vertex <- labels and listed steps of the best sequence; return its score."""
    sparse_prefixes(record, length, theta, shared, work)
    n, best, left = record.n_labels, work.best, work.left
    vertex[:] = 0.0
    k = argmax_of(best[length - 1])
    value = best[length - 1, k]
    for t in range(length - 1, 0, -1):
        vertex[t * n + k] = 1.0
        for j in range(n):
            left[j] = best[t - 1, j] if record.free else -np.inf
            work.stamp[j] = -1
        for i in range(record.into[k], record.into[k + 1]):
            e = record.edge[i]
            j = record.before[e]
            left[j] = best[t - 1, j] + shared[e]
            work.stamp[j] = e
        k = argmax_of(left)
        if work.stamp[k] >= 0:
            vertex[length * n + work.stamp[k]] += 1.0
    vertex[k] = 1.0
    return value
