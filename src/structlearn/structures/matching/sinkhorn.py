"""A smooth matching: entropy over edges, by Sinkhorn's scaling.

    max_z <theta, z> + S(z),      S(z) = -sum_x x (log x - 1), x over the edges z_ij >= 0 and over the slacks

    unmatched=True     slacks s_i = 1 - sum_j z_ij of the rows and t_j = 1 - sum_i z_ij of the columns
    unmatched=False    slacks of the larger side only; sums of the smaller side are 1 (of both if m = n)

Every node has its entropy on its own, so this is not the entropy of a distribution over matchings, and the
answer is not the table of its marginals (which is #P-hard): for one edge, z = (1 - z)^2 exp(theta), not the
logistic function. The answer is a scaling of exp(theta),

    z_ij = exp(theta_ij + f_i + g_j),    s_i = exp(f_i),  t_j = exp(g_j)    (where there are slacks)

with f and g such that every node adds up to 1. Sinkhorn (1967) sets f and g in turns; one turn for the rows
is f_i = -log([slack] + sum_j exp(theta_ij + g_j)), in logarithms throughout. Alone that converges like 1/k
already for one edge of a large score, so that the columns take Newton's step instead, on

    G(g) = sum_i -f_i(g) + sum_j ([slack] exp(g_j) - g_j),    dG/dg_j = column sum - 1,
    H = diag(column sums) - z^T z,

which is convex (Brauer, Clason, Lorenz and Wirth, 2017, "A Sinkhorn-Newton method for entropic optimal
transport"), and large scores are reached by doubling small ones.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.threads import blas_threads
from structlearn.structures.base import nothing_allowed
from structlearn.structures.matching.assignment import assignment_work, solve_assignment

_TOLERANCE = 1e-10  # of the column sums
_ROUGHLY = 1e-2  # the same, on the way to large scores
_STEPS = 500  # Newton steps for each doubling
_SMALL = 10.0  # scores up to this are solved from f = g = 0
_LONGEST = 20.0  # change of g in one step
_EXPONENT = 300.0  # slacks above exp of this are as good as infinite


class ScalingProblem(NamedTuple):
    """Logarithms of what is scaled: the table, and the slacks of rows and columns (-inf: there are none)."""

    table: Array
    rows: Array
    columns: Array


class Scaling(NamedTuple):
    """Where the columns' g leads: f, the table z, the columns' sums with their slacks, and G."""

    f: Array
    g: Array
    z: Array
    sums: Array
    value: float


def edge_entropy(theta: Array, *, unmatched: bool = True) -> Array:
    """Return the (m, n) table z of the problem above, for capacities 1.

    Parameters
    ----------
    theta : ndarray of shape (m, n)
        Finite, or -inf for a forbidden edge.
    unmatched : bool
        Whether nodes of the smaller side may stay without a link.

    Returns
    -------
    ndarray of shape (m, n)
        Its sums are right to 1e-10; a RuntimeWarning tells if they are not.

    """
    if theta.shape[0] > theta.shape[1]:
        return edge_entropy(np.ascontiguousarray(theta.T), unmatched=unmatched).T
    m, n = theta.shape
    if not unmatched and solve_assignment(theta.ravel(), m, n, -np.inf, assignment_work(m, n)) == -np.inf:
        raise nothing_allowed("The score table")
    largest = np.abs(theta, where=np.isfinite(theta), out=np.zeros_like(theta)).max()
    halvings = max(0, int(np.ceil(np.log2(max(largest, 1.0) / _SMALL))))
    f, g = np.zeros(m), np.zeros(n)
    for k in range(halvings, -1, -1):
        rows = f if unmatched else np.full(m, -np.inf)
        columns = g if unmatched or m < n else np.full(n, -np.inf)
        # Counted from f and g, so that large scores lose no digits.
        problem = ScalingProblem(theta / 2.0**k + f[:, None] + g, rows, columns)
        with blas_threads(1):
            found = _scale(problem, _ROUGHLY if k else _TOLERANCE)
        f, g = 2.0 * (f + found.f), 2.0 * (g + found.g)
    error = np.abs(found.sums - 1.0).max()
    if error > _TOLERANCE:
        warnings.warn(f"edge_entropy stopped at column sums wrong by {error:.1e}.", RuntimeWarning, 3)
    return np.minimum(found.z / np.maximum(1.0, found.z.sum(axis=0)), 1.0)


def _scale(problem: ScalingProblem, tolerance: float) -> Scaling:
    """Run Newton's method on G from g = 0, each step shortened until G falls."""
    now = _turn(problem, np.zeros_like(problem.columns))
    for _ in range(_STEPS):
        error = np.abs(now.sums - 1.0).max()
        if error <= tolerance:
            break
        new = _search_line(problem, now, _newton_step(now, error))
        if new is None:
            break
        now = new
    return now


def _turn(problem: ScalingProblem, g: Array) -> Scaling:
    """Take Sinkhorn's turn for the rows."""
    from scipy.special import logsumexp

    scores = problem.table + g
    f = -logsumexp(np.column_stack([scores, problem.rows]), axis=1)
    z = np.exp(scores + f[:, None])
    slack = np.exp(np.minimum(problem.columns + g, _EXPONENT))
    return Scaling(f, g, z, z.sum(axis=0) + slack, float(-f.sum() + slack.sum() - g.sum()))


def _newton_step(now: Scaling, error: float) -> Array:
    from scipy.linalg import cho_factor, cho_solve

    hessian = np.diag(now.sums + min(1e-2, 0.1 * error)) - now.z.T @ now.z
    return cho_solve(cho_factor(hessian, lower=True), 1.0 - now.sums)


def _search_line(problem: ScalingProblem, now: Scaling, step: Array) -> Scaling | None:
    """Return the point after the step, or after less of it: by Armijo's rule, or while G points downhill."""
    promised = float((now.sums - 1.0) @ step)
    t = min(1.0, _LONGEST / max(np.abs(step).max(), _LONGEST))
    for _ in range(40):
        new = _turn(problem, now.g + t * step)
        if new.value <= now.value + 1e-4 * t * promised or (new.sums - 1.0) @ step <= 0.0:
            return new
        t *= 0.5
    return None
