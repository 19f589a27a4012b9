"""Approximate marginals of graphs of any width: by tree-reweighted bounds, or by loopy belief propagation.

*Tree-reweighted* marginals are the gradient of the least bound on log Z (see `partition_bound`): they belong
to the local polytope, and log Z is not above the bound. *Loopy* belief propagation sends messages

    m_{v -> u}(y) = log sum_x exp( theta_v(x) + theta_e(x, y) + sum of the other messages to v at x )

until they rest; its log Z is Bethe's (Yedidia, Freeman and Weiss 2005, "Constructing free-energy
approximations and generalized belief propagation algorithms"), an estimate that may be above or below. Both
are exact on forests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.core.vectors import log_sum
from structlearn.structures.base import nothing_allowed
from structlearn.structures.graph.inference import fill_tables, label_work
from structlearn.structures.graph.pair_scores import pair_score
from structlearn.structures.graph.partition_bound import edge_beliefs, least_bound
from structlearn.structures.graphs import GraphRecord, graph_record

if TYPE_CHECKING:
    from structlearn.structures.graph.pairwise import PairwiseGraphs

METHODS = ("tree-reweighted", "loopy")
#: The bound is as low as it gets where no entry of its gradient is larger.
_STEEPEST = 1e-3


class ApproximateMarginals(NamedTuple):
    """Marginals of all parts, and what is known of them.

    mean : of the shape of the scores
    log_partition : an upper bound on log Z by "tree-reweighted", an estimate by "loopy"
    converged : whether messages rest (loopy), or the bound is as low as it gets (tree-reweighted)
    steps : sweeps over all messages, or evaluations of the bound
    """

    mean: Array
    log_partition: float
    converged: bool
    steps: int


def approximate_marginals(
    structure: PairwiseGraphs, theta: ArrayLike, method: str, damping: float, tol: float, most_steps: int
) -> ApproximateMarginals:
    """Return marginals of one graph (see `PairwiseGraphs.approximate_marginals`)."""
    if method not in METHODS:
        raise ValueError(f"method is one of {', '.join(map(repr, METHODS))}; got {method!r}.")
    if not 0.0 <= damping < 1.0:
        raise ValueError(f"damping is a number from 0 to below 1; got {damping!r}.")
    scores, (_, g) = structure.read_scores(theta)
    tables = structure.score_tables()
    work: Any = label_work(tables)
    n, m = fill_tables(tables, g, scores, np.empty(0), work)
    graph, node, table = structure.graphs[g], work.node[:n], work.table[:m]
    if method == "loopy":
        pairs, beliefs = np.zeros((m, node.shape[1], node.shape[1])), np.zeros(node.shape)
        steps, change = _propagate(
            graph_record([graph]), node, table, damping, tol, most_steps, beliefs, pairs
        )
        log_z, converged = _bethe(graph.edges, node, table, beliefs, pairs), change <= tol
    else:
        log_z, steepest, steps, order, split, sums = least_bound(graph, node, table, most_steps)
        pairs, beliefs = np.zeros((m, node.shape[1], node.shape[1])), sums.belief
        converged = steepest <= _STEEPEST
        if log_z > -np.inf:
            edge_beliefs(order, table, split, pairs, sums)
    if log_z == -np.inf:
        raise nothing_allowed("The score vector")
    places = np.arange(tables.part.size), tables.part.ravel()
    ties = sparse.csr_array((tables.sign.ravel(), places), shape=(tables.part.size, tables.n_tied))
    mean = np.concatenate([beliefs.ravel(), (pairs.reshape(m, -1) @ ties).ravel()])
    return ApproximateMarginals(mean, float(log_z), bool(converged), int(steps))


@kernel
def _propagate(
    graph: GraphRecord,
    node: Array,
    table: Array,
    damping: float,
    tol: float,
    most_sweeps: int,
    beliefs: Array,
    pairs: Array,
) -> tuple[int, float]:
    """Send messages until none changes by more than `tol`; fill in beliefs; return sweeps and the change."""
    n, k = node.shape
    message = np.zeros((graph.head.size, k))  # of each arc, to its tail
    cavity, sent = np.empty(k), np.empty(k)
    change, sweeps = np.inf, 0
    while sweeps < most_sweeps and change > tol:
        sweeps += 1
        change = 0.0
        for t in range(n):
            v = t if sweeps % 2 == 1 else n - 1 - t
            for p in range(graph.first[v], graph.first[v + 1]):
                _without(graph, v, p, node, message, cavity)
                change = max(change, _send(graph, v, p, table, damping, cavity, sent, message))
    for v in range(n):
        _without(graph, v, -1, node, message, cavity)
        _exponentials(cavity, beliefs[v])
        for p in range(graph.first[v], graph.first[v + 1]):
            e, u = graph.edge[p], graph.head[p]
            if graph.ends[e, 0] == v and v != u:
                _without(graph, v, p, node, message, cavity)
                _without(graph, u, graph.reverse[p], node, message, sent)
                for x in range(k):
                    for y in range(k):
                        pairs[e, x, y] = cavity[x] + sent[y] + pair_score(table, e, x, y)
                flat = pairs[e].reshape(k * k)
                _exponentials(flat, flat)
    return sweeps, change


@kernel
def _without(graph: GraphRecord, v: int, p: int, node: Array, message: Array, cavity: Array) -> None:
    """cavity <- the scores of node v with all messages to it but that of arc p."""
    for x in range(cavity.size):
        cavity[x] = node[v, x]
    for q in range(graph.first[v], graph.first[v + 1]):
        if q != p:
            for x in range(cavity.size):
                cavity[x] += message[q, x]


@kernel
def _send(
    graph: GraphRecord,
    v: int,
    p: int,
    table: Array,
    damping: float,
    cavity: Array,
    sent: Array,
    message: Array,
) -> float:
    """Send from node v along arc p; return the largest change of a probability in the message."""
    k, e, back = cavity.size, graph.edge[p], graph.reverse[p]
    ahead = graph.ends[e, 0] == v
    row = np.empty(k)
    for y in range(k):
        for x in range(k):
            row[x] = cavity[x] + (pair_score(table, e, x, y) if ahead else pair_score(table, e, y, x))
        sent[y] = log_sum(row)
    whole = log_sum(sent)
    change = 0.0
    for y in range(k):
        new = sent[y] - whole if whole > -np.inf else -np.inf
        old = message[back, y]
        if damping > 0.0 and new > -np.inf and old > -np.inf:
            new = (1.0 - damping) * new + damping * old
        change = max(change, abs(np.exp(new) - np.exp(old)))
        message[back, y] = new
    return change


@kernel
def _exponentials(scores: Array, out: Array) -> None:
    """out <- exp(scores), over their sum; zeros where all are -inf."""
    whole = log_sum(scores)
    for x in range(scores.size):
        out[x] = np.exp(scores[x] - whole) if whole > -np.inf else 0.0


@kernel
def _bethe(ends: Array, node: Array, table: Array, beliefs: Array, pairs: Array) -> float:
    """Return sum_v <b_v, theta_v> + (1 - d_v) H(b_v) + sum_e <b_e, theta_e> + H(b_e), or -inf."""
    degree = np.zeros(node.shape[0])
    value = 0.0
    for e in range(ends.shape[0]):
        degree[ends[e, 0]] += 1.0
        degree[ends[e, 1]] += 1.0
        for x in range(node.shape[1]):
            for y in range(node.shape[1]):
                p = pairs[e, x, y]
                if p > 0.0:
                    value += p * (pair_score(table, e, x, y) - np.log(p))
    for v in range(node.shape[0]):
        total = 0.0
        for x in range(node.shape[1]):
            p = beliefs[v, x]
            total += p
            if p > 0.0:
                value += p * (node[v, x] - (1.0 - degree[v]) * np.log(p))
        if total == 0.0:
            return -np.inf
    return value
