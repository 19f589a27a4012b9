"""The best label sequence under constraints on counts: a search over labels and counts so far, compiled.

Sequences with the same last label and the same counts are one, the better one. Each has a bound on all that
may come of it: its score, the best that may follow with charges taken off (see `prices`), and what the counts
that are left may pay. What cannot beat the best known sequence is dropped. Of the others at most `width` are
kept at a position, by their bounds: the answer is the best of all, or what was left out says how much better
another one may be.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel, leaf
from structlearn.structures.chain.prices import CountedSteps, charge_steps, fill_ahead


class PackedCounts(NamedTuple):
    """How the counts so far are one whole number: (C,) places and masks, and the largest of each that counts.

    open : whether more than `cap` is as good as `cap`, else it breaks a limit
    """

    place: Array
    mask: Array
    cap: Array
    open: Array


class Frontier(NamedTuple):
    """Sequences up to a position: keys of their counts, last labels, scores, bounds, and what they go on."""

    key: Array
    label: Array
    score: Array
    bound: Array
    back: Array


@kernel
def _frontier(size: int) -> Frontier:
    return Frontier(
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int32),
        np.empty(size),
        np.empty(size),
        np.empty(size, dtype=np.int32),
    )


@leaf
def _grow(counted: CountedSteps, packed: PackedCounts, key: int, before: int, label: int) -> Any:
    """Return the key after a step; -1 where it breaks a limit."""
    for c in range(packed.place.size):
        more = counted.event[c, before, label]
        if more == 0:
            continue
        count = ((key >> packed.place[c]) & packed.mask[c]) + more
        if count > packed.cap[c]:
            if packed.open[c] == 0:
                return -1
            count = packed.cap[c]
        key = (key & ~(packed.mask[c] << packed.place[c])) | (count << packed.place[c])
    return key


@leaf
def _left_to_pay(counted: CountedSteps, packed: PackedCounts, price: Array, key: int) -> float:
    """Return the most that the prices of counts to come may pay."""
    found = 0.0
    for c in range(price.size):
        if price[c] != 0.0:
            count = float((key >> packed.place[c]) & packed.mask[c])
            found += price[c] * (
                counted.high[c] - count if price[c] > 0.0 else max(counted.low[c] - count, 0.0)
            )
    return found


@leaf
def _is_whole(counted: CountedSteps, packed: PackedCounts, key: int) -> bool:
    """Return whether no count is below its limit."""
    for c in range(packed.place.size):
        if float((key >> packed.place[c]) & packed.mask[c]) < counted.low[c]:
            return False
    return True


@leaf
def _enter(
    into: Frontier, n: int, table: Array, key: int, label: int, score: float, bound: float, back: int
) -> int:
    """Add a sequence, or let it take the place of a worse one with the same key and label; return n."""
    size = table.size - 1
    mixed = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(label)) * np.uint64(
        0xBF58476D1CE4E5B9
    )
    at = np.int64(mixed >> np.uint64(20)) & size
    while table[at] >= 0:
        q = table[at]
        if into.key[q] == key and into.label[q] == label:
            if score > into.score[q]:
                into.score[q], into.bound[q], into.back[q] = score, bound, back
            return n
        at = (at + 1) & size
    table[at] = n
    into.key[n], into.label[n], into.score[n], into.bound[n], into.back[n] = key, label, score, bound, back
    return n + 1


@leaf
def _keep(found: Frontier, n: int, floor: float, width: int, kept: Frontier) -> tuple[int, float]:
    """Copy what is above `floor`, and of equal ones as many as there is room for; return how many, and the
    best bound of the others.
    """
    m, lost = 0, -np.inf
    for q in range(n):
        if found.bound[q] >= floor and m < width:
            kept.key[m], kept.label[m], kept.score[m] = found.key[q], found.label[q], found.score[q]
            kept.bound[m], kept.back[m] = found.bound[q], found.back[q]
            m += 1
        else:
            lost = max(lost, found.bound[q])
    return m, lost


@kernel
def search_counts(
    counted: CountedSteps, packed: PackedCounts, price: Array, value: float, width: int, best: Array
) -> tuple[float, float]:
    """best <- the best sequence found that keeps the limits, where it is above `value`.

    Returns its value, and a bound on all that was left out (-inf where nothing was).
    """
    length, n = counted.unary.shape
    charge, ahead = np.empty((n + 1, n)), np.empty((length, n))
    charge_steps(counted, price, charge)
    fill_ahead(counted, charge, ahead)
    room = width * n if length > 1 else n
    found, kept = _frontier(max(room, n)), _frontier(width)
    n_cells = 4
    while n_cells < 2 * max(room, n):
        n_cells *= 2
    table = np.empty(n_cells, dtype=np.int32)
    back, label_at = np.empty((length, width), dtype=np.int32), np.empty((length, width), dtype=np.int32)
    lost, m = -np.inf, 1
    kept.key[0], kept.label[0], kept.score[0] = 0, n, 0.0
    for t in range(length):
        table[:] = -1
        n_found = 0
        for q in range(m):
            key, before = kept.key[q], kept.label[q]
            for k in range(n):
                score = kept.score[q] + counted.unary[t, k]
                if t > 0:
                    score += counted.steps[t, before, k]
                if score + ahead[t, k] == -np.inf:
                    continue
                grown = _grow(counted, packed, key, before, k)
                if grown < 0:
                    continue
                bound = score + ahead[t, k] + _left_to_pay(counted, packed, price, grown)
                if bound > value:
                    n_found = _enter(found, n_found, table, grown, k, score, bound, q)
        floor = -np.inf
        if n_found > width:
            floor = np.partition(found.bound[:n_found], n_found - width)[n_found - width]
        m, left_out = _keep(found, n_found, floor, width, kept)
        lost = max(lost, left_out)
        for q in range(m):
            back[t, q], label_at[t, q] = kept.back[q], kept.label[q]
    end = -1
    for q in range(m):
        if kept.score[q] > value and _is_whole(counted, packed, kept.key[q]):
            value, end = kept.score[q], q
    if end >= 0:
        for t in range(length - 1, -1, -1):
            best[t] = label_at[t, end]
            end = back[t, end]
    return value, lost if lost > value else -np.inf
