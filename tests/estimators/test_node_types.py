"""Nodes of several types, each with states of its own: by enumeration, and what is refused."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from structlearn import GraphClassifier, load
from structlearn.data import read_graphs, write_graphs
from structlearn.estimators import graph
from structlearn.structures.graph.pairwise import PairwiseGraphs
from structlearn.structures.graphs import make_graph

SETTINGS = {"regularization": 0.1, "tol": 1e-4, "random_state": 0}
RING = np.array([(0, 1), (1, 2), (2, 3), (3, 0)])
TYPES = np.array(["word", "zone", "word", "zone"])
#: Words have labels 0 and 1, zones 1 and 2.
STATES = [(0, "word"), (1, "word"), (1, "zone"), (2, "zone")]


def data(n=10, seed=0):
    rng = np.random.default_rng(seed)
    y = [rng.integers(2, size=4) + (TYPES == "zone") for _ in range(n)]
    y[0] = np.array([0, 1, 1, 2])
    return [(np.eye(3)[one] + 0.8 * rng.normal(size=(4, 3)), RING, None, TYPES) for one in y], y


def primal(model, X, y):
    """F of the weights (P, where all is known), by enumeration of the states that nodes may have."""
    w = model.weights_
    value = model.regularization / 2 * w @ w
    for (x, edges, _, types), one in zip(X, y):
        local, table = x @ model.coef_.T + model.intercept_, model.edge_coef_[0]
        own = [[s for s, (_, kind) in enumerate(STATES) if kind == t] for t in types]
        every, allowed = [], []
        for states in product(*own):
            wrong = np.array([STATES[s][0] != k and k >= 0 for s, k in zip(states, one)])
            score = local[np.arange(4), states].sum() + sum(table[states[a], states[b]] for a, b in edges)
            every.append(score + (wrong.mean() if model.loss_ == "hinge" else 0.0))
            if not wrong.any():
                allowed.append(score)
        total = np.max if model.loss_ == "hinge" else np.logaddexp.reduce
        value += (total(every) - total(allowed)) / len(X)
    return value


@pytest.mark.parametrize("loss", ["hinge", "softmax"])
def test_the_objective_is_that_of_the_enumeration(loss, tmp_path):
    X, y = data()
    model = GraphClassifier(loss=loss, **SETTINGS).fit(X, y)
    assert [
        (model.classes_[k], model.types_[t]) for k, t in zip(model.state_classes_, model.state_types_)
    ] == STATES
    assert model.certificate_.converged
    assert model.certificate_.primal == pytest.approx(primal(model, X, y), abs=1e-9)
    assert not hasattr(model, "outer_history_")
    for one, (_, _, _, types) in zip(model.predict_states(X), X):
        assert [STATES[s][1] for s in one] == types.tolist()
    model.save(tmp_path / "m.st")
    again = load(tmp_path / "m.st")
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.state_names()[:2] == ["0 of type word", "1 0 of type word"]
    if loss == "softmax":
        shares = model.predict_marginals(X)[0]
        assert_allclose(shares.sum(axis=1), 1.0)
        assert (shares[TYPES == "word", 2] == 0).all()
        assert (shares[TYPES == "zone", 0] == 0).all()


def test_unknown_labels_of_types():
    X, y = data()
    y = [np.where(np.arange(4) == i % 4, -1, one) if i else one for i, one in enumerate(y)]
    model = GraphClassifier(**SETTINGS).fit(X, y)
    assert (np.diff(model.outer_history_) < 0).all()
    assert model.outer_history_[-1] == pytest.approx(primal(model, X, y), abs=1e-9)


def test_types_with_bounds(monkeypatch):
    monkeypatch.setattr(graph, "QUICK_ENTRIES", 0)
    X, y = data()
    model = GraphClassifier(**{**SETTINGS, "tol": 0.02}).fit(X, y)
    assert "message passing" in model.inference_
    assert model.certificate_.primal >= primal(model, X, y) - 1e-9
    assert model.certificate_.gap >= 0
    for one in model.predict_states(X):
        assert [STATES[s][1] for s in one] == TYPES.tolist()


@pytest.mark.parametrize("most_entries", [0, 1 << 18])
@pytest.mark.parametrize("n_states", [2, 3])
def test_the_structure_keeps_to_what_is_allowed(most_entries, n_states):
    rng = np.random.default_rng(0)
    for _ in range(20):
        allowed = rng.random((4, n_states)) < 0.6
        allowed[np.arange(4), rng.integers(n_states, size=4)] = True
        structure = PairwiseGraphs(
            [make_graph(4, RING)], n_states, most_entries=most_entries, allowed=[allowed]
        )
        theta = rng.normal(size=structure.n_parts[0])
        best = structure.maximize(theta)
        scores = [
            theta @ structure.encode(np.array(states))
            for states in product(range(n_states), repeat=4)
            if allowed[np.arange(4), states].all()
        ]
        states = structure.decode(best)
        assert allowed[np.arange(4), states].all()
        assert theta @ best <= max(scores) + 1e-9
        if most_entries:
            assert theta @ best == pytest.approx(max(scores))


def test_refusals():
    X, y = data(3)
    with pytest.raises(ValueError, match="types of shape"):
        GraphClassifier().fit([(*one[:3], TYPES[:3]) for one in X], y)
    with pytest.raises(ValueError, match="to all or none"):
        GraphClassifier().fit([*X[:2], X[2][:2]], y)
    with pytest.raises(ValueError, match='No node of type "zone" has a label'):
        GraphClassifier().fit(X, [np.where(TYPES == "zone", -1, np.arange(4) // 2)] * 3)
    model = GraphClassifier(regularization=1.0).fit(X, y)
    with pytest.raises(ValueError, match="X has none"):
        model.predict([one[:2] for one in X])
    with pytest.raises(ValueError, match='type "page", which training had not'):
        model.predict([(*X[0][:3], np.array(["page"] * 4))])


def test_types_of_files(tmp_path):
    X, y = data(4)
    numbers = [(*one[:3], (one[3] == "zone").astype(int)) for one in X]
    write_graphs(tmp_path / "x.npz", numbers, y)
    found = read_graphs(tmp_path / "x.npz")
    one, other = (
        GraphClassifier(regularization=1.0, random_state=0).fit(given, y) for given in (found.X, numbers)
    )
    assert_array_equal(one.weights_, other.weights_)
    assert one.types_.tolist() == [0, 1]
