"""What a model file must hold of an estimator: forms of what `fit` has set, and sizes that agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from dataclasses import MISSING, fields
from functools import cache
from math import isfinite
from typing import Any, ClassVar, NamedTuple, Protocol, get_type_hints

import numpy as np

from structlearn.core.forms import form
from structlearn.estimators.loss_choice import AUTO
from structlearn.problem.registry import losses_of
from structlearn.solvers.solution import Certificate
from structlearn.storage.schema import check_form
from structlearn.structures.registry import count as count

#: The loss of files that name none: the default of the versions that wrote them.
FORMER_LOSS = "hinge"


@form("a finite number")
def number(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value)


@form("a positive number")
def positive(value: object) -> bool:
    return number(value) and value > 0  # type: ignore[operator]


@form("an array of labels")
def label_array(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.size > 0


@form("an array of names")
def name_array(value: object) -> bool:
    return label_array(value) and all(isinstance(one, str) for one in value.tolist())  # type: ignore[attr-defined]


@form("an array of labels, or nothing")
def labels_if_any(value: object) -> bool:
    return value is None or label_array(value)


@form("an array of finite numbers")
def numbers(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and bool(np.isfinite(value).all())


@form("a row of finite numbers")
def row_of_numbers(value: object) -> bool:
    return numbers(value) and value.ndim == 1 and value.size > 0  # type: ignore[attr-defined]


@form("an array of codes")
def codes(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu"


class StoredForm(NamedTuple):
    """How an estimator is stored, declared by its class.

    fitted : what `fit` sets, by name, and its form. Weights have sizes of their own, see `check_sizes`
    structures : names of the structures that it may have, None for none; empty where it may have any
    n_labels : from the classes to the number of the structure's labels
    counts : names of arrays of whole numbers that files hold in as few bytes as they need
    """

    fitted: Mapping[str, object]
    structures: tuple[str | None, ...] = ()
    n_labels: Callable[[Sized], int] = len
    counts: tuple[str, ...] = ()


class Storable(Protocol):
    """What model files must know of an estimator."""

    _stored: ClassVar[StoredForm]
    output_kind: ClassVar[str]

    @classmethod
    def _get_param_names(cls) -> list[str]: ...

    def _weight_counts(self) -> set[int]:
        """Return the numbers of weights that there may be: with and without an intercept."""

    def _check_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Raise ValueError if arrays that `fit` has set do not fit together."""


@cache
def _parameter_forms(kind: type[Storable]) -> dict[str, object]:
    """Return the forms of an estimator's parameters, which are their type hints."""
    hints = get_type_hints(kind)
    return {f"{name}?": hints[name] for name in kind._get_param_names()}


def check_parameters(kind: type[Storable], parameters: Mapping[str, object]) -> None:
    """Raise ValueError for parameters that an estimator does not have, or that have another type."""
    forms = _parameter_forms(kind)
    for name in parameters:
        if f"{name}?" not in forms:
            raise ValueError(f"parameters.{name} is none of {kind.__name__}")
    check_form(parameters, forms, "parameters")
    if "loss" in parameters and parameters["loss"] not in (AUTO, *losses_of(kind.output_kind)):
        raise ValueError(f"parameters.loss is none of {kind.__name__}")


def check_fitted(kind: type[Storable], fitted: Mapping[str, Any]) -> None:
    """Raise ValueError for attributes that `fit` would not have set."""
    for name in fitted:
        if not name.isidentifier() or name.startswith("__") or hasattr(kind, name):
            raise ValueError(f"fitted.{ascii(name)[1:-1]} is nothing that fit sets")
    check_form(fitted, {"loss_?": str, "_frequencies?": row_of_numbers, **kind._stored.fitted}, "fitted")
    names = fitted.get("feature_names_in_")
    if names is not None:
        check_form(names, name_array, "fitted.feature_names_in_")
        if len(names) != fitted["n_features_in_"]:
            raise ValueError(f"fitted.feature_names_in_ must be {fitted['n_features_in_']} names")


def take_loss(estimator: Any, parameters: Mapping[str, Any], fitted: dict[str, Any]) -> None:
    """Set the loss that was trained among what `fit` has set: in older files that is the parameter."""
    if not hasattr(estimator, "loss"):
        return
    former = parameters.get("loss", FORMER_LOSS)
    taken = fitted.setdefault("loss_", former)
    if taken not in losses_of(estimator.output_kind):
        raise ValueError(f"fitted.loss_ is not a loss of {type(estimator).__name__}")
    estimator.loss = former


def check_structure_header(
    kind: type[Storable], description: Mapping[str, Any] | None, fitted: Mapping[str, Any]
) -> None:
    """Raise ValueError for a structure that the estimator does not have.

    This comes before one is made, which takes memory.
    """
    name, stored = None if description is None else description["name"], kind._stored
    if stored.structures and name not in stored.structures:
        raise ValueError(f"structure.name must be {' or '.join(map(str, stored.structures))}")
    if description is None or "classes_" not in fitted:
        return
    n = stored.n_labels(fitted["classes_"])
    if description["arguments"].get("n_labels") != n:
        raise ValueError(f"structure.arguments.n_labels must be {n}, the number of classes")


def check_sizes(estimator: Storable, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise ValueError if the sizes of a model's arrays, which may not be read yet, do not agree."""
    (size,) = shapes["weights"]
    if size not in (possible := estimator._weight_counts()):
        raise ValueError(f"it has {size} weights, not {' or '.join(map(str, sorted(possible)))}")
    found = {
        name: np.shape(value) for name, value in vars(estimator).items() if isinstance(value, np.ndarray)
    }
    estimator._check_shapes({**found, **shapes})


def fits_its_weights(estimator: Any) -> bool:
    """Whether the parameters go with the weights of a fitted estimator, as a reader of its file checks."""
    try:
        return estimator.weights_.size in estimator._weight_counts()
    except ValueError:
        return False


def check_shape(shapes: Mapping[str, tuple[int, ...]], name: str, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless what `fit` has set under this name is of this shape."""
    found = shapes.get(f"fitted:{name}", shapes.get(name))
    if found != shape:
        raise ValueError(f"{name} must be of shape {shape}, not {found}")


def read_certificate(values: Mapping[str, Any]) -> Certificate:
    """Read the certificate of a file; ValueError if it is not valid."""
    hints = get_type_hints(Certificate)
    optional = {field.name for field in fields(Certificate) if field.default is not MISSING}
    form = {f"{name}?" if name in optional else name: hint for name, hint in hints.items()}
    if not values.keys() <= hints.keys():
        raise ValueError(f"certificate must be of {', '.join(hints)}")
    check_form(values, form, "certificate")
    return Certificate(**values)
