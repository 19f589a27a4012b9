"""Viterbi over candidate labels: a position takes time by its candidates and the listed steps between."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel, leaf
from structlearn.core.vectors import argmax_of, max_of
from structlearn.structures.chain.sparse_viterbi import SparseRecord


class CandidateRecord(NamedTuple):
    """Compiled form of `CandidateChain`: candidates of all positions of all examples, end to end.

    Example g has the positions rows[g]:rows[g + 1]; position t has the parts first[t]:first[t + 1], whose
    labels are in increasing order. The shape of an example is (its number of parts, g). At most an example
    has `largest` parts and `longest` positions, and a position `most` parts.
    """

    steps: SparseRecord
    rows: Array
    first: Array
    label: Array
    largest: int
    longest: int
    most: int


class StepScratch(NamedTuple):
    """Listed steps between the candidates of two neighbouring positions.

    place : (K,) the part of each label at the later position; anything for others
    before, after, number : parts at both positions, and the number of the step
    """

    place: Array
    before: Array
    after: Array
    number: Array


class CandidatePathScratch(NamedTuple):
    """Scratch memory of Viterbi's algorithm: best prefixes by part, prefixes not looked at, open parts."""

    best: Array
    left: Array
    open: Array
    steps: StepScratch


def step_scratch(record: CandidateRecord) -> StepScratch:
    """Allocate room for the listed steps between any two neighbouring positions."""
    n = min(record.most**2, record.steps.after.size)
    room = [np.empty(n, dtype=np.int64) for _ in range(3)]
    return StepScratch(np.empty(record.steps.n_labels, dtype=np.int64), *room)


@leaf
def find_step(steps: SparseRecord, before: int, after: int) -> int:
    """Return the number of a step; -1 for one that is not listed."""
    low, high = steps.first[before], steps.first[before + 1]
    if high - low == steps.n_labels:
        return low + after
    while low < high:
        middle = (low + high) // 2
        if steps.after[middle] == after:
            return middle
        if steps.after[middle] < after:
            low = middle + 1
        else:
            high = middle
    return -1


@kernel
def list_steps(
    record: CandidateRecord, base: int, begin: int, middle: int, end: int, work: StepScratch
) -> int:
    """Find the listed steps from parts begin .. middle - 1 to parts middle .. end - 1; return how many.

    From each label, either the steps are looked through or the candidates looked up, whichever is fewer.
    """
    steps, label, place, n = record.steps, record.label, work.place, 0
    for q in range(middle, end):
        place[label[base + q]] = q
    for p in range(begin, middle):
        j = label[base + p]
        if steps.first[j + 1] - steps.first[j] <= end - middle:
            for e in range(steps.first[j], steps.first[j + 1]):
                q = place[steps.after[e]]
                if middle <= q < end and label[base + q] == steps.after[e]:
                    work.before[n], work.after[n], work.number[n] = p, q, e
                    n += 1
        else:
            for q in range(middle, end):
                e = find_step(steps, j, label[base + q])
                if e >= 0:
                    work.before[n], work.after[n], work.number[n] = p, q, e
                    n += 1
    return n


@kernel
def _best_unlisted(
    record: CandidateRecord, base: int, begin: int, middle: int, end: int, work: CandidatePathScratch
) -> None:
    """best[q] <- max of best[p] over steps p -> q that are not listed; -inf where there is none, or not free.

    The best prefix serves all parts to which it lists no step, the next one those that are left ...
    """
    best, left, still, n_open = work.best, work.left, work.open, end - middle
    for q in range(middle, end):
        best[q] = -np.inf
        still[q - middle] = q
    if not record.steps.free:
        return
    for p in range(begin, middle):
        left[p - begin] = best[p]
    while n_open > 0:
        at = argmax_of(left[: middle - begin])
        if left[at] == -np.inf:
            return
        kept = 0
        for i in range(n_open):
            q = still[i]
            if find_step(record.steps, record.label[base + begin + at], record.label[base + q]) >= 0:
                still[kept] = q
                kept += 1
            else:
                best[q] = left[at]
        n_open = kept
        left[at] = -np.inf


@kernel
def candidate_value(
    record: CandidateRecord, example: int, theta: Array, shared: Array, work: CandidatePathScratch
) -> float:
    """best[p] <- score of the best prefix that ends with part p; return the score of the best sequence."""
    first, best, steps = record.first, work.best, work.steps
    row = record.rows[example]
    base, begin, middle = first[row], 0, first[row + 1] - first[row]
    for p in range(middle):
        best[p] = theta[p]
    for t in range(row + 1, record.rows[example + 1]):
        end = first[t + 1] - base
        _best_unlisted(record, base, begin, middle, end, work)
        n = list_steps(record, base, begin, middle, end, steps)
        for i in range(n):
            q = steps.after[i]
            best[q] = max(best[q], best[steps.before[i]] + shared[steps.number[i]])
        for q in range(middle, end):
            best[q] += theta[q]
        begin, middle = middle, end
    return max_of(best[begin:middle])


@kernel
def candidate_path(
    record: CandidateRecord,
    example: int,
    theta: Array,
    shared: Array,
    work: CandidatePathScratch,
    vertex: Array,
) -> float:
    """vertex <- labels and listed steps of the best sequence; return its score."""
    value = candidate_value(record, example, theta, shared, work)
    first, label, best, left = record.first, record.label, work.best, work.left
    row, last = record.rows[example], record.rows[example + 1] - 1
    base = first[row]
    vertex[:] = 0.0
    begin, end = first[last] - base, first[last + 1] - base
    q = begin + argmax_of(best[begin:end])
    for t in range(last, row, -1):
        vertex[q] = 1.0
        begin, end = first[t - 1] - base, first[t] - base
        for p in range(begin, end):
            e = find_step(record.steps, label[base + p], label[base + q])
            score = shared[e] if e >= 0 else 0.0 if record.steps.free else -np.inf
            left[p - begin] = best[p] + score
        p = begin + argmax_of(left[: end - begin])
        e = find_step(record.steps, label[base + p], label[base + q])
        if e >= 0:
            vertex[theta.size + e] += 1.0
        q = p
    vertex[q] = 1.0
    return value
