"""`structlearn train TASK --help`: the options of that task alone, in groups, with examples of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from structlearn.cli.support.texts import Command, filled
from structlearn.cli.tasks.registry import TASKS, TaskEntry

_TASKS = r"(?:{0})(?:, (?:{0}))*"


def said_for(task: str, text: str) -> str:
    """A help text without what it says of other tasks: clauses that begin with `task, task: `."""
    body, *defaults = re.split(r"(  \[default: .*\])", text, maxsplit=1)
    told = _clause(task, body)
    for default in filter(str.strip, defaults):
        told += f"  [default: {_clause(task, default.strip()[10:-1])}]"
    return told if told.strip() and told[0] != " " else ""


def _clause(task: str, text: str) -> str:
    """What holds of every task, or the clause of this one in its place; "also ..." adds to it."""
    names = _TASKS.format("|".join(map(re.escape, TASKS)))
    general, *clauses = re.split(rf"(?:^|; )({names})( with [^:]*)?: ", text)
    for tasks, more, clause in zip(clauses[::3], clauses[1::3], clauses[2::3]):
        if task in tasks.split(", "):
            own = f"{more.strip()}: {clause}" if more else clause
            return f"{general}, {own}" if own.startswith("also ") else own
    return general


def files_of(entry: TaskEntry) -> str:
    """What is said of the files that a task reads, by its own entry or by one that names it."""
    return entry.reads or next(
        other.reads for other in TASKS.values() if re.search(rf"\b{entry.name}\b", other.reads)
    )


class TaskCommand(Command):
    """A command whose first argument is a task, and whose help is that task's where one is named."""

    #: headings, and the names of the options below them
    groups: ClassVar[dict[str, tuple[str, ...]]] = {}
    #: options that not every task has, and the flag by which a task says that it has them
    specific: ClassVar[dict[str, str]] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["task"] = next((one for one in args if one in TASKS), None)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        if ctx.meta.get("task") is None:
            super().format_help(ctx, formatter)
            return
        entry = TASKS[ctx.meta["task"]]
        formatter.write_usage(ctx.command_path, f"{entry.name} DATA --out MODEL [OPTIONS]")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"{self.short_help} {entry.name}: {entry.what} ({entry.estimator}).")
            formatter.write_paragraph()
            formatter.write_text(files_of(entry))
        for heading, rows in self._sections(ctx, entry):
            with formatter.section(heading):
                formatter.write_dl(rows)
        with formatter.section("Examples"):
            own = (one.replace("structlearn train", f"structlearn {ctx.info_name}") for one in entry.examples)
            formatter.write_text("\n\b\n" + "\n".join(own))

    def _sections(self, ctx: Any, entry: TaskEntry) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Headings with the flags of this task and what they do."""
        rows: dict[str, tuple[str, str]] = {}
        for parameter in self.get_params(ctx):
            record, name = parameter.get_help_record(ctx), parameter.name or ""
            has = name not in self.specific or self.specific[name] in entry.flags
            if record and has and parameter.param_type_name == "option":
                told = said_for(entry.name, filled(record[1]))
                if told:
                    rows[name] = (record[0], told)
        for heading, names in self.groups.items():
            found = [rows.pop(name) for name in names if name in rows]
            if found:
                yield heading, found
        yield "Other", list(rows.values())
