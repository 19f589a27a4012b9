"""Options in groups: a command takes a few dataclasses, whose fields are annotated as options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Show typer a command whose groups are spread out: each field is an option, in its place."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if is_dataclass(kind) and isinstance(kind, type)}
    spread: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            spread += _parameters(groups[name])
        else:
            spread.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def called(**given: object) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    called.__signature__ = signature(command).replace(parameters=spread)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in spread}
    return called


def _parameters(group: type) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
