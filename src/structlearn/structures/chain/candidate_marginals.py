"""Forward-backward over candidate labels, with scaled probabilities as in `sparse_marginals.py`.

Scores for which those are not safe are left to the recursion in logarithms over all labels, of which those
that are no candidates have the score -inf.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array, Shape
from structlearn.core.kernels import jitable, kernel
from structlearn.structures.chain.candidate_viterbi import (
    CandidateRecord,
    StepScratch,
    list_steps,
    step_scratch,
)
from structlearn.structures.chain.exponential import exponential
from structlearn.structures.chain.sparse_marginals import (
    SMALLEST,
    WIDEST,
    SparseScratch,
    entropy_left,
    exponentiate_steps,
    log_marginals,
    sparse_marginals_workspace,
)


class CandidateScratch(NamedTuple):
    """Scratch memory of forward-backward.

    below, unary, ahead, back, row : by part, as in `SparseScratch`
    all : scratch memory of steps, and of the recursion over all labels, which touches its tables first
    theta, mean : scores and marginals of all labels and steps
    """

    below: Array
    unary: Array
    ahead: Array
    back: Array
    row: Array
    steps: StepScratch
    all: SparseScratch
    theta: Array
    mean: Array


@jitable
def candidate_marginals_workspace(record: CandidateRecord, shape: Shape) -> CandidateScratch:
    n_all = record.longest * record.steps.n_labels
    return CandidateScratch(
        np.empty(record.largest),
        np.empty(record.largest),
        np.empty(record.largest),
        np.empty(record.largest),
        np.empty(record.largest),
        step_scratch(record),
        sparse_marginals_workspace(record.steps, (record.longest, record.steps.n_labels)),
        np.empty(n_all),
        np.empty(n_all + record.steps.after.size),
    )


@kernel
def _exponentiate_labels(
    record: CandidateRecord, example: int, theta: Array, work: CandidateScratch
) -> float:
    """unary <- exp(below), below <- score - largest of the position; the sum of the largest, NaN: unsafe."""
    first, value, wide = record.first, 0.0, 0
    base = first[record.rows[example]]
    for t in range(record.rows[example], record.rows[example + 1]):
        begin, end = first[t] - base, first[t + 1] - base
        largest = -np.inf
        for p in range(begin, end):
            largest = max(largest, theta[p])
        if largest == -np.inf:
            return largest
        for p in range(begin, end):
            below = theta[p] - largest
            work.below[p] = below
            wide += (below > -np.inf) & (below < -WIDEST)
        value += largest
    if wide > 0 and not record.steps.free:
        return np.nan
    for p in range(theta.size):
        work.unary[p] = exponential(work.below[p])
    return value


@kernel
def _scale(record: CandidateRecord, work: CandidateScratch, begin: int, end: int) -> float:
    """ahead <- ahead * unary at one position, scaled to sum 1; return the sum, NaN where it is not safe."""
    ahead, total, small = work.ahead, 0.0, 0
    for p in range(begin, end):
        ahead[p] = max(ahead[p], 0.0) * work.unary[p]
        total += ahead[p]
    if total == 0.0:
        return np.nan if record.steps.free else 0.0
    for p in range(begin, end):
        ahead[p] /= total
        small += (ahead[p] > 0.0) & (ahead[p] < SMALLEST)
    return np.nan if small > 0 and not record.steps.free else total


@kernel
def _forward(
    record: CandidateRecord, example: int, theta: Array, shared: Array, work: CandidateScratch
) -> float:
    """ahead <- scaled prefixes; returns log Z, NaN where logarithms are needed."""
    first, ahead, steps, facts = record.first, work.ahead, work.steps, work.all.facts
    row, stop = record.rows[example], record.rows[example + 1]
    exponentiate_steps(record.steps, shared, work.all)
    if stop - row > 1 and facts[2] == 0.0:
        return np.nan
    log_z = _exponentiate_labels(record, example, theta, work)
    if not log_z > -np.inf:
        return log_z
    base, begin, middle, rest = first[row], 0, 0, 0.0
    for t in range(row, stop):
        end = first[t + 1] - base
        for q in range(middle, end):
            ahead[q] = facts[1] if t > row else 1.0
        if t > row:
            n = list_steps(record, base, begin, middle, end, steps)
            for i in range(n):
                ahead[steps.after[i]] += ahead[steps.before[i]] * work.all.extra[steps.number[i]]
        total = _scale(record, work, middle, end)
        if not total > 0.0:
            return -np.inf if total == 0.0 else np.nan
        rest += np.log(total)
        begin, middle = middle, end
    work.all.found[0] = rest
    return log_z + rest + (stop - row - 1) * (facts[0] if stop - row > 1 else 0.0)


@kernel
def _step_back(
    record: CandidateRecord, base: int, begin: int, middle: int, end: int, work: CandidateScratch, mean: Array
) -> None:
    """row, mean <- for parts begin .. middle - 1; `mean` also of the steps from them."""
    ahead, back, row, steps, total = work.ahead, work.back, work.row, work.steps, 0.0
    for q in range(middle, end):
        back[q] = work.unary[q] * row[q] if ahead[q] > 0.0 else 0.0
        total += back[q]
    for p in range(begin, middle):
        row[p] = total * work.all.facts[1]
    n = list_steps(record, base, begin, middle, end, steps)
    for i in range(n):
        row[steps.before[i]] += work.all.extra[steps.number[i]] * back[steps.after[i]]
    total = 0.0
    for p in range(begin, middle):
        row[p] = max(row[p], 0.0)
        total += ahead[p] * row[p]
    for p in range(begin, middle):
        row[p] /= total
        mean[p] = min(ahead[p] * row[p], 1.0)
    n_local = mean.size - work.all.full.size
    for i in range(n):
        e, a = steps.number[i], ahead[steps.before[i]]
        if a > 0.0:
            mean[n_local + e] += a / total * back[steps.after[i]] * work.all.full[e]


@kernel
def _backward(record: CandidateRecord, example: int, work: CandidateScratch, mean: Array) -> None:
    """mean <- marginals of labels and, summed over positions, of listed steps, from scaled prefixes."""
    first, row, last = record.first, record.rows[example], record.rows[example + 1] - 1
    base = first[row]
    begin, end = first[last] - base, first[last + 1] - base
    for p in range(end, mean.size):
        mean[p] = 0.0
    for p in range(begin, end):
        work.row[p] = 1.0
        mean[p] = min(work.ahead[p], 1.0)
    for t in range(last, row, -1):
        _step_back(record, base, first[t - 1] - base, first[t] - base, first[t + 1] - base, work, mean)
    n_local = first[last + 1] - base
    for p in range(n_local, mean.size):
        mean[p] = min(mean[p], last - row + 0.0)


@kernel
def _log_answer(
    record: CandidateRecord, example: int, theta: Array, shared: Array, work: CandidateScratch, mean: Array
) -> float:
    """mean <- the marginals, by logarithms over all labels; return log Z."""
    n, first, row = record.steps.n_labels, record.first, record.rows[example]
    length, base = record.rows[example + 1] - row, first[row]
    scores, found = work.theta[: length * n], work.mean[: length * n + shared.size]
    scores[:] = -np.inf
    for t in range(length):
        for p in range(first[row + t] - base, first[row + t + 1] - base):
            scores[t * n + record.label[base + p]] = theta[p]
    value = log_marginals(record.steps, length, scores, shared, work.all, found)
    if value == -np.inf:
        return value
    for t in range(length):
        for p in range(first[row + t] - base, first[row + t + 1] - base):
            mean[p] = found[t * n + record.label[base + p]]
    for e in range(shared.size):
        mean[theta.size + e] = found[length * n + e]
    return value


@kernel
def candidate_marginals(
    record: CandidateRecord, shape: Shape, theta: Array, shared: Array, work: CandidateScratch, mean: Array
) -> float:
    value = _forward(record, shape[1], theta, shared, work)
    if value > -np.inf:
        _backward(record, shape[1], work, mean)
    elif np.isnan(value):
        value = _log_answer(record, shape[1], theta, shared, work, mean)
    if value == -np.inf:
        mean[:] = 0.0
    return value


@kernel
def candidate_log_partition(
    record: CandidateRecord, shape: Shape, theta: Array, shared: Array, work: CandidateScratch, mean: Array
) -> float:
    value = _forward(record, shape[1], theta, shared, work)
    return _log_answer(record, shape[1], theta, shared, work, mean) if np.isnan(value) else value


@kernel
def candidate_entropy(
    record: CandidateRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: CandidateScratch,
    mean: Array,
    log_z: float,
) -> float:
    """Return H after `candidate_marginals`."""
    row, stop, most = record.rows[shape[1]], record.rows[shape[1] + 1], 0.0
    for t in range(row, stop):
        most += np.log(record.first[t + 1] - record.first[t])
    return entropy_left(stop - row, record.most, most, shared, work.all, work.below[: theta.size], mean)
