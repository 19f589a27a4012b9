"""From the cells of column files to feature matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from structlearn.data.columns import Sequences
from structlearn.data.scalars import is_number, number_or_none, number_problem
from structlearn.storage.errors import DataError
from structlearn.storage.packed import Matrix

_HEADER = "columns "


class FeatureVocabulary:
    """The features of a training file, by name, so that later files are encoded in the same way.

    What a cell stands for:

    * a column in which every training cell is a number, say the third: the feature "2" with that value;
    * ``len=3.5``: the feature "len" with that value, if all its training values are numbers and every cell
      of its columns is of the form name=value;
    * any other ``shape=Xx``: the indicator "shape=Xx";
    * any other string, say "dog" in the first column: the indicator "0=dog".

    So numbers among the words of a text ("in 1987") are words, not values. Indicators have a "=" in their
    name, numeric features have none.

    Attributes
    ----------
    n_columns_ : int
        Number of feature columns of the file.
    names_ : list of str
        Name of each column of the feature matrix.
    n_unknown_ : int
        How many cells the last `transform` ignored because training never saw them.
    """

    n_columns_: int
    n_unknown_: int

    @property
    def names_(self) -> list[str]:
        """Name of each column of the feature matrix."""
        return list(self._places)

    @property
    def dense_(self) -> bool:
        """Whether every column is a number, so that feature matrices are dense."""
        return list(self._places) == [str(column) for column in range(self.n_columns_)]

    def fit(self, sequences: Sequences) -> Self:
        """Learn the features of the training file."""
        self.fit_transform(sequences)
        return self

    def fit_transform(self, sequences: Sequences) -> tuple[Matrix, NDArray[np.int64]]:
        """Learn the features of the training file and return its matrix, as `transform` would."""
        self.n_columns_ = sequences.n_columns
        self._numeric = _numeric_groups(sequences)
        self._places: dict[str, int] = {}
        return self._encode(sequences, lambda name: self._places.setdefault(name, len(self._places)))

    def transform(self, sequences: Sequences) -> tuple[Matrix, NDArray[np.int64]]:
        """Encode a file by the features of the training file; features it did not have are ignored.

        Parameters
        ----------
        sequences : Sequences
            Its labels are not looked at.

        Returns
        -------
        X : csr_matrix of shape (n_tokens, n_features), or ndarray if every column is a number
            float64; `split_rows(X, lengths)` cuts it into sequences.
        lengths : ndarray of shape (n_sequences,)

        Raises
        ------
        DataError
            A number of columns other than the training file's, numbers that are not finite, or no number
            where training had numbers only.

        """
        if sequences.n_columns != self.n_columns_:
            message = f"{sequences.n_columns} feature columns; the model was trained on {self.n_columns_}."
            raise DataError.at(sequences.path, int(sequences.lines[0]), message)
        return self._encode(sequences, lambda name: self._places.get(name, -1))

    def to_lines(self) -> list[str]:
        """Return the vocabulary as strings without newlines; `from_lines` reads them back."""
        return [f"{_HEADER}{self.n_columns_}", *self._places]

    @classmethod
    def from_lines(cls, lines: Sequence[str]) -> Self:
        """Return the vocabulary that `to_lines` wrote."""
        if not lines or not lines[0].startswith(_HEADER) or not lines[0].removeprefix(_HEADER).isdecimal():
            raise DataError(f'The first line of a vocabulary is "{_HEADER}N".')
        self = cls()
        self.n_columns_ = int(lines[0].removeprefix(_HEADER))
        self._places = {name: place for place, name in enumerate(lines[1:])}
        if len(self._places) < len(lines) - 1:
            raise DataError("A feature occurs twice in the vocabulary.")
        self._numeric = {name for name in self._places if "=" not in name}
        return self

    def _encode(self, sequences: Sequences, place: Callable[[str], int]) -> tuple[Matrix, NDArray[np.int64]]:
        features = np.empty((len(sequences.lines), self.n_columns_), dtype=np.int32)
        values = np.empty(features.shape, dtype=np.float64)
        for j, column in enumerate(sequences.columns):
            # Each distinct cell is looked at once.
            pairs = [self._feature(sequences, j, cell, place) for cell in column.strings]
            features[:, j] = np.array([feature for feature, _ in pairs], dtype=np.int32)[column.codes]
            values[:, j] = np.array([value for _, value in pairs])[column.codes]
        self.n_unknown_ = int(np.count_nonzero(features < 0))
        if self.dense_:
            return values, sequences.lengths
        return self._matrix(features, values), sequences.lengths

    def _feature(
        self, sequences: Sequences, column: int, cell: str, place: Callable[[str], int]
    ) -> tuple[int, float]:
        """Return the feature and the value of a cell; -1 for a feature that training did not have."""
        own = str(column)
        group, text = (own, cell) if own in self._numeric else _group(cell, column)
        if group not in self._numeric:
            return place(f"{group}={text}"), 1.0
        number = number_or_none(text)
        if number is None and group != own:
            return -1, 0.0
        if number is None or not math.isfinite(number):
            codes, strings = sequences.columns[column]
            line = sequences.lines[np.argmax(codes == strings.index(cell))]
            message = f"feature column {column} {number_problem(text)}."
            raise DataError.at(sequences.path, int(line), message)
        return place(group), number

    def _matrix(self, features: NDArray[np.int32], values: NDArray[np.float64]) -> sparse.csr_matrix:
        known = features >= 0
        indptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        shape = (len(features), len(self._places))
        X = sparse.csr_matrix((values[known], features[known], indptr), shape=shape)
        X.sum_duplicates()
        # A token has an indicator or not, however many of its cells say so.
        indicator = np.array(["=" in name for name in self._places], dtype=bool)
        X.data[indicator[X.indices]] = 1.0
        X.eliminate_zeros()
        return X


def has_own_features(strings: Sequence[str]) -> bool:
    """Whether a column of these distinct cells holds features rather than words: numbers, or name=value."""
    return all(map(is_number, strings)) or all(_group(cell, 0)[0] != "0" for cell in strings)


def _group(cell: str, column: int) -> tuple[str, str]:
    """Name and value of ``name=value``; of any other string, its column and itself."""
    name, _, value = cell.partition("=")
    if name and value and not name.isdecimal():
        return name, value
    return str(column), cell


def _numeric_groups(sequences: Sequences) -> set[str]:
    """Return the names and columns whose training values are all numbers."""
    numeric: dict[str, bool] = {}
    for j, column in enumerate(sequences.columns):
        if all(map(is_number, column.strings)):
            numeric[str(j)] = True
            continue
        groups = [_group(cell, j) for cell in column.strings]
        named = [group != str(j) for group, _ in groups]
        # In a column of words, "id=8" is a word.
        mixed = any(named) and not all(named)
        for group, text in groups:
            numeric[group] = numeric.get(group, True) and not mixed and is_number(text)
    return {group for group, all_numbers in numeric.items() if all_numbers}
