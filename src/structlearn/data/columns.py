"""CoNLL-style column files: one token a line, a blank line between sequences."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from structlearn.data.errors import DataError
from structlearn.data.text import open_text, write_lines


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
    path: str | os.PathLike[str], *, label_column: int | None = -1, n_feature_columns: int | None = None
) -> Sequences:
    """Read a column file.

    Parameters
    ----------
    path : str or path
        Plain or .gz. Cells are separated by tabs if the line has one, else by spaces. No line is a comment.
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
    name = os.fspath(path)
    codes, lines, lengths, strings = _tokens(name)
    n_columns = codes.shape[1]
    if n_feature_columns is not None:
        label_column = _expected(name, int(lines[0]), n_columns, n_feature_columns, label_column)
    if label_column is None:
        return Sequences(name, codes, strings, lengths, lines, None)
    if not -n_columns <= label_column < n_columns:
        raise DataError.at(name, int(lines[0]), f"{n_columns} columns, so there is no column {label_column}.")
    if n_columns == 1:
        raise DataError.at(name, int(lines[0]), "only one column; expected features and a label.")
    label_codes = codes[:, label_column]
    features = np.ascontiguousarray(np.delete(codes, label_column, axis=1))
    used, place = np.unique(label_codes, return_inverse=True)
    texts = [strings[code] for code in used]
    if "" in texts:
        wrong = np.argmax(place == texts.index(""))
        raise DataError.at(name, int(lines[wrong]), "the label is empty.")
    labels = split_rows(np.array(texts, dtype=np.str_)[place], lengths)
    return Sequences(name, features, strings, lengths, lines, labels)


def write_columns(target: str | os.PathLike[str] | TextIO, labels: Iterable[Iterable[Any]]) -> None:
    """Write one label a line, with a blank line between sequences.

    Parameters
    ----------
    target : str, path or text stream
        A file (.gz by its name) or an open stream.
    labels : iterable of label sequences
        Strings or numbers.

    """
    write_lines(target, _separated(labels))


def split_rows(X: Any, lengths: NDArray[np.int64]) -> list[Any]:
    """The rows of each sequence: X (an array or a CSR matrix) cut into pieces of the given lengths."""
    ends = np.cumsum(lengths).tolist()
    return [X[end - length : end] for end, length in zip(ends, lengths.tolist())]


class _Codes(dict[str, int]):
    """Numbers its keys in the order in which they are first looked up."""

    def __missing__(self, key: str) -> int:
        self[key] = code = len(self)
        return code


def _tokens(name: str) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Codes of all cells, the line of each token, the length of each sequence, the distinct strings."""
    table = _Codes()
    codes, lines, lengths = array("i"), array("q"), array("q")
    n_columns, finished = 0, 0
    for number, line in open_text(name):
        cells = _cells(line)
        if not cells:
            if len(lines) > finished:
                lengths.append(len(lines) - finished)
                finished = len(lines)
            continue
        n_columns = n_columns or len(cells)
        if len(cells) != n_columns:
            raise DataError.at(name, number, f"{len(cells)} columns, but line {lines[0]} has {n_columns}.")
        codes.extend(map(table.__getitem__, cells))
        lines.append(number)
    if not lines:
        raise DataError(f"{name} holds no tokens.")
    if len(lines) > finished:
        lengths.append(len(lines) - finished)
    grid = np.frombuffer(codes, dtype=np.int32).reshape(len(lines), n_columns)
    return grid, np.frombuffer(lines, dtype=np.int64), np.frombuffer(lengths, dtype=np.int64), list(table)


def _cells(line: str) -> list[str]:
    """The cells of a line, none if it is blank. Other white space (a no-break space) is part of a cell."""
    if not line.strip(" \t"):
        return []
    if "\t" in line:
        return line.split("\t")
    return [cell for cell in line.split(" ") if cell]


def _expected(name: str, line: int, n_columns: int, n_features: int, label_column: int | None) -> int | None:
    """Where the label is in a file for a model of so many feature columns; None if it has no labels."""
    if n_columns == n_features:
        return None
    if n_columns != n_features + 1:
        message = f"{n_columns} columns; the model was trained on {n_features} feature columns and a label."
        raise DataError.at(name, line, message)
    return -1 if label_column is None else label_column


def _separated(labels: Iterable[Iterable[Any]]) -> Iterator[str]:
    for i, sequence in enumerate(labels):
        if i:
            yield ""
        yield from map(str, sequence)
