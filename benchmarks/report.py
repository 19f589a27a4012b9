"""Tables of the pages from the results that benchmarks have saved.

python benchmarks/report.py [--check]

In `RESULTS.md` and in `docs/`, a table of `results/NAME.json` stands between these marks:

    <!-- result: NAME -->            all rows of a run, with where and when it was made
    <!-- result: NAME /PATTERN/ -->  rows whose name has the pattern
    <!-- result: journal/NAME 1 -->  the second table of an older record, copied by hand from the journal
    <!-- end of result -->

What stands between them is written anew; with `--check` nothing is written, and a difference is exit code 1.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PAGES = [HERE / "RESULTS.md", *sorted((HERE.parent / "docs").glob("*.md"))]
MARKED = re.compile(
    r"(<!-- result: (?P<name>[\w/.,+-]+)(?: (?P<table>\d+))?(?: /(?P<rows>[^/\n]+)/)? -->\n).*?"
    r"(?P<end><!-- end of result -->)",
    re.DOTALL,
)


def shown(value: Any) -> str:
    """A cell: numbers with four digits, nothing for what was not measured."""
    if value is None or value != value:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def table(columns: list[str], rows: list[list[Any]]) -> str:
    """Write a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *([shown(cell) for cell in row] for row in rows)]
    return "".join(f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in line)}|\n" for line in lines)


def of_run(found: dict[str, Any], pattern: str) -> str:
    """Write the rows that a run has noted, or the lines that it has printed; below, where and when."""
    rows, lines = found["figures"]["rows"], found["figures"]["lines"]
    kept = [row for row in rows if re.search(pattern, row["what"])]
    about = ", ".join(
        [
            f"`{found['command']}`, {found['date']}, commit {found['commit']}, {found['machine']}",
            f"load {' to '.join(map(str, found['load']))}",
            *(f"{name} {version}" for name, version in found["peers"].items()),
        ]
    )
    if not rows:
        return "```text\n" + "".join(f"{line}\n" for line in lines) + f"```\n\n{about}\n"
    columns = list(dict.fromkeys(name for row in kept for name in row))
    cells = [[row.get(name) for name in columns] for row in kept]
    names = [name.replace("_", " ") for name in columns]
    left = "" if kept == rows else f" {len(rows) - len(kept)} rows more are in the file."
    return f"{table(['' if name == 'what' else name for name in names], cells)}\n{about}.{left}\n"


def render(name: str, which: str | None, pattern: str | None) -> str:
    """Write what stands between two marks."""
    found = json.loads((RESULTS / f"{name}.json").read_text())
    if "tables" not in found:
        return of_run(found, pattern or "")
    one = found["tables"][int(which or 0)]
    return table(one["columns"], one["rows"])


def rendered(page: str) -> str:
    """Write a page with its tables made anew."""

    def anew(mark: re.Match[str]) -> str:
        return mark[1] + render(mark["name"], mark["table"], mark["rows"]) + mark["end"]

    return MARKED.sub(anew, page)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    asked = parser.parse_args()
    changed = [page for page in PAGES if rendered(page.read_text()) != page.read_text()]
    for page in changed:
        print(page.name)
        if not asked.check:
            page.write_text(rendered(page.read_text()))
    sys.exit(bool(asked.check and changed))


if __name__ == "__main__":
    main()
