"""Label graphs with cycles and many labels, compiled: the maximum over the local polytope by a maximum flow.

With s = 2 y - 1 the score of a label set is a constant plus sum_k h_k s_k + sum_ab j_ab s_a s_b. Every label
gets a twin, which stands for -s_k: where j_ab > 0 labels, and twins, attract each other, where j_ab < 0 the
one's label and the other's twin do, so that the best states of both are a minimum cut. A label is on or off
where it and its twin say so, and 1/2 where they contradict each other: this is a vertex of the local
polytope, of the largest score (Hammer, Hansen and Simeone 1984, "Roof duality, complementation and
persistency in quadratic 0-1 optimization"; Boros and Hammer 2002 for the flow).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array, Shape, max_value, maximize, shared_parts, workspace
from structlearn.core.kernels import implements, jitable, kernel, leaf
from structlearn.structures.cut.max_flow import SOURCE, CutWork, cut_work, saturate


class RoofRecord(NamedTuple):
    """A graph over the labels: node k is label k, node K + k its twin, with as many arcs each as edges."""

    edges: Array  # (E, 2)
    first: Array  # of each label and twin, where its arcs begin
    arc: Array  # (E, 2): the arcs of the two labels of an edge; those of their twins are 2 E further
    arc_edge: Array  # the edge of each arc


class RoofWork(NamedTuple):
    """Scratch memory: scores with what is forbidden made finite, h and j, arcs, and that of the flow."""

    score: Array
    field: Array
    coupling: Array
    head: Array
    reverse: Array
    flow: CutWork


def roof_record(n_labels: int, edges: Array) -> RoofRecord:
    tail = edges.ravel()
    order = np.argsort(tail, kind="stable")
    arc = np.empty(tail.size, dtype=np.int32)
    arc[order] = np.arange(tail.size)
    first = np.searchsorted(tail[order], np.arange(n_labels + 1))
    both = np.concatenate([first[:-1], first + tail.size])
    return RoofRecord(
        edges.astype(np.int32), both.astype(np.int32), arc.reshape(-1, 2), (order // 2).astype(np.int32)
    )


@implements(workspace, RoofRecord)
@jitable
def roof_workspace(graph: RoofRecord, shape: Shape) -> RoofWork:
    n, m = shape[1], graph.edges.shape[0]
    arcs = np.zeros((2, 4 * m), dtype=np.int32)
    flow = cut_work(2 * n, 4 * m)
    return RoofWork(np.empty(n + 4 * m), np.empty(n), np.empty(m), arcs[0], arcs[1], flow)


@leaf
def lift(theta: Array, shared: Array, score: Array) -> float:
    """score <- all scores, -inf so low that no output with half of it is as good as any; the least of these.

    Returns -inf where nothing is forbidden.
    """
    n, total, forbidden = theta.size, 1.0, False
    for j in range(score.size):
        score[j] = theta[j] if j < n else shared[j - n]
        forbidden |= score[j] == -np.inf
        total += abs(score[j]) if score[j] > -np.inf else 0.0
    if not forbidden:
        return -np.inf
    for j in range(score.size):
        score[j] = max(score[j], -6.0 * total)
    return -total


@leaf
def fill_couplings(graph: RoofRecord, n: int, score: Array, work: RoofWork) -> None:
    """Compute h and j of the scores, times 2 and 4: y_a y_b = (1 + s_a + s_b + s_a s_b) / 4."""
    field, coupling = work.field, work.coupling
    for k in range(n):
        field[k] = score[k]
    for e in range(graph.edges.shape[0]):
        t = n + 4 * e
        a, b = graph.edges[e, 0], graph.edges[e, 1]
        c = score[t] + score[t + 3] - score[t + 1] - score[t + 2]
        field[a] += score[t + 2] - score[t] + 0.5 * c
        field[b] += score[t + 1] - score[t] + 0.5 * c
        coupling[e] = c


@leaf
def _join(work: RoofWork, p: int, q: int, tail: int, tip: int, capacity: float) -> None:
    """Let arc p lead from `tail` to `tip`, and q back."""
    work.head[p], work.head[q] = tip, tail
    work.reverse[p], work.reverse[q] = q, p
    work.flow.capacity[p] = work.flow.capacity[q] = capacity


@leaf
def solve_roof(graph: RoofRecord, n: int, work: RoofWork) -> None:
    """Find the states of labels and twins, in the flow's trees, from h and j."""
    twin = 2 * graph.edges.shape[0]
    for k in range(n):
        work.flow.excess[k] = work.field[k]
        work.flow.excess[n + k] = -work.field[k]
    for e in range(graph.edges.shape[0]):
        a, b = graph.edges[e, 0], graph.edges[e, 1]
        p, q = graph.arc[e, 0], graph.arc[e, 1]
        half = 0.5 * abs(work.coupling[e])
        if work.coupling[e] >= 0.0:
            _join(work, p, q, a, b, half)
            _join(work, twin + p, twin + q, n + a, n + b, half)
        else:
            _join(work, p, twin + q, a, n + b, half)
            _join(work, twin + p, q, n + a, b, half)
    saturate(graph.first, work.head, work.reverse, work.flow)


@leaf
def twice(n: int, k: int, work: RoofWork) -> int:
    """Return 2 y_k: 0, 1 or 2."""
    on = 1 if work.flow.tree[k] == SOURCE else 0
    return on + (0 if work.flow.tree[n + k] == SOURCE else 1)


@leaf
def write_half(graph: RoofRecord, n: int, work: RoofWork, vertex: Array) -> float:
    """Write labels on, off and half, and of two halves the likes or the unlikes; return the score."""
    for k in range(n):
        vertex[k] = 0.5 * twice(n, k, work)
    vertex[n:] = 0.0
    for e in range(graph.edges.shape[0]):
        t, a, b = n + 4 * e, twice(n, graph.edges[e, 0], work), twice(n, graph.edges[e, 1], work)
        same = a != 1 or b != 1 or work.coupling[e] >= 0.0
        for one in range(2):  # an output is the mean of two label sets: half goes with one of them
            x = 1 if a == 2 or (a == 1 and one == 1) else 0
            y = 1 if b == 2 or (b == 1 and (one == 1) == same) else 0
            vertex[t + 2 * x + y] += 0.5
    value = 0.0
    for j in range(vertex.size):
        value += work.score[j] * vertex[j]
    return value


@implements(maximize, RoofRecord)
@kernel
def roof_maximize(
    graph: RoofRecord, shape: Shape, theta: Array, shared: Array, work: RoofWork, vertex: Array
) -> float:
    n = shape[1]
    least = lift(theta, shared, work.score)
    fill_couplings(graph, n, work.score, work)
    solve_roof(graph, n, work)
    value = write_half(graph, n, work, vertex)
    if value < least:
        vertex[:] = 0.0
        return -np.inf
    return value


@implements(max_value, RoofRecord)
@kernel
def roof_max_value(
    graph: RoofRecord, shape: Shape, theta: Array, shared: Array, work: RoofWork, vertex: Array
) -> float:
    return roof_maximize(graph, shape, theta, shared, work, vertex)


@implements(shared_parts, RoofRecord)
@jitable
def _pair_parts(structure: RoofRecord) -> int:
    return 4 * structure.edges.shape[0]
