"""Compressed files, known by the endings of their names: .gz and .zst.

Zstandard is the standard library's from Python 3.14 on, and before that the package zstandard's.
"""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from typing import Any, BinaryIO, Protocol, TextIO

from structlearn.storage.errors import DataError, StrPath

#: The endings, and what the bytes of such files begin with.
MAGIC = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}
#: What reading a damaged file raises.
DAMAGED = (OSError, EOFError, zlib.error)
_READ_AT_ONCE = 1 << 17


class Reader(Protocol):
    """A stream of unpacked bytes."""

    def read1(self, size: int, /) -> bytes: ...


def ending_of(name: StrPath) -> str:
    """Return ".gz" or ".zst" if the name of a file ends so, otherwise an empty text."""
    low = os.fspath(name).lower()
    return next((ending for ending in MAGIC if low.endswith(ending)), "")


def inner_name(name: StrPath) -> str:
    """Return the name without the ending of a compressed file."""
    whole = os.fspath(name)
    return whole[: len(whole) - len(ending_of(whole))]


def open_reader(ending: str, file: BinaryIO) -> Reader:
    """Return the unpacked bytes of a file that is open."""
    return gzip.GzipFile(fileobj=file) if ending == ".gz" else _ZstdReader(file)


def open_writer(path: StrPath, ending: str) -> TextIO:
    """Return a stream of text that is packed into a file."""
    if ending == ".gz":
        return gzip.open(path, "wt", encoding="utf-8", newline="\n")
    module = _zstd()
    options: dict[str, Any] = (
        {"options": {module.CompressionParameter.checksum_flag: 1}}
        if sys.version_info >= (3, 14)
        else {"cctx": module.ZstdCompressor(write_checksum=True)}
    )
    stream: TextIO = module.open(path, "wt", encoding="utf-8", newline="\n", **options)
    return stream


def _zstd() -> Any:
    """Return the module of Zstandard; DataError where there is none."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd as module
        else:
            import zstandard as module
    except ImportError:
        raise DataError(
            "Files that end in .zst need the package zstandard: install structlearn[align], or unpack them "
            "first."
        ) from None
    return module


class _ZstdReader:
    """The unpacked frames of a .zst file, one after the other; EOFError if the last one is not whole."""

    def __init__(self, file: BinaryIO) -> None:
        module = _zstd()
        self._make = module.ZstdDecompressor
        if sys.version_info < (3, 14):
            self._make = lambda: module.ZstdDecompressor().decompressobj()
        self._error = module.ZstdError
        self._file = file
        self._frame: Any = None
        self._ready, self._rest = b"", b""

    def read1(self, size: int, /) -> bytes:
        while not self._ready:
            piece = self._rest or self._file.read(_READ_AT_ONCE)
            self._rest = b""
            if not piece:
                if self._frame is not None:
                    raise EOFError("the file ends inside a Zstandard frame")
                return b""
            self._unpack(piece)
        found, self._ready = self._ready[:size], self._ready[size:]
        return found

    def _unpack(self, piece: bytes) -> None:
        if self._frame is None:
            self._frame = self._make()
        try:
            self._ready = self._frame.decompress(piece)
        except self._error as error:
            raise OSError(f"it is not a Zstandard file, or damaged: {error}") from None
        if self._frame.eof:
            self._rest = self._frame.unused_data
            self._frame = None
