"""What stands in for scikit-learn's classes in a process that only predicts: parameters by name, no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from types import MethodType
from typing import Self


class BaseEstimator:
    """A dataclass whose fields are its parameters."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(field.name for field in fields(cls) if field.init)  # type: ignore[arg-type]

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return all parameters, by name."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **parameters: object) -> Self:
        """Set parameters; returns the estimator."""
        for name, value in parameters.items():
            if name not in self._get_param_names():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}.")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> object:
        """Return the tags, for what scikit-learn is asked to refuse after all."""
        from sklearn.base import BaseEstimator as Real

        return Real.__sklearn_tags__(self)


class ClassifierMixin:
    """A classifier."""


class RegressorMixin:
    """A regressor."""


def available_if(check: Callable[[object], bool]) -> Callable[[Callable[..., object]], property]:
    """Make a method that exists only if the check of its object passes; else it raises AttributeError."""

    def method_of(function: Callable[..., object]) -> property:
        def bind(self: object) -> MethodType:
            check(self)
            return MethodType(function, self)

        return property(bind, doc=function.__doc__)

    return method_of
