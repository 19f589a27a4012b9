"""The primal simplex method in a dense table, compiled: small linear programs whose scores alone change.

Rows are written as A z - r = 0 with row_lower <= r <= row_upper, so that parts and rows are columns alike.
The table is B^-1 (A, -I) of a basis B that was feasible once; it stays feasible whatever the scores are, and
each question goes on from the last basis. An answer counts where it passes two checks against the program
itself: its multipliers bound the maximum (see `highs.Polyhedron.bound`), and it breaks no constraint. Others
are left to HiGHS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, leaf
from structlearn.core.vectors import longest_range
from structlearn.structures.decisions.highs import Polyhedron, vertex_basis

#: Entries of a table from which on HiGHS is faster.
LARGEST_TABLE = 1 << 14
#: A basis is left after so many steps: rounding errors add up.
_MOST_PIVOTS = 300
_AT_LOWER, _AT_UPPER, _BASIC = 0, 1, 2
#: Relative to the largest score: reduced costs that count as zero; relative errors of a right answer.
_ZERO, _RIGHT = 1e-11, 1e-9
_SMALLEST_PIVOT = 1e-9


class Tables(NamedTuple):
    """Programs end to end, each with a feasible basis; a program without one has no columns."""

    #: where the columns (parts, then rows), the rows and the entries of tables and matrices begin
    columns: Array
    rows: Array
    entries: Array
    matrix_entries: Array
    #: bounds, values and states of all columns
    lower: Array
    upper: Array
    value: Array
    state: Array
    #: the column that is basic in each row
    basis: Array
    table: Array
    matrix: Array


class SimplexWork(NamedTuple):
    """Scratch memory: the table that questions go on from, and whose it is."""

    #: the program whose table this is, -1 for none, and how many steps it has made
    which: Array
    table: Array
    basis: Array
    state: Array
    value: Array
    reduced: Array


def lay_out(programs: Sequence[Polyhedron]) -> Tables:
    """Return the tables of programs that are small enough and have no whole parts."""
    found = [_table(one) for one in programs]
    sizes = [(one[0].size, one[4].size) for one in found]
    columns, rows = (np.cumsum([0, *(size[k] for size in sizes)]) for k in (0, 1))
    entries = np.cumsum([0, *(m * n for n, m in sizes)])
    matrix = np.cumsum([0, *(m * (n - m) for n, m in sizes)])
    joined = (np.concatenate([one[k] for one in found]) for k in range(7))
    return Tables(columns, rows, entries, matrix, *joined)


def _table(program: Polyhedron) -> tuple[Array, ...]:
    """Return bounds, values, states, basis, table and matrix of one program, empty where it has none."""
    m, n = program.row_lower.size, program.n_parts
    nothing = np.empty(0), np.empty(0), np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64)
    known = vertex_basis(program) if m * (n + m) <= LARGEST_TABLE and not program.whole.any() else None
    if known is None:
        return *nothing, np.empty(0), np.empty(0)
    dense = program.matrix.toarray()
    whole = np.hstack([dense, -np.eye(m)])
    lower = np.concatenate([program.lower, program.row_lower])
    upper = np.concatenate([program.upper, program.row_upper])
    basis = np.flatnonzero(known == _BASIC)
    value = np.where(known == _AT_UPPER, upper, lower)
    value[basis] = 0.0
    try:
        inverse = np.linalg.inv(whole[:, basis])
    except np.linalg.LinAlgError:
        return *nothing, np.empty(0), np.empty(0)
    value[basis] = -inverse @ (whole @ value)
    return lower, upper, value, known, basis, (inverse @ whole).ravel(), dense.ravel()


@jitable
def simplex_work(tables: Tables) -> SimplexWork:
    """Allocate scratch memory for all programs."""
    n, m = longest_range(tables.columns), longest_range(tables.rows)
    integers = np.empty(m, dtype=np.int64), np.empty(n, dtype=np.int64)
    return SimplexWork(np.full(2, -1), np.empty((m, n)), integers[0], integers[1], np.empty(n), np.empty(n))


@leaf
def solve_by_table(tables: Tables, g: int, theta: Array, work: SimplexWork, vertex: Array) -> bool:
    """vertex <- the best vertex of program g; False where that is left to HiGHS."""
    n, m = tables.columns[g + 1] - tables.columns[g], tables.rows[g + 1] - tables.rows[g]
    if n == 0:
        return False
    size = 0.0
    for j in range(theta.size):
        if not np.isfinite(theta[j]):
            return False
        size = max(size, abs(theta[j]))
    if work.which[0] != g or work.which[1] > _MOST_PIVOTS:
        _begin(tables, g, n, m, work)
    _reduce(n, m, theta, work)
    first = tables.columns[g]
    lower, upper = tables.lower[first : first + n], tables.upper[first : first + n]
    solved = _climb(n, m, lower, upper, _ZERO * size, work)
    if solved:
        for j in range(theta.size):
            near = np.rint(work.value[j])
            vertex[j] = near if abs(work.value[j] - near) <= _RIGHT else work.value[j]
        entries = tables.matrix[tables.matrix_entries[g] :]
        solved = _is_right(entries, m, lower, upper, theta, size, work.reduced, vertex)
    if not solved:
        work.which[0] = -1
    return solved


@leaf
def _begin(tables: Tables, g: int, n: int, m: int, work: SimplexWork) -> None:
    """Go back to the basis that was laid out."""
    entry, column, row = tables.entries[g], tables.columns[g], tables.rows[g]
    for i in range(m):
        work.basis[i] = tables.basis[row + i]
        for j in range(n):
            work.table[i, j] = tables.table[entry + i * n + j]
    for j in range(n):
        work.state[j], work.value[j] = tables.state[column + j], tables.value[column + j]
    work.which[0], work.which[1] = g, 0


@leaf
def _reduce(n: int, m: int, theta: Array, work: SimplexWork) -> None:
    """reduced <- theta - theta_B B^-1 (A, -I): what a unit of each column adds."""
    for j in range(n):
        work.reduced[j] = theta[j] if j < theta.size else 0.0
    for i in range(m):
        score = theta[work.basis[i]] if work.basis[i] < theta.size else 0.0
        if score != 0.0:
            for j in range(n):
                work.reduced[j] -= score * work.table[i, j]


@leaf
def _climb(n: int, m: int, lower: Array, upper: Array, zero: float, work: SimplexWork) -> bool:
    """Step to better bases until there is none; False after too many steps."""
    stalled = 0
    for _ in range(20 * (n + m)):
        # 1. The column that adds most enters; after steps that gained nothing the first one (Bland).
        entering, most = -1, zero
        for j in range(n):
            if work.state[j] == _BASIC or upper[j] <= lower[j]:
                continue
            gain = work.reduced[j] if work.state[j] == _AT_LOWER else -work.reduced[j]
            if gain > most:
                entering, most = j, gain
                if stalled > m:
                    break
        if entering < 0:
            return True
        # 2. It moves until a basic column, or it itself, meets a bound.
        up = work.state[entering] == _AT_LOWER
        step, leaving = upper[entering] - lower[entering], -1
        for i in range(m):
            slope = work.table[i, entering] if up else -work.table[i, entering]
            column = work.basis[i]
            if slope > _SMALLEST_PIVOT:
                room = (work.value[column] - lower[column]) / slope
            elif slope < -_SMALLEST_PIVOT:
                room = (work.value[column] - upper[column]) / slope
            else:
                continue
            room = max(room, 0.0)
            if room < step or (room == step and leaving >= 0 and column < work.basis[leaving]):
                step, leaving = room, i
        if not np.isfinite(step):
            return False
        stalled = stalled + 1 if step <= 0.0 else 0
        _move(n, m, entering, leaving, step if up else -step, lower, upper, work)
    return False


@leaf
def _move(
    n: int, m: int, entering: int, leaving: int, step: float, lower: Array, upper: Array, work: SimplexWork
) -> None:
    """Move the entering column, and exchange it for the one that leaves, if one does."""
    for i in range(m):
        work.value[work.basis[i]] -= step * work.table[i, entering]
    if leaving < 0:
        work.state[entering] = _AT_UPPER if step > 0.0 else _AT_LOWER
        work.value[entering] = upper[entering] if step > 0.0 else lower[entering]
        return
    work.value[entering] += step
    out = work.basis[leaving]
    to_upper = abs(work.value[out] - upper[out]) < abs(work.value[out] - lower[out])
    work.state[out], work.value[out] = (_AT_UPPER, upper[out]) if to_upper else (_AT_LOWER, lower[out])
    work.state[entering], work.basis[leaving] = _BASIC, entering
    pivot = work.table[leaving, entering]
    for j in range(n):
        work.table[leaving, j] /= pivot
    for i in range(m):
        factor = work.table[i, entering]
        if i != leaving and factor != 0.0:
            for j in range(n):
                work.table[i, j] -= factor * work.table[leaving, j]
    factor = work.reduced[entering]
    for j in range(n):
        work.reduced[j] -= factor * work.table[leaving, j]
    work.which[1] += 1


@leaf
def _is_right(
    matrix: Array, m: int, lower: Array, upper: Array, theta: Array, size: float, reduced: Array, z: Array
) -> bool:
    """Whether z breaks no constraint, and the multipliers bound the maximum by its score."""
    n, mass, score, bound = theta.size, 1.0, 0.0, 0.0
    for j in range(n):
        mass += abs(z[j])
        score += theta[j] * z[j]
        if z[j] < lower[j] - _RIGHT or z[j] > upper[j] + _RIGHT:
            return False
    for k in range(m):
        total, weight = 0.0, 0.0
        for j in range(n):
            total += matrix[k * n + j] * z[j]
            weight += abs(matrix[k * n + j] * z[j])
        slack = _RIGHT * (1.0 + weight)
        if total < lower[n + k] - slack or total > upper[n + k] + slack:
            return False
        y = reduced[n + k]
        if y != 0.0:
            limit = upper[n + k] if y > 0.0 else lower[n + k]
            if np.isfinite(limit):
                bound += y * limit
            else:
                reduced[n + k] = 0.0
    for j in range(n):
        rest = theta[j]
        for k in range(m):
            rest -= matrix[k * n + j] * reduced[n + k]
        bound += max(rest * lower[j], rest * upper[j])
    return bound <= score + _RIGHT * size * mass
