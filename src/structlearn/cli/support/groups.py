"""Options in groups: a command takes a few dataclasses, whose fields are annotated as options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from copy import copy
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from itertools import product
from types import NoneType
from typing import Annotated, Any, get_args, get_type_hints

import typer


class Several(tuple[Any, ...]):
    """Values that an option was given between commas, each to be tried."""


def spread_groups(
    command: Callable[..., None], several: Mapping[str, str] | None = None, without: Collection[str] = ()
) -> Callable[..., None]:
    """Show typer a command whose groups are spread out: each field is an option, in its place.

    Those named in `several` take values between commas: more than one arrive as `Several`; what is said there
    of an option takes the place of its help. Those in `without` are no options of this command.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if is_dataclass(kind) and isinstance(kind, type)}
    spread: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            spread += [one for one in _parameters(groups[name], several or {}) if one.name not in without]
        else:
            spread.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def call(**given: object) -> None:
        for name, kind in groups.items():
            own = [field.name for field in fields(kind) if field.name not in without]
            given[name] = kind(**{field: given.pop(field) for field in own})
        command(**given)

    shown = signature(command).replace(parameters=spread)
    set_signature(call, shown, {parameter.name: parameter.annotation for parameter in spread})
    return call


def set_signature(function: Any, shown: Signature, annotations: Mapping[str, Any]) -> None:
    """Have typer see a function with this signature."""
    function.__signature__ = shown
    function.__annotations__ = dict(annotations)


def _parameters(group: type, several: Mapping[str, str]) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    hints |= {name: _comma_separated(hints[name], help) for name, help in several.items() if name in hints}
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


def _comma_separated(annotation: Any, help: str) -> Any:
    """Return the annotation of an option whose values are given between commas."""
    kind, info = get_args(annotation)
    (kind,) = [one for one in get_args(kind) or (kind,) if one is not NoneType]
    info = copy(info)
    info.help = help or info.help
    info.metavar, info.parser = f"{info.metavar}[,{info.metavar}...]", _reader(kind)
    return Annotated[Several | None, info]


def _reader(kind: type) -> Callable[[str], Any]:
    """Return a function, for click asks for its name, that reads one value or several."""

    def values(text: str) -> Any:
        try:
            found = [kind(one.strip()) for one in text.split(",")]
        except ValueError:
            numbers = "whole numbers" if kind is int else "numbers"
            raise typer.BadParameter(f"must be {numbers} with commas between them; got {text!r}.") from None
        return found[0] if len(found) == 1 else Several(dict.fromkeys(found))

    return values


def combinations(*groups: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the groups with one value for each option: all combinations, the first group's changing last."""
    tried = [
        [(k, field.name, value) for value in getattr(group, field.name)]
        for k, group in enumerate(groups)
        for field in fields(group)
        if isinstance(getattr(group, field.name), Several)
    ]
    for chosen in product(*tried):
        yield tuple(
            replace(group, **{name: value for own, name, value in chosen if own == k})
            for k, group in enumerate(groups)
        )
