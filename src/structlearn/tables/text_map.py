"""From free text to features: the words of a row, weighed by how rare they are (tf-idf)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Self
from zlib import crc32

import numpy as np
from scipy import sparse

from structlearn.tables.frame import TextColumn
from structlearn.tables.maps import IS_MISSING, ColumnMap, ColumnRecipe
from structlearn.tables.readings import ColumnReading

#: A vocabulary has the words that most rows have, at most this many, each in at least so many rows.
MOST_WORDS, LEAST_ROWS = 100_000, 2
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class TextMap(ColumnMap):
    """A row's words as a unit vector of their counts times idf = 1 + log((1 + n) / (1 + n_rows_of_word)).

    words : the vocabulary; none where words are hashed
    idf : the weight of each word; where words are hashed, all weigh the same
    ngrams : how many words in a row are a feature at most
    hash_bits : of hashed words; 0 for a vocabulary
    indicator : whether it is said where text is missing
    """

    words: list[str]
    idf: list[float]
    ngrams: int
    hash_bits: int
    indicator: bool

    @classmethod
    def learn(cls, column: TextColumn, reading: ColumnReading, recipe: ColumnRecipe) -> Self:
        gaps = column.n_missing > 0
        if recipe.hash_bits:
            return cls(reading, [], [], recipe.ngrams, recipe.hash_bits, gaps)
        rows: Counter[str] = Counter()
        for text, count in zip(column.levels.tolist(), column.counts.tolist()):
            for word in set(_grams(text, recipe.ngrams)) if count else ():
                rows[word] += count
        least = min(LEAST_ROWS, max(1, len(column) // 10))
        often = [word for word, n in rows.most_common(MOST_WORDS) if n >= least]
        idf = [1 + log((1 + len(column)) / (1 + rows[word])) for word in sorted(often)]
        return cls(reading, sorted(often), idf, recipe.ngrams, 0, gaps)

    def check(self) -> None:
        if len(self.words) != len(self.idf) or len(set(self.words)) < len(self.words):
            raise ValueError("the words of a text column of its row map are not as many as their weights")
        if not 0 <= self.hash_bits <= 24 or self.ngrams < 1 or not np.isfinite(self.idf).all():
            raise ValueError("a text column of its row map has a size that is none")

    def suffixes(self) -> list[str]:
        words = [f"#{k}" for k in range(1 << self.hash_bits)] if self.hash_bits else self.words
        return [f":{word}" for word in words] + [IS_MISSING] * self.indicator

    @property
    def width(self) -> int:
        return (1 << self.hash_bits if self.hash_bits else len(self.words)) + self.indicator

    def features(self, column: TextColumn) -> sparse.csr_matrix:
        seen = column.seen()
        by_level = self._rows(seen.levels.tolist())
        last = sparse.csr_matrix((1, self.width))
        if self.indicator:
            last = sparse.csr_matrix(([1.0], ([0], [self.width - 1])), shape=(1, self.width))
        stacked = sparse.vstack([by_level, last], format="csr")
        return stacked[np.where(seen.codes < 0, len(seen.levels), seen.codes)]

    def _rows(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Return the unit vector of each text."""
        known = {word: k for k, word in enumerate(self.words)}
        places: list[int] = []
        counts: list[int] = []
        ends = [0]
        for text in texts:
            found = Counter(self._places(text, known))
            places += found.keys()
            counts += found.values()
            ends.append(len(places))
        where = np.array(places, dtype=np.int64)
        values = np.array(counts, dtype=np.float64)
        if not self.hash_bits:
            values *= np.array(self.idf)[where] if where.size else 1.0
        owner = np.repeat(np.arange(len(texts)), np.diff(ends))
        norms = np.sqrt(np.bincount(owner, values**2, minlength=len(texts)))
        values /= norms[owner]
        return sparse.csr_matrix((values, where, ends), shape=(len(texts), self.width))

    def _places(self, text: str, known: dict[str, int]) -> Iterator[int]:
        grams = _grams(text, self.ngrams)
        if self.hash_bits:
            return (crc32(one.encode()) & ((1 << self.hash_bits) - 1) for one in grams)
        return (known[one] for one in grams if one in known)


def _grams(text: str, most: int) -> list[str]:
    """Return the words of a text, in small letters, and up to `most` of them in a row."""
    words = _WORD.findall(text.lower())
    longer = [" ".join(words[k : k + n]) for n in range(2, most + 1) for k in range(len(words) - n + 1)]
    return words + longer
