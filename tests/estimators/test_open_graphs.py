"""Unknown labels, latent states and weights of nodes: objectives by enumeration, and what is refused."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from structlearn import GraphClassifier, GridClassifier, load
from structlearn.estimators import graph

SETTINGS = {"regularization": 0.1, "tol": 1e-4, "random_state": 0}
RING = np.array([(0, 1), (1, 2), (2, 3), (3, 0)])


def data(n=10, seed=0, n_labels=2):
    rng = np.random.default_rng(seed)
    y = [rng.integers(n_labels, size=4) for _ in range(n)]
    return [(np.eye(n_labels)[one] + 0.8 * rng.normal(size=(4, n_labels)), RING) for one in y], y


def hidden(y, seed=1):
    """About a third of the labels is not known."""
    rng = np.random.default_rng(seed)
    return [np.where(rng.random(4) < 0.3, -1, one) for one in y]


def whole(model, X, y, weight=None, nodes=None, costs=(1.0, 1.0, 1.0)):
    """F of the model's weights, or P where all is known, by enumeration of the states."""
    w, of_states = model.weights_, model.classes_[model.state_classes_]
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    nodes = [np.ones(4)] * len(X) if nodes is None else nodes
    value = model.regularization / 2 * w @ w
    for p, (x, edges), one, price in zip(weight / weight.sum(), X, y, nodes):
        local, table = x @ model.coef_.T + model.intercept_, model.edge_coef_[0]
        every, allowed = [], []
        for states in product(range(len(of_states)), repeat=4):
            labels = of_states[list(states)]
            score = local[np.arange(4), states].sum() + sum(table[states[a], states[b]] for a, b in edges)
            wrong = (one >= 0) & (labels != one)
            cost = sum(price[v] * costs[one[v]] for v in np.flatnonzero(wrong)) / 4
            every.append(score + (cost if model.loss_ == "hinge" else 0.0))
            if not wrong.any():
                allowed.append(score)
        total = np.max if model.loss_ == "hinge" else np.logaddexp.reduce
        value += p * (total(every) - total(allowed))
    return value


@pytest.mark.parametrize("loss", ["hinge", "softmax"])
@pytest.mark.parametrize("latent_states", [None, {0: 2}])
def test_the_whole_objective_falls_and_is_that_of_the_enumeration(loss, latent_states):
    X, y = data()
    y = hidden(y)
    weight, nodes = np.arange(1.0, 11.0), [np.linspace(0.5, 2.0, 4)] * 10
    model = GraphClassifier(loss=loss, latent_states=latent_states, class_weight={1: 2.0}, **SETTINGS)
    model.fit(X, y, weight, node_weights=nodes)
    values = model.outer_history_
    assert (np.diff(values) < 0).all()
    assert values[-1] == pytest.approx(whole(model, X, y, weight, nodes, (1.0, 2.0)), abs=1e-9)
    assert model.certificate_.converged
    assert 0 <= model.certificate_.gap <= 1e-4
    assert "the whole is not convex" in model.certificate_.status
    rng = np.random.default_rng(0)
    for _ in range(5):  # a local optimum, nearly
        near = 1e-2 * rng.normal(size=model.weights_.size)
        model.weights_ = model.weights_ + near
        assert whole(model, X, y, weight, nodes, (1.0, 2.0)) > values[-1] - 2e-3
        model.weights_ = model.weights_ - near


def test_weights_of_nodes_are_in_the_objective():
    X, y = data()
    nodes = [np.array([0.0, 3.0, 1.0, 0.5])] * 10
    model = GraphClassifier(**SETTINGS).fit(X, y, node_weights=nodes)
    assert model.certificate_.primal == pytest.approx(whole(model, X, y, nodes=nodes), abs=1e-9)
    assert not hasattr(model, "outer_history_")


@pytest.mark.parametrize(
    ("n_labels", "options"),
    [(3, {"latent_states": {2: 2}}), (2, {}), (2, {"pairs": "potts"}), (3, {"polytope": "local"})],
)
def test_with_bounds_the_whole_is_never_too_low(monkeypatch, n_labels, options):
    """Message passing or flows, with labels that are fixed, although the graphs can be enumerated."""
    monkeypatch.setattr(graph, "QUICK_ENTRIES", 0)
    X, y = data(n_labels=n_labels)
    y = hidden(y)
    model = GraphClassifier(**{**SETTINGS, "tol": 0.02}, **options).fit(X, y)
    assert "message passing" in model.inference_
    assert (np.diff(model.outer_history_) < 0).all()
    assert model.outer_history_[-1] >= whole(model, X, y) - 1e-9
    assert model.certificate_.gap >= 0


def test_latent_states_of_one_are_classes():
    X, y = data()
    one = GraphClassifier(**SETTINGS).fit(X, y)
    other = GraphClassifier(latent_states=1, **SETTINGS).fit(X, y)
    assert_array_equal(one.weights_, other.weights_)
    assert not hasattr(other, "outer_history_")


def test_latent_states_learn_what_no_line_divides():
    """Label 1 lies on both sides of label 0: with one state a class there is no way to tell them."""
    rng = np.random.default_rng(0)
    y = [rng.integers(2, size=4) for _ in range(30)]
    X = [((one * rng.choice([-2, 2], 4) + 0.2 * rng.normal(size=4))[:, None], RING) for one in y]
    plain = GraphClassifier(**SETTINGS).fit(X, y)
    latent = GraphClassifier(latent_states={1: 2}, **SETTINGS).fit(X, y)
    assert plain.score(X, y) < 0.85
    assert latent.score(X, y) > 0.98
    assert latent.coef_.shape == (3, 1)
    assert latent.state_classes_.tolist() == [0, 1, 1]
    states = np.concatenate(latent.predict_states(X))
    x, known = np.concatenate([one[0][:, 0] for one in X]), np.concatenate(y)
    sides = [np.sign(x[(states == s) & (known == 1)]) for s in (1, 2)]
    assert {abs(one.sum()) / one.size for one in sides} == {1.0}


def test_unknown_labels_in_either_form():
    X, y = data()
    y = hidden(y)
    one = GraphClassifier(**SETTINGS).fit(X, y)
    names = np.array(["a", "b"])
    other = GraphClassifier(**SETTINGS).fit(
        X, [[None if k < 0 else names[k].item() for k in row] for row in y]
    )
    assert_array_equal(one.weights_, other.weights_)
    assert other.classes_.tolist() == ["a", "b"]
    predicted = one.predict(X)
    right = [p == k for row, found in zip(y, predicted) for k, p in zip(row, found) if k >= 0]
    assert one.score(X, y) == pytest.approx(np.mean(right))


def test_files_and_clones(tmp_path):
    rng = np.random.default_rng(0)
    y = [rng.choice(["sky", "sea"], size=(3, 3)) for _ in range(6)]
    X = [np.where(one == "sky", 1.0, -1.0)[..., None] + rng.normal(size=(3, 3, 2)) for one in y]
    model = GridClassifier(
        latent_states={"sea": 2}, loss="softmax", regularization=1.0, tol=0.01, random_state=0
    )
    model.fit(X, y)
    assert_allclose([one.sum(axis=-1) for one in model.predict_marginals(X)], 1.0)
    assert model.predict_marginals(X)[0].shape == (3, 3, 2)
    model.save(tmp_path / "model.st")
    again = load(tmp_path / "model.st")
    assert again.get_params()["latent_states"] == {"sea": 2}
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(again.outer_history_, model.outer_history_)
    assert clone(again).latent_states == {"sea": 2}


@pytest.mark.parametrize(
    ("y", "parameters", "problem"),
    [
        ([[0, -1, 1, 0]], {"loss": "sparsemax"}, "needs all labels"),
        ([[0, 1, 1, 0]], {"loss": "perceptron", "latent_states": 2}, "train on latent states with"),
        ([[-1, -1, None, -1]], {}, "no label at all"),
        ([[1, -1, 1, -1]], {}, "only one class.*name them otherwise"),
        ([[0, -1, 1, 0]], {"warm_start": True}, "do not go with"),
        ([[0, 1, 1, 0]], {"latent_states": 3}, 'Class "0" has 2 nodes, but latent_states asks for 3 states'),
        ([[0, 1, 1, 0]], {"latent_states": {1: 2, 0: 10**12}}, 'Class "0" has 2 nodes'),
        ([[0, 1, 1, 0]], {"latent_states": 0}, "at least 1"),
        ([[0, 1, 1, 0]], {"latent_states": {5: 2}}, "names the label 5"),
        ([[0, 1, 1, 0]], {"latent_states": 1.5}, "at least 1"),
        ([[0, 1, "a", None]], {}, "strings and numbers"),
    ],
)
def test_refusals(y, parameters, problem):
    X = [(np.arange(8.0).reshape(4, 2), RING)]
    with pytest.raises(ValueError, match=problem):
        GraphClassifier(**{**SETTINGS, **parameters}).fit(X, y)


def test_more_states_than_different_nodes_are_refused():
    X = [(np.array([[0.0], [1], [2], [0]]), RING)]
    with pytest.raises(ValueError, match='class "0" have 1 different rows'):
        GraphClassifier(**SETTINGS, latent_states=2).fit(X, [[0, 1, 1, 0]])


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ([np.ones(4)], "2 examples but node_weights 1"),
        ([np.ones(4), np.ones(3)], "Example 1 has node_weights of shape"),
        ([np.ones(4), -np.ones(4)], "at least 0"),
    ],
)
def test_refused_weights_of_nodes(nodes, problem):
    X, y = data(2)
    with pytest.raises(ValueError, match=problem):
        GraphClassifier(**SETTINGS).fit(X, y, node_weights=nodes)
