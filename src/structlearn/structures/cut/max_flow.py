"""Minimum cuts of undirected graphs with two terminals, compiled.

    max_y sum_i excess_i y_i - sum_ij capacity_ij |y_i - y_j|,    y in {0, 1}^n

Nodes of positive excess are fed by the source, nodes of negative excess drain to the sink, and a maximum
flow between the two saturates a minimum cut. Incremental breadth-first search (Goldberg, Hed, Kaplan, Tarjan
and Werneck 2011, "Maximum flows by incremental breadth-first search"): two shortest-path trees, one from each
terminal, grow level by level; where they touch, the path is saturated, and nodes that lost their parent look
for another on the same level, then on a higher one, else they become free. Like the method of Boykov and
Kolmogorov it repairs its trees rather than growing them again, but distances only rise, so that it ends after
O(n^2 m) steps whatever the capacities are: an arc is saturated to exactly zero, and no sum is compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, leaf

SOURCE, SINK, FREE = 0, 1, 2
_ROOT, _NONE = -1, -2


class CutWork(NamedTuple):
    """Scratch memory. `capacity` and `excess` are filled before `saturate`; after it they are residual."""

    capacity: Array  # of each arc
    excess: Array  # of each node: above 0 from the source, below 0 to the sink
    tree: Array  # SOURCE, SINK or FREE
    distance: Array  # from the node's terminal
    parent: Array  # the arc to the parent in the tree; _ROOT at a terminal, _NONE where there is none
    queue: Array  # of each tree: nodes of its last level, and of the next
    waiting: Array  # how many these are
    front: Array  # which of the two queues is that of the last level
    listed: Array  # the level for which a node was queued last
    level: Array  # the last level of each tree
    limit: Array  # the largest distance that is allowed in each tree
    bucket: Array  # of each tree and distance: the first orphan,
    following: Array  # and of each orphan: the next
    highest: Array  # of each tree: the largest distance of an orphan


@jitable
def cut_work(n_nodes: int, n_arcs: int) -> CutWork:
    """Allocate scratch memory for every graph of at most `n_nodes` nodes and `n_arcs` arcs (two per edge)."""
    return CutWork(
        np.empty(n_arcs),
        np.empty(n_nodes),
        np.empty(n_nodes, np.int8),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.empty((2, 2, n_nodes), np.int32),
        np.empty((2, 2), np.int64),
        np.empty(2, np.int64),
        np.empty((2, n_nodes), np.int32),
        np.empty(2, np.int64),
        np.empty(2, np.int64),
        np.empty((2, n_nodes + 2), np.int32),
        np.empty(n_nodes, np.int32),
        np.empty(2, np.int64),
    )


@leaf
def saturate(first: Array, head: Array, reverse: Array, work: CutWork) -> None:
    """Find a maximum flow; then `tree` is SOURCE on the least set of nodes with y = 1 that is optimal.

    Node v has the arcs first[v] .. first[v + 1] - 1; an arc leads to its head and has a reverse.
    """
    _push_along_arcs(first, head, reverse, work)
    _plant(first.size - 1, work)
    while work.waiting[SOURCE, work.front[SOURCE]] > 0:
        _grow(first, head, reverse, SOURCE, work)
        if work.waiting[SOURCE, work.front[SOURCE]] > 0:
            _grow(first, head, reverse, SINK, work)


@leaf
def _push_along_arcs(first: Array, head: Array, reverse: Array, work: CutWork) -> None:
    """Push flow along paths of a single arc, without trees: most of the flow of a noisy image."""
    capacity, excess = work.capacity, work.excess
    for v in range(first.size - 1):
        a = first[v]
        while excess[v] > 0.0 and a < first[v + 1]:
            u = head[a]
            if excess[u] < 0.0 and capacity[a] > 0.0:
                push = min(excess[v], -excess[u], capacity[a])
                excess[v] -= push
                excess[u] += push
                capacity[a] -= push
                capacity[reverse[a]] += push
            a += 1


@leaf
def _plant(n: int, work: CutWork) -> None:
    """Plant both trees: each holds its terminal and that one's neighbours, at distance 1."""
    work.waiting[:] = 0
    work.front[:] = 0
    work.level[:] = 1
    work.limit[:] = 1
    work.highest[:] = 0
    for v in range(n):
        work.listed[SOURCE, v] = work.listed[SINK, v] = 0
        work.tree[v], work.parent[v] = FREE, _NONE
        if work.excess[v] != 0.0:
            side = SOURCE if work.excess[v] > 0.0 else SINK
            work.tree[v], work.parent[v], work.distance[v] = side, _ROOT, 1
            _enqueue(side, v, 1, work)
    for d in range(n + 2):
        work.bucket[SOURCE, d] = work.bucket[SINK, d] = -1


@leaf
def _enqueue(side: int, v: int, level: int, work: CutWork) -> None:
    """Enqueue node v, of the last level or of the next, to be scanned; once is enough."""
    if work.listed[side, v] != level:
        work.listed[side, v] = level
        which = work.front[side] if level == work.level[side] else 1 - work.front[side]
        work.queue[side, which, work.waiting[side, which]] = v
        work.waiting[side, which] += 1


@leaf
def _grow(first: Array, head: Array, reverse: Array, side: int, work: CutWork) -> None:
    """Grow a tree by one level: scan its last one, take in free nodes, augment where the other tree is."""
    capacity, tree, distance = work.capacity, work.tree, work.distance
    level, now = work.level[side], work.front[side]
    work.limit[side] = level + 1
    k = 0
    while k < work.waiting[side, now]:  # relabelled nodes may join while we scan
        v = work.queue[side, now, k]
        k += 1
        a = first[v]
        while a < first[v + 1] and tree[v] == side and distance[v] == level:
            residual = capacity[a] if side == SOURCE else capacity[reverse[a]]
            u = head[a]
            if residual > 0.0 and tree[u] == FREE:
                tree[u], distance[u], work.parent[u] = side, level + 1, reverse[a]
                _enqueue(side, u, level + 1, work)
            elif residual > 0.0 and tree[u] != side:
                _augment(head, reverse, a if side == SOURCE else reverse[a], work)
                _adopt(first, head, reverse, SOURCE, work)
                _adopt(first, head, reverse, SINK, work)
                continue  # the same arc again
            a += 1
    work.waiting[side, now] = 0
    work.front[side] = 1 - now
    work.level[side] = level + 1


@leaf
def _augment(head: Array, reverse: Array, arc: int, work: CutWork) -> None:
    """Saturate the path through an arc from the source's tree to the sink's; what hung on it is an orphan."""
    capacity, excess, parent = work.capacity, work.excess, work.parent
    tail, tip = head[reverse[arc]], head[arc]
    # 1. The least residual capacity on the path.
    push = capacity[arc]
    v = tail
    while parent[v] != _ROOT:
        push = min(push, capacity[reverse[parent[v]]])
        v = head[parent[v]]
    push = min(push, excess[v])
    v = tip
    while parent[v] != _ROOT:
        push = min(push, capacity[parent[v]])
        v = head[parent[v]]
    push = min(push, -excess[v])
    # 2. The flow.
    capacity[arc] -= push
    capacity[reverse[arc]] += push
    v = tail
    while parent[v] != _ROOT:
        a = parent[v]
        capacity[a] += push
        capacity[reverse[a]] -= push
        if capacity[reverse[a]] == 0.0:
            _abandon(SOURCE, v, work)
        v = head[a]
    excess[v] -= push
    if excess[v] == 0.0:
        _abandon(SOURCE, v, work)
    v = tip
    while parent[v] != _ROOT:
        a = parent[v]
        capacity[a] -= push
        capacity[reverse[a]] += push
        if capacity[a] == 0.0:
            _abandon(SINK, v, work)
        v = head[a]
    excess[v] += push
    if excess[v] == 0.0:
        _abandon(SINK, v, work)


@leaf
def _abandon(side: int, v: int, work: CutWork) -> None:
    """Make node v an orphan."""
    d = work.distance[v]
    work.parent[v] = _NONE
    work.following[v] = work.bucket[side, d]
    work.bucket[side, d] = v
    work.highest[side] = max(work.highest[side], d)


@leaf
def _adopt(first: Array, head: Array, reverse: Array, side: int, work: CutWork) -> None:
    """Find new parents for all orphans of a tree, nearest first: nearer ones hang firmly by then."""
    capacity, tree, distance, parent = work.capacity, work.tree, work.distance, work.parent
    d = 1
    while d <= work.highest[side]:
        v = work.bucket[side, d]
        if v < 0:
            d += 1
            continue
        work.bucket[side, d] = work.following[v]
        # 1. The nearest possible parent.
        best, least = -1, work.limit[side]
        for a in range(first[v], first[v + 1]):
            u = head[a]
            if tree[u] != side or distance[u] >= least:
                continue
            if (capacity[reverse[a]] if side == SOURCE else capacity[a]) > 0.0:
                best, least = a, distance[u]
                if least < d:
                    break
        if best >= 0:
            parent[v] = best
            if least < d:
                continue
        # 2. Further away than before, or free: children have to look for themselves.
        for a in range(first[v], first[v + 1]):
            u = head[a]
            if tree[u] == side and parent[u] == reverse[a]:
                _abandon(side, u, work)
        if best < 0:
            tree[v] = FREE
            continue
        distance[v] = least + 1
        if least + 1 >= work.level[side]:
            _enqueue(side, v, least + 1, work)
    work.highest[side] = 0
