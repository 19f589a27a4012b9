"""The task `regress`: a number for each row of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structlearn import metrics
from structlearn.cli.answers.figures import error_sizes
from structlearn.cli.tasks.flat import FlatTask
from structlearn.cli.tasks.task import Inputs, Scores, Training
from structlearn.core.contract import Array
from structlearn.data import DataError
from structlearn.data.scalars import number_problem
from structlearn.estimators.files.persistence import Bundle


class Regress(FlatTask):
    """One number an example."""

    estimator = "LinearRegressor"
    packed = "numbers"
    multilabel = False
    target_kind = "numbers"
    covered = True
    cover_name = "interval"
    instead = "Its answers are numbers: structlearn conformalize prepares intervals for them."
    error_name = "root mean squared error"
    wrongness = "How wrong an answer is: the size of its error."

    def how_wrong(self, bundle: Bundle, y: Array, predicted: Array, soft: Array | None) -> Array:
        return np.abs(y - predicted)

    def check_target(self, target: str | None) -> None:
        """Allow one column, by default the last."""
        if target is not None and "," in target:
            raise ValueError(f"The task regress has one target column, not {target!r}.")

    def read(self, path: Path, target: str | None) -> Training:
        """Read training data whose targets are numbers."""
        training = super().read(path, target)
        return training._replace(y=_numbers(path, training.y))

    def check_training(self, estimator: Any, training: Training) -> None:
        """Give a table's group to all features that are made of its column."""
        super().check_training(estimator, training)
        transformer: Any = training.parameters.get("row_transformer")
        if estimator.groups is None or transformer is None:
            return
        rows: Any = training.X
        n = rows.shape[1]
        if len(estimator.groups) != n:
            raise ValueError(
                f"groups must name the group of each of the {n} features; got {len(estimator.groups)}."
            )
        from structlearn.estimators.mapped import fitted_to
        from structlearn.estimators.row_maps.stored import stored_transformer

        fitted = stored_transformer(fitted_to(rows, transformer))
        groups = [estimator.groups[one.column] for one in fitted.origins() if one.column is not None]
        estimator.set_params(groups=groups)

    def reread(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Read data in the format of the training file; targets that are asked for must be numbers."""
        X, y, _ = super().reread(path, bundle, labels=labels)
        return Inputs(X, _numbers(path, y) if labels and y is not None else y)

    def lines(self, bundle: Bundle, predicted: Array) -> Iterator[str]:
        """Yield one number per line."""
        return (format(value, ".10g") for value in predicted.tolist())

    def cover(self, bundle: Bundle, X: object, coverage: float) -> Array:
        """Return intervals, of shape (n, 2)."""
        found: Array = bundle.estimator.predict_interval(X, coverage)
        return found

    def cover_lines(self, found: Iterable[Any]) -> Iterator[str]:
        """Yield the ends of each interval, with a tab between them."""
        return (f"{low:.10g}\t{high:.10g}" for low, high in found)

    def answer(self, bundle: Bundle, predicted: float) -> dict[str, object]:
        return {"number": predicted}

    def check_marginals(self, bundle: Bundle) -> None:
        """Refuse: a regressor answers with numbers."""
        raise ValueError(
            "A model of the task regress has no probabilities: its answers are numbers. For intervals run "
            "structlearn conformalize, then predict with --coverage 0.9."
        )

    def evaluate(self, bundle: Bundle, y: Array, predicted: Array) -> Scores:
        """Return the share of explained variance (nan for a single example), and sizes of the errors.

        Those of the mean of DATA, which is the best constant answer, stand beside them.
        """
        values = {
            "r2": metrics.r2(y, predicted) if len(y) > 1 else float("nan"),
            **error_sizes(y - predicted),
            **{f"{name}_of_mean": size for name, size in error_sizes(y - np.mean(y)).items()},
            "examples": len(y),
        }
        return Scores(values, 0)

    def outcome(self, values: Mapping[str, float | int], truths: Sequence[Any]) -> str:
        return (
            f"the answers are off by {values['rmse']:.3g} (root mean square; {values['rmse_of_mean']:.3g} if "
            "all were the mean)"
        )

    def error(self, values: Mapping[str, float | int]) -> float:
        """Return the root of the mean squared error."""
        return values["rmse"]


def _numbers(path: Path, y: Array) -> Array:
    """Return the targets as floats; DataError if one is not a number (they are all strings then)."""
    if y.dtype.kind not in "US":
        return y.astype(np.float64)
    for i, text in enumerate(y.tolist()):
        problem = number_problem(text)
        if problem is not None:
            raise DataError(f"{path}: the target of example {i + 1} {problem}.")
    return np.array([float(text) for text in y.tolist()])
