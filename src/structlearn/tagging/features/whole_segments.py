"""Features of whole segments of words: phrase, shape, lexicons, and types of the same phrase in training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.packed_strings import hash_strings
from structlearn.data import Tokens
from structlearn.estimators.inputs.spans import spans
from structlearn.storage.schema import check_form
from structlearn.tagging.features.derived import Stored
from structlearn.tagging.features.keys import KeyTable
from structlearn.tagging.features.lexicon import PhraseList
from structlearn.tagging.features.names import mix_array
from structlearn.tagging.features.usual import BLOCK
from structlearn.tagging.features.views import View, shape, text_hash

#: Lower-case words of at most this many letters ("of", "and") are their own shape.
_SHORT = 3
_KIND = "segments"
_NOTES = {"kind": str, "word": str}


def word_shape(word: str) -> str:
    """Return the shape of a word in that of its phrase.

    >>> [word_shape(word) for word in "Bank of McDonald".split()]
    ['Xx', 'of', 'XxXx']
    """
    return word if len(word) <= _SHORT and word.islower() else shape(word)


class Blocks(NamedTuple):
    """Of phrases (rows) and types (columns): the first and the last block of the training text with one."""

    first: Array
    last: Array


@dataclass(eq=False)
class WholeSegments:
    """Features of segments by hashes of their names; adds no columns.

    A segment of several words has its phrase in lower case and its shape (word by word, equal neighbours
    once); each one, which lexicons have it, and as which types it is marked in the training text. While
    training, spans of the own block of sentences do not count for the last.

    word : the column to look at
    types : of the spans of the training text
    keys : phrases that are spans there
    marked : of which types, of shape (keys, types)
    """

    word: str
    types: list[str] = field(default_factory=list)
    keys: Array = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    marked: Array = field(default_factory=lambda: np.empty((0, 0), dtype=np.uint8))
    _blocks: Blocks | None = None

    @property
    def columns(self) -> list[str]:
        """None are added."""
        return []

    @property
    def needs(self) -> list[str]:
        """Columns that are looked at."""
        return [self.word]

    @property
    def default_templates(self) -> str:
        """None, as there are no columns."""
        return ""

    def add(self, tokens: Tokens) -> Tokens:
        """Return the text as it is."""
        return tokens

    def learn(self, tokens: Tokens, labels: Sequence[Any]) -> None:
        """Learn which phrases are spans of a training text, in which blocks of it."""
        found = [(i, *span) for i, one in enumerate(labels) for span in spans(map(str, one))]
        self.types = sorted({kind for _, kind, _, _ in found})
        place = {kind: k for k, kind in enumerate(self.types)}
        table = np.array([(i, place[kind], a, b - a) for i, kind, a, b in found], dtype=np.int64)
        i, k, a, size = table.reshape(-1, 4).T
        at = (np.cumsum(tokens.lengths) - tokens.lengths)[i] + a
        keys = np.zeros(i.size, dtype=np.uint64)
        for m, here, phrase in _grow_segments(
            self._values(tokens, str.lower), tokens, int(size.max(initial=0))
        ):
            own = size == m
            keys[own] = phrase[np.searchsorted(here, at[own])]
        self.keys, row = np.unique(keys, return_inverse=True)
        first = np.full((self.keys.size, len(self.types)), len(tokens), dtype=np.int64)
        last = np.full_like(first, -1)
        np.minimum.at(first, (row, k), i // BLOCK)
        np.maximum.at(last, (row, k), i // BLOCK)
        self.marked, self._blocks = (last >= 0).astype(np.uint8), Blocks(first, last)

    def rows(
        self, tokens: Tokens, lexicons: Iterable[PhraseList], most: int, bits: int, *, training: bool = False
    ) -> sparse.csr_matrix:
        """Return rows of 2 ** bits columns, for segments of up to `most` tokens by first token and length."""
        found = [*self._phrases(tokens, most, training=training), *self._shapes(tokens, most)]
        found += [one for lexicon in lexicons for one in self._in_lexicon(tokens, lexicon, most)]
        row, key = (np.concatenate(part) for part in zip(*found))
        column = (key >> np.uint64(64 - bits)).astype(np.int32)
        shape = (int(tokens.lengths.sum()) * most, 1 << bits)
        made = sparse.csr_matrix((np.ones(row.size, dtype=np.float32), (row, column)), shape=shape)
        made.sum_duplicates()
        return made

    def _phrases(self, tokens: Tokens, most: int, *, training: bool) -> Iterator[tuple[Array, Array]]:
        table = KeyTable(self.keys)
        block = np.repeat(np.arange(len(tokens)) // BLOCK, tokens.lengths)
        for m, here, phrase in _grow_segments(self._values(tokens, str.lower), tokens, most):
            row = here * most + m - 1
            if m > 1:
                yield row, mix_array(phrase + _name("phrase"))
            known = np.flatnonzero((places := table.places(phrase)) >= 0)
            marked = self._types_of(places[known], block[here[known]] if training else None)
            for k, kind in enumerate(self.types):
                yield _name_rows(row[known[marked[:, k]]], f"marked {kind}")

    def _types_of(self, places: Array, block: Array | None) -> Array:
        """Return which types phrases have in blocks other than their own."""
        if block is None or self._blocks is None:
            return self.marked[places] > 0
        first, last = (one[places] for one in self._blocks)
        return (last >= 0) & ((first != block[:, None]) | (last != block[:, None]))

    def _shapes(self, tokens: Tokens, most: int) -> Iterator[tuple[Array, Array]]:
        for m, here, key in _grow_segments(self._values(tokens, word_shape), tokens, most, once=True):
            if m > 1:
                yield here * most + m - 1, mix_array(key + _name("shape"))

    def _in_lexicon(self, tokens: Tokens, lexicon: PhraseList, most: int) -> Iterator[tuple[Array, Array]]:
        phrases = Tokens.from_sentences(list(lexicon.phrases), [lexicon.word])
        known = np.zeros(len(phrases), dtype=np.uint64)
        first = np.cumsum(phrases.lengths) - phrases.lengths
        for m, here, key in _grow_segments(self._values(phrases, str, lexicon.word), phrases, most):
            own = phrases.lengths == m
            known[own] = key[np.searchsorted(here, first[own])]
        table = KeyTable(np.unique(known))
        for m, here, key in _grow_segments(self._values(tokens, str, lexicon.word), tokens, most):
            yield _name_rows((here * most + m - 1)[table.places(key) >= 0], f"lexicon {lexicon.name}")

    def _values(self, tokens: Tokens, view: View, word: str | None = None) -> Array:
        """Return the hash of a view of each word."""
        column = tokens.column(word or self.word)
        return hash_strings([*map(view, column.strings)])[column.codes]

    def to_stored(self) -> Stored:
        """Return what a model file holds of it."""
        arrays = {"keys": self.keys, "marked": self.marked}
        return Stored({"kind": _KIND, "word": self.word}, {"types": self.types}, arrays)

    @classmethod
    def from_stored(cls, stored: Stored) -> WholeSegments:
        """Invert `to_stored`; ValueError for what it cannot have given."""
        check_form(stored.notes, _NOTES, "derived")
        types, keys, marked = stored.texts["types"], stored.arrays["keys"], stored.arrays["marked"]
        if keys.dtype != np.uint64 or keys.ndim != 1 or np.unique(keys).size != keys.size:
            raise ValueError("its phrases must be a vector of distinct keys")
        if marked.dtype != np.uint8 or marked.shape != (keys.size, len(types)):
            raise ValueError("the types of its phrases are not readable")
        return cls(stored.notes["word"], types, keys, marked)


def _grow_segments(
    values: Array, tokens: Tokens, most: int, *, once: bool = False
) -> Iterator[tuple[int, Array, Array]]:
    """Yield, per length, the tokens where a segment begins, and its key, made of hashes of its words.

    With `once`, a word like the one before does not count.
    """
    left = np.repeat(np.cumsum(tokens.lengths), tokens.lengths) - np.arange(values.size)
    here = np.arange(values.size)
    keys = mix_array(values)
    for m in range(1, most + 1):
        if m > 1:
            kept = left[here] >= m
            here, keys = here[kept], keys[kept]
            last = values[here + m - 1]
            longer = mix_array(keys + last)
            keys = np.where(last == values[here + m - 2], keys, longer) if once else longer
        yield m, here, keys


def _name(text: str) -> np.uint64:
    return np.uint64(text_hash(text))


def _name_rows(rows: Array, name: str) -> tuple[Array, Array]:
    return rows, np.full(rows.size, _name(name))
