r"""Wapiti's regular expressions: a small dialect of its own, matched in time linear in the text.

    .            any byte
    \d \a \w     a digit, a letter, either of them
    \l \u        a lower-case letter, an upper-case letter
    \p \s        punctuation, white space
    \D \A ...    any byte that is not of that class
    \x           any other character x stands for itself, and so does x alone, also [ ( + |
    x* x?        any number of x, as few as possible; x or nothing, x if possible
    ^ and $      at the beginning and the end of an expression: those of the text

Classes are those of ASCII, and characters are bytes of UTF-8, as in Wapiti.
"""

from __future__ import annotations

import string
from typing import NamedTuple

#: Bytes of a text that are looked at, and characters of an expression that are read.
LONGEST_TEXT, LONGEST_EXPRESSION = 4096, 256
_CLASSES = {
    "a": string.ascii_letters,
    "d": string.digits,
    "l": string.ascii_lowercase,
    "p": string.punctuation,
    "s": string.whitespace,
    "u": string.ascii_uppercase,
    "w": string.ascii_letters + string.digits,
}
_ALL = frozenset(range(256))
_ONCE, _ANY, _MAYBE = "", "*", "?"


class _Item(NamedTuple):
    """One character of an expression: the bytes that it matches, and how often."""

    matches: frozenset[int]
    times: str


class Expression:
    """A compiled expression; ValueError if it cannot be read."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST_EXPRESSION:
            raise ValueError(f"a regular expression has at most {LONGEST_EXPRESSION} characters")
        data = text.encode("utf-8", "surrogatepass")
        self._from_start, data = data[:1] == b"^", data.removeprefix(b"^")
        self._to_end = data[-1:] == b"$" and not _is_escaped(data, len(data) - 1)
        self._items = _items(data[:-1] if self._to_end else data)

    def find(self, text: bytes) -> tuple[int, int] | None:
        """Return where the first match begins and ends; None if there is none."""
        text = text[:LONGEST_TEXT]
        table = self._table(text)
        starts = range(1) if self._from_start else range(len(text) + 1)
        begin = next((at for at in starts if table[0][at]), None)
        return None if begin is None else (begin, self._end(text, table, begin))

    def _table(self, text: bytes) -> list[list[bool]]:
        """Return, per item and position, whether the items from this one on match from there."""
        n = len(text)
        table = [[not self._to_end] * n + [True]]
        for matches, times in reversed(self._items):
            rest, own = table[-1], [False] * (n + 1)
            for at in range(n, -1, -1):
                one = at < n and text[at] in matches
                further = one and (own[at + 1] if times == _ANY else rest[at + 1])
                own[at] = further or (times != _ONCE and rest[at])
            table.append(own)
        return table[::-1]

    def _end(self, text: bytes, table: list[list[bool]], at: int) -> int:
        """Return the end of the match that begins here: few repetitions, options taken."""
        for k, (matches, times) in enumerate(self._items):
            rest = table[k + 1]
            if times == _ANY:
                while not rest[at]:
                    at += 1
            elif times == _ONCE or (at < len(text) and text[at] in matches and rest[at + 1]):
                at += 1
        return at


def _items(data: bytes) -> list[_Item]:
    found, at = [], 0
    while at < len(data):
        if data[at] in b"*?":
            raise ValueError(f"a {chr(data[at])} that repeats nothing is written \\{chr(data[at])}")
        size = 2 if data[at] == ord("\\") else 1
        if at + size > len(data):
            raise ValueError("a regular expression does not end with a single \\")
        matches = _bytes_of(data[at : at + size])
        at += size
        times = chr(data[at]) if data[at : at + 1] in (b"*", b"?") else _ONCE
        at += len(times)
        found.append(_Item(matches, times))
    return found


def _bytes_of(character: bytes) -> frozenset[int]:
    if character == b".":
        return _ALL
    letter = chr(character[-1])
    if len(character) == 2 and letter.lower() in _CLASSES:
        members = frozenset(_CLASSES[letter.lower()].encode())
        return members if letter.islower() else _ALL - members
    return frozenset(character[-1:])


def _is_escaped(data: bytes, at: int) -> bool:
    """Whether an odd number of backslashes stands before a byte."""
    before = data[:at]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1
