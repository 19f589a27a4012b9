"""Options that are parameters of an estimator, read from its fields and its help text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import Field, field, fields, make_dataclass
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any

from structlearn.cli.support.options import option, switch
from structlearn.core.help_texts import entries

#: Types of parameters that a shell can give, by a word of their annotation: the type, and what stands for it.
_KINDS: dict[str, tuple[type, str]] = {"Path": (Path, "FILE"), "int": (int, "N"), "float": (float, "X")}


def with_parameters(own: type, parameters: type, without: Collection[str]) -> type:
    """Return a dataclass of options with those of `own` first, then one for each parameter of an estimator.

    `parameters` is a dataclass whose help text has an entry per parameter; those named in `without`, and
    those that `own` has, are no options of their own.
    """
    taken = {*without, *(one.name for one in fields(own))}
    helps = dict(_helps(parameters))
    new = [_option(one, *helps[one.name]) for one in fields(parameters) if one.name not in taken]
    found = make_dataclass(own.__name__, new, bases=(own,), frozen=True, namespace={"__doc__": own.__doc__})
    found.__module__ = own.__module__
    return found


def _helps(parameters: type) -> Iterator[tuple[str, tuple[str, list[str]]]]:
    """Yield names of parameters, what the help text says of each, on one line, and what it may be."""
    for names, entry in entries(cleandoc(parameters.__doc__ or "")).items():
        head, _, text = entry.partition("\n")
        choices = re.findall(r'"(\w+)"', head) if "{" in head else []
        said = re.sub(r"`+", "", " ".join(text.split()))
        yield from ((name.strip(), (said, choices)) for name in names.split(","))


def _option(one: Field[Any], said: str, choices: list[str]) -> tuple[str, Any, Any]:
    """Return name, annotation and field of an option: a switch, a number, a file or a text."""
    flag = f"--{one.name.replace('_', '-')}"
    if str(one.type).startswith("bool"):
        return one.name, Annotated[bool, switch(flag, said)], field(default=False)
    words = re.findall(r"\w+", str(one.type))
    kind, metavar = next((_KINDS[word] for word in words if word in _KINDS), (str, one.name.upper()))
    default = "" if one.default is None else f"  [default: {one.default}]"
    declared = option(metavar, f"{said}{default}", values=(lambda: choices) if choices else None)
    return one.name, Annotated[kind | None, declared], field(default=None)
