"""Label graphs without cycles: max- and sum-product dynamic programming, and the tree of Chow and Liu."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import (
    Array,
    Shape,
    entropy,
    log_partition,
    marginals,
    marginals_workspace,
    max_value,
    maximize,
    shared_parts,
    workspace,
)
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.structures.regularized import clip_entropy


class TreeRecord(NamedTuple):
    """A rooted forest over the labels.

    order : (K,) labels, parents before children. parent : (K,) the parent of each label, -1 for roots.
    place : (K, 2, 2) where shared keeps the score of (y_k, y_parent).
    """

    order: Array
    parent: Array
    place: Array


def tree_record(n_labels: int, edges: Array) -> TreeRecord:
    """Root every component of a forest at its first label."""
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(n_labels)]
    for edge, (a, b) in enumerate(edges.tolist()):
        neighbours[a].append((b, edge))
        neighbours[b].append((a, edge))
    tables = np.arange(4 * len(edges)).reshape(-1, 2, 2)
    parent = np.full(n_labels, -1)
    place = np.full((n_labels, 2, 2), -1)
    order: list[int] = []
    reached = [False] * n_labels
    for root in range(n_labels):
        waiting = [] if reached[root] else [root]
        reached[root] = True
        while waiting:
            k = waiting.pop()
            order.append(k)
            for child, edge in neighbours[k]:
                if not reached[child]:
                    reached[child] = True
                    parent[child] = k
                    place[child] = tables[edge] if edges[edge, 0] == child else tables[edge].T
                    waiting.append(child)
    return TreeRecord(np.array(order), parent, place)


@implements(marginals_workspace, TreeRecord)
@implements(workspace, TreeRecord)
@jitable
def label_tree_workspace(tree: TreeRecord, shape: Shape) -> Array:
    """Allocate two numbers per label; `marginals` leaves the entropy after them."""
    return np.empty((shape[1] + 1, 2))


@implements(maximize, TreeRecord)
@kernel
def label_tree_maximize(
    tree: TreeRecord, shape: Shape, theta: Array, shared: Array, work: Array, vertex: Array
) -> float:
    value = tree_max_value(tree, shape, theta, shared, work, vertex)
    n_labels = shape[1]
    vertex[:] = 0.0
    for k in tree.order:
        off, on = work[k]
        above = tree.parent[k]
        if above >= 0:
            y_above = int(vertex[above])
            off += shared[tree.place[k, 0, y_above]]
            on += shared[tree.place[k, 1, y_above]]
        y = 1 if on > off else 0
        vertex[k] = y
        if above >= 0:
            vertex[n_labels + tree.place[k, y, y_above]] = 1.0
    return value


@kernel
def _upward(tree: TreeRecord, theta: Array, shared: Array, work: Array, soft: bool) -> float:
    """work[k, y] <- the best score, or the log of the sum, of the subtree of label k where y_k = y.

    Returns the sum over roots. Only sums and maxima of scores: -inf stays -inf.
    """
    n_labels = theta.size
    for k in range(n_labels):
        work[k, 0] = 0.0
        work[k, 1] = theta[k]
    value = 0.0
    for position in range(n_labels - 1, -1, -1):
        k = tree.order[position]
        above = tree.parent[k]
        if above < 0:
            value += log_add(work[k, 0], work[k, 1]) if soft else max(work[k, 0], work[k, 1])
            continue
        for y in range(2):
            off = work[k, 0] + shared[tree.place[k, 0, y]]
            on = work[k, 1] + shared[tree.place[k, 1, y]]
            work[above, y] += log_add(off, on) if soft else max(off, on)
    return value


@implements(max_value, TreeRecord)
@kernel
def tree_max_value(
    tree: TreeRecord, shape: Shape, theta: Array, shared: Array, work: Array, vertex: Array
) -> float:
    return _upward(tree, theta, shared, work, False)


@implements(log_partition, TreeRecord)
@kernel
def tree_log_partition(
    tree: TreeRecord, shape: Shape, theta: Array, shared: Array, work: Array, mean: Array
) -> float:
    return _upward(tree, theta, shared, work, True)


@implements(marginals, TreeRecord)
@kernel
def tree_marginals(
    tree: TreeRecord, shape: Shape, theta: Array, shared: Array, work: Array, mean: Array
) -> float:
    """p(y_k, y_parent) = p(y_k | y_parent) p(y_parent), from the roots down: ratios only, so it is safe.

    So is the entropy, sum_k sum_y p(y_parent = y) H(y_k | y).
    """
    value = tree_log_partition(tree, shape, theta, shared, work, mean)
    n_labels = shape[1]
    mean[:] = 0.0
    if value == -np.inf:
        return value
    found = 0.0
    for k in tree.order:
        above = tree.parent[k]
        if above < 0:
            off = share(work[k, 0], work[k, 1])
            on = share(work[k, 1], work[k, 0])
            found += choice_entropy(work[k, 0], work[k, 1])
        else:
            off = on = 0.0
            for y in range(2):
                if work[above, y] == 0.0:
                    continue
                score_off = work[k, 0] + shared[tree.place[k, 0, y]]
                score_on = work[k, 1] + shared[tree.place[k, 1, y]]
                found += work[above, y] * choice_entropy(score_off, score_on)
                pair_off = work[above, y] * share(score_off, score_on)
                pair_on = work[above, y] * share(score_on, score_off)
                mean[n_labels + tree.place[k, 0, y]] = pair_off
                mean[n_labels + tree.place[k, 1, y]] = pair_on
                off += pair_off
                on += pair_on
        work[k, 0], work[k, 1] = min(off, 1.0), min(on, 1.0)  # from here on the label's own marginals
        mean[k] = work[k, 1]
    work[n_labels, 0] = found
    return value


@implements(entropy, TreeRecord)
@kernel
def tree_entropy(
    tree: TreeRecord, shape: Shape, theta: Array, shared: Array, work: Array, mean: Array, log_z: float
) -> float:
    return clip_entropy(work[shape[1], 0], theta.size * np.log(2.0))


@kernel
def choice_entropy(a: float, b: float) -> float:
    """Return the entropy of a choice of two scores: log(1 + exp -d) + d / (1 + exp d), d = |a - b|."""
    small = np.exp(-abs(a - b))
    return np.log1p(small) + abs(a - b) * small / (1.0 + small) if small > 0.0 else 0.0


@kernel
def log_add(a: float, b: float) -> float:
    """log(exp(a) + exp(b)), also where both are -inf."""
    high, low = max(a, b), min(a, b)
    return high + np.log1p(np.exp(low - high)) if low > -np.inf else high


@kernel
def share(a: float, b: float) -> float:
    """exp(a) / (exp(a) + exp(b)), where not both are -inf; 0 exactly where a is -inf."""
    if a >= b:
        return 1.0 / (1.0 + np.exp(b - a))
    ratio = np.exp(a - b)
    return ratio / (1.0 + ratio)


def spanning_forest(n_labels: int, pairs: Array) -> Array:
    """Return which pairs join two components when taken in order (Kruskal): a (len(pairs),) mask."""
    leader = list(range(n_labels))

    def find(k: int) -> int:
        while leader[k] != k:
            leader[k] = leader[leader[k]]
            k = leader[k]
        return k

    joins = np.zeros(len(pairs), dtype=bool)
    for pair, (a, b) in enumerate(pairs.tolist()):
        first, second = find(a), find(b)
        joins[pair] = first != second
        leader[second] = first
    return joins


def edges_form_forest(n_labels: int, edges: Array) -> bool:
    return len(edges) < n_labels and bool(spanning_forest(n_labels, edges).all())


def chow_liu(Y: Array) -> Array:
    """Return argmax_T sum_{(a, b) in T} I(Y_a; Y_b) over spanning trees T, as sorted edges (K - 1, 2).

    `Y` is an (n, K) array of zeros and ones, I the empirical mutual information. Of several best trees, the
    one that Kruskal finds when equal pairs are taken in lexicographic order.
    """
    n_labels = Y.shape[1]
    pairs = np.stack(np.triu_indices(n_labels, k=1), axis=1)
    information = mutual_information(Y)[pairs[:, 0], pairs[:, 1]]
    # Pairs that are equal up to rounding are ties on every machine.
    ranked = pairs[np.argsort(-np.round(information, 12), kind="stable")]
    tree = ranked[spanning_forest(n_labels, ranked)]
    return tree[np.lexsort((tree[:, 1], tree[:, 0]))]


def mutual_information(Y: Array) -> Array:
    """I(a, b) = sum_{s, t} p_ab(s, t) log(p_ab(s, t) / (p_a(s) p_b(t))): a (K, K) table of all pairs."""
    on = np.asarray(Y, dtype=np.float64)
    states = (1.0 - on, on)
    information = np.zeros((Y.shape[1], Y.shape[1]))
    for first in states:
        for second in states:
            joint = first.T @ second / len(Y)
            independent = np.outer(first.mean(axis=0), second.mean(axis=0))
            seen = joint > 0
            information[seen] += joint[seen] * np.log(joint[seen] / independent[seen])
    return information


@implements(shared_parts, TreeRecord)
@jitable
def _pair_parts(structure: TreeRecord) -> int:
    found = 0
    for parent in structure.parent:
        found += 4 * (parent >= 0)
    return found
