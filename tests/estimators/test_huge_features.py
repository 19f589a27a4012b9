"""Features whose squares are infinite: nothing can be certified of them, and training says so."""

import numpy as np
import pytest

from structlearn import (
    BinaryClassifier,
    ChainClassifier,
    GraphClassifier,
    LinearRegressor,
    MatchingClassifier,
    MulticlassClassifier,
    MultiLabelClassifier,
)


def problems(scale):
    """By name: an estimator, its inputs and its outputs."""
    rng = np.random.default_rng(0)
    X = scale * rng.normal(size=(24, 3))
    signs = (X > 0).astype(int)
    y = signs.sum(axis=1)
    some = [slice(i, i + 6) for i in range(0, 24, 6)]
    edges = np.array([[0, 1], [1, 2]])
    links = [np.eye(2)[rng.permutation(2)] for _ in some]
    return {
        "multiclass": (MulticlassClassifier(), X, y),
        "softmax": (MulticlassClassifier(loss="softmax"), X, y),
        "binary": (BinaryClassifier(), X, signs[:, 0]),
        "label sets": (MultiLabelClassifier(), X, signs),
        "chain": (ChainClassifier(), [X[rows] for rows in some], [y[rows] for rows in some]),
        "graph": (GraphClassifier(), [(X[rows], edges) for rows in some], [y[rows] for rows in some]),
        "matching": (MatchingClassifier(), scale * rng.normal(size=(len(links), 2, 2, 3)), links),
        "ridge": (LinearRegressor(), X, y),
        "lasso": (LinearRegressor(penalty="l1"), X, y),
        "evidence": (LinearRegressor(posterior="gaussian"), X, y),
        "targets": (LinearRegressor(), X / scale, X[:, 0]),
        "targets of a lasso": (LinearRegressor(penalty="l1"), X / scale, X[:, 0]),
    }


@pytest.mark.parametrize("name", problems(1.0))
@pytest.mark.parametrize("scale", [1e155, 1e300])
def test_what_cannot_be_squared_is_refused(name, scale):
    model, X, y = problems(scale)[name]
    with pytest.raises(ValueError, match="so large that their squares are infinite"):
        model.fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", problems(1.0))
def test_what_can_be_squared_is_certified(name):
    model, X, y = problems(1e130)[name]
    found = model.set_params(max_passes=5).fit(X, y).certificate_
    assert found.dual <= found.primal < np.inf
    assert found.gap == found.primal - found.dual
