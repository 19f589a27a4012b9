"""Semi-Markov forward-backward: the marginals of p(y) ~ exp <theta, y> over segmentations, and log Z.

In logarithms, safe for all scores. The forward pass keeps the exponentials that it adds up: the way back is
backward smoothing, which only takes ratios within one sum, and needs no exponential.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.core.contract import Array, Shape
from structlearn.core.kernels import jitable, kernel
from structlearn.core.vectors import max_of, sum_of_exp
from structlearn.structures.chain.exponential import exponential
from structlearn.structures.chain.logarithms import LOWEST
from structlearn.structures.regularized import clip_entropy
from structlearn.structures.segments.viterbi import SegmentScores, segment_scores

if TYPE_CHECKING:
    from structlearn.structures.segments.segments import SegmentsRecord


class ForwardScratch(NamedTuple):
    """Scratch memory of forward-backward.

    ahead : (L, n) log sum of all prefixes whose last segment ends with token t, less the largest.
    largest : (L,) that largest, by which the scores of token t are lowered in all later sums.
    enter : (L, n) log sum before a segment that begins with token t, the score to begin included.
    pairs : (L, n * n) the exponentials of the sum over the state before, relative to the largest.
    cuts : (L, M * K) those of the sum over lengths.
    of_pairs, of_cuts : (2, L, n) and (2, L, K) their sums, and the entropies of the shares in them.
    begun, ended : (L, n) probabilities that a segment begins, and ends, with token t.
    below : (max(n * n, M * K),) exponents. row : (n,)
    found : (1,) the entropy, which the way back adds up.
    """

    ahead: Array
    largest: Array
    enter: Array
    pairs: Array
    cuts: Array
    of_pairs: Array
    of_cuts: Array
    begun: Array
    ended: Array
    below: Array
    row: Array
    found: Array


@jitable
def segment_marginals_workspace(structure: SegmentsRecord, shape: Shape) -> ForwardScratch:
    length, k, most = shape[0], structure.n_labels, structure.max_length
    n = k + int(structure.gaps)
    return ForwardScratch(
        np.empty((length, n)),
        np.empty(length),
        np.empty((length, n)),
        np.empty((length, n * n)),
        np.empty((length, most * k)),
        np.empty((2, length, n)),
        np.empty((2, length, k)),
        np.empty((length, n)),
        np.empty((length, n)),
        np.empty(max(n * n, most * k)),
        np.empty(n),
        np.zeros(1),
    )


@kernel
def segment_marginals(
    structure: SegmentsRecord, shape: Shape, theta: Array, shared: Array, work: ForwardScratch, mean: Array
) -> float:
    scores = segment_scores(structure, shape[0], theta, shared)
    value = _log_forward(scores, work)
    mean[:] = 0.0
    if value > -np.inf:
        _backward(scores, work, mean)
    return value


@kernel
def segment_log_partition(
    structure: SegmentsRecord, shape: Shape, theta: Array, shared: Array, work: ForwardScratch, mean: Array
) -> float:
    return _log_forward(segment_scores(structure, shape[0], theta, shared), work)


@kernel
def segment_entropy(
    structure: SegmentsRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: ForwardScratch,
    mean: Array,
    log_z: float,
) -> float:
    """Return H after `segment_marginals`, by the chain rule: terms that are not negative."""
    n = structure.n_labels + int(structure.gaps)
    return clip_entropy(work.found[0], shape[0] * np.log(n) + (shape[0] - 1) * np.log(2.0))


@kernel
def segment_probabilities(structure: SegmentsRecord, length: int, theta: Array, shared: Array) -> Array:
    """Return p of each segment, (L, M, K) by first token, length less 1 and label; NaN if none is allowed."""
    n_labels, most = structure.n_labels, structure.max_length
    found = np.zeros((length, most, n_labels))
    work = segment_marginals_workspace(structure, (length, 0))
    mean = np.empty(theta.size + shared.size)
    if segment_marginals(structure, (length, 0), theta, shared, work, mean) == -np.inf:
        found[:] = np.nan
        return found
    for t in range(length):
        for k in range(n_labels):
            if work.ended[t, k] > 0.0:
                scale = work.ended[t, k] / work.of_cuts[0, t, k]
                for m in range(min(most, t + 1)):
                    found[t - m, m, k] = min(scale * work.cuts[t, m * n_labels + k], 1.0)
    return found


# ---- forward -----------------------------------------------------------------------------------------


@kernel
def _log_forward(scores: SegmentScores, work: ForwardScratch) -> float:
    """Return log Z; leave what `ForwardScratch` says."""
    rows, whole, steps, lengths, start, end = scores
    ahead, enter, below, row = work.ahead, work.enter, work.below, work.row
    length, n = rows.shape[0], steps.shape[0]
    most, n_labels = lengths.shape
    log_z = 0.0
    for t in range(length):
        # 1. The sum over the state before.
        if t == 0:
            for k in range(n):
                enter[0, k] = start[k] if start.size > 0 else 0.0
        else:
            for j in range(n):
                for k in range(n):
                    below[j * n + k] = ahead[t - 1, j] + steps[j, k]
            _add_up(below, n, n, work.pairs[t], work.of_pairs[:, t], row)
            for k in range(n):
                enter[t, k] = row[k]
        # 2. The sum over lengths; tokens before t are lowered by their largest.
        for k in range(n_labels):
            enter[t, k] += rows[t, n + k]
            row[k] = 0.0
        shortest = min(most, t + 1)
        for m in range(shortest):
            s = t - m
            at = (s * most + m) * n_labels
            lowered = work.largest[s] if m > 0 else 0.0
            for k in range(n_labels):
                row[k] += rows[s, k] - lowered
                own = whole[at + k] if whole.size > 0 else 0.0
                below[m * n_labels + k] = enter[s, k] + row[k] + lengths[m, k] + own
        _add_up(below, shortest, n_labels, work.cuts[t], work.of_cuts[:, t], row)
        for k in range(n_labels):
            ahead[t, k] = row[k] + rows[t, n + n_labels + k]
        for k in range(n_labels, n):
            ahead[t, k] = enter[t, k] + rows[t, k]
        if t == length - 1:
            for k in range(end.size):
                ahead[t, k] += end[k]
        # 3. No prefix may end here at all: a longer segment passes.
        best = max_of(ahead[t, :n])
        work.largest[t] = best if best > -np.inf else 0.0
        log_z += work.largest[t]
        for k in range(n):
            ahead[t, k] -= work.largest[t]
    total = sum_of_exp(ahead[length - 1, :n])
    return log_z + np.log(total) if total > 0.0 else -np.inf


@kernel
def _add_up(below: Array, count: int, n: int, shares: Array, sums: Array, row: Array) -> None:
    """row[k] <- log sum_i exp below[i, k] of a (count, n) table, which becomes relative to the largest.

    shares <- the exponentials, sums[0] <- their sums, sums[1] <- the entropies of the shares in them.
    """
    for k in range(n):
        row[k] = below[k]
    for i in range(1, count):
        for k in range(n):
            row[k] = max(row[k], below[i * n + k])
    for k in range(n):
        row[k] = row[k] if row[k] > -np.inf else 0.0
        sums[0, k] = 0.0
        sums[1, k] = 0.0
    for i in range(count):
        for k in range(n):
            below[i * n + k] -= row[k]
    for i in range(count * n):
        shares[i] = exponential(below[i])
    for i in range(count):
        for k in range(n):
            sums[0, k] += shares[i * n + k]
            sums[1, k] -= shares[i * n + k] * max(below[i * n + k], LOWEST)
    for k in range(n):
        log_sum = np.log(sums[0, k])
        row[k] += log_sum
        sums[1, k] = log_sum + sums[1, k] / sums[0, k] if sums[0, k] > 0.0 else 0.0


# ---- and back ----------------------------------------------------------------------------------------


@kernel
def _backward(scores: SegmentScores, work: ForwardScratch, mean: Array) -> None:
    """p(ends with t, l tokens, k) = p(ends with t, k) share of l;  p(j before k at t) = p(begins) share of j.

    H = H(last state) + the entropies of the shares, weighted by the probabilities of what they divide.
    """
    rows, whole, steps, lengths, start, end = scores
    begun, ended = work.begun, work.ended
    length, n = rows.shape[0], steps.shape[0]
    local = mean[: rows.size].reshape(rows.shape)
    segments, shared = mean[rows.size : rows.size + whole.size], mean[rows.size + whole.size :]
    begun[:] = 0.0
    ended[:] = 0.0
    entropy = _last(work, length, n)
    for t in range(length - 1, -1, -1):
        entropy += _divide_by_length(scores, work, t, local, segments, shared[n * n :])
        if t > 0:
            entropy += _divide_by_state(work, t, n, shared)
    work.found[0] = entropy
    _set_edges(work, local, n, lengths.shape[1])
    for k in range(start.size):
        shared[n * n + lengths.size + k] = min(begun[0, k], 1.0)
    for k in range(end.size):
        shared[shared.size - n + k] = min(ended[length - 1, k], 1.0)
    for i in range(rows.size + whole.size):
        mean[i] = min(mean[i], 1.0)
    for i in range(n * n):
        shared[i] = min(shared[i], length - 1.0)
    for i in range(lengths.size):
        shared[n * n + i] = min(shared[n * n + i], 1.0 * (length // (i // lengths.shape[1] + 1)))


@kernel
def _last(work: ForwardScratch, length: int, n: int) -> float:
    """ended_L <- probabilities of the last state; their entropy."""
    ahead, ended = work.ahead[length - 1], work.ended[length - 1]
    total = sum_of_exp(ahead[:n])
    entropy = np.log(total)
    for k in range(n):
        ended[k] = min(np.exp(ahead[k]) / total, 1.0)
        entropy -= ended[k] * max(ahead[k], LOWEST)
    return entropy


@kernel
def _divide_by_length(
    scores: SegmentScores, work: ForwardScratch, t: int, local: Array, segments: Array, by_length: Array
) -> float:
    """Spread ended_t over lengths, longest first, so that a sum of segments covers each token; entropy."""
    most, n_labels = scores.lengths.shape
    n = scores.steps.shape[0]
    begun, ended, row = work.begun, work.ended, work.row
    entropy = 0.0
    for k in range(n_labels):
        there = ended[t, k] > 0.0
        entropy += ended[t, k] * work.of_cuts[1, t, k] if there else 0.0
        work.below[k] = ended[t, k] / work.of_cuts[0, t, k] if there else 0.0
        row[k] = 0.0
    for m in range(min(most, t + 1) - 1, -1, -1):
        s = t - m
        for k in range(n_labels):
            share = work.below[k] * work.cuts[t, m * n_labels + k]
            row[k] += share
            local[s, k] += row[k]
            begun[s, k] += share
            by_length[m * n_labels + k] += share
            if segments.size > 0:
                segments[(s * most + m) * n_labels + k] = share
    for k in range(n_labels, n):
        local[t, k] = ended[t, k]
        begun[t, k] = ended[t, k]
    return entropy


@kernel
def _divide_by_state(work: ForwardScratch, t: int, n: int, pairs: Array) -> float:
    """Spread begun_t over the states before; entropy."""
    begun, ended, row = work.begun, work.ended, work.row
    entropy = 0.0
    for k in range(n):
        there = begun[t, k] > 0.0
        entropy += begun[t, k] * work.of_pairs[1, t, k] if there else 0.0
        row[k] = begun[t, k] / work.of_pairs[0, t, k] if there else 0.0
    for j in range(n):
        through = 0.0
        for k in range(n):
            share = row[k] * work.pairs[t, j * n + k]
            pairs[j * n + k] += share
            through += share
        ended[t - 1, j] = through
    return entropy


@kernel
def _set_edges(work: ForwardScratch, local: Array, n: int, n_labels: int) -> None:
    for t in range(local.shape[0]):
        for k in range(n_labels):
            local[t, n + k] = work.begun[t, k]
            local[t, n + n_labels + k] = work.ended[t, k]
