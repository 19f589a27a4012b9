"""Values of lambda that follow from the data."""

import numpy as np
import pytest

from structlearn import ChainClassifier, LinearRegressor, MulticlassClassifier
from structlearn.data import make_chains
from structlearn.estimators.path_values import regularization_values


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    return X, np.argmax(X[:, :3] + 0.5 * rng.normal(size=(60, 3)), axis=1)


def test_values_fall_at_equal_ratios(rows):
    found = regularization_values(MulticlassClassifier(), *rows, 4, width=1e-3)
    assert np.array(found[1:]) / found[:-1] == pytest.approx([0.1] * 3, rel=0.05)


@pytest.mark.filterwarnings("ignore:All weights are zero")
@pytest.mark.parametrize(
    "model",
    [
        MulticlassClassifier(loss="softmax", penalty="l1", tol=1e-8),
        MulticlassClassifier(loss="softmax", penalty="group", tol=1e-8),
        LinearRegressor(penalty="l1", tol=1e-10),
        LinearRegressor(penalty="elasticnet", l1_ratio=0.3, tol=1e-10),
    ],
    ids=str,
)
def test_sparse_penalties_begin_where_the_first_weight_is_not_zero(rows, model):
    strongest = regularization_values(model, *rows, 2)[0]
    above = model.set_params(regularization=1.1 * strongest).fit(*rows)
    assert not np.any(above.weights_)
    below = model.set_params(regularization=0.9 * strongest).fit(*rows)
    assert np.any(below.weights_)


@pytest.mark.parametrize("loss", ["hinge", "softmax"])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_the_squared_norm_begins_where_little_can_be_learned(loss, scale):
    """At the strongest lambda the optimum is at least half of the objective at zero, whatever the scale."""
    X, y = make_chains(30, 5, 3, 4, random_state=0)
    X = [scale * one for one in X]
    model = ChainClassifier(loss=loss, tol=1e-3)
    strongest, weakest = regularization_values(model, X, y, 2)
    nothing = model.set_params(regularization=1e9 * scale**2).fit(X, y).certificate_.primal
    much = model.set_params(regularization=1.1 * strongest).fit(X, y).certificate_
    assert 0.5 * nothing <= much.primal < nothing
    little = model.set_params(regularization=1e-2 * strongest).fit(X, y).certificate_
    assert little.primal < 0.97 * much.primal
    assert weakest == pytest.approx(1e-6 * strongest, rel=0.1)


def test_data_without_anything_to_learn():
    X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    assert regularization_values(MulticlassClassifier(fit_intercept=False), X, y, 1) == [1.0]
