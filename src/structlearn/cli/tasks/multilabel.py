"""The task `multilabel`: sets of labels for rows of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structlearn import metrics
from structlearn.cli.answers.figures import most_frequent_share
from structlearn.cli.tasks.flat import FlatTask
from structlearn.cli.tasks.label_table import table_of_sets
from structlearn.cli.tasks.labels import set_rows, spelling
from structlearn.cli.tasks.task import Inputs, Scores, Training, probability_lines
from structlearn.core.contract import Array
from structlearn.data.file_formats import TABLE
from structlearn.estimators.confidence.rows import label_reliability
from structlearn.estimators.files.persistence import Bundle
from structlearn.problem.registry import LOSSES

#: A set of labels per example: the labels, or (of a table) a row of zeros and ones.
LabelSets = Sequence[Sequence[object] | Array]


class MultiLabel(FlatTask):
    """A set of labels for each example."""

    estimator = "MultiLabelClassifier"
    packed = "sets"
    multilabel = calibrated = True
    target_kind = "lists"
    instead = "structlearn calibrate corrects the probabilities of its labels, which predict --proba writes."

    def how_wrong(self, bundle: Bundle, y: LabelSets, predicted: LabelSets, soft: Array | None) -> Array:
        if bundle.notes["format"] != TABLE:
            y, predicted, *_ = set_rows(y, predicted, bundle.estimator.classes_)
        return (np.asarray(y) != np.asarray(predicted)).sum(axis=1).astype(float)

    def check_target(self, target: str | None) -> None:
        """Require columns, which cannot be guessed."""
        if target is None:
            raise ValueError(
                "The task multilabel needs two or more 0/1 columns, --target name,name, or a column that "
                "lists labels (as in red;round), --target name."
            )

    def trim(self, estimator: Any, training: Training) -> Training:
        """Set the names of a table's target columns, too."""
        if training.notes["format"] == TABLE:
            estimator.classes_ = np.array(training.notes["targets"])
        return super().trim(estimator, training)

    def label_names(self, bundle: Bundle) -> list[str] | None:
        """Return the names of the labels, which for a table are its columns."""
        targets: list[str] | None = bundle.notes.get("targets")
        return targets

    def lines(self, bundle: Bundle, predicted: LabelSets) -> Iterator[str]:
        """Return the labels of a set joined by commas; of a table, the names of its columns."""
        if bundle.notes["format"] == TABLE:
            names = np.array(bundle.notes["targets"], dtype=object)
            return (",".join(names[np.asarray(row, dtype=bool)]) for row in predicted)
        return (",".join(map(str, one)) for one in predicted)

    def held_out(self, bundle: Bundle, inputs: Inputs, path: Path) -> Any:
        """Return the labels of each row: a 0/1 matrix, or sets."""
        if bundle.notes["format"] == TABLE:
            return inputs.y
        spelled = spelling(bundle.estimator.classes_)
        return [{spelled(label) for label in one} for one in inputs.y]

    def answer(self, bundle: Bundle, predicted: Sequence[object] | Array) -> dict[str, object]:
        names = self.label_names(bundle)
        return {"labels": predicted if names is None else [one for one, on in zip(names, predicted) if on]}

    def marginals(self, bundle: Bundle, X: object) -> Iterator[str]:
        """Yield the probability of each label by itself, one line per example."""
        table = bundle.notes["format"] == TABLE
        names = bundle.notes["targets"] if table else bundle.estimator.classes_.tolist()
        return probability_lines(names, bundle.estimator.predict_marginals(X))

    def soft_answers(self, bundle: Bundle, X: object) -> Array | None:
        model = bundle.estimator
        return model.predict_marginals(X) if LOSSES[model.loss_].smooth else None

    def soft_figures(self, bundle: Bundle, y: LabelSets, soft: Array) -> dict[str, float]:
        """Return the mean log loss of single labels, on or off."""
        return {"log_loss": -label_reliability(soft, self._on(bundle, y)).log_likelihood}

    def judged_probabilities(
        self, bundle: Bundle, y: LabelSets, predicted: LabelSets, soft: Array
    ) -> tuple[Array, Array, str]:
        return soft.ravel(), self._on(bundle, y).ravel(), "labels"

    def _on(self, bundle: Bundle, y: LabelSets) -> Array:
        """Return the 0/1 matrix of the labels that the model knows."""
        if bundle.notes["format"] == TABLE:
            return np.asarray(y)
        rows = set_rows(y, [], bundle.estimator.classes_)
        return np.stack(rows.gold)[:, : len(bundle.estimator.classes_)]

    def evaluate(self, bundle: Bundle, y: LabelSets, predicted: LabelSets) -> Scores:
        """Return the share of right sets, the share of wrong single decisions, and F1 of single labels."""
        if bundle.notes["format"] != TABLE:
            y, predicted, names, n_unknown = set_rows(y, predicted, bundle.estimator.classes_)
        else:
            names, n_unknown = bundle.notes["targets"], 0
        table = table_of_sets(names, y, predicted)
        values = {
            "exact_match": metrics.subset_accuracy(y, predicted),
            "exact_match_of_most_frequent": most_frequent_share(y),
            "hamming_loss": metrics.hamming_loss(y, predicted),
            "micro_f1": metrics.link_scores(y, predicted).f1,
            **table.means(),
            "examples": len(y),
        }
        return Scores(values, n_unknown, table)

    def outcome(self, values: Mapping[str, float | int], truths: Sequence[Any]) -> str:
        wrong, usual = 1.0 - values["exact_match"], 1.0 - values["exact_match_of_most_frequent"]
        return f"{wrong:.1%} of the label sets are wrong ({usual:.1%} if all were the most frequent set)"

    def error(self, values: Mapping[str, float | int]) -> float:
        """Return the share of wrong decisions on single labels."""
        return values["hamming_loss"]
