"""What is wrong with the words of a command, in one style of sentence, and what may be meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from structlearn.cli.tasks.registry import TASKS
from structlearn.core.registry import nearest

#: What other programs call an option, and our name for it.
_OPTIONS = {
    "-o": "--out",
    "--output": "--out",
    "--model-out": "--out",
    "--lambda": "--regularization",
    "--reg": "--regularization",
    "--proba": "--marginals",
    "--probabilities": "--marginals",
    "--threads": "--jobs",
    "-j": "--jobs",
    "--n-jobs": "--jobs",
    "--random-state": "--seed",
    "--max-iter": "--max-passes",
    "--epochs": "--max-passes",
    "--label": "--target",
    "-v": "--verbose",
}
#: What other programs call a command, and our name for it.
_COMMANDS = {
    **{"fit": "train", "learn": "train", "infer": "predict", "apply": "predict"},
    **{"test": "evaluate", "eval": "evaluate", "score": "evaluate", "cv": "tune", "search": "tune"},
    **{"draw": "show", "plot": "show", "view": "show", "describe": "info", "inspect": "info"},
    **{"sample": "example", "datasets": "data", "download": "data"},
}
#: How typer begins to say that a value is of the wrong kind, and what the value must be.
_KINDS = {
    "Input should be a valid number": "a number",
    "Input should be a valid integer": "a whole number",
    "Input should be a valid boolean": "true or false",
}
_LEAST = re.compile(r"Input should be (greater|less) than or equal to (\S+)")
_NO_COMMAND = re.compile(r"No such command '(.*?)'\.")


def usage_sentence(error: Any, words: Sequence[str]) -> str:
    """Return what a usage error says of the words that were typed, whichever click it is from.

    >>> class NoSuchOption(Exception):
    ...     option_name, ctx = "--output", None
    >>> usage_sentence(NoSuchOption(), ["--output"])
    "Unknown option '--output'."
    """
    kind = type(error).__name__
    if kind == "NoSuchOption":
        return _unknown("option", error.option_name, _flags(error.ctx), _OPTIONS)
    if kind == "BadOptionUsage":
        return _without_value(error)
    if kind == "MissingParameter":
        return f"Missing {_shown(error.param, error.ctx)}: {error.param.help}{_how(error.ctx)}"
    if kind == "BadParameter" and getattr(error, "param", None) is not None:
        return _of_value(error, words)
    said: str = error.format_message()
    unknown = _NO_COMMAND.match(said)
    if unknown is not None and error.ctx is not None:
        return unknown_command(unknown[1], error.ctx)
    if said.startswith("Got unexpected extra argument"):
        return f"Unexpected {said.rpartition('(')[2].rstrip(')')!r}.{_how(error.ctx)}"
    return said


def unknown_command(name: str, ctx: Any) -> str:
    """Return a sentence on a command that a group does not have."""
    if name in TASKS and "train" in ctx.command.list_commands(ctx):
        return f"Unknown command {name!r}. Did you mean 'train {name}'?"
    return _unknown("command", name, ctx.command.list_commands(ctx), _COMMANDS)


def _unknown(what: str, name: str, known: Iterable[str], others: dict[str, str]) -> str:
    known = list(known)
    near = others.get(name.lower())
    if near not in known:
        near = nearest(name, known)
    return f"Unknown {what} {name!r}." + (f" Did you mean {near!r}?" if near else "")


def _flags(ctx: Any) -> list[str]:
    if ctx is None:
        return []
    return [flag for one in ctx.command.get_params(ctx) for flag in one.opts if flag.startswith("-")]


def _without_value(error: Any) -> str:
    """Return that an option lacks its value, or has one too many."""
    takes = "requires" in error.message
    return f"{error.option_name} {'needs a value behind it' if takes else 'takes no value'}."


def _of_value(error: Any, words: Sequence[str]) -> str:
    """Return what a value must be, and what it is."""
    said: str = error.message
    must = next((kind for begin, kind in _KINDS.items() if said.startswith(begin)), None)
    bound = _LEAST.match(said)
    if bound is not None:
        must = f"at {'least' if bound[1] == 'greater' else 'most'} {bound[2]}"
    name = next((one for one in error.param.opts if one.startswith("--")), error.param.name)
    if must is None:
        return f"{name} {said}"
    got = _given(error.param.opts, words)
    return f"{name} must be {must}" + (f"; got {got!r}." if got is not None else ".")


def _given(flags: Sequence[str], words: Sequence[str]) -> str | None:
    """Return the value that was typed behind a flag."""
    for word, following in zip(words, [*words[1:], None]):
        flag, equals, value = word.partition("=")
        if flag in flags:
            return value if equals else following
    return None


def _shown(param: Any, ctx: Any) -> str:
    """Return a parameter as it is typed: --out MODEL, or DATA."""
    name = str(param.metavar or param.name.upper())
    flags = [one for one in param.opts if one.startswith("--")]
    return f"{flags[0]} {name}" if flags else name


def _how(ctx: Any) -> str:
    """Return how a command is called: what it must be given."""
    if ctx is None:
        return ""
    must = [_shown(one, ctx) for one in ctx.command.get_params(ctx) if one.required]
    return f" Usage: {' '.join([ctx.command_path, *must])} [OPTIONS]"
