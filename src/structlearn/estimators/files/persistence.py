"""Saving and loading estimators (`storage.model_file` has the files, `apps.registry` `structlearn.load`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from structlearn import structures
from structlearn.core.registry import resolve_name
from structlearn.estimators import ESTIMATORS
from structlearn.estimators.base import StructuredEstimator
from structlearn.estimators.files import attributes as forms
from structlearn.estimators.files.values import build, describe, from_json, is_plain, to_json
from structlearn.estimators.inputs.token_features import TokenFeatures
from structlearn.estimators.mapped import MappedRows
from structlearn.estimators.scikit import check_is_fitted
from structlearn.estimators.sequences import SequenceEstimator
from structlearn.estimators.training.fresh_fit import has_other_layout, keep_layout
from structlearn.solvers.solution import History, Row
from structlearn.storage.compact import narrow_floats
from structlearn.storage.model_file import (
    ModelFile,
    nested_name,
    refuse_damaged,
    text_array,
    text_lines,
    write_model,
)
from structlearn.structures.unshared import Whole

#: Longer arrays of numbers are no part of the header.
_MOST_IN_HEADER = 10_000
#: An array whose shape follows from the rest of the model, as that of the weights does.
_LABEL_WEIGHTS = "fitted:label_weights_"
#: What is stored under names of its own.
_OWN = {
    "weights_",
    "structure_",
    "certificate_",
    "history_",
    "_solution",
    "_start",
    "_input_names",
    "row_transformer_",
    "_n_mapped",
    "_layout",
    "features_",
}
#: What the arrays of a map of rows are called.
_OF_MAP = "row_map:"
#: Likewise those of features that have names.
_OF_FEATURES = "features:"


@dataclass(frozen=True)
class Bundle:
    """An estimator with what an application keeps beside it: JSON notes, texts, arrays and models by name."""

    estimator: Any
    notes: dict = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    #: models inside this one, by name
    bundled: dict[str, Bundle] = field(default_factory=dict)


def save(estimator: StructuredEstimator, path: str | Path) -> None:
    """Write a fitted estimator to `path`."""
    save_bundle(Bundle(estimator), path)


# ---- writing ---------------------------------------------------------------------------------------


def save_bundle(bundle: Bundle, path: str | Path) -> None:
    """Write a model; one that is no estimator of ours says itself what a file holds of it."""
    own = getattr(bundle.estimator, "model_parts", None)
    write_model(path, *(_parts(bundle) if own is None else own(bundle.notes)))


def _parts(bundle: Bundle) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    """Return the header and the arrays of a model, with those of the models inside."""
    estimator = bundle.estimator
    check_is_fitted(estimator, "weights_")
    if has_other_layout(estimator) or not forms.fits_its_weights(estimator):
        raise ValueError(
            "Parameters that decide how many weights there are have changed since the model was fitted: set "
            "them back, or fit again, before you save it."
        )
    parameters = estimator.get_params(deep=False)
    fitted = {k: v for k, v in sorted(vars(estimator).items()) if k not in _OWN and k not in parameters}
    row_map, arrays_of_map = _row_map(estimator)
    features, arrays_of_features = _features(estimator)
    for name in set(estimator._stored.counts) & set(fitted):
        fitted[name] = fitted[name].astype(np.min_scalar_type(fitted[name].max(initial=0)))
    large = {name: value for name, value in fitted.items() if _is_large(value)}
    header = {
        "estimator": type(estimator).__name__,
        "parameters": stored_parameters(estimator),
        "scoring": getattr(estimator, "scoring", None) is not None,
        "structure": describe(estimator.structure_),
        "fitted": {name: to_json(value) for name, value in fitted.items() if name not in large},
        "certificate": estimator.certificate_.as_dict(),
        "notes": bundle.notes,
        **row_map,
        **features,
    }
    tensors = {
        "weights": narrow_floats(estimator.weights_),
        "history": history_array(estimator.history_),
        **{f"fitted:{name}": value for name, value in large.items()},
        **{f"{_OF_MAP}{name}": value for name, value in arrays_of_map.items()},
        **{f"{_OF_FEATURES}{name}": value for name, value in arrays_of_features.items()},
        **{f"text:{name}": text_array(lines) for name, lines in bundle.texts.items()},
        **{f"array:{name}": value for name, value in bundle.arrays.items()},
    }
    inside = {name: _parts(inner) for name, inner in bundle.bundled.items()}
    if inside:
        header["bundled"] = {name: about for name, (about, _) in inside.items()}
    for name, (_, arrays) in inside.items():
        tensors |= {nested_name(name, one): value for one, value in arrays.items()}
    return header, tensors


def _row_map(estimator: StructuredEstimator) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    """Return the header's entry for the map of the rows, if there is one, and its arrays."""
    if not hasattr(estimator, "row_transformer_"):
        return {}, {}
    from structlearn.estimators.row_maps.stored import stored_transformer, write_steps

    steps, arrays = write_steps(stored_transformer(estimator.row_transformer_))
    return {"row_map": steps}, arrays


def _features(estimator: StructuredEstimator) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    """Return the header's entry for features with names, and their arrays."""
    if not isinstance(estimator, SequenceEstimator) or not hasattr(estimator, "features_"):
        return {}, {}
    about, arrays = estimator.features_.to_stored()
    return {"features": about}, arrays


def stored_parameters(estimator: StructuredEstimator) -> dict[str, object]:
    """Return the parameters of an estimator as the header holds them."""
    return {k: to_json(v) for k, v in estimator.get_params(deep=False).items() if is_plain(v)}


def _is_large(value: object) -> bool:
    """Whether a value is an array of numbers that would make the header long."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.size > _MOST_IN_HEADER


def history_array(history: History) -> np.ndarray:
    """Return the history as model files hold it: one row per evaluation."""
    return np.array(history.rows, dtype=np.float64).reshape(-1, len(Row._fields))


# ---- reading ---------------------------------------------------------------------------------------


def load_bundle(path: str | Path, structure: object = None, scoring: object = None) -> Bundle:
    """Read an estimator and what an application keeps beside it."""
    return _bundle_of(ModelFile(path), structure, scoring)


def _bundle_of(file: ModelFile, structure: object = None, scoring: object = None) -> Bundle:
    kind = file.header["estimator"]
    if not isinstance(kind, str) or kind not in ESTIMATORS:
        raise unknown(file.path, kind)
    estimator = resolve_name(ESTIMATORS[kind].made)()
    with refuse_damaged(file.path):
        parameters = {name: from_json(value) for name, value in file.header["parameters"].items()}
        forms.check_parameters(type(estimator), parameters)
        estimator.set_params(**parameters)
        _set_fitted(estimator, file)
        _set_row_map(estimator, file)
        _set_features(estimator, file)
        if hasattr(estimator, "structure"):
            _check_own(file, estimator, structure, scoring)
            own = build(file.header["structure"]) if structure is None else structure
            given = {"structure": own, "scoring": scoring}
            estimator.set_params(**{name: one for name, one in given.items() if hasattr(estimator, name)})
        estimator.structure_ = _structure(estimator, file.header)
        forms.check_sizes(estimator, file.shapes)
        estimator.certificate_ = forms.read_certificate(file.header["certificate"])
        estimator.history_ = history_of(file.load("history"))
        texts = {name: text_lines(text) for name, text in file.load_all("text:").items()}
    estimator.weights_ = file.load("weights", sized=True).astype(np.float64, copy=False)
    if _LABEL_WEIGHTS in file.shapes:
        estimator.label_weights_ = file.load(_LABEL_WEIGHTS, sized=True)
    keep_layout(estimator)
    inside = {name: _bundle_of(file.nested_model(name)) for name in file.header.get("bundled", {})}
    return Bundle(estimator, file.header["notes"], texts, file.load_all("array:"), inside)


def _set_fitted(estimator: StructuredEstimator, file: ModelFile) -> None:
    fitted = {name: from_json(value) for name, value in file.header["fitted"].items()}
    for name in file.shapes:
        if name.startswith("fitted:") and name != _LABEL_WEIGHTS:
            fitted[name.removeprefix("fitted:")] = file.load(name)
    forms.check_fitted(type(estimator), fitted)
    forms.take_loss(estimator, file.header["parameters"], fitted)
    forms.check_structure_header(type(estimator), file.header["structure"], fitted)
    for name, value in fitted.items():
        setattr(estimator, name, value)


def _set_row_map(estimator: StructuredEstimator, file: ModelFile) -> None:
    """Set the map of the rows from its arrays; a further `fit` applies the same map."""
    if "row_map" not in file.header:
        return
    if not isinstance(estimator, MappedRows):
        raise ValueError(f"row_map is nothing that {type(estimator).__name__} has")
    from structlearn.estimators.row_maps.stored import read

    names = [name.removeprefix(_OF_MAP) for name in file.shapes if name.startswith(_OF_MAP)]
    found = read(file.header["row_map"], lambda name: file.load(f"{_OF_MAP}{name}"), names)
    if found.n_features_in_ != estimator.n_features_in_:
        raise ValueError(f"its row map takes {found.n_features_in_} features, not {estimator.n_features_in_}")
    estimator.row_transformer = found
    estimator.take_row_map(found, found.n_outputs)


def _set_features(estimator: StructuredEstimator, file: ModelFile) -> None:
    """Set the names of the features, if the file has them."""
    if "features" not in file.header:
        return
    if not isinstance(estimator, SequenceEstimator):
        raise ValueError(f"features is nothing that {type(estimator).__name__} has")
    found = TokenFeatures.from_stored(file.header["features"], file.load_all(_OF_FEATURES))
    if found.n_features != estimator.n_features_in_:
        raise ValueError(f"it has {found.n_features} features, not {estimator.n_features_in_}")
    estimator.features_ = found


def _check_own(file: ModelFile, estimator: StructuredEstimator, structure: object, scoring: object) -> None:
    """Raise ValueError unless the user gives what a file cannot hold."""
    of = f"{file.path} was trained with a"
    if file.header.get("scoring") and scoring is None:
        raise ValueError(f"{of} scoring of the user's own: pass it, load(path, scoring=...).")
    needed = not getattr(estimator, "takes_instances", False)
    if structure is None and file.header["structure"] is None and needed:
        raise ValueError(f"{of} structure of the user's own: pass it, load(path, structure=...).")


def _structure(estimator: StructuredEstimator, header: Mapping) -> structures.Structure | None:
    given = getattr(estimator, "structure", None)
    if given is None:
        return build(header["structure"])
    found = structures.as_structure(given)
    return Whole(found) if found.n_shared else found


def history_of(values: np.ndarray) -> History:
    """Invert `history_array`; ValueError for counts that are not valid."""
    try:
        return History(map(_row, values))
    except (OverflowError, ValueError):
        raise ValueError("its history counts what cannot be counted") from None


def _row(values: np.ndarray) -> Row:
    row = Row(*values.tolist())
    return row._replace(iteration=int(row.iteration), oracle_calls=int(row.oracle_calls))


def unknown(path: str | Path, kind: object) -> ValueError:
    """Return the error for a file of a later version."""
    return ValueError(f"{path} holds a {ascii(kind)[:40]}, which this version of structlearn does not know.")
