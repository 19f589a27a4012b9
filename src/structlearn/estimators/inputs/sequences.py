"""Sequences as a fitted model reads them: features by name are numbered, rows are stacked and mapped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from structlearn.core.contract import Array
from structlearn.estimators.inputs.checking import Tables, stack_examples
from structlearn.estimators.inputs.token_arrays import has_pairs
from structlearn.estimators.inputs.token_features import NamedRows, TokenFeatures
from structlearn.estimators.inputs.token_reading import has_words, is_named
from structlearn.estimators.mapped import FittedMap
from structlearn.estimators.scikit import Rows

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class SequenceReader:
    """What a fitted model makes of sequences.

    row_map : the map of rows
    features : where features have names, these
    noun : what a sequence is called, in refusals
    """

    row_map: FittedMap
    features: TokenFeatures | None = None
    noun: str = "Sequence"

    def rows(self, X: Tables) -> tuple[Rows, Array]:
        """Return the rows of all sequences, end to end, as they are given, and the lengths."""
        rows, shapes = stack_examples(
            self.number_features(X), ndim=2, noun=self.noun, n_features=self.row_map.n_given
        )
        return rows, shapes[:, 0]

    def number_features(self, X: Tables) -> Tables:
        """Map features with names to numbers as training did; ValueError for features of the other kind."""
        if not is_named(X) and not has_pairs(X):
            if self.features is not None and has_words(X):
                raise ValueError(
                    "The model was trained on features by name; give every token as a dict or as a list of "
                    "strings."
                )
            return X
        if self.features is None:
            raise ValueError("The model was trained on arrays, not on features by name; give arrays.")
        return self.features.transform(X)


def learn_features(X: Tables) -> tuple[Tables, TokenFeatures | None]:
    """Map the features of training data to numbers, if they have names; return the names as well."""
    rows: Tables = TokenFeatures().fit_transform(X) if is_named(X) or has_pairs(X) else X
    return rows, rows.features if isinstance(rows, NamedRows) else None


def with_empty(found: Iterable[T], filled: Array, nothing: Callable[[], T]) -> list[T]:
    """Put the answers for sequences that are not empty in their places, and `nothing` for those that are."""
    answers = iter(found)
    return [next(answers) if one else nothing() for one in filled.tolist()]
