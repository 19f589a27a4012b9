"""Tokens that stand on both sides as they are: numbers, addresses, emoji, and words too rare to be counted.

They are linked wherever they stand, and to nothing else; if there are several, in order. Where one side has
more of them than the other, or they are common words, the statistics decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category

import numpy as np

from structlearn.alignment.gold.scores import ScoredEdges
from structlearn.alignment.gold.vectors import Words
from structlearn.alignment.links import Link
from structlearn.alignment.statistics.lexicon import Lexicon
from structlearn.alignment.text.bitext import Bitext

#: Words of more letters than this are linked if they are seen in at most so many pairs, on either side.
SHORT, RARE = 3, 2
#: What the posteriors of such a link count as.
SURE = 0.99


def link_identical(edges: ScoredEdges, pairs: Sequence[Words], lexicon: Lexicon, score: float) -> ScoredEdges:
    """Return the edges with such links: they score at least `score`, and their rivals at most its negative.

    The scores and posteriors that are given are written to.
    """
    found: list[int] = []
    for k, ((source, target), places) in enumerate(zip(pairs, identical_links(edges.bitext, pairs, lexicon))):
        first, shape = int(edges.bitext.cell_start[k]), (len(source), len(target))
        for i, j in places:
            theta = edges.theta[first : first + shape[0] * shape[1]].reshape(shape)
            own = max(theta[i, j], score)
            theta[i, :] = np.minimum(theta[i, :], -score)
            theta[:, j] = np.minimum(theta[:, j], -score)
            theta[i, j] = own
            found.append(first + i * shape[1] + j)
    for posterior in (edges.agreement, edges.mean):
        posterior[found] = np.maximum(posterior[found], SURE)
    return edges._replace(identical=np.array(found, dtype=np.int64))


def identical_links(bitext: Bitext, pairs: Sequence[Words], lexicon: Lexicon) -> Iterator[list[Link]]:
    """Yield the links of each pair that identical tokens have for being identical."""
    for k, (source, target) in enumerate(pairs):
        common = [word for word in set(source).intersection(target) if _may_be_linked(word)]
        yield list(_identical_places(source, target, common, _Seen(bitext, lexicon, k))) if common else []


def with_identical(links: frozenset[Link], identical: Sequence[Link]) -> frozenset[Link]:
    """Return links with these, which take their words' other links away."""
    if not identical:
        return links
    rows, columns = map(set, zip(*identical))
    return frozenset(identical) | {(i, j) for i, j in links if i not in rows and j not in columns}


class _Seen(NamedTuple):
    """In how many pairs of the text the words of pair k were seen."""

    bitext: Bitext
    lexicon: Lexicon
    k: int

    def is_rare(self, i: int, j: int) -> bool:
        source, target = self.bitext.source, self.bitext.target
        e, f = source.tokens[source.start[self.k] + i], target.tokens[target.start[self.k] + j]
        return bool(self.lexicon.source_pairs[e] <= RARE and self.lexicon.target_pairs[f] <= RARE)


def _identical_places(
    source: Sequence[str], target: Sequence[str], common: Sequence[str], seen: _Seen
) -> Iterator[tuple[int, int]]:
    for word in common:
        if word.isalpha() and not seen.is_rare(source.index(word), target.index(word)):
            continue
        rows, columns = ([k for k, one in enumerate(side) if one == word] for side in (source, target))
        if len(rows) == len(columns):
            yield from zip(rows, columns)


@lru_cache(maxsize=1 << 14)
def _may_be_linked(word: str) -> bool:
    """Whether a token is a number, an address, a picture, or a long word."""
    if word.isalpha():
        return len(word) > SHORT
    has_digit = any(letter.isdigit() for letter in word)
    return has_digit or "://" in word or "@" in word or any(category(letter) == "So" for letter in word)
