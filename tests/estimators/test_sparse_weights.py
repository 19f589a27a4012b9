"""The elastic net of chains: parameters, refusals, files."""

import numpy as np
import pytest

import structlearn
from structlearn import ChainClassifier
from structlearn.solvers import ActiveBlocks
from structlearn.tagging import Tagger

rng = np.random.default_rng(0)
X = [rng.normal(size=(length, 5)) for length in (3, 1, 4, 2, 5, 3, 4, 2)]
y = [np.where(x[:, 0] + 0.3 * x[:, 1] > 0, "a", "b") for x in X]
SENTENCES = [["The", "dog", "runs"], ["A", "cat", "sees", "the", "dog"], ["Rome", "sees", "a", "cat"]]
TAGS = [["D", "N", "V"], ["D", "N", "V", "D", "N"], ["N", "V", "D", "N"]]


def fitted(**parameters):
    return ChainClassifier(loss="softmax", tol=1e-5, random_state=0, **parameters).fit(X, y)


def test_a_ratio_of_zero_is_the_squared_norm():
    found = fitted(penalty="elasticnet", l1_ratio=0)
    np.testing.assert_array_equal(found.weights_, fitted().weights_)


def test_zeros_grow_with_the_ratio_and_the_certificate_is_of_the_net():
    counts = []
    for ratio in (0.1, 0.5, 0.9):
        model = fitted(penalty="elasticnet", l1_ratio=ratio, regularization=0.1)
        w, found = model.weights_, model.certificate_
        counts.append(int((w == 0).sum()))
        value = 0.1 * (ratio * np.abs(w).sum() + (1 - ratio) / 2 * w @ w)
        assert value < found.primal  # losses are positive
        assert 0 <= found.gap <= 1e-5
    assert counts[-1] > 0
    assert counts == sorted(counts)


def test_l1_alone_has_a_certificate_too():
    model = fitted(penalty="l1", regularization=0.1)
    assert model.certificate_.converged
    assert (model.weights_ == 0).any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"penalty": "lasso"}, "Unknown penalty 'lasso'"),
        ({"penalty": "elasticnet", "l1_ratio": 1}, "l1_ratio must be below 1; got 1. For 1 use penalty='l1'"),
        ({"penalty": "elasticnet", "l1_ratio": -0.1}, "l1_ratio must be at least 0"),
        ({"penalty": "elasticnet", "l1_ratio": np.nan}, "l1_ratio must be a finite number"),
        ({"penalty": "elasticnet", "solver": "bcfw"}, "use one of 'stochastic-extragradient'"),
        (
            {"penalty": "elasticnet", "solver": ActiveBlocks()},
            "ActiveBlocks does not take penalty='elasticnet'",
        ),
        ({"penalty": "elasticnet", "regularization": 0}, "needs regularization > 0"),
        ({"penalty": "l1", "loss": "hinge"}, "penalty='l1' needs a smooth loss"),
        ({"penalty": "l1", "loss": "sparsemax"}, "needs a smooth loss; that of Chain"),
    ],
)
def test_refusals(parameters, message):
    with pytest.raises(ValueError, match=message):
        ChainClassifier(**parameters).fit(X, y)


def test_files_keep_the_zeros(tmp_path):
    model = fitted(penalty="elasticnet", l1_ratio=0.8, regularization=0.1)
    model.save(tmp_path / "model")
    again = structlearn.load(tmp_path / "model")
    np.testing.assert_array_equal(again.weights_, model.weights_)
    assert (again.penalty, again.l1_ratio) == ("elasticnet", 0.8)


def test_a_tagger_hands_its_penalty_on(tmp_path):
    tagger = Tagger(penalty="elasticnet", l1_ratio=0.3, regularization=0.05, random_state=0)
    rows = tagger.fit_features(SENTENCES)
    whole = tagger.features_.n_features
    tagger.fit(SENTENCES, TAGS)
    chain = tagger.chain_
    assert (chain.penalty, chain.l1_ratio) == ("elasticnet", 0.3)
    assert (chain.weights_ == 0).mean() > 0.3
    assert chain.coef_.any(axis=0).all()  # features without weights are forgotten
    assert tagger.features_.n_features == chain.n_features_in_ < whole
    same = ChainClassifier(**{**chain.get_params(), "random_state": 0})
    assert tagger.certificate_.primal == pytest.approx(same.fit(rows, TAGS).certificate_.primal, abs=0.02)
    for one, other in zip(same.decision_function(rows), chain.decision_function(tagger.rows(SENTENCES))):
        np.testing.assert_allclose(one, other, atol=0.3)
    tagger.save(tmp_path / "tagger")
    again = Tagger.load(tmp_path / "tagger")
    assert (again.penalty, again.l1_ratio) == ("elasticnet", 0.3)
    for one, other in zip(again.predict(SENTENCES), tagger.predict(SENTENCES)):
        assert one.tolist() == other.tolist()
