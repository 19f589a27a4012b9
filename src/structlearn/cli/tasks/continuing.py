"""`train --continue MODEL`: training starts at the weights of a model before."""

from __future__ import annotations

from pathlib import Path

from structlearn.cli.support.errors import say
from structlearn.cli.tasks.task import Task, Training
from structlearn.core.wording import list_names
from structlearn.tagging.parameters import SEGMENTS
from structlearn.tagging.tagger import Tagger


def continue_model(tagger: Tagger, path: Path, task: Task, training: Training) -> None:
    """Have the tagger start there; ValueError for a model of another task or of other features."""
    from structlearn.cli.tasks.lookup import open_model

    bundle, other = open_model(path)
    if type(other) is not type(task):
        raise ValueError(
            f"--continue {path}: it is a model of the task {bundle.notes['task']}, not of this one."
        )
    before = Tagger.load(path)
    if before.model == SEGMENTS:
        raise ValueError(f"--continue {path}: it is a model of segments; only chains are continued.")
    tagger.continue_from(before)
    gone = set(before.classes_.tolist()) - {str(label) for one in training.y for label in one}
    if gone:
        names = list_names(sorted(gone))
        say(f"Note: the data lacks labels of the model before, which are forgotten: {names}.")
