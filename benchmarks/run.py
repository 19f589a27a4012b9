"""Run the benchmarks of this folder, one after another; each writes its result to `results/`.

python benchmarks/run.py [--quick] [NAME ...]

A benchmark is a file of this folder that calls `recorded`. Two constants of it, literals that are read and
not run, say how: BENCH are the lists of arguments to run it with ([[]] unless given, [] for one that needs
files which nobody else has), QUICK those of `--quick`, about ten minutes in all (none unless given).
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CALLS = re.compile(r"^    recorded\(", re.MULTILINE)


def constants(source: str) -> dict[str, list[list[str]]]:
    """BENCH and QUICK of a benchmark."""
    found: dict[str, list[list[str]]] = {"BENCH": [[]], "QUICK": []}
    for node in ast.parse(source).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="BENCH" | "QUICK" as name)], value=value):
                found[name] = ast.literal_eval(value)
    return found


def benchmarks() -> list[Path]:
    """Files of this folder that are benchmarks."""
    return [path for path in sorted(HERE.glob("*.py")) if CALLS.search(path.read_text())]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="all unless given")
    parser.add_argument("--quick", action="store_true", help="a part that takes about ten minutes")
    asked = parser.parse_args()
    failed = []
    for path in benchmarks():
        if asked.names and path.stem not in asked.names:
            continue
        for arguments in constants(path.read_text())["QUICK" if asked.quick else "BENCH"]:
            print("#", path.name, *arguments, flush=True)
            paths = os.pathsep.join([str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")])
            environment = {**os.environ, "PYTHONPATH": paths.rstrip(os.pathsep)}
            done = subprocess.run([sys.executable, str(path), *arguments], env=environment, check=False)
            if done.returncode:
                failed.append(" ".join([path.name, *arguments]))
    if failed:
        sys.exit(f"These failed: {'; '.join(failed)}")


if __name__ == "__main__":
    main()
