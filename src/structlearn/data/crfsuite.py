r"""Files of CRFsuite: a label and its token's features per line, between tabs; blank lines between sequences.

A feature is a name, or a name and its weight: ``name:0.5``. In names and labels ``\:`` is a colon and ``\\``
a backslash.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from math import isfinite

import numpy as np

from structlearn.data.scalars import number_or_none
from structlearn.data.text import is_blank, open_text
from structlearn.storage.errors import DataError, StrPath

_CELL = re.compile(r"((?:[^\\:]|\\.|\\$)*)(?::(.*))?")
_ESCAPED = re.compile(r"\\(.)")
_WEIGHTED = re.compile(r".*(?:=|:[-+0-9.eE]+$)")
_NAME = re.compile(r".*\.crfsuite(?:\.gz)?", re.IGNORECASE)
_LINES_SEEN = 200


class CrfsuiteFile:
    """The sequences of a file, read one at a time.

    labels : list of arrays of the labels of the sequences that were read
    first_lines : the line at which each of them begins
    """

    def __init__(self, path: StrPath) -> None:
        self.path = os.fspath(path)
        self.labels: list[np.ndarray] = []
        self.first_lines: list[int] = []
        self._features: dict[str, tuple[str, float]] = {}

    def __iter__(self) -> Iterator[list[dict[str, float]]]:
        """Yield each sequence as a list of tokens, dicts from names to weights; repeated names add up."""
        tokens: list[dict[str, float]] = []
        labels: list[str] = []
        with closing(open_text(self.path)) as lines:
            for number, line in lines:
                if not is_blank(line):
                    label, *cells = line.split("\t")
                    if not tokens:
                        self.first_lines.append(number)
                    labels.append(_unescape(label))
                    tokens.append(self._token(number, cells))
                elif tokens:
                    self.labels.append(np.array(labels, dtype=np.str_))
                    yield tokens
                    tokens, labels = [], []
        if tokens:
            self.labels.append(np.array(labels, dtype=np.str_))
            yield tokens
        if not self.labels:
            raise DataError(f"{self.path} holds no tokens.")

    def check_labels(self) -> None:
        """DataError if a label is empty."""
        for first, labels in zip(self.first_lines, self.labels):
            if "" in labels:
                raise DataError.at(self.path, first + labels.tolist().index(""), "the label is empty.")

    def error(self, message: str, token: int) -> DataError:
        """Return the error of a token, of all that were read."""
        for first, labels in zip(self.first_lines, self.labels):
            if token < len(labels):
                return DataError.at(self.path, first + token, message)
            token -= len(labels)
        return DataError(message)

    def _token(self, number: int, cells: list[str]) -> dict[str, float]:
        token: dict[str, float] = {}
        for cell in cells:
            if cell:
                name, weight = self._features.get(cell) or self._feature(number, cell)
                token[name] = token.get(name, 0.0) + weight
        return token

    def _feature(self, number: int, cell: str) -> tuple[str, float]:
        """Name and weight of a cell, of which each distinct one is looked at once."""
        found = _CELL.fullmatch(cell)
        weight = 1.0 if found is None or found[2] is None else number_or_none(found[2])
        if found is None or weight is None or not isfinite(weight):
            raise DataError.at(
                self.path,
                number,
                f"{cell!a} has no finite number after its colon; write a colon of a name as \\:.",
            )
        self._features[cell] = pair = _unescape(found[1]), weight
        return pair


def is_crfsuite(path: StrPath) -> bool:
    """Whether a file is one of CRFsuite: by its name (.crfsuite, .crfsuite.gz), or by its first lines.

    Between tabs, the first cell of no line looks like a feature (name=value or name:number), and two thirds
    of all others do.
    """
    if _NAME.fullmatch(os.fspath(path)):
        return True
    with closing(open_text(path)) as lines:
        rows = [line.split("\t") for _, line in islice(lines, _LINES_SEEN) if not is_blank(line)]
    others = [bool(_WEIGHTED.match(cell)) for row in rows for cell in row[1:] if cell]
    if not others or any(_WEIGHTED.match(row[0]) for row in rows):
        return False
    return 3 * sum(others) >= 2 * len(others)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text
