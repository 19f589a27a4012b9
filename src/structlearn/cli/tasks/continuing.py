"""`train --continue MODEL`: training starts at the weights of a model before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from structlearn.cli.support.errors import say
from structlearn.cli.tasks.task import Task, Training
from structlearn.core.wording import listed
from structlearn.estimators.files.persistence import Bundle
from structlearn.estimators.inputs.token_features import NamedRows
from structlearn.tagging.continuing import continue_tagger
from structlearn.tagging.stored import FEATURES
from structlearn.tagging.tagger import Tagger


def continue_model(path: Path, task: Task, estimator: Any, training: Training) -> None:
    """Have the estimator start there; ValueError for a model of another task or of other features."""
    from structlearn.cli.tasks.lookup import open_model

    bundle, other = open_model(path)
    if type(other) is not type(task):
        raise ValueError(
            f"--continue {path}: it is a model of the task {bundle.notes['task']}, not of this one."
        )
    if type(bundle.estimator) is not type(estimator):
        raise ValueError(f"--continue {path}: it is a model of segments; only chains are continued.")
    before = Tagger.load(path)
    named = isinstance(training.X, NamedRows)
    if not named and FEATURES not in training.arrays:
        raise ValueError("--continue goes with features of templates and with files of CRFsuite.")
    features = (
        training.X.features
        if isinstance(training.X, NamedRows)
        else Tagger.of(
            Bundle(None, training.notes, training.texts, training.arrays, training.bundled)
        ).features_
    )
    continue_tagger(estimator, before, features)
    gone = set(before.classes_.tolist()) - {str(label) for one in training.y for label in one}
    if gone:
        say(f"Note: the data lacks labels of the model before, which are forgotten: {listed(sorted(gone))}.")
