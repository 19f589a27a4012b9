"""What a second thread brings: gap evaluation, prediction, and training to one gap, one thread and two.

python benchmarks/threads.py [letters | chains] [--repeats 5] [--jobs 2]

On a busy machine wall-clock time says little (two threads are given twice the time of one, or wait for each
other), so beside it stand the processor times of the first thread and of all. In training the first thread
does its share of every round and all that is not shared out: its time is what wall-clock time would be on
idle cores. In evaluation and prediction it only collects. Runs alternate; the least of each is printed.
"""

from __future__ import annotations

import argparse
import os
import time
from contextlib import suppress
from tempfile import TemporaryDirectory

import numpy as np
from common import letters, machine, note, recorded

from structlearn import ChainClassifier
from structlearn.data import make_chains, open_packed, pack
from structlearn.problem.objective import Objective

BENCH = [["chains"], ["letters"]]

CHAINS = 20_000


def problem(name: str):
    """Sequences, labels, lambda, and the gap to train to."""
    if name == "letters":
        X, y, folds = letters()
        chosen = np.flatnonzero(folds != 0)
        return [X[i] for i in chosen], [y[i] for i in chosen], 0.01, 0.01
    X, y = make_chains(CHAINS, 10, 20, 64, 0, dtype=np.float32, noise=0.5)
    return X, y, 1e-3, 0.01


CLOCKS = (time.perf_counter, time.thread_time, time.process_time)


def clocked(function) -> list[float]:
    """Seconds of wall-clock time, of work of this thread, and of all threads."""
    begin = [clock() for clock in CLOCKS]
    function()
    return [clock() - before for clock, before in zip(CLOCKS, begin)]


def least(functions, repeats: int) -> list[tuple[float, ...]]:
    """The least of each clock for each function, one after the other, again and again."""
    times = [[clocked(function) for function in functions] for _ in range(repeats)]
    return [tuple(min(row[k][clock] for row in times) for clock in range(3)) for k in range(len(functions))]


def objective_of(model, X, y):
    """The objective that an estimator trains."""
    found = {}

    class Caught(Exception):
        pass

    def catch(_, task):
        found["task"] = task
        raise Caught

    model.trained_by = type("Catching", (model.trained_by,), {"run": catch})
    with suppress(Caught):
        model.fit(X, y)
    task = found["task"]
    return Objective(
        task.structure,
        task.scoring,
        task.gold,
        task.cost,
        regularization=model.regularization,
        n_jobs=model.n_jobs,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", nargs="?", default="chains")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="without training")
    options = parser.parse_args()
    X, y, regularization, tol = problem(options.data)
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}, load {os.getloadavg()[0]:.1f}")
    print(f"# {options.data}: {len(X)} sequences, lambda {regularization}, gap {tol}")
    threads = (1, options.jobs)

    def make(n_jobs: int) -> ChainClassifier:
        return ChainClassifier(
            loss="hinge", regularization=regularization, tol=tol, random_state=0, n_jobs=n_jobs
        )

    fitted = make(1).fit(X, y)
    objectives = [objective_of(make(n), X, y) for n in threads]
    w = fitted.weights_
    models = [make(n) for n in threads]
    predictors = [fitted if n == 1 else _copy(fitted, n) for n in threads]
    report("gap evaluation", least([lambda o=o: o.primal(w) for o in objectives], options.repeats))
    report("prediction", least([lambda m=m: m.predict(X) for m in predictors], options.repeats))
    with TemporaryDirectory() as folder:
        pack(f"{folder}/packed", "chain", X, y)
        packed = open_packed(f"{folder}/packed").X
        report("... packed", least([lambda m=m: m.predict(packed) for m in predictors], options.repeats))
    if options.quick:
        return
    report("training", least([lambda m=m: m.fit(X, y) for m in models], max(1, options.repeats // 2)))
    for n, model in zip(threads, models):
        certificate = model.certificate_
        values = f"dual {certificate.dual:.6f}, gap {certificate.gap:.4f}"
        print(f"  {n} threads: {certificate.passes:.0f} passes, {values}")


def _copy(model, n_jobs: int):
    from sklearn.base import clone

    other = clone(model).set_params(n_jobs=n_jobs)
    other.__dict__.update({name: value for name, value in vars(model).items() if name.endswith("_")})
    return other


def report(what: str, times) -> None:
    alone, together = times[0][0], times[1][0]
    note(what=what, one_thread_seconds=alone, seconds=together, times=alone / together)
    parts = [
        f"{name} {alone:7.3f} -> {together:7.3f} s ({alone / together:4.2f}x)"
        for name, alone, together in zip(("wall", "first thread", "all threads"), *times)
    ]
    print(f"{what:15s}", "; ".join(parts), flush=True)


if __name__ == "__main__":
    recorded(main)
