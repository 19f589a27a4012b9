"""How right an alignment is (Och and Ney 2003)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from structlearn.alignment.links import Link, Links


class AlignmentScores(NamedTuple):
    """Counts of links, summed over sentence pairs, and the figures made of them."""

    #: predicted links, |A|
    predicted: int
    #: sure gold links, |S|
    sure: int
    #: predicted and sure, |A and S|
    sure_found: int
    #: predicted and possible, |A and P|
    possible_found: int

    @property
    def precision(self) -> float:
        """|A and P| / |A|; 1 where nothing is predicted."""
        return self.possible_found / self.predicted if self.predicted else 1.0

    @property
    def recall(self) -> float:
        """|A and S| / |S|; 1 where nothing is sure."""
        return self.sure_found / self.sure if self.sure else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    @property
    def aer(self) -> float:
        """Alignment error rate, 1 - (|A and S| + |A and P|) / (|A| + |S|); 0 where both are empty."""
        total = self.predicted + self.sure
        return 1 - (self.sure_found + self.possible_found) / total if total else 0.0


def alignment_scores(gold: Iterable[Links], predicted: Iterable[Collection[Link]]) -> AlignmentScores:
    """Compare predicted links with gold ones, one entry per sentence pair; ValueError for unequal numbers."""
    totals = [0, 0, 0, 0]
    for links, found in zip(gold, map(frozenset, predicted), strict=True):
        for k, one in enumerate((found, links.sure, found & links.sure, found & links.possible)):
            totals[k] += len(one)
    return AlignmentScores(*totals)
