"""Model files: one safetensors file, its metadata as JSON in the header. Nothing in a file is ever executed.

What is read is checked in this order, each before the next is touched: the layout of the file and the hash of
its header; the header's form; the shapes of its arrays; each array's hash.
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import structlearn
from structlearn.core.contract import Array
from structlearn.estimators.stored import DESCRIPTION
from structlearn.solvers.solution import History, Row
from structlearn.storage.compact import check_density, fill, pack, whole_shapes
from structlearn.storage.schema import check_form
from structlearn.storage.tensors import TensorFile, write_tensors

FORMAT = "structlearn-model"
#: Since 2, arrays may be written compactly (see `compact`); since 3, all of a file is hashed.
VERSION = 3
_HEADER = {
    "estimator": str,
    "parameters": dict[str, Any],
    "structure": dict[str, Any] | None,
    "fitted": dict[str, Any],
    "certificate": dict[str, Any],
    "notes": dict[str, Any],
    "library?": str,
    "scoring?": bool,
}


def damaged(path: str | Path, why: Any) -> ValueError:
    """The refusal of a file."""
    return ValueError(f"{path} is damaged: {str(why).rstrip('.')}.")


def write_model(path: str | Path, header: dict[str, Any], tensors: dict[str, Array]) -> None:
    """Write a model file: JSON metadata and named arrays, whole or not at all."""
    if not np.isfinite(tensors["weights"]).all():
        raise ValueError(
            f"The weights are not finite; {path} was not written. Scale the features and train again."
        )
    packed, shapes = pack(tensors)
    about = {"format": FORMAT, "version": VERSION, "library": structlearn.__version__}
    write_tensors(path, packed, {**about, **header, "sparse": shapes})


class ModelFile:
    """A model file, opened; ValueError if it is none or is damaged.

    Attributes
    ----------
    header : dict
    shapes : dict of the shapes of its arrays, by name
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(f"Model file {path} does not exist.")
        self._file = TensorFile(self.path, noun="structlearn model")
        self.header: dict[str, Any] = self._checked_header(self._file.notes)
        try:
            check_form(self.header, _HEADER, "")
            if self.header["structure"] is not None:
                check_form(self.header["structure"], DESCRIPTION, "structure")
            self._sparse = self.header.get("sparse", {})
            self.shapes = whole_shapes(self._file.entries, self._sparse)
            self._check_always_there()
        except ValueError as error:
            raise damaged(path, error) from None

    def _checked_header(self, header: Any) -> dict[str, Any]:
        path = self.path
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise ValueError(f"{path} is a safetensors file but not a structlearn model.")
        version = header.get("version")
        if type(version) is not int:
            raise damaged(path, "it lacks its format version")
        if version > VERSION:
            raise ValueError(
                f"{path} has model format {version}; this version of structlearn reads up to {VERSION}: "
                "upgrade structlearn."
            )
        if version > 2 and not self._file.hashed:
            raise damaged(path, "it lacks its hashes")
        return header

    def _check_always_there(self) -> None:
        missing = {"weights", "history"} - self.shapes.keys()
        if missing:
            raise ValueError(f"it lacks {', '.join(sorted(missing))}")
        if len(self.shapes["weights"]) != 1 or self.kind("weights").kind != "f":
            raise ValueError(f"its weights are no vector of numbers but of shape {self.shapes['weights']}")
        n = len(Row._fields) - len(Row._field_defaults)
        history = self.shapes["history"]
        if len(history) != 2 or not n <= history[1] <= len(Row._fields) or self.kind("history").kind != "f":
            raise ValueError(f"its history is of shape {history}")

    def kind(self, name: str) -> np.dtype[Any]:
        """The type of an array's entries."""
        return self._file.entries[f"{name}:value" if name in self._sparse else name].kind

    def stored(self, name: str) -> int:
        """How many entries of an array are in the file."""
        return prod(self._file.entries[f"{name}:value" if name in self._sparse else name].shape)

    def load(self, name: str, *, sized: bool = False) -> Array:
        """An array, its hash compared; numbers must be finite, but those of the history.

        `sized` says that its shape is known to be right. Else a mostly-zero array may not be much larger than
        what the file holds of it.
        """
        try:
            shape = self.shapes[name]
            if name not in self._sparse:
                return self._finite(name, name)
            if not sized:
                check_density(name, shape, self.stored(name))
            value = self._finite(name, f"{name}:value")
            return fill(name, shape, self._file.load(f"{name}:index"), value)
        except ValueError as error:
            why = str(error).removeprefix(f"{self.path} is damaged: ")
            raise damaged(self.path, why) from None

    def _finite(self, name: str, part: str) -> Array:
        found = self._file.load(part)
        if name != "history" and found.dtype.kind == "f" and not np.isfinite(found).all():
            raise ValueError(f"{name} has numbers that are not finite")
        return found

    def verify(self) -> None:
        """Read everything, and compare hashes; ValueError if something is damaged."""
        for name in self._file.entries:
            self._file.load(name)


def history_array(history: History) -> Array:
    """The history as a model file has it: a row an evaluation."""
    return np.array(history.rows, dtype=np.float64).reshape(-1, len(Row._fields))


def history_of(values: Array) -> History:
    """The inverse of `history_array`; ValueError for counts that are none."""
    try:
        return History(map(_row, values))
    except (OverflowError, ValueError):
        raise ValueError("its history counts what cannot be counted") from None


def _row(values: Array) -> Row:
    row = Row(*values.tolist())
    return row._replace(iteration=int(row.iteration), oracle_calls=int(row.oracle_calls))
