"""Lines of text in and out: plain or compressed files, always UTF-8."""

from __future__ import annotations

import codecs
import os
import re
import stat
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from typing import IO, BinaryIO, TextIO

from structlearn.data.archives import Unpacked
from structlearn.data.compression import DAMAGED, ending_of, open_writer
from structlearn.data.watched import WatchedFile
from structlearn.storage.atomic import atomic_write
from structlearn.storage.errors import DataError, StrPath

#: What is said of bytes that are no text, with what to do about it.
NOT_UTF8 = "is not UTF-8 text: save the file as UTF-8, or convert it (iconv -f CP1252 -t UTF-8, say)."

#: The same of text that Windows programs call Unicode, and of spreadsheets and other files of bytes.
_UTF16 = "is UTF-16 text: save the file as UTF-8, or convert it (iconv -f UTF-16 -t UTF-8)."
_DEVICE = "{} is a device, not a file; give a file or a pipe."
BINARY = "is not text: save it as text in UTF-8 (a spreadsheet as CSV)."

#: Bytes that no text in any usual encoding has, and those that files of pictures begin with.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SIGNATURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8")

#: Bytes of a line, at most: no line of data comes near, and all of it is in memory.
LONGEST_LINE = 1 << 24

#: Characters of lines that are likely to be blank: an end, and little more.
_SHORT = 2

#: Numbered lines; `close` them where an error may come between two of them.
Lines = Generator[tuple[int, str], None, None]


def open_text(path: StrPath, *, whole: bool = False) -> Lines:
    """Stream the numbered lines of a UTF-8 text file, plain or (by its name) .gz or .zst.

    Parameters
    ----------
    path : str or path
        A byte order mark at the start and Windows line ends are accepted.
    whole : bool
        Whether lines come as they are, with their ends and a byte order mark.

    Returns
    -------
    iterator of (number, line)
        Numbers count from 1; lines come without their ends, unless `whole`.

    Raises
    ------
    DataError
        At once if there is no such file; while reading if a line is not UTF-8 or the archive is damaged.
    """
    return _closed_at_the_end(os.fspath(path), open_bytes(path), whole)


def open_bytes(path: StrPath) -> BufferedReader:
    """Return the bytes of a file, plain or (by its name) .gz or .zst; DataError if there is none."""
    check_there(path)
    name = os.fspath(path)
    ending = ending_of(name)
    try:
        stream: BufferedReader = (
            Unpacked.open(name, ending) if ending else BufferedReader(WatchedFile(name), 1 << 16)
        )
    except OSError as error:
        raise DataError(f"File {name} cannot be read: {error.strerror}.") from error
    if _is_device(stream):
        stream.close()
        raise DataError(_DEVICE.format(name))
    return stream


def _closed_at_the_end(name: str, stream: IO[bytes], whole: bool) -> Lines:
    with stream:
        yield from numbered_lines(name, stream, whole=whole)


def check_there(path: StrPath) -> None:
    """DataError if there is no such file."""
    name = os.fspath(path)
    if not os.path.exists(name):
        what = "is a link that leads to no file" if os.path.islink(name) else "does not exist"
        raise DataError(f"File {name} {what}.")
    if os.path.isdir(name):
        raise DataError(f"{name} is a directory, not a file.")


def standard_input() -> BinaryIO:
    """Return the bytes of the standard input; DataError if it is a device."""
    if _is_device(sys.stdin.buffer):
        raise DataError(_DEVICE.format("stdin"))
    return sys.stdin.buffer


def _is_device(stream: IO[bytes]) -> bool:
    """Whether a stream may never end, as that of /dev/zero; a terminal's does, by Ctrl-D."""
    try:
        found = os.fstat(stream.fileno())
    except OSError:  # no file of the system
        return False
    is_null = found.st_rdev == os.stat(os.devnull).st_rdev
    return stat.S_ISCHR(found.st_mode) and not is_null and not stream.isatty()


def write_lines(target: StrPath | TextIO, lines: Iterable[str]) -> None:
    """Write lines, each ended by a newline, to a file (.gz or .zst by its name) or to an open text stream."""
    ended = (f"{line}\n" for line in lines)
    if not isinstance(target, str | os.PathLike):
        target.writelines(ended)
        return
    name = os.fspath(target)
    try:
        stream = _open_for_writing(name, name)
    except OSError as error:
        raise DataError(f"File {name} cannot be written: {error.strerror}.") from error
    with stream:
        stream.writelines(ended)


@contextmanager
def written_text(path: StrPath) -> Iterator[TextIO]:
    """Open a stream of text to `path` (packed by its name), which becomes the file only if all goes well."""
    name = os.fspath(path)
    with atomic_write(name) as aside, _open_for_writing(aside, name) as stream:
        yield stream


def _open_for_writing(path: StrPath, name: str) -> TextIO:
    """Return a stream of text to a file, packed if that is to have the name of an archive."""
    ending = ending_of(name)
    if ending:
        return open_writer(path, ending)
    return open(path, "w", encoding="utf-8", newline="\n")


def numbered_lines(name: str, stream: IO[bytes], *, whole: bool = False) -> Lines:
    """Yield the lines of an open stream as `open_text` gives those of a file; `name` is for its errors."""
    number = 0
    try:
        for number, raw in enumerate(iter(partial(stream.readline, LONGEST_LINE + 1), b""), 1):
            if len(raw) > LONGEST_LINE:
                raise _too_long(name, number, raw)
            # Line by line, so that an error knows its line.
            line = raw.decode("utf-8-sig" if number == 1 and not whole else "utf-8")
            yield number, line if whole else line.removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise _no_text(name, number, raw, error.start) from error
    except DAMAGED as error:
        raise DataError.at(name, number + 1, f"the file cannot be read further ({error}).") from error


def _too_long(name: str, number: int, raw: bytes) -> DataError:
    if b"\0" in raw:
        return DataError(f"{name} {BINARY}")
    return DataError.at(
        name, number, f"the line is longer than {LONGEST_LINE >> 20} MB; is the file text, with line ends?"
    )


def _no_text(name: str, number: int, raw: bytes, wrong: int) -> DataError:
    """Return the error of a line that is not UTF-8, from a byte on."""
    if number == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return DataError(f"{name} {_UTF16}")
    if _CONTROL.search(raw) or raw.startswith(_SIGNATURES):
        return DataError(f"{name} {BINARY}")
    return DataError.at(name, number, f"byte {wrong + 1} {NOT_UTF8}")


def content(line: str, number: int) -> str:
    """Return a whole line without its end and, if it is the first, without a byte order mark."""
    line = line.removesuffix("\n").removesuffix("\r")
    return line.removeprefix("\ufeff") if number == 1 else line


def kept_line(line: str) -> str:
    """Return a whole line, for a list of them.

    Blank ones, of which there may be very many, are one object.
    """
    return line if len(line) > _SHORT else sys.intern(line)


def is_blank(line: str) -> bool:
    """Whether a line is a border of sentences."""
    return not line.strip(" \t")
