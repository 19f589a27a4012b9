"""Commands whose first word is a task: a group with a command per task, made when it is asked for.

So `structlearn train ner --help` shows the options of `ner` alone, and a task declares these in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from functools import wraps
from inspect import signature
from typing import Any, ClassVar, get_type_hints

import typer
from typer.core import TyperGroup

from structlearn.cli.support.errors import misuse
from structlearn.cli.support.groups import set_signature, spread_groups
from structlearn.cli.support.texts import Command, fill_in
from structlearn.cli.tasks.registry import TASKS, TaskEntry
from structlearn.core.registry import either

#: The argument of a function behind such commands that takes the task's own options.
OWN = "own"


class TaskCommand(Command):
    """The command of one task: its options in groups, its files, and examples of its own."""

    #: what it writes
    written: ClassVar[str] = "MODEL"
    #: headings, and the names of the options below them
    sections: ClassVar[Mapping[str, Collection[str]]] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            unknown = type(error).__name__ == "NoSuchOption"  # whichever click it is
            flag = getattr(error, "option_name", None) if unknown else None
            owners = [] if flag is None or ctx.parent is None else _owners(ctx.parent, flag)
            if owners:
                what = f"the task {self.name}" if self.entry else self.name
                raise misuse(f"{flag} does not go with {what} (it goes with {', '.join(owners)}).") from None
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        entry = self.entry
        if entry is None:  # a recipe
            super().format_help(ctx, formatter)
            return
        formatter.write_usage(ctx.command_path, f"DATA --out {self.written} [OPTIONS]")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"{self.short_help} {entry.name}: {entry.what} ({entry.estimator}).")
            formatter.write_paragraph()
            formatter.write_text(entry.reads)
        rows = {
            parameter.name: (record[0], fill_in(record[1], entry))
            for parameter in self.get_params(ctx)
            if parameter.param_type_name == "option" and (record := parameter.get_help_record(ctx))
        }
        own = [one.name for one in fields(entry.options_class)]
        for heading, names in {f"Options of {entry.name}": own, **self.sections}.items():
            found = [rows.pop(name) for name in names if name in rows]
            if found:
                with formatter.section(heading):
                    formatter.write_dl(found)
        with formatter.section("Other"):
            formatter.write_dl(list(rows.values()))
        word = ctx.parent.info_name if ctx.parent else "train"
        with formatter.section("Examples"):
            said = [one.replace("structlearn train", f"structlearn {word}") for one in entry.examples]
            if word == "compare":
                said = [f"{one.partition(' --out ')[0]} --out report" for one in said]
            formatter.write_text("\n\b\n" + "\n".join(said))


class TaskGroup(TyperGroup):
    """A group whose commands are tasks. The task may come after options, as a first argument may."""

    #: what the command of a task does, and how it is shown
    run: ClassVar[Callable[..., None]]
    command: ClassVar[type[TaskCommand]] = TaskCommand
    #: options that take several values with commas between them, and options that the command does not have
    several: ClassVar[Mapping[str, str]] = {}
    without: ClassVar[Collection[str]] = ()

    def list_commands(self, ctx: Any) -> list[str]:
        return [*TASKS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in TASKS:
            return None
        found = command_of(type(self).run, TASKS[cmd_name], self.command, self.several, self.without)
        found.short_help = self.short_help
        return found

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = set(self.list_commands(ctx))
        places = [k for k, word in enumerate(args) if word in known]
        free = [k for k in places if k == 0 or not args[k - 1].startswith("-")]  # not the value of an option
        place = next(iter(free or places), None)
        if place:  # after options: the task comes first
            args = [args[place], *args[:place], *args[place + 1 :]]
        elif place is None and not ctx.resilient_parsing and not set(args) & {"-h", "--help"}:
            try:
                self.refuse(ctx, next((word for word in args if not word.startswith("-")), ""))
            except ValueError as error:
                raise misuse(str(error)) from None
        return super().parse_args(ctx, args)

    def refuse(self, ctx: Any, wanted: str) -> None:
        """Raise ValueError that says that there is no such task, and which one may be meant."""
        from structlearn.cli.tasks.lookup import task_named

        if not wanted:
            raise ValueError(f"Say which task, first of all: {either(self.list_commands(ctx))}.")
        task_named(wanted)

    def rows(self) -> list[tuple[str, str]]:
        """Return the names of tasks, what each predicts, and the files that it reads."""
        return [(one.name, f"{one.what} ({one.formats})") for one in TASKS.values()]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the tasks first: their names are what comes next."""
        formatter.write_usage(ctx.command_path, f"TASK DATA --out {self.command.written} [OPTIONS]")
        with formatter.section("Tasks"):
            formatter.write_dl(self.rows())
        self.format_help_text(ctx, formatter)
        self.format_epilog(ctx, formatter)


def _owners(ctx: Any, flag: str) -> list[str]:
    """Return the commands of a group that have an option."""
    names = ctx.command.list_commands(ctx)
    return [one for one in names if any(flag in p.opts for p in ctx.command.get_command(ctx, one).params)]


def command_of(
    run: Callable[..., None],
    entry: Any,
    kind: type[Command],
    several: Mapping[str, str] | None = None,
    without: Collection[str] = (),
) -> Any:
    """Make the command that runs `run(entry=entry, ...)`: of a task, with the task's own options."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(entry.name, cls=kind)(spread_groups(_for_entry(run, entry), several, without))
    command: Any = typer.main.get_command(app)
    command.entry = entry if isinstance(entry, TaskEntry) else None
    return command


def _for_entry(run: Callable[..., None], entry: Any) -> Callable[..., None]:
    """Return `run` without its first argument, and with the task's own options where it takes some."""
    hints = get_type_hints(run, include_extras=True)
    if OWN in hints:
        hints[OWN] = entry.options_class
    parameters = [one for one in signature(run).parameters.values() if one.name != "entry"]

    @wraps(run)
    def call(**given: Any) -> None:
        run(entry=entry, **given)

    del call.__wrapped__
    shown = signature(run).replace(parameters=parameters)
    set_signature(call, shown, {name: hint for name, hint in hints.items() if name != "entry"})
    return call
