"""Chains on the OCR letters: a BCFW pass and a gap evaluation against scoring alone, and the way to a gap.

python benchmarks/letters.py
"""

from __future__ import annotations

import time

import numpy as np
from common import best_of, letters, machine
from threadpoolctl import threadpool_limits

from structlearn.objective import Objective
from structlearn.oracle import Oracle
from structlearn.scoring import RowScoring
from structlearn.solvers import BlockFrankWolfe, GapSampling, Stopping, solve
from structlearn.structures import Chain

GAPS = (0.1, 0.03, 0.01)
SOLVERS = (
    BlockFrankWolfe(),
    BlockFrankWolfe(averaging=True),
    BlockFrankWolfe(order=GapSampling(), averaging=True),
)


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
        print(f"  one {name:31s} {1e3 * seconds:7.1f} ms   {seconds / scoring_alone:.2f}x (target {target})")


def test_error(objective, w, X, y):
    scoring = RowScoring(np.concatenate(X), np.array([len(x) for x in X]), 26, n_shared=26 * 26)
    wrong = total = 0
    for i, parts in Oracle(objective.structure, scoring).predict(w):
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
        print("as users get it (pixels are sparse enough to be stored as CSR):")
        speed(problem(X_train, y_train, 0.01), rows)
        print("dense storage:")
        speed(problem(X_train, y_train, 0.01, dense=True), rows)
        for regularization in (0.01, 1 / len(train)):
            for solver in SOLVERS:
                objective = problem(X_train, y_train, regularization)
                report(objective, solver, X_test, y_test)


def report(objective, solver, X_test, y_test):
    solution = solve(objective, solver, Stopping(tol=min(GAPS), max_passes=400, max_seconds=60), seed=0)
    error = test_error(objective, solution.w, X_test, y_test)
    found = solution.certificate
    name = f"lambda {objective.regularization:.3g}, {solver.order}, averaging={solver.averaging}"
    print(f"{name}: {passes_to_gaps(solution.history)}")
    print(f"  P {found.primal:.4f}  D {found.dual:.4f}  gap {found.gap:.4f}  after {found.passes:.0f} passes")
    print(f"  test error {100 * error:.1f}%")


if __name__ == "__main__":
    main()
