"""`--help --json`: what a command takes, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structlearn.cli.support.texts import fill_in

_HELP = {"-h", "--help"}


def asks_for_json(args: Sequence[str]) -> bool:
    """Whether both --help and --json are among the arguments."""
    return "--json" in args and not _HELP.isdisjoint(args)


def described_command(root: Any, name: str, args: Sequence[str]) -> dict[str, Any]:
    """Describe the command that the words name, with all commands below it."""
    command, context = root, _context(root, name, None)
    for word in args:
        below = command.get_command(context, word) if hasattr(command, "get_command") else None
        if below is not None:
            command, name = below, f"{name} {word}"
            context = _context(command, word, context)
    return _described(command, name, context)


def _context(command: Any, name: str, parent: Any) -> Any:
    return command.context_class(command, info_name=name, parent=parent)


def _described(command: Any, name: str, context: Any) -> dict[str, Any]:
    entry = getattr(command, "entry", None)
    found: dict[str, Any] = {"command": name, "help": _one_line(fill_in(command.help, entry))}
    own = [one for one in command.params if not getattr(one, "hidden", False)]
    arguments = [_argument(one, entry) for one in own if one.param_type_name == "argument"]
    options = [_option(one, entry) for one in own if one.param_type_name == "option"]
    found |= {"arguments": arguments, "options": options}
    if hasattr(command, "list_commands"):
        below = ((word, command.get_command(context, word)) for word in command.list_commands(context))
        found["commands"] = [
            _described(one, f"{name} {word}", _context(one, word, context))
            for word, one in below
            if one is not None and not one.hidden
        ]
    return found


def _argument(one: Any, entry: Any) -> dict[str, Any]:
    said = _one_line(fill_in(getattr(one, "help", ""), entry))
    return {"name": _value(one), "help": said, "required": one.required}


def _option(one: Any, entry: Any) -> dict[str, Any]:
    said = _one_line(fill_in(one.help, entry))
    found: dict[str, Any] = {"flags": [*one.opts, *one.secondary_opts], "help": said}
    if not one.is_flag:
        found["value"] = _value(one)
    if not one.required and isinstance(one.default, str | int | float):
        found["default"] = one.default
    return found | {"required": one.required}


def _value(one: Any) -> str:
    return str(one.metavar or one.name.upper())


def _one_line(text: str) -> str:
    return " ".join(text.split())
