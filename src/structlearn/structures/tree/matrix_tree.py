"""Sums over all directed trees (the matrix-tree theorem), and their marginals, without a subtraction.

    Z = sum over trees of prod exp theta(head -> word) = det Laplacian

Gaussian elimination of the Laplacian subtracts nearly equal numbers where cycles weigh much. We eliminate
word by word as Grassmann, Taksar and Heyman (1985) do for Markov chains: the pivot of word k is the sum of
its arcs to what is left,

    S_k = r_k + sum_j W(j, k);   W(j, i) <- W(j, i) + W(k, i) W(j, k) / S_k,   r_i <- r_i + W(k, i) r_k / S_k

with the arcs' weights W and the root's r. Z = prod_k S_k. With a single root, r is taken to first order only:
it is left out of S_k, and the last word's pivot is its r. The marginals are the derivatives of log Z in
theta, by going back through the elimination.

Where no weight can underflow (`_is_narrow`), they are plain numbers. Otherwise a weight is written m 2^e, 1/2
<= m < 1: every operation has the relative error of one rounding, as long as e is a whole number, and takes
much longer. Logarithms would lose as many digits as the scores have before the point. Where scores are
so large that e is rounded, so are they, and the marginals are those of the best tree.
"""

from __future__ import annotations

from math import exp, frexp, ldexp, log
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import (
    Array,
    Shape,
    entropy,
    log_partition,
    marginals,
    marginals_workspace,
    maximize,
    workspace,
)
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.core.rounding import UNIT
from structlearn.structures.regularized import clip_entropy
from structlearn.structures.tree.arborescence import NonProjectiveTreeRecord

_LOG2_E, _LN2 = 1.4426950408889634, 0.6931471805599453
_SMALLEST = -1100.0  # a power of two below this, added to a number of size one, changes nothing
_LARGEST = 2.0**50  # powers up to here, and their sums, are whole numbers
_WIDEST = 300.0  # exp of twice this is still a normal number
_HUGE = 1e280


class EliminationWork(NamedTuple):
    """Scratch memory: the weights before each elimination, by word k; and their slopes."""

    #: arcs[k, j, i], j = 0 the root: m of what W(j, i) was when k was eliminated; `power` is its e
    arcs: Array
    power: Array
    #: (n + 1, 2): m and e of S_k; the first of row 0 is 1 where weights are plain numbers, e = 0
    pivot: Array
    slope: Array
    #: scores by order of elimination, less each word's largest
    score: Array
    #: order of elimination: word order[k] is eliminated at k, from n down to 1
    order: Array


@implements(marginals_workspace, NonProjectiveTreeRecord)
@jitable
def elimination_work(structure: NonProjectiveTreeRecord, shape: Shape) -> EliminationWork:
    n = shape[1] + 1
    arcs, power = np.empty((n, n, n)), np.empty((n, n, n))
    return EliminationWork(
        arcs, power, np.empty((n, 2)), np.empty((n, n)), np.empty((n, n)), np.empty(n, np.int64)
    )


@kernel
def _normal(m: float, e: float) -> tuple[float, float]:
    if m == 0.0:
        return 0.0, 0.0
    m, more = frexp(m)
    return m, e + more


@kernel
def _exponential(x: float) -> tuple[float, float]:
    """Return exp(x) = exp(r) 2^k with r = x - k log 2; what is left of a huge x is all rounding, and cut."""
    if x == -np.inf:
        return 0.0, 0.0
    k = np.rint(x * _LOG2_E)
    return _normal(exp(min(max(x - k * _LN2, -1.0), 1.0)), k)


@kernel
def _sum(m: float, e: float, m2: float, e2: float) -> tuple[float, float]:
    if m2 == 0.0 or (m > 0.0 and e2 - e < _SMALLEST):
        return m, e
    if m == 0.0 or e - e2 < _SMALLEST:
        return m2, e2
    high = max(e, e2)
    return _normal(ldexp(m, int(e - high)) + ldexp(m2, int(e2 - high)), high)


@kernel
def _logarithm(m: float, e: float) -> float:
    """Return log(m 2^e), exactly 0 for the number 1."""
    return log(2.0 * m) + (e - 1.0) * _LN2


@implements(log_partition, NonProjectiveTreeRecord)
@kernel
def log_partition_by_elimination(
    structure: NonProjectiveTreeRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: EliminationWork,
    mean: Array,
) -> float:
    n, single_root = shape[1], structure.single_root
    scores = theta.reshape(n + 1, n)
    _set_order(n, single_root, scores, work)
    total = _take_scores(n, scores, work)
    if total == -np.inf:
        return total
    if _is_narrow(n, work.score):
        rest = _eliminate_plain(n, single_root, work)
        if not np.isnan(rest):
            return total + rest
    work.pivot[0, 0] = 0.0
    for j in range(n + 1):
        for i in range(1, n + 1):
            work.arcs[n, j, i], work.power[n, j, i] = _exponential(work.score[j, i])
    for k in range(n, 0, -1):
        arcs, power = work.arcs[k], work.power[k]
        low = 1 if single_root and k > 1 else 0
        m = e = 0.0
        for j in range(low, k):
            m, e = _sum(m, e, arcs[j, k], power[j, k])
        if m == 0.0:
            return -np.inf
        work.pivot[k, 0], work.pivot[k, 1] = m, e
        total += _logarithm(m, e)
        if k == 1:
            break
        for j in range(k):
            share, less = arcs[j, k] / m, power[j, k] - e
            for i in range(1, k):
                a, b = arcs[j, i], power[j, i]
                if i != j:
                    through, at = _normal(arcs[k, i] * share, power[k, i] + less)
                    a, b = _sum(a, b, through, at)
                work.arcs[k - 1, j, i], work.power[k - 1, j, i] = a, b
    return total


@kernel
def _set_order(n: int, single_root: bool, theta: Array, work: EliminationWork) -> None:
    """Set the words' order; with a single root, the last to go is one that can be above all others.

    Such a word, if there is one, is the last from which a search of the words not yet seen began.
    """
    seen, stack = np.zeros(n + 1, np.bool_), np.empty(n + 1, np.int64)
    last = 1
    for word in range(1, n + 1 if single_root else 1):
        if seen[word]:
            continue
        seen[word], stack[0], size, last = True, word, 1, word
        while size:
            size -= 1
            h = stack[size]
            for m in range(1, n + 1):
                if not seen[m] and theta[h, m - 1] > -np.inf:
                    seen[m] = True
                    stack[size] = m
                    size += 1
    for k in range(n + 1):
        work.order[k] = k
    work.order[1], work.order[last] = last, 1


@kernel
def _take_scores(n: int, theta: Array, work: EliminationWork) -> float:
    """Order the scores, each word's largest moved out; return the sum of those."""
    total = 0.0
    for i in range(1, n + 1):
        word = work.order[i] - 1
        top = -np.inf
        for j in range(n + 1):
            work.score[j, i] = -np.inf if j == i else theta[work.order[j], word]
            top = max(top, work.score[j, i])
        if top == -np.inf:
            return top
        for j in range(n + 1):
            work.score[j, i] -= top
        total += top
    return total


@implements(marginals, NonProjectiveTreeRecord)
@kernel
def nonprojective_marginals(
    structure: NonProjectiveTreeRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: EliminationWork,
    mean: Array,
) -> float:
    total = log_partition_by_elimination(structure, shape, theta, shared, work, mean)
    if total == -np.inf:
        mean[:] = 0.0
    elif work.pivot[0, 0] > 0.0:
        _go_back_plain(shape[1], structure.single_root, work, mean.reshape(shape[1] + 1, shape[1]))
    elif _is_rounded(shape[1], work):
        maximize(structure, shape, theta, shared, workspace(structure, shape), mean)
        _take_tree(shape[1], mean.reshape(shape[1] + 1, shape[1]), work)
    else:
        _go_back(shape[1], structure.single_root, work, mean.reshape(shape[1] + 1, shape[1]))
    return total


@kernel
def _is_rounded(n: int, work: EliminationWork) -> bool:
    """Return whether powers are rounded, as scores so large are: then no more is known than the best tree."""
    largest = 0.0
    for k in range(1, n + 1):
        largest = max(largest, abs(work.pivot[k, 1]))
    return largest > _LARGEST


@kernel
def _take_tree(n: int, mean: Array, work: EliminationWork) -> None:
    """Write the slopes of one tree."""
    for j in range(n + 1):
        for i in range(1, n + 1):
            work.slope[j, i] = mean[work.order[j], work.order[i] - 1]


@kernel
def _go_back(n: int, single_root: bool, work: EliminationWork, mean: Array) -> None:
    slope = work.slope
    slope[:] = 0.0
    for k in range(1, n + 1):
        arcs, power = work.arcs[k], work.power[k]
        low = 1 if single_root and k > 1 else 0
        m, e = work.pivot[k, 0], work.pivot[k, 1]
        # 1. Through W(j, i) + W(k, i) W(j, k) / S_k, for the words before k
        left = 1.0
        for j in range(k):
            for i in range(1, k):
                after, at = work.arcs[k - 1, j, i], work.power[k - 1, j, i]
                if i == j or slope[j, i] == 0.0 or after == 0.0:
                    continue
                through = max(power[k, i] + power[j, k] - e - at, _SMALLEST)
                share = slope[j, i] * ldexp(arcs[k, i] * arcs[j, k] / (m * after), int(through))
                slope[j, i] -= share
                slope[k, i] += share
                slope[j, k] += share
                left -= share
        # 2. Through the pivot, a sum over j
        for j in range(low, k):
            slope[j, k] += left * ldexp(arcs[j, k] / m, int(max(power[j, k] - e, _SMALLEST)))
    for j in range(n + 1):
        for i in range(1, n + 1):
            mean[work.order[j], work.order[i] - 1] = min(max(slope[j, i], 0.0), 1.0)


# ---- plain numbers --------------------------------------------------------------------------------------


@kernel
def _is_narrow(n: int, score: Array) -> bool:
    """Return whether no weight can underflow.

    A weight only grows, and sums of weights to a word never do: so all are between their first value and n,
    and a product of two over a pivot is above exp(-2 span)/n. The weight of an arc that was forbidden is
    that of a path of at most n arcs over as many pivots.
    """
    least, forbidden = 0.0, 0
    for j in range(n + 1):
        for i in range(1, n + 1):
            if i != j and score[j, i] == -np.inf:
                forbidden += 1
            elif i != j:
                least = min(least, score[j, i])
    return -least < (2.0 * _WIDEST / n - log(n) if forbidden > 0 else _WIDEST)


@kernel
def _eliminate_plain(n: int, single_root: bool, work: EliminationWork) -> float:
    """Return log Z less the largest scores; NaN where it is not safe. The root's weights may overflow."""
    work.pivot[0, 0] = 1.0
    for j in range(n + 1):
        for i in range(1, n + 1):
            work.arcs[n, j, i] = exp(work.score[j, i])
    total = 0.0
    for k in range(n, 0, -1):
        arcs = work.arcs[k]
        pivot = 0.0
        for j in range(1 if single_root and k > 1 else 0, k):
            pivot += arcs[j, k]
        if pivot == 0.0:
            return -np.inf
        if pivot > _HUGE:
            return np.nan
        work.pivot[k, 0], work.pivot[k, 1] = pivot, 0.0
        total += log(pivot)
        after = work.arcs[k - 1]
        for j in range(k if k > 1 else 0):
            share = arcs[j, k] / pivot
            for i in range(1, k):
                after[j, i] = arcs[j, i] + arcs[k, i] * share
            after[j, j] = 0.0
    return total


@kernel
def _go_back_plain(n: int, single_root: bool, work: EliminationWork, mean: Array) -> None:
    """Go back as `_go_back` does."""
    slope = work.slope
    slope[:] = 0.0
    for k in range(1, n + 1):
        arcs, after, pivot = work.arcs[k], work.arcs[k - 1], work.pivot[k, 0]
        left = 1.0
        for j in range(k if k > 1 else 0):
            factor, sent = arcs[j, k] / pivot, 0.0
            for i in range(1, k):
                share = slope[j, i] * (arcs[k, i] * factor) / after[j, i] if after[j, i] > 0.0 else 0.0
                slope[j, i] -= share
                slope[k, i] += share
                sent += share
            slope[j, k] += sent
            left -= sent
        for j in range(1 if single_root and k > 1 else 0, k):
            slope[j, k] += left * (arcs[j, k] / pivot)
    for j in range(n + 1):
        for i in range(1, n + 1):
            mean[work.order[j], work.order[i] - 1] = min(max(slope[j, i], 0.0), 1.0)


@implements(entropy, NonProjectiveTreeRecord)
@kernel
def elimination_entropy(
    structure: NonProjectiveTreeRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: EliminationWork,
    mean: Array,
    log_z: float,
) -> float:
    """log Z - <theta, mean>, with each word's largest score moved out of both.

    Less what rounding may have added: marginals are differences here, so that even a part without any may
    have some roundings of the whole, and counts with its whole score.
    """
    n = shape[1]
    value, size = 0.0, 1.0 * n
    for k in range(1, n + 1):
        pivot = _logarithm(work.pivot[k, 0], work.pivot[k, 1])
        value += pivot
        size += abs(pivot)
    for i in range(1, n + 1):
        for j in range(n + 1):
            if work.score[j, i] > -np.inf and work.slope[j, i] > 0.0:
                value -= work.score[j, i] * work.slope[j, i]
                size -= work.score[j, i]
    return clip_entropy(value - 8.0 * n * n * UNIT * size, n * np.log(n + 1))
