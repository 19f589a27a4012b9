"""Constrained decoding against free decoding, the same weights: CoNLL-2000 chunks, and the kernel alone.

    python benchmarks/constraints.py

CPU time of one thread, the best of several runs in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from common import DATA, note, recorded

from structlearn.data import read_tokens, split_rows
from structlearn.estimators.inputs.constraints import forbidden_steps
from structlearn.structures import Chain
from structlearn.tagging import Tagger

QUICK = [[]]

RUNS, REPEATS = 7, 10


def best_times(*jobs: Callable[[], object]) -> list[float]:
    """The least CPU time of each job, run in turn."""
    times = [[np.inf] for _ in jobs]
    for job in jobs:
        job()
    for _ in range(RUNS):
        for job, found in zip(jobs, times):
            begin = time.process_time()
            for _ in range(REPEATS):
                job()
            found.append((time.process_time() - begin) / REPEATS)
    return [min(found) for found in times]


def told(what: str, free: float, constrained: float) -> None:
    note(what=what, free_ms=1e3 * free, constrained_ms=1e3 * constrained, ratio=constrained / free)
    print(
        f"{what}: free {1e3 * free:.1f} ms, constrained {1e3 * constrained:.1f} ms, {constrained / free:.2f}"
    )


def kernels(n_types: int = 4, length: int = 24, n: int = 5000) -> None:
    """Viterbi's algorithm and forward-backward alone, on random scores."""
    classes = np.array(sorted(["O", *(f"{mark}-{k}" for mark in "BI" for k in range(n_types))]))
    free = Chain(len(classes))
    chain = Chain(len(classes), forbidden=forbidden_steps("bio", classes))
    theta = np.random.default_rng(0).normal(size=(n, length * len(classes) + len(classes) ** 2))
    theta[:, length * len(classes) :] = theta[0, length * len(classes) :]  # as of one model
    for name in ("maximize", "marginals"):
        jobs = [partial(getattr(one, name), theta) for one in (free, chain)]
        told(f"{name}, {len(classes)} labels, {n} sequences of {length}", *best_times(*jobs))


def chunks(folder: Path) -> None:
    """A chunker's predictions for the test file, and how many of them are spans."""
    names = ("word", "pos")
    files = [read_tokens(next(folder.glob(f"{name}*"))) for name in ("train", "test")]
    data = [
        (
            [list(zip(*pair)) for pair in zip(*(split_rows(one.column(k).cells, one.lengths) for k in "01"))],
            split_rows(one.column("2").cells, one.lengths),
        )
        for one in files
    ]
    (X, y), (test, gold) = data
    tagger = Tagger(columns=names, random_state=0, tol=0.1).fit(X[:2000], y[:2000])
    chain, rows = tagger.chain_, tagger.rows(test)
    free, scheme = chain.structure_, forbidden_steps("bio", chain.classes_)
    constrained = Chain(free.n_labels, forbidden=scheme)

    def predict(structure: Chain) -> list[np.ndarray]:
        chain.structure_ = structure
        return chain.predict(rows)

    told("chunks of the test file", *best_times(lambda: predict(free), lambda: predict(constrained)))
    for name, structure in (("free", free), ("constrained", constrained)):
        codes = [np.searchsorted(chain.classes_, one) for one in predict(structure)]
        broken = constrained.broken(np.concatenate(codes), np.array([len(one) for one in codes]))
        right = np.mean(np.concatenate(predict(structure)) == np.concatenate(gold))
        print(f"{name}: {int(broken.sum())} labels of {broken.size} break BIO, accuracy {right:.4f}")


def main() -> None:
    kernels()
    if (DATA / "conll2000").exists():
        chunks(DATA / "conll2000")


if __name__ == "__main__":
    recorded(main)
