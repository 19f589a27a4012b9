"""Named arrays in one safetensors file, written and read piece by piece: no copy of all of them in memory."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from structlearn.files import written_aside
from structlearn.memory import Memory

_KEY = "structlearn"
_NAMES = {
    np.dtype(kind): name
    for kind, name in (
        *(("f8", "F64"), ("f4", "F32"), ("i8", "I64"), ("i4", "I32"), ("i2", "I16"), ("i1", "I8")),
        *(("u8", "U64"), ("u4", "U32"), ("u2", "U16"), ("u1", "U8"), ("?", "BOOL")),
    )
}
_KINDS = {name: kind for kind, name in _NAMES.items()}
_PIECE = 1 << 26
_LONGEST_HEADER = 100 << 20


def write_tensors(path: str | Path, arrays: Mapping[str, NDArray[Any]], notes: Mapping[str, Any]) -> None:
    """Arrays, their check sums and JSON notes; whole or not at all."""
    flat = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    sums = {name: check_sum(array) for name, array in flat.items()}
    header: dict[str, Any] = {"__metadata__": {_KEY: json.dumps({"notes": notes, "sums": sums})}}
    at = 0
    for name, array in flat.items():
        entry = {"dtype": _NAMES[array.dtype], "shape": arrays[name].shape}
        header[name] = {**entry, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with written_aside(path) as aside, open(aside, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in flat.values():
            for piece in pieces(array):
                file.write(piece)


def pieces(array: NDArray[Any]) -> Any:
    """The bytes of a contiguous array, as views of some megabytes."""
    flat = array.reshape(-1).view(np.uint8)
    return (flat[at : at + _PIECE] for at in range(0, flat.size, _PIECE))


def check_sum(array: NDArray[Any]) -> int:
    """CRC-32 of the bytes."""
    total = 0
    for piece in pieces(array):
        total = zlib.crc32(piece, total)
    return total


class TensorFile:
    """A file of `write_tensors`, opened; ValueError if it is none or is damaged.

    Attributes
    ----------
    notes : dict
    """

    def __init__(self, path: str | Path, memory: Memory | None = None) -> None:
        self.path = Path(path)
        self.memory = memory or Memory()
        try:
            with open(self.path, "rb") as file:
                self._read_header(file)
            metadata = json.loads(self._header.pop("__metadata__")[_KEY])
            self.notes, self._sums = metadata["notes"], metadata["sums"]
            end = max((entry["data_offsets"][1] for entry in self._header.values()), default=0)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"{path} is damaged, or not a file of structlearn.") from None
        if os.path.getsize(self.path) != self._begin + end:
            raise ValueError(f"{path} is damaged: it is not as long as its header says.")

    def _read_header(self, file: BinaryIO) -> None:
        size = int.from_bytes(file.read(8), "little")
        if size > _LONGEST_HEADER:
            raise ValueError
        self._header: dict[str, Any] = json.loads(file.read(size))
        self._begin = 8 + size

    def load(self, name: str) -> NDArray[Any]:
        """One array, new, its check sum compared."""
        entry = self._header[name]
        kind, shape = _KINDS[entry["dtype"]], entry["shape"]
        array = self.memory.empty(int(np.prod(shape, dtype=np.int64)), kind)
        with open(self.path, "rb") as file:
            file.seek(self._begin + entry["data_offsets"][0])
            for piece in pieces(array):
                file.readinto(piece)
        if check_sum(array) != self._sums[name]:
            raise ValueError(f"{self.path} is damaged: the check sum of {name} is another.")
        return array.reshape(shape)
