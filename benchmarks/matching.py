"""Time of one matching inside a compiled loop, against scipy's assignment and a linear program.

    python benchmarks/matching.py

All solve the same assignment problems (unmatched=False): `maximize` in one compiled loop, as a pass does;
scipy.optimize.linear_sum_assignment, one Python call a problem; scipy.optimize.linprog (HiGHS, sparse
constraints) on the first few. Then our time alone, where nodes may stay unmatched and many scores are
negative, and with capacities (2, 2). Best of several repeats; values are compared before anything is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from common import note, recorded
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import eye_array, kron

from structlearn.core.contract import maximize, workspace
from structlearn.structures.matching.matching import Matching

QUICK = [[]]

SIZES = [(5, 5, 5000), (25, 28, 1000), (60, 60, 300), (100, 100, 100)]  # m, n, problems
REPEATS = 7
PROGRAMS = 3


@numba.njit
def solve_all(record: Any, shape: Any, theta: Any, values: Any) -> None:
    work, vertex, shared = workspace(record, shape), np.empty(theta.shape[1]), np.empty(0)
    for i in range(len(theta)):
        values[i] = maximize(record, shape, theta[i], shared, work, vertex)


def best_of(repeats: int, run: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def ours(structure: Matching, theta: NDArray[Any]) -> tuple[float, NDArray[Any]]:
    """Seconds a problem, and the values."""
    count, m, n = theta.shape
    values = np.empty(count)
    flat = theta.reshape(count, -1)
    solve_all(structure.record, (m, n), flat, values)
    return best_of(REPEATS, lambda: solve_all(structure.record, (m, n), flat, values)) / count, values


def by_assignment(theta: NDArray[Any]) -> tuple[float, NDArray[Any]]:
    values = np.array([one[linear_sum_assignment(one, maximize=True)].sum() for one in theta])
    seconds = best_of(REPEATS, lambda: [linear_sum_assignment(one, maximize=True) for one in theta])
    return seconds / len(theta), values


def by_linear_program(theta: NDArray[Any]) -> tuple[float, NDArray[Any]]:
    _, m, n = theta.shape
    rows = kron(eye_array(m), np.ones((1, n)), format="csr")
    columns = kron(np.ones((1, m)), eye_array(n), format="csr")

    def solve() -> list[float]:
        return [
            -linprog(-one.ravel(), columns, np.ones(n), rows, np.ones(m), bounds=(0, 1), method="highs").fun
            for one in theta
        ]

    values = np.array(solve())
    return best_of(PROGRAMS, solve) / len(theta), values


def main() -> None:
    rng = np.random.default_rng(0)
    print("microseconds a problem               ours   assignment  (ratio)     linprog  (ratio)")
    for m, n, count in SIZES:
        for name, theta in (
            ("uniform", rng.random((count, m, n))),
            ("integers 0..9", rng.integers(0, 10, (count, m, n)).astype(float)),
        ):
            seconds, values = ours(Matching(unmatched=False), theta)
            theirs, expected = by_assignment(theta)
            program, optimum = by_linear_program(theta[:PROGRAMS])
            np.testing.assert_allclose(values, expected)
            np.testing.assert_allclose(values[:PROGRAMS], optimum)
            note(what=f"{m} x {n}, {name}", us=1e6 * seconds, scipy_us=1e6 * theirs, linprog_us=1e6 * program)
            print(
                f"{m:3} x {n:3}  {name:14} {seconds * 1e6:15.2f} {theirs * 1e6:12.2f}"
                f" {theirs / seconds:7.1f}x {program * 1e6:12.0f} {program / seconds:7.0f}x"
            )
    for title, structure in (
        ("unmatched nodes allowed", Matching()),
        ("capacities (2, 2)", Matching(capacities=(2, 2))),
    ):
        print(f"\n{title}, normal scores, microseconds a problem:  mean 0    mean -1    mean -2.5")
        for m, n, count in SIZES:
            times = [ours(structure, rng.normal(mean, 1, (count, m, n)))[0] for mean in (0, -1, -2.5)]
            for mean, seconds in zip((0, -1, -2.5), times):
                note(what=f"{m} x {n}, {title}, mean {mean}", us=1e6 * seconds)
            print(f"{m:3} x {n:3}" + "".join(f"{seconds * 1e6:11.2f}" for seconds in times))


if __name__ == "__main__":
    recorded(main)
