"""Gold pairs that are translated more literally than the text: links of the text are then drawn with caution.

The share of words that the statistics link, d, is lower in free translations than in literal ones. Log odds
that were learned where it is d_gold are too high where it is d_text, as with any two classes whose shares
change, by

    gap = log(d_gold / (1 - d_gold)) - log(d_text / (1 - d_text))

A spurious link then costs exp(gap) times as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.alignment.gold.confidence import agreement_per_word
from structlearn.alignment.gold.scores import best_cells
from structlearn.alignment.gold.vectors import Words
from structlearn.core.errors import doubt

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner

#: Pairs of the text that are looked at, and the fewest that tell its kind.
LOOKED_AT, ENOUGH = 1000, 50
#: Gaps that are spoken of: log odds.
_LARGE = 0.5
#: Shares are cut here.
_LEAST, _MOST = 0.05, 0.98


class LinkedShares(NamedTuple):
    """The share of words that the statistics link, in gold pairs and in text."""

    gold: float
    text: float

    @property
    def gap(self) -> float:
        """How much higher the log odds are in the gold pairs; 0 where they are lower."""
        gold, text = np.clip(self, _LEAST, _MOST)
        return max(0.0, float(np.log(gold / (1 - gold)) - np.log(text / (1 - text))))

    def say_if_unlike(self) -> None:
        """Warn of gold pairs that are far more literal than the text."""
        if self.gap > _LARGE:
            doubt(
                "The gold pairs are translated more literally than the text: the statistics link "
                f"{self.gold:.0%} of their words and {self.text:.0%} of those of the text. Links are "
                "therefore drawn with more caution. Gold links of pairs of this text would teach more."
            )


def linked_shares(aligner: Aligner, gold: Sequence[Words], text: Sequence[Words]) -> LinkedShares:
    """Compare gold pairs with pairs of the text, by an aligner that draws links by the statistics alone."""
    text = [pair for pair in text if len(pair[0]) and len(pair[1])]
    if len(text) < ENOUGH:
        return LinkedShares(0.5, 0.5)
    return LinkedShares(_linked_share(aligner, gold[:LOOKED_AT]), _linked_share(aligner, text))


def _linked_share(aligner: Aligner, pairs: Sequence[Words]) -> float:
    edges = aligner.score_edges(pairs)
    return float(agreement_per_word(edges, best_cells(aligner.structure_, edges)).mean())
