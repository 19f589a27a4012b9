"""A folder of raw arrays: written array by array in pieces, opened as memory maps, each with its hash.

    header.json    what the arrays are, and a SHA-256 of each and of the header itself
    NAME.bin       the entries of an array, row by row, little-endian

The folder is written under another name and renamed when it is whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structlearn.storage.errors import DataError
from structlearn.storage.schema import check_form, read_json

HEADER = "header.json"
#: Numbers only: memory that is mapped as objects would be taken for their addresses.
_KINDS = ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1")
_DTYPES = {f"{order}{kind}" for order in "<|=" for kind in _KINDS}
_PIECE = 1 << 24


class FolderWriter:
    """Writes a folder of arrays; use as a context: on an error nothing is left.

    Parameters
    ----------
    path : path
        Must not exist yet.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.exists():
            raise FileExistsError(f"Cannot write {path}: it exists already.")
        if not self.path.absolute().parent.is_dir():
            raise FileNotFoundError(f"Cannot write {path}: the folder around it does not exist.")
        self._files: dict[str, Any] = {}
        self._hashes: dict[str, Any] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._kinds: dict[str, np.dtype[Any]] = {}

    def __enter__(self) -> FolderWriter:
        parent = self.path.absolute().parent
        self.aside = Path(tempfile.mkdtemp(dir=parent, prefix=f".{self.path.name}.", suffix=".part"))
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        for file in self._files.values():
            file.close()
        shutil.rmtree(self.aside, ignore_errors=True)  # after `finish` it is gone already

    def append(self, name: str, array: NDArray[Any]) -> None:
        """Further rows of an array, which all have one type and width."""
        if name not in self._files:
            self._files[name] = open(self.aside / f"{name}.bin", "wb")  # noqa: SIM115  (closed at the end)
            self._hashes[name] = hashlib.sha256()
            self._shapes[name], self._kinds[name] = (0, *array.shape[1:]), little(array.dtype)
        if array.shape[1:] != self._shapes[name][1:]:
            raise ValueError(f"{array.shape[1:]} entries a row of {name}, not {self._shapes[name][1:]}.")
        rows = np.ascontiguousarray(array, dtype=self._kinds[name])
        content = rows.reshape(-1).view(np.uint8)
        self._files[name].write(content)
        self._hashes[name].update(content)
        self._shapes[name] = (self._shapes[name][0] + len(rows), *self._shapes[name][1:])

    def rewrite(self, name: str, change: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        """Replace the entries of a vector by others of the same type."""
        self._files.pop(name).close()
        old = (self.aside / f"{name}.bin").rename(self.aside / f"{name}.old")
        kind = self._kinds[name]
        with open(old, "rb") as file:
            while piece := file.read(_PIECE):
                self.append(name, change(np.frombuffer(piece, kind)))
        if name not in self._files:
            self.append(name, np.empty(0, kind))
        old.unlink()

    def finish(self, header: dict[str, Any]) -> None:
        """Write the header, sync everything, and give the folder its name."""
        arrays = {
            name: {
                "dtype": self._kinds[name].str,
                "shape": list(self._shapes[name]),
                "sha256": self._hashes[name].hexdigest(),
            }
            for name in self._files
        }
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
        header = {**header, "arrays": arrays}
        with open(self.aside / HEADER, "w", encoding="utf-8") as file:
            json.dump({**header, "sha256": _hash_of_header(header)}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        self.aside.chmod(0o777 & ~mask)
        os.rename(self.aside, self.path)


def _dtype(value: Any) -> bool:
    """a type of numbers"""
    return isinstance(value, str) and value in _DTYPES


def _size(value: Any) -> bool:
    """a number of at least 0"""
    return type(value) is int and value >= 0


_ENTRY = {"dtype": _dtype, "shape": [_size], "sha256": str}


def little(kind: np.dtype[Any]) -> np.dtype[Any]:
    return kind.newbyteorder("<") if kind.itemsize > 1 else kind


def read_folder(path: str | Path, *, verify: bool = True) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a folder, mapped; DataError if it is not whole.

    The maps are private: what is written into them never reaches the files. `verify` reads every byte once
    and compares hashes.
    """
    path = Path(path)
    header = _read_header(path)
    return header, {name: _open(path, name, entry, verify) for name, entry in header["arrays"].items()}


def _read_header(path: Path) -> dict[str, Any]:
    try:
        header = read_json((path / HEADER).read_bytes())
        check_form(header, {"sha256": str, "arrays": dict[str, dict]}, "")
        for name, entry in header["arrays"].items():
            check_form(entry, _ENTRY, f"the array {name!a}")
    except FileNotFoundError:
        raise DataError(f"{path} is no packed data: it has no {HEADER}.") from None
    except ValueError as error:
        raise DataError(f"{path / HEADER} is damaged: {error}.") from None
    if header.pop("sha256") != _hash_of_header(header) or not header["arrays"]:
        raise DataError(f"{path / HEADER} is damaged: its hash is another.")
    return header


def _hash_of_header(header: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()


def _open(path: Path, name: str, entry: dict[str, Any], verify: bool) -> NDArray[Any]:
    if Path(name).name != name:
        raise DataError(f"{path / HEADER} is damaged: {name!a} is the name of no array.")
    file = path / f"{name}.bin"
    kind, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
    n_bytes = kind.itemsize * prod(shape)
    if not file.is_file():
        raise DataError(f"{file} is missing.")
    if file.stat().st_size != n_bytes:
        raise DataError(f"{file} is damaged: it has {file.stat().st_size} bytes, not {n_bytes}.")
    if verify and _hash_of_file(file) != entry["sha256"]:
        raise DataError(f"{file} is damaged: its hash is another.")
    if not n_bytes:
        return np.empty(shape, kind)
    return np.asarray(np.memmap(file, dtype=kind, mode="c", shape=shape))


def _hash_of_file(path: Path) -> str:
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.hexdigest()
