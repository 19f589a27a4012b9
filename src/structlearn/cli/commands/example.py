"""`structlearn example`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from structlearn.cli.support.errors import handling_errors, say
from structlearn.cli.support.options import Json, argument, option
from structlearn.cli.support.outputs import print_json
from structlearn.cli.tasks.registry import TASKS
from structlearn.core.registry import one_of, resolve_name

if TYPE_CHECKING:
    from structlearn.apps.examples.example import TaskExample

#: Examples of what is not a task of `train`.
_OTHERS = {"align": "structlearn.apps.examples.pairs:ALIGN"}


def example_names() -> list[str]:
    """Return what there are examples of: the tasks, and `align`."""
    return [*(name for name, entry in TASKS.items() if entry.example), *_OTHERS]


def example_of(name: str) -> TaskExample:
    """Return the example of a task; ValueError that suggests the nearest name if there is none."""
    one_of("task", name, example_names())
    found: TaskExample = resolve_name(_OTHERS[name] if name in _OTHERS else TASKS[name].example)
    return found


@handling_errors()
def example(
    task: Annotated[str, argument("TASK", "{tasks}; or align.", example_names)],
    out: Annotated[Path | None, option("DIR", "Folder to write to.  [default: TASK-example]")] = None,
    as_json: Json = False,
) -> None:
    """Write a small example of a task into a folder, and print commands to try on it.

    The data come with the library: nothing is downloaded, and a file of yours is not overwritten. The
    commands train a model, evaluate it, write its answers, and draw them.
    """
    from structlearn.apps.examples.example import write_example

    chosen = example_of(task)
    folder = Path(f"{task}-example") if out is None else out
    names = write_example(chosen, folder)
    if as_json:
        print_json(
            {
                "folder": str(folder),
                "files": names,
                "what": chosen.what,
                "licence": chosen.licence,
                "commands": chosen.commands,
            }
        )
        return
    say(f"Wrote {', '.join(names)} into {folder}: {chosen.what}.")
    say(f"Licence: {chosen.licence}.")
    for line in _lines(chosen, folder):
        print(line)


def _lines(chosen: TaskExample, folder: Path) -> Iterator[str]:
    """Yield the commands, first that which enters the folder."""
    if folder.resolve() != Path.cwd():
        yield f"cd {shlex.quote(str(folder))}"
    yield from chosen.commands
