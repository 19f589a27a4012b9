"""`structlearn show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from structlearn.cli.errors import handling_errors, say
from structlearn.cli.outputs import check_output
from structlearn.cli.prediction import Data, Model


@handling_errors()
def show(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option(metavar="PAGE.html", help="Page to write.", show_default=False)],
    limit: Annotated[int, typer.Option(metavar="N", help="How many examples are drawn at most.")] = 200,
) -> None:
    """Write a page that draws the model's answers: dependency trees (parse), or tagged text (tag, chunk and
    ner).

    Where DATA has labels, mistakes are marked and the worst examples come first. The page opens without a
    network.
    """
    from structlearn.cli.registry import TASKS
    from structlearn.cli.tasks import open_model

    out_file = check_output(out, others=[model, data])
    if limit < 1:
        raise ValueError(f"--limit must be at least 1; got {limit}.")
    bundle, task = open_model(model)
    if not task.drawn:
        drawn = ", ".join(entry.name for entry in TASKS.values() if entry.task.drawn)
        raise ValueError(f"Models of the task {bundle.notes['task']} are not drawn; show draws {drawn}.")
    task.page(bundle, data, limit).write(str(out_file))
    say(f"Wrote the page to {out}.")
