"""How sure a link is: the probability that it is right, by what speaks for it and what is known of its words.

    log odds = <coefficients, evidence>

Posteriors of small text are far too sure: words that occur once can be linked to anything. So the evidence is
not only the agreement of the two directions and the model's score, but also how often the words were seen,
alone and together, and how much of the pair is unknown. The coefficients without gold links are those of
`benchmarks/alignment_calibration.py`, fitted to gold links of four languages with 300 to 20,000 lines of
text. Gold links pull them towards what pairs that the weights were not learned from say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structlearn.alignment.gold.features import EdgeFeatures
from structlearn.alignment.gold.gold_pairs import GoldPairs
from structlearn.alignment.gold.learning import Setting, reread
from structlearn.alignment.gold.readings import Readings
from structlearn.alignment.gold.scores import Cells, ScoredEdges, best_cells, scores_of_features
from structlearn.alignment.gold.vectors import Words
from structlearn.alignment.gold.votes import kept_votes
from structlearn.alignment.links import Links
from structlearn.alignment.statistics.lexicon import Lexicon
from structlearn.alignment.statistics.statistics import AlignmentStatistics
from structlearn.alignment.text.bitext import Bitext, Vocabulary
from structlearn.core.contract import Array
from structlearn.structures import Matching

EVIDENCE = (
    *("constant", "agreement", "score", "unknown", "both_unknown", "unknown_share", "unknown_share_squared"),
    *("rare", "seen", "covered", "mean"),
)
#: Coefficients without gold links, in this order.
USUAL = np.array([-0.30, -0.05, 0.0, -0.43, -1.33, 2.12, -1.72, -1.40, -0.02, 1.19, 0.72])
#: How strongly coefficients are held where they are usually; log odds are of the order of 1.
_HELD = 1.0
#: Log odds of agreements, means and scores are cut here.
_MOST = 7.0
_STEPS = 30
#: Gold pairs lose up to this share of their words, to be as free as translations may be.
_LOST = 0.5


def evidence(edges: ScoredEdges, lexicon: Lexicon, slope: float, cells: Cells) -> Array:
    """Return what speaks for each link, in columns named by `EVIDENCE`.

    Parameters
    ----------
    edges : ScoredEdges
        Their Dice coefficients tell in how many sentence pairs the words were seen together.
    lexicon : Lexicon
        How often words were seen.
    slope : float
        By which scores become log odds.
    cells : Cells
        All cells with links.

    """
    bitext, dice = edges.bitext, edges.dice[cells.number]
    unknown_share = _unknown_shares(bitext, lexicon)[cells.pair]
    e = bitext.source.tokens[bitext.source.start[cells.pair] + cells.i]
    f = bitext.target.tokens[bitext.target.start[cells.pair] + cells.j]
    seen_e, seen_f = lexicon.source_pairs[e], lexicon.target_pairs[f]
    found = np.empty((cells.number.size, len(EVIDENCE)))
    agreement = np.clip(edges.agreement[cells.number], 1e-6, 1 - 1e-6)
    found[:, 0] = 1.0
    most = _most_log_odds(edges, cells, np.where((seen_e == 0) & (seen_f == 0), unknown_share, 0.0))
    found[:, 1] = np.clip(np.log(agreement / (1 - agreement)), -_MOST, most)
    found[:, 2] = np.clip(slope * edges.theta[cells.number], -_MOST, _MOST)
    found[:, 3] = (seen_e == 0) | (seen_f == 0)
    found[:, 4] = (seen_e == 0) & (seen_f == 0)
    found[:, 5] = unknown_share
    found[:, 6] = found[:, 5] ** 2
    found[:, 7] = (found[:, 3] == 0) / (1 + dice * (seen_e + seen_f) / 2)
    found[:, 8] = np.log1p(np.minimum(seen_e, seen_f))
    found[:, 9] = agreement_per_word(edges, cells)[cells.pair]
    mean = np.clip(edges.mean[cells.number], 1e-6, 1 - 1e-6)
    found[:, 10] = np.clip(np.log(mean / (1 - mean)), -_MOST, most)
    return found


def _most_log_odds(edges: ScoredEdges, cells: Cells, unknown: Array) -> Array:
    """Return how sure posteriors can make a link.

    Among unknown words alone, only the number of words that it was chosen from speaks for it. Identical
    tokens speak for themselves.
    """
    longer = edges.bitext.shapes.max(axis=1)[cells.pair]
    by_choice = np.minimum(np.log(np.maximum(longer, 1)), _MOST)
    most = unknown * by_choice + (1 - unknown) * _MOST
    return np.where(np.isin(cells.number, edges.identical), _MOST, most)


def _unknown_shares(bitext: Bitext, lexicon: Lexicon) -> Array:
    """Return the share of each pair's words that were never seen."""
    unknown = np.zeros(len(bitext))
    for side, seen in ((bitext.source, lexicon.source_pairs), (bitext.target, lexicon.target_pairs)):
        pair = np.repeat(np.arange(len(bitext)), side.lengths)
        unknown += np.bincount(pair, seen[side.tokens] == 0, minlength=len(bitext))
    return unknown / np.maximum(bitext.source.lengths + bitext.target.lengths, 1)


def agreement_per_word(edges: ScoredEdges, linked: Cells) -> Array:
    """Return the agreement of each pair's links, per word."""
    bitext = edges.bitext
    sums = np.bincount(linked.pair, edges.agreement[linked.number], minlength=len(bitext))
    return 2 * sums / np.maximum(bitext.source.lengths + bitext.target.lengths, 1)


def link_probabilities(found: Array, coefficients: Array) -> Array:
    """Return 1 / (1 + exp(-<coefficients, evidence>)) for each row."""
    return 1 / (1 + np.exp(-np.clip(found @ coefficients, -30, 30)))


def fit_coefficients(found: Array, right: Array, usual: Array = USUAL, held: float = _HELD) -> Array:
    """Return argmin of the logistic loss + held/2 ||coefficients - usual||^2, by Newton's method."""
    known = usual.copy()
    for _ in range(_STEPS):
        p = link_probabilities(found, known)
        slope = found.T @ (p - right) + held * (known - usual)
        curvature = (found * (p * (1 - p))[:, None]).T @ found + held * np.eye(known.size)
        step = np.linalg.solve(curvature, slope)
        known -= step * min(1.0, 2.0 / np.abs(step).max(initial=1e-12))
        if np.abs(step).max() < 1e-6:
            break
    return known


def without_own_words(statistics: AlignmentStatistics, pairs: Sequence[Words]) -> AlignmentStatistics:
    """Return statistics that do not know the words which occur in one of the pairs and nowhere else."""
    sides = statistics.source_words, statistics.target_words
    source, target = (
        words.without(_own_words(words, [pair[k] for pair in pairs])) for k, words in enumerate(sides)
    )
    return replace(statistics, source_words=source, target_words=target)


def _own_words(words: Vocabulary, sentences: Sequence[Sequence[str]]) -> set[str]:
    """Return the words that were seen no more often than in one of the sentences."""
    own: set[str] = set()
    for sentence in sentences:
        inside = Counter(sentence)
        numbers = words.encode(inside)
        own.update(
            word for word, k in zip(inside, numbers) if k < len(words) and words.counts[k] <= inside[word]
        )
    return own


class LoosePairs(NamedTuple):
    """Pairs that have lost words, with the links and the surplus that are left."""

    pairs: list[Words]
    links: list[Links]
    surplus: Array


def drop_words(pairs: Sequence[Words], links: Sequence[Links], surplus: Sequence[Array]) -> LoosePairs:
    """Return each pair without a random share of its words, up to `_LOST`, on both sides."""
    rng = np.random.default_rng(0)
    found = LoosePairs([], [], np.empty(0))
    tables = [found.surplus]
    for pair, known, table in zip(pairs, links, surplus):
        share = rng.uniform(0.0, _LOST)
        rows, columns = (_words_to_keep(len(side), share, rng) for side in pair)
        words = [pair[0][i] for i in rows], [pair[1][j] for j in columns]
        found.pairs.append(kept_votes(pair, words, rows, columns))
        found.links.append(_links_between(known, rows, columns))
        tables.append(table[np.ix_(rows, columns)].ravel())
    return found._replace(surplus=np.concatenate(tables))


def _words_to_keep(n: int, share: float, rng: np.random.Generator) -> Array:
    kept = np.flatnonzero(rng.random(n) >= share)
    return kept if kept.size else np.zeros(1, dtype=np.int64)


def _links_between(links: Links, rows: Array, columns: Array) -> Links:
    """Return the links of the words that are kept, by their new places."""
    at = {int(i): k for k, i in enumerate(rows)}, {int(j): k for k, j in enumerate(columns)}
    sure, possible = (
        [(at[0][i], at[1][j]) for i, j in some if i in at[0] and j in at[1]]
        for some in (links.sure, links.possible)
    )
    return Links.of(sure, possible)


#: Places of gold pairs, and weights of a model that has not seen them.
HeldOut = list[tuple[Array, Readings]]


def held_out_weights(gold: GoldPairs, setting: Setting, folds: int, **parameters: Any) -> HeldOut:
    """Yield parts of the gold pairs in order, each with weights learned from the others."""
    parts = np.array_split(np.arange(len(gold.X)), min(folds, len(gold.X)))
    return [
        (part, reread(gold, part, **parameters).fit(setting, part, **parameters).readings) for part in parts
    ]


class CalibratedLinks:
    """The part of an aligner that says how sure its links are."""

    if TYPE_CHECKING:
        statistics_: AlignmentStatistics
        structure_: Matching
        feature_names_: list[str]
        weights_: Array
        slope_: float
        confidence_: Array

        def score_edges(self, pairs: Sequence[Words]) -> ScoredEdges: ...
        def features(self, pairs: Sequence[Words], surplus: Array | None = None) -> EdgeFeatures: ...
        def write_pair(self, pair: Words) -> Words: ...

    def confidences(self, pairs: Sequence[Words]) -> list[Array]:
        """Return the (m, n) table of each pair.

        How sure its links are, and elsewhere what the score alone says.
        """
        edges = self.score_edges(pairs)
        table = np.clip(self.slope_ * edges.theta + 0.5, 0.0, 1.0)
        linked = best_cells(self.structure_, edges)
        table[linked.number] = self._sureness(edges, linked)
        return edges.bitext.tables(table)

    def _sureness(self, edges: ScoredEdges, linked: Cells) -> Array:
        """Return the confidences of all links."""
        return link_probabilities(self._evidence(edges, linked), self.confidence_)

    def _evidence(self, edges: ScoredEdges, linked: Cells) -> Array:
        """Return what speaks for the links."""
        slope = 4 * self.slope_  # the slope of the logistic function at 0 is 1/4
        return evidence(edges, self.statistics_.lexicon, slope, linked)

    def _calibrate(
        self,
        pairs: Sequence[Words],
        features: EdgeFeatures,
        links: Sequence[Links],
        held_out: HeldOut,
        surplus: Array,
    ) -> None:
        """Calibrate confidences by the links of models that have not seen the pairs, which gave the surplus.

        The pairs count three times: as they are; without what the statistics know of words that occur in one
        of them only, as text will come that is no part of the bitext; and without some of their words, as
        translations will come that are freer than those with gold links.
        """
        forgetful = copy(self)
        forgetful.statistics_ = without_own_words(self.statistics_, [self.write_pair(pair) for pair in pairs])
        freer = drop_words(pairs, links, features.bitext.tables(surplus))
        found = [
            self._judge_links(features, links, held_out),
            self._judge_links(forgetful.features(pairs, surplus), links, held_out),
            self._judge_links(self.features(freer.pairs, freer.surplus), freer.links, held_out),
        ]
        rows, right = (np.concatenate(column) for column in zip(*found))
        self.confidence_ = fit_coefficients(rows, right)

    def _judge_links(
        self, features: EdgeFeatures, links: Sequence[Links], held_out: HeldOut
    ) -> tuple[Array, Array]:
        """Return the evidence of links that models draw in unseen pairs, and whether they are right."""
        tables = features.bitext.tables(features.F)
        scores = [_scores_of_table(readings, tables[k]) for part, readings in held_out for k in part]
        found = [self.structure_.decode(self.structure_.maximize(theta)) for theta in scores]
        right = [one.tables(theta.shape)[1] for one, theta in zip(links, scores)]
        cells = Cells.of(features.bitext, np.flatnonzero(_end_to_end(found)))
        edges = scores_of_features(features, self.feature_names_, _end_to_end(scores))
        rows = self._evidence(edges, cells)
        return rows, _end_to_end(right)[cells.number] > 0


def _scores_of_table(readings: Readings, X: Array) -> Array:
    return readings.scores(X.reshape(-1, X.shape[2]), np.array([X.shape[:2]])).reshape(X.shape[:2])


def _end_to_end(tables: Sequence[Array]) -> Array:
    return np.concatenate([table.ravel() for table in tables])
