"""Reference solvers: weights as good as an independent solver finds them.

None is trusted: whatever weights they give, P at them (see `reference`) is above the optimum.
"""

from __future__ import annotations

from typing import Any

import clarabel
import cvxpy
import numpy as np
from scipy import sparse

from .reference import Array, Written

_ACCURATE = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


def best_weights(written: Written) -> list[Array]:
    """Candidates for argmin P, w = 0 among them."""
    nothing = np.zeros(written.n_weights)
    if written.at_zero() <= 0:
        return [nothing]
    solve = _by_cones if written.penalty != "l2" else _SOLVERS[written.loss]
    scale = _column_scale(written)
    found = [scale * v for v in solve(written, scale)]
    return [nothing, *(w for w in found if np.isfinite(w).all())]


def _column_scale(written: Written) -> Array:
    """Units of the weights in which no score is above P(0), and no sensible weight is much above 1."""
    largest = np.max([np.abs(one.features).max(axis=0) for one in written.examples], axis=0)
    largest = np.maximum(largest.astype(np.float64), 1e-300)
    at_zero = written.at_zero()
    reach = written.strength if written.penalty == "ball" else at_zero / written.strength
    if written.penalty in ("l2", "nonnegative"):
        reach = np.sqrt(2 * reach)
    if written.penalty == "elasticnet":
        reach = min(reach / max(written.ratio, 1e-300), np.sqrt(2 * reach / (1 - written.ratio)))
    return np.minimum(at_zero / largest, reach)


def _tables(written: Written, scale: Array) -> list[Array]:
    return [one.features.astype(np.float64) * scale for one in written.examples]


def _weights(written: Written) -> Array:
    return np.array([float(one.weight) for one in written.examples])


# ---- quadratic programs ---------------------------------------------------------------------------------


def _by_quadratic_program(written: Written, scale: Array) -> list[Array]:
    """min lambda/2 ||w||^2 + sum_i p_i (xi_i + 1/2 ||u_i||^2),  xi_i >= <features, w> + cost - <bent, u_i>.

    Without u this is the hinge; with it, since -1/2 ||z||^2 = min_u 1/2 ||u||^2 - <u, z>, sparsemax.
    """
    bent = written.loss == "sparsemax"
    tables, p, unit = _tables(written, scale), _weights(written), written.at_zero()
    sizes = [one.bent.shape[1] if bent else 0 for one in written.examples]
    costs = [np.zeros(len(one.cost)) if bent else one.cost / unit for one in written.examples]
    owner = np.repeat(np.arange(len(p)), [len(table) for table in tables])
    slack = sparse.csc_matrix((-np.ones(owner.size), (np.arange(owner.size), owner)))
    mixed = [-one.bent / unit for one in written.examples] if bent else []
    columns = [sparse.csc_matrix(np.concatenate(tables) / unit), slack]
    limits = sparse.hstack([*columns, *([sparse.block_diag(mixed)] if bent else [])], format="csc")
    squares = [written.strength * scale**2 / unit, np.zeros(len(p)), np.repeat(p / unit, sizes)]
    linear = np.concatenate([np.zeros(scale.size), p, np.zeros(sum(sizes))])
    right = -np.concatenate(costs).astype(np.float64)
    cones = [clarabel.NonnegativeConeT(right.size)]
    P = sparse.diags(np.concatenate(squares)).tocsc()
    solution = clarabel.DefaultSolver(P, linear, limits, right, cones, _settings()).solve()
    return [np.array(solution.x[: scale.size])]


def _settings() -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name, value in _ACCURATE.items():
        setattr(settings, name, value)
    return settings


# ---- Newton's method ------------------------------------------------------------------------------------


def _by_newton(written: Written, scale: Array) -> list[Array]:
    """Damped Newton steps on P, with a little more curvature where the best mixture changes."""
    tables, p = _tables(written, scale), _weights(written)
    curvature = written.strength * scale**2
    answer = {"softmax": _softmax, "entmax15": _entmax15}[written.loss]
    v = np.zeros(scale.size)

    def evaluate(v: Array) -> tuple[float, Array, Array]:
        value, slope, convexity = curvature @ v**2 / 2, curvature * v, np.diag(curvature)
        for weight, table in zip(p, tables):
            loss, q, jacobian = answer(table @ v)
            value, slope = value + weight * loss, slope + weight * (table.T @ q)
            convexity = convexity + weight * (table.T @ jacobian @ table)
        return value, slope, convexity

    value, slope, convexity = evaluate(v)
    for _ in range(200):
        ridge = 1e-13 * np.trace(convexity) + 1e-300
        step = np.linalg.solve(convexity + ridge * np.eye(v.size), -slope)
        share, there = 1.0, evaluate(v + step)
        while there[0] > value + 1e-4 * share * (slope @ step) and share > 1e-9:
            share /= 2
            there = evaluate(v + share * step)
        if there[0] >= value:
            break
        v, (value, slope, convexity) = v + share * step, there
    return [v]


def _softmax(t: Array) -> tuple[float, Array, Array]:
    q = np.exp(t - t.max())
    value, q = t.max() + np.log(q.sum()), q / q.sum()
    return value, q, np.diag(q) - np.outer(q, q)


def _entmax15(t: Array) -> tuple[float, Array, Array]:
    """q = u^2 where u = [(t - tau)/2]_+ has norm 1, tau by bisection."""
    low, high = t.max() - 2, t.max()
    for _ in range(60):
        tau = (low + high) / 2
        u = np.maximum((t - tau) / 2, 0)
        low, high = (tau, high) if u @ u > 1 else (low, tau)
    u = np.maximum((t - low) / 2, 0)
    q = u * u / (u @ u)
    convexity = np.diag(u) - np.outer(u, u) / u.sum()
    return tau + 4 / 3 + 2 / 3 * (u**3).sum(), q, convexity


# ---- other penalties ------------------------------------------------------------------------------------


def _by_cones(written: Written, scale: Array) -> list[Array]:
    """Norms of w, balls and w >= 0, through cvxpy: losses over outputs as it knows them."""
    unit = written.at_zero()
    v, value, limits = cvxpy.Variable(scale.size), 0, []
    for weight, table, one in zip(_weights(written), _tables(written, scale), written.examples):
        value = value + weight / unit * _expression(written.loss, table @ v, one)
    w = cvxpy.multiply(scale, v)
    if written.penalty == "ball":
        limits = [cvxpy.norm(w / written.strength) <= 1]
    elif written.penalty == "nonnegative":
        limits = [v >= 0]
        value = value + written.strength / unit / 2 * cvxpy.sum_squares(w)
    elif written.penalty == "l1":
        value = value + written.strength / unit * cvxpy.norm1(w)
    elif written.penalty == "elasticnet":
        mixed = written.ratio * cvxpy.norm1(w) + (1 - written.ratio) / 2 * cvxpy.sum_squares(w)
        value = value + written.strength / unit * mixed
    else:
        table = cvxpy.reshape(w, (written.rows, scale.size // written.rows), order="C")
        value = value + written.strength / unit * cvxpy.sum(cvxpy.norm(table, axis=0))
    try:
        cvxpy.Problem(cvxpy.Minimize(value), limits).solve(solver=cvxpy.CLARABEL)
    except cvxpy.SolverError:
        return []
    return [] if v.value is None else [_inside(written, v.value, scale)]


def _inside(written: Written, v: Array, scale: Array) -> Array:
    if written.penalty == "nonnegative":
        return np.maximum(v, 0.0)
    if written.penalty != "ball":
        return v
    return v * min(1.0, written.strength / max(float(np.linalg.norm(scale * v)), 1e-300))


def _expression(loss: str, t: Any, one: Any) -> Any:
    if loss == "hinge":
        return cvxpy.max(t + one.cost.astype(np.float64))
    if loss == "softmax":
        return cvxpy.log_sum_exp(t)
    if loss == "sparsemax":  # -1/2 ||z||^2 = min_u 1/2 ||u||^2 - <u, z>
        u = cvxpy.Variable(one.bent.shape[1])
        return cvxpy.max(t - one.bent @ u) + cvxpy.sum_squares(u) / 2
    tau = cvxpy.Variable()
    return tau + 2 / 3 * cvxpy.sum(cvxpy.power(cvxpy.pos((t - tau) / 2 + 2 / 3), 3))


_SOLVERS = {
    "hinge": _by_quadratic_program,
    "sparsemax": _by_quadratic_program,
    "softmax": _by_newton,
    "entmax15": _by_newton,
}
