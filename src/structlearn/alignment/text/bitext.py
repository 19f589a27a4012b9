"""Bitext: sentence pairs as integers, with one vocabulary per side."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from structlearn.alignment.text.numbering import SHARED, Lookup, Numbering
from structlearn.core.contract import Array
from structlearn.core.progress import show_progress

P = TypeVar("P", bound=Sequence[Iterable[str]])
Sentences = TypeVar("Sentences", bound=Sequence[Sized])

#: Pairs whose features are held at once, and cells from which on they are enough: 3 MB, near the processor.
PAIRS_AT_ONCE, CELLS_AT_ONCE = 500, 1 << 13


class Vocabulary:
    """The words of one side, most frequent first, but before them those of earlier text if there is any.

    A word never seen has the number `len(vocabulary)`.
    """

    def __init__(self, words: Sequence[str], counts: Array) -> None:
        """Take words in the order of their numbers; `counts` says how often each was seen."""
        self.words = list(words)
        self.counts = np.asarray(counts, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def _number(self) -> dict[str, int]:
        return self._lookup((word, k) for k, word in enumerate(self.words))

    def _lookup(self, numbers: Iterable[tuple[str, int]]) -> Lookup:
        found = Lookup(numbers)
        found.unknown = len(self.words)
        return found

    @cached_property
    def is_word(self) -> Array:
        """Whether each number is of one word, not shared by many; of shape (n_words,)."""
        return np.array([not word.endswith(SHARED) for word in self.words], dtype=bool)

    def without(self, words: Set[str]) -> Vocabulary:
        """Return the same vocabulary, some of whose words count as never seen; all numbers stay."""
        other = Vocabulary(self.words, self.counts)
        other.__dict__["_number"] = self._lookup(one for one in self._number.items() if one[0] not in words)
        return other

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Return the number of each word."""
        return list(map(self._number.__getitem__, tokens))


#: The vocabularies of no earlier text.
NOTHING_KNOWN = Vocabulary([], np.empty(0)), Vocabulary([], np.empty(0))


class Corpus(NamedTuple):
    """Sentences of one side: sentence s is `tokens[start[s] : start[s + 1]]`."""

    tokens: Array  # int32
    start: Array  # int64

    def words(self, first: int, last: int) -> Array:
        """Return the tokens of the sentences first <= s < last."""
        return self.tokens[self.start[first] : self.start[last]]

    @property
    def lengths(self) -> Array:
        return np.diff(self.start)


class Text(NamedTuple):
    """Compiled form of `Bitext`."""

    source: Corpus
    target: Corpus
    cell_start: Array  # int64


@dataclass(frozen=True)
class Bitext:
    """Sentence pairs; a pair of m source and n target words has m * n *cells*, source word by source word."""

    source: Corpus
    target: Corpus
    source_words: Vocabulary
    target_words: Vocabulary

    def __len__(self) -> int:
        return len(self.source.start) - 1

    in_memory = True
    most_entries = None
    n_windows = 1

    @property
    def n_cells(self) -> int:
        return int(self.cell_start[-1])

    def windows(self, step: int = 1) -> Iterable[Bitext]:
        """Yield all of it as one window."""
        return [self]

    @property
    def shapes(self) -> Array:
        """Numbers of source and of target words, of shape (n_pairs, 2)."""
        return np.stack([self.source.lengths, self.target.lengths], axis=1)

    @cached_property
    def cell_start(self) -> Array:
        """Where the cells of each pair begin, of shape (n_pairs + 1,)."""
        cells = self.source.lengths * self.target.lengths
        return np.concatenate([[0], np.cumsum(cells, dtype=np.int64)])

    def cells(self, table: Array, first: int, last: int) -> Array:
        """Return the part of a table over all cells that belongs to the pairs first <= s < last."""
        return table[self.cell_start[first] : self.cell_start[last]]

    def tables(self, values: Array) -> list[Array]:
        """Return what all cells have as a table for each pair, of shape (m, n, ...)."""
        sides = zip(self.source.lengths, self.target.lengths)
        return [
            self.cells(values, s, s + 1).reshape(m, n, *values.shape[1:]) for s, (m, n) in enumerate(sides)
        ]

    @property
    def record(self) -> Text:
        return Text(self.source, self.target, self.cell_start)

    @classmethod
    def from_pairs(
        cls,
        pairs: Iterable[tuple[Iterable[str], Iterable[str]]],
        known: tuple[Vocabulary, Vocabulary] | None = None,
    ) -> Bitext:
        """Read and number the words of an iterable of (source words, target words), as a stream.

        Words of earlier text that are `known` keep their numbers, and their counts go on.
        """
        known = known or NOTHING_KNOWN
        numbers = [Numbering(one.words) for one in known]
        sides = _add_all(pairs, *(_Side(own.encode) for own in numbers))
        (source, source_words), (target, target_words) = (
            _rank_by_frequency(side.corpus(), own, one) for side, own, one in zip(sides, numbers, known)
        )
        return cls(source, target, source_words, target_words)

    @classmethod
    def encode(
        cls,
        pairs: Iterable[tuple[Iterable[str], Iterable[str]]],
        source_words: Vocabulary,
        target_words: Vocabulary,
    ) -> Bitext:
        """Return the bitext of other pairs in the numbers of given vocabularies."""
        sides = _add_all(pairs, _Side(source_words.encode), _Side(target_words.encode))
        source, target = (side.corpus() for side in sides)
        return cls(source, target, source_words, target_words)


class TrainingText(Protocol):
    """Text to train on: in memory, or on disk and read window by window, again in each pass.

    in_memory : whether all of it is one window
    most_entries : how many pairs of words may be stored of it; None for all
    """

    @property
    def source_words(self) -> Vocabulary: ...
    @property
    def target_words(self) -> Vocabulary: ...
    @property
    def n_cells(self) -> int: ...
    @property
    def n_windows(self) -> int: ...
    @property
    def in_memory(self) -> bool: ...
    @property
    def most_entries(self) -> int | None: ...
    def windows(self, step: int = 1, /) -> Iterable[Bitext]: ...


class _Side:
    """One side while it is read: two growing arrays, no object a sentence."""

    def __init__(self, encode: Callable[[Iterable[str]], Iterable[int]]) -> None:
        self._encode = encode
        self._tokens = array("i")
        self._ends = array("q", [0])

    def add(self, sentence: Iterable[str]) -> None:
        self._tokens.extend(self._encode(sentence))
        self._ends.append(len(self._tokens))

    def corpus(self) -> Corpus:
        return Corpus(np.array(self._tokens, dtype=np.int32), np.array(self._ends, dtype=np.int64))


def _rank_by_frequency(corpus: Corpus, numbers: Numbering, known: Vocabulary) -> tuple[Corpus, Vocabulary]:
    """Renumber corpus and vocabulary so that frequent words come first."""
    counts = np.bincount(corpus.tokens, minlength=len(numbers))
    vocabulary, rank = by_frequency(numbers, counts, known)
    return Corpus(rank[corpus.tokens], corpus.start), vocabulary


def by_frequency(numbers: Numbering, counts: Array, known: Vocabulary) -> tuple[Vocabulary, Array]:
    """Return the vocabulary, frequent words first but behind those that are known.

    And the new number of each.
    """
    n = len(known)
    order = np.concatenate([np.arange(n), n + np.argsort(-counts[n:], kind="stable")])
    rank = np.empty(order.size, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    words, total = list(numbers), counts[order]
    total[:n] += known.counts
    return Vocabulary([words[k] for k in order], total), rank


def _add_all(
    pairs: Iterable[tuple[Iterable[str], Iterable[str]]], source: _Side, target: _Side
) -> tuple[_Side, _Side]:
    for e, f in map(checked_pair, pairs):
        source.add(e)
        target.add(f)
    return source, target


def batches(pairs: Iterable[Sentences]) -> Iterator[list[Sentences]]:
    """Yield pairs in lists, small enough that the features of all their cells fit into memory."""
    batch: list[Sentences] = []
    cells = 0
    with show_progress("aligning") as step:
        for pair in pairs:
            batch.append(pair)
            cells += len(pair[0]) * len(pair[1])
            if len(batch) == PAIRS_AT_ONCE or cells >= CELLS_AT_ONCE:
                yield batch
                step.advance(len(batch), f"{step.done + len(batch):.0f} pairs")
                batch, cells = [], 0
        if batch:
            yield batch


def checked_pair(pair: P) -> P:
    """`pair` if it is two lists of words; a string would be read letter by letter."""
    if _is_no_list(pair) or len(pair) != 2 or any(map(_is_no_list, pair)):
        raise ValueError(
            "A pair is two lists of words, source and target, such as "
            '("the house".split(), "la maison".split()); got something else. To give texts, '
            'set tokenize="simple".'
        )
    return pair


def _is_no_list(side: object) -> bool:
    if type(side) in (list, tuple):  # as nearly all are
        return False
    return isinstance(side, str | bytes | Mapping | Set) or not hasattr(side, "__iter__")
