"""Branch and bound for tours, by 1-trees (Held and Karp 1971).

A 1-tree is a spanning tree of all nodes but the first, and two edges of the first. Each tour is one. With
prices pi of the nodes all tours change by the same, 2 sum pi, but the shortest 1-tree L(pi) changes
otherwise, so that max_pi L(pi) - 2 sum pi is a good lower bound. Where the 1-tree is no tour, some node has
three edges; one of them is left out of the branch, and then made a part of all its tours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, leaf

#: Branches after which a search is given up.
MOST_BRANCHES = 2_000_000
#: Steps of the ascent of prices, at first and in each branch.
_FIRST_STEPS, _STEPS = 120, 12
_FREE, _IN, _OUT = 0, 1, 2
#: A bound within this share of the costs of a tour leaves nothing to gain.
_ROUNDING = 1e-13
_HUGE = 1e300


class TourWork(NamedTuple):
    """Scratch memory."""

    cost: Array
    #: of each depth of the search: whether edges are free, in or out; prices; the branch; its turn
    state: Array
    price: Array
    edge: Array
    turn: Array
    #: the 1-tree: the node that each joins, the keys of Prim's algorithm, who is joined, degrees
    parent: Array
    key: Array
    joined: Array
    degree: Array
    #: the first node's second edge leads to `ends[1]`
    ends: Array
    trial: Array
    best: Array
    tour: Array


@jitable
def tour_work(n: int) -> TourWork:
    """Allocate scratch memory for n nodes."""
    deep = n * (n - 1) // 2 + 2
    state, price = np.zeros((deep, n, n), dtype=np.int8), np.zeros((deep, n))
    edge, turn = np.zeros((deep, 2), dtype=np.int64), np.zeros(deep, dtype=np.int64)
    parent, joined, degree = np.zeros(n, np.int64), np.zeros(n, np.bool_), np.zeros(n, np.int64)
    best, tour = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    ends = np.zeros(2, dtype=np.int64)
    return TourWork(
        np.zeros((n, n)), state, price, edge, turn, parent, np.zeros(n), joined, degree, ends, np.zeros(n),
        best, tour,
    )  # fmt: skip


@leaf
def shortest_tour(n: int, theta: Array, work: TourWork) -> bool:
    """best <- the nodes of the tour of the highest score; False after too many branches."""
    size = _write_costs(n, theta, work)
    least = _first_tour(n, work)
    slack = _ROUNDING * n * size
    for i in range(n):
        work.price[0, i] = 0.0
        for j in range(n):
            work.state[0, i, j] = _FREE
    depth, steps = 0, _FIRST_STEPS
    for _ in range(MOST_BRANCHES):
        # 1. Bound the branch; a 1-tree that is a tour may be the best one.
        bound = _ascend(n, depth, least, slack, steps, work)
        steps = _STEPS
        least = _take_tour(n, least, work)
        if bound < least - slack and _choose_edge(n, depth, work):
            work.turn[depth] = 1
            if _branch(n, depth, _OUT, work):
                depth += 1
                continue
            work.turn[depth] = 2
            if _branch(n, depth, _IN, work):
                depth += 1
                continue
        # 2. Go back to a branch whose other side was not searched.
        moved = False
        while depth > 0 and not moved:
            depth -= 1
            if work.turn[depth] == 1:
                work.turn[depth] = 2
                moved = _branch(n, depth, _IN, work)
        if not moved:
            return True
        depth += 1
    return False


@leaf
def _write_costs(n: int, theta: Array, work: TourWork) -> float:
    """cost <- minus the scores; what is forbidden costs more than any tour. Returns the largest of others."""
    size = 0.0
    for e in range(theta.size):
        if theta[e] > -np.inf:
            size = max(size, abs(theta[e]))
    e = 0
    for i in range(n):
        work.cost[i, i] = 0.0
        for j in range(i + 1, n):
            cost = -theta[e] if theta[e] > -np.inf else 4.0 * n * (size + 1.0)
            work.cost[i, j] = work.cost[j, i] = cost
            e += 1
    return size


@leaf
def _first_tour(n: int, work: TourWork) -> float:
    """best <- a tour by nearest neighbours, improved while turning a stretch round shortens it."""
    cost, tour = work.cost, work.best
    for i in range(n):
        tour[i] = i
    for k in range(1, n):
        nearest = k
        for j in range(k + 1, n):
            if cost[tour[k - 1], tour[j]] < cost[tour[k - 1], tour[nearest]]:
                nearest = j
        tour[k], tour[nearest] = tour[nearest], tour[k]
    for _ in range(50):
        improved = False
        for i in range(n - 1):
            for j in range(i + 2, n if i > 0 else n - 1):
                a, b, c, d = tour[i], tour[i + 1], tour[j], tour[j + 1 if j + 1 < n else 0]
                gain = cost[a, b] + cost[c, d] - cost[a, c] - cost[b, d]
                if gain > 1e-12 * (abs(cost[a, b]) + abs(cost[c, d])):
                    low, high = i + 1, j
                    while low < high:
                        tour[low], tour[high] = tour[high], tour[low]
                        low, high = low + 1, high - 1
                    improved = True
        if not improved:
            break
    return _length(n, cost, tour)


@leaf
def _length(n: int, cost: Array, tour: Array) -> float:
    total = cost[tour[n - 1], tour[0]]
    for k in range(n - 1):
        total += cost[tour[k], tour[k + 1]]
    return total


@leaf
def _ascend(n: int, depth: int, least: float, slack: float, steps: int, work: TourWork) -> float:
    """price <- prices that raise the bound, whose 1-tree is the last one; returns the bound."""
    price, trial = work.price[depth], work.trial
    best, factor = _one_tree(n, depth, price, work), 1.0
    if best >= _HUGE:
        return best
    for i in range(n):
        trial[i] = price[i]
    bound, missed = best, 0
    for _ in range(steps):
        square = 0.0
        for i in range(n):
            square += (work.degree[i] - 2.0) ** 2
        if square == 0.0 or best >= least - slack:
            break
        step = factor * max(least - bound, slack) / square
        for i in range(n):
            trial[i] += step * (work.degree[i] - 2.0)
        bound = _one_tree(n, depth, trial, work)
        if bound > best:
            best, missed = bound, 0
            for i in range(n):
                price[i] = trial[i]
        else:
            missed += 1
            if missed >= 3:
                factor, missed = factor / 2.0, 0
    if bound < best:
        _one_tree(n, depth, price, work)
    return best


@leaf
def _one_tree(n: int, depth: int, price: Array, work: TourWork) -> float:
    """Find the shortest 1-tree with all edges that are in and none that are out; returns its bound."""
    cost, state, total = work.cost, work.state[depth], 0.0
    for i in range(n):
        work.key[i], work.joined[i], work.degree[i] = _HUGE, False, 0
        total -= 2.0 * price[i]
    node = 1
    work.joined[1] = True
    for _ in range(n - 2):
        nearest = -1
        for j in range(2, n):
            if work.joined[j]:
                continue
            if state[node, j] != _OUT:
                length = cost[node, j] + price[node] + price[j] if state[node, j] == _FREE else -_HUGE
                if length < work.key[j]:
                    work.key[j], work.parent[j] = length, node
            if work.key[j] < _HUGE and (nearest < 0 or work.key[j] < work.key[nearest]):
                nearest = j
        if nearest < 0:
            return _HUGE
        node, other = nearest, work.parent[nearest]
        work.joined[node] = True
        total += cost[node, other] + price[node] + price[other]
        work.degree[node] += 1
        work.degree[other] += 1
    for k in range(2):
        nearest, least = -1, _HUGE
        for j in range(1, n):
            if state[0, j] == _OUT or (k == 1 and j == work.ends[0]):
                continue
            length = cost[0, j] + price[0] + price[j] if state[0, j] == _FREE else -_HUGE
            if length < least:
                nearest, least = j, length
        if nearest < 0:
            return _HUGE
        work.ends[k] = nearest
        total += cost[0, nearest] + price[0] + price[nearest]
        work.degree[0] += 1
        work.degree[nearest] += 1
    return total


@leaf
def _take_tour(n: int, least: float, work: TourWork) -> float:
    """best <- the 1-tree, if it is a tour that is shorter."""
    for i in range(n):
        if work.degree[i] != 2:
            return least
    tour, before = work.tour, 0
    tour[0], node = 0, work.ends[0]
    for k in range(1, n):
        tour[k] = node
        following = -1
        for j in range(1, n):  # the tree's neighbour that the tour does not come from
            linked = (j > 1 and work.parent[j] == node) or (node > 1 and work.parent[node] == j)
            if linked and j != before and j != node:
                following = j
        before, node = node, following
        if following < 0 and k < n - 1:
            return least
    length = _length(n, work.cost, tour)
    if length >= least:
        return least
    for k in range(n):
        work.best[k] = tour[k]
    return length


@leaf
def _choose_edge(n: int, depth: int, work: TourWork) -> bool:
    """edge <- the shortest free one of a node with too many; False where there is none: no tour is left."""
    most, node = 2, -1
    for i in range(n):
        if work.degree[i] > most:
            most, node = work.degree[i], i
    if node < 0:
        return False
    chosen, least, state, price = -1, _HUGE, work.state[depth], work.price[depth]
    for j in range(n):
        if j == node or state[node, j] != _FREE:
            continue
        if min(node, j) == 0:
            linked = max(node, j) == work.ends[0] or max(node, j) == work.ends[1]
        else:
            linked = (j > 1 and work.parent[j] == node) or (node > 1 and work.parent[node] == j)
        length = work.cost[node, j] + price[node] + price[j]
        if linked and length < least:
            chosen, least = j, length
    if chosen < 0:
        return False
    work.edge[depth, 0], work.edge[depth, 1] = node, chosen
    return True


@leaf
def _branch(n: int, depth: int, side: int, work: TourWork) -> bool:
    """Lay out the branch with the edge in or out, and what follows from it; False where no tour is left."""
    state = work.state[depth + 1]
    for i in range(n):
        work.price[depth + 1, i] = work.price[depth, i]
        for j in range(n):
            state[i, j] = work.state[depth, i, j]
    a, b = work.edge[depth, 0], work.edge[depth, 1]
    state[a, b] = state[b, a] = side
    changed = True
    while changed:
        changed = False
        for i in range(n):
            inside = free = 0
            for j in range(n):
                if j != i:
                    inside += 1 if state[i, j] == _IN else 0
                    free += 1 if state[i, j] == _FREE else 0
            if inside > 2 or inside + free < 2:
                return False
            if free > 0 and (inside == 2 or inside + free == 2):
                for j in range(n):
                    if j != i and state[i, j] == _FREE:
                        state[i, j] = state[j, i] = _OUT if inside == 2 else _IN
                changed = True
        if not changed:
            changed = _close_no_stretch(n, state)
    return True


@leaf
def _close_no_stretch(n: int, state: Array) -> bool:
    """Put the edge out that would close a stretch of edges that are in, before it has met all nodes."""
    changed = False
    for start in range(n):
        count, following = 0, -1
        for j in range(n):
            if j != start and state[start, j] == _IN:
                count, following = count + 1, j
        if count != 1:
            continue
        before, node, edges, ahead = start, following, 1, True
        while ahead and edges < n:
            ahead = False
            for j in range(n):
                if j != node and j != before and state[node, j] == _IN:
                    before, node, edges, ahead = node, j, edges + 1, True
                    break
        if edges < n - 1 and state[start, node] == _FREE:
            state[start, node] = state[node, start] = _OUT
            changed = True
    return changed
