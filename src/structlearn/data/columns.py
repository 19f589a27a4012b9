"""CoNLL-style column files: one token a line, a blank line between sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from structlearn.data.text import write_lines
from structlearn.data.tokens import Tokens, read_tokens
from structlearn.storage.errors import DataError, StrPath
from structlearn.storage.packed import Matrix


@dataclass(frozen=True, eq=False)
class Sequences:
    """The cells of a column file. Each distinct string is kept once; cells are its number.

    Attributes
    ----------
    path : str
    codes : ndarray of shape (n_tokens, n_columns), int32
        The feature columns (all but the label): cell (t, j) is ``strings[codes[t, j]]``.
    strings : list of str
    lengths : ndarray of shape (n_sequences,), int64
    lines : ndarray of shape (n_tokens,), int64
        The line of each token in the file.
    labels : list of ndarray of str, one a sequence, or None if the file has none
    """

    path: str
    codes: NDArray[np.int32]
    strings: list[str]
    lengths: NDArray[np.int64]
    lines: NDArray[np.int64]
    labels: list[NDArray[np.str_]] | None

    @property
    def n_columns(self) -> int:
        """Number of feature columns."""
        return int(self.codes.shape[1])

    def __len__(self) -> int:
        return len(self.lengths)

    def tokens(self, i: int) -> list[list[str]]:
        """The feature cells of sequence i, one list a token."""
        ends = np.cumsum(self.lengths)
        rows = self.codes[ends[i] - self.lengths[i] : ends[i]]
        return [[self.strings[code] for code in row] for row in rows.tolist()]


def read_columns(
    path: StrPath, *, label_column: int | None = -1, n_feature_columns: int | None = None
) -> Sequences:
    """Read a column file.

    Parameters
    ----------
    path : str or path
        See `read_tokens`.
    label_column : int or None
        Place of the label, from 0 (or from the end, if negative); None if the file has no labels.
        Feature columns are counted from 0 without it.
    n_feature_columns : int or None
        What the model was trained on: a file with just that many columns has no labels, one with one more
        has them at `label_column`, any other number is an error.

    Returns
    -------
    Sequences

    Raises
    ------
    DataError
        A number of columns that changes or does not fit, an empty label, a file without tokens.
    """
    return sequences_of(read_tokens(path), label_column=label_column, n_feature_columns=n_feature_columns)


def sequences_of(
    tokens: Tokens, *, label_column: int | None = -1, n_feature_columns: int | None = None
) -> Sequences:
    """The same of a file that has been read already, with all of its columns."""
    name, lines, lengths = tokens.path, tokens.lines, tokens.lengths
    codes, strings = _grid(tokens)
    n_columns = codes.shape[1]
    if n_feature_columns is not None:
        label_column = _expected(name, int(lines[0]), n_columns, n_feature_columns, label_column)
    if label_column is None:
        return Sequences(name, codes, strings, lengths, lines, None)
    if not -n_columns <= label_column < n_columns:
        raise DataError.at(name, int(lines[0]), f"{n_columns} columns, so there is no column {label_column}.")
    if n_columns == 1:
        raise DataError.at(name, int(lines[0]), "only one column; expected features and a label.")
    features = np.ascontiguousarray(np.delete(codes, label_column, axis=1))
    labels = split_rows(tokens.filled_cells(tokens.layout.names[label_column]), lengths)
    return Sequences(name, features, strings, lengths, lines, labels)


def _grid(tokens: Tokens) -> tuple[NDArray[np.int32], list[str]]:
    """The codes of all columns, side by side, and the strings that they number."""
    strings: list[str] = []
    codes = np.empty((tokens.n_tokens, len(tokens.layout.names)), dtype=np.int32)
    for j, name in enumerate(tokens.layout.names):
        codes[:, j] = tokens.columns[name].codes + len(strings)
        strings += tokens.columns[name].strings
    return codes, strings


def write_columns(target: StrPath | TextIO, labels: Iterable[Iterable[object]]) -> None:
    """Write one label a line, with a blank line between sequences.

    Parameters
    ----------
    target : str, path or text stream
        A file (.gz by its name) or an open stream.
    labels : iterable of label sequences
        Strings or numbers.
    """
    write_lines(target, _separated(labels))


def split_rows(X: Matrix, lengths: NDArray[np.int64]) -> list:
    """The rows of each sequence: X (an array or a CSR matrix) cut into pieces of the given lengths."""
    ends = np.cumsum(lengths).tolist()
    return [X[end - length : end] for end, length in zip(ends, lengths.tolist())]


def _expected(name: str, line: int, n_columns: int, n_features: int, label_column: int | None) -> int | None:
    """Where the label is in a file for a model of so many feature columns; None if it has no labels."""
    if n_columns == n_features:
        return None
    if n_columns != n_features + 1:
        message = f"{n_columns} columns; the model was trained on {n_features} feature columns and a label."
        raise DataError.at(name, line, message)
    return -1 if label_column is None else label_column


def _separated(labels: Iterable[Iterable[object]]) -> Iterator[str]:
    for i, sequence in enumerate(labels):
        if i:
            yield ""
        yield from map(str, sequence)
