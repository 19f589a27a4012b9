"""Model files: one safetensors file, its metadata as JSON in the header. Nothing in a file is ever executed.

What is read is checked in this order, each before the next is touched: the layout of the file and the hash of
its header; the header's form; the shapes of its arrays; each array's hash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import structlearn
from structlearn.storage.compact import (
    GAPS,
    INDEX,
    VALUE,
    check_density,
    compact_arrays,
    expand_array,
    whole_shapes,
)
from structlearn.storage.schema import check_form
from structlearn.storage.tensors import TensorEntry, TensorFile, write_tensors

FORMAT = "structlearn-model"
#: Since 2, arrays may be written compactly (see `compact`); since 3, all of a file is hashed; since 4, rows
#: of features may be mapped; since 5, features may have names; since 6, probabilities may be calibrated;
#: since 7, models may be inside a model; since 8, tokens may have arrays beside them; since 9, rows may be
#: those of a table; since 10, weights may be 32-bit floats, and positions gaps; since 11, labels may have
#: candidates by a tag dictionary, tables dates and free text, and probabilities of rows may be calibrated.
#: A file without any of these is written as 3, for versions that read no more.
VERSION = 11
_WITHOUT_NEWEST, _WITHOUT_FLOATS, _WITHOUT_TABLES, _WITHOUT_ARRAYS = 10, 9, 8, 7
#: Transformers that version 11, and that version 9 has brought.
_OF_COLUMNS = "TableTransformer"
_OF_TABLES = {"ColumnTransformer", "FunctionTransformer", "OneHotEncoder", "SimpleImputer"}
#: Estimators whose probabilities version 11 can calibrate.
_OF_ROWS = {"BinaryClassifier", "MulticlassClassifier", "MultiLabelClassifier"}
_WITHOUT_MODELS, _WITHOUT_TEMPERATURE, _WITHOUT_NAMES, _WITHOUT_MAP = 6, 5, 4, 3
#: Names of weights, also of models inside.
_WEIGHTS = re.compile(rf"(bundled:[^:]*:)*weights(:{VALUE})?")
#: How deep models may lie in models.
_DEEPEST = 4
#: A row of the history: iteration, passes, oracle calls, seconds, primal, dual, gap.
HISTORY_COLUMNS = 7
#: A structure by its registered name.
DESCRIPTION = {"name": str, "arguments": dict[str, object]}
_HEADER = {
    "estimator": str,
    "parameters": dict[str, object],
    "structure": dict[str, object] | None,
    "fitted": dict[str, object],
    "certificate": dict[str, object],
    "notes": dict[str, object],
    "library?": str,
    "scoring?": bool,
    "row_map?": list[dict[str, object]],
    "features?": dict[str, object],
    "bundled?": dict[str, dict[str, object]],
}


def damage_error(path: str | Path, why: object) -> ValueError:
    """Return the refusal of a file."""
    return ValueError(f"{path} is damaged: {str(why).rstrip('.')}.")


@contextmanager
def refuse_damaged(path: str | Path) -> Iterator[None]:
    """Let what is found wrong inside become the refusal of this file, unless it is that already."""
    try:
        yield
    except ValueError as error:
        raise error if str(error).startswith(str(path)) else damage_error(path, error) from None


def write_model(path: str | Path, header: Mapping[str, object], tensors: Mapping[str, np.ndarray]) -> None:
    """Write a model file: JSON metadata and named arrays, whole or not at all."""
    if not np.isfinite(tensors["weights"]).all():
        raise ValueError(
            f"The weights are not finite; {path} was not written. Scale the features and train again."
        )
    packed, shapes = compact_arrays({name: np.ascontiguousarray(array) for name, array in tensors.items()})
    least = max(_least_version(header), _WITHOUT_NEWEST if _has_floats(packed) else 0)
    about = {"format": FORMAT, "version": least, "library": structlearn.__version__}
    write_tensors(path, packed, {**about, **header, "sparse": shapes})


def _has_candidates(header: Mapping[str, Any]) -> bool:
    """Whether the model, or one inside, has a tag dictionary."""
    inside = header.get("bundled", {}).values()
    return bool(header["parameters"].get("candidates")) or any(map(_has_candidates, inside))


def _has_floats(packed: Mapping[str, np.ndarray]) -> bool:
    """Whether weights are 32-bit floats, or positions gaps."""
    return any(
        name.endswith(f":{GAPS}") or (_WEIGHTS.fullmatch(name) and array.dtype == np.float32)
        for name, array in packed.items()
    )


def _least_version(header: Mapping[str, Any]) -> int:
    steps = {step["name"] for step in header.get("row_map", ())}
    of_rows = header["estimator"] in _OF_ROWS and "temperature_" in header["fitted"]
    if of_rows or _has_candidates(header) or _OF_COLUMNS in steps:
        return VERSION
    if steps & _OF_TABLES:
        return _WITHOUT_FLOATS
    if header["notes"].get("arrays") or header.get("features", {}).get("n_arrays"):
        return _WITHOUT_TABLES
    if "bundled" in header:
        return _WITHOUT_ARRAYS
    if "temperature_" in header["fitted"]:
        return _WITHOUT_MODELS
    if "features" in header:
        return _WITHOUT_TEMPERATURE
    return _WITHOUT_NAMES if "row_map" in header else _WITHOUT_MAP


class ModelFile:
    """An open model file; ValueError for another or a damaged file.

    Attributes
    ----------
    header : dict
    shapes : dict of the shapes of its arrays, by name
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            raise IsADirectoryError(f"{path} is a folder, not a model file.")
        if not self.path.is_file():
            raise FileNotFoundError(f"Model file {path} does not exist.")
        self._file = TensorFile(self.path, noun="structlearn model")
        self.header = self._file.notes
        if self.header.get("format") != FORMAT:
            raise ValueError(f"{path} is a safetensors file but not a structlearn model.")
        self._check_version(self.header.get("version"))
        with refuse_damaged(self.path):
            self._sparse = self.header.get("sparse", {})
            self._all_shapes = whole_shapes(self._file.entries, self._sparse)
            self._set_part("", 0)

    def _set_part(self, prefix: str, depth: int) -> None:
        """Become the model whose arrays have names that begin with `prefix`."""
        check_form(self.header, _HEADER, "")
        if self.header["structure"] is not None:
            check_form(self.header["structure"], DESCRIPTION, "structure")
        self._prefix, self._depth = prefix, depth
        known = self._all_shapes.items()
        self.shapes = {name.removeprefix(prefix): shape for name, shape in known if name.startswith(prefix)}
        self._check_always_there()

    def nested_model(self, name: str) -> ModelFile:
        """Return the model of a name inside this one."""
        with refuse_damaged(self.path):
            if self._depth >= _DEEPEST:
                raise ValueError(f"models lie more than {_DEEPEST} deep in it")
            inner = copy(self)
            inner.header = self.header["bundled"][name]
            inner._set_part(self._prefix + nested_name(name, ""), self._depth + 1)
        return inner

    def _check_version(self, version: object) -> None:
        if type(version) is not int:
            raise damage_error(self.path, "it lacks its format version")
        if version > VERSION:
            raise ValueError(
                f"{self.path} has model format {version}; this version of structlearn reads up to {VERSION}: "
                "upgrade structlearn."
            )
        if version > 2 and not self._file.hashed:
            raise damage_error(self.path, "it lacks its hashes")

    def _check_always_there(self) -> None:
        missing = {"weights", "history"} - self.shapes.keys()
        if missing:
            raise ValueError(f"it lacks {', '.join(sorted(missing))}")
        weights, history = self.shapes["weights"], self.shapes["history"]
        if len(weights) != 1 or self._entry("weights").kind.kind != "f":
            raise ValueError(f"its weights must be a vector of numbers, but have the shape {weights}")
        if history[1:] != (HISTORY_COLUMNS,) or self._entry("history").kind.kind != "f":
            raise ValueError(f"its history is of shape {history}")

    def _entry(self, name: str) -> TensorEntry:
        """Return what the file holds of an array: all of it, or what is not zero."""
        name = self._prefix + name
        return self._file.entries[f"{name}:{VALUE}" if name in self._sparse else name]

    def load(self, name: str, *, sized: bool = False) -> np.ndarray:
        """Return an array, its hash compared; numbers must be finite, but those of the history.

        `sized` says that its shape is known to be right. Else a mostly-zero array may not be much larger than
        what the file holds of it.
        """
        with refuse_damaged(self.path):
            shape, whole = self.shapes[name], self._prefix + name
            if whole not in self._sparse:
                return self._finite(name, whole)
            if not sized:
                check_density(name, shape, prod(self._entry(name).shape))
            value = self._finite(name, f"{whole}:{VALUE}")
            index = next(one for one in (f"{whole}:{GAPS}", f"{whole}:{INDEX}") if one in self._file.entries)
            return expand_array(name, shape, self._file.load(index), value)

    def n_nonzero(self, name: str) -> int:
        """Return the number of entries of an array that are not zero."""
        return int(np.count_nonzero(self._file.load(f"{name}:{VALUE}" if name in self._sparse else name)))

    def _finite(self, name: str, part: str) -> np.ndarray:
        found = self._file.load(part)
        if name != "history" and found.dtype.kind == "f" and not np.isfinite(found).all():
            raise ValueError(f"{name} has numbers that are not finite")
        return found

    def load_all(self, prefix: str) -> dict[str, np.ndarray]:
        """Return the arrays whose names begin with `prefix`, by the rest of their names."""
        return {name.removeprefix(prefix): self.load(name) for name in self.shapes if name.startswith(prefix)}

    def verify(self) -> None:
        """Read everything, and compare hashes; ValueError if something is damaged."""
        for name in self._file.entries:
            self._file.load(name)


def nested_name(model: str, array: str) -> str:
    """Return what an array of a model inside another is called."""
    return f"bundled:{model}:{array}"


def text_array(lines: Iterable[str]) -> np.ndarray:
    """Return lines as a file holds them: their bytes, a newline after each."""
    return np.frombuffer("".join(f"{line}\n" for line in lines).encode(), dtype=np.uint8)


def text_lines(text: np.ndarray) -> list[str]:
    """Return the inverse of `text_array`."""
    if text.dtype != np.uint8:
        raise ValueError("its text arrays are not UTF-8 bytes")
    return bytes(text).decode().split("\n")[:-1]
