"""Training on a cluster of local processes: what a round costs, and the way to a gap.

python benchmarks/cluster.py [round] [letters] [--workers 2] [--repeats 5]

round: rounds of chains with d = 100,000 weights and next to no work, with and without the line search.
letters: folds 1-9 of the OCR letters to a gap of 1e-2, one process with one thread and the cluster in turn.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from common import letters, machine, note, recorded

GAP = 1e-2


def rounds(client, n_workers):
    """Seconds of single rounds at d = 100,000: two sequences a worker."""
    from structlearn.distributed import JoinedBlocks, WorkerSpec, split, spread_out
    from structlearn.distributed.dask_engine import DaskEngine
    from structlearn.distributed.worker import Piece
    from structlearn.estimators.training.cluster import LayOut
    from structlearn.solvers import ActiveBlocks, Checkpoint
    from structlearn.structures import Chain

    rng = np.random.default_rng(0)
    X = [rng.normal(size=(5, 9990)) for _ in range(2 * n_workers)]
    y = [np.arange(5) + 5 * (k % 2) for k in range(2 * n_workers)]
    with tempfile.TemporaryDirectory() as folder:
        parts = split(Path(folder) / "parts", "chain", X, y, parts=n_workers)
        lay_out = LayOut("ChainClassifier", {"fit_intercept": False})
        posts = [
            WorkerSpec(k, str(path), lay_out, None, ActiveBlocks(), 0, Checkpoint(Path(folder) / str(k)), 0.0)
            for k, path in enumerate(parts.paths)
        ]
        n_labels = len(np.unique(np.concatenate(y)))
        objective = spread_out(DaskEngine(client), posts, Chain(n_labels), 0.01)
        solver = JoinedBlocks(1, 0, adapt=False)
        state = solver.start(objective, rng, None)
        took, worked, bare = [], [], []
        for _ in range(200):
            begin = time.perf_counter()
            state = solver.step(objective, state, rng)
            took.append(time.perf_counter() - begin)
        t, w = int(state.counts[0]), state.w
        for _ in range(100):
            begin = time.perf_counter()
            t += 1
            answers = objective.round(t, w, np.zeros(n_workers), Piece(True, 0, 1), state.pace)
            bare.append(time.perf_counter() - begin)
            worked.append(max(one.seconds for one in answers))
        objective.close()
    print(f"a round with d = {w.size}, {n_workers} workers (200 rounds; target 50 ms):")
    for name, values in (
        ("whole round with its line search", took),
        ("sending and answers alone", bare),
        ("of these, work", worked),
    ):
        best, median, worst = 1e3 * np.percentile(values, [0, 50, 90])
        note(what=f"{name}, {n_workers} workers", ms=median, least_ms=best, ms_of_nine_tenths=worst)
        print(f"  {name:34s} {best:6.1f} ms best, {median:6.1f} median, {worst:6.1f} 90%")


def to_gap(client, repeats):
    """One process and the cluster in turn; the ratio of their best times, and of their medians."""
    from structlearn import ChainClassifier

    X, y, folds = letters()
    chosen = np.flatnonzero(folds != 0)
    X, y = [X[i] for i in chosen], [y[i] for i in chosen]
    options = {"loss": "hinge", "regularization": 0.01, "tol": GAP, "fit_intercept": False, "random_state": 0}
    times = {"one process, one thread": [], "cluster": []}
    passes = {name: [] for name in times}
    loads = []
    for _ in range(repeats):
        for name, where in zip(times, ({}, {"client": client})):
            found = ChainClassifier(**options).fit(X, y, **where).certificate_
            times[name].append(found.seconds)
            passes[name].append(found.passes)
            loads.append(os.getloadavg()[0])
    print(f"letters folds 1-9 ({len(X)} words, lambda 0.01) to gap {GAP:g}, {repeats} runs in turn:")
    for name, values in times.items():
        note(what=name, seconds=np.median(values), least_seconds=min(values), passes=np.median(passes[name]))
        print(
            f"  {name:26s} {min(values):6.2f} s best, {np.median(values):6.2f} median; "
            f"passes {min(passes[name]):g} to {max(passes[name]):g}"
        )
    alone, spread = (np.array(values) for values in times.values())
    print(f"  ratio: best {spread.min() / alone.min():.2f}, median of pairs {np.median(spread / alone):.2f}")
    print(f"  load average meanwhile {min(loads):.1f} to {max(loads):.1f} (target 1.2 on a machine at rest)")


def main():
    from structlearn.distributed import connected

    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", default=["round", "letters"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}, load {os.getloadavg()[0]:.1f}")
    begin = time.perf_counter()
    with connected(f"local:{options.workers}") as client:
        print(f"local:{options.workers} started in {time.perf_counter() - begin:.1f} s")
        if "round" in options.what:
            rounds(client, options.workers)
        if "letters" in options.what:
            to_gap(client, options.repeats)


if __name__ == "__main__":
    recorded(main)
