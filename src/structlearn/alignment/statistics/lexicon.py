"""The lexicon: which source and target words occur together, and where in the text.

An *entry* is a pair of words that share a sentence pair. Entries are stored by source word, target words in
increasing order. Tables over the K entries have four places more, for pairs that are not stored:
K + 1 [the source word was never seen] + 2 [the target word was never seen].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.alignment.text.bitext import Bitext, Text
from structlearn.alignment.text.occurrences import Occurrences, even_parts, occurrences
from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.core.threads import Map

#: Places at the end of a table over entries.
N_MISSING = 4
#: Most entries of a lexicon: the cells of a text hold their places, and those of what is missing, as int32.
MOST_ENTRIES = np.iinfo(np.int32).max - N_MISSING


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
        """Return the source word of each entry, of shape (K,)."""
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))

    def dice(self) -> Array:
        """2 c(e, f) / (c(e) + c(f)) of each entry, counted in sentence pairs; of shape (K,)."""
        either = self.source_pairs[self.source()] + self.target_pairs[self.target]
        return (2 * self.together / either).astype(np.float32)

    def keep(self, kept: Array) -> Lexicon:
        """Return the lexicon of the entries where `kept`, of shape (K,), is true."""
        before = np.concatenate([[0], np.cumsum(kept)])
        return self._replace(start=before[self.start], target=self.target[kept], together=self.together[kept])


@kernel
def dice_of_cells(lexicon: Lexicon, text: Text, entry: Array) -> Array:
    """Compute the Dice coefficient of every cell, whose entry is known; 0 where none is stored."""
    source, target = text.source, text.target
    dice = np.zeros(entry.size, dtype=np.float32)
    cell = 0
    for s in range(source.start.size - 1):
        for i in range(source.start[s], source.start[s + 1]):
            for j in range(target.start[s], target.start[s + 1]):
                k = entry[cell]
                if k < lexicon.together.size:
                    either = lexicon.source_pairs[source.tokens[i]] + lexicon.target_pairs[target.tokens[j]]
                    dice[cell] = 2 * lexicon.together[k] / either
                cell += 1
    return dice


@kernel
def find_entry(lexicon: Lexicon, e: int, f: int) -> int:
    """Return the entry of source word e and target word f, by binary search."""
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
    """Find the entry of every cell of the pairs first <= s < last."""
    source, target = text.source, text.target
    entry = np.empty(text.cell_start[last] - text.cell_start[first], dtype=np.int32)
    cell = 0
    for s in range(first, last):
        for e in source.tokens[source.start[s] : source.start[s + 1]]:
            for f in target.tokens[target.start[s] : target.start[s + 1]]:
                entry[cell] = find_entry(lexicon, e, f)
                cell += 1
    return entry


def locate(lexicon: Lexicon, bitext: Bitext, run: Map = map) -> Array:
    """Find the entry of every cell of a bitext in the lexicon's words, all of them known.

    Source word by source word: mark where its target words are, then visit the sentences that it occurs in.
    This takes time O(cells) and that of reading the entries of its words; `find_entries` searches instead.
    """
    where = occurrences(bitext.source, lexicon.source_pairs.size - 1)
    entry = np.empty(bitext.cell_start[-1], dtype=np.int32)

    def fill(part: tuple[int, int]) -> None:
        at = np.full(lexicon.target_pairs.size - 1, lexicon.target.size, dtype=np.int32)
        _locate_rows(lexicon, where, bitext.record, entry, at, part)

    for _ in run(fill, even_parts(where.start)):
        pass
    return entry


@kernel
def _locate_rows(
    lexicon: Lexicon, where: Occurrences, text: Text, entry: Array, at: Array, part: tuple[int, int]
) -> None:
    """Entries of the cells of a part of the source words; `at` has the place of what is not stored."""
    target, missing = text.target, lexicon.target.size
    for e in range(part[0], part[1]):
        if where.start[e] == where.start[e + 1]:
            continue
        row = lexicon.target[lexicon.start[e] : lexicon.start[e + 1]]
        for k in range(row.size):
            at[row[k]] = lexicon.start[e] + k
        for o in range(where.start[e], where.start[e + 1]):
            s = where.sentence[o]
            n = target.start[s + 1] - target.start[s]
            cell = text.cell_start[s] + (where.token[o] - text.source.start[s]) * n
            for j in range(n):
                entry[cell + j] = at[target.tokens[target.start[s] + j]]
        for f in row:
            at[f] = missing
