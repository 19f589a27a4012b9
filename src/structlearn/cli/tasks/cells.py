"""Column files whose cells are the features, and column files that are written back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from structlearn.cli.tasks.task import Inputs, Training
from structlearn.core.wording import count_of
from structlearn.data import FeatureVocabulary, Tokens, read_tokens, sequences_of, split_rows
from structlearn.estimators.files.persistence import Bundle
from structlearn.storage.schema import check_form


class ColumnFile(NamedTuple):
    """A file to be written back: what was read, the column to fill, and its place where it is missing."""

    tokens: Tokens
    label: str
    place: int

    @property
    def words(self) -> list[list[str]]:
        """The words of each sentence: the first column that is not the label."""
        first = next(name for name in self.tokens.columns if name != self.label)
        return [one.tolist() for one in split_rows(self.tokens.column(first).cells, self.tokens.lengths)]


def summary_of(n_sequences: int, n_tokens: int, n_features: int) -> str:
    """Return what was read, as the object of a sentence."""
    tokens, features = count_of(n_tokens, "token"), count_of(n_features, "feature")
    return f"{count_of(n_sequences, 'sequence')}, {tokens} with {features}"


def check_cells(bundle: Bundle) -> None:
    """ValueError if a model's notes do not say which cells are its features."""
    check_form(bundle.notes, {"label_column": int}, "notes")
    check_form(bundle.texts, {"vocabulary": list[str]}, "texts")
    n = len(FeatureVocabulary.from_lines(bundle.texts["vocabulary"]).names_)
    if n != bundle.estimator.n_features_in_:
        raise ValueError(f"its vocabulary has {n} features, not {bundle.estimator.n_features_in_}")


def read_cells(tokens: Tokens, label_column: int) -> Training:
    """Read training data whose features are the cells beside the label."""
    sequences = sequences_of(tokens, label_column=label_column)
    vocabulary = FeatureVocabulary()
    X, lengths = vocabulary.fit_transform(sequences)
    notes = {"format": "columns", "label_column": label_column}
    texts = {"vocabulary": vocabulary.to_lines()}
    return Training(
        split_rows(X, lengths), sequences.labels, notes, texts, summary_of(len(lengths), *X.shape)
    )


def reread_cells(path: Path, bundle: Bundle) -> Inputs:
    """Read such a file for a trained model, with or without the label column."""
    vocabulary = FeatureVocabulary.from_lines(bundle.texts["vocabulary"])
    tokens = read_tokens(path, text=True)
    n, column = vocabulary.n_columns_, bundle.notes["label_column"]
    sequences = sequences_of(tokens, label_column=column, n_feature_columns=n)
    X, lengths = vocabulary.transform(sequences)
    place = column % (n + 1)
    label = str(place)
    if sequences.labels is None:  # columns are called by their numbers in training
        names = tuple(str(j) for j in range(n + 1) if j != place)
        tokens = replace(tokens, layout=tokens.layout._replace(names=names))
    return Inputs(split_rows(X, lengths), sequences.labels, ColumnFile(tokens, label, place))
