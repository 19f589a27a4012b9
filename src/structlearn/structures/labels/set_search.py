"""The best label set of a label graph that is found, compiled: by roof duality, one by one, and by flips.

What the maximum over the local polytope says of a label, on or off, is so in one of the best label sets
(persistency). Labels of which it says neither are decided one after the other, the one whose score given
those before depends most on it first; then single labels are flipped as long as that helps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array, Shape, max_value, maximize, shared_parts, workspace
from structlearn.core.kernels import implements, jitable, kernel, leaf
from structlearn.structures.labels.roof import (
    RoofRecord,
    RoofWork,
    fill_couplings,
    lift,
    roof_max_value,
    roof_workspace,
    solve_roof,
    twice,
)


class SearchedSets(NamedTuple):
    """A label graph whose answers are label sets."""

    graph: RoofRecord


class SearchWork(NamedTuple):
    """Scratch memory: that of roof duality, and of each label its state (-1, 1, or 0: undecided) and pull."""

    roof: RoofWork
    spin: Array
    pull: Array


@implements(workspace, SearchedSets)
@jitable
def search_workspace(structure: SearchedSets, shape: Shape) -> SearchWork:
    return SearchWork(roof_workspace(structure.graph, shape), np.zeros(shape[1]), np.zeros(shape[1]))


@leaf
def turn(graph: RoofRecord, n: int, k: int, spin: float, work: SearchWork) -> None:
    """Give label k a state; `pull` of its neighbours follows: what they gain by being on rather than off."""
    change = 0.5 * (spin - work.spin[k])
    work.spin[k] = spin
    for p in range(graph.first[k], graph.first[k + 1]):
        e = graph.arc_edge[p]
        other = graph.edges[e, 0] + graph.edges[e, 1] - k
        work.pull[other] += change * work.roof.coupling[e]


@leaf
def start_from_roof(graph: RoofRecord, n: int, work: SearchWork) -> int:
    """Take the labels that roof duality has decided; return how many it has not."""
    left = 0
    for k in range(n):
        work.spin[k], work.pull[k] = 0.0, work.roof.field[k]
    for k in range(n):
        decided = twice(n, k, work.roof) - 1
        left += decided == 0
        if decided != 0:
            turn(graph, n, k, float(decided), work)
    return left


@leaf
def decide(graph: RoofRecord, n: int, left: int, work: SearchWork) -> None:
    """Decide the labels that are left, the one with the strongest pull first."""
    for _ in range(left):
        best = -1
        for k in range(n):
            if work.spin[k] == 0.0 and (best < 0 or abs(work.pull[k]) > abs(work.pull[best])):
                best = k
        turn(graph, n, best, 1.0 if work.pull[best] > 0.0 else -1.0, work)


@leaf
def flip(graph: RoofRecord, n: int, work: SearchWork) -> None:
    """Flip labels that are better off in the other state, one by one; each flip improves the score."""
    least, changed = 0.0, True
    for k in range(n):
        least = max(least, 1e-12 * abs(work.pull[k]))
    while changed:
        changed = False
        for k in range(n):
            if work.spin[k] * work.pull[k] < -least:
                turn(graph, n, k, -work.spin[k], work)
                changed = True


@leaf
def write_set(graph: RoofRecord, n: int, work: SearchWork, vertex: Array) -> float:
    """Write the part vector of the label set; return its score."""
    score, value = work.roof.score, 0.0
    vertex[:] = 0.0
    for k in range(n):
        if work.spin[k] > 0.0:
            vertex[k] = 1.0
            value += score[k]
    for e in range(graph.edges.shape[0]):
        t, a, b = n + 4 * e, graph.edges[e, 0], graph.edges[e, 1]
        at = t + (2 if work.spin[a] > 0.0 else 0) + (1 if work.spin[b] > 0.0 else 0)
        vertex[at] = 1.0
        value += score[at]
    return value


@implements(maximize, SearchedSets)
@kernel
def search_maximize(
    structure: SearchedSets, shape: Shape, theta: Array, shared: Array, work: SearchWork, vertex: Array
) -> float:
    graph, n = structure.graph, shape[1]
    least = lift(theta, shared, work.roof.score)
    fill_couplings(graph, n, work.roof.score, work.roof)
    solve_roof(graph, n, work.roof)
    decide(graph, n, start_from_roof(graph, n, work), work)
    flip(graph, n, work)
    value = write_set(graph, n, work, vertex)
    if value < least:
        vertex[:] = 0.0
        return -np.inf
    return value


@implements(max_value, SearchedSets)
@kernel
def search_max_value(
    structure: SearchedSets, shape: Shape, theta: Array, shared: Array, work: SearchWork, vertex: Array
) -> float:
    """Return an upper bound of the maximum: that over the local polytope."""
    return roof_max_value(structure.graph, shape, theta, shared, work.roof, vertex)


@implements(shared_parts, SearchedSets)
@jitable
def _pair_parts(structure: SearchedSets) -> int:
    return 4 * structure.graph.edges.shape[0]
