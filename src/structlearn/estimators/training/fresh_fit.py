"""A fit replaces all that an earlier one has set; what fails leaves the model as it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np

#: What holds the attributes of the fit before, while the next one runs; and what the layout rests on.
_FORMER, _LAYOUT = "_former", "_layout"


@contextmanager
def fresh_fit(estimator: Any) -> Iterator[None]:
    """Set aside what an earlier fit has set, for `former_of`; put it back whole if the next one fails."""
    state = vars(estimator)
    former = _take_off_fit(estimator)
    state[_FORMER] = dict(former)
    try:
        yield
    except BaseException:
        _take_off_fit(estimator)
        state.update(former)
        raise
    finally:
        state.pop(_FORMER, None)


def _take_off_fit(estimator: Any) -> dict[str, Any]:
    """Take off what a fit sets: what ends in "_", and what the class declares as no parameter."""
    state, declared = vars(estimator), {one.name: one.init for one in fields(estimator)}
    names = [name for name in state if not declared.get(name, not _is_fitted(name))]
    return {name: state.pop(name) for name in names}


def _is_fitted(name: str) -> bool:
    return name == _LAYOUT or (name.endswith("_") and not name.startswith("__"))


def former_of(estimator: Any) -> Mapping[str, Any]:
    """Return what the fit before had set, while the next one runs; nothing where there was none."""
    return vars(estimator).get(_FORMER, {})


def solution_of(estimator: Any) -> Any:
    """Return the solution that a fit with `warm_start` leaves for the next one."""
    return vars(estimator)["_solution"]


def forget_solution(estimator: Any) -> None:
    """Have a warm start find nothing to go on from."""
    vars(estimator).get(_FORMER, {}).pop("_solution", None)


def forget_attributes(estimator: Any, *names: str) -> None:
    """Take off attributes that are not true of a model any more."""
    for name in names:
        vars(estimator).pop(name, None)


# ---- parameters that the weights rest on -----------------------------------------------------------------


def keep_layout(estimator: Any) -> None:
    """Note the parameters that decide what the weights are of, so that predictions do by them later."""
    vars(estimator)[_LAYOUT] = {name: getattr(estimator, name) for name in estimator.of_layout}


def of_fit(estimator: Any, name: str) -> Any:
    """Return a parameter as it was when the model was fitted; as it is where that is not known."""
    return vars(estimator).get(_LAYOUT, {}).get(name, getattr(estimator, name))


def has_other_layout(estimator: Any) -> bool:
    """Whether a parameter that decides what the weights are of has changed since the model was fitted."""
    kept = vars(estimator).get(_LAYOUT, {})
    return any(not _alike(value, getattr(estimator, name)) for name, value in kept.items())


def _alike(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return type(one) is type(other) and bool(one == other)
