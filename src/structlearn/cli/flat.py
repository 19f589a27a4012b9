"""The tasks whose inputs are rows of numbers: `classify` and `multilabel`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from scipy import sparse

from structlearn import metrics
from structlearn.cli.formats import check_format, training_format
from structlearn.cli.label_table import table_of_labels
from structlearn.cli.labels import set_rows, spelling
from structlearn.cli.task import STRUCTURED, Inputs, Scores, Task, Training, pairs
from structlearn.core.contract import Array
from structlearn.data import read_csv, read_csv_features, read_libsvm
from structlearn.estimators.feature_names import Names, listed_names, numbered
from structlearn.estimators.persistence import Bundle
from structlearn.storage.schema import check_form

#: What a model file says of its training data.
_NOTES = {"format": Literal["libsvm", "csv"]}
_OF_FORMAT = {"libsvm": {"n_features": int}, "csv": {"features": list[str], "targets": list[str]}}


#: A set of labels an example: the labels, or (of a table) a row of zeros and ones.
LabelSets = Sequence[Sequence[object] | Array]


class FlatTask(Task):
    """Examples from a libsvm file or from a table with a header."""

    multilabel: ClassVar[bool]

    def read(self, path: Path, target: str | None) -> Training:
        """Read training data in either format (see `training_format`)."""
        if training_format(path, target) == "csv":
            return self._read_table(path, target)
        if target is not None:
            raise ValueError(
                f"--target names columns of a table with a header; {path} looks like a libsvm file."
            )
        X, y = read_libsvm(path, multilabel=self.multilabel)
        notes = {"format": "libsvm", "n_features": X.shape[1]}
        return Training(X, y, notes, {}, _summary(X))

    def _read_table(self, path: Path, target: str | None) -> Training:
        self.check_target(target)
        table = read_csv(path, target=target)
        if self.multilabel != (len(table.target_names) > 1):  # a column whose own name has a comma
            raise ValueError(f"--target {target} names {len(table.target_names)} columns of {path}.")
        # In the notes: unlike lines of text, column names may hold line ends.
        names = {"features": table.feature_names, "targets": table.target_names}
        return Training(table.X, table.y, {"format": "csv", **names}, {}, _summary(table.X))

    def reread(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Read data in the format of the training file."""
        notes = bundle.notes
        check_format(path, notes["format"])
        if notes["format"] == "libsvm":
            return Inputs(*read_libsvm(path, multilabel=self.multilabel, n_features=notes["n_features"]))
        targets = notes["targets"] if labels else ()
        table = read_csv_features(path, notes["features"], target_names=targets)
        return Inputs(table.X, table.y)

    def check_notes(self, bundle: Bundle) -> None:
        """The columns of the training file, as many as the model has."""
        model, notes = bundle.estimator, bundle.notes
        check_form(notes, _NOTES, "notes")
        check_form(notes, _OF_FORMAT[notes["format"]], "notes")
        n = notes["n_features"] if notes["format"] == "libsvm" else len(notes["features"])
        if n != model.n_features_in_:
            raise ValueError(f"notes tell of {n} features, not of {model.n_features_in_}")
        n_targets = len(model.classes_) if self.multilabel else 1
        if notes["format"] == "csv" and len(notes["targets"]) != n_targets:
            raise ValueError(f"notes.targets must be {n_targets} names")

    def feature_names(self, bundle: Bundle) -> Names:
        """The header of a table; in a libsvm file features have numbers, from 1."""
        if hasattr(bundle.estimator, "row_transformer_"):
            return super().feature_names(bundle)
        if "features" in bundle.notes:
            return listed_names(bundle.notes["features"])
        return numbered("index ", 1)

    @abstractmethod
    def check_target(self, target: str | None) -> None:
        """ValueError if --target cannot be right, before a table is read."""


class Classify(FlatTask):
    """One label an example."""

    estimator = "MulticlassClassifier"
    packed = "classes"
    multilabel = False
    flags: ClassVar[dict[str, tuple[str, ...]]] = {**STRUCTURED, "penalty": ("penalty",)}
    penalties = ("l2", "l1", "group")

    def check_target(self, target: str | None) -> None:
        """One column, by default the last."""
        if target is not None and "," in target:
            raise ValueError(f"The task classify has one target column, not {target!r}; try multilabel.")

    def lines(self, bundle: Bundle, predicted: Array) -> Iterator[str]:
        """One label a line."""
        return map(str, predicted.tolist())

    def marginals(self, bundle: Bundle, X: object) -> Iterator[str]:
        """Probabilities of the classes, a line an example."""
        return pairs(bundle.estimator.classes_.tolist(), bundle.estimator.predict_proba(X))

    def evaluate(self, bundle: Bundle, y: Array, predicted: Array) -> Scores:
        """Share of right labels; precision, recall and F1 of each class, and their means."""
        spelled = spelling(bundle.estimator.classes_)
        gold = list(map(spelled, y.tolist()))
        table = table_of_labels("class", "examples", gold, predicted.tolist())
        known = set(bundle.estimator.classes_.tolist())
        right = sum(one.right for one in table.scores.values())
        values = {"accuracy": right / max(len(gold), 1), **table.means(), "examples": len(gold)}
        return Scores(values, sum(label not in known for label in gold), table)


class MultiLabel(FlatTask):
    """A set of labels an example."""

    estimator = "MultiLabelClassifier"
    packed = "sets"
    multilabel = True
    flags: ClassVar[dict[str, tuple[str, ...]]] = {**STRUCTURED, "edges": ("edges",)}

    def check_target(self, target: str | None) -> None:
        """Several columns, which cannot be guessed."""
        if target is None or "," not in target:
            raise ValueError("The task multilabel needs two or more 0/1 columns: --target name,name.")

    def label_names(self, bundle: Bundle) -> list[str] | None:
        """Those of a table are its columns."""
        targets: list[str] | None = bundle.notes.get("targets")
        return targets

    def lines(self, bundle: Bundle, predicted: LabelSets) -> Iterator[str]:
        """The labels of a set joined by commas; of a table, the names of its columns."""
        if bundle.notes["format"] == "csv":
            names = np.array(bundle.notes["targets"], dtype=object)
            return (",".join(names[np.asarray(row, dtype=bool)]) for row in predicted)
        return (",".join(map(str, one)) for one in predicted)

    def marginals(self, bundle: Bundle, X: object) -> Iterator[str]:
        """Probability of each label by itself, a line an example."""
        table = bundle.notes["format"] == "csv"
        names = bundle.notes["targets"] if table else bundle.estimator.classes_.tolist()
        return pairs(names, bundle.estimator.predict_marginals(X))

    def evaluate(self, bundle: Bundle, y: LabelSets, predicted: LabelSets) -> Scores:
        """Share of right sets, share of wrong decisions on single labels, and F1 of single labels."""
        n_unknown = 0
        if bundle.notes["format"] == "libsvm":
            y, predicted, n_unknown = set_rows(y, predicted, bundle.estimator.classes_)
        values = {
            "exact_match": metrics.subset_accuracy(y, predicted),
            "hamming_loss": metrics.hamming_loss(y, predicted),
            "micro_f1": metrics.link_scores(y, predicted).f1,
            "examples": len(y),
        }
        return Scores(values, n_unknown)

    def error(self, values: Mapping[str, float | int]) -> float:
        """The share of wrong decisions on single labels."""
        return values["hamming_loss"]


def _summary(X: Array | sparse.csr_matrix) -> str:
    return f"{X.shape[0]} examples with {X.shape[1]} features"
