"""Words, characters and other columns as numbers: what a network knows of the strings of a text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from structlearn.core.contract import Array
from structlearn.data import Column, Tokens
from structlearn.storage.schema import read_json

#: Codes of padding, and of strings that training did not see often enough.
PADDING, UNKNOWN = 0, 1
_FIRST = 2
#: Rarer words and characters are unknown.
MIN_COUNT = 2
#: Of longer words, the first and the last characters are looked at.
LONGEST = 20
_TEXT = "vocabulary"


@dataclass(frozen=True)
class KnownStrings:
    """Known strings, in their order; codes begin at 2."""

    strings: tuple[str, ...]

    @classmethod
    def of(cls, counts: Mapping[str, int], min_count: int = 1) -> KnownStrings:
        """Return the strings that occur often enough."""
        return cls(tuple(sorted(one for one, n in counts.items() if n >= min_count)))

    def __len__(self) -> int:
        return _FIRST + len(self.strings)

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {one: code for code, one in enumerate(self.strings, _FIRST)}

    def codes(self, strings: Iterable[str]) -> Array:
        """Return the code of each string."""
        return np.array([self._codes.get(one, UNKNOWN) for one in strings], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class CodedText:
    """A text as numbers, all sentences end to end.

    words : (n_tokens,), codes of lower-cased words
    others : list of (n_tokens,), codes of the other columns
    vectors : (n_tokens,), rows of the table of vectors, 0 where there is none
    forms : (n_tokens,), rows of `spellings`
    spellings : (n_forms, LONGEST), codes of the characters of each distinct word
    lengths : (n_sentences,)
    """

    words: Array
    others: list[Array]
    vectors: Array
    forms: Array
    spellings: Array
    lengths: Array

    @cached_property
    def starts(self) -> Array:
        """Where each sentence begins."""
        return np.cumsum(self.lengths) - self.lengths


@dataclass(frozen=True)
class TextCoder:
    """From the columns of a text to numbers.

    columns : names of columns, the word first
    words : in lower case
    others : of the other columns, in their order
    with_vectors : words that have vectors, also as they are written
    """

    columns: tuple[str, ...]
    words: KnownStrings
    characters: KnownStrings
    others: tuple[KnownStrings, ...] = ()
    with_vectors: KnownStrings = field(default_factory=lambda: KnownStrings(()))

    @classmethod
    def learn(cls, tokens: Tokens, columns: Sequence[str]) -> TextCoder:
        """Learn the strings of a training text."""
        word, *others = (tokens.column(name) for name in columns)
        counts = _counts(word)
        lower, letters = Counter[str](), Counter[str]()
        for one, n in counts.items():
            lower[one.lower()] += n
            for letter in one:
                letters[letter] += n
        return cls(
            tuple(columns),
            KnownStrings.of(lower, MIN_COUNT),
            KnownStrings.of(letters, MIN_COUNT),
            tuple(KnownStrings.of(_counts(one)) for one in others),
        )

    def code(self, tokens: Tokens) -> CodedText:
        """Return a text as numbers."""
        word, *others = (tokens.column(name) for name in self.columns)
        strings = word.strings
        lower = [one.lower() for one in strings]
        return CodedText(
            self.words.codes(lower)[word.codes],
            [known.codes(one.strings)[one.codes] for known, one in zip(self.others, others)],
            self._vector_rows(strings, lower)[word.codes],
            np.asarray(word.codes),
            self._spellings(strings),
            tokens.lengths,
        )

    def _vector_rows(self, strings: Sequence[str], lower: Sequence[str]) -> Array:
        exact, other = self.with_vectors.codes(strings), self.with_vectors.codes(lower)
        return np.where(exact == UNKNOWN, other, exact) - UNKNOWN

    def _spellings(self, strings: Sequence[str]) -> Array:
        found = np.zeros((len(strings), LONGEST), dtype=np.int64)
        for row, one in zip(found, strings):
            kept = one if len(one) <= LONGEST else one[: LONGEST // 2] + one[-LONGEST // 2 :]
            row[: len(kept)] = self.characters.codes(kept)
        return found

    def sizes(self) -> dict[str, object]:
        """Return how many codes there are of each kind."""
        return {
            "n_words": len(self.words),
            "n_characters": len(self.characters),
            "n_others": [len(one) for one in self.others],
            "n_vectors": len(self.with_vectors) - UNKNOWN,
        }

    def texts(self) -> dict[str, list[str]]:
        """Return what model files hold."""
        every = (self.words, self.characters, self.with_vectors, *self.others)
        return {_TEXT: [json.dumps([self.columns, *(one.strings for one in every)])]}

    @classmethod
    def from_texts(cls, texts: Mapping[str, Sequence[str]]) -> TextCoder:
        """Invert `texts`; ValueError for what it cannot have given."""
        (line,) = texts.get(_TEXT, ()) or ("[]",)
        columns, *found = read_json(line, list[list[str]], "its vocabulary") or [[]]
        if len(found) != 2 + max(1, len(columns)) or not columns:
            raise ValueError("its vocabulary is not that of its columns")
        words, characters, vectors, *others = (KnownStrings(tuple(one)) for one in found)
        return cls(tuple(columns), words, characters, tuple(others), vectors)


def _counts(column: Column) -> dict[str, int]:
    """Return how often each string of a column occurs."""
    counts = np.bincount(column.codes, minlength=len(column.strings))
    return dict(zip(column.strings, counts.tolist()))
