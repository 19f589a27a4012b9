"""The task `decide`: predict costs and decide by them, from .npz files.

`train` fits the two-stage baseline (least squares on the costs, with its usual lambda) on the same data as
well, and the model file holds its weights, so that `evaluate` can compare the regrets on any file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from structlearn import metrics
from structlearn.cli.commands.folds import ReadExamples
from structlearn.cli.tasks.task import Inputs, Scores, Task, Training
from structlearn.core.contract import Array
from structlearn.core.wording import count_of, plain
from structlearn.data import DataError, read_decisions
from structlearn.data.decisions.arrays import DECIDED
from structlearn.data.graphs import write_arrays
from structlearn.estimators.decisions.rows import DecisionRows
from structlearn.estimators.files.persistence import Bundle

if TYPE_CHECKING:
    from structlearn.cli.commands.folds import FoldedExamples, TrainingFile
    from structlearn.reports import Page

#: What the weights of the baseline are called in a model file.
BASELINE = "two_stage"


@dataclass(frozen=True)
class TrueCosts:
    """The costs that decisions are judged by, and the features that other models decide by."""

    costs: Array
    rows: DecisionRows

    def __len__(self) -> int:
        return len(self.costs)


class DecisionExamplesInFolds(ReadExamples):
    """Examples of `tune`, judged by what `evaluate` judges files by."""

    def held_out(self, rows: Array, bundle: Bundle) -> Inputs:
        X, costs, _ = super().held_out(rows, bundle)
        return Inputs(X, TrueCosts(costs, X))


class DecideTask(Task):
    """Decisions by predicted costs: see `structlearn.data.decisions.files` for the arrays of a file."""

    estimator = "DecisionPredictor"
    drawn = True
    error_name: ClassVar[str] = "normalised regret"

    # ---- files ---------------------------------------------------------------------------------------------

    def read(self, path: Path, target: str | None) -> Training:
        """Read features, costs, and what may be decided."""
        if target is not None:
            raise ValueError("--target goes with tables; the costs of decide are the array costs.")
        found = read_decisions(path)
        if found.costs is None:
            raise DataError(f"{path} has no array costs to learn from.")
        if found.structure is None:
            raise DataError(
                f"{path} does not say what is decided; give the arrays of one of these: {DECIDED}."
            )
        parameters = {"structure": found.structure, **({"sense": found.sense} if found.sense else {})}
        parts = f"{count_of(found.costs.shape[1], 'part')} each"
        summary = (
            f"{count_of(len(found.X), 'example')} of {type(found.structure).__name__}, {parts}, with "
            f"{count_of(found.X.shape[-1], 'feature')}"
        )
        X = DecisionRows(found.X, found.known_costs)
        return Training(X, found.costs, {"format": "npz"}, {}, summary, parameters=parameters)

    def examples(self, source: TrainingFile, folder: Path) -> FoldedExamples:
        """Read a file for `tune`."""
        return DecisionExamplesInFolds(super().examples(source, folder).whole)

    def reread(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Read features, and what is decided, which is as in training if the file does not say it."""
        model = bundle.estimator
        shape = getattr(model, "part_shape_", ())
        found = read_decisions(path, n_parts=int(np.prod(shape)) if shape else None)
        if model is not None:
            self._check_fit(path, found.X, found.costs, model)
        rows = DecisionRows(found.X, found.known_costs, found.structure)
        costs = found.costs if labels else None
        return Inputs(rows, None if costs is None else TrueCosts(costs, rows), found)

    def _check_fit(self, path: Path, X: Array, costs: Array | None, model: Any) -> None:
        """Raise DataError for features, or numbers of parts, that differ from those of training."""
        axes = 3 if model._of_parts else 2
        if X.ndim != axes:
            what = "one row per part" if model._of_parts else "one row per example"
            raise DataError(f"{path}: the model was trained with features of {what}; got {X.ndim} axes.")
        if X.shape[-1] != model.n_features_in_:
            raise DataError(
                f"{path} has {count_of(X.shape[-1], 'feature')}, but the model was trained with "
                f"{model.n_features_in_}."
            )
        if costs is not None and axes == 2 and costs.shape[1] != model.part_shape_[0]:
            raise DataError(
                f"{path} has costs of {count_of(costs.shape[1], 'part')}, but the model was trained with "
                f"{model.part_shape_[0]}."
            )

    # ---- models --------------------------------------------------------------------------------------------

    def trim(self, estimator: Any, training: Training) -> Training:
        """Fit the two-stage baseline on the same data; its weights go into the model file."""
        if estimator.loss_ == "two-stage":
            return training
        weights = two_stage(estimator, training).weights_
        return training._replace(arrays={**training.arrays, BASELINE: weights})

    def check_notes(self, bundle: Bundle) -> None:
        """Raise ValueError unless the baseline has the weights of such a model."""
        found = bundle.arrays.get(BASELINE)
        weights = bundle.estimator.weights_
        if found is not None and not (found.shape == weights.shape and found.dtype == weights.dtype):
            raise ValueError(f"the array {BASELINE} must have the shape {weights.shape}")

    # ---- answers -------------------------------------------------------------------------------------------

    def check_marginals(self, bundle: Bundle) -> None:
        """Refuse: a decision has no probabilities."""
        raise ValueError("A model of the task decide has no probabilities: its answers are decisions.")

    def lines(self, bundle: Bundle, predicted: Iterable[Array]) -> Iterator[str]:
        """Yield a line per example: how much of each part is taken, mostly 0 or 1."""
        return (" ".join(format(part, "g") for part in one.ravel().tolist()) for one in predicted)

    def answer(self, bundle: Bundle, predicted: Array) -> dict[str, object]:
        return {"decision": predicted}

    def write(self, bundle: Bundle, inputs: Inputs, out: Path | None, *, marginals: bool) -> None:
        """Write the file with the arrays decisions and predicted_costs to a file named .npz; else lines."""
        if out is None or out.suffix.lower() != ".npz":
            super().write(bundle, inputs, out, marginals=marginals)
            return
        model = bundle.estimator
        answers = {"decisions": model.predict(inputs.X), "predicted_costs": model.predict_costs(inputs.X)}
        write_arrays(out, {**inputs.source.arrays, **answers})

    # ---- figures -------------------------------------------------------------------------------------------

    def evaluate(self, bundle: Bundle, y: TrueCosts, predicted: Array) -> Scores:
        """Return the regret, that of the two-stage baseline, and what decisions cost on average.

        Regrets are normalised: their sum over that of the absolute costs of the best decisions.
        """
        model, sense = bundle.estimator, bundle.estimator.sense
        best = model.best_decisions(y.costs, instances=y.rows.instances)
        decided, baseline = {"": predicted}, baseline_of(bundle)
        if baseline is not None:
            decided["two_stage_"] = baseline.predict(y.rows)
        regrets = {
            f"{name}regret": metrics.normalized_regret(y.costs, one, best, sense=sense)
            for name, one in decided.items()
        }
        costs = {
            f"{name}cost": float(metrics.decision_costs(y.costs, one).mean())
            for name, one in {**decided, "best_": best}.items()
        }
        share = float(np.mean(no_loss(y.costs, predicted, best, sense)))
        return Scores({**regrets, "best_decisions": share, **costs, "examples": len(y)}, 0)

    def outcome(self, values: Mapping[str, float | int], truths: Sequence[Any]) -> str:
        usual = f" ({values['two_stage_regret']:.1%} with least squares)" * ("two_stage_regret" in values)
        return f"decisions lose {values['regret']:.1%} of what the best ones cost or bring{usual}"

    def error(self, values: Mapping[str, float | int]) -> float:
        return values["regret"]

    def page(self, bundle: Bundle, path: Path, limit: int) -> Page:
        """Draw how regrets are distributed, and the decisions that cost most."""
        from structlearn.reports.decision_page import DecidedExamples, decision_page

        X, y, source = self.inputs(path, bundle, labels=True)
        if y is None:
            raise ValueError(f"{path} has no array costs, without which no decision can be judged.")
        model, baseline = bundle.estimator, baseline_of(bundle)
        found = DecidedExamples(
            model.predict_costs(X),
            y.costs,
            model.predict(X),
            model.best_decisions(y.costs, instances=y.rows.instances),
            None if baseline is None else baseline.predict(X),
            source.structure or model.structure_,
            model.sense,
        )
        return decision_page(found, title=f"Decisions of {plain(path.name)}", limit=limit)


def no_loss(costs: Array, decided: Array, best: Array, sense: str) -> Array:
    """Return which decisions are as good as the best ones, up to rounding."""
    size = np.abs(metrics.decision_costs(np.abs(costs), best))
    return metrics.regret(costs, decided, best, sense=sense) <= 1e-9 * size


def two_stage(estimator: Any, training: Training) -> Any:
    """Return the baseline, fitted: least squares on the costs with its usual lambda, all else as it is."""
    from structlearn.estimators.advice.learned import inner_fits
    from structlearn.estimators.scikit import clone_unfitted

    model = clone_unfitted(estimator)
    model.set_params(
        loss="two-stage", regularization="auto", solver="auto", early_stopping=False, warm_start=False,
        checkpoint=None, verbose=0,
    )  # fmt: skip
    with inner_fits():
        return model.fit(training.X, training.y)


def baseline_of(bundle: Bundle) -> Any:
    """Return the model with the weights of the baseline; None if the file has none."""
    if bundle.estimator.loss_ == "two-stage":
        return bundle.estimator
    if BASELINE not in bundle.arrays:
        return None
    model = copy(bundle.estimator)
    model.weights_, model.loss_ = bundle.arrays[BASELINE], "two-stage"
    return model
