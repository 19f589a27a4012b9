"""Numbers for the words of one side, of which there may be more than memory holds.

As many words as there is room for get numbers of their own, as they come: frequent words come early. Those
that come later share a number with all others of the same beginning, and past a further eighth of the room
with all that are left. A shared number has a name with a blank, which no word has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from structlearn.alignment.text.tokenizers import HAN_AND_KANA

#: A word's beginning: its first character, if that is a word or a syllable by itself, or four letters.
_BEGINNING = re.compile(f"[{HAN_AND_KANA}]|.{{,4}}", re.DOTALL)
#: What ends the names of shared numbers.
SHARED = " "


def beginning(word: str) -> str:
    """Return what words that begin alike have in common."""
    found = _BEGINNING.match(word)
    return found.group() if found else ""


def shared_name(word: str) -> str:
    """Return the name of the number that a word shares with others of its beginning."""
    return beginning(word) + SHARED


class Numbering(dict[str, int]):
    """Words, numbered as they come.

    Parameters
    ----------
    known : iterable of str
        Words that have the first numbers.
    room : int, optional
        How many words have a number of their own; all of them unless given.
    """

    def __init__(self, known: Iterable[str] = (), room: int | None = None) -> None:
        super().__init__((word, k) for k, word in enumerate(known))
        self.room = None if room is None else max(room, len(self))

    def __missing__(self, word: str) -> int:
        if self.room is None or len(self) < self.room:
            return self._new(word)
        name = shared_name(word)
        if name not in self and len(self) >= self.room + self.room // 8:
            name = SHARED
        found = self.get(name)
        return self._new(name) if found is None else found

    def _new(self, word: str) -> int:
        self[word] = number = len(self)
        return number

    def encode(self, words: Iterable[str]) -> Iterable[int]:
        return map(self.__getitem__, words)


class Lookup(dict[str, int]):
    """The numbers of known words; others have that of their beginning, that of all the rest, or `unknown`."""

    unknown = 0

    def __missing__(self, word: str) -> int:
        found = self.get(shared_name(word))
        return self.get(SHARED, self.unknown) if found is None else found
