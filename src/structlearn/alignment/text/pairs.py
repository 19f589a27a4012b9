"""Sentence pairs from text files, read one line at a time."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import closing
from itertools import zip_longest
from typing import NamedTuple, Protocol, TypeVar

from structlearn.data import DataError, Lines, check_there, numbered_lines, open_text
from structlearn.data.text import standard_input

Path = str | os.PathLike[str]
#: From the text of either side to its tokens.
Splits = tuple[Callable[[str], list[str]], Callable[[str], list[str]]]
AT_BLANKS: Splits = (str.split, str.split)


class Pair(NamedTuple):
    """A sentence and its translation, as tokens, and the line (from 1) they stand on."""

    number: int
    source: list[str]
    target: list[str]


def file_lines(path: Path, *, whole: bool = False) -> Lines:
    """Return the numbered lines of a file, plain, .gz or .zst; of the standard input if `path` is `-`."""
    if os.fspath(path) != "-":
        return open_text(path, whole=whole)
    return numbered_lines("-", standard_input(), whole=whole)


def paired_lines(source: Path, target: Path) -> Iterator[tuple[int, str, str]]:
    """Return the lines of two files side by side, with their number from 1.

    Parameters
    ----------
    source, target : str or path
        Line-aligned UTF-8 text files, plain, .gz or .zst; one of them may be `-`, the standard input.

    Raises
    ------
    DataError
        At once if a file is missing; while reading if one ends before the other or is not UTF-8.

    """
    if os.fspath(source) == os.fspath(target) == "-":
        raise DataError("Only one of the two sides can be the standard input.")
    for path in (source, target):  # both, before one is opened
        if os.fspath(path) != "-":
            check_there(path)
    return _beside(source, target)


def _beside(source: Path, target: Path) -> Iterator[tuple[int, str, str]]:
    """Yield lines of files that are opened when the first is asked for, so that they are closed again."""
    with closing(_opened(source)) as source_lines, closing(_opened(target)) as target_lines:
        for number, (left, right) in enumerate(zip_longest(source_lines, target_lines), 1):
            if left is None or right is None:
                ended, other = (source, target) if left is None else (target, source)
                rest = _count_rest(other, target_lines if left is None else source_lines)
                counts = "" if rest is None else f": {number - 1} lines and {number + rest} lines"
                raise DataError.at(
                    _called(ended), number, f"the file ends here, but {_called(other)} goes on{counts}."
                )
            yield number, left[1], right[1]


def _called(path: Path) -> str:
    return "stdin" if os.fspath(path) == "-" else os.fspath(path)


def _opened(path: Path) -> Lines:
    """Open a file when its first line is asked for: closing lines that none has asked for closes nothing."""
    yield from file_lines(path)


def _count_rest(path: Path, lines: Lines) -> int | None:
    """Return how many lines are left of a file; None of the standard input, and if they cannot be read."""
    if os.fspath(path) == "-":
        return None
    try:
        return sum(1 for _ in lines)
    except DataError:
        return None


def read_pairs(
    source: Path,
    target: Path,
    *,
    allow_empty: bool = False,
    max_length: int | None = None,
    split: Splits = AT_BLANKS,
) -> Iterator[Pair]:
    """Stream the sentence pairs of two line-aligned files of tokens separated by blanks.

    Parameters
    ----------
    source, target : str or path
        See `paired_lines`.
    allow_empty : bool
        Whether a sentence may have no words; if not, it is an error.
    max_length : int, optional
        The most words of a sentence; more are an error.
    split : pair of functions
        What makes tokens of a line of either side.

    """
    return (
        Pair(
            number,
            _checked(source, number, split[0](left), allow_empty, max_length),
            _checked(target, number, split[1](right), allow_empty, max_length),
        )
        for number, left, right in paired_lines(source, target)
    )


def read_tab_pairs(
    path: Path, *, allow_empty: bool = False, split: Splits = AT_BLANKS
) -> Iterator[tuple[Pair, str | None]]:
    """Stream sentence pairs from lines `source TAB target [TAB links]`, with the links as they are written.

    Parameters
    ----------
    path : str or path
        A UTF-8 text file, plain, .gz or .zst, or `-` for the standard input.
    allow_empty : bool
        Whether a sentence may have no words; if not, it is an error.
    split : pair of functions
        What makes tokens of the text of either side.

    """
    return (_columns(path, number, line, allow_empty, split) for number, line in file_lines(path))


def _columns(path: Path, number: int, line: str, allow_empty: bool, split: Splits) -> tuple[Pair, str | None]:
    columns = line.split("\t")
    if len(columns) not in (2, 3):
        raise DataError.at(path, number, f"2 or 3 columns between tabs are wanted, not {len(columns)}.")
    source, target = (_checked(path, number, split[k](columns[k]), allow_empty) for k in (0, 1))
    return Pair(number, source, target), columns[2] if len(columns) == 3 else None


def _checked(
    path: Path, number: int, tokens: list[str], allow_empty: bool, max_length: int | None = None
) -> list[str]:
    if not tokens and not allow_empty:
        raise DataError.at(path, number, "the sentence is empty; `structlearn align clean` drops such pairs.")
    if max_length is not None and len(tokens) > max_length:
        raise DataError.at(
            path,
            number,
            f"the sentence has {len(tokens)} words, more than {max_length}; raise --max-length, or let "
            "`structlearn align clean` split or drop such pairs.",
        )
    return tokens


P = TypeVar("P", bound="TextPair")


class TextPair(Protocol):
    """A pair as readers give it."""

    @property
    def number(self) -> int: ...
    @property
    def source(self) -> list[str]: ...
    @property
    def target(self) -> list[str]: ...


class LengthLimit:
    """Pairs that are too long to be aligned, or have an empty side: counted while others pass.

    long, empty : how many there were
    longest : words of the longest side
    """

    def __init__(self, max_length: int) -> None:
        self.max_length = max_length
        self.total = self.long = self.empty = self.first_long = self.longest = 0

    def admits(self, source: Sized, target: Sized) -> bool:
        """Whether a pair may be aligned; it is counted."""
        self.total += 1
        length = max(len(source), len(target))
        self.longest = max(self.longest, length)
        if length > self.max_length:
            self.long += 1
            return False
        self.empty += not (len(source) and len(target))
        return True

    def fits(self, pair: TextPair) -> bool:
        """Whether a pair of a file is admitted; the number of the first that is too long is kept."""
        if self.admits(pair.source, pair.target):
            return True
        self.first_long = self.first_long or pair.number
        return False

    def fitting_pairs(self, pairs: Iterable[P]) -> Iterator[P]:
        """Return the pairs that fit and have words on both sides."""
        return (pair for pair in pairs if self.fits(pair) and pair.source and pair.target)

    def sentence(self, done: str) -> str | None:
        """Return a sentence about those of files that are too long, and what was done.

        None if there are none.
        """
        advice = f"the first is in line {self.first_long}. --max-length raises the limit."
        return f"{self._count_long(done)}; {advice}" if self.long else None

    def warn(self, done: str, stacklevel: int = 3) -> None:
        """Warn of those that were given in Python, if there are any."""
        if self.long:
            advice = f"the longest has {self.longest}. max_length of the Aligner raises the limit."
            warnings.warn(f"{self._count_long(done)}; {advice}", stacklevel=stacklevel)

    def _count_long(self, done: str) -> str:
        return (
            f"{self.long} of {self.total} pairs have more than {self.max_length} words on a side and {done}"
        )
