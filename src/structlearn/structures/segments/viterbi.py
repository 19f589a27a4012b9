"""Semi-Markov Viterbi: the best of all segmentations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.core.vectors import argmax_of, max_of

if TYPE_CHECKING:
    from structlearn.structures.segments.segments import SegmentsRecord


class SegmentScores(NamedTuple):
    """Scores of segmentations of length L over K labels; n = K + 1 states where there are gaps, else K.

    rows : (L, n + 2 K): of a token in a segment of each state; of the first, and of the last token of one.
    whole : (L * M * K,) of whole segments, by first token, length less 1 and label; empty where not scored.
    steps : (n, n) as (from, to). lengths : (M, K). start, end : (n,), or empty.
    """

    rows: Array
    whole: Array
    steps: Array
    lengths: Array
    start: Array
    end: Array


class SegmentScratch(NamedTuple):
    """Scratch memory of `_best_prefixes`.

    best : (L, n) score of the best prefix whose last segment ends with token t, in each state.
    enter : (L, n) of the best one before a segment that begins with token t, the score to begin included.
    inside : (K,) of the tokens of a segment.
    """

    best: Array
    enter: Array
    inside: Array


@kernel
def segment_scores(structure: SegmentsRecord, length: int, theta: Array, shared: Array) -> SegmentScores:
    """Return the scores as tables."""
    k, most = structure.n_labels, structure.max_length
    n = k + int(structure.gaps)
    n_rows = length * (n + 2 * k)
    m = n * n + most * k
    start = shared[m : m + (n if structure.start else 0)]
    end = shared[shared.size - (n if structure.end else 0) :]
    steps, lengths = shared[: n * n].reshape(n, n), shared[n * n : m].reshape(most, k)
    return SegmentScores(
        theta[:n_rows].reshape(length, n + 2 * k), theta[n_rows:], steps, lengths, start, end
    )


@kernel
def _best_prefixes(scores: SegmentScores, work: SegmentScratch) -> None:
    """best_t[k] <- last_t[k] + max_l enter_(t-l+1)[k] + its l tokens + lengths[l, k] + the whole segment's.

    enter_t[k] is first_t[k] + max_j best_(t-1)[j] + steps[j, k].
    """
    rows, whole, steps, lengths, start, end = scores
    best, enter, inside = work
    n, (most, n_labels) = steps.shape[0], lengths.shape
    for t in range(rows.shape[0]):
        for k in range(n):
            enter[t, k] = -np.inf if t > 0 else (start[k] if start.size > 0 else 0.0)
        for j in range(n if t > 0 else 0):
            a = best[t - 1, j]
            for k in range(n):
                enter[t, k] = max(enter[t, k], a + steps[j, k])
        for k in range(n_labels):
            enter[t, k] += rows[t, n + k]
            best[t, k] = -np.inf
            inside[k] = 0.0
        for m in range(min(most, t + 1)):
            s = t - m
            at = (s * most + m) * n_labels
            for k in range(n_labels):
                inside[k] += rows[s, k]
                own = whole[at + k] if whole.size > 0 else 0.0
                best[t, k] = max(best[t, k], enter[s, k] + inside[k] + lengths[m, k] + own)
        for k in range(n_labels):
            best[t, k] += rows[t, n + n_labels + k]
        for k in range(n_labels, n):
            best[t, k] = enter[t, k] + rows[t, k]
    for k in range(end.size):
        best[rows.shape[0] - 1, k] += end[k]


@kernel
def best_segmentation_score(scores: SegmentScores, work: SegmentScratch) -> float:
    """Return the score of the best segmentation."""
    _best_prefixes(scores, work)
    return max_of(work.best[scores.rows.shape[0] - 1])


@kernel
def best_segments(scores: SegmentScores, work: SegmentScratch, vertex: Array) -> float:
    """vertex <- the parts of the best segmentation, laid out as the scores; its score.

    The forward pass keeps no back-pointers; the way back finds each segment and its predecessor again.
    """
    _best_prefixes(scores, work)
    rows, whole, steps, lengths, start, end = scores
    best, n, n_labels = work.best, steps.shape[0], lengths.shape[1]
    vertex[:] = 0.0
    shared = vertex[rows.size + whole.size :]
    t = rows.shape[0] - 1
    k = argmax_of(best[t])
    value = best[t, k]
    if end.size > 0:
        shared[shared.size - n + k] = 1.0
    while t >= 0:
        m = _best_length(scores, work, t, k) if k < n_labels else 0
        s = t - m
        for u in range(s, t + 1):
            vertex[u * rows.shape[1] + k] = 1.0
        if k < n_labels:
            vertex[s * rows.shape[1] + n + k] = 1.0
            vertex[t * rows.shape[1] + n + n_labels + k] = 1.0
            shared[n * n + m * n_labels + k] += 1.0
            if whole.size > 0:
                vertex[rows.size + (s * lengths.shape[0] + m) * n_labels + k] = 1.0
        t = s - 1
        if t >= 0:
            before = 0
            for j in range(1, n):
                before = j if best[t, j] + steps[j, k] > best[t, before] + steps[before, k] else before
            shared[before * n + k] += 1.0
            k = before
        elif start.size > 0:
            shared[n * n + lengths.size + k] = 1.0
    return value


@kernel
def _best_length(scores: SegmentScores, work: SegmentScratch, t: int, k: int) -> int:
    """Return the length, less 1, of the last segment of the best prefix that ends at token t in label k."""
    rows, whole, _, lengths, _, _ = scores
    most, n_labels = lengths.shape
    found, value, inside = 0, -np.inf, 0.0
    for m in range(min(most, t + 1)):
        inside += rows[t - m, k]
        own = whole[((t - m) * most + m) * n_labels + k] if whole.size > 0 else 0.0
        score = work.enter[t - m, k] + inside + lengths[m, k] + own
        if score > value:
            found, value = m, score
    return found
