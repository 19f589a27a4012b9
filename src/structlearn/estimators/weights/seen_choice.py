"""Which features have weights for which labels: all for all, or only for labels that were seen with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.sentences import ParameterError
from structlearn.estimators.choices import one_of
from structlearn.estimators.scikit import Rows
from structlearn.scoring import SeenPairs

if TYPE_CHECKING:
    from structlearn.estimators.chain import ChainClassifier

AUTO, ALL, SEEN = "auto", "all", "seen"
#: "auto" takes the pairs that were seen where all pairs are more than this, and this many times as many.
MANY_PAIRS, TIMES_SEEN = 1 << 24, 8


def choose_pairs(estimator: ChainClassifier, rows: Rows, codes: Array) -> SeenPairs | None:
    """Return the pairs that are to have weights, None for all; keep them as fitted attributes."""
    n_labels = len(estimator.classes_)
    n_all = rows.shape[1] * n_labels
    if estimator.features == ALL or (estimator.features == AUTO and n_all <= MANY_PAIRS):
        return None
    pairs = SeenPairs.of(rows, codes, n_labels)
    if estimator.features == AUTO and pairs.label.size * TIMES_SEEN > n_all:
        return None
    estimator.pair_starts_, estimator.pair_labels_ = pairs
    return pairs


def seen_in(estimator: ChainClassifier) -> SeenPairs | None:
    """Return the pairs that a fitted model has weights for; None where it has some for all."""
    if "pair_starts_" not in vars(estimator):
        return None
    estimator.pair_starts_ = estimator.pair_starts_.astype(np.int64, copy=False)
    estimator.pair_labels_ = estimator.pair_labels_.astype(np.uint32, copy=False)
    return SeenPairs(estimator.pair_starts_, estimator.pair_labels_)


def check_features(estimator: ChainClassifier) -> None:
    """Raise ValueError unless `features` is one of its values."""
    one_of("features", estimator.features, (AUTO, ALL, SEEN))


def refuse_seen(estimator: ChainClassifier, what: str) -> None:
    """Raise ValueError where only pairs that were seen are asked for, but cannot be known beforehand."""
    if estimator.features == SEEN:
        raise ParameterError("{features=seen} does not go with {what}; use {features=all}.", what=what)


def describe_pairs(pairs: SeenPairs, n_labels: int) -> str:
    """Return a sentence for the status of a certificate."""
    return (
        f"The problem has weights for the {pairs.label.size:,} pairs of a feature and a label that occur in "
        f"the training data, of {pairs.n_features * n_labels:,} (features='seen')."
    )
