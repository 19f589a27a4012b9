"""What the benchmarks share: the data folder, the machine's description, timing, and results that are kept.

`recorded(main)` runs a benchmark and writes `results/NAME.json`: where and when it was run, by which
command, the lines that it printed, and the rows that it passed to `note`. `report.py` makes tables of these
files. Data is looked for where STRUCTLEARN_DATA says, else in ../shared/data.
"""

from __future__ import annotations

import io
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from structlearn.data import read_letters, read_libsvm

DATA = Path(os.environ.get("STRUCTLEARN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
#: Where results are kept; elsewhere with STRUCTLEARN_RESULTS.
RESULTS = Path(os.environ.get("STRUCTLEARN_RESULTS", Path(__file__).resolve().parent / "results"))
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")
#: Set while a benchmark runs, so that the processes that it starts record nothing.
RUNNING = "STRUCTLEARN_BENCHMARK"
_rows: list[dict[str, Any]] = []


def machine() -> str:
    """Processor, cores and versions, for the head of a result."""
    import numba

    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}"
    return f"{processor()}, {os.cpu_count()} cores, {versions}"


def processor() -> str:
    """Name of the processor."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":")[1].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.processor() or platform.machine()


def note(**row: Any) -> None:
    """Keep one row of figures for the result of the benchmark that runs."""
    _rows.append(row)


def recorded(main: Callable[..., Any], *arguments: Any, peers: Iterable[str] = (), **options: Any) -> None:
    """Run a benchmark and save what it noted and printed, unless another benchmark has started it."""
    if RUNNING in os.environ:
        main(*arguments, **options)
        return
    os.environ[RUNNING] = "1"
    load, printed = os.getloadavg()[0], Tee(sys.stdout)
    with redirect_stdout(printed):
        main(*arguments, **options)
    figures = {"rows": _rows, "lines": printed.getvalue().splitlines()}
    save(run_name(sys.argv), figures, peers=peers, load=load)


class Tee(io.StringIO):
    """Text that is printed and kept."""

    def __init__(self, shown: Any) -> None:
        super().__init__()
        self.shown = shown

    def write(self, text: str) -> int:
        self.shown.write(text)
        return super().write(text)

    def flush(self) -> None:
        self.shown.flush()


def run_name(argv: list[str]) -> str:
    """Name of a run: the script and its arguments that are words, so that parts do not replace the whole."""
    words = [one.lstrip("-") for one in argv[1:] if re.fullmatch(r"[\w,.+-]+", one)]
    return "-".join([Path(argv[0]).stem, *words])


def save(name: str, figures: Any, *, peers: Iterable[str] = (), load: float | None = None) -> Path:
    """Write `results/NAME.json`: figures, and where, when and by which command they were measured."""
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    found = {
        "name": name,
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "load": [round(one, 1) for one in (load, os.getloadavg()[0]) if one is not None],
        "versions": {"python": platform.python_version(), **versions(LIBRARIES)},
        "command": " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *map(_shown, sys.argv[1:])]),
        "peers": versions(peers),
        "figures": figures,
    }
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False, default=float) + "\n")
    return path


def _shown(argument: str) -> str:
    """An argument as results show it: of a path, its name alone."""
    return Path(argument).name if "/" in argument else argument


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of the packages that are installed."""
    found = {}
    for one in packages:
        try:
            found[one] = metadata.version(one)
        except metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """Commit of this checkout, with a plus sign where its sources have been changed since."""
    here = Path(__file__).resolve().parents[1]
    try:
        name = _git(here, "rev-parse", "--short", "HEAD")
        return name + ("+" if _git(here, "status", "--porcelain", "--", "src", "benchmarks/*.py") else "")
    except (OSError, subprocess.CalledProcessError):
        return "not in a checkout"


def _git(here: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=here, check=True, capture_output=True, text=True
    ).stdout.strip()


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
