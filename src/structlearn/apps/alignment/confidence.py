"""How sure a link is: the probability that it is right, by what speaks for it and what is known of its words.

    log odds = <coefficients, evidence>

Posteriors of small text are far too sure: words that occur once can be linked to anything. So the evidence is
not only the agreement of the two directions and the model's score, but also how often the words were seen,
alone and together, and how much of the pair is unknown. The coefficients without gold links are those of
`benchmarks/alignment_calibration.py`, fitted to gold links of four languages with 300 to 20,000 lines of
text. Gold links pull them towards what pairs that the weights were not learned from say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structlearn.apps.alignment.bitext import Bitext
from structlearn.apps.alignment.features import EdgeFeatures
from structlearn.apps.alignment.learning import GoldPairs, Setting, fit_links
from structlearn.apps.alignment.lexicon import Lexicon
from structlearn.apps.alignment.statistics import AlignmentStatistics
from structlearn.apps.alignment.vectors import Words
from structlearn.core.contract import Array
from structlearn.structures import Matching

EVIDENCE = (
    *("constant", "agreement", "score", "unknown", "both_unknown", "unknown_share", "unknown_share_squared"),
    *("rare", "seen", "covered"),
)
#: Coefficients without gold links, in this order.
USUAL = np.array([-0.49, 0.70, 0.0, 4.67, -2.10, -0.42, 1.15, -3.22, 0.02, 2.03])
#: How strongly coefficients are held where they are usually; log odds are of the order of 1.
_HELD = 1.0
#: Log odds of agreements and scores are cut here.
_MOST = 7.0
_STEPS = 30


class Cells(NamedTuple):
    """Some cells of a bitext: their numbers, their pairs, and their places in these."""

    number: Array
    pair: Array
    i: Array
    j: Array

    @classmethod
    def of(cls, bitext: Bitext, number: Array) -> Cells:
        """The cells of these numbers."""
        pair = np.searchsorted(bitext.cell_start, number, side="right") - 1
        i, j = np.divmod(number - bitext.cell_start[pair], bitext.target.lengths[pair])
        return cls(number, pair, i, j)


def evidence(
    features: EdgeFeatures, lexicon: Lexicon, theta: Array, cells: Cells, linked: Cells, dice: Array
) -> Array:
    """What speaks for each of some cells, in columns named by `EVIDENCE`.

    Parameters
    ----------
    features : EdgeFeatures
    lexicon : Lexicon
        How often words were seen.
    theta : ndarray
        Scores of the cells, scaled so that they are log odds.
    cells, linked : Cells
        Those that are asked about, and those that have links.
    dice : ndarray
        Dice coefficients of the cells: in how many sentence pairs the words were seen together.

    """
    bitext = features.bitext
    e = bitext.source.tokens[bitext.source.start[cells.pair] + cells.i]
    f = bitext.target.tokens[bitext.target.start[cells.pair] + cells.j]
    seen_e, seen_f = lexicon.source_pairs[e], lexicon.target_pairs[f]
    found = np.empty((cells.number.size, len(EVIDENCE)))
    agreement = np.clip(features.agreement[cells.number], 1e-6, 1 - 1e-6)
    found[:, 0] = 1.0
    found[:, 1] = np.clip(np.log(agreement / (1 - agreement)), -_MOST, _MOST)
    found[:, 2] = np.clip(theta, -_MOST, _MOST)
    found[:, 3] = (seen_e == 0) | (seen_f == 0)
    found[:, 4] = (seen_e == 0) & (seen_f == 0)
    found[:, 5] = _unknown_shares(bitext, lexicon)[cells.pair]
    found[:, 6] = found[:, 5] ** 2
    found[:, 7] = 1 / (1 + dice * (seen_e + seen_f) / 2)
    found[:, 8] = np.log1p(np.minimum(seen_e, seen_f))
    found[:, 9] = _covered(features, linked)[cells.pair]
    return found


def _unknown_shares(bitext: Bitext, lexicon: Lexicon) -> Array:
    """The share of each pair's words that were never seen."""
    unknown = np.zeros(len(bitext))
    for side, seen in ((bitext.source, lexicon.source_pairs), (bitext.target, lexicon.target_pairs)):
        pair = np.repeat(np.arange(len(bitext)), side.lengths)
        unknown += np.bincount(pair, seen[side.tokens] == 0, minlength=len(bitext))
    return unknown / np.maximum(bitext.source.lengths + bitext.target.lengths, 1)


def _covered(features: EdgeFeatures, linked: Cells) -> Array:
    """The agreement of each pair's links, per word."""
    bitext = features.bitext
    sums = np.bincount(linked.pair, features.agreement[linked.number], minlength=len(bitext))
    return 2 * sums / np.maximum(bitext.source.lengths + bitext.target.lengths, 1)


def probabilities(found: Array, coefficients: Array) -> Array:
    """1 / (1 + exp(-<coefficients, evidence>)) of each row."""
    return 1 / (1 + np.exp(-np.clip(found @ coefficients, -30, 30)))


def fit_coefficients(found: Array, right: Array, usual: Array = USUAL, held: float = _HELD) -> Array:
    """argmin of the logistic loss + held/2 ||coefficients - usual||^2, by Newton's method."""
    known = usual.copy()
    for _ in range(_STEPS):
        p = probabilities(found, known)
        slope = found.T @ (p - right) + held * (known - usual)
        curvature = (found * (p * (1 - p))[:, None]).T @ found + held * np.eye(known.size)
        step = np.linalg.solve(curvature, slope)
        known -= step * min(1.0, 2.0 / np.abs(step).max(initial=1e-12))
        if np.abs(step).max() < 1e-6:
            break
    return known


def held_out_scores(gold: GoldPairs, setting: Setting, folds: int, **parameters: Any) -> list[Array]:
    """Scores of all edges of each gold pair, by a model that has not seen it."""
    parts = np.array_split(np.arange(len(gold.X)), min(folds, len(gold.X)))
    scores: list[Array] = []
    for part in parts:
        rest = np.setdiff1d(np.arange(len(gold.X)), part)
        weights = fit_links(gold.part(rest), setting, **parameters).weights_
        scores += [gold.X[k] @ weights for k in part]
    return scores


class CalibratedLinks:
    """The part of an aligner that says how sure its links are."""

    if TYPE_CHECKING:
        statistics_: AlignmentStatistics
        structure_: Matching
        feature_names_: list[str]
        weights_: Array
        slope_: float
        confidence_: Array

        def features(self, pairs: Sequence[Words]) -> EdgeFeatures: ...
        def _linked(self, features: EdgeFeatures) -> Cells: ...

    def confidences(self, pairs: Sequence[Words]) -> list[Array]:
        """The (m, n) table of confidences of each pair."""
        features = self.features(pairs)
        everything = Cells.of(features.bitext, np.arange(len(features.F)))
        return features.bitext.tables(self._sureness(features, everything, self._linked(features)))

    def _sureness(self, features: EdgeFeatures, cells: Cells, linked: Cells) -> Array:
        """The confidences of some cells."""
        rows = self._evidence(features, features.F @ self.weights_, cells, linked)
        return probabilities(rows, self.confidence_)

    def _evidence(self, features: EdgeFeatures, theta: Array, cells: Cells, linked: Cells) -> Array:
        dice = features.F[cells.number, self.feature_names_.index("dice")]
        scores = 4 * self.slope_ * theta[cells.number]  # the slope of the logistic function at 0 is 1/4
        return evidence(features, self.statistics_.lexicon, scores, cells, linked, dice)

    def _calibrate(self, features: EdgeFeatures, gold: GoldPairs, scores: Sequence[Array]) -> None:
        """Confidences by the links of models that have not seen the pairs, whose scores are given."""
        found = [self.structure_.decode(self.structure_.maximize(theta)) for theta in scores]
        right = [one.tables(theta.shape)[1] for one, theta in zip(gold.links, scores)]
        cells = Cells.of(features.bitext, np.flatnonzero(_end_to_end(found)))
        rows = self._evidence(features, _end_to_end(scores), cells, cells)
        self.confidence_ = fit_coefficients(rows, _end_to_end(right)[cells.number] > 0)


def _end_to_end(tables: Sequence[Array]) -> Array:
    return np.concatenate([table.ravel() for table in tables])
