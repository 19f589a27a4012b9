"""What a file says, against what it must say: the first thing that does not fit is one sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

#: Deeper nesting than any file of ours has; walking through it must not exhaust the stack.
_DEEPEST = 100
_NUMBERS = {int: (int,), float: (int, float), bool: (bool,)}


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text; ValueError if it is none, repeats a key of an object, or nests too deeply."""
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("it nests too deeply") from None
    level = _inside([value])
    for _ in range(_DEEPEST):
        level = [one for inner in level for one in _inside(inner)]
    if level:
        raise ValueError("it nests too deeply")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it repeats a key")
    return found


def _inside(value: Any) -> Sequence[Any]:
    """The parts of a value that may have parts themselves."""
    parts = value.values() if isinstance(value, dict) else value
    return [one for one in parts if isinstance(one, dict | list)]


def check_form(value: Any, form: Any, name: str) -> None:
    """ValueError that names the first part of `value` that has not the form it must have.

    Parameters
    ----------
    value : what was read
    form : its form
        A type hint: Any, None, bool, int, float, str, a union, a Literal, list[T] (or tuple[T, ...],
        Sequence[T]) or dict[str, T]; other hints are not looked at. Or a mapping from the keys that there
        must be (or may be, if they end with "?") to their forms. Or a list of one form, that of all items.
        Or a function that says whether the value will do, whose docstring says what does.
    name : what to call it
    """
    if isinstance(form, Mapping):
        _check_fields(value, form, name)
    elif isinstance(form, list) or get_origin(form) in (list, tuple, Sequence):
        _check(isinstance(value, list | tuple), value, list, name)
        inner = form[0] if isinstance(form, list) else get_args(form)[0]
        for i, one in enumerate(value):
            check_form(one, inner, f"{name}[{i}]")
    elif get_origin(form) in (dict, Mapping):
        _check(isinstance(value, dict), value, dict, name)
        for key, one in value.items():
            check_form(one, get_args(form)[1], f"{name}[{_short(key)}]")
    else:
        _check(_fits(value, form), value, form, name)


def _check_fields(value: Any, form: Mapping[str, Any], name: str) -> None:
    _check(isinstance(value, dict), value, dict, name)
    for field, inner in form.items():
        key = field.removesuffix("?")
        if key in value:
            check_form(value[key], inner, f"{name}.{key}" if name else key)
        elif key == field:
            raise ValueError(f"it lacks {name}.{key}" if name else f"it lacks {key}")


def _fits(value: Any, form: Any) -> bool:
    if form is Any:
        return True
    if get_origin(form) in (Union, UnionType):
        return any(_has_form(value, one) for one in get_args(form))
    if get_origin(form) is Literal:
        return isinstance(value, str) and value in get_args(form)
    if form in _NUMBERS:
        return isinstance(value, _NUMBERS[form]) or (form is bool and value in (0, 1))
    if form is None or isinstance(form, type):
        return isinstance(value, form or NoneType)
    return bool(form(value)) if _is_question(form) else True


def _has_form(value: Any, form: Any) -> bool:
    try:
        check_form(value, form, "")
    except ValueError:
        return False
    return True


def _is_question(form: Any) -> bool:
    return callable(form) and get_origin(form) is None


def _check(fits: bool, value: Any, form: Any, name: str) -> None:
    if not fits:
        raise ValueError(f"{name} must be {_noun(form)}, not {_short(value)}")


def _noun(form: Any) -> str:
    if isinstance(form, type) and not get_args(form):
        return form.__name__
    return str(form.__doc__) if _is_question(form) else str(form)


def _short(value: Any) -> str:
    """A value of a file in a few characters, none of which can steer a terminal."""
    text = ascii(value) if isinstance(value, str | int | float | None) else type(value).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."
