"""Sums over all directed trees (the matrix-tree theorem), and their marginals, without a subtraction.

    Z = sum over trees of prod exp theta(head -> word) = det Laplacian

Gaussian elimination of the Laplacian subtracts nearly equal numbers where cycles weigh much. We eliminate
word by word as Grassmann, Taksar and Heyman (1985) do for Markov chains: the pivot of word k is the sum of
its arcs to what is left,

    S_k = r_k + sum_j W(j, k);   W(j, i) <- W(j, i) + W(k, i) W(j, k) / S_k,   r_i <- r_i + W(k, i) r_k / S_k

with the arcs' weights W and the root's r, all in logarithms. Z = prod_k S_k. With a single root, r is taken
to first order only: it is left out of S_k, and the last word's pivot is its r. The marginals are the
derivatives of log Z in theta, by going back through the elimination.
"""

from __future__ import annotations

from math import exp, log1p
from typing import Any, NamedTuple

import numpy as np

from structlearn.contract import Array
from structlearn.kernels import kernel


class EliminationWork(NamedTuple):
    """Scratch memory: logarithms of the weights before each elimination, by word k; and their slopes."""

    #: arcs[k, j, i], j = 0 the root: what W(j, i) was when k was eliminated
    arcs: Array
    pivot: Array
    slope: Array
    #: order of elimination: word order[k] is eliminated at k, from n down to 1
    order: Array


@kernel
def elimination_work(n: Any) -> Any:
    return EliminationWork(
        np.empty((n + 1, n + 1, n + 1)), np.empty(n + 1), np.empty((n + 1, n + 1)), np.empty(n + 1, np.int64)
    )


@kernel
def _log_add(a: Any, b: Any) -> Any:
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + log1p(exp(b - a))


@kernel
def eliminate(n: Any, single_root: Any, theta: Any, work: Any) -> Any:
    """log Z of the (n + 1, n) table theta."""
    _set_order(n, single_root, theta, work)
    top = _first_level(n, theta, work)
    total = top
    for k in range(n, 0, -1):
        now = work.arcs[k]
        low = 1 if single_root and k > 1 else 0
        pivot = -np.inf
        for j in range(low, k):
            pivot = _log_add(pivot, now[j, k])
        work.pivot[k] = pivot
        total += pivot
        if pivot == -np.inf:
            return pivot
        if k == 1:
            break
        after = work.arcs[k - 1]
        for j in range(k):
            share = now[j, k] - pivot
            for i in range(1, k):
                after[j, i] = now[j, i]
                if i != j:
                    after[j, i] = _log_add(now[j, i], now[k, i] + share)
    return total


@kernel
def _set_order(n: Any, single_root: Any, theta: Any, work: Any) -> None:
    """The words in their order; with a single root, the last to go is one that can be above all others.

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
def _first_level(n: Any, theta: Any, work: Any) -> Any:
    """The arcs' logarithms, each word's largest moved out; returns the sum of those."""
    now = work.arcs[n]
    total = 0.0
    for i in range(1, n + 1):
        word = work.order[i] - 1
        top = -np.inf
        for j in range(n + 1):
            now[j, i] = -np.inf if j == i else theta[work.order[j], word]
            top = max(top, now[j, i])
        if top == -np.inf:
            return top
        for j in range(n + 1):
            now[j, i] -= top
        total += top
    return total


@kernel
def go_back(n: Any, single_root: Any, work: Any, mean: Any) -> None:
    """mean <- the marginals, after `eliminate`."""
    slope = work.slope
    slope[:] = 0.0
    for k in range(1, n + 1):
        now = work.arcs[k]
        low = 1 if single_root and k > 1 else 0
        pivot = work.pivot[k]
        # 1. Through W(j, i) + W(k, i) W(j, k) / S_k, for the words before k
        left = 1.0
        if k > 1:
            after = work.arcs[k - 1]
            for j in range(k):
                for i in range(1, k):
                    if i == j or slope[j, i] == 0.0 or after[j, i] == -np.inf:
                        continue
                    through = now[k, i] + now[j, k] - pivot
                    share = slope[j, i] * exp(through - after[j, i])
                    slope[j, i] -= share
                    slope[k, i] += share
                    slope[j, k] += share
                    left -= share
        # 2. Through the pivot, a sum over j
        for j in range(low, k):
            slope[j, k] += left * exp(now[j, k] - pivot)
    for j in range(n + 1):
        for i in range(1, n + 1):
            mean[work.order[j], work.order[i] - 1] = min(max(slope[j, i], 0.0), 1.0)
