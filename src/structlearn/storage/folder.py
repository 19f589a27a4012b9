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
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import Self

import numpy as np

from structlearn.core.forms import count, form
from structlearn.storage.atomic import naming, put_in_place
from structlearn.storage.errors import DataError
from structlearn.storage.schema import check_form, read_json
from structlearn.storage.tensors import KINDS

HEADER = "header.json"
_PIECE = 1 << 24
#: Bytes of a header, which may hold texts, such as names of features.
_LONGEST_HEADER = 1 << 28


def little(kind: np.dtype) -> np.dtype:
    return kind.newbyteorder("<") if kind.itemsize > 1 else kind


#: Numbers only: memory that is mapped as objects would be taken for their addresses.
_DTYPES = {little(kind).str for kind in KINDS.values()}


@form("a type of numbers")
def _dtype(value: object) -> bool:
    return isinstance(value, str) and value in _DTYPES


_ENTRY = {"dtype": _dtype, "shape": [count], "sha256": str}


# ---- writing ---------------------------------------------------------------------------------------


class _ArrayFile:
    """A growing array in a file; all rows have the type and the width of those that it is opened for."""

    def __init__(self, path: Path, rows: np.ndarray) -> None:
        self.path, self.kind, self.width = path, little(rows.dtype), rows.shape[1:]
        self.n_rows, self.hash = 0, hashlib.sha256()
        self.file = open(path, "wb")  # noqa: SIM115  (closed at the end)

    def append(self, rows: np.ndarray) -> None:
        if rows.shape[1:] != self.width:
            raise ValueError(f"{rows.shape[1:]} entries a row of {self.path.stem}, not {self.width}.")
        rows = np.ascontiguousarray(rows, dtype=self.kind)
        content = rows.reshape(-1).view(np.uint8).data
        self.file.write(content)
        self.hash.update(content)
        self.n_rows += len(rows)

    def finish(self) -> dict[str, object]:
        """Sync; its entry of the header."""
        self.file.flush()
        os.fsync(self.file.fileno())
        shape = [self.n_rows, *self.width]
        return {"dtype": self.kind.str, "shape": shape, "sha256": self.hash.hexdigest()}


class FolderWriter:
    """A writer of a folder of arrays; use it as a context: on an error nothing is left.

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
        self._arrays: dict[str, _ArrayFile] = {}

    def __enter__(self) -> Self:
        parent = self.path.absolute().parent
        _forget_abandoned(parent, self.path.name)
        self.aside = Path(tempfile.mkdtemp(dir=parent, prefix=f".{self.path.name}.", suffix=".part"))
        self._lock = _lock_folder(self.aside)
        return self

    def __exit__(self, *_: object) -> None:
        for array in self._arrays.values():
            array.file.close()
        shutil.rmtree(self.aside, ignore_errors=True)  # after `finish` it is gone already
        if self._lock is not None:
            os.close(self._lock)

    def append(self, name: str, rows: np.ndarray) -> None:
        """Append rows to an array; all of them have one type and width."""
        with naming(self.path):
            if name not in self._arrays:
                self._arrays[name] = _ArrayFile(self.aside / f"{name}.bin", rows)
            self._arrays[name].append(rows)

    def rewrite(self, name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
        """Replace the entries of a vector by others of the same type."""
        before = self._arrays.pop(name)
        before.file.close()
        old = before.path.rename(self.aside / f"{name}.old")
        self.append(name, np.empty(0, before.kind))
        with open(old, "rb") as file:
            while piece := file.read(_PIECE):
                self.append(name, change(np.frombuffer(piece, before.kind)))
        old.unlink()

    def finish(self, header: Mapping[str, object]) -> None:
        """Write the header, sync everything, and give the folder its name."""
        with naming(self.path):
            self._finish(header)

    def _finish(self, header: Mapping[str, object]) -> None:
        header = {**header, "arrays": {name: array.finish() for name, array in self._arrays.items()}}
        with open(self.aside / HEADER, "w", encoding="utf-8") as file:
            json.dump({**header, "sha256": _hash_of_header(header)}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        put_in_place(self.aside, self.path, 0o777)


def _lock_folder(folder: Path) -> int | None:
    """Return a handle that holds a folder until this process ends.

    None where there are no locks, or it is held.
    """
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _forget_abandoned(parent: Path, name: str) -> None:
    """Remove what processes that were killed have left of a folder of this name."""
    for found in list(parent.iterdir()):
        if not (found.name.startswith(f".{name}.") and found.name.endswith(".part") and found.is_dir()):
            continue
        lock = None if found.is_symlink() else _lock_folder(found)
        if lock is not None:
            shutil.rmtree(found, ignore_errors=True)
            os.close(lock)


# ---- reading ---------------------------------------------------------------------------------------


def read_folder(path: str | Path, *, verify: bool = True) -> tuple[dict, dict[str, np.ndarray]]:
    """Read the header and the arrays of a folder, mapped; DataError if it is not whole.

    The maps are private: what is written into them never reaches the files. `verify` reads every byte once
    and compares hashes.
    """
    path = Path(path)
    header = _read_header(path)
    return header, {name: _open(path, name, entry, verify) for name, entry in header["arrays"].items()}


def _read_header(path: Path) -> dict:
    try:
        if (path / HEADER).stat().st_size > _LONGEST_HEADER:
            raise ValueError(f"it is longer than {_LONGEST_HEADER >> 20} MB")
        header = read_json((path / HEADER).read_bytes(), dict, "")
        check_form(header, {"sha256": str, "arrays": dict[str, dict]}, "")
        for name, entry in header["arrays"].items():
            check_form(entry, _ENTRY, f"the array {name!a}")
    except FileNotFoundError:
        raise DataError(
            f"{path} is not packed data: it has no {HEADER}; give a file, or a folder that `structlearn data "
            "pack` wrote."
        ) from None
    except ValueError as error:
        raise DataError(f"{path / HEADER} is damaged: {error}.") from None
    if header.pop("sha256") != _hash_of_header(header) or not header["arrays"]:
        raise DataError(f"{path / HEADER} is damaged: its hash does not match.")
    return header


def _hash_of_header(header: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()


def _open(path: Path, name: str, entry: dict, verify: bool) -> np.ndarray:
    if Path(name).name != name:
        raise DataError(f"{path / HEADER} is damaged: {name!a} is the name of no array.")
    file = path / f"{name}.bin"
    kind, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
    n_bytes = kind.itemsize * prod(shape)
    if not file.is_file():
        raise DataError(f"{file} is missing.")
    if file.stat().st_size != n_bytes:
        raise DataError(f"{file} is damaged: it has {file.stat().st_size} bytes, not {n_bytes}.")
    if verify:
        with open(file, "rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != entry["sha256"]:
                raise DataError(f"{file} is damaged: its hash does not match.")
    if not n_bytes:
        return np.empty(shape, kind)
    return np.asarray(np.memmap(file, dtype=kind, mode="c", shape=shape))
