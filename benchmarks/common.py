"""What the benchmarks share: the data folder, the machine's description, timing."""

from __future__ import annotations

import gzip
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

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


def best_of(function: Callable[[], Any], repeats: int = 9) -> float:
    """Least seconds of several warm runs."""
    function()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def letters() -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Words of the OCR letters: pixels, labels and folds."""
    X, y, folds = [], [], []
    rows: list[list[str]] = []
    with gzip.open(DATA / "letters" / "letter.data.gz", "rt") as file:
        for line in file:
            fields = line.split("\t")
            rows.append(fields)
            if fields[2] == "-1":
                X.append(np.array([row[6:134] for row in rows], dtype=np.float64))
                y.append(np.array([ord(row[1]) - ord("a") for row in rows]))
                folds.append(int(rows[0][5]))
                rows = []
    return X, y, np.array(folds)
