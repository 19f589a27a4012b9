"""Evidence that two sides translate each other: how much likelier words are beside the words of the other.

A word f of a side of n words, beside the m words e of the other side, has the evidence

    log( p0 + (1 - p0) / m sum_e t(f | e) / q(f) )

where q(f) is its share in the text: IBM Model 1 against words that come as they like. Words never seen say
nothing. Statistics that contain the pair itself may be used: what occurs together there alone is no evidence
for itself, see `translation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structlearn.alignment.gold.vectors import Words
from structlearn.alignment.statistics.lexicon import Lexicon, find_entries
from structlearn.alignment.statistics.statistics import AlignmentStatistics
from structlearn.alignment.text.bitext import Text, Vocabulary
from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

#: Probability of a word that nothing of the other side explains.
P0 = 0.1
#: Words that occur this often at most, and those without letters, are taken for translations of themselves,
#: with this probability.
RARE, COPIED = 5, 0.5
#: Sums of evidence over the length and over its square root, shares of words with any, lengths.
N_FEATURES = 2 * 2 + 2 + 3


class WordTables(NamedTuple):
    """What the kernel needs to know of words."""

    lexicon: Lexicon
    forward: Array  # (K + N_MISSING,): t(f | e)
    reverse: Array  # (K + N_MISSING,): t(e | f)
    source_share: Array  # (n_source_words,)
    target_share: Array  # (n_target_words,)
    same: Array  # (n_source_words,): the target word that is written alike, or -1

    @classmethod
    def of(cls, statistics: AlignmentStatistics) -> WordTables:
        """Return the tables of statistics."""
        source, target = statistics.source_words, statistics.target_words
        tables = statistics.forward.translation, statistics.reverse.translation
        return cls(statistics.lexicon, *tables, _shares(source), _shares(target), _same(source, target))


def _shares(words: Vocabulary) -> Array:
    return np.maximum(words.counts, 1) / max(int(words.counts.sum()), 1)


def _same(source: Vocabulary, target: Vocabulary) -> Array:
    """Return the number of the target word that copies each source word, -1 where there is none."""
    there = {word: k for k, word in enumerate(target.words) if _copies(word, target.counts[k])}
    found = [
        there.get(word, -1) if _copies(word, count) else -1
        for word, count in zip(source.words, source.counts.tolist())
    ]
    return np.array(found, dtype=np.int32)


def _copies(word: str, count: int) -> bool:
    return count <= RARE or not any(map(str.isalpha, word))


def evidence_of(tables: WordTables, statistics: AlignmentStatistics, pairs: Sequence[Words]) -> Array:
    """Return what is known of pairs, written as the statistics have them: (n_pairs, `N_FEATURES`).

    Evidence forward (of target words) and in reverse (of source words) is added up, and divided by the
    length and by its square root, so that long pairs may say more. Further the shares of words
    with evidence above 0, and the lengths.
    """
    bitext = statistics.encode(pairs)
    entry = find_entries(tables.lexicon, bitext.record, 0, len(bitext))
    sums, found = _add_up(tables, bitext.record, entry)
    lengths = np.maximum(bitext.shapes[:, ::-1], 1).astype(np.float64)  # of target words forward
    both = lengths.sum(axis=1, keepdims=True)
    difference = (lengths[:, :1] - lengths[:, 1:]) / np.sqrt(both)
    return np.concatenate(
        [sums / lengths, sums / np.sqrt(lengths), found / lengths, difference, difference**2, np.log(both)],
        axis=1,
    )


@kernel
def _add_up(tables: WordTables, text: Text, entry: Array) -> tuple[Array, Array]:
    """Add up the evidence of the words of each pair, forward and in reverse; words with any."""
    source, target, n_entries = text.source, text.target, tables.lexicon.target.size
    n_source, n_target = tables.source_share.size, tables.target_share.size
    n_pairs = source.start.size - 1
    sums, count = np.zeros((n_pairs, 2)), np.zeros((n_pairs, 2))
    for s in range(n_pairs):
        a, m = source.start[s], source.start[s + 1] - source.start[s]
        b, n = target.start[s], target.start[s + 1] - target.start[s]
        if m * n == 0:
            continue
        cell = text.cell_start[s]
        by_source = np.zeros(m)
        for j in range(n):
            f = target.tokens[b + j]
            total = 0.0
            for i in range(m):
                e, k = source.tokens[a + i], entry[cell + i * n + j]
                forward, reverse = 0.0, 0.0
                if k < n_entries:
                    forward, reverse = tables.forward[k], tables.reverse[k]
                if e < n_source and f < n_target and tables.same[e] == f:
                    forward, reverse = max(forward, COPIED), max(reverse, COPIED)
                total += forward
                by_source[i] += reverse
            if f < n_target:
                evidence = np.log(P0 + (1.0 - P0) / m * total / tables.target_share[f])
                sums[s, 0] += evidence
                count[s, 0] += evidence > 0.0
        for i in range(m):
            e = source.tokens[a + i]
            if e < n_source:
                evidence = np.log(P0 + (1.0 - P0) / n * by_source[i] / tables.source_share[e])
                sums[s, 1] += evidence
                count[s, 1] += evidence > 0.0
    return sums, count
