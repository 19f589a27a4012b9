"""An experiment with matchings: learn to align words from links that a simpler aligner drew.

The pairs are a corpus, the labels the links of the unsupervised aligner or, with word vectors, of nearest
words. The features are those of the aligner or the two words' vectors, concatenated.

Concatenated vectors cannot suffice alone: theta_ij = <w, (u_i, v_j)> = <w_1, u_i> + <w_2, v_j> is a term of
the source word plus one of the target word, so all complete matchings of a pair have the same score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structlearn.apps.alignment.aligner import Aligner
from structlearn.apps.alignment.corpus import load_corpus
from structlearn.apps.alignment.features import EdgeFeatures, Vectors, Words
from structlearn.apps.alignment.links import link_table
from structlearn.contract import Array
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
    vectors: Vectors | None = None,
    concatenated: bool = False,
    regularization: float = 0.01,
) -> Experiment:
    """One-to-one alignment of the first n pairs with the count cost.

    Parameters
    ----------
    pairs : sequence of (source words, target words), optional
        By default the embedded corpus.
    n : int, optional
        By default all.
    vectors : pair of WordVectors, optional
        Of both sides, in one space; then a label is a pair of words that are each other's nearest.
    concatenated : bool
        Whether the features are the words' vectors, concatenated.
    regularization : float

    """
    if pairs is None:
        pairs = [(one.source, one.target) for one in load_corpus()]
    pairs = [pair for pair in pairs if pair[0] and pair[1]][:n]
    if concatenated and vectors is None:
        raise ValueError("Concatenated features are made of word vectors: give vectors=(source, target).")
    if concatenated and vectors is not None:
        X = [concatenated_vectors(pair, vectors) for pair in pairs]
    else:
        aligner = Aligner(fertility=1).fit(pairs)
        X = _edge_tables(aligner.features(pairs))
    if vectors is not None:
        y = [nearest_links(pair, vectors) for pair in pairs]
    else:
        y = [link_table(one, x.shape[:2]) for one, x in zip(aligner.predict(pairs), X)]
    model = MatchingClassifier(cost="count", regularization=regularization, random_state=0)
    return Experiment(model, X, y)


def nearest_links(pair: Words, vectors: Vectors) -> Array:
    """The 0/1 table of words that are nearest to each other, both ways, by a positive cosine."""
    cosine = vectors[0].of(pair[0]) @ vectors[1].of(pair[1]).T
    m, n = cosine.shape
    row, column = cosine.argmax(axis=1), cosine.argmax(axis=0)
    table = np.zeros((m, n), dtype=np.int8)
    chosen = [i for i in range(m) if column[row[i]] == i and cosine[i, row[i]] > 0]
    table[chosen, row[chosen]] = 1
    return table


def concatenated_vectors(pair: Words, vectors: Vectors) -> Array:
    """x_ij = (u_i, v_j), of shape (m, n, both dimensions)."""
    u, v = (side.of(words) for side, words in zip(vectors, pair))
    m, n = len(u), len(v)
    return np.concatenate(
        [np.repeat(u[:, None], n, axis=1), np.repeat(v[None], m, axis=0)], axis=2, dtype=np.float64
    )


def _edge_tables(features: EdgeFeatures) -> list[Array]:
    bitext = features.bitext
    shapes = zip(bitext.source.lengths, bitext.target.lengths)
    return [bitext.cells(features.F, k, k + 1).reshape(m, n, -1) for k, (m, n) in enumerate(shapes)]
