"""Checks of what a file says against what it must say; the first misfit becomes one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, TypeGuard, TypeVar, Union, get_args, get_origin

from structlearn.core.forms import Form

T = TypeVar("T")

#: Deeper nesting than any file of ours has; walking through it must not exhaust the stack.
_DEEPEST = 100
_NUMBERS: dict[object, tuple[type, ...]] = {int: (int,), float: (int, float), bool: (bool,)}


def read_json(text: str | bytes, form: type[T], name: str) -> T:
    """Read the value of a JSON text, of this form (see `check_form`).

    ValueError if it is not JSON or of another form, repeats a key of an object, or nests too deeply.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("it nests too deeply") from None
    level = _inside([value])
    for _ in range(_DEEPEST):
        level = [one for inner in level for one in _inside(inner)]
    if level:
        raise ValueError("it nests too deeply")
    check_form(value, form, name)
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it repeats a key")
    return found


def _inside(value: dict | list) -> list[dict | list]:
    """Return the parts of a value that may have parts themselves."""
    parts = value.values() if isinstance(value, dict) else value
    return [one for one in parts if isinstance(one, dict | list)]


def check_form(value: object, form: object, name: str) -> None:
    """Raise a ValueError that names the first part of `value` that does not have its form.

    Parameters
    ----------
    value : what was read
    form : its form
        A type hint: Any, None, bool, int, float, str, a union, a Literal, list[T] (or tuple[T, ...],
        Sequence[T]) or dict[str, T]; other hints are not looked at. Or a mapping from the keys that there
        must be (or may be, if they end with "?") to their forms. Or a list of one form, that of all items.
        Or a `Form`, or a function that says whether the value will do, whose docstring says what does.
    name : what to call it
    """
    origin = get_origin(form)
    if isinstance(form, list) or origin in (list, tuple, Sequence):
        if not isinstance(value, list | tuple):
            raise _wrong(value, list, name)
        inner = form[0] if isinstance(form, list) else get_args(form)[0]
        for i, one in enumerate(value):
            check_form(one, inner, f"{name}[{i}]")
    elif isinstance(form, Mapping) or origin in (dict, Mapping):
        if not isinstance(value, dict):
            raise _wrong(value, dict, name)
        if isinstance(form, Mapping):
            _check_fields(value, form, name)
            return
        for key, one in value.items():
            check_form(one, get_args(form)[1], f"{name}[{_short(key)}]")
    elif not _fits(value, form):
        raise _wrong(value, form, name)


def _check_fields(value: dict, form: Mapping[str, object], name: str) -> None:
    for field, inner in form.items():
        key = field.removesuffix("?")
        place = f"{name}.{key}" if name else key
        if key in value:
            check_form(value[key], inner, place)
        elif key == field:
            raise ValueError(f"it lacks {place}")


def _fits(value: object, form: object) -> bool:
    if form is Any:
        return True
    if get_origin(form) in (Union, UnionType):
        return any(_has_form(value, one) for one in get_args(form))
    if get_origin(form) is Literal:
        return isinstance(value, str) and value in get_args(form)
    if form in _NUMBERS:
        return isinstance(value, _NUMBERS[form]) or (form is bool and value in (0, 1))
    kind = NoneType if form is None else form
    if isinstance(kind, type):
        return isinstance(value, kind)
    return not _is_question(form) or bool(form(value))


def _has_form(value: object, form: object) -> bool:
    try:
        check_form(value, form, "")
    except ValueError:
        return False
    return True


def _is_question(form: object) -> TypeGuard[Callable[[object], object]]:
    return callable(form) and get_origin(form) is None


def _wrong(value: object, form: object, name: str) -> ValueError:
    if isinstance(form, type) and not get_args(form):
        noun = form.__name__
    else:
        noun = form.what if isinstance(form, Form) else str(form.__doc__ if _is_question(form) else form)
    return ValueError(f"{name} must be {noun}, not {_short(value)}")


def _short(value: object) -> str:
    """Return a value of a file in a few characters, none of which can steer a terminal."""
    text = ascii(value) if isinstance(value, str | int | float | None) else type(value).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."
