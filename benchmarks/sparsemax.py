"""Sparsemax of many rows, against sorting in NumPy and, where it is installed, the entmax package on torch;
SparseMAP of chains whose label sequences tie or nearly tie, by the size of the noise on their transitions.

    python benchmarks/sparsemax.py

All project the same float64 Gaussian scores, one thread, from array to array; best of many warm runs.
Answers are compared before anything is timed. Ratios are to be read within one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from common import best_of, machine, note, recorded

from structlearn.structures import Chain, Simplex
from structlearn.structures.flat.entmax import entmax

QUICK = [[]]

SHAPES = [(10_000, 100), (100, 10_000)]
ROUNDS, REPEATS = 12, 8
#: (labels, length) of chains, and the noise on transitions of +-0.005.
CHAINS = [(20, 30), (9, 100), (50, 10)]
NOISE = [0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
SEEDS = range(100, 105)


def by_sorting(theta: Any) -> Any:
    """z = max(theta - tau, 0), tau from the sorted rows (Held, Wolfe and Crowder 1974)."""
    n, k = theta.shape
    ordered = np.sort(theta, axis=1)[:, ::-1]
    excess = np.cumsum(ordered, axis=1) - 1.0
    size = np.count_nonzero(ordered * np.arange(1, k + 1) > excess, axis=1)
    tau = excess[np.arange(n), size - 1] / size
    return np.maximum(theta - tau[:, None], 0.0)


def by_torch() -> tuple[dict[str, Callable[[Any], Any]], dict[str, Callable[[Any], Any]]]:
    """The entmax package's sparsemax and entmax15, array to array; nothing where it is missing."""
    try:
        import torch
        from entmax import entmax15, sparsemax
    except ImportError:
        print("The entmax package (with torch) is not installed: skipped.")
        return {}, {}
    torch.set_num_threads(1)
    return (
        {"entmax.sparsemax": lambda theta: sparsemax(torch.from_numpy(theta), dim=1).numpy()},
        {"entmax.entmax15": lambda theta: entmax15(torch.from_numpy(theta), dim=1).numpy()},
    )


def compare(title: str, theta: Any, runs: dict[str, Callable[[Any], Any]]) -> None:
    """Times of functions that should give the same; the first is ours."""
    expected = next(iter(runs.values()))(theta)
    for run in runs.values():
        np.testing.assert_allclose(run(theta), expected, atol=1e-9)
    seconds = dict.fromkeys(runs, np.inf)
    for _ in range(ROUNDS):  # taking turns, so that a busy machine is so for all
        for name, run in runs.items():
            seconds[name] = min(seconds[name], best_of(partial(run, theta), REPEATS))
    ours = next(iter(seconds.values()))
    print(f"\n{title}, {theta.shape[0]} x {theta.shape[1]}")
    for name, least in seconds.items():
        print(f"  {name:18} {least * 1e3:9.2f} ms   {least / ours:6.1f}x")
        note(
            what=f"{title}, {theta.shape[0]} x {theta.shape[1]}", by=name, ms=1e3 * least, times=least / ours
        )


def near_ties(n_labels: int, length: int, noise: float, seed: int) -> Any:
    """Local scores 0.15 N(0, 1) and transitions of +-0.005, with noise."""
    rng = np.random.default_rng(seed)
    unary = 0.15 * rng.normal(size=length * n_labels)
    equal = 0.005 * rng.choice([-1.0, 1.0], size=n_labels**2)
    return np.r_[unary, equal + noise * rng.normal(size=n_labels**2)]


def chains() -> None:
    """Print CPU milliseconds per projection, mean and most of the seeds, by the noise on transitions."""
    for n_labels, length in CHAINS:
        chain = Chain(n_labels)
        print(f"\nSparseMAP of chains, {n_labels} labels, length {length}: CPU ms by noise, mean and most")
        for noise in NOISE:
            given = [near_ties(n_labels, length, noise, seed) for seed in SEEDS]
            ms = [1e3 * best_of(partial(chain.project, theta), 3, time.process_time) for theta in given]
            print(f"  {noise:7.0e} {np.mean(ms):9.2f} {max(ms):9.2f}")
            what = f"SparseMAP, {n_labels} labels, length {length}, noise {noise:.0e}"
            note(what=what, by="structlearn", ms=np.mean(ms), most_ms=max(ms))


def main() -> None:
    print(machine())
    chains()
    sparsemax, entmax15 = by_torch()
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        theta = rng.normal(size=shape)
        ours = {"structlearn": Simplex(shape[1]).project}
        compare("sparsemax", theta, {**ours, "NumPy, sorting": by_sorting, **sparsemax})
        compare("1.5-entmax", theta, {"structlearn": entmax, **entmax15})


if __name__ == "__main__":
    recorded(main, peers=("entmax", "torch"))
