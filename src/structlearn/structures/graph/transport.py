"""The best joint distribution of two nodes with given marginals: a small transport problem.

    max_{pi >= 0} sum_{a, b} table[a, b] pi[a, b],    sum_b pi[a, b] = p[a],    sum_a pi[a, b] = q[b]

by successive best paths: mass goes from a state of the first node to one of the second along the path of
largest gain, forwards over any pair and backwards over those that have mass. Whatever the paths are, the
margins are p and q.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, leaf
from structlearn.structures.graph.pair_scores import pair_score

#: Less mass than this is a rounding error.
_NOTHING = 1e-15
#: Gains that differ by less, over the largest score, are equal.
_EQUAL = 1e-12


class TransportWork(NamedTuple):
    """Scratch memory, of two rows, for the first node and for the second, or of a table.

    state : the states that have mass. left : what they have yet to give or to take. gain : that of the best
    path to them. whence : the last state before, on the other side; -1 where the path begins.
    """

    state: Array
    left: Array
    gain: Array
    whence: Array
    score: Array
    mass: Array


@jitable
def transport_work(n_states: int) -> TransportWork:
    numbers, places = np.empty((2, 2, n_states)), np.zeros((2, 2, n_states), dtype=np.int64)
    tables = np.empty((2, n_states, n_states))
    return TransportWork(places[0], numbers[0], numbers[1], places[1], tables[0], tables[1])


@leaf
def couple(table: Array, e: int, p: Array, q: Array, pi: Array, work: TransportWork) -> None:
    """pi <- the best coupling of p and q, which sum to the same, by the scores of edge e."""
    for a in range(p.size):
        for b in range(p.size):
            pi[a, b] = 0.0
    n, m = _support(p, 0, work), _support(q, 1, work)
    largest = 0.0
    for i in range(n):
        for j in range(m):
            work.score[i, j] = pair_score(table, e, work.state[0, i], work.state[1, j])
            work.mass[i, j] = 0.0
            largest = max(largest, abs(work.score[i, j]))
    for _ in range(4 * (n + m)):
        j = _best_paths(n, m, _EQUAL * largest, work)
        if j < 0 or not _push(j, n + m, work):
            break
    for i in range(n):  # what is left, if anything
        for j in range(m):
            _move(i, j, min(work.left[0, i], work.left[1, j]), work)
            pi[work.state[0, i], work.state[1, j]] = work.mass[i, j]


@leaf
def _support(p: Array, side: int, work: TransportWork) -> int:
    """List the states with mass; return their number."""
    n = 0
    for a in range(p.size):
        if p[a] > 0.0:
            work.state[side, n], work.left[side, n] = a, p[a]
            n += 1
    return n


@leaf
def _move(i: int, j: int, amount: float, work: TransportWork) -> None:
    work.mass[i, j] += amount
    work.left[0, i] -= amount
    work.left[1, j] -= amount


@leaf
def _best_paths(n: int, m: int, equal: float, work: TransportWork) -> int:
    """Find the best paths from states with mass left; return the best end that wants some, or -1."""
    left, gain, whence, score = work.left, work.gain, work.whence, work.score
    for i in range(n):
        gain[0, i], whence[0, i] = 0.0 if left[0, i] > _NOTHING else -np.inf, -1
    for j in range(m):
        gain[1, j], whence[1, j] = -np.inf, -1
    changed = True
    for _ in range(n):
        for i in range(n):
            for j in range(m):
                if gain[0, i] + score[i, j] > gain[1, j] + equal:
                    gain[1, j], whence[1, j] = gain[0, i] + score[i, j], i
        changed = False
        for i in range(n):
            for j in range(m):
                if work.mass[i, j] > 0.0 and gain[1, j] - score[i, j] > gain[0, i] + equal:
                    gain[0, i], whence[0, i], changed = gain[1, j] - score[i, j], j, True
        if not changed:
            break
    best = -1
    for j in range(m):
        if left[1, j] > _NOTHING and gain[1, j] > -np.inf and (best < 0 or gain[1, j] > gain[1, best]):
            best = j
    return best


@leaf
def _push(last: int, longest: int, work: TransportWork) -> bool:
    """Send along the path that ends in `last` as much as it takes; False where it is no path."""
    left, whence, mass = work.left, work.whence, work.mass
    amount, j = left[1, last], last
    for _ in range(longest):
        i = whence[1, j]
        if whence[0, i] < 0:
            break
        j = whence[0, i]
        amount = min(amount, mass[i, j])
    if whence[0, i] >= 0:
        return False
    amount, j = min(amount, left[0, i]), last
    left[0, i] -= amount
    left[1, last] -= amount
    while True:
        i = whence[1, j]
        mass[i, j] += amount
        if whence[0, i] < 0:
            return True
        j = whence[0, i]
        mass[i, j] -= amount
