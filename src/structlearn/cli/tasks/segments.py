"""What `--model segments` takes of the flags and the data of a chain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from structlearn.cli.tasks.task import Training
from structlearn.tagging.models import of_segments

if TYPE_CHECKING:
    from structlearn.cli.tasks.tag import Tag


def check_segments(task: Tag, path: Path) -> None:
    """ValueError for what is about the steps of a chain."""
    if path.is_dir():
        raise ValueError("--model segments trains on files, not on packed data.")
    for name in ("transitions", "constraints", "continue_"):
        if getattr(task, name) is not None:
            raise ValueError(f"--{name.strip('_')} goes with --model chain, not with segments.")


def for_segments(training: Training) -> Training:
    """With the parameters that segments have; those of whole segments where there are words."""
    return training._replace(parameters=of_segments(training.parameters, training.X))
