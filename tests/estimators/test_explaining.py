"""Contributions add up to differences of scores, which are those of enumerated sequences."""

from itertools import product

import numpy as np
import pytest
from sklearn.kernel_approximation import RBFSampler

from structlearn import ChainClassifier
from structlearn.estimators.inputs.feature_names import CONSTANT

RNG = np.random.default_rng(0)
LABELS = np.array(["D", "N", "V"])
CASES = {
    "plain": {},
    "borders": {"start": True, "end": True},
    "start": {"start": True, "fit_intercept": False},
    "conditioned": {"transition_features": [1, 3]},
    "mapped": {"row_transformer": RBFSampler(n_components=6, random_state=0)},
    "hinge": {"loss": "hinge"},
    "sparsemax": {"loss": "sparsemax", "end": True},
}


def sequences(n=8, d=4):
    X = [RNG.normal(size=(length, d)) for length in RNG.integers(1, 5, size=n)]
    return X, [LABELS[np.argmax(one[:, :3], axis=1)] for one in X]


def score(model, x, labels):
    """The score of a sequence, from the parts that the structure makes of it."""
    (theta,) = model.model_.part_scores([x])[0]
    codes = np.searchsorted(model.classes_, labels)
    return float(model.structure_.encode(codes) @ theta)


@pytest.mark.parametrize("name", CASES)
def test_contributions_add_up_to_differences_of_scores(name):
    X, y = sequences()
    model = ChainClassifier(**{"loss": "softmax", "random_state": 0, **CASES[name]}).fit(X, y)
    for x in X:
        path = model.predict([x])[0]
        best = score(model, x, path)
        for t, one in enumerate(model.explain(x)):
            assert one.label == path[t]
            others = {label: best - score(model, x, [*path[:t], label, *path[t + 1 :]]) for label in LABELS}
            del others[one.label]
            assert one.runner_up == min(others, key=others.get)
            assert one.difference == pytest.approx(others[one.runner_up], abs=1e-9)
            assert one.difference >= -1e-9
            assert sum(part.amount for part in one.contributions) == pytest.approx(one.difference, abs=1e-9)
            amounts = [part.amount for part in one.contributions]
            assert amounts == sorted(amounts, reverse=True)
            assert 0 not in amounts


def test_each_contribution_is_a_difference_of_weights_times_a_value():
    X, y = sequences()
    model = ChainClassifier(loss="softmax", random_state=0).fit(X, y)
    x = next(one for one in X if len(one) > 2)
    place = {label: k for k, label in enumerate(model.classes_)}
    one = model.explain(x)[1]
    a, b = place[one.label], place[one.runner_up]
    found = dict(one.contributions)
    for j in range(4):
        assert found[f"x{j}"] == pytest.approx(x[1, j] * (model.coef_[a, j] - model.coef_[b, j]))
    assert found[CONSTANT] == pytest.approx(model.intercept_[a] - model.intercept_[b])
    before = place[model.predict([x])[0][0]]
    table = model.transition_coef_
    assert found[f"{model.classes_[before]} -> {one.label}"] == pytest.approx(
        table[before, a] - table[before, b]
    )


def test_names_and_empty_sequences():
    X = [[{"word": word} for word in words] for words in (["the", "dog"], ["a", "dog", "runs"])]
    model = ChainClassifier(loss="softmax").fit(X, [["D", "N"], ["D", "N", "V"]])
    names = {part.name for part in model.explain(X[0])[1].contributions}
    assert {"word:dog", "D -> N"} <= names
    assert model.explain([{"word": "unseen"}])[0].label in LABELS
    assert model.explain([]) == []


def test_the_best_alternative_is_one_of_all_sequences():
    """What the runner-up costs is never less than what the second best sequence does."""
    X, y = sequences()
    model = ChainClassifier(loss="softmax", random_state=0).fit(X, y)
    x = X[0]
    every = sorted((score(model, x, list(one)) for one in product(LABELS, repeat=len(x))), reverse=True)
    least = min(one.difference for one in model.explain(x))
    assert least >= every[0] - every[1] - 1e-9


def test_not_fitted_and_no_rows():
    with pytest.raises(ValueError, match="not fitted"):
        ChainClassifier().explain([[1.0]])
    with pytest.raises(ValueError, match="not fitted"):
        ChainClassifier().top_features()


def test_runners_up_are_allowed_by_constraints():
    X = [[{"w": word} for word in ["Ann", "Lee", "saw", "Rome"]], [{"w": "in"}, {"w": "Rome"}]]
    y = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC"]]
    model = ChainClassifier(loss="softmax", constraints="bio").fit(X, y)
    found = model.explain(X[0])
    assert [one.label for one in found] == y[0]
    first = found[0]  # before I-PER, and at the start, nothing but B-PER is allowed
    assert (first.runner_up, first.difference, first.contributions) == (None, np.inf, [])
    assert found[3].runner_up != "I-PER"  # which cannot follow O
    for one in found[1:]:
        assert sum(part.amount for part in one.contributions) == pytest.approx(one.difference)
