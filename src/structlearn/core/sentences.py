"""Sentences that name parameters: Python names the parameter, the shell its flag.

A template names parameters in braces: `{tol}` is the parameter tol, `{loss=hinge}` is it with a value, and
`{loss=}` with the value that is given. What is given by another name is a part of the sentence.

>>> advice = "{solver=} cannot train {loss=}; use {solver=auto}, or raise {tol}."
>>> print(Statement(advice, solver="fw", loss="softmax"))
solver='fw' cannot train loss='softmax'; use solver='auto', or raise tol.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_PLACE = re.compile(r"\{(\w+)(?:(=)([^{}]*))?\}")

#: How a parameter is written: by its name, and its value or None where it is named alone.
Writing = Callable[[str, object], str]


class Statement(str):
    """A sentence of a template: to Python, a string in which parameters have their names."""

    template: str
    parts: dict[str, Any]

    def __new__(cls, template: str, **parts: object) -> Statement:
        found = super().__new__(cls, _fill_template(template, parts, as_parameter))
        found.template, found.parts = template, parts
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (Statement, self.template, self.parts)

    def render(self, writing: Writing) -> str:
        """Return the sentence with its parameters written otherwise."""
        return _fill_template(self.template, self.parts, writing)


def join_sentences(first: str, second: str) -> Statement:
    """Return two sentences, one behind the other."""
    return Statement("{first} {second}", first=first, second=second)


class ParameterError(ValueError):
    """Raised for a parameter whose value cannot be used.

    name : the first parameter that the sentence names
    value : its value, in the sentence or as the part `value`
    advice : the whole sentence, as Python says it
    """

    def __init__(self, template: str, **parts: object) -> None:
        self.sentence = Statement(template, **parts)
        super().__init__(self.sentence)
        named: list[tuple[str, object]] = []

        def note_parameter(name: str, value: object) -> str:
            named.append((name, value))
            return ""

        self.sentence.render(note_parameter)
        self.name, value = named[0] if named else ("", None)
        self.value = parts.get("value") if value is None else value
        self.advice = str(self.sentence)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (ParameterError, self.sentence.template, self.sentence.parts)


def _again(kind: type, template: str, parts: dict[str, object]) -> object:
    return kind(template, **parts)


def as_parameter(name: str, value: object) -> str:
    """Write a parameter as Python does: loss='hinge'; its name alone where there is no value."""
    return name if value is None else f"{name}={_as_source(value)}"


def _as_source(value: object) -> str:
    """Return a value as source: a word of a template is a string, unless it is a number, a name or a call."""
    if isinstance(value, float):
        return f"{value:g}"
    if not isinstance(value, _Word):
        return repr(value)
    source = re.fullmatch(r"[-+]?[0-9][0-9.e+-]*|True|False|None|\w+\(.*\)", value)
    return str(value) if source else repr(str(value))


class _Word(str):
    """A value that a template spells out."""


def _fill_template(template: str, parts: dict[str, Any], writing: Writing) -> str:
    def fill_place(match: re.Match[str]) -> str:
        name, equals, literal = match.groups()
        if equals:
            return writing(name, _Word(literal) if literal else _value(parts[name]))
        if name not in parts:
            return writing(name, None)
        part = parts[name]
        return part.render(writing) if isinstance(part, Statement) else str(part)

    return _PLACE.sub(fill_place, template)


def _value(value: object) -> object:
    """Return a value that is given; None is one, too."""
    return _Word("None") if value is None else value
