"""The tools whose model files are read and written, by name."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

from structlearn.core.registry import Registry
from structlearn.data.text import open_bytes
from structlearn.storage.atomic import atomic_write
from structlearn.storage.errors import DataError, StrPath
from structlearn.tagging.exchange import crfsuite, crfsuite_file, wapiti, wapiti_file
from structlearn.tagging.tagger import Tagger

#: Bytes of a model file that are read at most.
MOST_BYTES = 1 << 32
#: What is read at a time: to read at most so many bytes takes that much memory, however small a file is.
_PIECE = 1 << 20
#: Not a tool's model: why it holds no tagger.
_NO_TAGGER = {
    "onnx": "A tagger makes features of words, and an ONNX graph takes numbers; export it to crfsuite or "
    "wapiti, or use structlearn.runtime, which tags with NumPy alone."
}


class ModelFormat(NamedTuple):
    """A tool, what its files begin with, and what reads and writes them."""

    name: str
    what: str
    magic: bytes
    read: Callable[..., Tagger]
    write: Callable[[Tagger], bytes]


FORMATS: Registry[ModelFormat] = Registry(
    "format",
    [
        ModelFormat(
            "crfsuite",
            "CRFsuite's binary models, of attributes by name",
            crfsuite_file.MAGIC,
            crfsuite.read_tagger,
            crfsuite.write_tagger,
        ),
        ModelFormat(
            "wapiti",
            "Wapiti's text models, of patterns",
            wapiti_file.MAGIC,
            wapiti.read_tagger,
            wapiti.write_tagger,
        ),
    ],
)


def format_named(name: str) -> ModelFormat:
    """Return a format by its name; ValueError for one that has no place for a tagger."""
    if name in _NO_TAGGER:
        raise ValueError(_NO_TAGGER[name])
    return FORMATS.entry(name)


def import_tagger(path: StrPath, name: str | None = None, n_columns: int | None = None) -> Tagger:
    """Return the tagger of another tool's model file; by default, its first bytes say which tool's it is.

    n_columns : how many columns its data has beside the label, of a tool that has patterns
    """
    try:
        with open_bytes(path) as file:
            data = bytearray()
            while len(data) <= MOST_BYTES and (piece := file.read(_PIECE)):
                data += piece
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read ({error}).") from None
    if len(data) > MOST_BYTES:
        raise DataError(f"{path} has more than {MOST_BYTES} bytes; no model of another tool is so large.")
    found = _guessed(path, data) if name is None else format_named(name)
    options: dict[str, Any] = {} if n_columns is None else {"n_columns": n_columns}
    if options and found.name != "wapiti":
        raise ValueError("The number of columns goes with models of patterns, those of Wapiti.")
    try:
        return found.read(bytes(data), **options)
    except ValueError as error:
        raise DataError(f"{path} cannot be read as a model of {found.name}: {error}.") from None


def export_tagger(tagger: Tagger, path: StrPath, name: str) -> None:
    """Write a tagger as another tool's model file; ValueError if it has what that has no place for."""
    data = format_named(name).write(tagger)
    with atomic_write(os.fspath(path)) as aside:
        aside.write_bytes(data)


def _guessed(path: StrPath, data: bytes | bytearray) -> ModelFormat:
    for one in FORMATS.values():
        if data.startswith(one.magic):
            return one
    raise DataError(f"{path} is no model file of {' or '.join(FORMATS)}; their first bytes are others.")
