"""Outputs that a page shows: a block of text below a block of Python or of the shell, which printed it.

`python tests/pages/shown.py README.md ...` runs pages and writes what they print in place of what they show.
A line `...` stands for any lines, and `...` at the end of a line for its rest.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from blocks import FENCE, commands, shell

#: What is said of compilation depends on what ran before.
_COMPILING = "structlearn: compiling"
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*\.?\d*(?:e-?\d+)?")
#: Numbers may differ by so much of their size, or by so much.
_RELATIVE, _ABSOLUTE = 0.05, 0.02
#: Names of figures that depend on the machine.
_TIMES = ("seconds", "rounding")


class Shown(NamedTuple):
    """A block of text that stands below a block that runs: where its lines are, and what they are."""

    start: int
    end: int
    expected: str
    printed: str


def shown_outputs(page: Path) -> Iterator[Shown]:
    """Run a page in the current folder; yield each output that it shows, and what was printed."""
    text, names, printed, behind = page.read_text(), {}, "", 0
    for block in FENCE.finditer(text):
        if block["kind"] == "text" and not text[behind : block.start()].strip():
            start = block.start("text")
            yield Shown(start, block.end("text"), block["text"], printed)
        elif block["kind"] in ("python", "console"):
            printed = _printed(block["kind"], block["text"], names)
        behind = block.end()


def _printed(kind: str, text: str, names: dict[str, object]) -> str:
    if kind == "console":
        outputs = "".join(shell(line, Path.cwd()) for line in commands(text))
    else:
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            exec(text, names)  # noqa: S102  (our own page)
        outputs = stream.getvalue()
    lines = outputs.splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines if not line.startswith(_COMPILING))


def agrees(expected: str, printed: str) -> bool:
    """Whether what was printed is what is shown: all words, and numbers as far as machines agree."""
    return _agree(expected.splitlines(), printed.splitlines())


def _agree(expected: list[str], printed: list[str]) -> bool:
    if not expected:
        return not printed
    first, *rest = expected
    if first.strip() == "...":
        return any(_agree(rest, printed[k:]) for k in range(len(printed) + 1))
    return bool(printed) and _line_agrees(first, printed[0]) and _agree(rest, printed[1:])


def _line_agrees(expected: str, printed: str) -> bool:
    if expected.endswith(" ..."):  # as many words as there are before it
        expected = expected.removesuffix(" ...")
        printed = " ".join(printed.split()[: len(expected.split())])
    one, other = (_NUMBER.sub("#", " ".join(line.split())) for line in (expected, printed))
    if one != other:
        return False
    if expected.startswith(_TIMES):
        return True
    pairs = zip(_NUMBER.findall(expected), _NUMBER.findall(printed), strict=True)
    return all(_near(float(a.replace(",", "")), float(b.replace(",", ""))) for a, b in pairs)


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= max(_ABSOLUTE, _RELATIVE * max(abs(one), abs(other)))


def shortened(shown: Shown) -> str:
    """What a page is to show: what was printed, but for what `...` leaves out; all, where that is unclear."""
    if shown.expected.strip() == "..." or not agrees(shown.expected, shown.printed):
        return shown.printed
    return shown.expected


def write_outputs(page: Path) -> None:
    """Put what a page's blocks print below them."""
    text = page.read_text()
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            found = list(shown_outputs(page))
        finally:
            os.chdir(before)
    for one in reversed(found):
        text = text[: one.start] + shortened(one) + text[one.end :]
    page.write_text(text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write_outputs(Path(name).resolve())
