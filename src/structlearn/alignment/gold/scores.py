"""Scores of the edges of pairs under a model, and what the confidences of its links need of the pairs.

Without gold links only the constant and the mean have weights, so that no other feature has to be made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structlearn.alignment.gold.features import STRONG, EdgeFeatures
from structlearn.alignment.gold.vectors import Words
from structlearn.alignment.statistics.statistics import AlignmentStatistics
from structlearn.alignment.text.bitext import Bitext
from structlearn.core.contract import Array
from structlearn.problem.oracle import Oracle
from structlearn.problem.regularizers import Zero
from structlearn.scoring import PartScoring
from structlearn.structures import Matching

#: The features that the rule without gold links uses.
RULE = ("constant", "mean")


class Cells(NamedTuple):
    """Some cells of a bitext: their numbers, their pairs, and their places in these."""

    number: Array
    pair: Array
    i: Array
    j: Array

    @classmethod
    def of(cls, bitext: Bitext, number: Array) -> Cells:
        """Return the cells of these numbers."""
        pair = np.searchsorted(bitext.cell_start, number, side="right") - 1
        i, j = np.divmod(number - bitext.cell_start[pair], bitext.target.lengths[pair])
        return cls(number, pair, i, j)


class ScoredEdges(NamedTuple):
    """Scores of all edges of a batch of pairs, and what the two directions say of them."""

    bitext: Bitext
    theta: Array  # (n_cells,)
    agreement: Array  # (n_cells,)
    mean: Array  # (n_cells,)
    dice: Array  # (n_cells,)
    identical: Array = np.empty(0, dtype=np.int64)  # cells of identical tokens that are linked for it


def scores_of_features(features: EdgeFeatures, names: Sequence[str], theta: Array) -> ScoredEdges:
    """Return the scores `theta` of edges whose features, named by `names`, are known."""
    dice = features.F[:, names.index("dice")]
    return ScoredEdges(features.bitext, theta, features.agreement, features.mean, dice)


def is_rule(weights: Array, names: Sequence[str]) -> bool:
    """Whether no feature has a weight but those of the rule without gold links."""
    return all(name in RULE for name, weight in zip(names, weights) if weight)


def scores_of_rule(
    statistics: AlignmentStatistics, pairs: Sequence[Words], weights: Array, names: Sequence[str]
) -> ScoredEdges:
    """Return the scores of pairs of (source words, target words), written as the statistics have them."""
    bitext = statistics.encode(pairs)
    posteriors, found = statistics.of_cells(bitext)
    constant, slope = (STRONG * weights[names.index(name)] for name in RULE)
    mean = posteriors.mean().astype(np.float64)
    agreement = posteriors.agreement().astype(np.float64)
    return ScoredEdges(bitext, constant + slope * mean, agreement, mean, found.dice)


def best_cells(structure: Matching, edges: ScoredEdges) -> Cells:
    """Return the cells with links, argmax <theta, z>; pairs without cells are passed over."""
    shapes = edges.bitext.shapes
    shapes = shapes[shapes.all(axis=1)]
    if not len(shapes) or min(structure.capacities) >= shapes.max():
        return Cells.of(edges.bitext, np.flatnonzero(edges.theta > 0))  # no capacity is in the way
    oracle = Oracle(Zero().record(structure), PartScoring(edges.theta[:, None], shapes), structure=structure)
    found = oracle.maximizers(np.ones(1), None, np.ones(len(shapes)))
    vertices = np.concatenate([one.vertices for one in found])
    return Cells.of(edges.bitext, np.flatnonzero(vertices > 0.5))
