"""What a model file must hold, estimator by estimator: forms of what `fit` has set, and sizes that agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from math import isfinite
from typing import Any, Literal, get_type_hints

import numpy as np

from structlearn import estimators
from structlearn.estimators.stored import count
from structlearn.solvers import Certificate
from structlearn.storage.schema import check_form
from structlearn.structures import ConditionedChain


def number(value: Any) -> bool:
    """a finite number"""
    return isinstance(value, int | float) and isfinite(value)


def labels(value: Any) -> bool:
    """an array of labels"""
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.size > 0


def labels_if_any(value: Any) -> bool:
    """an array of labels, or nothing"""
    return value is None or labels(value)


def numbers(value: Any) -> bool:
    """an array of finite numbers"""
    return isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and bool(np.isfinite(value).all())


def codes(value: Any) -> bool:
    """an array of codes"""
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu"


#: What `fit` of each estimator has set. Weights have sizes of their own, see `check_sizes`.
_FITTED: dict[str, dict[str, Any]] = {
    "BinaryClassifier": {"classes_": labels, "n_features_in_": count},
    "MulticlassClassifier": {"classes_": labels, "n_features_in_": count},
    "MultiLabelClassifier": {
        "classes_": labels,
        "n_features_in_": count,
        "_form": Literal["matrix", "vector", "sets"],
    },
    "ChainClassifier": {"classes_": labels, "n_features_in_": count},
    "MatchingClassifier": {"n_features_in_": count, "_answers_vectors": bool},
    "StructuredPredictor": {"n_features_in_": count},
    "CutSegmenter": {
        "classes_": labels,
        "n_features_in_": count,
        "contrast_": number,
        "_n_edge_features": count,
    },
    "TreeParser": {
        "templates_": list[str],
        "known_": codes,
        "labels_": labels_if_any,
        "label_weights_?": numbers,
    },
    "LinearRegressor": {
        "n_features_in_": count,
        "intercept_": number,
        "noise_variance_": number,
        "posterior_covariance_?": numbers,
        "_feature_means?": numbers,
        "_n_examples?": number,
    },
}
#: The structures that each may have.
_STRUCTURES: dict[str, tuple[str | None, ...]] = {
    "BinaryClassifier": ("Cube",),
    "MulticlassClassifier": ("Simplex",),
    "MultiLabelClassifier": ("Cube", "LabelGraph"),
    "ChainClassifier": ("Chain", "ConditionedChain"),
    "MatchingClassifier": ("Matching",),
    "CutSegmenter": (None,),
    "TreeParser": ("ProjectiveTree", "NonProjectiveTree"),
    "LinearRegressor": (None,),
}


@cache
def _parameter_forms(kind: type) -> dict[str, Any]:
    """The hints of an estimator's parameters are their forms."""
    hints = get_type_hints(kind)
    return {f"{name}?": hints[name] for name in kind._get_param_names()}  # type: ignore[attr-defined]


def check_parameters(kind: type, parameters: Mapping[str, Any]) -> None:
    """ValueError for parameters that an estimator does not have, or of another type."""
    forms = _parameter_forms(kind)
    for name in parameters:
        if f"{name}?" not in forms:
            raise ValueError(f"parameters.{name} is none of {kind.__name__}")
    check_form(parameters, forms, "parameters")
    if "loss" in parameters and parameters["loss"] not in kind._losses:  # type: ignore[attr-defined]
        raise ValueError(f"parameters.loss is none of {kind.__name__}")


def check_fitted(kind: type, fitted: Mapping[str, Any]) -> None:
    """ValueError for what `fit` would not have set."""
    for name in fitted:
        if not name.isidentifier() or name.startswith("__") or hasattr(kind, name):
            raise ValueError(f"fitted.{ascii(name)[1:-1]} is nothing that fit sets")
    check_form(fitted, _FITTED[kind.__name__], "fitted")


def check_structure(kind: type, description: Mapping[str, Any] | None, fitted: Mapping[str, Any]) -> None:
    """ValueError for a structure that the estimator does not have; before one is made, which takes memory."""
    name = None if description is None else description["name"]
    if name not in _STRUCTURES.get(kind.__name__, (name,)):
        raise ValueError(f"structure.name must be {' or '.join(map(str, _STRUCTURES[kind.__name__]))}")
    if description is None or "classes_" not in fitted:
        return
    n = 1 if kind is estimators.BinaryClassifier else len(fitted["classes_"])
    if description["arguments"].get("n_labels") != n:
        raise ValueError(f"structure.arguments.n_labels must be {n}, the number of classes")


def check_sizes(estimator: Any, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """ValueError if the sizes of a model's arrays, which may not be read yet, do not agree."""
    _check_transitions(estimator)
    (size,) = shapes["weights"]
    if size not in (possible := _sizes(estimator)):
        raise ValueError(f"it has {size} weights, not {' or '.join(map(str, sorted(possible)))}")
    if isinstance(estimator, estimators.BinaryClassifier) and len(estimator.classes_) != 2:
        raise ValueError(f"it has {len(estimator.classes_)} classes, not 2")
    known = {**_shapes_of(estimator), **shapes}
    if isinstance(estimator, estimators.TreeParser) and estimator.labels_ is not None:
        _check_shape(known, "label_weights_", (1 << estimator.label_bits, len(estimator.labels_)))
    if isinstance(estimator, estimators.LinearRegressor) and hasattr(estimator, "posterior_covariance_"):
        _check_shape(known, "posterior_covariance_", (size, size))
        _check_shape(known, "_feature_means", (size,))


def _check_shape(shapes: Mapping[str, tuple[int, ...]], name: str, shape: tuple[int, ...]) -> None:
    found = shapes.get(f"fitted:{name}", shapes.get(name))
    if found != shape:
        raise ValueError(f"{name} must be of shape {shape}, not {found}")


def _shapes_of(estimator: Any) -> dict[str, tuple[int, ...]]:
    return {name: np.shape(value) for name, value in vars(estimator).items() if isinstance(value, np.ndarray)}


def _check_transitions(estimator: Any) -> None:
    columns = getattr(estimator, "transition_features", None)
    if columns is None:
        return
    columns = np.asarray(columns)
    inside = columns.ndim == 1 and columns.size and columns.dtype.kind in "iu"
    if not inside or not 0 <= columns.min() <= columns.max() < estimator.n_features_in_:
        raise ValueError("parameters.transition_features must be columns of X")
    if not isinstance(estimator.structure_, ConditionedChain):
        raise ValueError("structure.name must be ConditionedChain, since transitions have features")


def _sizes(estimator: Any) -> set[int]:
    """How many weights there may be: with or without an intercept."""
    if isinstance(estimator, estimators.TreeParser):
        bits = (estimator.bits, estimator.label_bits)
        if not all(4 <= number_of <= 30 for number_of in bits):
            raise ValueError("parameters.bits and label_bits must be from 4 to 30")
        return {1 << estimator.bits}
    d = estimator.n_features_in_
    if isinstance(estimator, estimators.LinearRegressor):
        return {d}
    if isinstance(estimator, estimators.CutSegmenter):
        return {d + intercept + estimator._n_edge_features for intercept in (0, 1)}
    if not hasattr(estimator, "classes_"):
        return {d, d + 1}
    structure = estimator.structure_
    others = structure.n_shared + estimator._n_pair_weights
    return {(d + intercept) * structure.n_labels + others for intercept in (0, 1)}


def read_certificate(values: Mapping[str, Any]) -> Certificate:
    """A certificate of a file; ValueError if it is none."""
    hints = get_type_hints(Certificate)
    optional = {field.name for field in fields(Certificate) if field.default is not MISSING}
    form = {f"{name}?" if name in optional else name: hint for name, hint in hints.items()}
    if not values.keys() <= hints.keys():
        raise ValueError(f"certificate must be of {', '.join(hints)}")
    check_form(values, form, "certificate")
    return Certificate(**values)
