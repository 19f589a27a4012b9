"""Branch and bound for knapsacks of several dimensions, or of a large capacity.

Items are tried in the order of their score per weight, packed first and left out afterwards. The bound of a
branch packs the rest into one dimension, a weighted sum of all, the last item in part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, leaf
from structlearn.structures.decisions.ranking import rank

#: Steps after which a search is given up.
MOST_STEPS = 50_000_000
#: How much one dimension may count more than the others, when their sum is chosen.
_EMPHASIS = 4.0


class PackingWork(NamedTuple):
    """Scratch memory: scores per weight, items by these, summed weights, the branch, and the best one."""

    density: Array
    order: Array
    size: Array
    packed: Array
    best: Array
    left: Array
    factor: Array


@jitable
def packing_work(n: int, dimensions: int) -> PackingWork:
    """Allocate scratch memory for n items."""
    order, packed = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.bool_)
    best, left = np.empty(n, dtype=np.bool_), np.empty(dimensions, dtype=np.int64)
    return PackingWork(np.empty(n), order, np.empty(n), packed, best, left, np.empty(dimensions))


@leaf
def pack(weights: Array, capacity: Array, theta: Array, work: PackingWork, vertex: Array) -> bool:
    """vertex <- the best items; False if `MOST_STEPS` do not find them. weights : (items, dimensions)."""
    n = _choose_sum(weights, capacity, theta, work)
    left = work.left
    for d in range(capacity.size):
        left[d] = capacity[d]
    room = _room(left, work)
    for k in range(n):
        work.best[k] = False
    best, value, k = 0.0, 0.0, 0
    for _ in range(MOST_STEPS):
        # 1. Pack what fits, as long as the branch may be better than the best one.
        if k < n and value + _rest(theta, k, n, room, work) > best:
            item = work.order[k]
            work.packed[k] = _fits(weights[item], left)
            if work.packed[k]:
                value += theta[item]
                room -= work.size[item]
                for d in range(left.size):
                    left[d] -= weights[item, d]
            k += 1
            continue
        if k == n and value > best:
            best = value
            for j in range(n):
                work.best[j] = work.packed[j]
        # 2. Go back to the last item that is packed, and leave it out.
        k -= 1
        while k >= 0 and not work.packed[k]:
            k -= 1
        if k < 0:
            for j in range(n):
                vertex[work.order[j]] = 1.0 if work.best[j] else 0.0
            return True
        item = work.order[k]
        work.packed[k] = False
        value -= theta[item]
        room += work.size[item]
        for d in range(left.size):
            left[d] += weights[item, d]
        k += 1
    return False


@leaf
def _choose_sum(weights: Array, capacity: Array, theta: Array, work: PackingWork) -> int:
    """Weigh the dimensions so that the first bound is least; order the items; returns how many are of use."""
    dimensions = capacity.size
    chosen, least = -1, np.inf
    for emphasised in range(-1, dimensions):
        n = _order_by(weights, capacity, theta, emphasised, work)
        for d in range(dimensions):
            work.left[d] = capacity[d]
        bound = _rest(theta, 0, n, _room(work.left, work), work)
        if bound < least:
            chosen, least = emphasised, bound
    return _order_by(weights, capacity, theta, chosen, work)


@leaf
def _order_by(weights: Array, capacity: Array, theta: Array, emphasised: int, work: PackingWork) -> int:
    """Order the items that fit and have a positive score by score per weight; returns how many there are."""
    for d in range(capacity.size):
        work.factor[d] = (_EMPHASIS if d == emphasised else 1.0) / max(capacity[d], 1)
    n = 0
    for j in range(theta.size):
        work.size[j] = 0.0
        for d in range(capacity.size):
            work.size[j] += work.factor[d] * weights[j, d]
        useful = theta[j] > 0.0 and _fits(weights[j], capacity)
        work.density[j] = theta[j] / work.size[j] if useful else -np.inf
        n += 1 if useful else 0
    rank(work.density[: theta.size], work.order[: theta.size])
    return n


@leaf
def _room(left: Array, work: PackingWork) -> float:
    room = 0.0
    for d in range(left.size):
        room += work.factor[d] * left[d]
    return room


@leaf
def _fits(weights: Array, left: Array) -> bool:
    fits = True
    for d in range(left.size):
        fits &= weights[d] <= left[d]
    return fits


@leaf
def _rest(theta: Array, k: int, n: int, room: float, work: PackingWork) -> float:
    """Bound what the items from the k-th on may add, in the sum of dimensions; never below it."""
    value = 0.0
    for j in range(k, n):
        item = work.order[j]
        if work.size[item] > room:
            return (value + work.density[item] * max(room, 0.0)) * (1.0 + 1e-12)
        value += theta[item]
        room -= work.size[item]
    return value * (1.0 + 1e-12)
