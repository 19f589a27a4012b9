"""The table of tasks. A new one is a subclass of `Task` and a line here (and in the help of `train`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structlearn.cli.flat import Classify, MultiLabel
from structlearn.cli.matching import Match
from structlearn.cli.notes import check_notes
from structlearn.cli.parsing import Parse
from structlearn.cli.regression import Regress
from structlearn.cli.tagging import Spans, Tag
from structlearn.cli.task import Task
from structlearn.estimators.choices import one_of
from structlearn.estimators.model_file import damaged
from structlearn.estimators.persistence import Bundle, load_bundle

TASKS: dict[str, Task] = {
    "classify": Classify(),
    "multilabel": MultiLabel(),
    "regress": Regress(),
    "tag": Tag(),
    "chunk": Spans(),
    "ner": Spans(),
    "parse": Parse(),
    "match": Match(),
}


def task_named(name: str) -> Task:
    """The task, or a ValueError that lists all and suggests the nearest."""
    return TASKS[one_of("task", name, TASKS)]


def task_parameters(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that the flags which were given stand for; ValueError for a flag of another task."""
    flags = TASKS[name].flags
    parameters: dict[str, Any] = {}
    for flag, value in given.items():
        if value is None or value is False:
            continue
        if flag not in flags:
            owners = ", ".join(other for other, task in TASKS.items() if flag in task.flags)
            raise ValueError(f"--{flag} does not go with the task {name} (it goes with {owners}).")
        parameters.update(dict.fromkeys(flags[flag], value))
    TASKS[name].check_parameters(parameters)
    return parameters


def open_model(path: Path) -> tuple[Bundle, Task]:
    """A model file and the task it was trained for; ValueError if it is damaged or not from `train`."""
    bundle = load_bundle(path)
    name = bundle.notes.get("task")
    if not isinstance(name, str) or name not in TASKS:
        raise ValueError(
            f"{path} does not say how to read data files (it was not written by `structlearn train`, or by a "
            "later version of it); use structlearn.load in Python."
        )
    try:
        check_notes(bundle, TASKS[name].estimator)
    except ValueError as error:
        raise damaged(path, error) from None
    return bundle, TASKS[name]
