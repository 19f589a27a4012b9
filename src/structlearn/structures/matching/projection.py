"""Euclidean projection onto the matching polytope, rows at most as many as columns, compiled.

    min_z 1/2 ||z - theta||^2     over 0 <= z <= 1, row sums in [fewest, most], column sums at most `capacity`

With multipliers b >= 0 of the columns, each row is on its own: z_i = P(theta_i - b), where P projects onto
{0 <= z <= 1, fewest <= sum z <= most}, so z_ij = clip(theta_ij - a_i - b_j, 0, 1) with the pivot a_i of
the row (a sparsemax). What remains is convex and piecewise quadratic in b alone,

    G(b) = sum_i max_z { <theta_i - b, z> - 1/2 ||z||^2 } + capacity sum_j b_j,     b >= 0,
    dG/db_j = capacity - sum_i z_ij,
    H = sum_i { diag(1_i) - w_i 1_i 1_i^T },    1_i: where 0 < z_ij < 1;  w_i = 1/|1_i|, or 0 if a_i = 0,

and is minimised by a semismooth Newton method: conjugate gradients on the few edges in use (H is the
Laplacian of a sparse graph), bounds by projection (Bertsekas, 1982, "Projected Newton methods for
optimization problems with simple constraints", SIAM J. Control Optim. 20), a line search on G. The same idea
for the Birkhoff polytope: Li, Sun and Toh (2020), "On the efficient computation of a generalized Jacobian
of the projector over the Birkhoff polytope", Math. Program. 179.

Everything is counted from a start, prices p of the columns and u of the rows: a and b are kept
as a - u and b - p, and the scores as `gain` = theta - u - p. So scores of 1e6 lose no digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, kernel

_TOLERANCE = 1e-13  # of the column sums; ten times at first, and once more each step, as rounding may ask
_STEPS = 2000  # ten are usual, a few hundred where scores are huge and the answer is not a vertex
_SHORTER = 40  # times that a step is shortened before it is given up
_NEAR = 1e-3  # a multiplier this near its bound, and pushed towards it, is taken to the bound
_RIDGE = 1e-2  # added to H, less where the error is below a tenth: flat directions are left in long steps


class ProjectionWork(NamedTuple):
    """Scratch memory of `project`; after it, the edges in use are the answer."""

    gain: Array  # theta - u - p
    row_base: Array  # u
    column_base: Array  # p
    pivot: Array  # a - u
    weight: Array  # w: how much of a change of b a row's pivot takes up
    start: Array  # edges of row i: start[i] to start[i + 1]
    column: Array  # of each edge in use,
    value: Array  # and its z > 0
    rest: Array  # one row of theta - b
    b: Array  # b - p
    before: Array
    gradient: Array
    step: Array
    residual: Array
    search: Array
    image: Array  # H search
    diagonal: Array  # of H
    free: Array  # columns not held at their bound


@jitable
def projection_work(rows: int, columns: int) -> ProjectionWork:
    """Allocate scratch memory for every problem of at most `rows` rows and `columns` columns."""
    return ProjectionWork(
        np.empty(rows * columns),
        np.empty(rows),
        np.empty(columns),
        np.empty(rows),
        np.empty(rows),
        np.empty(rows + 1, np.int64),
        np.empty(rows * columns + 1, np.int64),
        np.empty(rows * columns + 1),
        np.empty(columns),
        np.empty(columns),
        np.empty(columns),
        np.empty(columns),
        np.empty(columns),
        np.empty(columns),
        np.empty(columns),
        np.empty(columns),
        np.empty(columns),
        np.empty(columns, np.bool_),
    )


@kernel
def project_matching(
    theta: Array, m: int, n: int, limits: tuple[int, int, int], prices: Array, work: ProjectionWork
) -> int:
    """Solve the problem above, limits = (fewest, most, capacity), from `prices` >= 0; it must be feasible.

    The answer is in `work`: z is `value` at the edges in use, 0 elsewhere. Returns the number of steps.
    """
    _count_from(theta, m, n, prices, work)
    value, taken = np.inf, 0
    for taken in range(_STEPS):
        value = _search(m, n, limits, value, work)  # the first time by a step of 0
        if taken == 0 and limits[1] > 1:
            _recount(m, n, work)
            value = np.inf
            continue
        error = _release(n, work)
        if error <= (10 + taken) * _TOLERANCE or value == np.inf:
            break
        _newton(m, n, error, work)
    _keep_capacity(m, n, limits[2], work)
    return taken


@kernel
def _count_from(theta: Array, m: int, n: int, prices: Array, work: ProjectionWork) -> None:
    """Start at b = p = prices, and at a = u, the largest theta_ij - p_j of the row."""
    for c in range(n):
        work.column_base[c] = prices[c]
        work.b[c] = work.step[c] = work.gradient[c] = 0.0
    for i in range(m):
        row, gain = theta[i * n : (i + 1) * n], work.gain[i * n : (i + 1) * n]
        best = -np.inf
        for c in range(n):
            gain[c] = row[c] - prices[c]
            best = max(best, gain[c])
        work.row_base[i] = best if best > -np.inf else 0.0
        work.pivot[i] = -1.0
        for c in range(n):
            gain[c] -= work.row_base[i]


@kernel
def _recount(m: int, n: int, work: ProjectionWork) -> None:
    """Count from the present pivots: with several links to a row they may be far below its largest score."""
    for i in range(m):
        for e in range(i * n, (i + 1) * n):
            work.gain[e] -= work.pivot[i]
        work.row_base[i] += work.pivot[i]
        work.pivot[i] = 0.0


@kernel
def _respond(m: int, n: int, limits: tuple[int, int, int], work: ProjectionWork) -> float:
    """Compute the rows' answer to b: edges in use, weights w, gradient; return G up to a constant."""
    rest, gradient, column, value = work.rest, work.gradient, work.column, work.value
    fewest, most, capacity = limits
    total, k = 0.0, 0
    for c in range(n):
        gradient[c] = capacity
        total += capacity * work.b[c]
    work.start[0] = 0
    for i in range(m):
        # 1. The pivot. Where it is 0 (here: zero), the row has room on both sides.
        gain, zero = work.gain[i * n : (i + 1) * n], -work.row_base[i]
        for c in range(n):
            rest[c] = gain[c] - work.b[c]
        if most == 1:
            pivot = _simplex_pivot(rest, n, work.pivot[i], zero if fewest == 0 else -np.inf)
        else:
            pivot = _interval_pivot(rest, n, work.pivot[i], zero, fewest, most)
        work.pivot[i] = pivot
        # 2. The edges in use, without branches: where they are cannot be predicted.
        for c in range(n):
            column[k] = c
            value[k] = min(rest[c] - pivot, 1.0)
            k += rest[c] > pivot
        work.start[i + 1] = k
        # 3. What they add up to. The sum of a row that is full, or at its fewest, is known.
        links, inside = 0.0, 0.0
        for e in range(work.start[i], k):
            c, z = column[e], value[e]
            gradient[c] -= z
            total += z * (rest[c] - 0.5 * z)
            links += z
            inside += z < 1.0
        has_room = pivot == zero and fewest < most
        if not has_room:
            links = most if pivot > zero else fewest
        total += work.row_base[i] * (links - most)
        work.weight[i] = 0.0 if has_room or inside == 0.0 else 1.0 / inside
    return total


@kernel
def _simplex_pivot(rest: Array, n: int, pivot: float, least: float) -> float:
    """Return the least a >= least with sum_j max(rest_j - a, 0) <= 1.

    Newton's method: the sum is convex in a, so that from its second point on it comes from the left.
    """
    pivot = max(pivot, least)
    for _ in range(n + 10):
        links, inside = 0.0, 0.0
        for c in range(n):
            links += max(rest[c] - pivot, 0.0)
            inside += 1.0 if rest[c] > pivot else 0.0
        if inside > 0.0:
            new = max(least, pivot + (links - 1.0) / inside)
        elif pivot == least:
            return pivot
        else:
            new = max(least, _largest(rest, n) - 1.0)
        if abs(new - pivot) <= 1e-15 * max(1.0, abs(pivot)):
            return new
        pivot = new
    return pivot


@kernel
def _interval_pivot(rest: Array, n: int, pivot: float, zero: float, fewest: int, most: int) -> float:
    """Return the a nearest to `zero` with fewest <= sum_j clip(rest_j - a, 0, 1) <= most (fewest: 0 or 1)."""
    links, _ = _links(rest, n, zero)
    if fewest <= links <= most:
        return zero
    # Newton's method between two bounds, which are halved at every fourth step.
    if links > most:
        goal, low, high = most, zero, _largest(rest, n)
    else:
        goal, low, high = fewest, _largest(rest, n) - 1.0, zero
    for k in range(400):
        pivot = min(max(pivot, low), high)
        links, inside = _links(rest, n, pivot)
        if links > goal:
            low = pivot
        else:
            high = pivot
        new = pivot + (links - goal) / inside if inside > 0.0 and k % 4 < 3 else 0.5 * (low + high)
        if links == goal or abs(new - pivot) <= 1e-15 * max(1.0, abs(pivot)):
            break
        pivot = new
    return pivot


@kernel
def _links(rest: Array, n: int, pivot: float) -> tuple[float, float]:
    """Return sum_j clip(rest_j - pivot, 0, 1), and how many terms are inside."""
    links, inside = 0.0, 0.0
    for c in range(n):
        z = rest[c] - pivot
        links += min(max(z, 0.0), 1.0)
        inside += 1.0 if 0.0 < z < 1.0 else 0.0
    return links, inside


@kernel
def _largest(values: Array, n: int) -> float:
    best = -np.inf
    for c in range(n):
        best = max(best, values[c])
    return best


@kernel
def _release(n: int, work: ProjectionWork) -> float:
    """Free <- the columns not held at b = 0; returns the largest error of their sums."""
    error = 0.0
    for c in range(n):
        if work.b[c] > -work.column_base[c] or work.gradient[c] < 0.0:
            error = max(error, abs(work.gradient[c]))
    near = min(_NEAR, error)
    for c in range(n):
        work.free[c] = work.gradient[c] < 0.0 or work.b[c] + work.column_base[c] > near
    return error


@kernel
def _newton(m: int, n: int, error: float, work: ProjectionWork) -> None:
    """Step <- -(H + ridge)^-1 gradient on the free columns, to the bound on those near it.

    Conjugate gradients with the diagonal of H, up to a residual that makes Newton's method superlinear.
    """
    step, residual, search, image = work.step, work.residual, work.search, work.image
    diagonal, free = work.diagonal, work.free
    ridge = min(_RIDGE, 0.1 * error)
    for c in range(n):
        diagonal[c] = ridge
    for i in range(m):
        for e in range(work.start[i], work.start[i + 1]):
            diagonal[work.column[e]] += 1.0 - work.weight[i] if work.value[e] < 1.0 else 0.0
    size = 0.0
    for c in range(n):
        step[c] = 0.0 if free[c] else -work.b[c] - work.column_base[c]
        residual[c] = -work.gradient[c] if free[c] else 0.0
        search[c] = residual[c] / diagonal[c]
        size += residual[c] * search[c]
    goal = size * min(0.01, error) ** 2
    for _ in range(2 * n + 20):
        if size <= goal:
            break
        _apply(m, n, ridge, work)
        curvature = 0.0
        for c in range(n):
            curvature += search[c] * image[c]
        rate, new = size / curvature, 0.0
        for c in range(n):
            step[c] += rate * search[c]
            residual[c] -= rate * image[c]
            new += residual[c] * residual[c] / diagonal[c]
        for c in range(n):
            search[c] = residual[c] / diagonal[c] + new / size * search[c]
        size = new


@kernel
def _apply(m: int, n: int, ridge: float, work: ProjectionWork) -> None:
    """Image <- (H + ridge) search, on the free columns."""
    column, value, search, image = work.column, work.value, work.search, work.image
    for c in range(n):
        image[c] = ridge * search[c]
    for i in range(m):
        mean = 0.0
        for e in range(work.start[i], work.start[i + 1]):
            mean += search[column[e]] if value[e] < 1.0 else 0.0
        mean *= work.weight[i]
        for e in range(work.start[i], work.start[i + 1]):
            image[column[e]] += search[column[e]] - mean if value[e] < 1.0 else 0.0
    for c in range(n):
        image[c] = image[c] if work.free[c] else 0.0


@kernel
def _search(m: int, n: int, limits: tuple[int, int, int], value: float, work: ProjectionWork) -> float:
    """b <- max(b + t step, 0) with t = 1, or less until G falls; returns G (inf if it never does).

    G falls enough by Armijo's rule or, where rounding hides that, if it still points downhill at the end:
    it is convex.
    """
    b, before, step, old = work.b, work.before, work.step, work.search
    for c in range(n):
        before[c], old[c] = b[c], work.gradient[c]
    t = 1.0
    for _ in range(_SHORTER):
        promised = 0.0
        for c in range(n):
            b[c] = max(before[c] + t * step[c], -work.column_base[c])
            promised += old[c] * (b[c] - before[c])
        new = _respond(m, n, limits, work)
        slope = 0.0
        for c in range(n):
            slope += work.gradient[c] * (b[c] - before[c])
        if new <= value + 1e-4 * promised or slope <= 0.0:
            return new
        t *= max(0.1, min(0.5, promised / (promised - slope)))
    return np.inf


@kernel
def _keep_capacity(m: int, n: int, capacity: int, work: ProjectionWork) -> None:
    """Shrink columns that are too full by a rounding error."""
    for e in range(work.start[m]):
        c = work.column[e]
        work.value[e] *= min(1.0, capacity / (capacity - work.gradient[c]))
