"""Sparsemax of many rows, against sorting in NumPy and, where it is installed, the entmax package on torch.

    python benchmarks/sparsemax.py

All project the same float64 Gaussian scores, one thread, from array to array; best of many warm runs.
Answers are compared before anything is timed. Ratios are to be read within one run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from common import best_of, machine

from structlearn.structures import Simplex
from structlearn.structures.flat.entmax import entmax

SHAPES = [(10_000, 100), (100, 10_000)]
ROUNDS, REPEATS = 12, 8


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
    for name, time in seconds.items():
        print(f"  {name:18} {time * 1e3:9.2f} ms   {time / ours:6.1f}x")


def main() -> None:
    print(machine())
    sparsemax, entmax15 = by_torch()
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        theta = rng.normal(size=shape)
        ours = {"structlearn": Simplex(shape[1]).project}
        compare("sparsemax", theta, {**ours, "NumPy, sorting": by_sorting, **sparsemax})
        compare("1.5-entmax", theta, {"structlearn": entmax, **entmax15})


if __name__ == "__main__":
    main()
