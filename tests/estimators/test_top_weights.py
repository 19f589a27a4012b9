"""The largest weights of every kind of estimator, against NumPy on its coefficients."""

import numpy as np
import pytest

from structlearn import (
    BinaryClassifier,
    ChainClassifier,
    CutSegmenter,
    LinearRegressor,
    MatchingClassifier,
    MulticlassClassifier,
    MultiLabelClassifier,
    StructuredPredictor,
)
from structlearn.estimators.inputs.feature_names import CONSTANT
from structlearn.estimators.inputs.token_features import TokenFeatures
from structlearn.estimators.weights.top_weights import top_weights
from structlearn.structures import Simplex

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 5))
Y = np.argmax(X[:, :3], axis=1)


def expected(row, constant, k):
    """Names and weights of the k most positive and k most negative, by sorting all."""
    pairs = [(f"x{j}", w) for j, w in enumerate(row)] + [(CONSTANT, constant)]
    ranked = sorted(pairs, key=lambda pair: -pair[1])
    positive = [pair for pair in ranked if pair[1] > 0][:k]
    return positive + [pair for pair in ranked if pair[1] < 0][-k:]


def check(group, row, constant, k):
    assert [tuple(one) for one in group.weights] == expected(row, constant, k)
    assert group.n_nonzero == np.count_nonzero(row) + bool(constant)


@pytest.mark.parametrize("k", [1, 2, 100])
def test_classes(k):
    model = MulticlassClassifier(random_state=0).fit(X, np.array(["a", "b", "c"])[Y])
    groups = top_weights(model, k)
    assert [(one.kind, one.of) for one in groups] == [("label", "a"), ("label", "b"), ("label", "c")]
    for group, row, constant in zip(groups, model.coef_, model.intercept_):
        check(group, row, constant, k)


def test_two_classes_numbers_and_rows_without_a_constant():
    model = BinaryClassifier().fit(X, Y > 0)
    (group,) = top_weights(model, 2)
    assert group.of is True
    check(group, model.coef_[0], model.intercept_[0], 2)
    model = LinearRegressor().fit(X, X[:, 0] + 1)
    (group,) = top_weights(model, 2)
    assert group.kind == "features"
    check(group, model.coef_, model.intercept_, 2)
    model = MulticlassClassifier(fit_intercept=False).fit(X, Y)
    assert CONSTANT not in {one.name for group in top_weights(model, 9) for one in group.weights}


def test_label_sets_have_pairs():
    model = MultiLabelClassifier(random_state=0).fit(X, (X[:, :3] > 0).astype(int))
    *labels, pairs = top_weights(model, 50, labels=["sun", "sea", "sky"])
    assert [one.of for one in labels] == ["sun", "sea", "sky"]
    assert pairs.kind == "pairs"
    found = dict(pairs.weights)
    assert found["sun & sea"] == model.pair_coef_[0, 1, 1]
    assert found["sun & not sea"] == model.pair_coef_[0, 1, 0]
    assert len(found) == np.count_nonzero(model.pair_coef_)


def test_parts_cuts_and_own_structures():
    tables = [RNG.normal(size=(3, 3, 4)) for _ in range(5)]
    model = MatchingClassifier().fit(tables, [np.eye(3, dtype=int)] * 5)
    (group,) = top_weights(model, 2)
    check(group, model.coef_, 0.0, 2)
    model = StructuredPredictor(Simplex(3)).fit([RNG.normal(size=(3, 2)) for _ in range(5)], [0, 1, 2, 0, 1])
    (group,) = top_weights(model, 2)
    check(group, model.coef_, 0.0, 2)
    halves = np.repeat([[0, 0, 0, 1, 1, 1]], 5, axis=0)  # so that neighbours are mostly alike
    noise = np.random.default_rng(1).normal(size=(3, 5, 6, 2))
    images = list(noise + halves[..., None])
    model = CutSegmenter(regularization=2.0).fit(images, [halves] * 3)
    nodes, edges = top_weights(model, 5)
    check(nodes, model.coef_, model.intercept_, 5)
    assert (nodes.of, edges.kind) == (1, "edges")
    assert dict(edges.weights)["edge feature 0"] == model.edge_coef_[0]


def test_no_weights_and_no_sense():
    model = MulticlassClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="at least 1; got 0"):
        top_weights(model, 0)
    model.weights_ = np.zeros_like(model.weights_)
    assert all(group.weights == [] and group.n_nonzero == 0 for group in top_weights(model, 3))


# ---- chains ------------------------------------------------------------------------------------------

WORDS = [["the", "dog", "runs"], ["a", "cat", "sees", "the", "dog"], ["dog"]]
LABELS = [["D", "N", "V"], ["D", "N", "V", "D", "N"], ["N"]]
DICTS = [[{"word": word, "size": len(word)} for word in words] for words in WORDS]


def test_chains_name_features_and_transitions():
    model = ChainClassifier(start=True, end=True, loss="softmax").fit(DICTS, LABELS)
    names = model.features_.get_feature_names_out()
    top = model.top_features(100)
    for k, label in enumerate(model.classes_):
        found = dict(top.labels[label])
        expected = {name: w for name, w in zip(names, model.coef_[k]) if w}
        assert found == {**expected, CONSTANT: model.intercept_[k]}
    steps = {(one.before, one.after): one.weight for one in top.transitions}
    place = {label: k for k, label in enumerate(model.classes_)}
    for (before, after), weight in steps.items():
        if before is None:
            assert weight == model.start_coef_[place[after]]
        elif after is None:
            assert weight == model.end_coef_[place[before]]
        else:
            assert weight == model.transition_coef_[place[before], place[after]]
    assert len(steps) == 3 * 3 + 2 * 3
    assert top.conditioned == []
    weights = [one.weight for one in model.top_features(2).transitions]
    assert weights == sorted(weights, reverse=True)
    assert len(weights) == 4
    assert top_weights(model, 1)[-1].weights[0].name == top.transitions[0].name


def test_transitions_that_have_features():
    arrays = [np.abs(RNG.normal(size=(len(one), 4))) for one in WORDS]
    model = ChainClassifier(transition_features=[2, 0], loss="softmax", random_state=0).fit(arrays, LABELS)
    first = model.top_features(1).conditioned[0]
    j, a, b = np.unravel_index(np.argmax(model.conditioned_coef_), model.conditioned_coef_.shape)
    expected = (model.classes_[a], model.classes_[b], model.conditioned_coef_.max(), f"x{[2, 0][j]}")
    assert tuple(first) == expected
    assert first.name == f"{expected[3]}: {expected[0]} -> {expected[1]}"


def test_names_that_were_not_kept_are_hashes():
    rows = TokenFeatures(keep_names=False).fit_transform(DICTS)
    model = ChainClassifier(loss="softmax").fit(rows, LABELS)
    names = [name for name, _ in model.top_features(2).labels["D"]]
    assert all(name.startswith("#") or name == CONSTANT for name in names)
    seen = {one.name for one in model.explain(DICTS[0])[0].contributions}
    assert {"word:the", "size"} <= seen  # read off the tokens
    model = ChainClassifier(loss="softmax").fit(TokenFeatures(hash_bits=8).fit_transform(DICTS), LABELS)
    assert model.top_features(1).labels["D"][0].name.startswith("hash ")
