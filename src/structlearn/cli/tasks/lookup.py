"""Tasks by their names, and models with the tasks that they were trained for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from structlearn.apps.registry import APPLICATIONS
from structlearn.cli.tasks.registry import TASKS
from structlearn.cli.tasks.task import Task
from structlearn.estimators.files.persistence import Bundle, load_bundle
from structlearn.storage.model_file import ModelFile, damaged


def task_named(name: str) -> Task:
    """The task, or a ValueError that lists all and suggests the nearest."""
    if name in ("align", "alignment"):
        raise ValueError("Words are aligned by commands of their own: see `structlearn align --help`.")
    return TASKS.named(name).task


def task_parameters(name: str, given: Mapping[str, object]) -> dict[str, object]:
    """Parameters that the flags which were given stand for; ValueError for a flag of another task."""
    entry = TASKS[name]
    parameters: dict[str, object] = {}
    for flag, value in given.items():
        if value is None or value is False:
            continue
        if flag not in entry.flags:
            owners = ", ".join(other.name for other in TASKS.values() if flag in other.flags)
            raise ValueError(f"--{flag} does not go with the task {name} (it goes with {owners}).")
        parameters.update(dict.fromkeys(entry.flags[flag], value))
    entry.task.check_parameters(parameters)
    return parameters


def open_model(path: Path) -> tuple[Bundle, Task]:
    """A model file and the task it was trained for; ValueError if it is damaged or not from `train`."""
    kind = ModelFile(path).header["estimator"]
    if isinstance(kind, str) and kind in APPLICATIONS:
        raise ValueError(f"{path} holds an {kind}: see `structlearn align --help` for what takes it.")
    bundle = load_bundle(path)
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
        raise damaged(path, error) from None
    return bundle, task
