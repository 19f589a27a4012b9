"""Answers of a model as JSON objects, one an example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

from structlearn.cli.tasks.task import Task
from structlearn.core.contract import Array
from structlearn.estimators.files.persistence import Bundle


def objects(task: Task, bundle: Bundle, X: object, *, marginals: bool) -> Iterator[dict[str, object]]:
    """Yield what is predicted for each example, and with how much probability."""
    estimator = bundle.estimator
    answers = estimator.predict(X)
    tables: Iterable[Any] = repeat(None)
    if marginals:
        proba = hasattr(estimator, "predict_proba") and not isinstance(answers, list)
        tables = estimator.predict_proba(X) if proba else estimator.predict_marginals(X)
    labels = task.label_names(bundle) or getattr(estimator, "classes_", None)
    for answer, table in zip(answers, tables):
        found = task.answer(bundle, answer)
        yield found if table is None else found | {"probabilities": _probabilities(labels, table)}


def _probabilities(labels: Sequence[object] | None, table: Array) -> object:
    """Return probabilities by label for each place, or the table as it is if there are no labels."""
    if labels is None:
        return table
    if table.ndim == 1:
        return dict(zip(map(str, labels), table.tolist(), strict=True))
    return [_probabilities(labels, row) for row in table]
