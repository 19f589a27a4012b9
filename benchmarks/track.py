"""The ratios that matter, of two commits: training times on the problems that are raced.

python benchmarks/track.py BEFORE [AFTER] [--problems digits-hinge ...] [--pairs 3] [--limit 1.1]

BEFORE and AFTER are commits (AFTER: this checkout as it is). Each is checked out in a temporary
folder, both run in turn by `against.py`, and what takes more than `limit` times as long is named: exit 1.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
RATIO = re.compile(r"^(?P<name>[\w-]+): median ratio (?P<ratio>\d+\.\d+)")


def checked_out(commit: str, folder: Path) -> Path:
    """A worktree of that commit."""
    subprocess.run(["git", "worktree", "add", "--detach", "-q", str(folder), commit], cwd=HERE, check=True)
    return folder


def ratios(lines: str) -> dict[str, float]:
    """What `against.py` printed: problems, and how many times as long as before each takes."""
    return {one["name"]: float(one["ratio"]) for one in map(RATIO.match, lines.splitlines()) if one}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before")
    parser.add_argument("after", nargs="?")
    parser.add_argument("--problems", nargs="+", default=[], help="those of against.py; all unless given")
    parser.add_argument("--pairs", default="3")
    parser.add_argument("--limit", type=float, default=1.1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        places = []
        try:
            for name in filter(None, (asked.before, asked.after)):
                places.append(checked_out(name, Path(folder) / f"tree{len(places)}"))
            new = places[1] if asked.after else HERE
            command = [
                sys.executable,
                str(new / "benchmarks" / "against.py"),
                str(places[0]),
                *asked.problems,
                "--pairs",
                asked.pairs,
            ]
            lines = subprocess.run(command, cwd=new, check=True, stdout=subprocess.PIPE, text=True).stdout
        finally:
            for place in places:
                subprocess.run(["git", "worktree", "remove", "--force", str(place)], cwd=HERE, check=False)
    print(lines, end="")
    found = ratios(lines)
    if not found:
        sys.exit("Nothing was measured: put the data where STRUCTLEARN_DATA says, or name --problems.")
    slower = {name: ratio for name, ratio in found.items() if ratio > asked.limit}
    for name, ratio in slower.items():
        print(f"SLOWER: {name} takes {ratio:.2f} of the time before.")
    sys.exit(bool(slower))


if __name__ == "__main__":
    main()
