"""Euclidean projection onto the polytope of relaxed cuts, compiled.

    min_{z, e} 1/2 ||z - a||^2 + 1/2 ||e - b||^2     over 0 <= z_i <= 1,  |z_i - z_j| <= e_ij <= 1

With a flow f_ij along each edge for a multiplier, the nodes answer z = clip(r, 0, 1), r = a - D' f (the score
of a node less what flows out of it), the edges pay for flows above c = -b, and what remains is convex:

    G(f) = sum_i max_{0 <= z <= 1} { r_i z - z^2 / 2 } + sum_ij psi(f_ij)
    psi(f) = 1/2 [|f| - c]_+^2  where c >= 0,      1/2 f^2 + b |f|  where b = -c > 0
    dG/df_ij = -(z_i - z_j) + sign(f) [|f| - c]_+
    H = D Z D' + W,     Z: 1 where 0 < r_i < 1;     W: 1 where |f| > c

G is piecewise quadratic. A semismooth Newton method minimises it: conjugate gradients for the steps, a line
search on G; where b > 0 the flow has a kink at 0, and a step keeps its sign or ends there. It starts at the
maximum flow of the scores a - 1/2, from which corrections of order 1 are left, however large the scores are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, kernel
from structlearn.structures.cut.max_flow import CutWork

_TOLERANCE = 1e-13  # of the differences z_i - z_j; ten times at first, and once more each step
_ROUNDING = 1e-15  # relative to the largest flow
_STEPS = 1000  # tens are usual, more where large regions are flat
_SHORTER = 40  # times that a step is shortened before it is given up
_NEAR = 1e-3  # a flow this near its kink, and pushed towards it, is taken to the kink
_RIDGE = 1e-2  # added to H, less where the error is below a tenth
_CONJUGATE = 400  # steps of conjugate gradients, at most


class CutNearestWork(NamedTuple):
    """Scratch memory of `project`; after it, `z` is the answer."""

    flow: CutWork  # of the start
    z: Array  # of each node,
    inside: Array  # whether 0 < r < 1,
    net: Array  # what flows out of it
    f: Array  # of each edge
    before: Array
    gradient: Array
    weight: Array  # W + ridge
    diagonal: Array  # of H + ridge
    free: Array  # whether the flow is not held at its kink
    step: Array
    residual: Array
    search: Array
    image: Array  # (H + ridge) search


@jitable
def project_work(flow: CutWork, n_nodes: int, n_edges: int) -> CutNearestWork:
    """Allocate scratch memory for every graph of at most `n_nodes` nodes and `n_edges` edges."""
    nodes, edges = np.empty((2, n_nodes)), np.empty((9, n_edges))
    inside, free = np.empty(n_nodes, np.bool_), np.empty(n_edges, np.bool_)
    return CutNearestWork(
        flow,
        nodes[0],
        inside,
        nodes[1],
        edges[0],
        edges[1],
        edges[2],
        edges[3],
        edges[4],
        free,
        edges[5],
        edges[6],
        edges[7],
        edges[8],
    )


@kernel
def project_cut(a: Array, b: Array, ends: Array, work: CutNearestWork) -> int:
    """Solve the problem above from the flows in `work.f`; return the number of steps."""
    largest = 1.0
    for e in range(b.size):
        largest = max(largest, abs(work.f[e]))
        work.step[e] = 0.0
    value, taken = np.inf, 0
    for taken in range(_STEPS):
        value = _search(a, b, ends, value, work)  # the first time by a step of 0
        error = _release(b, work)
        if error <= (10 + taken) * _TOLERANCE + _ROUNDING * largest or value == np.inf:
            break
        _newton(a, b, ends, error, work)
    return taken


@kernel
def dual_bound(a: Array, b: Array, ends: Array, work: CutNearestWork) -> float:
    """Bound the maximum of <(a, b), (z, e)> - 1/2 ||(z, e)||^2 from above: the dual value of the flows.

    sum_i max_{0 <= z <= 1} { r_i z - z^2 / 2 } + sum_ij max_{0 <= e <= 1} { (b + |f|) e - e^2 / 2 }
    """
    r, total = work.net, 0.0
    for i in range(a.size):
        r[i] = a[i]
    for e in range(b.size):
        r[ends[e, 0]] -= work.f[e]
        r[ends[e, 1]] += work.f[e]
        best = min(max(b[e] + abs(work.f[e]), 0.0), 1.0)
        total += best * (b[e] + abs(work.f[e]) - 0.5 * best) if best > 0.0 else 0.0
    for i in range(a.size):
        best = min(max(r[i], 0.0), 1.0)
        total += best * (r[i] - 0.5 * best)
    return total


@kernel
def _respond(a: Array, b: Array, ends: Array, work: CutNearestWork) -> float:
    """Answer the flows f with z and the gradient (the least one at a kink); return G."""
    z, net, f, gradient = work.z, work.net, work.f, work.gradient
    for i in range(a.size):
        net[i] = 0.0
    for e in range(b.size):
        net[ends[e, 0]] += f[e]
        net[ends[e, 1]] -= f[e]
    total = 0.0
    for i in range(a.size):
        r = a[i] - net[i]
        z[i] = min(max(r, 0.0), 1.0)
        work.inside[i] = 0.0 < r < 1.0
        total += z[i] * (r - 0.5 * z[i]) if r > 0.0 else 0.0
    for e in range(b.size):
        apart = z[ends[e, 0]] - z[ends[e, 1]]
        above = max(abs(f[e]) + b[e], 0.0)
        total += 0.5 * above * above if b[e] <= 0.0 else abs(f[e]) * (0.5 * abs(f[e]) + b[e])
        if f[e] != 0.0 or b[e] <= 0.0:
            gradient[e] = (above if f[e] > 0.0 else -above) - apart
        else:
            gradient[e] = min(max(apart, -b[e]), b[e]) - apart
    return total


@kernel
def _release(b: Array, work: CutNearestWork) -> float:
    """Free <- the edges not held at their kink; returns the largest error."""
    f, gradient = work.f, work.gradient
    error = 0.0
    for e in range(b.size):
        error = max(error, abs(gradient[e]))
    near = min(_NEAR, error)
    for e in range(b.size):
        work.free[e] = True
        if b[e] > 0.0:
            inward = gradient[e] * f[e] > 0.0
            work.free[e] = gradient[e] != 0.0 if f[e] == 0.0 else not (inward and abs(f[e]) <= near)
    return error


@kernel
def _newton(a: Array, b: Array, ends: Array, error: float, work: CutNearestWork) -> None:
    """Step <- -(H + ridge)^-1 gradient on the free edges, to the kink on the others.

    Conjugate gradients with the diagonal of H, up to a residual that makes Newton's method superlinear.
    """
    f, gradient, step, residual = work.f, work.gradient, work.step, work.residual
    search, image, diagonal = work.search, work.image, work.diagonal
    ridge = min(_RIDGE, 0.1 * error)
    size = 0.0
    for e in range(b.size):
        above = abs(f[e]) + b[e]
        outward = above == 0.0 and gradient[e] * f[e] < 0.0
        work.weight[e] = ridge + (1.0 if above > 0.0 or outward else 0.0)
        diagonal[e] = work.weight[e]
        diagonal[e] += 1.0 if work.inside[ends[e, 0]] else 0.0
        diagonal[e] += 1.0 if work.inside[ends[e, 1]] else 0.0
        step[e] = 0.0 if work.free[e] else -f[e]
        residual[e] = -gradient[e] if work.free[e] else 0.0
        search[e] = residual[e] / diagonal[e]
        size += residual[e] * search[e]
    goal = size * min(0.1, error)
    for _ in range(_CONJUGATE):
        if size <= goal:
            break
        _apply(a.size, ends, work)
        curvature = 0.0
        for e in range(b.size):
            curvature += search[e] * image[e]
        rate, new = size / curvature, 0.0
        for e in range(b.size):
            step[e] += rate * search[e]
            residual[e] -= rate * image[e]
            new += residual[e] * residual[e] / diagonal[e]
        for e in range(b.size):
            search[e] = residual[e] / diagonal[e] + new / size * search[e]
        size = new


@kernel
def _apply(n: int, ends: Array, work: CutNearestWork) -> None:
    """Image <- (H + ridge) search, on the free edges."""
    net, search, image = work.net, work.search, work.image
    for i in range(n):
        net[i] = 0.0
    for e in range(ends.shape[0]):
        net[ends[e, 0]] += search[e]
        net[ends[e, 1]] -= search[e]
    for i in range(n):
        net[i] = net[i] if work.inside[i] else 0.0
    for e in range(ends.shape[0]):
        moved = net[ends[e, 0]] - net[ends[e, 1]] + work.weight[e] * search[e]
        image[e] = moved if work.free[e] else 0.0


@kernel
def _search(a: Array, b: Array, ends: Array, value: float, work: CutNearestWork) -> float:
    """f <- f + t step with t = 1, or less until G falls; returns G (inf if it never does).

    G falls enough by Armijo's rule or, where rounding hides that, if it still points downhill at the end:
    it is convex.
    """
    f, before, step, old = work.f, work.before, work.step, work.search
    for e in range(b.size):
        before[e], old[e] = f[e], work.gradient[e]
    t = 1.0
    for _ in range(_SHORTER):
        promised = 0.0
        for e in range(b.size):
            f[e] = before[e] + t * step[e]
            if b[e] > 0.0:
                sign = before[e] if before[e] != 0.0 else -old[e]
                f[e] = f[e] if f[e] * sign > 0.0 else 0.0
            promised += old[e] * (f[e] - before[e])
        new = _respond(a, b, ends, work)
        if value == np.inf:
            return new
        slope = 0.0
        for e in range(b.size):
            slope += work.gradient[e] * (f[e] - before[e])
        if new <= value + 1e-4 * promised or slope <= 0.0:
            return new
        t *= max(0.1, min(0.5, promised / (promised - slope)))
    return np.inf
