"""Named arrays in one safetensors file, written and read piece by piece: no copy of all of them in memory.

Beside the arrays the header holds notes (JSON), the hash of each array, and a hash of all this: the header is
known to be whole before an array is allocated, and an array before it is used.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from structlearn.core.forms import count
from structlearn.core.memory import Memory
from structlearn.storage.atomic import atomic_write
from structlearn.storage.schema import check_form, read_json

_KEY = "structlearn"
_METADATA = "__metadata__"
#: Numbers only, by their names in a file.
KINDS: dict[str, np.dtype] = {
    "BOOL": np.dtype("?"),
    **{f"F{8 * size}": np.dtype(f"f{size}") for size in (4, 8)},
    **{f"I{8 * size}": np.dtype(f"i{size}") for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": np.dtype(f"u{size}") for size in (1, 2, 4, 8)},
}
_NAMES = {kind: name for name, kind in KINDS.items()}
_ENTRY = {"dtype": str, "shape": [count], "data_offsets": [count]}
_PIECE = 1 << 26
#: Bytes of a header, which is in memory as a whole before its hash can be compared.
_LONGEST_HEADER = 32 << 20
_HASH_BYTES = 16


def write_tensors(path: str | Path, arrays: Mapping[str, np.ndarray], notes: Mapping[str, object]) -> None:
    """Write arrays, their hashes and JSON notes; whole or not at all."""
    flat = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    hashes = {name: array_hash(array) for name, array in flat.items()}
    entries: dict[str, dict[str, object]] = {}
    at = 0
    for name, array in flat.items():
        shape, offsets = list(arrays[name].shape), [at, at + array.nbytes]
        entries[name] = {"dtype": _NAMES[array.dtype], "shape": shape, "data_offsets": offsets}
        at += array.nbytes
    said = {_KEY: json.dumps(notes), "hashes": json.dumps(hashes)}
    header = {_METADATA: {**said, "hash": _header_hash(said, entries)}, **entries}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _LONGEST_HEADER:
        raise ValueError(
            f"{path} was not written: what it says beside its arrays takes {len(text) >> 20} MB, and at most "
            f"{_LONGEST_HEADER >> 20} MB are read back; use shorter names of classes and columns."
        )
    with atomic_write(path) as aside, open(aside, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in flat.values():
            for piece in pieces(array):
                file.write(piece)


def _header_hash(said: Mapping[str, str], entries: Mapping[str, object]) -> str:
    whole = json.dumps([said[_KEY], said["hashes"], entries], sort_keys=True)
    return hashlib.blake2b(whole.encode(), digest_size=_HASH_BYTES).hexdigest()


def pieces(array: np.ndarray) -> Iterator[memoryview]:
    """Return the bytes of a contiguous array, as views of some megabytes."""
    flat = array.reshape(-1).view(np.uint8).data
    return (flat[at : at + _PIECE] for at in range(0, len(flat), _PIECE))


def array_hash(array: np.ndarray) -> str:
    """Return a hash of the bytes of a contiguous array."""
    found = hashlib.blake2b(digest_size=_HASH_BYTES)
    for piece in pieces(array):
        found.update(piece)
    return found.hexdigest()


class TensorEntry(NamedTuple):
    """An array of a file: what it is, and where its bytes begin and end."""

    kind: np.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


class TensorFile:
    """An open safetensors file with notes of ours; ValueError for another or a damaged file.

    Attributes
    ----------
    notes : what the notes say; empty where there are none
    entries : dict of TensorEntry
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
        header = read_json(file.read(size), dict, "its header")
        self._begin = 8 + size
        check_form(header, {f"{_METADATA}?": dict[str, str]}, "its header")
        metadata = header.pop(_METADATA, {})
        for entry in header.values():
            check_form(entry, _ENTRY, "an array")
        self.entries = {name: _entry(name, entry) for name, entry in header.items()}
        self._check_places(length)
        self.hashed = "hash" in metadata
        if self.hashed:
            check_form(metadata, {_KEY: str, "hashes": str}, "its header")
            if metadata["hash"] != _header_hash(metadata, header):
                raise ValueError("its header hash does not match")
        self._hashes = read_json(metadata["hashes"], dict, "its hashes") if self.hashed else {}
        check_form(self._hashes, {name: str for name in header if self.hashed}, "its hashes")
        notes = read_json(metadata.get(_KEY, "{}"), object, "its notes")
        self.notes: dict = notes if isinstance(notes, dict) else {}

    def _check_places(self, length: int) -> None:
        """Check that the arrays lie one after the other, from the header to the end."""
        at = 0
        for entry in sorted(self.entries.values(), key=lambda entry: (entry.begin, entry.end)):
            if entry.begin != at:
                raise ValueError("its arrays do not lie one after the other")
            at = entry.end
        if length != self._begin + at:
            raise ValueError("it is not as long as its header says")

    def load(self, name: str) -> np.ndarray:
        """Read one array into new memory and compare its hash."""
        kind, shape, begin, _ = self.entries[name]
        array = self.memory.empty(prod(shape), kind)
        with open(self.path, "rb") as file:
            file.seek(self._begin + begin)
            for piece in pieces(array):
                if file.readinto(piece) != len(piece):
                    raise ValueError(f"{self.path} is damaged: it became shorter while it was read.")
        if self.hashed and array_hash(array) != self._hashes[name]:
            raise ValueError(f"{self.path} is damaged: the hash of {name!a} does not match.")
        return array.reshape(shape)


def _entry(name: str, entry: dict) -> TensorEntry:
    kind, shape = KINDS.get(entry["dtype"]), tuple(entry["shape"])
    if kind is None or len(entry["data_offsets"]) != 2:
        raise ValueError(f"there is no such array as {name!a} says it is")
    begin, end = entry["data_offsets"]
    if end - begin != kind.itemsize * prod(shape):
        raise ValueError(f"the array {name!a} has not as many bytes as its shape says")
    return TensorEntry(kind, shape, begin, end)
