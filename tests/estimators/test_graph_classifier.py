"""Classifiers of nodes and pixels: against other estimators on the same problem, forms of input, refusals."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

import structlearn
from structlearn import ChainClassifier, GraphClassifier, GridClassifier, MultiLabelClassifier


def noisy_paths(rng, n=20, n_labels=3):
    codes = [np.sort(rng.integers(n_labels, size=rng.integers(2, 6))) for _ in range(n)]
    X = [np.eye(n_labels)[one] + rng.normal(size=(len(one), n_labels)) for one in codes]
    return X, codes


@pytest.mark.parametrize("loss", ["hinge", "softmax"])
def test_paths_are_chains(loss):
    X, y = noisy_paths(np.random.default_rng(0))
    options = {"loss": loss, "regularization": 0.1, "tol": 1e-6, "fit_intercept": False, "random_state": 0}
    chain = ChainClassifier(**options).fit(X, y)
    paths = [(x, [(t, t + 1) for t in range(len(x) - 1)]) for x in X]
    graph = GraphClassifier(**options).fit(paths, y)
    assert_allclose(graph.certificate_.primal, chain.certificate_.primal, atol=2e-6)
    assert_allclose(graph.coef_, chain.coef_, atol=0.02)
    assert_allclose(graph.edge_coef_[0], chain.transition_coef_, atol=0.02)
    assert "exact" in graph.inference_
    for one, other in zip(graph.predict(paths), chain.predict(X)):
        assert_array_equal(one, other)


def test_label_sets_are_graphs_of_two_labels():
    """The same optimum: a node sees label x features over sqrt 2, an edge which pair of labels it joins."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(25, 3))
    Y = (features @ rng.normal(size=(3, 3)) + 0.5 * rng.normal(size=(25, 3)) > 0).astype(int)
    options = {"regularization": 0.2, "tol": 1e-8, "fit_intercept": False, "random_state": 0}
    labels = MultiLabelClassifier(edges="all", **options).fit(features, Y)
    pairs = np.array([(0, 1), (0, 2), (1, 2)])
    X = [(np.kron(np.eye(3), x) / np.sqrt(2), pairs, np.eye(3)) for x in features]
    graph = GraphClassifier(**options).fit(X, list(Y))
    assert_allclose(graph.certificate_.primal, labels.certificate_.primal, atol=1e-6)


def test_grids_learn_what_lies_where():
    """Stripes, darker downwards, with noise: tables of directions tell right from down."""
    rng = np.random.default_rng(0)
    y = [np.repeat((np.arange(6) + k) % 3, 5).reshape(6, 5) for k in rng.integers(3, size=12)]
    X = [np.eye(3)[one] + 1.2 * rng.normal(size=(6, 5, 3)) for one in y]
    model = GridClassifier(regularization=0.05, tol=0.05, random_state=0).fit(X[:8], y[:8])
    assert model.edge_coef_.shape == (2, 3, 3)
    assert model.score(X[8:], y[8:]) > 0.95
    alone = np.mean([(x.argmax(axis=2) == one).mean() for x, one in zip(X[8:], y[8:])])
    assert model.score(X[8:], y[8:]) > alone + 0.1
    assert model.predict(X[8:])[0].shape == (6, 5)
    assert model.decision_function(X[8:9])[0].shape == (6, 5, 3)


@pytest.mark.parametrize("pairs", ["symmetric", "antisymmetric", "potts"])
def test_tied_tables(pairs):
    rng = np.random.default_rng(0)
    X, y = noisy_paths(rng)
    paths = [(x, [(t, t + 1) for t in range(len(x) - 1)]) for x in X]
    model = GraphClassifier(pairs=pairs, regularization=0.1, tol=1e-3, random_state=0).fit(paths, y)
    table = model.edge_coef_[0]
    if pairs == "symmetric":
        assert_allclose(table, table.T)
    elif pairs == "antisymmetric":
        assert_allclose(table, -table.T)
    else:
        assert_allclose(table, table[0, 0] * np.eye(3))
    assert np.abs(table).max() > 0.01


def test_marginals_are_those_of_enumeration():
    rng = np.random.default_rng(0)
    edges = np.array([(0, 1), (1, 2), (2, 0)])
    X = [(rng.normal(size=(3, 2)), edges) for _ in range(10)]
    y = [rng.integers(2, size=3) for _ in X]
    model = GraphClassifier(loss="softmax", regularization=0.1, random_state=0).fit(X, y)
    theta, table = model.decision_function(X[:1])[0], model.edge_coef_[0]
    states = list(product(range(2), repeat=3))
    scores = [
        sum(theta[v, s[v]] for v in range(3)) + sum(table[s[a], s[b]] for a, b in edges) for s in states
    ]
    share = np.exp(scores - np.logaddexp.reduce(scores))
    expected = [[sum(p for p, s in zip(share, states) if s[v] == k) for k in range(2)] for v in range(3)]
    assert_allclose(model.predict_marginals(X[:1])[0], expected, atol=1e-10)


def test_wide_grids_are_trained_with_bounds(tmp_path):
    rng = np.random.default_rng(0)
    y = [np.sort(rng.integers(4, size=(12, 12)), axis=0) for _ in range(3)]
    X = [np.eye(4)[one] + 0.7 * rng.normal(size=(12, 12, 4)) for one in y]
    model = GridClassifier(regularization=0.1, tol=0.05, random_state=0).fit(X, y)
    assert "message passing" in model.inference_
    assert model.certificate_.gap >= 0
    alone = np.mean([x.argmax(axis=2) == one for x, one in zip(X, y)])
    assert model.score(X, y) > alone + 0.1
    model.save(tmp_path / "grid.safetensors")
    loaded = structlearn.load(tmp_path / "grid.safetensors")
    assert loaded.inference_ == model.inference_
    assert_array_equal(loaded.predict(X)[0], model.predict(X)[0])
    with pytest.raises(TypeError, match="tree-width"):
        model.set_params(loss="softmax").fit(X, y)


GRAPH = (np.zeros((3, 2)), [(0, 1), (1, 2)])


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        ([(np.zeros((3, 2)), [(0, 3)])], [[0, 1, 0]], "leaves the graph"),
        ([(np.zeros((3, 2)), [(1, 1)])], [[0, 1, 0]], "with itself"),
        ([(*GRAPH, np.ones((1, 1)))], [[0, 1, 0]], "one row an edge"),
        ([GRAPH], [[0, 1]], "labels of shape"),
        ([GRAPH, GRAPH], [[0, 1, 0]], "2"),
        ([np.zeros((2, 2, 1))], [[[0, 1], [0, 1]]], "GridClassifier"),
        ([GRAPH], [[1, 1, 1]], "class"),
        ([(np.full((3, 2), np.nan), [(0, 1)])], [[0, 1, 0]], "NaN"),
        ([(csr_array(np.eye(3)), [(0, 1)])], [[0, 1, 0]], "Graph 0 has a sparse matrix"),
        ([(*GRAPH, [["near"], ["far"]])], [[0, 1, 0]], "edge features that are no numbers"),
    ],
)
def test_refusals(X, y, match):
    with pytest.raises(ValueError, match=match):
        GraphClassifier().fit(X, y)


def test_unlike_edge_features_are_refused():
    model = GraphClassifier(regularization=1.0).fit([GRAPH], [[0, 1, 0]])
    with pytest.raises(ValueError, match="2 edge features"):
        model.predict([(*GRAPH, np.ones((2, 2)))])


def test_isolated_nodes_and_no_edges():
    X = [(np.array([[1.0], [-1.0]]), np.empty((0, 2), dtype=int)), (np.array([[2.0]]), [])]
    y = [["up", "down"], ["up"]]
    model = GraphClassifier(regularization=0.1, random_state=0).fit(X, y)
    assert [one.tolist() for one in model.predict(X)] == y


def frustrated(rng, n=24):
    """Triangles whose neighbours avoid each other, with two labels: no labelling pleases all edges."""
    edges = np.array([(0, 1), (1, 2), (2, 0), (2, 3)])
    y = [rng.permutation([0, 1, 0, 1]) for _ in range(n)]
    return [(np.eye(2)[one] + rng.normal(size=(4, 2)), edges) for one in y], y


def test_the_local_polytope_is_certified_and_labels_all_the_same(tmp_path):
    X, y = frustrated(np.random.default_rng(0))
    options = {"regularization": 0.05, "tol": 1e-3, "random_state": 0, "max_passes": 300}
    local, exact = (GraphClassifier(polytope=one, **options).fit(X, y) for one in ("local", "marginal"))
    assert local.certificate_.converged
    assert not local.certificate_.exact
    assert local.certificate_.dual >= exact.certificate_.dual - 1e-3  # its losses are no less
    assert "local polytope" in local.inference_
    assert all(np.isin(one, [0, 1]).all() for one in local.predict(X))
    local.save(tmp_path / "local.safetensors")
    assert structlearn.load(tmp_path / "local.safetensors").polytope == "local"
    with pytest.raises(ValueError, match="polytope"):
        GraphClassifier(polytope="cycle").fit(X, y)
    with pytest.raises(TypeError, match="with polytope='local' only forests do; leave it out"):
        GraphClassifier(polytope="local", loss="softmax").fit(X, y)


def test_effort_finds_labellings_that_are_no_worse():
    rng = np.random.default_rng(0)
    complete = np.argwhere(np.triu(np.ones((9, 9)), 1))
    X = [(rng.normal(size=(9, 3)), complete, rng.normal(size=(len(complete), 4))) for _ in range(8)]
    y = [rng.integers(3, size=9) for _ in X]
    model = GraphClassifier(loss="hinge", regularization=1e-3, tol=0.1, random_state=0).fit(X, y)
    best = [one.value for one in model.predict_with_bounds(X)]
    relaxed = model.set_params(inference="relaxed")
    plain = [one.value for one in relaxed.predict_with_bounds(X)]
    found = [one.value for one in relaxed.set_params(effort=200).predict_with_bounds(X)]
    assert all(more >= less - 1e-9 for more, less in zip(found, plain, strict=True))
    assert_allclose(found, best)
    with pytest.raises(ValueError, match="effort is a number of draws"):
        relaxed.set_params(effort=-1).predict(X)
