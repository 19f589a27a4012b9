"""The lexicon: which source and target words occur together, and where in the text.

An *entry* is a pair of words that share a sentence pair. Entries are stored by source word, target words in
increasing order. The last entry of every table over entries stands for the pairs that are not stored.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from structlearn.apps.alignment.bitext import Array, Bitext, Corpus
from structlearn.kernels import kernel


class Lexicon(NamedTuple):
    """Pairs of words that occur together; K of them are stored.

    Attributes
    ----------
    start : ndarray of shape (n_source_words + 2,)
        The entries of source word e are `start[e] : start[e + 1]`; the word never seen has none.
    target : ndarray of shape (K,)
        Target words, increasing within a source word.
    together : ndarray of shape (K,)
        In how many sentence pairs the two occur together.
    source_pairs, target_pairs : ndarray of shape (n_words + 1,)
        In how many sentence pairs each word occurs; 0 for the word never seen.
    """

    start: Array
    target: Array
    together: Array
    source_pairs: Array
    target_pairs: Array

    @property
    def n_entries(self) -> int:
        return len(self.target)

    def source(self) -> Array:
        """Source word of each entry, of shape (K,)."""
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))


@kernel
def find_entry(start: Array, target: Array, e: int, f: int) -> int:
    """The entry of source word e and target word f, or K where it is not stored."""
    low, high = start[e], start[e + 1]
    while low < high:
        middle = (low + high) // 2
        if target[middle] < f:
            low = middle + 1
        else:
            high = middle
    return low if low < start[e + 1] and target[low] == f else target.size


@kernel
def entries_of_cells(
    lexicon: Lexicon, source: Corpus, target: Corpus, first: int, last: int, out: Array
) -> None:
    """Entry of every cell of the pairs first <= s < last, by binary search."""
    cell = 0
    for s in range(first, last):
        for e in source.tokens[source.start[s] : source.start[s + 1]]:
            for f in target.tokens[target.start[s] : target.start[s + 1]]:
                out[cell] = find_entry(lexicon.start, lexicon.target, e, f)
                cell += 1


def build_lexicon(bitext: Bitext, *, n_jobs: int = 1) -> tuple[Lexicon, Array]:
    """The lexicon of a bitext, and the entry of each of its cells.

    Source word by source word: visit the sentences it occurs in, mark the target words met. This takes time
    O(cells) and no sort of all cells.

    Returns
    -------
    lexicon : Lexicon
    entry : ndarray of shape (n_cells,)
    """
    n_source, n_target = len(bitext.source_words), len(bitext.target_words)
    where = _occurrences(bitext.source, n_source)
    bounds = _even_bounds(where.start, 8 * n_jobs)
    sizes = np.zeros(n_source + 2, dtype=np.int64)
    entry = np.empty(bitext.cell_start[-1], dtype=np.int32)
    with ThreadPoolExecutor(n_jobs) as pool:
        count = [pool.submit(_count_rows, where, bitext.target, n_target, a, b, sizes) for a, b in bounds]
        for part in count:
            part.result()
        start = np.cumsum(sizes)
        target = np.empty(start[-1], dtype=np.int32)
        together = np.empty(start[-1], dtype=np.int32)
        text = (where, bitext.source.start, bitext.target, bitext.cell_start)
        fill = [pool.submit(_fill_rows, *text, n_target, a, b, start, target, together, entry) for a, b in bounds]
        for part in fill:
            part.result()
    pairs = [_pairs_with(bitext.source, n_source), _pairs_with(bitext.target, n_target)]
    return Lexicon(start, target, together, *pairs), entry


class Occurrences(NamedTuple):
    """Where words occur: word e at the tokens `token[start[e] : start[e + 1]]`, of those sentences."""

    start: Array
    token: Array
    sentence: Array


@kernel
def _occurrences(corpus: Corpus, n_words: int) -> Occurrences:
    start = np.zeros(n_words + 1, dtype=np.int64)
    for word in corpus.tokens:
        start[word + 1] += 1
    for e in range(n_words):
        start[e + 1] += start[e]
    free = start.copy()
    token = np.empty(corpus.tokens.size, dtype=np.int64)
    sentence = np.empty(corpus.tokens.size, dtype=np.int32)
    for s in range(corpus.start.size - 1):
        for k in range(corpus.start[s], corpus.start[s + 1]):
            place = free[corpus.tokens[k]]
            token[place] = k
            sentence[place] = s
            free[corpus.tokens[k]] += 1
    return Occurrences(start, token, sentence)


def _even_bounds(start: Array, n_parts: int) -> list[tuple[int, int]]:
    """Ranges of words that occur about equally often."""
    cuts = np.searchsorted(start, np.linspace(0, start[-1], n_parts + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], cuts, [len(start) - 1]]))
    return [(int(a), int(b)) for a, b in zip(edges[:-1], edges[1:])]


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


@kernel
def _count_rows(
    where: Occurrences, target: Corpus, n_target: int, first: int, end: int, sizes: Array
) -> None:
    """sizes[e + 1] = number of entries of source word e."""
    last = np.full(n_target, -1, dtype=np.int32)
    met = np.empty(n_target, dtype=np.int32)
    count = np.empty(n_target, dtype=np.int32)
    for e in range(first, end):
        sizes[e + 1] = _meet(where, target, e, last, met, count)


@kernel
def _fill_rows(
    where: Occurrences,
    source_start: Array,
    target: Corpus,
    cell_start: Array,
    n_target: int,
    first: int,
    end: int,
    start: Array,
    out_target: Array,
    out_together: Array,
    out_entry: Array,
) -> None:
    """Entries of the source words first <= e < end, and the entry of each of their cells."""
    last = np.full(n_target, -1, dtype=np.int32)
    met = np.empty(n_target, dtype=np.int32)
    count = np.empty(n_target, dtype=np.int32)
    for e in range(first, end):
        n_met = _meet(where, target, e, last, met, count)
        row = np.sort(met[:n_met])
        for k in range(n_met):
            out_target[start[e] + k] = row[k]
            out_together[start[e] + k] = count[row[k]]
            count[row[k]] = k
        for o in range(where.start[e], where.start[e + 1]):
            s = where.sentence[o]
            n = target.start[s + 1] - target.start[s]
            cell = cell_start[s] + (where.token[o] - source_start[s]) * n
            for j in range(n):
                out_entry[cell + j] = start[e] + count[target.tokens[target.start[s] + j]]


@kernel
def _pairs_with(corpus: Corpus, n_words: int) -> Array:
    """In how many sentences each word occurs."""
    last = np.full(n_words, -1, dtype=np.int32)
    pairs = np.zeros(n_words + 1, dtype=np.int32)
    for s in range(corpus.start.size - 1):
        for word in corpus.tokens[corpus.start[s] : corpus.start[s + 1]]:
            pairs[word] += last[word] != s
            last[word] = s
    return pairs
