"""Evidence that two sides translate each other: how much likelier words are beside the words of the other.

A word f of a side of n words, beside the m words e of the other side, has the evidence

    log( a(f) + (1 - a(f)) r ),    r = 1/m sum_e t(f | e) / q(f)

where q(f) is its share in the text: IBM Model 1 against words that come as they like. a(f) is how often f
stands alone, that is, is explained by no word of the other side: often for an article, hardly ever for a
name, so that a name without its translation speaks against a pair. It is learned from a text, pair by pair as
much as that is good. Words never seen say nothing. Statistics that contain the pair itself may be used: what
occurs together there alone is no evidence for itself, see `translation`.
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

#: How often words stand alone before that is learned, and how many occurrences that weighs, at what is usual
#: for words as frequent as this one; bounds, and rounds of expectation maximisation.
ALONE, HELD, LEAST, MOST, ROUNDS = 0.1, 2.0, 0.005, 0.95, 5
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


class WordRatios(NamedTuple):
    """Of the words of one side of some pairs: r, -1 for words never seen; their numbers; words per pair."""

    ratio: Array
    word: Array
    length: Array

    @property
    def pair(self) -> Array:
        """The pair of each word."""
        return np.repeat(np.arange(self.length.size), self.length)


#: Of target words, by source words, and of source words.
BothRatios = tuple[WordRatios, WordRatios]
#: How often words of either side stand alone, by their numbers.
BothAlone = tuple[Array, Array]


def usual_alone(statistics: AlignmentStatistics) -> BothAlone:
    """Return what holds before anything is learned."""
    n, m = len(statistics.target_words) + 1, len(statistics.source_words) + 1
    return np.full(n, ALONE), np.full(m, ALONE)


def ratios_of(tables: WordTables, statistics: AlignmentStatistics, pairs: Sequence[Words]) -> BothRatios:
    """Return the ratios of pairs, written as the statistics have them."""
    bitext = statistics.encode(pairs)
    entry = find_entries(tables.lexicon, bitext.record, 0, len(bitext))
    forward, reverse = _ratios(tables, bitext.record, entry)
    source, target = bitext.source, bitext.target
    return (
        WordRatios(forward, target.tokens, target.lengths),
        WordRatios(reverse, source.tokens, source.lengths),
    )


def end_to_end(parts: Sequence[BothRatios]) -> BothRatios:
    """Return the ratios of several batches as those of one."""
    forward, reverse = (
        WordRatios(*map(np.concatenate, zip(*[one[side] for one in parts]))) for side in (0, 1)
    )
    return forward, reverse


def learn_alone(both: BothRatios, statistics: AlignmentStatistics, good: Array) -> BothAlone:
    """Return how often words stand alone, from pairs that are good with these probabilities."""
    target, source = statistics.target_words.counts, statistics.source_words.counts
    return _alone(both[0], target, good), _alone(both[1], source, good)


def _alone(side: WordRatios, counts: Array, good: Array) -> Array:
    known = side.ratio >= 0
    ratio, word, weight = side.ratio[known], side.word[known], good[side.pair[known]]
    kind = np.log2(np.maximum(counts, 1)).astype(np.int64)  # words that are about as frequent
    alone = np.full(counts.size + 1, ALONE)
    total = np.bincount(word, weight, counts.size)
    for _ in range(ROUNDS):
        share = alone[word] / (alone[word] + (1.0 - alone[word]) * ratio)
        sums = np.bincount(word, weight * share, counts.size)
        usual = (np.bincount(kind, sums) + ALONE) / (np.bincount(kind, total) + 1.0)
        alone[:-1] = (sums + HELD * usual[kind]) / (total + HELD)
    return np.clip(alone, LEAST, MOST)


def evidence_of(both: BothRatios, alone: BothAlone) -> Array:
    """Return what is known of pairs: (n_pairs, `N_FEATURES`).

    Evidence forward (of target words) and in reverse (of source words) is added up, and divided by the
    length and by its square root, so that long pairs may say more. Further the shares of words
    with evidence above 0, and the lengths.
    """
    columns = [_sums(side, own) for side, own in zip(both, alone)]
    sums, found = (np.stack(column, axis=1) for column in zip(*columns))
    lengths = np.maximum(np.stack([side.length for side in both], axis=1), 1).astype(np.float64)
    total = lengths.sum(axis=1, keepdims=True)
    difference = (lengths[:, :1] - lengths[:, 1:]) / np.sqrt(total)
    return np.concatenate(
        [sums / lengths, sums / np.sqrt(lengths), found / lengths, difference, difference**2, np.log(total)],
        axis=1,
    )


def _sums(side: WordRatios, alone: Array) -> tuple[Array, Array]:
    """Return the evidence of each pair's words, added up, and how many have any."""
    own = alone[side.word]
    evidence = np.where(side.ratio >= 0, np.log(own + (1.0 - own) * np.maximum(side.ratio, 0.0)), 0.0)
    n = side.length.size
    return np.bincount(side.pair, evidence, n), np.bincount(side.pair, evidence > 0, n)


@kernel
def _ratios(tables: WordTables, text: Text, entry: Array) -> tuple[Array, Array]:
    """Return r of all target words and of all source words."""
    source, target, n_entries = text.source, text.target, tables.lexicon.target.size
    n_source, n_target = tables.source_share.size, tables.target_share.size
    by_target, by_source = np.full(target.tokens.size, -1.0), np.full(source.tokens.size, -1.0)
    for s in range(source.start.size - 1):
        a, m = source.start[s], source.start[s + 1] - source.start[s]
        b, n = target.start[s], target.start[s + 1] - target.start[s]
        if m * n == 0:
            continue
        cell = text.cell_start[s]
        sums = np.zeros(m)
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
                sums[i] += reverse
            if f < n_target:
                by_target[b + j] = total / m / tables.target_share[f]
        for i in range(m):
            e = source.tokens[a + i]
            if e < n_source:
                by_source[a + i] = sums[i] / n / tables.source_share[e]
    return by_target, by_source
