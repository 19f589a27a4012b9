"""A lexicon of the training text: phrases that are spans there, found in text longest first.

A token of the training text must not see its own spans, nor those of its document: there, only spans of other
blocks of successive sentences count, as for usual labels.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from structlearn.data import Column, Tokens
from structlearn.estimators.inputs.spans import SpanReading
from structlearn.storage.schema import check_form
from structlearn.tagging.features.derived import Stored, read_strings, with_columns
from structlearn.tagging.features.lexicon import Phrase, lengths_of, longest_matches
from structlearn.tagging.features.usual import BLOCK, known_text

_NAME = "spans"
_OUTSIDE = "O"
_KIND = "span lexicon"
_NOTES = {"kind": str, "word": str}


class Marked(NamedTuple):
    """The first and the last block of the training text in which a phrase is a span of some type."""

    first: int
    last: int


@dataclass(eq=False)
class SpanLexicon:
    """A column that says where phrases are that are spans of the training text, and of which types.

    B-, I- and L-type for the first, an inner and the last word, U-type for a phrase of one word, else O.

    word : the column to look at
    phrases : by type, where they are spans
    """

    word: str
    phrases: dict[Phrase, dict[str, Marked]] = field(default_factory=dict)
    _lengths: dict[str, list[int]] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are added."""
        return [_NAME]

    @property
    def needs(self) -> list[str]:
        """Columns that are looked at."""
        return [self.word]

    @property
    def default_templates(self) -> str:
        """The cell, those beside it, and pairs."""
        return f"{_NAME}[-1..1] {_NAME}[-1]&{_NAME} {_NAME}&{_NAME}[1]"

    def fresh(self) -> SpanLexicon:
        """Return a copy that has learnt nothing."""
        return SpanLexicon(self.word)

    def learn(self, tokens: Tokens, labels: Sequence[Any]) -> Tokens:
        """Learn the spans of a training text, and add a column that does not see those of its own block."""
        self.phrases = {}
        texts = [[known_text(label) or _OUTSIDE for label in one] for one in labels]
        reading = SpanReading(sorted({label for one in texts for label in one}))
        for i, (words, one) in enumerate(zip(self._sentences(tokens), texts)):
            for a, b, kind in reading.read(one):
                kinds = self.phrases.setdefault(tuple(words[a:b]), {})
                kinds[kind] = Marked(kinds.get(kind, Marked(i // BLOCK, 0)).first, i // BLOCK)
        self._lengths = lengths_of(self.phrases)
        return self._add_column(tokens, hidden=True)

    def add(self, tokens: Tokens) -> Tokens:
        """Return a text with the column."""
        return self._add_column(tokens, hidden=False)

    def _add_column(self, tokens: Tokens, *, hidden: bool) -> Tokens:
        cells: list[str] = []
        for i, words in enumerate(self._sentences(tokens)):
            cells += self._cells(words, i // BLOCK if hidden else None)
        strings, codes = np.unique(np.array([_OUTSIDE, *cells]), return_inverse=True)
        return with_columns(tokens, {_NAME: Column(codes[1:].astype(np.int32), strings.tolist())})

    def _cells(self, words: Sequence[str], block: int | None) -> list[str]:
        cells = [_OUTSIDE] * len(words)
        for a, b in longest_matches(words, self._lengths, lambda phrase: bool(self.types(phrase, block))):
            types = "/".join(self.types(tuple(words[a:b]), block))
            marks = "U" if b == a + 1 else f"B{'I' * (b - a - 2)}L"
            cells[a:b] = [f"{mark}-{types}" for mark in marks]
        return cells

    def types(self, phrase: Phrase, block: int | None = None) -> list[str]:
        """Return the types of a phrase's spans, in blocks other than this one."""
        own = Marked(block, block) if block is not None else None
        return sorted(kind for kind, where in self.phrases.get(phrase, {}).items() if where != own)

    def _sentences(self, tokens: Tokens) -> list[list[str]]:
        column = tokens.column(self.word)
        words = [column.strings[code] for code in column.codes.tolist()]
        ends = np.concatenate([[0], np.cumsum(tokens.lengths)]).tolist()
        return [words[a:b] for a, b in pairwise(ends)]

    def to_stored(self) -> Stored:
        """Return what a model file holds of it; as words may hold any character, phrases are JSON."""
        types = sorted({kind for kinds in self.phrases.values() for kind in kinds})
        marked = [[kind in kinds for kind in types] for kinds in self.phrases.values()]
        table = np.array(marked, dtype=np.uint8).reshape(len(self.phrases), len(types))
        texts = {"types": [json.dumps(types)], "phrases": [json.dumps(phrase) for phrase in self.phrases]}
        return Stored({"kind": _KIND, "word": self.word}, texts, {"marked": table})

    @classmethod
    def from_stored(cls, stored: Stored) -> SpanLexicon:
        """Invert `to_stored`; ValueError for what it cannot have given."""
        check_form(stored.notes, _NOTES, "derived")
        types = read_strings(stored.texts["types"])
        lines, marked = stored.texts["phrases"], stored.arrays["marked"]
        if marked.dtype != np.uint8 or marked.shape != (len(lines), len(types)):
            raise ValueError("the types of its phrases are not readable")
        nowhere = Marked(0, 0)
        phrases = {
            tuple(read_strings([line])): {kind: nowhere for kind, there in zip(types, row) if there}
            for line, row in zip(lines, marked.tolist())
        }
        if () in phrases:
            raise ValueError("a phrase of its training text is empty")
        return cls(stored.notes["word"], phrases, lengths_of(phrases))
