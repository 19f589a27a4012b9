"""Lexicons: phrases of one kind, found in text longest first."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from structlearn.data import Column, DataError, Tokens, open_text
from structlearn.storage.schema import check_form
from structlearn.tagging.features.derived import Stored, check_name, with_columns
from structlearn.tagging.features.one_column import OneColumn

Phrase = tuple[str, ...]
#: A file of phrases, or the phrases.
LexiconSource = str | os.PathLike[str] | Iterable[str]

#: Words of all phrases together that a model file may keep.
MOST_WORDS = 5_000_000
#: Cells: outside, the first, an inner and the last word of a phrase, a phrase of one word.
_CELLS = ["O", "B", "I", "L", "U"]
_KIND = "lexicon"
_NOTES = {"kind": str, "name": str, "word": str}


@dataclass(frozen=True, eq=False)
class PhraseList(OneColumn):
    """A column that says where phrases of a list are: B, I, L, U or O.

    name : that of the column
    word : the column to look at
    phrases : without repetition
    """

    phrases: dict[Phrase, None]

    @property
    def default_templates(self) -> str:
        """The cell, those beside it, and pairs."""
        return f"{self.name}[-1..1] {self.name}[-1]&{self.name} {self.name}&{self.name}[1]"

    @cached_property
    def _lengths(self) -> dict[str, list[int]]:
        return lengths_of(self.phrases)

    def add(self, tokens: Tokens) -> Tokens:
        """Return a text with the column."""
        column = tokens.column(self.word)
        words = [column.strings[code] for code in column.codes.tolist()]
        cells = np.zeros(len(words), dtype=np.int32)
        ends = np.concatenate([[0], np.cumsum(tokens.lengths)])
        for a, b in pairwise(ends.tolist()):
            for first, last in self.matches(words[a:b]):
                cells[a + first : a + last] = _CELLS.index("I")
                cells[a + first], cells[a + last - 1] = _CELLS.index("B"), _CELLS.index("L")
                if last == first + 1:
                    cells[a + first] = _CELLS.index("U")
        return with_columns(tokens, {self.name: Column(cells, _CELLS)})

    def matches(self, words: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Return (first, last + 1) of the phrases from left to right, the longest at each place."""
        return longest_matches(words, self._lengths, self.phrases.__contains__)

    def to_stored(self) -> Stored:
        """Return what a model file holds of it."""
        notes = {"kind": _KIND, "name": self.name, "word": self.word}
        return Stored(notes, {"phrases": [" ".join(phrase) for phrase in self.phrases]}, {})

    @classmethod
    def from_stored(cls, stored: Stored) -> PhraseList:
        """Invert `to_stored`; ValueError for what it cannot have given."""
        check_form(stored.notes, _NOTES, "derived")
        return cls.of(stored.notes["name"], stored.texts["phrases"], stored.notes["word"])

    @classmethod
    def of(cls, name: str, source: LexiconSource, word: str = "word") -> PhraseList:
        """Make a lexicon of a file with one phrase per line, or of phrases; words are separated by spaces.

        Raises
        ------
        DataError
            No such file, not UTF-8, no phrase in it, too many.
        """
        check_name(name)
        if isinstance(source, str | os.PathLike):
            with closing(open_text(source)) as lines:
                phrases = _phrases(line for _, line in lines)
            place = os.fspath(source)
        else:
            phrases, place = _phrases(source), f"The lexicon {name}"
        if not phrases:
            raise DataError(f"{place} holds no phrases; a lexicon has one phrase per line.")
        if sum(map(len, phrases)) > MOST_WORDS:
            raise DataError(f"{place} holds more than {MOST_WORDS:,} words; keep the most useful phrases.")
        return cls(name, word, phrases)


def lengths_of(phrases: Iterable[Phrase]) -> dict[str, list[int]]:
    """Return the lengths of the phrases that begin with a word, the longest first."""
    found: dict[str, set[int]] = {}
    for phrase in phrases:
        found.setdefault(phrase[0], set()).add(len(phrase))
    return {word: sorted(lengths, reverse=True) for word, lengths in found.items()}


def longest_matches(
    words: Sequence[str], lengths: Mapping[str, Sequence[int]], known: Callable[[Phrase], bool]
) -> Iterator[tuple[int, int]]:
    """Return (first, last + 1) of known phrases from left to right, the longest at each place."""
    at = 0
    while at < len(words):
        possible = (n for n in lengths.get(words[at], ()) if at + n <= len(words))
        n = next((n for n in possible if known(tuple(words[at : at + n]))), 0)
        if n:
            yield at, at + n
        at += max(n, 1)


def _phrases(lines: Iterable[str]) -> dict[Phrase, None]:
    found: dict[Phrase, None] = {}
    for line in lines:
        if not isinstance(line, str):
            raise ValueError(f"A lexicon is a list of phrases, each a string; got a {type(line).__name__}.")
        words = tuple(word for word in line.replace("\t", " ").replace("\n", " ").split(" ") if word)
        if words:
            found[words] = None
    return found
