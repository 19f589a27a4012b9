"""The part of an aligner that draws links: features of edges, their scores, the best matching."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from structlearn.alignment.gold.features import EdgeFeatures, edge_features
from structlearn.alignment.gold.identical import link_identical
from structlearn.alignment.gold.readings import Readings
from structlearn.alignment.gold.scores import (
    ScoredEdges,
    best_cells,
    is_rule,
    scores_of_features,
    scores_of_rule,
)
from structlearn.alignment.gold.votes import Votes, voted_pairs
from structlearn.alignment.links import Aligned, Link
from structlearn.alignment.text.bitext import batches
from structlearn.alignment.text.pairs import LengthLimit
from structlearn.core.threads import in_order
from structlearn.estimators.scikit import check_is_fitted

if TYPE_CHECKING:
    from structlearn.alignment.gold.scores import Cells
    from structlearn.alignment.gold.vectors import Vectors, Words
    from structlearn.alignment.gold.words import GoldWords
    from structlearn.alignment.statistics.statistics import AlignmentStatistics
    from structlearn.core.contract import Array
    from structlearn.structures import Matching


class LinkDrawing:
    """From pairs to links."""

    if TYPE_CHECKING:
        max_length: int
        n_jobs: int
        statistics_: AlignmentStatistics
        structure_: Matching
        feature_names_: list[str]
        weights_: Array
        first_weights_: Array | None
        slope_: float
        vectors_: Vectors | None
        gold_words_: GoldWords | None
        n_voters_: int

        def split(self, pair: Words | tuple[str, str]) -> Words: ...
        def write_pair(self, pair: Words) -> Words: ...
        def _sureness(self, edges: ScoredEdges, linked: Cells) -> Array: ...

    @property
    def readings_(self) -> Readings:
        """Weights of both readings."""
        return Readings(self.weights_, self.first_weights_)

    def predict(self, pairs: Iterable[Words], votes: Votes | None = None) -> list[frozenset[Link]]:
        """Return the links of each pair; `votes` as in training."""
        return [frozenset(one.links) for one in self.align(pairs, votes=votes)]

    def predict_scores(self, pairs: Iterable[Words], votes: Votes | None = None) -> list[dict[Link, float]]:
        """Return the links of each pair with confidences between 0 and 1."""
        return [dict(zip(one.links, one.confidence)) for one in self.align(pairs, scores=True, votes=votes)]

    def align(
        self, pairs: Iterable[Words], *, scores: bool = False, votes: Votes | None = None
    ) -> Iterator[Aligned]:
        """Stream the pairs, aligned, with confidences if `scores`.

        `votes` are the links of each voter that the model was trained with.
        """
        check_is_fitted(self, "weights_")
        limit = LengthLimit(self.max_length)
        nothing: Words = ([], [])
        voted = voted_pairs(map(self.split, pairs), votes)
        short = (pair if limit.admits(*pair) else nothing for pair in voted)
        with in_order(self.n_jobs) as run:
            for found in run(lambda batch: list(self._align(batch, scores)), batches(short)):
                yield from found
        limit.warn("have no links")

    def _align(self, batch: Sequence[Words], scores: bool) -> Iterator[Aligned]:
        edges = self.score_edges(batch)
        linked = best_cells(self.structure_, edges)
        links = list(zip(linked.i.tolist(), linked.j.tolist()))
        sure = self._sureness(edges, linked).tolist() if scores else []
        ends = np.searchsorted(linked.pair, np.arange(len(batch) + 1)).tolist()
        for first, last in pairwise(ends):
            yield Aligned(links[first:last], sure[first:last])

    def score_edges(self, pairs: Sequence[Words]) -> ScoredEdges:
        """Return the scores of all edges of the pairs."""
        written = [self.write_pair(pair) for pair in pairs]
        statistics, names = self.statistics_, self.feature_names_
        if is_rule(self.weights_, names):
            edges = scores_of_rule(statistics, written, self.weights_, names)
        else:
            features = self._features(written)
            theta = self.readings_.scores(features.F, features.bitext.shapes)
            edges = scores_of_features(features, names, theta)
        return link_identical(edges, written, statistics.lexicon, 0.5 / self.slope_)

    def features(self, pairs: Sequence[Words], surplus: Array | None = None) -> EdgeFeatures:
        """Return the features of all edges of the pairs; `surplus` is what their gold links have told."""
        return self._features([self.write_pair(pair) for pair in pairs], surplus)

    def _features(self, written: Sequence[Words], surplus: Array | None = None) -> EdgeFeatures:
        known = self.statistics_, written, self.vectors_, self.gold_words_
        return edge_features(*known, surplus, self.n_voters_)
