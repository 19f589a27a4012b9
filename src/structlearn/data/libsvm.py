"""The libsvm (svmlight) format: ``label index:value index:value ...``, one example per line."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TextIO

import numpy as np
from scipy import sparse

from structlearn.core.wording import plain, quote
from structlearn.data.scalars import number_problem, parse_labels
from structlearn.data.text import open_text, write_lines
from structlearn.storage.errors import DataError, StrPath
from structlearn.storage.packed import Matrix

_INDEX = re.compile(r"[+-]?[0-9]+")
_LARGEST_INDEX = 2**31 - 1
#: Weights are as many as the largest index, however few entries a file has: it may be this in any file,
#: and this many times the number of entries.
_ALWAYS_FINE = 1 << 20
_TIMES_ENTRIES = 1000


def read_libsvm(
    path: StrPath, *, multilabel: bool = False, n_features: int | None = None
) -> tuple[sparse.csr_matrix, np.ndarray | list[tuple]]:
    """Read a libsvm file.

    Parameters
    ----------
    path : str or path
        Plain or .gz. Text after ``#`` and ``qid:`` entries are ignored; empty lines are skipped.
    multilabel : bool
        Lines begin with a comma-separated set of labels (``0,4 1:0.6 ...``). An empty set is a line that
        begins with a space or with ``index:value``.
    n_features : int or None
        What the model was trained on: fewer columns are padded with zeros, more are an error.

    Returns
    -------
    X : csr_matrix of shape (n_samples, n_features), float64
    y : ndarray of shape (n_samples,), or list of tuples if `multilabel`
        Labels are integers if all are, else floats if all are numbers, else strings.

    Raises
    ------
    DataError
        Indices that do not increase from 1, values that are not finite numbers, labels that are missing.
    """
    file = _Columns(os.fspath(path))
    sets: list[list[str]] = []
    for number, line in open_text(path):
        content = line.partition("#")[0]
        tokens = content.split()
        if not tokens:
            continue
        unlabelled = multilabel and (content[0].isspace() or ":" in tokens[0])
        sets.append([] if unlabelled else _labels(tokens.pop(0), file.path, number, multilabel))
        if tokens and tokens[0].startswith("qid:"):
            del tokens[0]
        file.append(number, tokens)
    X = file.matrix(n_features)
    lines = [number for number, labels in zip(file.lines, sets) for _ in labels]
    flat = parse_labels([label for labels in sets for label in labels], path, lines)
    if not multilabel:
        return X, flat
    ends = np.cumsum([0, *map(len, sets)]).tolist()
    values = flat.tolist()
    return X, [tuple(values[start:end]) for start, end in pairwise(ends)]


def write_libsvm(target: StrPath | TextIO, X: Matrix, y: Iterable, *, multilabel: bool = False) -> None:
    """Write a libsvm file that `read_libsvm` reads back exactly (but for columns of zeros at the end).

    Parameters
    ----------
    target : str, path or text stream
        A file (.gz or .zst by its name) or an open stream.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Entries that are zero are left out where X is dense.
    y : iterable of labels, or of sets of labels if `multilabel`
        Labels have no white space and none of the characters ``, : #``.
    multilabel : bool
        Write a comma-separated set of labels on each line.
    """
    write_lines(target, _format_lines(sparse.csr_matrix(X), list(y), multilabel))


class _Columns:
    """The growing arrays of a CSR matrix, and the line of each of its rows."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: list[int] = []
        self.indices = array("q")
        self.values = array("d")
        self.indptr = array("q", [0])

    def append(self, line: int, tokens: Sequence[str]) -> None:
        pairs = [token.partition(":") for token in tokens]
        try:
            # int and float would accept underscores and the digits of other scripts.
            if "_" in (joined := "".join(tokens)) or not joined.isascii():
                raise ValueError
            self.indices.extend([int(index) for index, _, _ in pairs])
            self.values.extend([float(value) for _, _, value in pairs])
        except (ValueError, OverflowError):
            raise DataError.at(self.path, line, _wrong_entry(tokens)) from None
        self.lines.append(line)
        self.indptr.append(len(self.indices))

    def matrix(self, n_features: int | None) -> sparse.csr_matrix:
        if not self.lines:
            raise DataError(f"{self.path} holds no examples.")
        indices = np.frombuffer(self.indices, dtype=np.int64)
        values = np.frombuffer(self.values, dtype=np.float64)
        indptr = np.frombuffer(self.indptr, dtype=np.int64)
        self._check(indices, values, indptr)
        width = int(indices.max(initial=0))
        if n_features is None:
            self._check_credible(indices, width)
        elif width > n_features:
            raise self._error(
                int(np.argmax(indices > n_features)),
                f"the file has {width} features, the model was trained on {n_features}.",
            )
        shape = (len(self.lines), width if n_features is None else n_features)
        return sparse.csr_matrix((values.copy(), (indices - 1).astype(np.int32), indptr.copy()), shape=shape)

    def _check(self, indices: np.ndarray, values: np.ndarray, indptr: np.ndarray) -> None:
        before = np.empty_like(indices)
        before[1:] = indices[:-1]
        before[indptr[:-1][indptr[:-1] < indices.size]] = 0
        for at in np.flatnonzero((indices <= before) | (indices > _LARGEST_INDEX)).tolist():
            index = indices[at]
            if index <= 0:
                raise self._error(at, f"feature index {index} is not positive (libsvm counts from 1).")
            if index > _LARGEST_INDEX:
                raise self._error(at, f"feature index {index} is too large (at most {_LARGEST_INDEX}).")
            raise self._error(at, f"feature index {index} follows {before[at]}; indices must increase.")
        for at in np.flatnonzero(~np.isfinite(values)).tolist():
            raise self._error(at, f"the value of feature {indices[at]} is not finite.")

    def _check_credible(self, indices: np.ndarray, width: int) -> None:
        """Refuse a single index that is far off, which would make the model huge."""
        most = max(_ALWAYS_FINE, _TIMES_ENTRIES * indices.size)
        if width > most:
            raise self._error(
                int(indices.argmax()),
                f"feature index {width} is too large for a file of {indices.size} entries (at most {most}); "
                "number the features from 1 on.",
            )

    def _error(self, entry: int, message: str) -> DataError:
        row = np.searchsorted(np.frombuffer(self.indptr, dtype=np.int64), entry, side="right") - 1
        return DataError.at(self.path, self.lines[row], message)


def _labels(token: str, path: str, line: int, multilabel: bool) -> list[str]:
    if ":" in token:
        raise DataError.at(path, line, f"the label is missing (the line begins with {quote(token)}).")
    labels = token.split(",")
    if not multilabel and len(labels) > 1:
        raise DataError.at(path, line, f"{quote(token)} is a set of labels; this file is multi-label.")
    if "" in labels:
        raise DataError.at(path, line, f"an empty label in {quote(token)}.")
    if len(set(labels)) < len(labels):
        raise DataError.at(path, line, f"a label occurs twice in {quote(token)}.")
    return labels


def _wrong_entry(tokens: Sequence[str]) -> str:
    """Say what is wrong with the first entry that is not index:value."""
    for token in tokens:
        index, colon, value = token.partition(":")
        if not colon:
            return f"{quote(token)} is not of the form index:value."
        if not _INDEX.fullmatch(index):
            return f"feature index {quote(index)} is not an integer."
        if len(index) > 18:
            return f"feature index {plain(index, 60)} is too large (at most {_LARGEST_INDEX})."
        problem = number_problem(value)
        if problem:
            return f"the value of feature {index} {problem}."
    raise AssertionError("every entry is index:value")


def _format_lines(X: sparse.csr_matrix, y: list, multilabel: bool) -> Iterator[str]:
    if X.shape[0] != len(y):
        raise ValueError(f"X has {X.shape[0]} rows, y has {len(y)} labels.")
    X.sum_duplicates()
    for row, (start, end) in enumerate(pairwise(X.indptr.tolist())):
        labels = ",".join(_checked_label(label) for label in (y[row] if multilabel else [y[row]]))
        pairs = zip((X.indices[start:end] + 1).tolist(), X.data[start:end].tolist())
        entries = " ".join(f"{index}:{value!r}" for index, value in pairs)
        # An example with neither labels nor features would be an empty line, which readers skip.
        yield f"{labels} {entries or '1:0'}" if entries or not labels else labels


def _checked_label(label: object) -> str:
    text = str(label)
    if not text or any(character.isspace() or character in ",:#" for character in text):
        raise ValueError(
            f"The label {quote(text)} cannot be written: it is empty or has a space or one of , : #."
        )
    return text
