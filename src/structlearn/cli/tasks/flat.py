"""The tasks whose inputs are rows of numbers: `classify` and `multilabel`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from scipy import sparse

from structlearn import metrics
from structlearn.cli.answers.confusions import confusions
from structlearn.cli.answers.figures import most_frequent_share, probability_figures
from structlearn.cli.support.errors import say
from structlearn.cli.support.flags import in_flags
from structlearn.cli.tasks.label_table import table_of_labels, table_of_sets
from structlearn.cli.tasks.labels import positions, set_rows, spelling
from structlearn.cli.tasks.task import PACKED, Inputs, Scores, Task, Training, probability_lines
from structlearn.core.contract import Array
from structlearn.core.wording import count_of, list_names
from structlearn.data import DataError, read_csv_features, read_table, read_table_features
from structlearn.data.file_formats import FILE_FORMATS, TABLE, is_pipe, rows_format, seen_format
from structlearn.data.tables.table import TargetKind
from structlearn.estimators.files.persistence import Bundle
from structlearn.estimators.inputs.feature_names import Names, listed_names, mapped_names, numbered_names
from structlearn.estimators.inputs.tables import make_table_transformer
from structlearn.storage.model_file import refuse_damaged
from structlearn.storage.schema import check_form

#: What a model file says of its training data: of rows of numbers, and of a table.
_OF_ROWS = {"n_features": int}
#: `text`, columns of text, is there where rows are those of a table; `left_out` columns were of no use.
_OF_TABLE = {"features": list[str], "targets": list[str], "text?": list[str], "left_out?": list[str]}

#: A set of labels an example: the labels, or (of a table) a row of zeros and ones.
LabelSets = Sequence[Sequence[object] | Array]


class FlatTask(Task):
    """Examples from a libsvm file or from a table with a header."""

    multilabel: ClassVar[bool]
    #: what the target of a table is
    target_kind: ClassVar[TargetKind] = "any"

    def read(self, path: Path, target: str | None) -> Training:
        """Read training data: a table, or rows in another format (see `rows_format`)."""
        name = rows_format(path, has_target=target is not None)
        if name == TABLE:
            return self._read_table(path, target)
        for flag, value in {
            "target": target,
            "text": self.options.text,
            "ignore": self.options.ignore,
        }.items():
            if value:
                what = FILE_FORMATS[name].what
                raise ValueError(
                    f"--{flag} names columns of a table with a header; {path} looks like {what}."
                )
        X, y = cast(Any, FILE_FORMATS[name].read_rows(path, multilabel=self.multilabel))
        notes = {"format": name, "n_features": X.shape[1]}
        return Training(X, y, notes, {}, _summary(X))

    def _read_table(self, path: Path, target: str | None) -> Training:
        self.check_target(target)
        table = read_table(
            path,
            target=target,
            target_kind=self.target_kind,
            text=",".join(self.options.text or ()) or (),
            ignore=",".join(self.options.ignore or ()) or (),
            min_frequency=self.options.min_count,
        )
        if self.multilabel != (len(table.target_names) > 1):  # a column whose own name has a comma
            raise ValueError(f"--target {target} names {len(table.target_names)} columns of {path}.")
        tell(table.remarks)
        # In the notes: unlike lines of text, column names may hold line ends.
        names = {"features": table.feature_names, "targets": table.target_names}
        notes: dict[str, object] = {"format": "csv", **names, "left_out": table.left_out}
        if self.options.no_scale and not has_gaps(table.X):
            return Training(table.X, table.y, notes, {}, _summary(table.X))
        transformer = make_table_transformer(
            scale=not self.options.no_scale, min_frequency=table.min_frequency
        )
        notes["text"] = table.text_names
        summary = _summary(table.X, table.text_names)
        return Training(table.X, table.y, notes, {}, summary, parameters={"row_transformer": transformer})

    def check_training(self, estimator: Any, training: Training) -> None:
        """Refuse nothing; have messages during training name columns as the file does."""
        features: Any = training.notes.get("features")
        estimator._input_names = numbered_names("index ", 1) if features is None else listed_names(features)

    def check_packing(self, training: Training) -> str:
        """Refuse to pack rows with text or missing values; numbers are packed as they are in the file."""
        if has_gaps(training.X):
            raise ValueError("A table with text or missing values is not packed; train reads its file.")
        return super().check_packing(training)

    def extras_to_pack(self, training: Training) -> dict[str, Any]:
        notes = {name: value for name, value in training.notes.items() if name != "text"}
        return super().extras_to_pack(training._replace(notes=notes, parameters={}))

    def training(self, path: Path, target: str | None) -> Training:
        """Read training data; refuse packed data whose notes do not say what its columns were."""
        found = super().training(path, target)
        if path.is_dir() and found.notes != {"format": PACKED}:
            with refuse_damaged(path):
                _check_columns(found.notes)
        return found

    def trim(self, estimator: Any, training: Training) -> Training:
        """Set the names of a table's columns in the estimator, for those who load it in Python."""
        if training.notes["format"] == TABLE:
            estimator.feature_names_in_ = np.array(training.notes["features"], dtype=object)
        return training

    def reread(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Read data in the format of the training file."""
        notes = bundle.notes
        _check_format(path, notes["format"])
        if notes["format"] != TABLE:
            known = FILE_FORMATS[notes["format"]]
            return Inputs(*known.read_rows(path, multilabel=self.multilabel, n_features=notes["n_features"]))
        targets = notes["targets"] if labels else ()
        if bundle.estimator is not None:  # columns are found by their names here, and given without
            vars(bundle.estimator).pop("feature_names_in_", None)
        if "text" not in notes:
            table = read_csv_features(path, notes["features"], target_names=targets)
        else:
            kinds = {"text_names": notes["text"], "target_kind": self.target_kind}
            table = read_table_features(path, notes["features"], target_names=targets, **kinds)
        others = {*notes["targets"], *notes.get("left_out", ())}
        strange = [name for name in table.others if name not in others]
        if strange:
            say(f"Note: the model has no use for the columns {list_names(strange)} of {path}.")
        return Inputs(table.X, table.y)

    def check_notes(self, bundle: Bundle) -> None:
        """Check the columns of the training file, which must be as many as the model has."""
        model, notes = bundle.estimator, bundle.notes
        _check_columns(notes)
        n = len(notes["features"]) if notes["format"] == TABLE else notes["n_features"]
        if n != model.n_features_in_:
            raise ValueError(f"its notes name {n} features, but the model has {model.n_features_in_}")
        n_targets = len(model.classes_) if self.multilabel else 1
        if notes["format"] == TABLE and len(notes["targets"]) != n_targets:
            raise ValueError(f"notes.targets must be {n_targets} names")
        if "text" in notes and not getattr(model.row_transformer, "of_tables", False):
            raise ValueError("its notes name columns of text, but the model has no map for them")

    def feature_names(self, bundle: Bundle) -> Names:
        """Return the header of a table; in a libsvm file features have numbers, from 1."""
        features = bundle.notes.get("features")
        if hasattr(bundle.estimator, "row_transformer_"):
            return mapped_names(bundle.estimator, features)
        return listed_names(features) if features is not None else numbered_names("index ", 1)

    @abstractmethod
    def check_target(self, target: str | None) -> None:
        """ValueError if --target cannot be right, before a table is read."""


class Classify(FlatTask):
    """One label per example."""

    estimator = "MulticlassClassifier"
    packed = "classes"
    multilabel = False
    target_kind = "classes"

    def check_target(self, target: str | None) -> None:
        """Allow one column, by default the last."""
        if target is not None and "," in target:
            raise ValueError(f"The task classify has one target column, not {target!r}; try multilabel.")

    def lines(self, bundle: Bundle, predicted: Array) -> Iterator[str]:
        """One label per line."""
        return map(str, predicted.tolist())

    def marginals(self, bundle: Bundle, X: object) -> Iterator[str]:
        """Yield the probabilities of the classes, one line per example."""
        return probability_lines(bundle.estimator.classes_.tolist(), bundle.estimator.predict_proba(X))

    def evaluate(self, bundle: Bundle, y: Array, predicted: Array) -> Scores:
        """Return the share of right labels; precision, recall and F1 of each class, and their means."""
        spelled = spelling(bundle.estimator.classes_)
        gold, found = list(map(spelled, y.tolist())), predicted.tolist()
        table = table_of_labels("class", "examples", gold, found)
        known = set(bundle.estimator.classes_.tolist())
        n, rows = max(len(gold), 1), table.scores.values()
        values = {
            "accuracy": sum(one.right for one in rows) / n,
            "accuracy_of_most_frequent": max((one.gold for one in rows), default=0) / n,
            **table.means(),
            "examples": len(gold),
        }
        n_unknown = sum(label not in known for label in gold)
        return Scores(values, n_unknown, table, confusions(gold, found, table.scores))

    def judge(self, bundle: Bundle, inputs: Inputs) -> Scores:
        found = super().judge(bundle, inputs)
        codes = positions(inputs.y.tolist(), bundle.estimator.classes_)
        values = found.values | probability_figures(bundle.estimator, inputs.X, codes)
        values["examples"] = values.pop("examples")  # the last
        return found._replace(values=values)


class MultiLabel(FlatTask):
    """A set of labels an example."""

    estimator = "MultiLabelClassifier"
    packed = "sets"
    multilabel = True

    def check_target(self, target: str | None) -> None:
        """Require several columns, which cannot be guessed."""
        if target is None or "," not in target:
            raise ValueError("The task multilabel needs two or more 0/1 columns: --target name,name.")

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

    def answer(self, bundle: Bundle, predicted: Sequence[object] | Array) -> dict[str, object]:
        names = self.label_names(bundle)
        return {"labels": predicted if names is None else [one for one, on in zip(names, predicted) if on]}

    def marginals(self, bundle: Bundle, X: object) -> Iterator[str]:
        """Yield the probability of each label by itself, one line per example."""
        table = bundle.notes["format"] == TABLE
        names = bundle.notes["targets"] if table else bundle.estimator.classes_.tolist()
        return probability_lines(names, bundle.estimator.predict_marginals(X))

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

    def error(self, values: Mapping[str, float | int]) -> float:
        """Return the share of wrong decisions on single labels."""
        return values["hamming_loss"]


def _check_columns(notes: Mapping[str, Any]) -> None:
    """Raise ValueError unless notes name a format, and the columns of the file."""
    check_form(notes, {"format": str}, "notes")
    if notes["format"] not in [name for name, one in FILE_FORMATS.items() if one.rows or name == TABLE]:
        raise ValueError(f"notes.format is {notes['format']!r}, which this version does not read")
    check_form(notes, _OF_TABLE if notes["format"] == TABLE else _OF_ROWS, "notes")


def _check_format(path: Path, expected: str) -> None:
    """DataError if a file is clearly not of the format that the model was trained on."""
    found = None if is_pipe(path) else seen_format(path)
    if found is not None and found != expected:
        looks, was = FILE_FORMATS[found].what, FILE_FORMATS[expected].what
        raise DataError(f"{path} looks like {looks}; the model was trained on {was}.")


def tell(remarks: Iterable[str]) -> None:
    """Say what a user should know of a table."""
    for one in remarks:
        say(f"Note: {in_flags(one)}")


def has_gaps(X: object) -> bool:
    """Whether rows have text or missing values."""
    return isinstance(X, np.ndarray) and (X.dtype.kind == "O" or bool(np.isnan(X).any()))


def _summary(X: Array | sparse.csr_matrix, text: Sequence[str] = ()) -> str:
    of_text = f" ({len(text)} of them text)" if text else ""
    return f"{count_of(X.shape[0], 'example')} with {count_of(X.shape[1], 'feature')}{of_text}"
