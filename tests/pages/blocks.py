"""Pages of the docs as programs: blocks of Python and of the shell, run from top to bottom in one folder."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

from structlearn.cli import app

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(?P<kind>\w+|\{code-block\} text)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
#: Commands that are not ours, that need a network or a cluster, or that take minutes.
ELSEWHERE = re.compile(
    r"^(make|pip|git|python3?|source|tail|conda|docker|export)\b|\bwarm\b|--cluster|data (fetch|path)"
    r"|compare (scaling|decisions|letters|alignment|scene|triplets)"
)


class Block(NamedTuple):
    """A block of a page: "python", "console", or a file that the page shows, with its name."""

    kind: str
    text: str


def blocks(page: Path) -> list[Block]:
    """All blocks that can be run, in the page's order."""
    return [Block(found["kind"], found["text"]) for found in FENCE.finditer(page.read_text())]


def commands(text: str) -> list[str]:
    """The commands of a block of the shell that can be run here, without comments."""
    joined = re.sub(r"\s*\\\n\s*", " ", text)
    lines = (line.split(" #")[0].strip() for line in joined.splitlines())
    return [line for line in lines if line and not ELSEWHERE.search(line)]


def shell(line: str, folder: Path) -> str:
    """`structlearn ...` in this process, several in a pipe, which `cat` may begin, and a file behind it.

    Returns what the last one printed, on stdout and stderr, unless that went into a file.
    """
    line, _, out = line.partition(" > ")
    given: bytes | None = None
    printed = ""
    for one in line.split(" | "):
        program, *arguments = shlex.split(one)
        if program == "cat":
            given = (folder / arguments[0]).read_bytes()
            continue
        assert program == "structlearn", f"{one}: not a command of ours"
        result = CliRunner().invoke(app, arguments, input=given)
        assert result.exit_code == 0, f"{one}: {result.output}"
        given, printed = result.stdout_bytes, result.output
    if out:
        (folder / out).write_bytes(given or b"")
    return "" if out else printed


def show_file(text: str, folder: Path) -> None:
    """A file that the page shows, written under the name in its caption."""
    caption, _, rest = text.partition("\n")
    (folder / caption.removeprefix(":caption: ")).write_text(rest.lstrip("\n"))


def run(page: Path, folder: Path) -> dict[str, object]:
    """All blocks of a page, in the current folder; what Python's leave behind."""
    names: dict[str, object] = {}
    for block in blocks(page):
        if block.kind == "python":
            exec(block.text, names)  # noqa: S102  (our own page)
        elif block.kind == "console":
            for line in commands(block.text):
                shell(line, folder)
        elif block.text.startswith(":caption: "):
            show_file(block.text, folder)
    return names
