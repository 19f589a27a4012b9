"""Ties go to the most frequent label, and models that learned nothing say so."""

import warnings

import numpy as np
import pytest

from structlearn import (
    BinaryClassifier,
    ChainClassifier,
    CutSegmenter,
    GraphClassifier,
    MulticlassClassifier,
    MultiLabelClassifier,
    NothingLearnedWarning,
    SegmentClassifier,
    load,
)

#: features that carry nothing: all weights are zero, of which so few examples do not warn
ROWS = np.zeros((7, 2))
ZERO = {"fit_intercept": False, "random_state": 0}


def gumbel(n=2000):
    """Five classes of which none is likelier than 1/2, given the features."""
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(n, 10)), rng.normal(size=(10, 5))
    return X, (X @ W / np.sqrt(10) + rng.gumbel(size=(n, 5))).argmax(axis=1)


def saved(model, tmp_path):
    model.save(tmp_path / "model.st")
    return load(tmp_path / "model.st")


@pytest.mark.parametrize("loss", ["hinge", "softmax", "sparsemax"])
def test_classes(loss, tmp_path):
    labels = np.array(["a", "b", "b", "c", "c", "c", "a"])
    model = MulticlassClassifier(loss=loss, **ZERO).fit(ROWS, labels)
    assert not model.weights_.any()
    for one in (model, saved(model, tmp_path)):
        assert set(one.predict(ROWS)) == {"c"}
    weights = np.where(labels == "b", 9.0, 1.0)
    assert set(MulticlassClassifier(loss=loss, **ZERO).fit(ROWS, labels, weights).predict(ROWS)) == {"b"}


def test_ties_of_some_classes_go_to_the_most_frequent_of_them():
    X = np.array([[1.0, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 0]])
    model = MulticlassClassifier(random_state=0, tol=1e-6, fit_intercept=False).fit(X, [2, 2, 2, 1, 1, 0])
    model.weights_ = np.array([1.0, 1.0, 0.0, 0.0, 2.0, 2.0])  # scores (1, 1, 0) and (0, 2, 2)
    assert model.predict([[1.0, 0.0], [0.0, 1.0]]).tolist() == [1, 2]


@pytest.mark.parametrize(("labels", "answer"), [([0, 1, 1, 1, 0, 1, 1], 1), ([0, 1, 0, 0, 0, 1, 1], 0)])
def test_two_classes(labels, answer, tmp_path):
    model = BinaryClassifier(**ZERO).fit(ROWS, labels)
    assert set(model.predict(ROWS)) == set(saved(model, tmp_path).predict(ROWS)) == {answer}


@pytest.mark.filterwarnings("ignore:y has exactly one label per example")
@pytest.mark.parametrize("edges", ["none", "tree", "all"])
def test_label_sets(edges):
    on = np.array([[1, 0, 1]] * 5 + [[0, 1, 1]] * 2)
    model = MultiLabelClassifier(edges="none", **ZERO).fit(ROWS, on)
    assert (model.predict(ROWS) == [1, 0, 1]).all()
    found = set(MultiLabelClassifier(edges=edges, **ZERO).fit(ROWS, [2, 2, 2, 1, 1, 0, 1]).predict(ROWS))
    # with all pairs each single label has the same score but for rounding
    assert found <= ({0, 1, 2} if edges == "all" else {1, 2})


def zero_weights(model, X, y):
    model.fit(X, y)
    model.weights_ = np.zeros_like(model.weights_)
    return model


def test_chains_and_their_constraints(tmp_path):
    X, y = [np.zeros((4, 1)), np.zeros((3, 1))], [["b", "a", "b", "a"], ["b", "a", "b"]]
    model = zero_weights(ChainClassifier(loss="softmax"), X, y)
    for one in (model, saved(model, tmp_path)):
        assert one.predict(X)[0].tolist() == ["b"] * 4
    allowed = [[None, {"a"}, None, None], None]
    assert model.predict(X, allowed)[0].tolist() == ["b", "a", "b", "b"]
    apart = zero_weights(ChainClassifier(constraints=[("b", "b")]), X, y)
    assert apart.predict(X)[1].tolist() == ["b", "a", "b"]


@pytest.mark.filterwarnings("ignore:.*training edges between like labels")
def test_segments_cuts_and_graphs():
    X = [np.zeros((4, 1))] * 2
    spans = zero_weights(SegmentClassifier(), X, [[(0, 1, "N")], []])
    assert spans.predict(X) == [[], []]
    mask = np.array([[0, 1, 1], [1, 1, 1]])
    images = [np.zeros((2, 3, 1))]
    assert (zero_weights(CutSegmenter(), images, [mask]).predict(images)[0] == 1).all()
    graphs = [(np.zeros((3, 1)), np.array([[0, 1], [1, 2]]))]
    assert zero_weights(GraphClassifier(), graphs, [[2, 1, 2]]).predict(graphs)[0].tolist() == [2, 2, 2]


def test_older_files_answer_as_before(tmp_path):
    model = MulticlassClassifier(random_state=0).fit(*gumbel(50))
    del model._frequencies
    old = saved(model, tmp_path)
    assert not hasattr(old, "_frequencies")
    old.weights_ = np.zeros_like(old.weights_)
    assert set(old.predict(gumbel(50)[0])) == {0}


# ---- nothing learned --------------------------------------------------------------------------------------


def test_zero_weights_warn_with_what_to_do():
    X, y = gumbel()
    with pytest.warns(
        NothingLearnedWarning, match="All weights are zero: train with loss='softmax' or a regul"
    ):
        model = MulticlassClassifier(loss="hinge", random_state=0).fit(X, y)
    assert set(model.predict(X)) == {np.bincount(y).argmax()}
    assert MulticlassClassifier(random_state=0).fit(X, y).score(X, y) > 0.4


def test_zero_weights_warn_whatever_the_penalty_and_structure():
    X = np.random.default_rng(0).normal(size=(60, 1))
    y = np.arange(60) % 2
    with pytest.warns(
        NothingLearnedWarning, match="All weights are zero: train with a regularization below 9"
    ):
        MulticlassClassifier(penalty="l1", regularization=9, random_state=0).fit(X, y)
    with pytest.warns(NothingLearnedWarning, match="All weights are zero"):
        BinaryClassifier(**ZERO).fit(np.zeros((60, 1)), y)
    with pytest.warns(NothingLearnedWarning, match="All weights are zero"):
        ChainClassifier(**ZERO).fit([np.zeros((1, 1))] * 20, [[0], [1]] * 10)


@pytest.mark.parametrize("loss", ["hinge", "softmax"])
def test_a_majority_that_is_always_predicted_warns_with_the_hinge(loss):
    """With a weak feature softmax is still better than a constant; the hinge is the constant."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 1))
    y = (rng.random(600) < 0.12 + 0.06 * X[:, 0]).astype(int)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MulticlassClassifier(loss=loss, regularization=1e-3, random_state=0).fit(X, y)
    assert [one.category for one in caught] == ([NothingLearnedWarning] if loss == "hinge" else [])


def test_no_warning_where_something_is_learned_or_training_ended_early():
    X, y = gumbel(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MulticlassClassifier(random_state=0).fit(X, y)
        MulticlassClassifier(loss="hinge", tol=2.0).fit(X, y)
        MulticlassClassifier(regularization=1e5, tol=1e-9, random_state=0).fit(X, y)  # scores still differ
        MulticlassClassifier(**ZERO).fit(np.zeros((19, 1)), y[:19])  # too few to tell
        BinaryClassifier(loss="hinge", random_state=0).fit(X, X[:, 0] > 0)
