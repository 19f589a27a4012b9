"""Matchings, compiled: the best links and the projection, with the smaller side as rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array, Shape, max_value, maximize, project, project_workspace, workspace
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.structures.matching.assignment import AssignmentWork, assignment_work, solve_assignment
from structlearn.structures.matching.flow import FlowWork, flow, flow_work
from structlearn.structures.matching.projection import ProjectionWork, project_matching, projection_work

# A projection starts at the prices of the linear program where scores are above this. A flow is slower.
_LARGE, _LARGE_FOR_FLOW = 8.0, 1e3
# Above this the answer is often a vertex v: prices of the scores theta - 1.5 v prove that at once.
_HUGE, _HANDICAP = 100.0, 1.5


class MatchingRecord(NamedTuple):
    """The compiled form of `Matching`."""

    unmatched: bool
    row_capacity: int
    column_capacity: int


class MatchingWork(NamedTuple):
    """Scratch memory: the scores with the smaller side as rows, and that of the algorithm in use."""

    transposed: Array
    assignment: AssignmentWork
    flow: FlowWork


@implements(workspace, MatchingRecord)
@jitable
def matching_workspace(structure: MatchingRecord, shape: Shape) -> MatchingWork:
    m, n = shape
    size = (min(m, n), max(m, n))
    simple = structure.row_capacity == 1 and structure.column_capacity == 1
    rows, columns = size if simple else (0, 0)
    assignment = assignment_work(rows, columns)
    rows, columns = (0, 0) if simple else size
    return MatchingWork(np.empty(m * n), assignment, flow_work(rows, columns))


class _Sides(NamedTuple):
    """A problem with the smaller side as rows: entry (i, j) is at i * row_step + j * column_step."""

    m: int
    n: int
    row_capacity: int
    column_capacity: int
    unmatched: bool
    row_step: int
    column_step: int


@kernel
def _smaller_first(
    structure: MatchingRecord, shape: Shape, theta: Array, transposed: Array
) -> tuple[_Sides, Array]:
    """Return the problem with its smaller side first, and its scores."""
    m, n = shape
    a, b = structure.row_capacity, structure.column_capacity
    if m <= n:
        return _Sides(m, n, a, b, structure.unmatched, n, 1), theta
    for i in range(m):
        for j in range(n):
            transposed[j * m + i] = theta[i * n + j]
    return _Sides(n, m, b, a, structure.unmatched, 1, n), transposed


@kernel
def _link(scores: Array, sides: _Sides, work: MatchingWork) -> float:
    """Find the best links; return their score."""
    m, n, a, b, unmatched = sides.m, sides.n, sides.row_capacity, sides.column_capacity, sides.unmatched
    if a == 1 and b == 1:
        return solve_assignment(scores, m, n, 0.0 if unmatched else -np.inf, work.assignment)
    return flow(scores, m, n, a, b, unmatched, work.flow)


@kernel
def _add_links(
    sides: _Sides, row_step: int, column_step: int, work: MatchingWork, change: float, table: Array
) -> None:
    """Add `change` to the entries of a table that `_link` has linked."""
    for i in range(sides.m):
        if sides.row_capacity == 1 and sides.column_capacity == 1:
            j = work.assignment.column[i]
            if j >= 0:
                table[i * row_step + j * column_step] += change
        else:
            for j in range(sides.n):
                if work.flow.linked[i * sides.n + j]:
                    table[i * row_step + j * column_step] += change


@implements(max_value, MatchingRecord)
@implements(maximize, MatchingRecord)
@kernel
def matching_maximize(
    structure: MatchingRecord, shape: Shape, theta: Array, shared: Array, work: MatchingWork, vertex: Array
) -> float:
    sides, scores = _smaller_first(structure, shape, theta, work.transposed)
    value = _link(scores, sides, work)
    vertex[:] = 0.0
    if value > -np.inf:
        _add_links(sides, sides.row_step, sides.column_step, work, 1.0, vertex)
    return value


class MatchingNearestWork(NamedTuple):
    """Scratch memory of a projection, and of the linear program that it may start from."""

    prices: Array  # of the columns
    program: MatchingWork
    projection: ProjectionWork


@implements(project_workspace, MatchingRecord)
@jitable
def matching_project_workspace(structure: MatchingRecord, shape: Shape) -> MatchingNearestWork:
    rows, columns = min(shape), max(shape)
    program = matching_workspace(structure, shape)
    return MatchingNearestWork(np.empty(columns), program, projection_work(rows, columns))


@implements(project, MatchingRecord)
@kernel
def matching_project(
    structure: MatchingRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: MatchingNearestWork,
    point: Array,
) -> float:
    sides, scores = _smaller_first(structure, shape, theta, work.program.transposed)
    point[:] = 0.0
    if not _start_prices(scores, sides, work):
        return -np.inf
    limits = (0 if structure.unmatched else 1, sides.row_capacity, sides.column_capacity)
    answer = work.projection
    project_matching(scores, sides.m, sides.n, limits, work.prices, answer)
    value = 0.0
    for i in range(sides.m):
        for e in range(answer.start[i], answer.start[i + 1]):
            j, z = answer.column[e], answer.value[e]
            point[i * sides.row_step + j * sides.column_step] = z
            value += z * (scores[i * sides.n + j] - 0.5 * z)
    return value


@kernel
def _start_prices(scores: Array, sides: _Sides, work: MatchingNearestWork) -> bool:
    """Set prices of the columns from which a projection starts; return False if no point is allowed."""
    m, n = sides.m, sides.n
    largest, masked = 0.0, False
    for e in range(m * n):
        masked = masked or scores[e] == -np.inf
        largest = max(largest, scores[e])
        if not sides.unmatched and scores[e] > -np.inf:
            largest = max(largest, -scores[e])
    work.prices[:n] = 0.0
    simple = sides.row_capacity == 1 and sides.column_capacity == 1
    if largest <= (_LARGE if simple else _LARGE_FOR_FLOW) and (sides.unmatched or not masked):
        return True
    handicapped = work.projection.gain
    for e in range(m * n):
        handicapped[e] = scores[e]
    for _ in range(2 if largest > _HUGE else 1):
        if _link(handicapped, sides, work.program) == -np.inf:
            return False
        _add_links(sides, n, 1, work.program, -_HANDICAP, handicapped)
    for j in range(n):
        price = work.program.assignment.prices[j] if simple else work.program.flow.dual[m + j]
        work.prices[j] = max(0.0, price)
    return True
