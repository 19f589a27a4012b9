"""The lexicon: which source and target words occur together, and where in the text.

An *entry* is a pair of words that share a sentence pair. Entries are stored by source word, target words in
increasing order. Tables over the K entries have four places more, for pairs that are not stored:
K + 1 [the source word was never seen] + 2 [the target word was never seen].
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from structlearn.apps.alignment.bitext import Bitext, Corpus, Text
from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.core.threads import in_order

#: Places at the end of a table over entries.
N_MISSING = 4
#: Into how many parts the words are cut.
N_PARTS = 64


class Lexicon(NamedTuple):
    """Pairs of words that occur together.

    start : the entries of source word e are `start[e] : start[e + 1]`; the word never seen has none
    target : target words, increasing within a source word
    together : in how many sentence pairs the two occur together
    source_pairs, target_pairs : in how many sentence pairs each word occurs; 0 for the word never seen
    """

    start: Array  # (n_source_words + 2,)
    target: Array  # (K,)
    together: Array  # (K,)
    source_pairs: Array  # (n_source_words + 1,)
    target_pairs: Array  # (n_target_words + 1,)

    def source(self) -> Array:
        """Source word of each entry, of shape (K,)."""
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))

    def dice(self) -> Array:
        """2 c(e, f) / (c(e) + c(f)) of each entry, counted in sentence pairs; of shape (K,)."""
        either = self.source_pairs[self.source()] + self.target_pairs[self.target]
        return (2 * self.together / either).astype(np.float32)

    def keep(self, kept: Array) -> Lexicon:
        """The lexicon of the entries where `kept`, of shape (K,), is true."""
        before = np.concatenate([[0], np.cumsum(kept)])
        return self._replace(start=before[self.start], target=self.target[kept], together=self.together[kept])


@kernel
def find_entry(lexicon: Lexicon, e: int, f: int) -> int:
    """The entry of source word e and target word f, by binary search."""
    low, high = lexicon.start[e], lexicon.start[e + 1]
    while low < high:
        middle = (low + high) // 2
        if lexicon.target[middle] < f:
            low = middle + 1
        else:
            high = middle
    if low < lexicon.start[e + 1] and lexicon.target[low] == f:
        return low
    never_e = e == lexicon.source_pairs.size - 1
    never_f = f == lexicon.target_pairs.size - 1
    return lexicon.target.size + never_e + 2 * never_f


@kernel
def find_entries(lexicon: Lexicon, text: Text, first: int, last: int) -> Array:
    """Entry of every cell of the pairs first <= s < last."""
    source, target = text.source, text.target
    entry = np.empty(text.cell_start[last] - text.cell_start[first], dtype=np.int32)
    cell = 0
    for s in range(first, last):
        for e in source.tokens[source.start[s] : source.start[s + 1]]:
            for f in target.tokens[target.start[s] : target.start[s + 1]]:
                entry[cell] = find_entry(lexicon, e, f)
                cell += 1
    return entry


def build_lexicon(
    bitext: Bitext, *, n_jobs: int = 1, advance: Callable[[], object] = lambda: None
) -> tuple[Lexicon, Array]:
    """The lexicon of a bitext, and the entry of each of its cells.

    Source word by source word: visit the sentences it occurs in, mark the target words met. This takes time
    O(cells) and no sort of all cells. `advance` is called 2 `N_PARTS` times at most.
    """
    n_source, n_target = len(bitext.source_words), len(bitext.target_words)
    where = _occurrences(bitext.source, n_source)
    parts = _even_parts(where.start)
    sizes = np.zeros(n_source + 2, dtype=np.int64)

    def count(part: tuple[int, int]) -> None:
        _count_rows(where, bitext.target, sizes, _workspace(n_target), part)

    with in_order(n_jobs) as run:
        for _ in run(count, parts):
            advance()
        start = np.cumsum(sizes)
        tables = (np.empty(start[-1], np.int32), np.empty(start[-1], np.int32))
        entry = np.empty(bitext.cell_start[-1], dtype=np.int32)
        pairs = _pairs_with(bitext.source, n_source), _pairs_with(bitext.target, n_target)
        lexicon = Lexicon(start, *tables, *pairs)

        def fill(part: tuple[int, int]) -> None:
            _fill_rows(where, bitext.record, lexicon, entry, _workspace(n_target), part)

        for _ in run(fill, parts):
            advance()
    return lexicon, entry


class Occurrences(NamedTuple):
    """Where words occur: word e at the tokens `token[start[e] : start[e + 1]]`, of those sentences."""

    start: Array
    token: Array
    sentence: Array


def _occurrences(corpus: Corpus, n_words: int) -> Occurrences:
    """By a sort that counts: that of the sparse matrix of tokens by sentence and word."""
    size = len(corpus.start) - 1, n_words
    by_word = csr_array((np.arange(corpus.tokens.size), corpus.tokens, corpus.start), shape=size).tocsc()
    sentence = by_word.indices.astype(np.int32, copy=False)
    return Occurrences(by_word.indptr.astype(np.int64, copy=False), by_word.data, sentence)


def _even_parts(start: Array) -> list[tuple[int, int]]:
    """Ranges of words that occur about equally often."""
    cuts = np.searchsorted(start, np.linspace(0, start[-1], N_PARTS + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], cuts, [len(start) - 1]]))
    return [(int(a), int(b)) for a, b in pairwise(edges)]


@kernel
def _meet(where: Occurrences, target: Corpus, e: int, last: Array, met: Array, count: Array) -> int:
    """List in `met` the target words that source word e occurs with, and count their sentences."""
    n_met = 0
    previous = -1
    for o in range(where.start[e], where.start[e + 1]):
        s = where.sentence[o]
        if s == previous:
            continue
        previous = s
        for f in target.tokens[target.start[s] : target.start[s + 1]]:
            if last[f] < 0:
                met[n_met] = f
                count[f] = 0
                n_met += 1
            if last[f] != s:
                count[f] += 1
                last[f] = s
    for f in met[:n_met]:
        last[f] = -1
    return n_met


def _workspace(n_target: int) -> tuple[Array, Array, Array]:
    """The last sentence with each target word (-1), and room for `_meet` to list and count words."""
    last = np.full(n_target, -1, dtype=np.int32)
    return last, np.empty(n_target, dtype=np.int32), np.empty(n_target, dtype=np.int32)


@kernel
def _count_rows(
    where: Occurrences,
    target: Corpus,
    sizes: Array,
    room: tuple[Array, Array, Array],
    part: tuple[int, int],
) -> None:
    """sizes[e + 1] = number of entries of source word e."""
    last, met, count = room
    for e in range(part[0], part[1]):
        sizes[e + 1] = _meet(where, target, e, last, met, count)


@kernel
def _fill_rows(
    where: Occurrences,
    text: Text,
    lexicon: Lexicon,
    entry: Array,
    room: tuple[Array, Array, Array],
    part: tuple[int, int],
) -> None:
    """Entries of a part of the source words, and the entry of each of their cells."""
    target, start = text.target, lexicon.start
    last, met, count = room
    for e in range(part[0], part[1]):
        n_met = _meet(where, target, e, last, met, count)
        _sort(met, n_met)
        for k in range(n_met):
            f = met[k]
            lexicon.target[start[e] + k] = f
            lexicon.together[start[e] + k] = count[f]
            count[f] = k
        for o in range(where.start[e], where.start[e + 1]):
            s = where.sentence[o]
            n = target.start[s + 1] - target.start[s]
            cell = text.cell_start[s] + (where.token[o] - text.source.start[s]) * n
            for j in range(n):
                entry[cell + j] = start[e] + count[target.tokens[target.start[s] + j]]


@kernel
def _sort(values: Array, n: int) -> None:
    """The first n in increasing order: Shell's sort by Ciura's gaps, which compiles in no time."""
    gap = 701
    while gap < n:
        gap = gap * 9 // 4
    while gap > 0:
        for k in range(gap, n):
            value, j = values[k], k
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap = _next_gap(gap)


@kernel
def _next_gap(gap: int) -> int:
    """701, 301, 132, 57, 23, 10, 4, 1, and before these 4/9 of the last."""
    if gap > 701:
        return max(gap * 4 // 9, 701)
    for smaller in (301, 132, 57, 23, 10, 4, 1):
        if smaller < gap:
            return smaller
    return 0


@kernel
def _pairs_with(corpus: Corpus, n_words: int) -> Array:
    """In how many sentences each word occurs."""
    last = np.zeros(n_words, dtype=np.int32)  # one more than the sentence
    pairs = np.zeros(n_words + 1, dtype=np.int32)
    for s in range(corpus.start.size - 1):
        for word in corpus.tokens[corpus.start[s] : corpus.start[s + 1]]:
            pairs[word] += last[word] != s + 1
            last[word] = s + 1
    return pairs
