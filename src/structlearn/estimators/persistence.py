"""Models as files: one safetensors file, its metadata as JSON in the header. Loading never executes code."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from sklearn.utils.validation import check_is_fitted

import structlearn
from structlearn import structures
from structlearn.contract import Array
from structlearn.estimators.base import StructuredEstimator
from structlearn.estimators.compact import pack, unpack
from structlearn.files import written_aside
from structlearn.solvers import Certificate, History, Row
from structlearn.structures.whole import Whole

FORMAT = "structlearn-model"
#: Since 2, arrays may be written compactly (see `compact`).
VERSION = 2
_KEY = "structlearn"
_MOST_IN_HEADER = 10_000
_STRUCTURES = (
    "Simplex",
    "Cube",
    "LabelGraph",
    "Chain",
    "ConditionedChain",
    "Matching",
    "Cut",
    "ProjectiveTree",
    "NonProjectiveTree",
)
#: What a file may say that it holds, beside estimators, and the module whose class of that name reads it.
_APPLICATIONS = {"Tagger": "structlearn.apps.tagging", "Aligner": "structlearn.apps.alignment.aligner"}


@dataclass(frozen=True)
class Bundle:
    """An estimator with what an application keeps beside it: JSON notes, texts and arrays by name."""

    estimator: Any
    notes: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)


def save(estimator: StructuredEstimator, path: str | Path) -> None:
    """Write a fitted estimator to `path`."""
    save_bundle(Bundle(estimator), path)


def load(path: str | Path, structure: Any = None, scoring: Any = None) -> Any:
    """Read an estimator from `path`, or the application that keeps one there: a `Tagger` or an `Aligner`.

    `structure` (and `scoring`) must be given for a `StructuredPredictor` whose structure is the user's own:
    code is not stored in model files.
    """
    header = read_header(path)
    name = str(header["notes"].get("application", header["estimator"]))
    if name in _APPLICATIONS:
        return getattr(import_module(_APPLICATIONS[name]), name).load(path)
    if name not in structlearn.estimators.__all__:
        raise _unknown(path, name)
    return load_bundle(path, structure, scoring).estimator


def save_bundle(bundle: Bundle, path: str | Path) -> None:
    estimator = bundle.estimator
    check_is_fitted(estimator, "weights_")
    large = _large_arrays(estimator)
    header = {
        "estimator": type(estimator).__name__,
        "parameters": stored_parameters(estimator),
        "scoring": getattr(estimator, "scoring", None) is not None,
        "structure": describe(estimator.structure_),
        "fitted": {
            name: _to_json(getattr(estimator, name))
            for name in sorted(_fitted_names(estimator) - large.keys())
        },
        "certificate": estimator.certificate_.as_dict(),
        "notes": bundle.notes,
    }
    tensors = {"weights": np.ascontiguousarray(estimator.weights_)}
    tensors["history"] = history_array(estimator.history_)
    tensors.update({f"fitted:{name}": value for name, value in large.items()})
    for name, lines in bundle.texts.items():
        tensors[f"text:{name}"] = np.frombuffer(
            "".join(f"{line}\n" for line in lines).encode(), dtype=np.uint8
        )
    tensors |= {f"array:{name}": np.ascontiguousarray(value) for name, value in bundle.arrays.items()}
    write_model(path, header, tensors)


def write_model(path: str | Path, header: dict[str, Any], tensors: dict[str, Array]) -> None:
    """Write a model file: JSON metadata and named arrays, whole or not at all."""
    packed, shapes = pack(tensors)
    header = {"format": FORMAT, "version": VERSION, "library": structlearn.__version__, **header}
    header["sparse"] = shapes
    with written_aside(path) as aside:
        try:
            save_file(packed, aside, metadata={_KEY: json.dumps(header)})
        except SafetensorError as error:
            raise _os_error(error, path) from None


def load_bundle(path: str | Path, structure: Any = None, scoring: Any = None) -> Bundle:
    header, tensors = read_model(path)
    kind = header["estimator"]
    if kind not in structlearn.estimators.__all__:
        raise _unknown(path, kind)
    estimator = getattr(structlearn.estimators, kind)()
    estimator.set_params(**{k: _from_json(v) for k, v in header["parameters"].items()})
    if kind == "StructuredPredictor":
        if structure is None and header["structure"] is not None:
            structure = build(header["structure"])
        estimator.set_params(structure=structure, scoring=scoring)
        if header.get("scoring") and scoring is None:
            raise ValueError(
                f"{path} was trained with a scoring of the user's own: pass it, load(path, scoring=...)."
            )
        if structure is None:
            raise ValueError(
                f"{path} was trained with a structure of the user's own: pass it, load(path, structure=...)."
            )
    for name, value in header["fitted"].items():
        setattr(estimator, name, _from_json(value))
    for name, value in tensors.items():
        if name.startswith("fitted:"):
            setattr(estimator, name.removeprefix("fitted:"), value)
    found = structures.as_structure(structure) if structure is not None else build(header["structure"])
    shared = kind == "StructuredPredictor" and found.n_shared
    estimator.structure_ = Whole(found) if shared else found
    estimator.weights_ = tensors["weights"]
    estimator.certificate_ = Certificate(**header["certificate"])
    estimator.history_ = history_of(tensors["history"])
    texts = {
        name.removeprefix("text:"): bytes(value).decode().split("\n")[:-1]
        for name, value in tensors.items()
        if name.startswith("text:")
    }
    arrays = {
        name.removeprefix("array:"): value for name, value in tensors.items() if name.startswith("array:")
    }
    return Bundle(estimator, header["notes"], texts, arrays)


def read_header(path: str | Path) -> dict[str, Any]:
    """The JSON metadata of a model file."""
    with _opened(path) as file:
        return _header(path, file)


def read_model(path: str | Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """The JSON metadata and the arrays of a model file; ValueError if it is none."""
    with _opened(path) as file:
        header = _header(path, file)
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    try:
        tensors = unpack(tensors, header.get("sparse", {}))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    _check_there(path, {"weights", "history"} - tensors.keys())
    return header, tensors


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    """A safetensors file; ValueError if it is none."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"Model file {path} does not exist.")
    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is not a structlearn model, or it is damaged ({error}).") from None


def _header(path: str | Path, file: Any) -> dict[str, Any]:
    try:
        header = json.loads((file.metadata() or {}).get(_KEY, "null"))
    except ValueError as error:
        raise ValueError(f"{path} is not a structlearn model, or it is damaged ({error}).") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"{path} is a safetensors file but not a structlearn model.")
    if not isinstance(header.get("version"), int):
        raise ValueError(f"{path} is damaged: it lacks its format version.")
    if header["version"] > VERSION:
        raise ValueError(
            f"{path} has model format {header['version']}; this version of structlearn reads up to "
            f"{VERSION}: upgrade structlearn."
        )
    needed = {"estimator", "parameters", "structure", "fitted", "certificate", "notes"}
    _check_there(path, needed - header.keys())
    if not isinstance(header["notes"], dict):
        raise ValueError(f"{path} is damaged: its notes are none.")
    return header


def _check_there(path: str | Path, missing: set[str]) -> None:
    if missing:
        raise ValueError(f"{path} is damaged: it lacks {', '.join(sorted(missing))}.")


def _unknown(path: str | Path, kind: Any) -> ValueError:
    return ValueError(f"{path} holds a {kind!r}, which this version of structlearn does not know.")


def _os_error(error: SafetensorError, path: str | Path) -> OSError:
    """What the operating system said (a full disk, for one), which safetensors keeps in its message only."""
    number = re.search(r"os error (\d+)", str(error))
    code = int(number.group(1)) if number else errno.EIO
    return OSError(code, os.strerror(code), str(path))


def history_array(history: History) -> Array:
    """The history as a model file has it: a row an evaluation."""
    return np.array(history.rows, dtype=np.float64).reshape(-1, len(Row._fields))


def history_of(values: Array) -> History:
    """The inverse of `history_array`."""
    return History(map(_row, values))


def _row(values: Array) -> Row:
    row = Row(*values.tolist())
    return row._replace(iteration=int(row.iteration), oracle_calls=int(row.oracle_calls))


def stored_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator as the header holds them."""
    return {k: _to_json(v) for k, v in estimator.get_params(deep=False).items() if _is_plain(v)}


def _large_arrays(estimator: Any) -> dict[str, Array]:
    """Arrays of numbers that `fit` has set and that would make the header long."""
    found = {name: getattr(estimator, name) for name in sorted(_fitted_names(estimator))}
    return {
        name: np.ascontiguousarray(value)
        for name, value in found.items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.size > _MOST_IN_HEADER
    }


def _fitted_names(estimator: Any) -> set[str]:
    """What `fit` has set, beyond what is stored under names of its own."""
    own = {"weights_", "structure_", "certificate_", "history_", "_solution"}
    parameters = estimator.get_params(deep=False)
    return {name for name in vars(estimator) if name not in own and name not in parameters}


def describe(structure: Any) -> dict[str, Any] | None:
    """Name and arguments of one of our structures; None for a user's own."""
    structure = getattr(structure, "inner", structure)
    name = type(structure).__name__
    if name not in _STRUCTURES:
        return None
    return {"name": name, "arguments": {k: _to_json(v) for k, v in structure.arguments().items()}}


def build(description: Mapping[str, Any] | None) -> Any:
    """The structure that `describe` described."""
    if description is None:
        return None
    if description["name"] not in _STRUCTURES:
        raise ValueError(f"Unknown structure {description['name']!r} in the model file.")
    arguments = {k: _from_json(v) for k, v in description["arguments"].items()}
    return getattr(structures, description["name"])(**arguments)


# ---- values that JSON has no form for --------------------------------------------------------------


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(_is_plain(k) and _is_plain(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, np.ndarray):
        return value.dtype != object
    return value is None or isinstance(value, str | bool | int | float | np.generic)


def _to_json(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": value.dtype.str, "shape": value.shape}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {"pairs": [[_to_json(k), _to_json(v)] for k, v in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_to_json(v) for v in value]}
    if isinstance(value, list):
        return [_to_json(v) for v in value]
    return value


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array(value["array"], dtype=np.dtype(value["dtype"])).reshape(value["shape"])
    if "pairs" in value:
        return {_from_json(k): _from_json(v) for k, v in value["pairs"]}
    return tuple(_from_json(v) for v in value["tuple"])
