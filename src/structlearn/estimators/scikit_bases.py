"""Scikit-learn's classes as bases of estimators, from the moment on that scikit-learn is imported.

Importing scikit-learn takes longer than all else that an estimator needs in order to predict. So estimators
inherit from the classes of this module, whose own bases at first have parameters by name and little more. As
soon as anything imports `sklearn.base`, its classes take their place: whoever can ask whether an estimator is
one of scikit-learn's has imported it. What only these classes can answer imports it, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from types import MethodType
from typing import Any, Self

from structlearn.core.imports import after_import

# ---- until scikit-learn is imported --------------------------------------------------------------------


class _Parameters:
    """A dataclass whose fields are its parameters."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(field.name for field in fields(cls) if field.init)  # type: ignore[arg-type]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters, by name."""
        found = {name: getattr(self, name) for name in self._get_param_names()}
        if deep and any(hasattr(value, "get_params") for value in found.values()):
            return _ask(BaseEstimator, self, "get_params")(deep)
        return found

    def set_params(self, **parameters: object) -> Self:
        """Set parameters; returns the estimator."""
        if not parameters.keys() <= set(self._get_param_names()):
            return _ask(BaseEstimator, self, "set_params")(**parameters)
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def get_metadata_routing(self) -> Any:
        """Return what metadata the methods ask for, as scikit-learn describes it."""
        return _ask(BaseEstimator, self, "get_metadata_routing")()

    def __repr__(self) -> str:
        return _ask(BaseEstimator, self, "__repr__")()

    def _repr_mimebundle_(self, **options: object) -> Any:
        return _ask(BaseEstimator, self, "_repr_mimebundle_")(**options)

    def __sklearn_tags__(self) -> Any:
        return _ask(BaseEstimator, self, "__sklearn_tags__")()


class _Classes:
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy."""
        return _ask(ClassifierMixin, self, "score")(X, y, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        return _ask(ClassifierMixin, self, "__sklearn_tags__")()


class _Numbers:
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination."""
        return _ask(RegressorMixin, self, "score")(X, y, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        return _ask(RegressorMixin, self, "__sklearn_tags__")()


def _ask(kind: type, model: object, name: str) -> Callable[..., Any]:
    """Return the method of the base of `kind` that scikit-learn has."""
    import sklearn.base  # noqa: F401  (which calls `_adopt_bases`)

    return getattr(super(kind, model), name)


# ---- what estimators inherit from ----------------------------------------------------------------------


class BaseEstimator(_Parameters):
    """An estimator with parameters."""


class ClassifierMixin(_Classes):
    """A classifier."""


class RegressorMixin(_Numbers):
    """A regressor."""


def _adopt_bases() -> None:
    """Put scikit-learn's classes in the place of those of this module, below all estimators there are."""
    theirs = sys.modules["sklearn.base"]
    for ours in (BaseEstimator, ClassifierMixin, RegressorMixin):
        ours.__bases__ = (getattr(theirs, ours.__name__),)
    for kind in _with_subclasses(BaseEstimator):  # as their base does for those that are made later
        theirs.BaseEstimator.__init_subclass__.__func__(kind)


def _with_subclasses(kind: type) -> list[type]:
    """Return a class and all that inherit from it, bases first."""
    found = [kind]
    for one in found:  # which grows
        found += one.__subclasses__()
    return list(dict.fromkeys(reversed(found)))[::-1]


after_import("sklearn.base", _adopt_bases)


# ---- methods that some models have ---------------------------------------------------------------------


class _Conditional:
    """A method as scikit-learn's `available_if` makes it."""

    def __init__(self, function: Callable[..., Any], check: Callable[[Any], bool]) -> None:
        self._function, self._check = function, check
        self.__doc__, self.__name__ = function.__doc__, function.__name__

    def __get__(self, model: object, owner: type) -> Callable[..., Any]:
        if model is not None:
            self._demand(model, owner)
            return MethodType(self._function, model)

        @wraps(self._function)
        def unbound(model: object, *arguments: object, **options: object) -> object:
            self._demand(model, owner)
            return self._function(model, *arguments, **options)

        return unbound

    def _demand(self, model: object, owner: type) -> None:
        missing = AttributeError(f"This {owner.__name__!r} has no attribute {self._function.__name__!r}")
        try:
            there = self._check(model)
        except Exception as error:
            raise missing from error
        if not there:
            raise missing


def available_if(check: Callable[[Any], bool]) -> Callable[[Callable[..., Any]], _Conditional]:
    """Make a method that exists only if the check of its object passes; else it raises AttributeError."""
    return lambda function: _Conditional(function, check)
