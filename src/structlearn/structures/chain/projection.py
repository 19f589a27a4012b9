"""Projections onto label sequences: a few vertices where those do, else a flow.

An active set (`structures.sparsemap`) finds answers that mix few sequences in as many rounds of Viterbi's
algorithm. Mixtures of hundreds take it long, and longer still where sequences nearly tie. So it gets few
rounds; then the answer is the flow of `flow`, over the labels that may have weight: those on a sequence whose
score at the gradient is nearly the best. At the end Viterbi's algorithm over all labels says how far the
answer is from the best at most; if labels were missing, it goes on with more.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Generic, NamedTuple

import numpy as np

from structlearn.core.contract import Array, Shape, max_value
from structlearn.core.kernels import jitable, kernel
from structlearn.core.vectors import max_of
from structlearn.structures.chain.flow import Flow, best_flow
from structlearn.structures.chain.network import ResistorNetwork, n_nodes_before
from structlearn.structures.chain.viterbi import SequenceScores, best_prefixes
from structlearn.structures.sparsemap import (
    TOLERANCE,
    Oracle,
    SparseMAPScratch,
    active_set,
    active_set_project,
    score_of,
)

if TYPE_CHECKING:
    from structlearn.structures.chain.chain import ChainRecord
    from structlearn.structures.chain.conditioned import ConditionedRecord

#: Rounds of the active set: after these, the flow has few labels to choose from. With half as many it has so
#: many that it takes longer than both; with twice as many the active set takes longer than the flow.
FEW_ROUNDS = 40
#: Labels are left out that cost more than this many times the mean error of a position's weights.
WIDTH = 1.5
#: How much more they may cost each time that labels were missing, and how often that may be.
WIDER, MOST_TRIES = 4.0, 10
#: The error, relative to scores, up to which the flow is the answer though more than rounding is missing.
FLOW_TOLERANCE = 1e-9
#: The most edges that memory is made for; beyond this the active set goes on alone.
MOST_EDGES = 1 << 20
#: Flow that is a rounding error.
NO_FLOW = 1e-15


class SequenceProjectionScratch(NamedTuple, Generic[Oracle]):
    """Scratch memory: of the active set; of a flow.

    edges : (6, E), numbers of edges. factor : (2 E,). nodes : (8, L K), numbers of nodes. table : (2 K, 2 K).
    sizes, label : (L,) and (L, K), the chosen labels. through : (L, K) the best score through a label.
    spent : (2,) how many flows the last answer took, 0 if it is a mixture of atoms; how many rounds in all.
    rounds : those that the active set gets first.
    """

    active: SparseMAPScratch[Oracle]
    edges: Array
    factor: Array
    nodes: Array
    table: Array
    sizes: Array
    label: Array
    through: Array
    spent: Array
    rounds: int


@jitable
def sequence_projection_scratch(
    active: SparseMAPScratch[Oracle], length: int, n_labels: int
) -> SequenceProjectionScratch[Oracle]:
    n_edges = min(length * n_labels * n_labels, MOST_EDGES)
    return SequenceProjectionScratch(
        active,
        np.empty((6, n_edges)),
        np.empty(2 * n_edges),
        np.empty((8, length * n_labels)),
        np.empty((2 * n_labels, 2 * n_labels)),
        np.empty(length, dtype=np.int64),
        np.empty((length, n_labels), dtype=np.int64),
        np.empty((length, n_labels)),
        np.zeros(2, dtype=np.int64),
        FEW_ROUNDS,
    )


@kernel
def mix_few_sequences(
    structure: ChainRecord | ConditionedRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: SequenceProjectionScratch,
    point: Array,
) -> tuple[float, float]:
    """Answer `project` by the active set; return the maximum and its error, 0 if the rounds were enough."""
    work.spent[0] = work.spent[1] = 0
    return active_set(structure, shape, theta, shared, work.active, point, work.rounds)


@kernel
def mix_many_sequences(
    structure: ChainRecord | ConditionedRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    scores: SequenceScores,
    work: SequenceProjectionScratch,
    missing: float,
    point: Array,
) -> float:
    """Answer `project` by a flow after `mix_few_sequences`, but for parts of start and end.

    scores : `theta` and `shared` as tables. missing : the error so far.
    """
    length, n_labels = scores.unary.shape
    gradient = work.active.gradient[: theta.size]
    at_gradient = SequenceScores(gradient.reshape(length, n_labels), scores.steps, scores.start, scores.end)
    tolerance = TOLERANCE * (1.0 + score_of(theta, shared, point)[1])
    width, value = WIDTH, -np.inf
    for _ in range(MOST_TRIES):
        _best_through(at_gradient, work.through, work.table)
        most = _choose_labels(work, length, tolerance + width * sqrt(2.0 * missing / length))
        if length * most * most > work.edges.shape[1]:
            break
        flow = make_flow(scores, work, most)
        work.spent[0] += 1
        work.spent[1] += best_flow(flow, 1e-4 * tolerance)
        value, square = _write(flow, scores.steps.shape[0], n_labels, point)
        for k in range(theta.size):
            gradient[k] = theta[k] - point[k]
        vertex = work.active.atoms.parts[0, : point.size]
        best = max_value(structure, shape, gradient, shared, work.active.oracle, vertex)
        missing = max(best - (value - square), 0.0)
        if missing <= tolerance:
            return value
        width *= WIDER
    if missing <= FLOW_TOLERANCE / TOLERANCE * tolerance and width > WIDTH:
        return value + missing
    work.spent[0] = 0
    return active_set_project(structure, shape, theta, shared, work.active, point)


@kernel
def _best_through(scores: SequenceScores, through: Array, table: Array) -> None:
    """through[t, k] <- the best score of a sequence that has the label k at position t."""
    unary, steps = scores.unary, scores.steps
    length, n = unary.shape
    best_prefixes(scores, through)
    after, now = table[0], table[1]  # the best that may follow a label; the same with the label's own score
    for k in range(n):
        after[k] = 0.0
    for t in range(length - 1, -1, -1):
        for k in range(n):
            through[t, k] += after[k]
            now[k] = unary[t, k] + after[k]
            if t == length - 1 and scores.end.size > 0:
                now[k] += scores.end[k]
        s = min(t, steps.shape[0] - 1)
        for j in range(n if t > 0 else 0):
            after[j] = -np.inf
            for k in range(n):
                after[j] = max(after[j], steps[s, j, k] + now[k])


@kernel
def _choose_labels(work: SequenceProjectionScratch, length: int, width: float) -> int:
    """Choose the labels of each position at most `width` below the best; return the most of one position.

    The best sequence through such a label has such labels only, so that none is a dead end.
    """
    through, count, label = work.through, work.sizes, work.label
    least = max_of(through[0]) - width
    most = 0
    for t in range(length):
        count[t] = 0
        for k in range(through.shape[1]):
            if through[t, k] >= least:
                label[t, count[t]] = k
                count[t] += 1
        most = max(most, count[t])
    return most


@kernel
def make_flow(scores: SequenceScores, work: SequenceProjectionScratch, most: int) -> Flow:
    """Make a flow through the chosen labels, with their scores."""
    length = scores.unary.shape[0]
    e, v, edge, node = work.edges, work.nodes, length * most * most, length * most
    cube, size = (length, most, most), (length, most)
    weight, step, x = e[0, :edge].reshape(cube), e[1, :edge].reshape(cube), e[2, :edge].reshape(cube)
    slack, dx, ds = e[3, :edge].reshape(cube), e[4, :edge].reshape(cube), e[5, :edge].reshape(cube)
    total, pivot = v[0, :node].reshape(size), v[1, :node].reshape(size)
    unary, mu = v[2, :node].reshape(size), v[3, :node].reshape(size)
    g, h = v[4, :node].reshape(size), v[5, :node].reshape(size)
    p, q = v[6, :node].reshape(size), v[7, :node].reshape(size)
    factor = work.factor[: 2 * edge].reshape((length, most, 2 * most))
    network = ResistorNetwork(work.sizes[:length], weight, total, factor, pivot, work.table)
    flow = Flow(network, work.label, unary, step, mu, x, slack, dx, ds, g, h, p, q)
    _copy_scores(flow, scores)
    return flow


@kernel
def _copy_scores(flow: Flow, scores: SequenceScores) -> None:
    count, label = flow.network.sizes, flow.label
    length = count.size
    for t in range(length):
        s = min(t, scores.steps.shape[0] - 1)
        for k in range(count[t]):
            flow.unary[t, k] = scores.unary[t, label[t, k]]
            if t == 0 and scores.start.size > 0:
                flow.unary[t, k] += scores.start[label[t, k]]
            if t == length - 1 and scores.end.size > 0:
                flow.unary[t, k] += scores.end[label[t, k]]
        for j in range(n_nodes_before(count, t)):
            for k in range(count[t]):
                flow.step[t, j, k] = scores.steps[s, label[t - 1, j], label[t, k]] if t > 0 else 0.0


@kernel
def _write(flow: Flow, n_tables: int, n_labels: int, point: Array) -> tuple[float, float]:
    """point <- labels and steps of the flow; returns <u, mu> + <step, x> - 1/2 ||mu||^2 and 1/2 ||mu||^2.

    The weight of a label is shared out among the steps from it in proportion to their flow. So `point` is a
    mixture of sequences but for rounding, and parts that have no more flow than rounding are zero.
    """
    count, label, x, mu = flow.network.sizes, flow.label, flow.x, flow.mu
    n_local = count.size * n_labels
    point[:] = 0.0
    value, square = 0.0, 0.0
    for t in range(count.size):
        s = min(t, n_tables - 1)
        for k in range(count[t]):
            mu[t, k] = 0.0
        for j in range(n_nodes_before(count, t)):
            share = _share(flow, t, j)
            for k in range(count[t]):
                if x[t, j, k] > NO_FLOW and share > 0.0:
                    moved = share * x[t, j, k]
                    mu[t, k] += moved
                    value += moved * flow.step[t, j, k]
                    if t > 0:
                        point[n_local + (s * n_labels + label[t - 1, j]) * n_labels + label[t, k]] += moved
        for k in range(count[t]):
            if mu[t, k] > 0.0:
                point[t * n_labels + label[t, k]] = mu[t, k]
                value += mu[t, k] * flow.unary[t, k]
                square += 0.5 * mu[t, k] * mu[t, k]
    return value - square, square


@kernel
def _share(flow: Flow, t: int, j: int) -> float:
    """Return the weight of node j before step t, over the flow that leaves it."""
    weight = flow.mu[t - 1, j] if t > 0 else 1.0
    if weight == 0.0:
        return 0.0
    total = 0.0
    for k in range(flow.network.sizes[t]):
        if flow.x[t, j, k] > NO_FLOW:
            total += flow.x[t, j, k]
    return weight / total
