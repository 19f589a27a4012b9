"""How alike two words look: compiled comparisons of words written as code points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

#: Longer words are compared by their first letters.
LONGEST = 32

WORD, NUMBER, MARK = 0, 1, 2


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


@kernel
def likeness(a: Spellings, i: int, b: Spellings, j: int, row: Array) -> float:
    """Longest common subsequence over the longer length, in [0, 1]; `row` is scratch for LONGEST + 1."""
    first, second = a.start[i], b.start[j]
    m, n = a.start[i + 1] - first, b.start[j + 1] - second
    if m == 0 or n == 0:
        return 0.0
    for k in range(n + 1):
        row[k] = 0
    for t in range(m):
        diagonal = 0
        letter = a.letters[first + t]
        for k in range(n):
            above = row[k + 1]
            row[k + 1] = diagonal + 1 if letter == b.letters[second + k] else max(above, row[k])
            diagonal = above
    return row[n] / max(m, n)
