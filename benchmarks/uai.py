"""Markov random fields of the UAI competition: labellings and bounds of `structlearn solve` in five seconds.

`python benchmarks/uai.py [--seconds S] [--toulbar2 PYTHON] [NAME ...]`: scores beside those of the labellings
that the source stores, and of toulbar2 in as many seconds where PYTHON has pytoulbar2; bounds above the best
of them; natural logarithms. Nothing is compiled within the seconds.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from common import DATA, note, recorded

from structlearn.cli.commands.solve import best_answer
from structlearn.data.uai import Factors, read_factors, read_labelling

PEER = Path(__file__).with_name("toulbar2_peer.py")
NONE = float("nan")


def main() -> None:
    """Solve each file once for compilation, and once for the record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--toulbar2", default="")
    asked = parser.parse_args()
    for path in sorted((DATA / "uai").glob("*.uai.gz")):
        name = path.name.removesuffix(".uai.gz")
        if not asked.names or name in asked.names:
            solve(name, path, asked.seconds, asked.toulbar2)


def solve(name: str, path: Path, seconds: float, python: str) -> None:
    factors, stored = read_factors(path), path.with_name(f"{name}.uai.MAP")
    best_answer(factors, time.perf_counter(), 0.5)  # compiles
    begin = time.process_time()
    found = best_answer(factors, time.perf_counter(), seconds)
    spent = time.process_time() - begin
    known = factors.score(read_labelling(stored)) if stored.exists() else NONE
    peer = toulbar2(path, factors, seconds, python) if python else NONE
    best = np.nanmax([found.value, known, peer])
    above = (found.bound - best) / abs(best)
    ahead, before = ((found.value - other) / abs(other) for other in (known, peer))
    note(
        what=name,
        score=found.value,
        stored=known,
        toulbar2=peer,
        ahead=ahead,
        ahead_of_toulbar2=before,
        bound_above=above,
        cpu_seconds=spent,
    )
    print(
        f"{name}: {found.value:.4f}, stored {known:.4f} ({ahead:+.3%}), toulbar2 {peer:.4f} ({before:+.3%}); "
        f"bound {above:.3%} above the best; {spent:.1f} CPU s ({found.method})",
        flush=True,
    )


def toulbar2(path: Path, factors: Factors, seconds: float, python: str) -> float:
    """Return the score of its labelling; not a number where it finds none."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.MAP"
        command = [python, str(PEER), str(path), str(round(seconds)), str(out)]
        subprocess.run(command, capture_output=True, check=False, timeout=10 * seconds + 60)
        return factors.score(read_labelling(out)) if out.exists() else NONE


if __name__ == "__main__":
    recorded(main)
