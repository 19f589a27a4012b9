"""Where the same word stands nearby, and what labels it has there: names come again, and mean the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from structlearn.core.contract import Array
from structlearn.data import Column
from structlearn.estimators.inputs.spans import SpanReading

#: The cells of tokens that are not looked for, and of those whose word does not stand nearby.
NONE, NOWHERE = "", "-"
#: Shares of the most frequent label, and counts, are told apart at these.
_SHARES, _COUNTS = (0.6, 0.9), (2, 4)
#: Lengths of spans, and places in them (from 0), count up to these.
_LONGEST, _FARTHEST = 3, 2


@dataclass(frozen=True, eq=False)
class Nearby:
    """For each token, the others with the same word that are at most `reach` sentences away.

    order : the tokens that are looked for, word by word, in the order of the text
    low, high : of each of these, the others are order[low:high] without itself
    """

    order: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, words: Array, sentence: Array, reach: int) -> Nearby:
        """Find equal words nearby, from numbers of words (negative: not looked for) and of sentences."""
        order = np.flatnonzero(words >= 0)
        order = order[np.argsort(words[order], kind="stable")]
        width = int(sentence.max(initial=0)) + 2 * reach + 1  # so that no reach ends at another word
        places = words[order].astype(np.int64) * width + sentence[order]
        low = np.searchsorted(places, places - reach, side="left")
        return cls(order, low, np.searchsorted(places, places + reach, side="right"))

    @property
    def total(self) -> Array:
        """How many others each has."""
        return self.high - self.low - 1

    def counts(self, marked: Array) -> Array:
        """Count how many of the others are marked."""
        own = marked[self.order].astype(np.int64)
        upto = np.concatenate([[0], np.cumsum(own)])
        return upto[self.high] - upto[self.low] - own

    def most(self, codes: Array, ranked: Iterable[int]) -> tuple[Array, Array]:
        """Return the most frequent code of the others (the first of several), and how often it is there.

        -1 where none is.
        """
        best, most = np.full(self.order.size, -1), np.zeros(self.order.size, dtype=np.int64)
        for code in ranked:
            count = self.counts(codes == code)
            best[count > most] = code
            np.maximum(most, count, out=most)
        return best, most

    def column(self, cells: Array, strings: list[str], n_tokens: int) -> Column:
        """Return a column of what is found for the tokens that are looked for, by codes of strings."""
        codes = np.zeros(n_tokens, dtype=np.int32)
        codes[self.order] = np.where(self.total > 0, cells + 2, 1)
        return Column(codes, [NONE, NOWHERE, *strings])


def usual_nearby(nearby: Nearby, codes: Array, labels: Sequence[str]) -> Column:
    """Return the most frequent label of the same word nearby, what share has it, and how many there are."""
    best, most = nearby.most(codes, range(len(labels)))
    share = np.searchsorted(_SHARES, most / np.maximum(nearby.total, 1), side="right")
    often = np.searchsorted(_COUNTS, nearby.total, side="right")
    kinds = (len(_SHARES) + 1) * (len(_COUNTS) + 1)
    strings = [f"{label} {kind}" for label in labels for kind in range(kinds)]
    return nearby.column(best * kinds + share * (len(_COUNTS) + 1) + often, strings, codes.size)


def longest_nearby(nearby: Nearby, sentences: Iterable[Sequence[str]], labels: Sequence[str]) -> Column:
    """Return type, place and length of the most frequent of the longest spans with the same word nearby.

    sentences : their labels, of which `labels` are the distinct ones
    """
    reading = SpanReading(labels)
    cells = [cell for one in sentences for cell in _in_spans(one, reading)]
    table = sorted({cell for cell in cells if cell is not None})
    place = {cell: code for code, cell in enumerate(table)}
    codes = np.array([-1 if cell is None else place[cell] for cell in cells], dtype=np.int64)
    found = np.full(nearby.order.size, len(table))  # in no span
    for length in range(1, _LONGEST + 1):
        best, _ = nearby.most(codes, [code for cell, code in place.items() if cell[2] == length])
        found = np.where(best >= 0, best, found)
    strings = [*(f"{kind} {at + 1}/{length}" for kind, at, length in table), "O"]
    return nearby.column(found, strings, len(cells))


def _in_spans(labels: Sequence[str], reading: SpanReading) -> Iterator[tuple[str, int, int] | None]:
    """Return type, place and length of each label's span, None outside."""
    found: list[tuple[str, int, int] | None] = [None] * len(labels)
    for a, b, kind in reading.read(labels):
        length = min(b - a, _LONGEST)
        found[a:b] = [(str(kind), min(at, _FARTHEST), length) for at in range(b - a)]
    return iter(found)
