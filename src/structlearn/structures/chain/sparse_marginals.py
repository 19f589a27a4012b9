"""Forward-backward where only listed steps have scores: O(K + listed steps) per position, not K^2.

With c = exp(-largest) for every step that is not listed (0 where it is forbidden) and, for listed steps,
extra = exp(score - largest) - c,

    ahead_t[k] = unary_t[k] (c sum_j ahead_(t-1)[j] + sum over listed j -> k of ahead_(t-1)[j] extra[j -> k])

scaled to sum 1. A negative `extra` cancels: what is left is right to about exp(-least score) units, so that
scores below `LEAST_SCORE`, like spans that underflow, are left to the dense recursion in logarithms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array, Shape
from structlearn.core.kernels import jitable, kernel
from structlearn.core.rounding import UNIT
from structlearn.structures.chain.exponential import exponential
from structlearn.structures.chain.logarithms import LOWEST, log_backward, log_forward
from structlearn.structures.chain.sparse_viterbi import SparseRecord
from structlearn.structures.chain.viterbi import SequenceScores
from structlearn.structures.regularized import clip_entropy

#: Scores of listed steps below this, where others are free, are left to logarithms.
LEAST_SCORE = -8.0
#: Relative error that cancelling leaves, at most, per position.
CANCELLED = 1e-12
_WIDEST_FREE, WIDEST, SMALLEST = 300.0, 150.0, 1e-150  # as in `marginals.py`


class SparseScratch(NamedTuple):
    """Scratch memory of forward-backward over listed steps.

    facts : the largest score, c, whether scaled probabilities are safe, and how much cancelling may magnify
    found : log Z less the largest scores, NaN after the recursion in logarithms; its entropy
    known : (m,) the scores that `full` (exp(score - largest)) and `extra` are made of
    below, unary, ahead, back : (L, K), as in `ChainScratch`; row : (K,)
    dense, pairs, spare : tables of the recursion in logarithms, which touches them first
    """

    known: Array
    facts: Array
    found: Array
    full: Array
    extra: Array
    below: Array
    unary: Array
    ahead: Array
    back: Array
    row: Array
    dense: Array
    pairs: Array
    spare: Array


@jitable
def sparse_marginals_workspace(record: SparseRecord, shape: Shape) -> SparseScratch:
    n, m, size = record.n_labels, record.after.size, (shape[0], record.n_labels)
    return SparseScratch(
        np.full(m, np.nan),
        np.array([np.nan, 0.0, 0.0, 1.0]),
        np.zeros(2),
        np.empty(m),
        np.empty(m),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(n),
        np.empty((1, n, n)),
        np.empty((1, n, n)),
        np.empty(size),
    )


@kernel
def exponentiate_steps(record: SparseRecord, shared: Array, work: SparseScratch) -> None:
    """Set facts, full and extra, if the scores are new."""
    facts, known = work.facts, work.known
    changed = np.isnan(facts[0])
    for e in range(shared.size):
        changed |= known[e] != shared[e]
    if not changed:
        return
    largest, least = (0.0, 0.0) if record.free else (-np.inf, np.inf)
    for e in range(shared.size):
        known[e] = shared[e]
        largest, least = max(largest, shared[e]), min(least, shared[e])
    largest = max(largest, -1e300)
    facts[0] = largest
    facts[1] = exponential(-largest) if record.free else 0.0
    facts[3] = exponential(-max(least, LEAST_SCORE)) if record.free else 1.0
    if record.free:
        facts[2] = 1.0 if least >= LEAST_SCORE and largest - least <= _WIDEST_FREE else 0.0
    else:
        facts[2] = 1.0 if largest - least <= WIDEST else 0.0
    for e in range(shared.size):
        work.full[e] = exponential(shared[e] - largest)
        work.extra[e] = work.full[e] - facts[1]


@kernel
def _exponentiate_labels(record: SparseRecord, length: int, theta: Array, work: SparseScratch) -> float:
    """unary_t <- exp(below_t), below_t <- score - largest_t; the sum of the largest, NaN where not safe."""
    n, value = record.n_labels, 0.0
    for t in range(length):
        largest = -np.inf
        for k in range(n):
            largest = max(largest, theta[t * n + k])
        if largest == -np.inf:
            return largest
        wide = 0
        for k in range(n):
            below = theta[t * n + k] - largest
            work.below[t, k] = below
            wide += (below > -np.inf) & (below < -WIDEST)
        if wide > 0 and not record.free:
            return np.nan
        for k in range(n):
            work.unary[t, k] = exponential(work.below[t, k])
        value += largest
    return value


@kernel
def _step_ahead(record: SparseRecord, work: SparseScratch, before: Array, here: Array) -> None:
    """here[k] <- sum_j before[j] exp(step j -> k), where `before` sums to 1."""
    first, after, extra = record.first, record.after, work.extra
    here[:] = work.facts[1]
    for j in range(record.n_labels):
        a = before[j]
        if a > 0.0:
            for e in range(first[j], first[j + 1]):
                here[after[e]] += a * extra[e]


@kernel
def sparse_forward(
    record: SparseRecord, length: int, theta: Array, shared: Array, work: SparseScratch
) -> float:
    """ahead_t <- scaled prefixes; returns log Z, NaN where logarithms are needed."""
    n, ahead = record.n_labels, work.ahead
    exponentiate_steps(record, shared, work)
    if length > 1 and work.facts[2] == 0.0:
        return np.nan
    log_z = _exponentiate_labels(record, length, theta, work)
    if not log_z > -np.inf:
        return log_z
    rest = 0.0
    for t in range(length):
        if t == 0:
            ahead[0] = 1.0
        else:
            _step_ahead(record, work, ahead[t - 1], ahead[t])
        total, small = 0.0, 0
        for k in range(n):
            ahead[t, k] = max(ahead[t, k], 0.0) * work.unary[t, k]
            total += ahead[t, k]
        if total == 0.0:
            return np.nan if record.free else -np.inf
        for k in range(n):
            ahead[t, k] /= total
            small += (ahead[t, k] > 0.0) & (ahead[t, k] < SMALLEST)
        if small > 0 and not record.free:
            return np.nan
        rest += np.log(total)
    work.found[0] = rest
    return log_z + rest + (length - 1) * (work.facts[0] if length > 1 else 0.0)


@kernel
def _step_back(record: SparseRecord, work: SparseScratch, t: int) -> None:
    """row[j] <- sum_k exp(step j -> k) back_t[k]."""
    first, after, extra, back = record.first, record.after, work.extra, work.back[t]
    total = 0.0
    for k in range(record.n_labels):
        total += back[k]
    total *= work.facts[1]
    for j in range(record.n_labels):
        found = total
        if work.ahead[t - 1, j] > 0.0:
            for e in range(first[j], first[j + 1]):
                found += extra[e] * back[after[e]]
        work.row[j] = max(found, 0.0)


@kernel
def sparse_backward(record: SparseRecord, length: int, work: SparseScratch, mean: Array) -> None:
    """mean <- marginals of labels and, summed over positions, of listed steps, from scaled prefixes."""
    n, ahead, back, row = record.n_labels, work.ahead, work.back, work.row
    steps = mean[length * n :]
    steps[:] = 0.0
    row[:] = 1.0
    for k in range(n):
        mean[(length - 1) * n + k] = min(ahead[length - 1, k], 1.0)
    for t in range(length - 1, 0, -1):
        for k in range(n):
            back[t, k] = work.unary[t, k] * row[k] if ahead[t, k] > 0.0 else 0.0
        _step_back(record, work, t)
        total = 0.0
        for j in range(n):
            total += ahead[t - 1, j] * row[j]
        for j in range(n):
            row[j] /= total
            a = ahead[t - 1, j]
            mean[(t - 1) * n + j] = min(a * row[j], 1.0)
            if a > 0.0:
                for e in range(record.first[j], record.first[j + 1]):
                    steps[e] += a / total * back[t, record.after[e]] * work.full[e]
    for e in range(steps.size):
        steps[e] = min(steps[e], length - 1.0)


@kernel
def dense_scores(
    record: SparseRecord, length: int, theta: Array, shared: Array, work: SparseScratch
) -> SequenceScores:
    """Return the scores with a table of all steps, for the recursion in logarithms."""
    work.dense[:] = 0.0 if record.free else -np.inf
    for e in range(shared.size):
        work.dense[0, record.before[e], record.after[e]] = shared[e]
    none = theta[:0]
    return SequenceScores(theta.reshape(length, record.n_labels), work.dense, none, none)


@kernel
def log_marginals(
    record: SparseRecord, length: int, theta: Array, shared: Array, work: SparseScratch, mean: Array
) -> float:
    """mean <- the marginals by logarithms, found <- NaN and their entropy; return log Z."""
    n, scores = record.n_labels, dense_scores(record, length, theta, shared, work)
    value = log_forward(scores, work.ahead, work.back, work.spare)
    work.found[0] = np.nan
    if value > -np.inf:
        local = mean[: length * n].reshape(length, n)
        work.found[1] = log_backward(
            scores.steps, work.ahead, work.back, work.spare, work.row, local, work.pairs
        )
        for e in range(shared.size):
            mean[length * n + e] = work.pairs[0, record.before[e], record.after[e]]
    return value


@kernel
def sparse_log_partition(
    record: SparseRecord, shape: Shape, theta: Array, shared: Array, work: SparseScratch, mean: Array
) -> float:
    value = sparse_forward(record, shape[0], theta, shared, work)
    if np.isnan(value):
        scores = dense_scores(record, shape[0], theta, shared, work)
        value = log_forward(scores, work.ahead, work.back, work.spare)
    return value


@kernel
def sparse_marginals(
    record: SparseRecord, shape: Shape, theta: Array, shared: Array, work: SparseScratch, mean: Array
) -> float:
    length = shape[0]
    value = sparse_forward(record, length, theta, shared, work)
    if value > -np.inf:
        sparse_backward(record, length, work, mean)
    elif np.isnan(value):
        value = log_marginals(record, length, theta, shared, work, mean)
    if value == -np.inf:
        mean[:] = 0.0
    return value


@kernel
def sparse_entropy(
    record: SparseRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: SparseScratch,
    mean: Array,
    log_z: float,
) -> float:
    """Return H after `sparse_marginals`."""
    length, n = shape[0], record.n_labels
    below = work.below.reshape(work.below.size)[: length * n]
    return entropy_left(length, n, length * np.log(n), shared, work, below, mean)


@kernel
def entropy_left(
    length: int, n: int, most: float, shared: Array, work: SparseScratch, below: Array, mean: Array
) -> float:
    """Return H: log Z - <theta, mean>, less what rounding may add; `most` is a bound on it.

    below : scores of labels less the largest of their positions, as `mean` begins with theirs
    n : at most how many labels a position has

    Cancelling does what a change of every step's score by facts[3] units would do: to H, that times L.
    """
    if np.isnan(work.found[0]):
        return clip_entropy(work.found[1], most)
    inner = -(length - 1) * work.facts[0] if length > 1 else 0.0
    size = abs(work.found[0]) + abs(inner) + length
    for p in range(below.size):
        part = max(below[p], LOWEST) * mean[p]
        inner += part
        size -= part
    for e in range(shared.size):
        part = shared[e] * mean[below.size + e]
        inner += part
        size += abs(part)
    rounding = 8.0 * UNIT * ((length + n) * size + length * work.facts[3])
    return clip_entropy(work.found[0] - inner - rounding, most)
