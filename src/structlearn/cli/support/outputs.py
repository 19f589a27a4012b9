"""Where results go: paths are checked before any work, files are written aside and renamed."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structlearn.cli.support.flags import in_flags
from structlearn.core.progress import without_progress
from structlearn.core.wording import escape_unprintable
from structlearn.storage.atomic import check_writable

if TYPE_CHECKING:
    from structlearn.solvers.solution import Certificate


def check_output(path: Path, *, others: Iterable[Path] = ()) -> Path:
    """Return `path` if a file can be written there and it is not among `others`; else raise an error."""
    if str(path) == "-":
        raise ValueError("Cannot write to -: give the name of a file.")
    if any(_is_same(path, one) for one in others):
        raise ValueError(f"Cannot write {path}: the command uses this file already.")
    return check_writable(path)


def output_file(out: Path | None, others: Iterable[Path]) -> Path | None:
    """Return the checked path to write to; None and `-` stand for stdout."""
    return None if out is None or str(out) == "-" else check_output(out, others=others)


def _is_same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)  # `Path.resolve` raises for a loop of links


def write_output(lines: Iterable[str], out: Path | None) -> None:
    """Write lines to `out` (.gz or .zst by its name), or to stdout."""
    write_pieces((f"{line}\n" for line in lines), out)


def write_pieces(pieces: Iterable[str], out: Path | None) -> None:
    """Write pieces of text, as they are, to `out` (.gz or .zst by its name), or to stdout."""
    from structlearn.data import written_text

    if out is None:
        with without_progress() if sys.stdout.isatty() else nullcontext():
            sys.stdout.writelines(pieces)
        return
    with _name_file_in_error(out), written_text(out) as stream:
        stream.writelines(pieces)


@contextmanager
def _name_file_in_error(path: Path) -> Iterator[None]:
    """Name the file that was being written when a disk was full."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def print_values(values: Iterable[tuple[str, object]]) -> None:
    """Print `name: value` lines to stdout; names and values of files cannot act on a terminal."""
    for name, value in values:
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
        print(escape_unprintable(f"{name}: {text}"))


def print_figures(values: Iterable[tuple[str, object]], *, as_json: bool) -> None:
    """Print `name: value` lines, or one JSON object."""
    if as_json:
        print_json(dict(values))
    else:
        print_values(values)


def printed_certificate(certificate: Certificate) -> dict[str, object]:
    """Return a certificate as it is printed, its status in the words of the shell."""
    return {**certificate.as_dict(), "status": in_flags(certificate.status)}


def print_json(value: object) -> None:
    """Print JSON to stdout (see `in_json`)."""
    print(in_json(value, indent=2))


def in_json(value: object, indent: int | None = None) -> str:
    """Return JSON in ASCII, so that no text of files can act on a terminal; numbers not finite are null."""
    return json.dumps(_plain(value), indent=indent, allow_nan=False)


def _plain(value: Any) -> object:
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):  # of NumPy
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
