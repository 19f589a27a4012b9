"""Tasks by their names, and models with the tasks that they were trained for."""

from __future__ import annotations

from pathlib import Path

from structlearn.apps.registry import APPLICATIONS
from structlearn.cli.tasks.registry import TASKS
from structlearn.cli.tasks.task import Task
from structlearn.core.registry import resolve_name
from structlearn.estimators.files.persistence import Bundle, load_bundle
from structlearn.storage.model_file import ModelFile, damage_error


def task_named(name: str) -> Task:
    """Return the task, or raise a ValueError that lists all and suggests the nearest."""
    if name in ("align", "alignment"):
        raise ValueError("Words are aligned by commands of their own: see `structlearn align --help`.")
    return TASKS.entry(name).task


def _parser(file: ModelFile) -> Bundle:
    """Return a parser with networks, and the notes of its file."""
    return Bundle(resolve_name(APPLICATIONS["NeuralParser"].made).of(file), file.header["notes"])


def open_model(path: Path) -> tuple[Bundle, Task]:
    """Return a model file and the task it was trained for.

    ValueError if it is damaged or not from `train`.
    """
    file = ModelFile(path)
    kind = file.header["estimator"]
    if kind == "Aligner":
        raise ValueError(f"{path} holds an {kind}: see `structlearn align --help` for what takes it.")
    bundle = _parser(file) if kind == "NeuralParser" else load_bundle(path)
    name = bundle.notes.get("task")
    if not isinstance(name, str) or name not in TASKS:
        raise ValueError(
            f"{path} does not say how to read data files (it was not written by `structlearn train`, or by a "
            "later version of it); use structlearn.load in Python."
        )
    task = TASKS[name].task
    try:
        task.check_bundle(bundle)
    except ValueError as error:
        raise damage_error(path, error) from None
    return bundle, task
