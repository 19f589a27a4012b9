"""Named arrays in one safetensors file, written and read piece by piece: no copy of all of them in memory.

Beside the arrays the header holds notes (JSON), the hash of each array, and a hash of all this: the header is
known to be whole before an array is allocated, and an array before it is used.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structlearn.core.memory import Memory
from structlearn.storage.atomic import atomic_write
from structlearn.storage.schema import check_form, read_json

_KEY = "structlearn"
_METADATA = "__metadata__"
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
_HASH_BYTES = 16


def write_tensors(path: str | Path, arrays: Mapping[str, NDArray[Any]], notes: Mapping[str, Any]) -> None:
    """Arrays, their hashes and JSON notes; whole or not at all."""
    flat = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    hashes = {name: array_hash(array) for name, array in flat.items()}
    entries: dict[str, Any] = {}
    at = 0
    for name, array in flat.items():
        entry = {"dtype": _NAMES[array.dtype], "shape": list(arrays[name].shape)}
        entries[name] = {**entry, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    said = {_KEY: json.dumps(notes), "hashes": json.dumps(hashes)}
    header = {_METADATA: {**said, "hash": _header_hash(said, entries)}, **entries}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with atomic_write(path) as aside, open(aside, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in flat.values():
            for piece in pieces(array):
                file.write(piece)


def _header_hash(said: Mapping[str, str], entries: Mapping[str, Any]) -> str:
    whole = json.dumps([said[_KEY], said["hashes"], entries], sort_keys=True)
    return hashlib.blake2b(whole.encode(), digest_size=_HASH_BYTES).hexdigest()


def pieces(array: NDArray[Any]) -> Any:
    """The bytes of a contiguous array, as views of some megabytes."""
    flat = array.reshape(-1).view(np.uint8)
    return (flat[at : at + _PIECE] for at in range(0, flat.size, _PIECE))


def array_hash(array: NDArray[Any]) -> str:
    """A hash of the bytes of a contiguous array."""
    found = hashlib.blake2b(digest_size=_HASH_BYTES)
    for piece in pieces(array):
        found.update(piece)
    return found.hexdigest()


class Entry(NamedTuple):
    """An array of a file: what it is, and where its bytes begin and end."""

    kind: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


class TensorFile:
    """A safetensors file with notes of ours, opened; ValueError if it is none or is damaged.

    Attributes
    ----------
    notes : what the notes say; None where there are none
    entries : dict of Entry
    hashed : bool
        Whether the file has hashes; files of other writers have none.
    """

    def __init__(
        self, path: str | Path, memory: Memory | None = None, noun: str = "structlearn file"
    ) -> None:
        self.path = Path(path)
        self.memory = memory or Memory()
        try:
            with open(self.path, "rb") as file:
                self._read_header(file)
        except ValueError as error:
            raise ValueError(f"{path} is not a {noun}, or it is damaged ({error}).") from None

    def _read_header(self, file: BinaryIO) -> None:
        size, length = int.from_bytes(file.read(8), "little"), os.fstat(file.fileno()).st_size
        if not 2 <= size <= min(length - 8, _LONGEST_HEADER):
            raise ValueError("its header is not as long as it says")
        header = read_json(file.read(size))
        self._begin = 8 + size
        form = {"dtype": str, "shape": [_size], "data_offsets": [_size]}
        check_form(header, {f"{_METADATA}?": dict[str, str]}, "its header")
        metadata = header.pop(_METADATA, {})
        for entry in header.values():
            check_form(entry, form, "an array")
        self.entries = {name: _entry(name, entry) for name, entry in header.items()}
        self._check_places(length)
        self.hashed = "hash" in metadata
        if self.hashed:
            check_form(metadata, {_KEY: str, "hashes": str}, "its header")
            if metadata["hash"] != _header_hash(metadata, header):
                raise ValueError("the hash of its header is another")
        self._hashes = read_json(metadata["hashes"]) if self.hashed else {}
        check_form(self._hashes, {name: str for name in header if self.hashed}, "its hashes")
        self.notes: Any = read_json(metadata[_KEY]) if _KEY in metadata else None

    def _check_places(self, length: int) -> None:
        """The arrays lie one after the other, from the header to the end."""
        at = 0
        for entry in sorted(self.entries.values(), key=lambda entry: (entry.begin, entry.end)):
            if entry.begin != at:
                raise ValueError("its arrays do not lie one after the other")
            at = entry.end
        if length != self._begin + at:
            raise ValueError("it is not as long as its header says")

    def load(self, name: str) -> NDArray[Any]:
        """One array, new, its hash compared."""
        kind, shape, begin, _ = self.entries[name]
        array = self.memory.empty(prod(shape), kind)
        with open(self.path, "rb") as file:
            file.seek(self._begin + begin)
            for piece in pieces(array):
                if file.readinto(piece) != piece.size:
                    raise ValueError(f"{self.path} is damaged: it became shorter while it was read.")
        if self.hashed and array_hash(array) != self._hashes[name]:
            raise ValueError(f"{self.path} is damaged: the hash of {name!a} is another.")
        return array.reshape(shape)


def _size(value: Any) -> bool:
    """a number of at least 0"""
    return type(value) is int and value >= 0


def _entry(name: str, entry: Mapping[str, Any]) -> Entry:
    kind, shape = _KINDS.get(entry["dtype"]), tuple(entry["shape"])
    if kind is None or len(entry["data_offsets"]) != 2:
        raise ValueError(f"there is no such array as {name!a} says it is")
    begin, end = entry["data_offsets"]
    if end - begin != kind.itemsize * prod(shape):
        raise ValueError(f"the array {name!a} has not as many bytes as its shape says")
    return Entry(kind, shape, begin, end)
