"""CoNLL-style column files: one token per line, a blank line between sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from structlearn.data.text import write_lines
from structlearn.data.tokens import Column, Tokens, read_tokens
from structlearn.storage.errors import StrPath
from structlearn.storage.packed import Matrix

#: What is said of a file that has labels only, or other signs between its columns.
ONE_COLUMN = "only one column; expected features and a label, with blanks or tabs between them."


@dataclass(frozen=True, eq=False)
class Sequences:
    """The cells of a column file.

    Attributes
    ----------
    path : str
    columns : list of Column
        The feature columns: all but the label.
    lengths : ndarray of shape (n_sequences,), int64
    lines : ndarray of shape (n_tokens,), int64
        The line of each token in the file.
    labels : list of ndarray of str, one a sequence, or None if the file has none
    """

    path: str
    columns: list[Column]
    lengths: NDArray[np.int64]
    lines: NDArray[np.int64]
    labels: list[NDArray[np.str_]] | None

    @property
    def n_columns(self) -> int:
        """Number of feature columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.lengths)

    def tokens(self, i: int) -> list[list[str]]:
        """Return the feature cells of sequence i, one list per token."""
        end = int(self.lengths[: i + 1].sum())
        rows = slice(end - int(self.lengths[i]), end)
        cells = ([column.strings[code] for code in column.codes[rows]] for column in self.columns)
        return [list(row) for row in zip(*cells)]


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
    """Do the same for a file that has been read already, with all of its columns."""
    names, lengths, labels = list(tokens.layout.names), tokens.lengths, None
    n, expected = len(names), n_feature_columns
    if n == expected:
        label_column = None
    elif expected is not None:
        if n != expected + 1:
            message = f"{n} columns; the model was trained on {expected} feature columns and a label."
            raise tokens.error(message)
        label_column = -1 if label_column is None else label_column
    if label_column is not None:
        if not -n <= label_column < n:
            raise tokens.error(f"{n} columns, so there is no column {label_column}.")
        if n == 1:
            raise tokens.error(ONE_COLUMN)
        labels = split_rows(tokens.filled_cells(names.pop(label_column)), lengths)
    return Sequences(tokens.path, [tokens.columns[name] for name in names], lengths, tokens.lines, labels)


def write_columns(target: StrPath | TextIO, labels: Iterable[Iterable[object]]) -> None:
    """Write one label per line, with a blank line between sequences.

    Parameters
    ----------
    target : str, path or text stream
        A file (.gz or .zst by its name) or an open stream.
    labels : iterable of label sequences
        Strings or numbers.
    """
    write_lines(target, _label_lines(labels))


def split_rows(X: Matrix, lengths: NDArray[np.int64]) -> list:
    """Return the rows of each sequence: X (an array or a CSR matrix) cut into pieces of the given lengths."""
    ends = np.cumsum(lengths).tolist()
    return [X[end - length : end] for end, length in zip(ends, lengths.tolist())]


def _label_lines(labels: Iterable[Iterable[object]]) -> Iterator[str]:
    for i, sequence in enumerate(labels):
        if i:
            yield ""
        yield from map(str, sequence)
