"""Gold pairs as new pairs are seen: by statistics that do not contain their text.

Statistics know every word of their own text and much of its links; of a new pair they know less. Features of
gold pairs whose text was counted would therefore teach, and promise, too much. Instead,

- where there is much other text, that of the gold pairs is not counted: the rest hardly misses it;
- elsewhere the statistics are made again without each part of the gold pairs, for the features of that part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from itertools import chain
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.alignment.gold.features import edge_features
from structlearn.alignment.gold.other_kind import LOOKED_AT
from structlearn.alignment.gold.vectors import Vectors, Words
from structlearn.alignment.gold.words import count_gold_words
from structlearn.core.contract import Array

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner
    from structlearn.alignment.statistics.statistics import AlignmentStatistics

#: Other text is much if it has at least this many times the words of the gold pairs,
ENOUGH = 50
#: or this many words, and no fewer than the gold pairs.
MANY = 1 << 19
#: At most about this share of the gold pairs, and so of the text, is left out at once.
LEFT_OUT = 0.05


class OtherText(NamedTuple):
    """The text beside the gold pairs: a list, which can be read again, unless it is much.

    first : its first pairs
    """

    pairs: Iterable[Words]
    is_much: bool
    first: Sequence[Words] = ()


def other_text(gold: Sequence[Words], text: Iterable[Words]) -> OtherText:
    """Read as much of the text as tells whether it is much."""
    words = n_words(gold)
    missing = min(ENOUGH * words, max(MANY, words))
    read, rest = [], iter(text)
    for pair in rest:
        read.append(pair)
        missing -= n_words([pair])
        if missing <= 0:
            return OtherText(chain(read, rest), True, read[:LOOKED_AT])
    return OtherText(read, False, read[:LOOKED_AT])


def n_words(pairs: Iterable[Words]) -> int:
    """Count the words of both sides."""
    return sum(len(source) + len(target) for source, target in pairs)


def features_as_new(
    aligner: Aligner,
    gold: Sequence[Words],
    text: Iterable[Words],
    earlier: AlignmentStatistics | None,
    surplus: Sequence[Array],
) -> Array:
    """Return the features of all cells of the gold pairs, each by statistics without its part of them.

    Parameters
    ----------
    aligner : Aligner
        Whose features they are.
    gold, text : pairs that its statistics contain
    earlier : AlignmentStatistics, optional
        Which they continue.
    surplus : tables, one per gold pair
        What gold links say of its cells, see `gold_words`.

    """
    found: dict[int, Array] = {}
    written = [aligner.write_pair(pair) for pair in gold]
    for part in parts_of(gold):
        rest = [pair for k, pair in enumerate(gold) if k not in part]
        other = _without(aligner, chain(rest, text), earlier)
        bitext = other.statistics_.encode(written)
        lexicon = other.statistics_.lexicon
        other.gold_words_ = count_gold_words(lexicon, bitext, _end_to_end(surplus))
        own = _end_to_end([surplus[k] for k in part])
        pairs = [written[k] for k in part]
        made = edge_features(
            other.statistics_, pairs, other.vectors_, other.gold_words_, own, other.n_voters_
        )
        found |= zip(part, made.bitext.tables(made.F))
    return np.concatenate([found[k].reshape(-1, found[k].shape[2]) for k in range(len(gold))])


def parts_of(gold: Sequence[Words]) -> list[range]:
    """Split the gold pairs into parts: where they are unlike the text, each needs the others."""
    n = min(ceil(1 / LEFT_OUT), len(gold))
    return [range(k, len(gold), n) for k in range(n)]


def _without(aligner: Aligner, pairs: Iterable[Words], earlier: AlignmentStatistics | None) -> Aligner:
    """Return a copy of the aligner that knows these pairs alone."""
    other = copy(aligner)
    other.statistics_ = aligner.train_statistics(pairs, earlier, keep=False)
    if aligner.vectors_ is not None:
        other.vectors_ = _among(aligner.vectors_, other.statistics_)
    return other


def _among(vectors: Vectors, statistics: AlignmentStatistics) -> Vectors:
    source, target = vectors
    return source.among(statistics.source_words.words), target.among(statistics.target_words.words)


def _end_to_end(tables: Sequence[Array]) -> Array:
    return np.concatenate([table.ravel() for table in tables])
