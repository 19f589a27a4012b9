"""Upper bounds on log Z of graphs that are too wide for it.

Nodes are summed out one after the other. Where a node has d > 1 neighbours left, what is known of it is split
into d factors, one per edge, and each is summed by itself in the norm of d (Hoelder's inequality):

    sum_x prod_e f_e(x)  <=  prod_e ( sum_x f_e(x)^d )^(1 / d)

This is the tree-reweighted bound (Wainwright, Jaakkola and Willsky 2005, "A new class of upper bounds on the
log partition function") of the trees in which each node hangs on one of its d neighbours by chance, written
as in Liu and Ihler 2011, "Bounding the partition function using Hoelder's inequality". It is convex in how
factors are split, and least where L-BFGS ends; on forests d is 1 and the bound is log Z.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.core.vectors import log_sum
from structlearn.structures.graph.pair_scores import pair_score
from structlearn.structures.graphs import Graph

#: Evaluations of the bound; each is a true one.
MOST_STEPS = 200


class SumOrder(NamedTuple):
    """Nodes in the order in which they are summed out, and of each (by its place) the edges to those left."""

    node: Array
    first: Array
    edge: Array
    other: Array  # the other end,
    ahead: Array  # and whether the node that is summed out is the edge's first


def sum_order(graph: Graph) -> SumOrder:
    """Sum out next the node of the fewest neighbours."""
    around: list[list[tuple[int, int, bool]]] = [[] for _ in range(graph.n_nodes)]
    for e, (a, b) in enumerate(graph.edges.tolist()):
        around[a].append((e, b, True))
        around[b].append((e, a, False))
    degree = [len(one) for one in around]
    waiting = [(d, v) for v, d in enumerate(degree)]
    heapq.heapify(waiting)
    done = [False] * graph.n_nodes
    nodes: list[int] = []
    arcs: list[tuple[int, int, bool]] = []
    first = [0]
    while waiting:
        d, v = heapq.heappop(waiting)
        if done[v] or d != degree[v]:
            continue
        done[v] = True
        left = [arc for arc in around[v] if not done[arc[1]]]
        nodes.append(v)
        arcs += left
        first.append(len(arcs))
        for _, u, _ in left:
            degree[u] -= 1
            heapq.heappush(waiting, (degree[u], u))
    columns = np.array(arcs, dtype=np.int64).reshape(-1, 3).T.copy()
    return SumOrder(np.array(nodes), np.array(first), *columns)


class SumWork(NamedTuple):
    """What is known of each node, the mean of its splits, its probabilities; and one row of K numbers."""

    total: Array
    mean: Array
    belief: Array
    row: Array


def log_partition_bound(graph: Graph, node: Array, table: Array, most_steps: int = MOST_STEPS) -> float:
    """Return a number that log Z does not exceed; of a forest log Z. For `table` see `pair_scores`."""
    return least_bound(graph, node, table, most_steps).bound


class LeastBound(NamedTuple):
    """The least bound that was found, how steep it is there at most, and after how many evaluations.

    order, split, work : those of the bound, whose gradients by the scores of nodes are `work.belief`
    """

    bound: float
    steepest: float
    steps: int
    order: SumOrder
    split: Array
    work: SumWork


def least_bound(graph: Graph, node: Array, table: Array, most_steps: int = MOST_STEPS) -> LeastBound:
    """Minimise the bound over how scores of nodes are split."""
    from scipy.optimize import minimize

    order, split = sum_order(graph), np.zeros((len(graph.edges), node.shape[1]))
    total, mean, belief = np.empty((3, *node.shape))
    work = SumWork(total, mean, belief, np.empty(node.shape[1]))
    found, steps = [(np.inf, split.ravel())], [0]

    def value(flat: Array) -> tuple[float, Array]:
        gradient = np.zeros(split.shape)
        bound = bound_and_gradient(order, node, table, flat.reshape(split.shape), gradient, work)
        steps[0] += 1
        if bound < found[0][0]:
            found[0] = bound, flat.copy()
        return bound, gradient.ravel()

    if value(split.ravel())[0] > -np.inf and (np.diff(order.first) > 1).any():
        minimize(value, split.ravel(), jac=True, method="L-BFGS-B", options={"maxfun": most_steps})
    best = found[0][1]
    bound, gradient = value(best)
    least = best.reshape(split.shape)
    return LeastBound(float(bound), float(np.abs(gradient).max(initial=0.0)), steps[0], order, least, work)


@kernel
def edge_beliefs(order: SumOrder, table: Array, split: Array, pairs: Array, work: SumWork) -> None:
    """pairs[e, x, y] <- the gradient of the bound by the score of the states x and y at the ends of edge e.

    work : as `bound_and_gradient` has left it at this split; its means are made anew
    """
    n, k = work.belief.shape
    for t in range(n):
        _mean(order, t, split, work.mean)
    for t in range(n):
        d = order.first[t + 1] - order.first[t]
        for p in range(order.first[t], order.first[t + 1]):
            for y in range(k):
                p_y = work.belief[order.other[p], y]
                if p_y > 0.0:
                    top = d * sum_out(order, t, p, y, table, split, work)
                    for x in range(k):
                        share = p_y * np.exp(work.row[x] - top)
                        if order.ahead[p]:
                            pairs[order.edge[p], x, y] = share
                        else:
                            pairs[order.edge[p], y, x] = share


@kernel
def bound_and_gradient(
    order: SumOrder, node: Array, table: Array, split: Array, gradient: Array, work: SumWork
) -> float:
    """Return the bound where edge e has total / d + split[e] - their mean; gradient <- that by split."""
    n, k = node.shape
    total, belief, row = work.total, work.belief, work.row
    bound = 0.0
    for v in range(n):
        for x in range(k):
            total[v, x], belief[v, x] = node[v, x], 0.0
    for t in range(n):
        v, d = order.node[t], order.first[t + 1] - order.first[t]
        if d == 0:
            bound += log_sum(total[v])
        _mean(order, t, split, work.mean)
        for p in range(order.first[t], order.first[t + 1]):
            for y in range(k):
                total[order.other[p], y] += sum_out(order, t, p, y, table, split, work)
    if bound == -np.inf:
        return bound
    for t in range(n - 1, -1, -1):
        v, d = order.node[t], order.first[t + 1] - order.first[t]
        if d == 0:
            top = log_sum(total[v])
            for x in range(k):
                belief[v, x] = np.exp(total[v, x] - top)
            continue
        for p in range(order.first[t], order.first[t + 1]):
            for y in range(k):
                p_y = belief[order.other[p], y]
                if p_y > 0.0:
                    top = d * sum_out(order, t, p, y, table, split, work)
                    for x in range(k):
                        gradient[order.edge[p], x] += p_y * np.exp(row[x] - top)
        _mean(order, t, gradient, belief)
        for p in range(order.first[t], order.first[t + 1]):
            for x in range(k):
                gradient[order.edge[p], x] -= belief[v, x]
    return bound


@kernel
def _mean(order: SumOrder, t: int, values: Array, out: Array) -> None:
    """out[v] <- the mean over the edges of step t, of node v."""
    v, d = order.node[t], order.first[t + 1] - order.first[t]
    for x in range(out.shape[1]):
        out[v, x] = 0.0
        for p in range(order.first[t], order.first[t + 1]):
            out[v, x] += values[order.edge[p], x] / d


@kernel
def sum_out(order: SumOrder, t: int, p: int, y: int, table: Array, split: Array, work: SumWork) -> float:
    """Return 1 / d log sum_x exp row[x]; row[x] is d times the factor of edge p at x, with y at its end."""
    v, d, e = order.node[t], order.first[t + 1] - order.first[t], order.edge[p]
    for x in range(work.row.size):
        pair = pair_score(table, e, x, y) if order.ahead[p] else pair_score(table, e, y, x)
        work.row[x] = work.total[v, x] + d * (split[e, x] - work.mean[v, x] + pair)
    return log_sum(work.row) / d
