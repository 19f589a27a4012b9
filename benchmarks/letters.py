"""Chains on the OCR letters: a BCFW pass and a gap evaluation against scoring alone, and the way to a gap.

python benchmarks/letters.py
"""

from __future__ import annotations

import time

import numpy as np
from common import best_of, letters, machine, note, recorded
from threadpoolctl import threadpool_limits

from structlearn.problem.objective import Objective
from structlearn.problem.oracle import Oracle
from structlearn.scoring import RowScoring
from structlearn.solvers import ActiveBlocks, BlockFrankWolfe, GapSampling, Steps, Stopping, solve
from structlearn.structures import Chain

GAPS = (0.1, 0.01, 0.001)
SOLVERS = {
    "default": ActiveBlocks(),
    "default, gap sampling": ActiveBlocks(order=GapSampling()),
    "no cached passes": ActiveBlocks(cached_passes=0),
    "away steps": ActiveBlocks(steps=Steps.AWAY),
    "pairwise alone": ActiveBlocks(inner_steps=1, cached_passes=0),
    "dense": BlockFrankWolfe(),
    "dense, averaged": BlockFrankWolfe(averaging=True),
}
#: What the default is expected to take: passes to gaps of 1e-2 and 1e-3.
TARGETS = {"fold 0": (40, 100), "folds 1-9": (10, 20)}


def problem(X, y, regularization, dense=False):
    chain = Chain(26)
    lengths = np.array([len(x) for x in X])
    rows = np.concatenate(X)
    scoring = RowScoring(rows, lengths, 26, n_shared=chain.n_shared, sparsify=not dense)
    gold = chain.encode_many(y, scoring.shapes)
    return Objective(
        chain, scoring, gold, chain.cost_many(gold, scoring.shapes), regularization=regularization
    )


def passes_to_gaps(history):
    """First evaluation at or under each gap."""
    found = {}
    for gap in GAPS:
        reached = [row for row in history if row.gap <= gap]
        found[gap] = f"{reached[0].passes:.0f} passes, {reached[0].seconds:.2f} s" if reached else "-"
    return found


def speed(objective, rows):
    rng = np.random.default_rng(0)
    W = rng.normal(size=(26, rows.shape[1]))
    scoring_alone = best_of(lambda: rows @ W.T)
    solver = BlockFrankWolfe()
    state = [solver.start(objective, rng, None)]

    def one_pass():
        state[0] = solver.step(objective, state[0], rng)

    for _ in range(10):
        one_pass()
    a_pass = best_of(one_pass)
    w = state[0].w.copy()
    evaluation = best_of(lambda: objective.primal(w))
    print(f"  scoring alone (X @ W.T, one thread) {1e3 * scoring_alone:7.1f} ms")
    for name, seconds, target in (
        ("BCFW pass", a_pass, "4, aim 3"),
        ("gap evaluation", evaluation, "2, aim 1.6"),
    ):
        note(what=name, ms=1e3 * seconds, times_scoring=seconds / scoring_alone)
        print(f"  one {name:31s} {1e3 * seconds:7.1f} ms   {seconds / scoring_alone:.2f}x (target {target})")


def test_error(objective, w, X, y):
    scoring = RowScoring(np.concatenate(X), np.array([len(x) for x in X]), 26, n_shared=26 * 26)
    structure = objective.structure
    wrong = total = 0
    for i, parts in Oracle(structure.record, scoring, structure=structure).predict(w):
        predicted = parts.reshape(-1, 26).argmax(axis=1)
        wrong += int((predicted != y[i]).sum())
        total += len(y[i])
    return wrong / total


def main():
    X, y, folds = letters()
    train = [i for i in range(len(X)) if folds[i] != 0]
    test = [i for i in range(len(X)) if folds[i] == 0]
    X_train, y_train = [X[i] for i in train], [y[i] for i in train]
    X_test, y_test = [X[i] for i in test], [y[i] for i in test]
    rows = np.concatenate(X_train)
    print(f"# OCR letters: {len(train)} words, {len(rows)} letters; test: {len(test)} words (fold 0)")
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}")
    with threadpool_limits(1):
        for name, data in (("fold 0", (X_test, y_test)), ("folds 1-9", (X_train, y_train))):
            ways(name, problem(*data, 0.01))
    with threadpool_limits(1):
        print("as users get it (pixels are sparse enough to be stored as CSR):")
        speed(problem(X_train, y_train, 0.01), rows)
        print("dense storage:")
        speed(problem(X_train, y_train, 0.01, dense=True), rows)
        objective = problem(X_train, y_train, 1 / len(train))
        solution = solve(objective, ActiveBlocks(), Stopping(tol=0.01, max_passes=400), seed=0)
        error = test_error(objective, solution.w, X_test, y_test)
        found = solution.certificate
        note(what="folds 1-9, lambda 1/n", gap=found.gap, passes=found.passes, test_error=error)
        print(f"lambda 1/n: {passes_to_gaps(solution.history)}; test error {100 * error:.1f}%")


def ways(name, objective):
    """Passes and seconds to each gap, by solver."""
    few, many = TARGETS[name]
    print(f"{name}, lambda 0.01 (targets of the default: {few} and {many} passes to 1e-2 and 1e-3):")
    for title, solver in SOLVERS.items():
        start = time.process_time()
        solution = solve(objective, solver, Stopping(tol=min(GAPS), max_passes=600, max_seconds=60), seed=0)
        found = solution.certificate
        seconds = time.process_time() - start
        note(what=f"{name}, {title}", gap=found.gap, passes=found.passes, cpu_seconds=seconds)
        print(f"  {title:22s} {passes_to_gaps(solution.history)}, CPU {seconds:.1f} s in all")
        print(f"    P {found.primal:.5f}  D {found.dual:.5f}  gap {found.gap:.5f}  {memory(solution.point)}")


def memory(point):
    """Bytes of a dual point as it is kept."""
    store = getattr(point, "store", None)
    if store is None:
        return f"z {np.asarray(point).nbytes / 1e6:.1f} MB"
    size = sum(array.nbytes for array in store) / 1e6
    return f"z {size:.1f} MB, atoms a word: mean {store.count.mean():.1f}, most {store.count.max()}"


if __name__ == "__main__":
    recorded(main)
