"""Answers of a model as JSON objects, one an example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.persistence import Bundle


def objects(bundle: Bundle, X: object, *, marginals: bool) -> Iterator[dict[str, object]]:
    """What is predicted for each example, and with how much probability."""
    estimator = bundle.estimator
    answers = estimator.predict(X)
    tables: Iterable[Any] = repeat(None)
    if marginals:
        proba = hasattr(estimator, "predict_proba") and not isinstance(answers, list)
        tables = estimator.predict_proba(X) if proba else estimator.predict_marginals(X)
    for answer, table in zip(answers, tables):
        found = _object(bundle, answer)
        yield found if table is None else found | {"probabilities": _probabilities(bundle, table)}


def _object(bundle: Bundle, answer: Any) -> dict[str, object]:
    """One answer, by the kind of model."""
    kind = type(bundle.estimator).__name__
    if kind == "LinearRegressor":
        return {"number": answer}
    if kind == "TreeParser":
        return (
            {"heads": answer.heads, "labels": answer.labels}
            if hasattr(answer, "heads")
            else {"heads": answer}
        )
    if kind == "MatchingClassifier":
        return {"links": np.argwhere(answer)}
    if kind == "MultiLabelClassifier":
        names = _names(bundle)
        return {"labels": [one for one, on in zip(names, answer) if on] if names is not None else answer}
    return {"label": answer} if np.ndim(answer) == 0 else {"labels": answer}


def _names(bundle: Bundle) -> Sequence[str] | None:
    """The columns of a table whose sets are rows of zeros and ones."""
    of_table = type(bundle.estimator).__name__ == "MultiLabelClassifier" and "targets" in bundle.notes
    return bundle.notes["targets"] if of_table else None


def _probabilities(bundle: Bundle, table: Array) -> object:
    """By label where there are labels, for each place; a table as it is where there are none."""
    classes = _names(bundle) or getattr(bundle.estimator, "classes_", None)
    if classes is None:
        return table
    if table.ndim == 1:
        return dict(zip(map(str, classes), table.tolist(), strict=True))
    return [_probabilities(bundle, row) for row in table]
