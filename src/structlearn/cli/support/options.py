"""Options that several commands share, and how options are written down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.models import ArgumentInfo, OptionInfo

from structlearn.core.registry import resolve_name

if TYPE_CHECKING:
    from structlearn.solvers import Checkpoint

#: What an option or argument may be, asked for when a shell completes words; of a task, by its entry.
Values = Callable[[], Iterable[str]] | Callable[[Any], Iterable[str]]


def argument(metavar: str, help: str, values: Values | None = None) -> ArgumentInfo:
    """Declare what is given without a flag."""
    return typer.Argument(metavar=metavar, help=help, show_default=False, autocompletion=_completing(values))


def option(
    metavar: str, help: str, *flags: str, min: float | None = None, values: Values | None = None
) -> OptionInfo:
    """Declare an option that takes a value."""
    return typer.Option(*flags, metavar=metavar, help=help, min=min, autocompletion=_completing(values))


def number_or_auto(text: str) -> float | str:
    """Read a number, or "auto", which stands for one that follows from the data."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise typer.BadParameter(f"must be a number, or auto; got {text!r}.") from None


def lambda_option(help: str) -> OptionInfo:
    """Declare the option of lambda."""
    return typer.Option(metavar="X", help=help, parser=number_or_auto)


def _completing(values: Values | None) -> Callable[[typer.Context, str], list[str]] | None:
    """Return what completes a value, or the last of several with commas between them."""
    if values is None:
        return None

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        done, comma, last = incomplete.rpartition(",")
        of_task = [getattr(ctx.command, "entry", None)] * len(signature(values).parameters)
        return [f"{done}{comma}{value}" for value in values(*of_task) if value.startswith(last)]

    return complete


def registry_names(place: str, *others: str) -> Values:
    """Return the names in a registry, which is imported when they are asked for, after some others."""
    return lambda: [*others, *resolve_name(place)]


def switch(flag: str, help: str, *others: str) -> OptionInfo:
    """Declare an option that is there or not; `others` are flags that mean the same."""
    return typer.Option(flag, *others, help=help)


TaskName = Annotated[
    str, argument("TASK", "{tasks}.", registry_names("structlearn.cli.tasks.registry:TASKS"))
]
ModelOut = Annotated[Path, option("MODEL", "Model file to write.")]
PageOut = Annotated[Path, option("PAGE.html", "Page to write.")]
FolderOut = Annotated[Path, option("DIR", "Folder to make.")]
Json = Annotated[bool, switch("--json", "Print JSON, for programs.")]
Resume = Annotated[
    bool, switch("--resume", "Go on from the checkpoint in DIR; from the beginning if there is none.")
]
Seed = Annotated[int, option("N", "Seed of all random choices.")]
Jobs = Annotated[int, option("N", "Threads; -1 for all cores.")]
Target = Annotated[
    str | None,
    option(
        "NAME[,NAME]",
        "Target column(s) of a table; of tag, chunk and ner, the column to learn.  [default: the "
        "last column]",
    ),
]


def chosen_checkpoint(folder: Path | None, seconds: float, *, resume: bool) -> Checkpoint | None:
    """Return what --checkpoint and --resume stand for; ValueError for the second without the first."""
    if folder is None:
        if resume:
            raise ValueError("--resume goes on from a checkpoint: say where it is with --checkpoint DIR.")
        return None
    from structlearn.estimators.choices import check_number
    from structlearn.solvers import Checkpoint

    return Checkpoint(folder, check_number("checkpoint-seconds", seconds), resume)
