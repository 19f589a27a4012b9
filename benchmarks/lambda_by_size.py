"""regularization="auto" beside fixed lambdas: CPU seconds and shares of held-out nodes that are right.

`python benchmarks/lambda_by_size.py [segmentations] [regions] [snakes]`: all unless named.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import graphs
import numpy as np
from common import note, recorded

from structlearn import CutSegmenter, GraphClassifier, GridClassifier
from structlearn.data import make_segmentations

QUICK = [["segmentations"]]

LAMBDAS = ("auto", 0.01, 0.1, 1, 10, 100, 1000, 10_000)
SHARED = {"tol": 0.01, "random_state": 0}


def compare(name: str, make: Callable[[Any], Any], train: Any, test: Any) -> None:
    """A line per lambda; the first fit compiles, and is not shown."""
    make("auto").fit(train[0][:2], train[1][:2])
    for value in LAMBDAS:
        begin = time.process_time()
        model = make(value).fit(*train)
        seconds, passes = time.process_time() - begin, model.certificate_.passes
        right, gap = model.score(*test), model.certificate_.gap
        note(what=f"{name}, {value}", right=right, cpu_seconds=seconds, passes=passes, gap=gap)
        print(
            f"{name}, {value}: lambda {model.regularization_:.3g}, {right:.4f} right, "
            f"{seconds:.2f} s, {passes:.0f} passes, gap {gap:.4f}",
            flush=True,
        )


def segmentations() -> None:
    for side in (10, 40, 80):
        X, y = make_segmentations(40, side, side, random_state=0)
        make = lambda value: CutSegmenter(regularization=value, **SHARED)  # noqa: E731
        compare(f"segmentations of {side} x {side}", make, (X[:20], y[:20]), (X[20:], y[20:]))


def regions() -> None:
    rng = np.random.default_rng(11)
    for side, n in ((8, 80), (24, 30), (40, 30)):
        y = [region_labels(side, rng) for _ in range(n)]
        X = [np.eye(4)[one] + rng.normal(size=(side, side, 4)) for one in y]
        make = lambda value: GridClassifier(regularization=value, **SHARED)  # noqa: E731
        half = n // 2
        compare(f"regions of {side} x {side}", make, (X[:half], y[:half]), (X[half:], y[half:]))


def region_labels(side: int, rng: np.random.Generator) -> np.ndarray:
    """One of four labels for each cell: that of the nearest of six random centres."""
    centres, labels = side * rng.random((6, 2)), rng.integers(4, size=6)
    cells = np.stack(np.mgrid[:side, :side], axis=-1)
    return labels[np.square(cells[:, :, None] - centres).sum(axis=-1).argmin(axis=-1)]


def snakes() -> None:
    make = lambda value: GraphClassifier(regularization=value, max_passes=12, **SHARED)  # noqa: E731
    compare("snakes", make, graphs.snakes("train"), graphs.snakes("test"))


def main() -> None:
    known = {one.__name__: one for one in (segmentations, regions, snakes)}
    for name in sys.argv[1:] or known:
        known[name]()


if __name__ == "__main__":
    recorded(main)
