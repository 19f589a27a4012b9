"""Where results go: paths are checked before any work, files are written aside and renamed."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from structlearn.core.wording import escaped
from structlearn.storage.atomic import check_writable


def check_output(path: Path, *, others: Iterable[Path] = ()) -> Path:
    """`path` if a file can be written there and is none of `others`; an error if not."""
    if any(_is_same(path, one) for one in others):
        raise ValueError(f"Cannot write {path}: the command uses this file already.")
    return check_writable(path)


def _is_same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def write_output(lines: Iterable[str], out: Path | None) -> None:
    """Write lines to `out` (.gz by its name), or to stdout."""
    write_pieces((f"{line}\n" for line in lines), out)


def write_pieces(pieces: Iterable[str], out: Path | None) -> None:
    """Write pieces of text, as they are, to `out` (.gz by its name), or to stdout."""
    from structlearn.data import written_text

    if out is None:
        sys.stdout.writelines(pieces)
        return
    with _named(out), written_text(out) as stream:
        stream.writelines(pieces)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """A full disk does not say which file was being written."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def print_values(values: Iterable[tuple[str, object]]) -> None:
    """Print `name: value` lines to stdout; names and values of files cannot act on a terminal."""
    for name, value in values:
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
        print(escaped(f"{name}: {text}"))


def print_json(value: object) -> None:
    """Print JSON to stdout, in ASCII, so that no text of files can act on a terminal; NaN is null."""
    print(json.dumps(_without_nan(value), indent=2, allow_nan=False))


def _without_nan(value: object) -> object:
    if isinstance(value, dict):
        return {str(name): _without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
