"""How alike two words look: compiled comparisons of words written as code points."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

#: Longer words are compared by their first letters.
LONGEST = 32

WORD, NUMBER, MARK = 0, 1, 2
_CODE_POINTS = 0x110000
_SCRATCH = threading.local()


class Spellings(NamedTuple):
    """The letters of many words: those of word k are letters[start[k] : start[k + 1]]."""

    letters: Array
    start: Array
    #: WORD, NUMBER (has a digit) or MARK (no letter, no digit)
    kind: Array


def spell(words: Sequence[str]) -> Spellings:
    """Return the words' letters as code points."""
    cut = [word[:LONGEST] for word in words]
    letters = np.frombuffer("".join(cut).encode("utf-32-le"), dtype=np.uint32)
    start = np.concatenate([[0], np.cumsum([len(word) for word in cut], dtype=np.int64)])
    kind = np.array([_kind(word) for word in cut], dtype=np.int8)
    return Spellings(letters, start, kind)


@lru_cache(maxsize=1 << 18)
def _kind(word: str) -> int:
    if any(letter.isdigit() for letter in word):
        return NUMBER
    return WORD if any(letter.isalpha() for letter in word) else MARK


@kernel
def common_prefix(a: Spellings, i: int, b: Spellings, j: int) -> int:
    """How many first letters words i of `a` and j of `b` share."""
    first, second = a.start[i], b.start[j]
    most = min(a.start[i + 1] - first, b.start[j + 1] - second)
    length = 0
    while length < most and a.letters[first + length] == b.letters[second + length]:
        length += 1
    return length


def letter_marks() -> Array:
    """Return this thread's room for `mark_letters`, by code point, whose marks are all clear."""
    if not hasattr(_SCRATCH, "marks"):
        _SCRATCH.marks = np.zeros(_CODE_POINTS, dtype=np.uint64)
    marks: Array = _SCRATCH.marks
    return marks


@kernel
def mark_letters(a: Spellings, i: int, marks: Array) -> None:
    """Set bit k of the mark of the k-th letter of word i."""
    bit = np.uint64(1)
    for k in range(a.start[i], a.start[i + 1]):
        marks[a.letters[k]] |= bit
        bit <<= np.uint64(1)


@kernel
def clear_letters(a: Spellings, i: int, marks: Array) -> None:
    """Take the marks of word i away again."""
    for k in range(a.start[i], a.start[i + 1]):
        marks[a.letters[k]] = np.uint64(0)


@kernel
def likeness(marks: Array, m: int, b: Spellings, j: int) -> float:
    """Longest common subsequence of the marked word, of m letters, and word j, over the longer length.

    Bit k of `unrisen` is 0 where the row of the table of lengths rises at letter k (Hyyro 2004).
    """
    n = b.start[j + 1] - b.start[j]
    if m == 0 or n == 0:
        return 0.0
    unrisen = ~np.uint64(0)
    for k in range(b.start[j], b.start[j + 1]):
        met = unrisen & marks[b.letters[k]]
        unrisen = (unrisen + met) | (unrisen - met)
    risen = ~unrisen & ((np.uint64(1) << np.uint64(m)) - np.uint64(1))
    length = 0
    while risen:
        risen &= risen - np.uint64(1)
        length += 1
    return length / max(m, n)
