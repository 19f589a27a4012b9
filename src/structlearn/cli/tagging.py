"""The task `tag`: a label for each token of a sequence, from column files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from structlearn import metrics
from structlearn.cli.formats import ENTRY
from structlearn.cli.labels import positions
from structlearn.cli.task import STRUCTURED, Inputs, Scores, Task, Training, pairs
from structlearn.data import DataError, FeatureVocabulary, read_columns, split_rows
from structlearn.estimators.persistence import Bundle

LAST = -1


class Tag(Task):
    """One token a line, its features (numbers or strings) and its label in columns, blank lines between."""

    estimator = "ChainClassifier"
    packed = "chain"
    flags: ClassVar[dict[str, tuple[str, ...]]] = {**STRUCTURED, "boundaries": ("start", "end")}

    def read(self, path: Path, target: str | None) -> Training:
        """Read a column file and learn its features."""
        column = _label_column(target)
        sequences = read_columns(path, label_column=column)
        if all(ENTRY.fullmatch(label) for one in sequences.labels or () for label in one):
            # Training on it would take hours: a label for each distinct entry.
            raise DataError(f"{path} looks like a libsvm file: its labels are index:value entries.")
        vocabulary = FeatureVocabulary()
        X, lengths = vocabulary.fit_transform(sequences)
        notes = {"format": "columns", "label_column": column}
        summary = f"{len(lengths)} sequences, {X.shape[0]} tokens with {X.shape[1]} features"
        texts = {"vocabulary": vocabulary.to_lines()}
        return Training(split_rows(X, lengths), sequences.labels, notes, texts, summary)

    def reread(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Read a column file with or without the label column."""
        vocabulary = FeatureVocabulary.from_lines(bundle.texts["vocabulary"])
        sequences = read_columns(
            path, label_column=bundle.notes["label_column"], n_feature_columns=vocabulary.n_columns_
        )
        X, lengths = vocabulary.transform(sequences)
        return Inputs(split_rows(X, lengths), sequences.labels)

    def lines(self, bundle: Bundle, predicted: Any) -> Iterator[str]:
        """One label a line, a blank line between sequences."""
        for i, sequence in enumerate(predicted):
            if i:
                yield ""
            yield from map(str, sequence.tolist())

    def marginals(self, bundle: Bundle, X: Any) -> Iterator[str]:
        """Probabilities of each token's labels, a line a token, a blank line between sequences."""
        for i, sequence in enumerate(bundle.estimator.predict_marginals(X)):
            if i:
                yield ""
            yield from pairs(bundle.estimator.classes_.tolist(), sequence)

    def evaluate(self, bundle: Bundle, y: Any, predicted: Any) -> Scores:
        """Shares of right tokens and of right sequences."""
        classes = bundle.estimator.classes_
        gold = [positions(one.tolist(), classes) for one in y]
        guess = [positions(one.tolist(), classes) for one in predicted]
        values = {
            "accuracy": metrics.sequence_accuracy(gold, guess),
            "exact_match": metrics.exact_match(gold, guess),
            "sequences": len(gold),
            "tokens": sum(map(len, gold)),
        }
        return Scores(values, sum(int((one < 0).sum()) for one in gold))


def _label_column(target: str | None) -> int:
    if target is None:
        return LAST
    try:
        return int(target)
    except ValueError:
        raise ValueError(
            f"Column files have no names: --target takes a column's number, not {target!r}."
        ) from None
