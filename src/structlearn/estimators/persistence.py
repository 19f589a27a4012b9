"""Saving and loading estimators (see `model_file` for the files, `apps.registry` for `structlearn.load`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import structlearn
from structlearn import structures
from structlearn.core.contract import Array
from structlearn.estimators import forms
from structlearn.estimators.base import StructuredEstimator
from structlearn.estimators.scikit import check_is_fitted
from structlearn.estimators.stored import build, describe, from_json, is_plain, to_json
from structlearn.storage.model_file import ModelFile, damaged, history_array, history_of, write_model
from structlearn.structures.whole import Whole

#: Longer arrays of numbers are no part of the header.
_MOST_IN_HEADER = 10_000
#: Arrays whose shapes follow from the rest of the model.
_SIZED = ("weights", "fitted:label_weights_")


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


# ---- writing ---------------------------------------------------------------------------------------


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
            name: to_json(getattr(estimator, name))
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


def stored_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator as the header holds them."""
    return {k: to_json(v) for k, v in estimator.get_params(deep=False).items() if is_plain(v)}


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


# ---- reading ---------------------------------------------------------------------------------------


def load_bundle(path: str | Path, structure: Any = None, scoring: Any = None) -> Bundle:
    """Read an estimator and what an application keeps beside it."""
    file = ModelFile(path)
    kind = file.header["estimator"]
    if kind not in structlearn.estimators.__all__:
        raise unknown(path, kind)
    estimator = getattr(structlearn.estimators, kind)()
    try:
        _set_parameters(estimator, file.header)
        _set_fitted(estimator, file)
        if kind == "StructuredPredictor":
            _check_own(path, file.header, structure, scoring)
            own = build(file.header["structure"]) if structure is None else structure
            estimator.set_params(structure=own, scoring=scoring)
        estimator.structure_ = _structure(estimator, file.header)
        forms.check_sizes(estimator, file.shapes)
        estimator.certificate_ = forms.read_certificate(file.header["certificate"])
        estimator.history_ = history_of(file.load("history"))
        texts = {name: _lines(file.load(f"text:{name}")) for name in _named(file, "text:")}
    except ValueError as error:
        raise error if str(error).startswith(str(path)) else damaged(path, error) from None
    estimator.weights_ = file.load("weights", sized=True)
    for name in _named(file, "fitted:"):
        if f"fitted:{name}" in _SIZED:
            setattr(estimator, name, file.load(f"fitted:{name}", sized=True))
    arrays = {name: file.load(f"array:{name}") for name in _named(file, "array:")}
    return Bundle(estimator, file.header["notes"], texts, arrays)


def _set_parameters(estimator: Any, header: dict[str, Any]) -> None:
    parameters = {name: from_json(value) for name, value in header["parameters"].items()}
    forms.check_parameters(type(estimator), parameters)
    estimator.set_params(**parameters)


def _set_fitted(estimator: Any, file: ModelFile) -> None:
    fitted = {name: from_json(value) for name, value in file.header["fitted"].items()}
    for name in _named(file, "fitted:"):
        if f"fitted:{name}" not in _SIZED:
            fitted[name] = file.load(f"fitted:{name}")
    forms.check_fitted(type(estimator), fitted)
    forms.check_structure(type(estimator), file.header["structure"], fitted)
    for name, value in fitted.items():
        setattr(estimator, name, value)


def _check_own(path: str | Path, header: dict[str, Any], structure: Any, scoring: Any) -> None:
    """What is the user's own is not in the file."""
    if header.get("scoring") and scoring is None:
        raise ValueError(
            f"{path} was trained with a scoring of the user's own: pass it, load(path, scoring=...)."
        )
    if structure is None and header["structure"] is None:
        raise ValueError(
            f"{path} was trained with a structure of the user's own: pass it, load(path, structure=...)."
        )


def _structure(estimator: Any, header: dict[str, Any]) -> Any:
    given = getattr(estimator, "structure", None)
    if given is None:
        return build(header["structure"])
    found = structures.as_structure(given)
    return Whole(found) if found.n_shared else found


def _named(file: ModelFile, prefix: str) -> list[str]:
    return [name.removeprefix(prefix) for name in file.shapes if name.startswith(prefix)]


def _lines(text: Array) -> list[str]:
    if text.dtype != np.uint8:
        raise ValueError("its texts are none")
    return bytes(text).decode().split("\n")[:-1]


def unknown(path: str | Path, kind: Any) -> ValueError:
    """The refusal of a file of a later version."""
    return ValueError(f"{path} holds a {ascii(kind)[:40]}, which this version of structlearn does not know.")
