"""Markov random fields of the UAI competition: labellings and bounds of `structlearn solve` in five seconds.

`python benchmarks/uai.py [--seconds S] [NAME ...]`: scores beside those of the labellings that the source
stores, and bounds above the better of both; natural logarithms. Nothing is compiled within the seconds.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from common import DATA, note, recorded

from structlearn.cli.commands.solve import best_answer
from structlearn.data.uai import Factors, read_factors, read_labelling


def main() -> None:
    """Solve each file once for compilation, and once for the record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=5.0)
    asked = parser.parse_args()
    for path in sorted((DATA / "uai").glob("*.uai.gz")):
        name = path.name.removesuffix(".uai.gz")
        if not asked.names or name in asked.names:
            solve(name, read_factors(path), path.with_name(f"{name}.uai.MAP"), asked.seconds)


def solve(name: str, factors: Factors, stored: Path, seconds: float) -> None:
    best_answer(factors, time.perf_counter(), 0.5)  # compiles
    begin = time.process_time()
    found = best_answer(factors, time.perf_counter(), seconds)
    spent = time.process_time() - begin
    known = factors.score(read_labelling(stored)) if stored.exists() else float("nan")
    best = max(found.value, known) if stored.exists() else found.value
    above, ahead = (found.bound - best) / abs(best), (found.value - known) / abs(known)
    note(what=name, score=found.value, stored=known, ahead=ahead, bound_above=above, cpu_seconds=spent)
    print(
        f"{name}: {found.value:.4f}, stored {known:.4f} ({ahead:+.3%}); bound {above:.3%} above the better; "
        f"{spent:.1f} CPU s ({found.method})",
        flush=True,
    )


if __name__ == "__main__":
    recorded(main)
