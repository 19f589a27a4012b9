"""Time of one projection onto the partial-matching polytope, and how near to optimal it is.

    python benchmarks/matching_projection.py

`project` in one compiled loop, as a pass does, on Gaussian scores of deviation 1 and on a planted matching
(0 and 1) with noise of deviation 0.3. Optimality is max_v <theta - z, v - z> over all matchings v, by our own
`maximize`: at most 0 for the projection. Beside it, on the first few problems of the same run: scipy's
L-BFGS-B on the dual (two vectors of multipliers, one Python call a problem), and piqp, where installed
(`pip install piqp`; a general solver of quadratic programs, sparse constraints, eps 1e-9). Best of several.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from common import best_of, machine, note, recorded
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csc_matrix, eye_array, kron, vstack

from structlearn.core.contract import project, project_workspace
from structlearn.structures.matching.matching import Matching

Table = NDArray[np.float64]

SIZES = [(25, 28, 100), (60, 60, 40), (100, 100, 20), (300, 300, 6)]  # m, n, problems
OTHERS = 2  # problems for the other solvers
TARGETS = {(25, 28): 0.3, (300, 300): 20.0}  # milliseconds
MATCHING = Matching()


@numba.njit
def project_all(record: Any, shape: Any, theta: Any, points: Any) -> None:
    work, shared = project_workspace(record, shape), np.empty(0)
    for i in range(len(theta)):
        project(record, shape, theta[i], shared, work, points[i])


def gaussian(rng: np.random.Generator, m: int, n: int) -> Table:
    return rng.normal(size=(m, n))


def planted(rng: np.random.Generator, m: int, n: int) -> Table:
    theta = 0.3 * rng.normal(size=(m, n))
    pairs = min(m, n)
    theta[rng.permutation(m)[:pairs], rng.permutation(n)[:pairs]] += 1.0
    return theta


def optimality(theta: Table, z: Table) -> float:
    """max_v <theta - z, v - z> over matchings v."""
    return float(np.sum((theta - z) * (MATCHING.maximize(theta - z) - z)))


def ours(theta: Table) -> tuple[float, Table]:
    count, m, n = theta.shape
    flat, points = theta.reshape(count, -1), np.empty((count, m * n))
    seconds = best_of(lambda: project_all(MATCHING.record, (m, n), flat, points))
    return seconds / count, points.reshape(theta.shape)


def by_lbfgs(theta: Table) -> Table:
    m, n = theta.shape

    def dual(multipliers: Table) -> tuple[float, Table]:
        z = np.maximum(theta - multipliers[:m, None] - multipliers[m:], 0.0)
        value = 0.5 * np.vdot(z, z) + multipliers.sum()
        return value, np.concatenate([1.0 - z.sum(axis=1), 1.0 - z.sum(axis=0)])

    options = {"maxiter": 10000, "maxfun": 20000, "ftol": 0.0, "gtol": 1e-9, "maxcor": 20}
    found = minimize(dual, np.zeros(m + n), jac=True, bounds=[(0, None)] * (m + n), options=options)
    return np.maximum(theta - found.x[:m, None] - found.x[m:], 0.0)


def by_piqp(theta: Table) -> Table:
    import piqp

    m, n = theta.shape
    sums = vstack([kron(eye_array(m), np.ones((1, n))), kron(np.ones((1, m)), eye_array(n))])
    solver = piqp.SparseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-9
    identity, limits = csc_matrix(eye_array(m * n)), np.full(m + n, -np.inf)
    solver.setup(
        identity, -theta.ravel(), G=csc_matrix(sums), h_l=limits, h_u=np.ones(m + n), x_l=np.zeros(m * n)
    )
    solver.solve()
    return solver.result.x.reshape(m, n)


def compare(name: str, solve: Callable[[Table], Table], theta: Table, z: Table, seconds: float) -> None:
    """The time of another solver, as a multiple of ours, and how far its answer is from ours."""
    apart = max(np.abs(solve(one) - mine).max() for one, mine in zip(theta, z))
    theirs = best_of(lambda: [solve(one) for one in theta], repeats=3) / len(theta)
    note(
        what=f"{name}, {theta.shape[1]} x {theta.shape[2]}",
        ms=1e3 * theirs,
        times=theirs / seconds,
        apart=apart,
    )
    print(f"    {name:10} {1e3 * theirs:9.2f} ms  {theirs / seconds:7.1f}x   differs by {apart:.0e}")


def main() -> None:
    print(machine())
    for kind in (gaussian, planted):
        for m, n, count in SIZES:
            rng = np.random.default_rng(0)
            theta = np.array([kind(rng, m, n) for _ in range(count)])
            seconds, z = ours(theta)
            worst = max(optimality(one, mine) for one, mine in zip(theta, z))
            target = f"  (target {TARGETS[m, n]} ms)" if (m, n) in TARGETS else ""
            note(what=f"structlearn, {kind.__name__}, {m} x {n}", ms=1e3 * seconds, optimality=worst)
            print(f"{kind.__name__:8} {m}x{n}: {1e3 * seconds:.3f} ms, optimality {worst:.0e}{target}")
            compare("L-BFGS-B", by_lbfgs, theta[:OTHERS], z[:OTHERS], seconds)
            if importlib.util.find_spec("piqp"):
                compare("piqp", by_piqp, theta[:OTHERS], z[:OTHERS], seconds)


if __name__ == "__main__":
    recorded(main, peers=("piqp",))
