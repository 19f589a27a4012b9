"""Partly labelled sequences: the whole objective by enumeration, and what is refused."""

from itertools import pairwise, product

import numpy as np
import pytest

from structlearn import ChainClassifier, load
from structlearn.solvers import Solution

LABELS = ["a", "b", "c"]
SETTINGS = {"regularization": 0.1, "tol": 1e-4, "random_state": 0}


def data(n=12, seed=0):
    rng = np.random.default_rng(seed)
    y = [rng.choice(LABELS, size=rng.integers(2, 5)).tolist() for _ in range(n)]
    X = [
        np.array([[tag == label for label in LABELS] for tag in one]) + rng.normal(size=(len(one), 3))
        for one in y
    ]
    return X, y


def hidden(y, seed=1):
    """Labels that are gone, or one of two."""
    rng = np.random.default_rng(seed)

    def choice(label):
        return [label, None, {label, rng.choice(LABELS).item()}][rng.integers(3)]

    return [[choice(label) for label in one] for one in y]


def allows(choice, label):
    return choice is None or label in (choice if isinstance(choice, set) else {choice})


def whole(model, X, y, weight=None, costs=None, forbidden=()):
    """F of the model's weights, by enumeration."""
    w = model.weights_
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    costs = dict.fromkeys(LABELS, 1.0) if costs is None else costs
    ratio = {"l2": 0.0, "l1": 1.0}.get(model.penalty, model.l1_ratio)
    value = model.regularization * (ratio * np.abs(w).sum() + (1 - ratio) / 2 * w @ w)
    for p, x, choices in zip(weight / weight.sum(), X, y):
        local = x @ model.coef_.T + model.intercept_
        every, allowed = [], []
        for codes in product(range(3), repeat=len(x)):
            tags = model.classes_[list(codes)].tolist()
            if {*pairwise(tags)} & {*forbidden}:
                continue
            score = local[np.arange(len(x)), codes].sum()
            score += sum(model.transition_coef_[j, k] for j, k in pairwise(codes))
            wrong = [
                min(costs[label] for label in LABELS if allows(choice, label))
                for choice, tag in zip(choices, tags)
                if not allows(choice, tag)
            ]
            every.append(score + (sum(wrong) / len(x) if model.loss_ == "hinge" else 0.0))
            if not wrong:
                allowed.append(score)
        total = np.max if model.loss_ == "hinge" else np.logaddexp.reduce
        value += p * (total(every) - total(allowed))
    return value


@pytest.mark.parametrize(
    ("loss", "solver"),
    [("hinge", "auto"), ("hinge", "bcfw"), ("softmax", "auto"), ("softmax", "sdca"), ("softmax", "lbfgs")],
)
def test_the_whole_objective_falls_and_is_that_of_the_enumeration(loss, solver):
    X, y = data()
    y = hidden(y)
    model = ChainClassifier(loss=loss, solver=solver, **SETTINGS).fit(X, y)
    values = model.outer_history_
    assert len(values) > 1
    assert (np.diff(values) < 0).all()
    assert values[-1] == pytest.approx(whole(model, X, y), abs=1e-9)
    certificate = model.certificate_
    assert certificate.converged
    assert 0 <= certificate.gap <= 1e-4
    assert "the whole is not convex" in certificate.status
    # The next completion would not help: a step against the gradient of F neither.
    rng = np.random.default_rng(0)
    for _ in range(5):
        near = 1e-2 * rng.normal(size=model.weights_.size)
        model.weights_ = model.weights_ + near
        assert whole(model, X, y) > values[-1] - 2e-3
        model.weights_ = model.weights_ - near


def test_weights_costs_and_constraints_go_with_them():
    X, y = data()
    forbidden = [("a", "c")]
    keep = [i for i, one in enumerate(y) if not {*pairwise(one)} & {*forbidden}]
    X, y = [X[i] for i in keep], hidden([y[i] for i in keep])
    weight, by_class = np.arange(1.0, len(X) + 1), {"a": 2.0, "b": 1.0, "c": 0.5}
    for loss in ("hinge", "softmax"):
        model = ChainClassifier(loss=loss, constraints=forbidden, class_weight=by_class, **SETTINGS)
        model.fit(X, y, sample_weight=weight)
        expected = whole(model, X, y, weight, by_class, forbidden)
        assert model.outer_history_[-1] == pytest.approx(expected, abs=1e-9)
        assert not any({*pairwise(one.tolist())} & {*forbidden} for one in model.predict(X))


@pytest.mark.parametrize(
    ("loss", "penalty", "constraints"),
    [
        ("hinge", "elasticnet", None),
        ("softmax", "elasticnet", None),
        ("softmax", "l1", None),
        ("softmax", "elasticnet", [("a", "c")]),
    ],
)
def test_penalties_that_leave_few_weights_go_with_them(loss, penalty, constraints):
    X, y = data()
    forbidden = constraints or []
    keep = [i for i, one in enumerate(y) if not {*pairwise(one)} & {*forbidden}]
    X, y = [X[i] for i in keep], hidden([y[i] for i in keep])
    own = {"penalty": penalty, "constraints": constraints, "tol": 1e-3, "regularization": 0.05}
    model = ChainClassifier(loss=loss, random_state=0, **own).fit(X, y)
    values = model.outer_history_
    assert (np.diff(values) < 0).all()
    assert values[-1] == pytest.approx(whole(model, X, y, forbidden=forbidden), abs=1e-9)
    assert 0 < (model.weights_ == 0).sum() < model.weights_.size
    assert model.certificate_.converged
    assert "the whole is not convex" in model.certificate_.status
    for near in 1e-2 * np.random.default_rng(0).normal(size=(5, model.weights_.size)):
        model.weights_ = model.weights_ + near
        assert whole(model, X, y, forbidden=forbidden) > values[-1] - 5e-3
        model.weights_ = model.weights_ - near


@pytest.mark.parametrize("loss", ["hinge", "softmax"])
def test_sets_of_one_label_are_labels(loss):
    X, y = data()
    one = ChainClassifier(loss=loss, **SETTINGS).fit(X, y)
    other = ChainClassifier(loss=loss, **SETTINGS).fit(X, [[{label} for label in labels] for labels in y])
    np.testing.assert_array_equal(one.weights_, other.weights_)
    assert not hasattr(other, "outer_history_")


def test_unlabelled_sentences_cost_nothing():
    X, y = data()
    one = ChainClassifier(loss="softmax", **SETTINGS).fit(X, y)
    more = [*X, np.ones((2, 3))]
    other = ChainClassifier(loss="softmax", **SETTINGS).fit(
        more, [*y, [None, None]], np.r_[np.ones(len(X)), 0.0]
    )
    np.testing.assert_allclose(one.weights_, other.weights_, atol=0.1)


def test_transitions_with_features_and_files(tmp_path):
    X, y = data()
    model = ChainClassifier(loss="softmax", transition_features=[0], **SETTINGS).fit(X, hidden(y))
    assert (np.diff(model.outer_history_) < 0).all()
    model.save(tmp_path / "model.st")
    again = load(tmp_path / "model.st")
    np.testing.assert_array_equal(again.outer_history_, model.outer_history_)
    assert again.certificate_ == model.certificate_


@pytest.mark.parametrize(
    ("y", "parameters", "problem"),
    [
        ([["a", None], ["b", "b"]], {"loss": "sparsemax"}, "needs all labels"),
        ([["a", None], ["b", "b"]], {"loss": "perceptron"}, "needs all labels"),
        ([[None, None]], {}, "no label at all"),
        ([["a", None]], {}, "only one class"),
        ([["a", set()], ["b", None]], {}, "y of sequence 0 has an empty set"),
        ([["a", None, "b"]], {}, "Sequence 0 has 2 rows of features but 3 labels"),
        ([["a", "b"], ["b", None]], {"constraints": [("a", "b")]}, "Sequence 0 breaks the constraints"),
        ([["a", {"b"}], ["b", None]], {"constraints": [("a", "b")]}, "Sequence 0 breaks the constraints"),
        (
            [["a", "a"], ["a", {"b", "c"}]],
            {"constraints": [("a", "b"), ("a", "c")]},
            "no labelling of sequence 1",
        ),
        ([["a", None], ["b", 1]], {}, "mixes strings and numbers|not among"),
        ([["a", None], ["b", "b"]], {"checkpoint": "x"}, "checkpoint"),
        ([["a", {"b", "c"}]], {"class_weight": "balanced"}, "where it is certain"),
    ],
)
def test_refusals(y, parameters, problem):
    with pytest.raises(ValueError, match=problem):
        ChainClassifier(**{"loss": "softmax", **parameters}).fit([np.ones((2, 1))] * len(y), y)


@pytest.mark.parametrize("loss", ["hinge", "softmax"])
def test_each_convex_problem_starts_from_the_dual_point_of_the_last(loss, monkeypatch):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(12)]
    y = [[None if rng.random() < 0.4 else int(x[0] > 0) for x in rows] for rows in X]
    started = []
    start_for = Solution.start_for
    monkeypatch.setattr(
        Solution, "start_for", lambda self, problem: started.append(start_for(self, problem)) or started[-1]
    )
    ChainClassifier(loss=loss, regularization=0.02, tol=1e-4, random_state=0).fit(X, y)
    assert started
    assert all(one.point is not None for one in started)
