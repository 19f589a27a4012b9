"""Answers of a model as JSON objects, one an example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

from structlearn.cli.tasks.task import Task
from structlearn.core.contract import Array
from structlearn.estimators.files.persistence import Bundle


def objects(
    task: Task, bundle: Bundle, X: object, *, marginals: bool, coverage: float | None = None
) -> Iterator[dict[str, object]]:
    """Yield what is predicted for each example, with how much probability, and what covers the truth."""
    estimator = bundle.estimator
    answers = estimator.predict(X)
    tables: Iterable[Any] = repeat(None)
    if marginals:
        proba = hasattr(estimator, "predict_proba") and not isinstance(answers, list)
        tables = estimator.predict_proba(X) if proba else estimator.predict_marginals(X)
    labels = task.label_names(bundle) or getattr(estimator, "classes_", None)
    covers = repeat(None) if coverage is None else task.cover(bundle, X, coverage)
    for answer, table, cover in zip(answers, tables, covers):
        found = task.answer(bundle, answer) | ({} if cover is None else {task.cover_name: cover})
        yield found if table is None else found | {"probabilities": _probabilities(labels, table)}


def _probabilities(labels: Sequence[object] | None, table: Array) -> object:
    """Return probabilities by label for each place, or the table as it is if there are no labels."""
    if labels is None:
        return table
    if table.ndim == 1:
        return dict(zip(map(str, labels), table.tolist(), strict=True))
    return [_probabilities(labels, row) for row in table]
