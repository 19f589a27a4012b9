"""GraphClassifier(inference=...): answers with bounds, and a warning where a budget ended."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import structlearn
from structlearn import GraphClassifier, GridClassifier
from structlearn.structures.graphs import grid_graph


def examples(n_graphs=8):
    """Grids whose labels differ from their neighbours', seen through noise: hard to relax."""
    rng = np.random.default_rng(0)
    graph = grid_graph(4, 4)
    y = [(np.add.outer(np.arange(4), np.arange(4)) + k).ravel() % 3 for k in rng.integers(3, size=n_graphs)]
    return [(np.eye(3)[one] + rng.normal(size=(16, 3)), graph.edges) for one in y], y


@pytest.fixture
def narrow(monkeypatch):
    """No graph is narrow enough for elimination but a forest."""
    monkeypatch.setattr("structlearn.estimators.graph.MOST_ENTRIES", 30)
    monkeypatch.setattr("structlearn.estimators.graph.QUICK_ENTRIES", 30)


def test_answers_have_bounds_and_methods(tmp_path, narrow):
    X, y = examples()
    model = GraphClassifier(regularization=0.1, tol=0.05, inference="exact", random_state=0).fit(X[:6], y[:6])
    assert "branch and bound" in model.inference_
    answers = model.predict_with_bounds(X)
    for answer, labels in zip(answers, model.predict(X)):
        np.testing.assert_array_equal(answer.labels, labels)
        assert answer.value == pytest.approx(answer.bound)
        assert answer.method in ("message passing", "branch and bound")
    model.save(tmp_path / "model")
    again = structlearn.load(tmp_path / "model")
    assert again.inference == "exact"
    assert [one.method for one in again.predict_with_bounds(X)] == [one.method for one in answers]
    assert model.predict_with_bounds([]) == []


def test_a_warning_has_the_numbers(narrow, monkeypatch):
    X, y = examples()
    model = GraphClassifier(regularization=0.1, tol=0.05, random_state=0).fit(X[:6], y[:6])
    model.weights_ = 0.1 * np.random.default_rng(1).normal(size=model.weights_.size)
    model.weights_[-9:] -= np.eye(3).ravel()  # neighbours repel
    model.inference = "exact"
    monkeypatch.setattr("structlearn.structures.graph.pairwise.MOST_BRANCHES", 1)
    complete = np.stack(np.triu_indices(16, 1), axis=1)
    sentence = r"1 of 2 graphs were not solved .* Graph 1 has 16 nodes, 120 edges and 3 states: .* score"
    with pytest.warns(ConvergenceWarning, match=sentence):
        model.predict([(X[0][0], [(0, 1)]), (X[1][0], complete)])


def test_images_have_them_too_and_other_names_are_refused():
    rng = np.random.default_rng(0)
    labels = [rng.integers(2, size=(3, 4)) for _ in range(6)]
    images = [np.eye(2)[one] + 0.1 * rng.normal(size=(3, 4, 2)) for one in labels]
    model = GridClassifier(inference="relaxed", regularization=0.1, tol=0.05, random_state=0).fit(
        images, labels
    )
    assert model.predict_with_bounds(images[:1])[0].labels.shape == (3, 4)
    with pytest.raises(ValueError, match="inference is one of"):
        GridClassifier(inference="fast").fit(images, labels)
