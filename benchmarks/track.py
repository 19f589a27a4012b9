"""The ratios that matter, of two commits: training times on the problems that are raced.

python benchmarks/track.py BEFORE [AFTER] [--problems digits-hinge ...] [--pairs 3] [--limit 1.1]
python benchmarks/track.py BEFORE [AFTER] --quick [--problems scene ...] [--limit 1.1]
python benchmarks/track.py BEFORE [AFTER] --kept [--limit 1.1]

BEFORE and AFTER are commits (AFTER: this checkout as it is). Each is checked out in a temporary
folder, both run in turn by `against.py`, and what takes more than `limit` times as long is named: exit 1.
`--quick` runs the benchmarks of `make bench QUICK=1`, or those named, in both and compares their times;
`--kept` runs nothing and compares the results that the two commits hold (`benchmarks/results`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
#: Columns of results that are times.
TIME = re.compile(r"(^|_)(seconds|ms|us)(_|$)")
RATIO = re.compile(r"^(?P<name>[\w-]+): median ratio (?P<ratio>\d+\.\d+)")


def checked_out(commit: str, folder: Path) -> Path:
    """A worktree of that commit."""
    subprocess.run(["git", "worktree", "add", "--detach", "-q", str(folder), commit], cwd=HERE, check=True)
    return folder


def ratios(lines: str) -> dict[str, float]:
    """What `against.py` printed: problems, and how many times as long as before each takes."""
    return {one["name"]: float(one["ratio"]) for one in map(RATIO.match, lines.splitlines()) if one}


Results = dict[str, list[dict[str, object]]]


def read_results(folder: Path) -> Results:
    """Rows of all results in a folder."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    return {name: one["figures"]["rows"] for name, one in found.items()}


def times_of(results: Results) -> dict[str, float]:
    """Times of results, by benchmark, row and column."""
    return {
        f"{name}: {row.get('what')}, {row['by'] + ', ' if 'by' in row else ''}{column}": value
        for name, rows in results.items()
        for row in rows
        for column, value in row.items()
        if TIME.search(column) and isinstance(value, float) and value > 0
    }


def result_ratios(before: Results, after: Results) -> dict[str, float]:
    """How many times as long as before each row takes that both have."""
    earlier, later = times_of(before), times_of(after)
    return {name: later[name] / earlier[name] for name in later if name in earlier}


def measured(place: Path, names: list[str], folder: Path) -> Results:
    """Results of the quick benchmarks of a checkout, run now."""
    environment = {**os.environ, "STRUCTLEARN_RESULTS": str(folder)}
    environment.setdefault("STRUCTLEARN_DATA", str(HERE.parent / "shared" / "data"))
    script = place / "benchmarks" / "run.py"
    subprocess.run([sys.executable, str(script), "--quick", *names], env=environment, check=True)
    return read_results(folder)


def by_results(places: list[Path], run: bool, names: list[str], folder: Path) -> dict[str, float]:
    """Ratios of what two checkouts hold, or of what they measure now."""
    if not run:
        return result_ratios(*(read_results(place / "benchmarks" / "results") for place in places))
    return result_ratios(*(measured(place, names, folder / f"results{k}") for k, place in enumerate(places)))


def by_race(places: list[Path], problems: list[str], pairs: str) -> dict[str, float]:
    """Ratios that `against.py` of the second checkout prints."""
    script = places[1] / "benchmarks" / "against.py"
    command = [sys.executable, str(script), str(places[0]), *problems, "--pairs", pairs]
    lines = subprocess.run(command, cwd=places[1], check=True, stdout=subprocess.PIPE, text=True).stdout
    print(lines, end="")
    return ratios(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before")
    parser.add_argument("after", nargs="?")
    parser.add_argument("--problems", nargs="+", default=[], help="all unless given")
    parser.add_argument("--pairs", default="3")
    parser.add_argument("--limit", type=float, default=1.1)
    parser.add_argument("--quick", action="store_true", help="run the quick benchmarks of both")
    parser.add_argument("--kept", action="store_true", help="compare the results that both hold")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made: list[Path] = []
        try:
            for name in filter(None, (asked.before, asked.after)):
                made.append(checked_out(name, Path(folder) / f"tree{len(made)}"))
            places = [made[0], made[1] if asked.after else HERE]
            if asked.quick or asked.kept:
                found = by_results(places, asked.quick, asked.problems, Path(folder))
                print("".join(f"{name}: {ratio:.2f}\n" for name, ratio in found.items()), end="")
            else:
                found = by_race(places, asked.problems, asked.pairs)
        finally:
            for place in made:
                subprocess.run(["git", "worktree", "remove", "--force", str(place)], cwd=HERE, check=False)
    if not found:
        sys.exit("Nothing was measured: put the data where STRUCTLEARN_DATA says, or name --problems.")
    slower = {name: ratio for name, ratio in found.items() if ratio > asked.limit}
    for name, ratio in slower.items():
        print(f"SLOWER: {name} takes {ratio:.2f} of the time before.")
    sys.exit(bool(slower))


if __name__ == "__main__":
    main()
