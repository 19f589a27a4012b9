"""Cutting planes against bcfw on digits, and libraries for their master problem.

    python benchmarks/cutting_planes.py [--skip-n-slack]

The master problems are those of the 1-slack method on digits, at lambda 1e-4 and without forgetting, so that
they become large and nearly singular. A library that is not installed is left out. `deficit` is how far the
dual value of the returned mixture, made feasible, is below the best one of all libraries.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from common import best_of, machine, note, recorded
from scipy import sparse
from sklearn.datasets import load_digits

from structlearn.problem.objective import Objective
from structlearn.scoring import RowScoring
from structlearn.solvers import BlockFrankWolfe, CuttingPlane, NSlack, Stopping, solve
from structlearn.solvers.cutting_plane.master import feasible, mixture_of_gram
from structlearn.structures import Simplex

SIZES = [5, 20, 60, 120, 300]
ROUNDS = 9


def digits(regularization: float) -> Objective:
    X, y = load_digits(return_X_y=True)
    structure = Simplex(10)
    scoring = RowScoring(X / 16, np.ones(len(y), dtype=np.int64), 10)
    gold = structure.encode_many(y, scoring.shapes)
    cost = structure.cost_many(gold, scoring.shapes)
    return Objective(structure, scoring, gold, cost, regularization=regularization)


# ---- solvers --------------------------------------------------------------------------------------------


def compare_solvers(with_n_slack: bool) -> None:
    objective = digits(0.01)
    solvers: dict[str, Any] = {
        "bcfw": BlockFrankWolfe(),
        "cutting-plane": CuttingPlane(),
        "cutting-plane, share 1 (classical)": CuttingPlane(share=1.0),
    }
    stopping = Stopping(tol=1e-3)
    certificates = {name: solve(objective, solver, stopping, seed=0) for name, solver in solvers.items()}
    seconds = dict.fromkeys(solvers, np.inf)
    for _ in range(ROUNDS):  # taking turns, so that a busy machine is so for all
        for name, solver in solvers.items():
            certificate = solve(objective, solver, stopping, seed=0).certificate
            seconds[name] = min(seconds[name], certificate.seconds)
    if with_n_slack:
        certificates["n-slack"] = solve(objective, NSlack(), stopping, seed=0)
        seconds["n-slack"] = certificates["n-slack"].certificate.seconds
    print("\ndigits, lambda 0.01, hinge, no intercept, to gap 1e-3")
    for name, time_ in seconds.items():
        certificate = certificates[name].certificate
        note(what=name, passes=certificate.passes, seconds=time_, times=time_ / seconds["bcfw"])
        print(
            f"  {name:36s} {certificate.passes:4.0f} passes {time_:9.4f} s {time_ / seconds['bcfw']:8.1f}x"
            f"   primal {certificate.primal:.5f}"
        )


# ---- master problems ------------------------------------------------------------------------------------


def by_clarabel(gram: Any, cost: Any) -> Any:
    import clarabel

    m = cost.size
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    limits = sparse.vstack([np.ones((1, m)), -sparse.eye(m)], format="csc")
    solver = clarabel.DefaultSolver(
        sparse.triu(gram, format="csc"),
        -cost,
        limits,
        np.concatenate([[1.0], np.zeros(m)]),
        [clarabel.NonnegativeConeT(m + 1)],
        settings,
    )
    return np.array(solver.solve().x)


def by_osqp(gram: Any, cost: Any) -> Any:
    import osqp

    m = cost.size
    limits = sparse.vstack([np.ones((1, m)), sparse.eye(m)], format="csc")
    solver = osqp.OSQP()
    solver.setup(
        sparse.triu(gram, format="csc"),
        -cost,
        limits,
        np.concatenate([[-np.inf], np.zeros(m)]),
        np.concatenate([[1.0], np.full(m, np.inf)]),
        verbose=False,
        eps_abs=1e-7,
        eps_rel=1e-7,
        max_iter=20_000,
    )
    return solver.solve().x


def by_quadprog(gram: Any, cost: Any) -> Any:
    """It needs a positive definite matrix: the diagonal is raised by 1e-9 of its mean."""
    import quadprog

    m = cost.size
    raised = gram + 1e-9 * np.trace(gram) / m * np.eye(m)
    limits = np.column_stack([-np.ones(m), np.eye(m)])
    return quadprog.solve_qp(raised, cost, limits, np.concatenate([[-1.0], np.zeros(m)]))[0]


LIBRARIES: dict[str, Callable[[Any, Any], Any]] = {
    "piqp": mixture_of_gram,
    "clarabel": by_clarabel,
    "osqp": by_osqp,
    "quadprog": by_quadprog,
}


def compare_libraries() -> None:
    objective = digits(1e-4)
    solver = CuttingPlane(forget_after=10_000)
    planes = solve(objective, solver, Stopping(tol=-1, max_passes=SIZES[-1]), seed=0).state.planes
    gram = planes.gram / objective.regularization
    names = [name for name in LIBRARIES if find_spec(name)]
    print("\nmaster problems: milliseconds (deficit)")
    print(f"  {'planes':>6} {'condition':>9} " + " ".join(f"{name:>22}" for name in names))
    for m in SIZES:
        one, cost = gram[:m, :m].copy(), planes.cost[:m].copy()
        row = {name: measure(LIBRARIES[name], one, cost) for name in names}
        best = max(value for _, value in row.values())
        cells = [f"{1e3 * seconds:11.3f} ({best - value:8.1e})" for seconds, value in row.values()]
        print(f"  {m:6d} {np.linalg.cond(one):9.0e} " + " ".join(f"{cell:>22}" for cell in cells))


def measure(library: Callable[[Any, Any], Any], gram: Any, cost: Any) -> tuple[float, float]:
    """Seconds, and the value of the mixture made feasible; a library that gives up answers nothing."""
    try:
        alpha = feasible(library(gram, cost), np.zeros(cost.size, dtype=np.int64))
    except ValueError:
        return np.nan, -np.inf
    return best_of(partial(library, gram, cost)), float(cost @ alpha - alpha @ gram @ alpha / 2)


def main() -> None:
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}")
    compare_solvers("--skip-n-slack" not in sys.argv)
    compare_libraries()


if __name__ == "__main__":
    recorded(main, peers=("piqp", "clarabel", "osqp", "quadprog"))
