"""The experiment: labels by vectors or by the aligner, and what concatenated vectors cannot tell."""

from itertools import permutations

import numpy as np
import pytest

from structlearn.apps.alignment.experiment import (
    alignment_experiment,
    concatenated_vectors,
    nearest_links,
)
from structlearn.apps.alignment.vectors import WordVectors

PAIR = (["a", "b", "c"], ["A", "B", "C"])


@pytest.fixture
def vectors():
    rng = np.random.default_rng(0)
    matrix = np.linalg.qr(rng.normal(size=(4, 4)))[0].astype(np.float32)
    return WordVectors(list("abcd"), matrix), WordVectors(list("BACD"), matrix[[1, 0, 2, 3]])


def test_nearest_links(vectors):
    np.testing.assert_array_equal(nearest_links(PAIR, vectors), np.eye(3))
    np.testing.assert_array_equal(nearest_links((["a", "?"], ["B", "A"]), vectors), [[0, 1], [0, 0]])


def test_concatenated_vectors_score_all_complete_matchings_alike(vectors):
    X = concatenated_vectors(PAIR, vectors)
    theta = X @ np.random.default_rng(1).normal(size=8)
    scores = [theta[range(3), list(order)].sum() for order in permutations(range(3))]
    np.testing.assert_allclose(scores, scores[0])


def test_the_embedded_experiment_is_learned():
    model, X, y = alignment_experiment(n=40)
    assert len(X) == len(y) == 40
    model.set_params(tol=0.1).fit(X, y)
    assert model.score(X, y) > 0.9


def test_vectors(vectors):
    model, X, y = alignment_experiment([PAIR, ([], ["A"])], vectors=vectors, concatenated=True)
    assert [x.shape for x in X] == [(3, 3, 8)]
    np.testing.assert_array_equal(y[0], np.eye(3))
    assert model.regularization == 0.01
    with pytest.raises(ValueError, match="give vectors"):
        alignment_experiment([PAIR], concatenated=True)
