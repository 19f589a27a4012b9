"""Dual extragradient: passes to a gap, what an iteration costs, and peak memory against the data's size.

python benchmarks/extragradient.py [digits] [scene] [letters] [cost] [memory]
"""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
from common import best_of, letters, machine, note, recorded, scene
from letters import problem as chain_problem
from sklearn.datasets import load_digits

from structlearn.core.threads import blas_threads
from structlearn.problem.objective import Objective
from structlearn.problem.regularizers import Shannon
from structlearn.scoring import RowScoring
from structlearn.solvers import (
    BlockFrankWolfe,
    EntropicGeometry,
    EuclideanGeometry,
    Extragradient,
    FrankWolfe,
    PlainExtragradient,
    Stopping,
    solve,
)
from structlearn.structures import LabelGraph, Simplex

GAPS = (1e-1, 1e-2, 1e-3)
ENTROPIC, EUCLIDEAN = EntropicGeometry(), EuclideanGeometry()


def objective_of(structure, X, y, regularization):
    scoring = RowScoring(X, np.ones(len(X), dtype=int), structure.n_labels, n_shared=structure.n_shared)
    gold = structure.encode_many(y, scoring.shapes)
    cost = structure.cost_many(gold, scoring.shapes)
    return Objective(structure, scoring, gold, cost, regularization=regularization)


def digits():
    X, y = load_digits(return_X_y=True)
    return objective_of(Simplex(10), X[:1000] / 16, y[:1000], 0.01)


def pairs_of_labels():
    """Scene, all pairs of the six labels."""
    return objective_of(LabelGraph(6, "all"), *scene("train"), 0.01)


def words(chosen):
    X, y, folds = letters()
    kept = [i for i in range(len(X)) if chosen(folds[i])]
    return chain_problem([X[i] for i in kept], [y[i] for i in kept], 0.01)


def way(name, objective, solver, *, passes=4000, seconds=180):
    """Passes, steps that were refused included, and seconds to gaps; CPU seconds of the whole run."""
    stopping = Stopping(tol=min(GAPS), max_passes=passes, max_seconds=seconds)
    begin = time.process_time()
    solution = solve(objective, solver, stopping, seed=0)
    spent, history = time.process_time() - begin, solution.history
    found = []
    for gap in GAPS:
        at = np.flatnonzero(history.gap <= gap)
        found.append(f"{history.passes[at[0]]:.0f} ({history.seconds[at[0]]:.1f} s)" if at.size else "-")
    passes = {f"to {gap:g}": one.split()[0] for gap, one in zip(GAPS, found)}
    what = f"{name}, n = {objective.n_active}, {objective.n_weights} weights"
    note(what=what, **passes, gap=solution.certificate.gap, cpu_seconds=spent)
    done = f"gap {solution.certificate.gap:.2g}, CPU {spent:.1f} s"
    print(f"  {name:34s} {' / '.join(found):40s} {done}", flush=True)


def on_digits():
    print("digits, n = 1000, lambda 0.01: passes to gap 1e-1 / 1e-2 / 1e-3 (seconds)")
    for geometry, name in ((EUCLIDEAN, "Euclidean"), (ENTROPIC, "entropic")):
        way(f"extragradient, {name}", digits(), Extragradient(geometry))
        way(f"plain extragradient, {name}", digits(), PlainExtragradient(geometry), passes=10000)
    others(digits())


def on_scene():
    print("scene, all pairs, n = 1211, lambda 0.01: passes to gap 1e-1 / 1e-2 / 1e-3 (seconds)")
    way("extragradient, entropic", pairs_of_labels(), Extragradient())
    others(pairs_of_labels())


def on_letters():
    print("letters, fold 0, 626 words, lambda 0.01: passes to gap 1e-1 / 1e-2 / 1e-3 (seconds)")
    way("extragradient, entropic", words(lambda fold: fold == 0), Extragradient())
    others(words(lambda fold: fold == 0))


def others(objective):
    way("bcfw", objective, BlockFrankWolfe())
    way("fw", objective, FrankWolfe())


def iteration_cost():
    """An iteration without its evaluation, against scoring + forward-backward + pullback of all words."""
    objective = words(lambda fold: fold != 0)
    smooth = Objective(
        objective.structure,
        objective.scoring,
        objective.gold,
        objective.cost,
        regularization=0.01,
        regularizer=Shannon(),
    )
    solver, rng = Extragradient(ENTROPIC, False), np.random.default_rng(0)
    with blas_threads(1):
        state = solver.start(objective, rng, None)
        for _ in range(10):
            state = solver.step(objective, state, rng)
        state = state._replace(next_check=np.inf, next_eta=state.eta / 2)
        trials = state.oracle_calls

        def iterate():
            nonlocal trials
            trials = solver.step(objective, state, rng).oracle_calls - state.oracle_calls

        ratios = []
        for _ in range(5):
            a_pass, an_iteration = best_of(lambda: smooth.predictions(state.w), 3), best_of(iterate, 3)
            ratios.append((an_iteration / a_pass, an_iteration, a_pass))
    ratio, an_iteration, a_pass = sorted(ratios)[2]
    print(f"letters, folds 1-9, efficient entropic form ({trials / objective.n_active:.0f} maps a step):")
    times = f"one iteration {1e3 * an_iteration:.0f} ms, one pass {1e3 * a_pass:.0f} ms"
    print(f"  {times}: {ratio:.2f}x")


def memory():
    """Peak memory beyond the data, in fresh processes, for chains of 10 positions and 26 labels."""
    print("peak memory beyond the data, 5 iterations (z of the full form would be):")
    for n in (2000, 4000, 8000):
        for form in ("efficient", "full"):
            command = [sys.executable, __file__, "--memory", str(n), form]
            print("  " + subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


def memory_of(n, form):
    import tracemalloc

    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(10, 20)) for _ in range(n)], [rng.integers(26, size=10) for _ in range(n)]
    objective = chain_problem(X, y, 0.01)
    solver = Extragradient(ENTROPIC, form == "full")
    size = objective.gold_point().nbytes / 2**20
    solve(objective, solver, Stopping(max_passes=2, tol=-1), seed=0)  # compiles
    tracemalloc.start()
    solve(objective, solver, Stopping(max_passes=10, tol=-1), seed=0)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    print(f"n = {n:5d}, {form:9s}: {peak:7.1f} MB ({size:.1f} MB)")


def main():
    if "--memory" in sys.argv:
        memory_of(int(sys.argv[2]), sys.argv[3])
        return
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}")
    parts = {
        "digits": on_digits,
        "scene": on_scene,
        "letters": on_letters,
        "cost": iteration_cost,
        "memory": memory,
    }
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    recorded(main)
