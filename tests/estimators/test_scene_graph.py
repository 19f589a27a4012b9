"""Label sets as graphs of binary nodes: with the right features the two problems are the same."""

import os
from pathlib import Path

import numpy as np
import pytest

from structlearn import GraphClassifier, MultiLabelClassifier
from structlearn.data import read_libsvm

DATA = Path(os.environ.get("STRUCTLEARN_DATA", Path(__file__).parents[3] / "shared" / "data"))
SCENE = DATA / "scene" / "scene_train.gz"


def as_graphs(X, n_labels):
    """Node k sees x / sqrt 2 in the k-th block of its features, edge e the e-th unit vector."""
    pairs = np.stack(np.triu_indices(n_labels, 1), axis=1)
    rows = [np.kron(np.eye(n_labels), x / np.sqrt(2)) for x in X]
    return [(one, pairs, np.eye(len(pairs))) for one in rows]


def optima(X, Y, **options):
    """Primal and dual values of both."""
    options |= {"fit_intercept": False, "random_state": 0, "max_passes": 5000}
    sets = MultiLabelClassifier(edges="all", **options).fit(X, Y)
    graphs = GraphClassifier(**options).fit(as_graphs(X, Y.shape[1]), list(Y))
    assert graphs.certificate_.converged
    assert sets.certificate_.converged
    return sets.certificate_, graphs.certificate_


def assert_same(one, other, tol):
    assert abs(one.primal - other.primal) <= tol
    assert max(one.dual, other.dual) <= min(one.primal, other.primal) + 1e-12


def test_label_sets_are_graphs_of_binary_nodes():
    rng = np.random.default_rng(0)
    Y = rng.integers(2, size=(15, 4))
    X = np.concatenate([Y + rng.normal(size=Y.shape), rng.normal(size=(15, 2))], axis=1)
    assert_same(*optima(X, Y, regularization=0.1, tol=5e-7), 1e-6)


@pytest.mark.skipif(not SCENE.exists(), reason="the scene data are not here")
def test_scene_as_graphs_has_the_optimum_of_label_sets():
    X, sets = read_libsvm(SCENE, multilabel=True, n_features=294)
    Y = np.array([[int(k in {int(one) for one in labels}) for k in range(6)] for labels in sets[:40]])
    assert_same(*optima(X.toarray()[:40], Y, regularization=0.1, tol=5e-7), 1e-6)
