"""Training matchings of 60 x 60 nodes to a gap, with and without cached passes, and with dense z.

python benchmarks/matching_training.py
"""

from __future__ import annotations

import time

import numpy as np
from common import machine, note, recorded
from threadpoolctl import threadpool_limits

from structlearn.problem.objective import Objective
from structlearn.scoring import PartScoring
from structlearn.solvers import ActiveBlocks, BlockFrankWolfe, Stopping, solve
from structlearn.structures import Matching

QUICK = [[]]

SIZE, EXAMPLES, FEATURES = 60, 40, 12
SOLVERS = {
    "cached passes": ActiveBlocks(),
    "no cached passes": ActiveBlocks(cached_passes=0),
    "dense": BlockFrankWolfe(),
}


def problem(regularization, seed=0):
    """Links of random permutations, seen through noisy features."""
    rng = np.random.default_rng(seed)
    structure = Matching()
    gold = [rng.permutation(SIZE) for _ in range(EXAMPLES)]
    F = rng.normal(size=(EXAMPLES, SIZE, SIZE, FEATURES))
    for i, columns in enumerate(gold):
        F[i, np.arange(SIZE), columns] += 1.0
    shapes = np.full((EXAMPLES, 2), SIZE)
    scoring = PartScoring(F.reshape(-1, FEATURES), shapes)
    vertices = structure.encode_many(gold, shapes)
    cost = structure.cost_many(vertices, shapes)
    return Objective(structure, scoring, vertices, cost, regularization=regularization)


def main():
    print(f"# {EXAMPLES} matchings of {SIZE} x {SIZE}, {FEATURES} features a link; {machine()}")
    with threadpool_limits(1):
        for regularization, tol in ((0.1, 1e-2), (0.1, 1e-3), (0.01, 1e-2)):
            objective = problem(regularization)
            print(f"lambda {regularization}, gap {tol}:")
            for name, solver in SOLVERS.items():
                solve(objective, solver, Stopping(tol=tol, max_passes=1))
                begin = time.process_time()
                found = solve(objective, solver, Stopping(tol=tol, max_passes=10000), seed=0).certificate
                seconds = time.process_time() - begin
                what = f"{name}, lambda {regularization}, gap {tol}"
                note(what=what, passes=found.passes, cpu_seconds=seconds, gap=found.gap)
                print(f"  {name:18s} {found.passes:6.0f} passes, CPU {seconds:.2f} s, gap {found.gap:.5f}")


if __name__ == "__main__":
    recorded(main)
