"""`structlearn data`: list, fetch, path, pack, split."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structlearn.cli.support.errors import FAILURE, handling_errors, say
from structlearn.cli.support.options import (
    FolderOut,
    Json,
    Seed,
    Target,
    TaskName,
    argument,
    option,
    registry_names,
)
from structlearn.cli.support.outputs import print_json
from structlearn.cli.support.stdin import input_file
from structlearn.cli.support.texts import Command
from structlearn.cli.tasks.options import ProblemOptions
from structlearn.cli.tasks.registry import TASKS
from structlearn.core.wording import count_of

if TYPE_CHECKING:
    from structlearn.cli.tasks.task import Task, Training

data = typer.Typer(rich_markup_mode=None)
Name = Annotated[
    str, argument("NAME", "A name that list shows.", registry_names("structlearn.data:DATA_SETS"))
]
Source = Annotated[Path, argument("DATA", "Training data, as train reads it; - for stdin.")]
DataDir = Annotated[
    Path | None,
    option("DIR", "Folder of all data sets.  [default: $STRUCTLEARN_DATA or your own]", "--data-dir"),
]


@data.callback(invoke_without_command=True)
def show_data_help(context: typer.Context) -> None:
    """Public data sets, which the recipes of compare use."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@data.command("list")
@handling_errors()
def list_(data_dir: DataDir = None, as_json: Json = False) -> None:
    """Print name, size, licence, place and description of each data set, separated by tabs."""
    from structlearn.data import DATA_SETS, located
    from structlearn.reports.tables import size

    if as_json:
        print_json(
            [
                {"name": name, "bytes": one.n_bytes, "licence": one.licence, "what": one.what}
                | {"where": located(name, data_dir)}
                for name, one in DATA_SETS.items()
            ]
        )
        return
    print("name\tsize\tlicence\twhere\twhat")
    for name, one in DATA_SETS.items():
        where = located(name, data_dir) or "not here"
        print(f"{name}\t{size(one.n_bytes)}\t{one.licence}\t{where}\t{one.what}")


@data.command("fetch")
@handling_errors()
def fetch_data_set(name: Name, data_dir: DataDir = None) -> None:
    """Download a data set, check its hash, and print its folder. A wrong hash: nothing is kept."""
    from structlearn.data import fetch

    print(fetch(name, data_dir))


@data.command()
@handling_errors()
def path(name: Name, data_dir: DataDir = None) -> None:
    """Print the folder of a data set; exit 1 if it is not here."""
    from structlearn.data import data_folder, located

    found = located(name, data_dir)
    if found is None:
        say(f"Error: {name} is not in {data_folder(data_dir)}; run `structlearn data fetch {name}`.")
        raise typer.Exit(FAILURE)
    print(found)


@data.command("pack", cls=Command)
@handling_errors()
def pack_data(
    task: TaskName,
    source: Source,
    out: FolderOut,
    target: Target = None,
    window: Annotated[
        int | None, option("N", "grid: a pixel has the values of N x N pixels around it.  [default: 1]")
    ] = None,
) -> None:
    """Write training data as a folder that train reads in place, so that it need not fit into memory.

    The folder is whole or not there. Every file in it has a hash, which train checks.
    """
    from structlearn.data import pack

    entry = TASKS.entry(task)
    if window is not None and "window" not in entry.flags:
        raise ValueError(f"--window does not go with the task {task}; leave it out.")
    given: dict[str, Any] = {} if window is None else {"window": window}
    options = entry.options_class(**given)
    options.parameters()
    chosen, read = _read(entry.with_options(options), input_file(source), target)
    pack(out, chosen.check_packing(read), chosen.rows_to_pack(read), read.y, **chosen.extras_to_pack(read))
    say(f"Packed {read.summary} into {out}.")


def _read(task: Task, path: Path, target: str | None) -> tuple[Task, Training]:
    """Read training data as rows of features."""
    training = task.training(path, target)
    usual = ProblemOptions()
    model = task.adapt(task.model(usual), training, usual)
    return task, task.laid_out(model, training)[1]


@data.command("split", cls=Command)
@handling_errors()
def split_data(
    task: TaskName,
    source: Source,
    parts: Annotated[int, option("K", "How many partitions.")],
    out: FolderOut,
    target: Target = None,
    seed: Seed = 0,
) -> None:
    """Write training data as partitions, which the workers of train --cluster read.

    Examples go to partitions at random. Put DIR where all workers see it under the same name.
    """
    from structlearn.cli.tasks.lookup import task_named
    from structlearn.distributed import split

    chosen = task_named(task)
    if out.exists():
        raise FileExistsError(f"Cannot write {out}: it exists already.")
    chosen, read = _read(chosen, input_file(source), target)
    kept = chosen.extras_to_pack(read)
    split(out, chosen.check_packing(read), chosen.rows_to_pack(read), read.y, parts=parts, seed=seed, **kept)
    say(f"Split {read.summary} into {count_of(parts, 'partition')} in {out}.")
