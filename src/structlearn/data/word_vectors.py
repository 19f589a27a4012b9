"""Word vectors in files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.wording import quote
from structlearn.data.text import open_text
from structlearn.storage.errors import DataError

_COUNT = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Unit vectors of words.

    words : list of str
    matrix : float32 array of shape (n_words, dimension), rows of length 1 (or 0)
    origin : the file that they are from, for errors
    """

    words: list[str]
    matrix: Array
    origin: str = ""

    @cached_property
    def position(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def rows(self, words: Iterable[str]) -> Array:
        """Return the row number of each word, -1 if there is none."""
        return np.array([self.position.get(word, -1) for word in words], dtype=np.int64)

    def of(self, words: Sequence[str]) -> Array:
        """Return the words' vectors, zero where there is none."""
        rows = self.rows(words)
        return np.where((rows >= 0)[:, None], self.matrix[rows], np.float32(0.0))

    def among(self, words: Iterable[str]) -> WordVectors:
        """Return the vectors of those of the words that have one."""
        kept = [word for word in words if word in self.position]
        return WordVectors(kept, self.matrix[self.rows(kept)], self.origin)

    def rewritten(self, write: Callable[[str], str]) -> WordVectors:
        """Return the vectors by words written otherwise; of words that become one, the first counts."""
        first: dict[str, int] = {}
        for i, word in enumerate(self.words):
            first.setdefault(write(word), i)
        return WordVectors(list(first), self.matrix[list(first.values())], self.origin)

    def map_by(self, W: Array) -> WordVectors:
        """Return the same words in the space that W maps to."""
        return WordVectors(self.words, unit_rows(self.matrix @ W.astype(np.float32)), self.origin)


def read_vectors(
    path: str | os.PathLike[str], words: Collection[str] | None = None, *, most: int = 0
) -> WordVectors:
    """Read a fastText text file: a header ``count dimension``, then ``word v1 v2 ...`` a line (or .gz).

    A ``.bin`` file is read with the optional `fasttext` library, for the given words.

    Parameters
    ----------
    path : str or path
    words : collection of str, optional
        Keep the vectors of these only.
    most : int
        Keep also those of this many first words of the file.
    """
    if Path(path).suffix == ".bin":
        return _read_binary(path, words)
    with closing(open_text(path)) as lines:
        count, dimension = _header(path, next(lines, (1, ""))[1])
        found: list[str] = []
        matrix: list[Array] = []
        number = 1
        for number, line in lines:
            word, *values = line.rstrip(" ").split(" ")
            if len(values) != dimension:
                raise DataError.at(path, number, f"{len(values)} values after the word, not {dimension}.")
            if words is None or len(found) < most or word in words:
                found.append(word)
                matrix.append(_numbers(path, number, values))
    if number - 1 != count:
        raise DataError(f"{os.fspath(path)} has {number - 1} vectors but its first line says {count}.")
    rows = unit_rows(np.array(matrix, dtype=np.float32).reshape(-1, dimension))
    return WordVectors(found, rows, os.fspath(path))


def _header(path: str | os.PathLike[str], line: str) -> tuple[int, int]:
    fields = line.split()
    if len(fields) != 2 or not all(map(_COUNT.fullmatch, fields)) or int(fields[1]) < 1:
        raise DataError.at(
            path, 1, f"the first line is 'count dimension', two integers; got {quote(line, 40)}."
        )
    return int(fields[0]), int(fields[1])


def _numbers(path: str | os.PathLike[str], number: int, values: list[str]) -> Array:
    try:
        row = np.array(values, dtype=np.float32)
    except ValueError:
        raise DataError.at(path, number, "a value is not a number.") from None
    if not np.isfinite(row).all():
        raise DataError.at(path, number, "a value is not finite.")
    return row


def _read_binary(path: str | os.PathLike[str], words: Collection[str] | None) -> WordVectors:
    if not Path(path).is_file():
        raise DataError(f"File {os.fspath(path)} does not exist.")
    try:
        import fasttext
    except ImportError:
        raise DataError(
            f"{os.fspath(path)} is binary: install structlearn[align] to read it, or give the .vec file."
        ) from None
    try:
        model = fasttext.load_model(os.fspath(path))
    except ValueError as error:
        raise DataError(f"{os.fspath(path)} is not a fastText model ({error}).") from None
    kept = list(model.words if words is None else words)
    matrix = np.array([model.get_word_vector(word) for word in kept], dtype=np.float32)
    rows = unit_rows(matrix.reshape(len(kept), model.get_dimension()))
    return WordVectors(kept, rows, os.fspath(path))


def unit_rows(matrix: Array) -> Array:
    """Return the rows at length 1; rows of zeros stay."""
    # In double: squares of floats may overflow.
    length = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))[:, None]
    return np.divide(matrix, length, out=np.zeros_like(matrix), where=length > 0)
