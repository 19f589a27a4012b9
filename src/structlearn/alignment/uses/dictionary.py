"""A bilingual word list, from what the statistics know.

score = sqrt( p(target | source) p(source | target) )
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structlearn.alignment.statistics.lexicon import N_MISSING
from structlearn.alignment.statistics.statistics import AlignmentStatistics
from structlearn.core.contract import Array


@dataclass(frozen=True, slots=True)
class Translation:
    """Two words, how well they translate each other, and in how many sentence pairs they occur together."""

    source: str
    target: str
    score: float
    forward: float  # p(target | source)
    backward: float  # p(source | target)
    together: int


def word_list(
    statistics: AlignmentStatistics, *, min_score: float = 0.1, min_count: int = 2, top: int = 5
) -> list[Translation]:
    """Return word pairs, frequent source words first, each with its best translations first.

    Parameters
    ----------
    statistics : AlignmentStatistics
    min_score : float
        Pairs with a lower score are left out.
    min_count : int
        Least number of sentence pairs that have both words.
    top : int
        Most translations of a source word.

    """
    lexicon = statistics.lexicon
    forward, backward = (
        one.translation[:-N_MISSING].astype(np.float64) for one in (statistics.forward, statistics.reverse)
    )
    score = np.sqrt(forward * backward)
    kept = np.flatnonzero((score >= min_score) & (lexicon.together >= min_count) & statistics.are_words())
    source = lexicon.source()[kept]
    order = np.lexsort((-score[kept], source))
    order = order[_place_in_group(source[order]) < top]
    words = statistics.source_words.words, statistics.target_words.words
    return [
        Translation(
            words[0][e], words[1][lexicon.target[k]], float(score[k]), float(forward[k]), float(backward[k]),
            int(lexicon.together[k]),
        )
        for e, k in zip(source[order].tolist(), kept[order].tolist())
    ]  # fmt: skip


def _place_in_group(groups: Array) -> Array:
    """Return the place of each number among its equals, which stand side by side."""
    place = np.arange(groups.size)
    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]])) if groups.size else place
    return place - np.repeat(starts, np.diff(np.append(starts, groups.size)))
