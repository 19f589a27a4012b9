"""An experiment with matchings: learn to align words from links that the unsupervised aligner drew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structlearn.apps.alignment.aligner import BATCH, Aligner
from structlearn.apps.alignment.corpus import load_corpus
from structlearn.apps.alignment.features import EdgeFeatures
from structlearn.apps.alignment.links import link_table
from structlearn.apps.alignment.vectors import Words
from structlearn.core.contract import Array
from structlearn.estimators import MatchingClassifier


class Experiment(NamedTuple):
    """An estimator with what to fit it to."""

    estimator: MatchingClassifier
    X: list[Array]
    y: list[Array]


def alignment_experiment(
    pairs: Sequence[Words] | None = None,
    n: int | None = None,
    *,
    regularization: float = 0.01,
    dtype: Any = np.float64,
) -> Experiment:
    """One-to-one alignment of the first n pairs with the count cost.

    Parameters
    ----------
    pairs : sequence of (source words, target words), optional
        By default the embedded corpus.
    n : int, optional
        By default all.
    regularization : float
    dtype : numpy type
        Of the features, which are all kept: float32 takes half the memory.

    """
    if pairs is None:
        pairs = [(one.source, one.target) for one in load_corpus()]
    pairs = [pair for pair in pairs if pair[0] and pair[1]][:n]
    aligner = Aligner(fertility=1).fit(pairs)
    batches = (pairs[k : k + BATCH] for k in range(0, len(pairs), BATCH))
    X = [x.astype(dtype) for batch in batches for x in _edge_tables(aligner.features(batch))]
    y = [link_table(one, x.shape[:2]) for one, x in zip(aligner.predict(pairs), X)]
    model = MatchingClassifier(cost="count", regularization=regularization, random_state=0)
    return Experiment(model, X, y)


def _edge_tables(features: EdgeFeatures) -> list[Array]:
    bitext = features.bitext
    shapes = zip(bitext.source.lengths, bitext.target.lengths)
    return [bitext.cells(features.F, k, k + 1).reshape(m, n, -1) for k, (m, n) in enumerate(shapes)]
