"""Archives that come from anywhere: what they say they hold is checked before memory is taken for it."""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, BinaryIO

import numpy as np

from structlearn.data.compression import DAMAGED, open_reader
from structlearn.data.scalars import LARGEST_FEATURE
from structlearn.data.watched import WatchedFile
from structlearn.storage.errors import DataError, StrPath

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: This many bytes from less than one in `_MOST` bytes of archive cannot be data: text shrinks to a tenth.
_WINDOW = 1 << 20
_MOST = 250
#: Nor is what is longer than this if it comes from fewer than one in `_USUAL` bytes.
_LONG = 1 << 24
_USUAL = 100
_READ_AT_ONCE = 1 << 11
_PIECE = 1 << 24
_TOO_MUCH = "it unpacks to more than {} times its size; if that is right, unpack it first"


class Unpacked(io.RawIOBase):
    """The bytes of a compressed file as a stream; OSError where it holds next to nothing many times over.

    A window of it is looked at before any of its bytes is given, so that nobody works on what is refused.
    """

    def __init__(self, file: BinaryIO, ending: str) -> None:
        self._file = _Sips(file)
        self._stream = open_reader(ending, self._file)  # type: ignore[arg-type]
        self._window = memoryview(b"")
        self._found = 0
        self._error: Exception | None = None

    @classmethod
    def open(cls, name: str, ending: str) -> io.BufferedReader:
        """Return the file, opened for reading, with a buffer."""
        return io.BufferedReader(cls(io.BufferedReader(WatchedFile(name)), ending), 1 << 16)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        if not self._window:
            self._window = memoryview(self._next_window())
        with memoryview(buffer).cast("B") as given:
            n = min(len(given), len(self._window))
            given[:n] = self._window[:n]
        self._window = self._window[n:]
        return n

    def _next_window(self) -> bytes:
        """Return what comes next; where the archive is damaged, first all that is before."""
        if self._error is not None:
            raise self._error
        pieces, size, before = [], 0, self._file.taken
        try:
            while size < _WINDOW and (piece := self._stream.read1(_WINDOW - size)):
                pieces.append(piece)
                size += len(piece)
        except DAMAGED as error:
            self._error = error
        self._found += size
        if size == _WINDOW:
            self._check(self._file.taken - before)
        if not size and self._error is not None:
            raise self._error
        return b"".join(pieces)

    def _check(self, taken: int) -> None:
        """Raise OSError if too few bytes of the archive fill a window, or all that was unpacked."""
        if taken < _WINDOW // _MOST:
            raise OSError(_TOO_MUCH.format(_MOST))
        if self._found > max(_LONG, _USUAL * self._file.taken):
            raise OSError(_TOO_MUCH.format(_USUAL))

    def close(self) -> None:
        self._file.close()
        super().close()


class _Sips:
    """A file that is read by little and little, and how much of it was."""

    def __init__(self, file: BinaryIO) -> None:
        self.taken = 0
        self._file = file

    def read(self, size: int) -> bytes:
        piece = self._file.read(min(size, _READ_AT_ONCE))
        self.taken += len(piece)
        return piece

    def close(self) -> None:
        self._file.close()


def read_arrays(path: StrPath, names: Iterable[str], *, texts: Collection[str] = ()) -> dict[str, np.ndarray]:
    """Read those of the named arrays that an .npz file of NumPy has; those in `texts` may hold text.

    Raises
    ------
    DataError
        No such file, an archive or an array in it that is damaged, arrays of anything but numbers, an array
        that is larger than the size of the file makes credible.
    """
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise DataError(f"File {name} does not exist.")
    with reading(name, ".npz file"), zipfile.ZipFile(name) as archive:
        there = {member.filename: member for member in archive.infolist()}
        found = {one: there[f"{one}.npy"] for one in names if f"{one}.npy" in there}
        kinds = {one: "biufU" if one in texts else "biuf" for one in found}
        return {
            one: _array(archive, member, os.path.getsize(name), kinds[one]) for one, member in found.items()
        }


def read_npy(path: StrPath) -> np.ndarray:
    """Read the array of numbers of an .npy file of NumPy; DataError as `read_arrays`."""
    name = os.fspath(path)
    with reading(name, ".npy file"), open(name, "rb") as file:
        return _read(file, os.path.getsize(name), "it")


def unusable_at(features: np.ndarray) -> tuple[int, ...] | None:
    """Return the place where features first hold NaN, infinity or more than `LARGEST_FEATURE`, or None."""
    if not features.size or max(-float(features.min()), float(features.max())) <= LARGEST_FEATURE:
        return None
    return tuple(np.argwhere(~(np.abs(features.astype(np.float64)) <= LARGEST_FEATURE))[0].tolist())


@contextmanager
def reading(name: StrPath, what: str) -> Iterator[None]:
    """Raise DataError for whatever zipfile, zlib, NumPy's header or Pillow make of a damaged file."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise DataError(f"{os.fspath(name)} is no {what}, or it is damaged: {reason}.") from error


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, size: int, kinds: str) -> np.ndarray:
    """Read one array; ValueError if it is not what its header says. `size` is that of the archive."""
    if member.file_size > max(_WINDOW, _MOST * min(member.compress_size, size)):
        raise ValueError(f"of {member.filename}, {_TOO_MUCH.format(_MOST)}")
    with archive.open(member) as stream:
        return _read(stream, member.file_size, member.filename, kinds)


def _read(stream: IO[bytes], size: int, name: str, kinds: str = "biuf") -> np.ndarray:
    """Return the array of a stream of this many bytes; ValueError if it is not what its header says."""
    shape, by_columns, kind = _header(stream)
    if kind.kind not in kinds:
        raise ValueError(f"{name} holds no numbers")
    n_bytes = math.prod(shape) * kind.itemsize
    if min(shape, default=0) < 0 or n_bytes != size - stream.tell():
        raise ValueError(f"{name} is not as long as its shape says")
    array = np.empty(n_bytes // kind.itemsize, dtype=kind)
    rest = array.view(np.uint8).data
    while rest:
        piece = stream.read(min(len(rest), _PIECE))
        if not piece:
            raise EOFError("an array ends early")
        rest[: len(piece)] = piece
        rest = rest[len(piece) :]
    return array.reshape(shape, order="F" if by_columns else "C")


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    if np.lib.format.read_magic(stream)[0] == 1:
        return np.lib.format.read_array_header_1_0(stream)
    return np.lib.format.read_array_header_2_0(stream)
