"""An earlier model as a prior for more text.

Of the earlier text the model says how many links of e and f are to be expected,

    c(e, f) = sqrt( t(f | e) n(e) t(e | f) n(f) )

with n the occurrences of a word. These are added to the expected links of the new text in every M-step, as
though that text were read again; nothing is forgotten. So are the sentence pairs that have both words, the
occurrences of words, and what NULL generates. What pairs of a kind do, and the jumps, are learned from the
new text alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from structlearn.alignment.statistics.direction import Direction
from structlearn.alignment.statistics.expectation import Expected
from structlearn.alignment.statistics.lexicon import N_MISSING, Lexicon, find_entry
from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

if TYPE_CHECKING:
    from structlearn.alignment.statistics.statistics import AlignmentStatistics


@dataclass(frozen=True)
class EarlierText:
    """What an earlier text says of the entries of a lexicon, whose first words are its words.

    links : expected links of each entry
    cells : how often its words occur together, in sentence pairs
    null : expected words from NULL, target and source
    """

    links: Array  # float32, (K,)
    cells: Array  # float32, (K,)
    null: tuple[Array, Array]
    directions: tuple[Direction, Direction]

    @classmethod
    def of(cls, earlier: AlignmentStatistics, lexicon: Lexicon) -> EarlierText:
        """Make it from statistics, with the entries that the lexicon has."""
        old, directions = earlier.lexicon, (earlier.forward, earlier.reverse)
        given = earlier.source_words.counts[old.source()], earlier.target_words.counts[old.target]
        expected = [one.translation[:-N_MISSING] * n for one, n in zip(directions, given)]
        links, cells = (np.zeros(lexicon.target.size, dtype=np.float32) for _ in range(2))
        _spread(old, lexicon, np.sqrt(expected[0] * expected[1]), links, cells)
        tokens = [words.counts.sum() for words in (earlier.target_words, earlier.source_words)]
        null = [one.null[:-1] * (one.p0 * n) for one, n in zip(directions, tokens)]
        return cls(links, cells, (null[0], null[1]), directions)

    def add_to(self, expected: Sequence[Expected]) -> None:
        """Add what is known to what the two directions expect of the new text."""
        for table in {id(one.link): one.link for one in expected}.values():  # both may share one
            table[: self.links.size] += self.links
        for one, null in zip(expected, self.null):
            one.null[: null.size] += null


@kernel
def _spread(old: Lexicon, lexicon: Lexicon, expected: Array, links: Array, cells: Array) -> None:
    """Return the entries of one lexicon at their places in the other."""
    for e in range(old.start.size - 2):
        for k in range(old.start[e], old.start[e + 1]):
            entry = find_entry(lexicon, e, old.target[k])
            if entry < links.size:
                links[entry] = expected[k]
                cells[entry] = old.together[k]
