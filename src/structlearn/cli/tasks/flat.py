"""The tasks whose inputs are rows of numbers: `classify` and `multilabel`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from structlearn import metrics
from structlearn.cli.answers.confusions import confusions
from structlearn.cli.answers.figures import class_scores, most_frequent_share, score_figures
from structlearn.cli.support.errors import say
from structlearn.cli.support.outputs import write_pieces
from structlearn.cli.support.table_notes import (
    check_columns,
    check_format,
    check_table_notes,
    check_two_classes,
    summary_of,
    tell_remarks,
)
from structlearn.cli.tasks.label_table import table_of_labels, table_of_sets
from structlearn.cli.tasks.labels import positions, set_rows, spelling
from structlearn.cli.tasks.task import PACKED, Inputs, Scores, Task, Training, probability_lines
from structlearn.core.contract import Array
from structlearn.core.wording import list_names
from structlearn.data import (
    Table,
    read_csv_features,
    read_table,
    read_table_features,
    read_table_pieces,
)
from structlearn.data.file_formats import FILE_FORMATS, TABLE, rows_format
from structlearn.data.tables.targets import ListTarget, TargetKind
from structlearn.estimators.confidence.rows import label_reliability
from structlearn.estimators.files.persistence import Bundle
from structlearn.estimators.inputs.feature_names import Names, listed_names, mapped_names, numbered_names
from structlearn.estimators.inputs.nonlinear import in_turn, map_of_rows, nonlinear_steps
from structlearn.estimators.inputs.tables import make_table_transformer
from structlearn.problem.registry import LOSSES
from structlearn.storage.model_file import refuse_damaged
from structlearn.tables.frame import Frame, join_frames
from structlearn.tables.readings import ColumnReading, count_kinds

if TYPE_CHECKING:
    from structlearn.reports import Page

#: A set of labels an example: the labels, or (of a table) a row of zeros and ones.
LabelSets = Sequence[Sequence[object] | Array]


class FlatTask(Task):
    """Examples from a libsvm file or from a table with a header."""

    multilabel: ClassVar[bool]
    drawn = True
    #: what `how_wrong` measures, in a sentence
    wrongness: ClassVar[str] = "How wrong an answer is: the number of labels that are wrong."
    #: what the target of a table is
    target_kind: ClassVar[TargetKind] = "any"

    def read(self, path: Path, target: str | None) -> Training:
        """Read training data: a table, or rows in another format (see `rows_format`)."""
        name = rows_format(path, has_target=target is not None)
        if name == TABLE:
            return self._read_table(path, target)
        for flag, value in {"target": target, **self._named_columns()}.items():
            if value:
                what = FILE_FORMATS[name].what
                raise ValueError(
                    f"--{flag} names columns of a table with a header; {path} looks like {what}."
                )
        X, y = cast(Any, FILE_FORMATS[name].read_rows(path, multilabel=self.multilabel))
        notes = {"format": name, "n_features": X.shape[1]}
        return Training(X, y, notes, {}, summary_of(X), parameters=map_of_rows(self.options.nonlinear, X))

    def _read_table(self, path: Path, target: str | None) -> Training:
        self.check_target(target)
        options = self.options
        table = read_table(
            path,
            target=target,
            target_kind=self.target_kind,
            day_first=options.day_first or None,
            min_frequency=options.min_count,
            **self._named_columns(),
        )
        if not self.multilabel and len(table.target_names) > 1:  # a column whose own name has a comma
            raise ValueError(f"--target {target} names {len(table.target_names)} columns of {path}.")
        tell_remarks(table.remarks)
        # In the notes: unlike lines of text, column names may hold line ends.
        names = {"features": table.feature_names, "targets": table.target_names}
        notes: dict[str, object] = {"format": "csv", **names, "left_out": table.left_out}
        if table.target_list is not None:
            notes["target_list"] = table.target_list[:2]
        steps = nonlinear_steps(options.nonlinear, table.frame.shape)
        if options.no_scale and table.frame.is_complete and not steps:
            return Training(table.X, table.y, notes, {}, summary_of(table.X))
        transformer = make_table_transformer(
            scale=not options.no_scale,
            min_frequency=table.min_frequency,
            ngrams=options.ngrams,
            hash_bits=options.hash_bits,
            kinds=table.kinds,
        )
        transformer = in_turn([transformer, *steps])
        notes["kinds"] = [asdict(one) for one in table.kinds.values()]
        summary = f"{summary_of(table.frame)} ({count_kinds(table.kinds.values())})"
        return Training(table.frame, table.y, notes, {}, summary, parameters={"row_transformer": transformer})

    def _named_columns(self) -> dict[str, str | tuple[()]]:
        """Return the columns that flags name, by the flag."""
        flags = ("text", "category", "number", "ignore")
        return {flag: ",".join(getattr(self.options, flag) or ()) or () for flag in flags}

    def check_training(self, estimator: Any, training: Training) -> None:
        """Refuse nothing; have messages during training name columns as the file does."""
        features: Any = training.notes.get("features")
        estimator._input_names = numbered_names("index ", 1) if features is None else listed_names(features)

    def check_packing(self, training: Training) -> str:
        """Refuse to pack rows with text or missing values; numbers are packed as they are in the file."""
        if isinstance(training.X, Frame) and not training.X.is_complete:
            raise ValueError("A table with text or missing values is not packed; train reads its file.")
        return super().check_packing(training)

    def rows_to_pack(self, training: Training) -> Any:
        return training.X.array() if isinstance(training.X, Frame) else training.X

    def extras_to_pack(self, training: Training) -> dict[str, Any]:
        notes = {name: value for name, value in training.notes.items() if name != "kinds"}
        return super().extras_to_pack(training._replace(notes=notes, parameters={}))

    def training(self, path: Path, target: str | None) -> Training:
        """Read training data; refuse packed data whose notes do not say what its columns were."""
        if path.is_dir() and self.options.nonlinear not in (None, "none"):
            raise ValueError("--nonlinear goes with files, not with packed data.")
        found = super().training(path, target)
        if path.is_dir() and found.notes != {"format": PACKED}:
            with refuse_damaged(path):
                check_columns(found.notes)
        elif self.target_kind == "classes":
            check_two_classes(path, found)
        return found

    def trim(self, estimator: Any, training: Training) -> Training:
        """Set the names of a table's columns in the estimator, for those who load it in Python."""
        if training.notes["format"] == TABLE:
            estimator.feature_names_in_ = np.array(training.notes["features"], dtype=object)
        return training

    def reread(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Read data in the format of the training file."""
        notes = bundle.notes
        check_format(path, notes["format"])
        if notes["format"] != TABLE:
            known = FILE_FORMATS[notes["format"]]
            return Inputs(*known.read_rows(path, multilabel=self.multilabel, n_features=notes["n_features"]))
        if "kinds" in notes:
            found = list(self.pieces(path, bundle, labels=labels))
            y = None if found[0].y is None else np.concatenate([one.y for one in found])
            return Inputs(join_frames([one.X for one in found]), y)
        targets = notes["targets"] if labels else ()
        if bundle.estimator is not None:  # columns are found by their names here, and given without
            vars(bundle.estimator).pop("feature_names_in_", None)
        if "text" not in notes:
            table = read_csv_features(path, notes["features"], target_names=targets)
        else:  # of version 0.2
            kinds = {"text_names": notes["text"], "target_kind": self.target_kind}
            table = read_table_features(path, notes["features"], target_names=targets, **kinds)
        self._tell_strange(path, bundle, table)
        return Inputs(table.X, table.y)

    def _tell_strange(self, path: Path, bundle: Bundle, table: Table) -> None:
        """Say which columns of a file the model does not know."""
        others = {*bundle.notes["targets"], *bundle.notes.get("left_out", ())}
        others |= {*bundle.notes.get("target_list", ())[:1]}
        strange = [name for name in table.others if name not in others]
        if strange:
            say(f"Note: the model has no use for the columns {list_names(strange)} of {path}.")

    def pieces(self, path: Path, bundle: Bundle, *, labels: bool) -> Iterator[Inputs]:
        """Yield the rows of a table some at a time."""
        notes = bundle.notes
        if path.is_dir() or notes["format"] != TABLE or "kinds" not in notes:
            yield from super().pieces(path, bundle, labels=labels)
            return
        check_format(path, TABLE)
        if bundle.estimator is not None:  # columns are found by their names here, and given without
            vars(bundle.estimator).pop("feature_names_in_", None)
        kinds = {name: ColumnReading(**one) for name, one in zip(notes["features"], notes["kinds"])}
        targets = notes["targets"] if labels else ()
        lists = None
        if labels and "target_list" in notes:
            column, separator = notes["target_list"]
            lists = ListTarget(column, separator, list(targets))
        found = read_table_pieces(
            path, kinds, target_names=targets, target_kind=self.target_kind, target_list=lists
        )
        for k, table in enumerate(found):
            if not k:
                self._tell_strange(path, bundle, table)
            tell_remarks(table.remarks)
            yield Inputs(table.frame, table.y)

    def write_all(
        self, bundle: Bundle, pieces: Iterable[Inputs], out: Path | None, *, marginals: bool
    ) -> None:
        """Write the answers for all pieces of a file, one after the other."""
        pages = (self.pages(bundle, one, marginals=marginals) for one in pieces)
        write_pieces(chain.from_iterable(pages), out)

    def check_notes(self, bundle: Bundle) -> None:
        """Check the columns of the training file, which must be as many as the model has."""
        check_table_notes(bundle, len(bundle.estimator.classes_) if self.multilabel else 1)

    def feature_names(self, bundle: Bundle) -> Names:
        """Return the header of a table; in a libsvm file features have numbers, from 1."""
        features = bundle.notes.get("features")
        if hasattr(bundle.estimator, "row_transformer_"):
            return mapped_names(bundle.estimator, features)
        return listed_names(features) if features is not None else numbered_names("index ", 1)

    def page(self, bundle: Bundle, path: Path, limit: int) -> Page:
        """Return a page of figures, weights, and the rows that the model is most wrong about."""
        from structlearn.cli.answers.page import table_page

        return table_page(self, bundle, path, limit)

    @abstractmethod
    def how_wrong(self, bundle: Bundle, y: Any, predicted: Any, soft: Array | None) -> Array:
        """Return a number per example that is larger for answers that are more wrong."""

    def judged_probabilities(
        self, bundle: Bundle, y: Any, predicted: Any, soft: Array
    ) -> tuple[Array, Array, str]:
        """Return probabilities of answers, whether they are right, and what such answers are called."""
        return soft.max(axis=1), self.how_wrong(bundle, y, predicted, None) == 0, "answers"

    @abstractmethod
    def check_target(self, target: str | None) -> None:
        """ValueError if --target cannot be right, before a table is read."""


class Classify(FlatTask):
    """One label per example."""

    estimator = "MulticlassClassifier"
    packed = "classes"
    multilabel = False
    target_kind = "classes"
    calibrated = covered = True
    wrongness = (
        "How wrong an answer is: 1 minus the probability of the gold class or, where the model has no "
        "probabilities, 1 for a wrong class."
    )

    def how_wrong(self, bundle: Bundle, y: Array, predicted: Array, soft: Array | None) -> Array:
        codes = positions(y.tolist(), bundle.estimator.classes_)
        if soft is None or soft.ndim == 1:
            return (positions(predicted.tolist(), bundle.estimator.classes_) != codes).astype(float)
        return np.where(codes < 0, 1.0, 1 - soft[np.arange(len(codes)), codes])

    def check_target(self, target: str | None) -> None:
        """Allow one column, by default the last."""
        if target is not None and "," in target:
            raise ValueError(f"The task classify has one target column, not {target!r}; try multilabel.")

    def lines(self, bundle: Bundle, predicted: Array) -> Iterator[str]:
        """One label per line."""
        return map(str, predicted.tolist())

    def held_out(self, bundle: Bundle, inputs: Inputs, path: Path) -> list[Any]:
        """Return the class of each row; the estimator does not know all of them."""
        spelled = spelling(bundle.estimator.classes_)
        return [spelled(label) for label in inputs.y.tolist()]

    def cover(self, bundle: Bundle, X: object, coverage: float) -> Iterable[Any]:
        """Return the classes of each set, the most probable first."""
        found: Iterable[Any] = bundle.estimator.predict_sets(X, coverage)
        return found

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

    def soft_answers(self, bundle: Bundle, X: object) -> Array | None:
        return class_scores(bundle.estimator, X)

    def soft_figures(self, bundle: Bundle, y: Array, soft: Array) -> dict[str, float]:
        """Return log_loss, if there are probabilities, and auc, if there are two classes."""
        return score_figures(positions(y.tolist(), bundle.estimator.classes_), soft)


class MultiLabel(FlatTask):
    """A set of labels an example."""

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
