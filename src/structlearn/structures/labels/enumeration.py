"""Label graphs with cycles and few labels: the scores of all 2^K labellings, by doubling."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

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
from structlearn.structures.chain.exponential import exponential
from structlearn.structures.chain.logarithms import LOWEST
from structlearn.structures.regularized import clip_entropy

#: Scores of the labellings of all labels and of all but the last, by code, and the entropy.
Tables: TypeAlias = tuple[Array, Array, Array]


class EnumerationRecord(NamedTuple):
    """A graph over the labels.

    edges : (E, 2) pairs of labels. place : (K, K, 2, 2) where shared keeps the score of (y_k, y_j), j < k;
    -1 where the labels k and j are not joined.
    """

    edges: Array
    place: Array


def enumeration_record(n_labels: int, edges: Array) -> EnumerationRecord:
    tables = np.arange(4 * len(edges)).reshape(-1, 2, 2)
    place = np.full((n_labels, n_labels, 2, 2), -1)
    for table, (a, b) in zip(tables, edges.tolist()):
        place[a, b] = table
        place[b, a] = table.T
    return EnumerationRecord(edges.copy(), place)


@implements(marginals_workspace, EnumerationRecord)
@implements(workspace, EnumerationRecord)
@jitable
def enumeration_workspace(graph: EnumerationRecord, shape: Shape) -> Tables:
    """Allocate a score for each labelling of all labels, of all but the last, and for the entropy."""
    n_labels = shape[1]
    return np.empty(1 << n_labels), np.empty(1 << (n_labels - 1)), np.zeros(1)


@implements(maximize, EnumerationRecord)
@kernel
def enumeration_maximize(
    graph: EnumerationRecord, shape: Shape, theta: Array, shared: Array, work: Tables, vertex: Array
) -> float:
    value = enumeration_max_value(graph, shape, theta, shared, work, vertex)
    n_labels = shape[1]
    best = 0
    for code in range(1 << n_labels):
        if work[0][code] >= value:
            best = code
            break
    for k in range(n_labels):
        vertex[k] = (best >> k) & 1
    vertex[n_labels:] = 0.0
    for edge in range(graph.edges.shape[0]):
        a, b = graph.edges[edge]
        vertex[n_labels + 4 * edge + 2 * ((best >> a) & 1) + ((best >> b) & 1)] = 1.0
    return value


@implements(max_value, EnumerationRecord)
@kernel
def enumeration_max_value(
    graph: EnumerationRecord, shape: Shape, theta: Array, shared: Array, work: Tables, vertex: Array
) -> float:
    total = work[0]
    score_labellings(graph, theta, shared, total, work[1])
    value = -np.inf
    for code in range(1 << shape[1]):
        value = max(value, total[code])
    return value


@implements(log_partition, EnumerationRecord)
@kernel
def enumeration_log_partition(
    graph: EnumerationRecord, shape: Shape, theta: Array, shared: Array, work: Tables, mean: Array
) -> float:
    """log sum_y exp <theta, y>; leaves exp(<theta, y> - the largest) in work[0], by code.

    And in work[2] the entropy, log(1 / p_best) + sum_y p(y) (the largest - <theta, y>).
    """
    largest = enumeration_max_value(graph, shape, theta, shared, work, mean)
    if largest == -np.inf:
        return largest
    weight = work[0]
    total = below = 0.0
    for code in range(1 << shape[1]):
        score = weight[code] - largest
        weight[code] = exponential(score)
        total += weight[code]
        below -= max(score, LOWEST) * weight[code]
    work[2][0] = np.log(total) + below / total
    return largest + np.log(total)


@implements(entropy, EnumerationRecord)
@kernel
def enumeration_entropy(
    graph: EnumerationRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: tuple[Array, Array, Array],
    mean: Array,
    log_z: float,
) -> float:
    return clip_entropy(work[2][0], theta.size * np.log(2.0))


@implements(marginals, EnumerationRecord)
@kernel
def enumeration_marginals(
    graph: EnumerationRecord, shape: Shape, theta: Array, shared: Array, work: Tables, mean: Array
) -> float:
    """Run the doubling backwards: labels leave one by one, each with the weights of its pairs.

    About 6 * 2^K additions; of weights only, so what is forbidden has a marginal of exactly zero.
    """
    value = enumeration_log_partition(graph, shape, theta, shared, work, mean)
    n_labels = shape[1]
    mean[:] = 0.0
    if value == -np.inf:
        return value
    weight, half = work[0], work[1]
    for k in range(n_labels - 1, -1, -1):
        size = 1 << k
        for y in range(2):
            for code in range(size):
                half[code] = weight[y * size + code]
            for j in range(k - 1, -1, -1):
                off, on = fold(half, 1 << j)
                if graph.place[k, j, 0, 0] >= 0:
                    mean[n_labels + graph.place[k, j, y, 0]] = off
                    mean[n_labels + graph.place[k, j, y, 1]] = on
        mean[k] = fold(weight, size)[1]
    scale = 1.0 / weight[0]
    for part in range(mean.size):
        mean[part] = min(mean[part] * scale, 1.0)
    return value


@kernel
def fold(weight: Array, size: int) -> tuple[float, float]:
    """Sum one label out of the weights of labellings; return its weights off and on. `extend` backwards."""
    off = on = 0.0
    for code in range(size):
        off += weight[code]
        on += weight[size + code]
        weight[code] += weight[size + code]
    return off, on


@kernel
def score_labellings(graph: EnumerationRecord, theta: Array, shared: Array, total: Array, off: Array) -> None:
    """total[code] <- the score of the labelling in which label k is bit k of code.

    Label k joins the labellings of the labels before it: the new total is the old one plus what y_k = 0 or
    y_k = 1 adds, and what it adds is tabulated by doubling too, one earlier label at a time. About 6 * 2^K
    additions in long vector loops (a Gray code needs K * 2^K), of scores only: -inf stays -inf, and a total
    carries at most K (K + 1) / 2 roundings.
    """
    total[0] = 0.0
    for k in range(theta.size):
        size = 1 << k
        on = total[size : 2 * size]
        off[0] = 0.0
        on[0] = theta[k]
        for j in range(k):
            place = graph.place[k, j]
            if place[0, 0] >= 0:
                extend(off, 1 << j, shared[place[0, 0]], shared[place[0, 1]])
                extend(on, 1 << j, shared[place[1, 0]], shared[place[1, 1]])
            else:
                extend(off, 1 << j, 0.0, 0.0)
                extend(on, 1 << j, 0.0, 0.0)
        for code in range(size):
            on[code] += total[code]
            total[code] += off[code]


@kernel
def extend(scores: Array, size: int, if_off: float, if_on: float) -> None:
    """Extend the labellings of some labels by one more, whose two states add the given scores."""
    for code in range(size):
        scores[size + code] = scores[code] + if_on
        scores[code] += if_off


@implements(shared_parts, EnumerationRecord)
@jitable
def _pair_parts(structure: EnumerationRecord) -> int:
    return 4 * structure.edges.shape[0]
