"""`-` as a file: what comes from stdin is kept in a file, since readers look at data more than once."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from itertools import chain, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from structlearn.cli.support.options import option, registry_names

STDIN = "-"

Format = Annotated[
    str | None,
    option(
        "F",
        "Of stdin, what a name would tell: {formats}.  [default: as it looks]",
        values=registry_names("structlearn.data.file_formats:FILE_FORMATS"),
    ),
]

#: The file that holds stdin, while a command runs, and its folder.
_kept: dict[Path, TemporaryDirectory[str]] = {}


def input_file(data: Path, format: str | None = None) -> Path:
    """Return the file of an argument.

    Of `-`, one that holds what stdin has to say, until the command ends.
    """
    from structlearn.data.file_formats import FILE_FORMATS

    if str(data) != STDIN:
        if format is not None:
            raise ValueError(f"--format goes with - (stdin); the name of {data} tells its format.")
        return data
    ending = "" if format is None else f".{FILE_FORMATS.entry(format).name}"
    folder = TemporaryDirectory()
    path = _copy_stdin(Path(folder.name) / f"stdin{ending}")
    _kept[path] = folder
    return path


def _copy_stdin(path: Path) -> Path:
    from structlearn.data.compression import MAGIC
    from structlearn.data.text import standard_input
    from structlearn.storage.atomic import naming

    if sys.stdin.isatty():
        typer.echo("Reading from the terminal; end with Ctrl-D.", err=True)
    with naming(path), open(path, "wb") as file:
        shutil.copyfileobj(standard_input(), file)
    with open(path, "rb") as file:
        begin = file.read(4)
    ending = next((ending for ending, magic in MAGIC.items() if begin.startswith(magic)), "")
    return path.rename(f"{path}{ending}") if ending else path


def forget_stdin() -> None:
    """Remove what was kept, at the end of a command."""
    while _kept:
        _kept.popitem()[1].cleanup()


def by_its_name(sentence: str) -> str:
    """Return a sentence in which stdin is called so."""
    for path in _kept:
        sentence = sentence.replace(str(path), "stdin")
    return sentence


def check_one_stdin(words: Sequence[str]) -> None:
    """ValueError if a command is to read two files from stdin (`--out -` writes to stdout)."""
    if sum(word == STDIN and before != "--out" for before, word in pairwise(chain([""], words))) > 1:
        raise ValueError("Only one file can be read from stdin (-); give the others by their names.")
