"""What stands in for scikit-learn's classes in a process that only predicts: parameters by name, no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from types import MethodType
from typing import Any


class BaseEstimator:
    """A dataclass whose fields are its parameters."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(field.name for field in fields(cls) if field.init)  # type: ignore[arg-type]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters, by name."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **parameters: Any) -> Any:
        """Set parameters; returns the estimator."""
        for name, value in parameters.items():
            if name not in self._get_param_names():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}.")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """For what scikit-learn is asked to refuse after all."""
        from sklearn.base import BaseEstimator as Real

        return Real.__sklearn_tags__(self)


class ClassifierMixin:
    """A classifier."""


class RegressorMixin:
    """A regressor."""


def available_if(check: Callable[[Any], bool]) -> Callable[[Callable[..., Any]], property]:
    """A method that is there only if the check of its object passes, which else raises AttributeError."""

    def method_of(function: Callable[..., Any]) -> property:
        def bound(self: Any) -> Any:
            check(self)
            return MethodType(function, self)

        return property(bound, doc=function.__doc__)

    return method_of
