"""What the benchmarks share: the data folder, the machine's description, timing."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from structlearn.data import read_letters, read_libsvm

DATA = Path(os.environ.get("STRUCTLEARN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def machine() -> str:
    """Processor, cores and versions, for the head of a result."""
    import numba

    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line
        ]
        model = names[0] if names else model
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}"
    return f"{model}, {os.cpu_count()} cores, {versions}"


def best_of(
    function: Callable[[], Any], repeats: int = 9, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Least seconds of several warm runs, by the clock or of the processor."""
    function()
    times = []
    for _ in range(repeats):
        begin = clock()
        function()
        times.append(clock() - begin)
    return min(times)


def letters() -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Words of the OCR letters: pixels, labels 0 to 25 and folds."""
    X, y, folds = read_letters(DATA / "letters" / "letter.data.gz")
    return X, [word.astype("S1").view(np.uint8).astype(np.int64) - ord("a") for word in y], folds


def scene(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and 0/1 labels of the scene data's "train" or "test" set."""
    X, sets = read_libsvm(DATA / "scene" / f"scene_{name}.gz", multilabel=True, n_features=294)
    Y = np.zeros((len(sets), 6), dtype=int)
    for row, labels in zip(Y, sets, strict=True):
        row[[int(label) for label in labels]] = 1
    return X.toarray(), Y
