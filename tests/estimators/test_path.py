"""Models along lambda, and the bound that carries a model to another lambda without a pass."""

import numpy as np
import pytest

from brute import STRUCTURES, build
from structlearn import (
    BinaryClassifier,
    ChainClassifier,
    LinearRegressor,
    MulticlassClassifier,
    regularization_path,
)
from structlearn.estimators.path import gap_at, reach
from structlearn.solvers import ActiveBlocks, StochasticSubgradient, Stopping, solve


@pytest.fixture(scope="module")
def sequences():
    rng = np.random.default_rng(0)
    y = [rng.integers(3, size=rng.integers(1, 5)) for _ in range(12)]
    return [np.eye(3)[labels] + rng.normal(size=(len(labels), 3)) for labels in y], y


# ---- the bound ------------------------------------------------------------------------------------------


def trained(regularization, solver=None, tol=5e-3):
    known = build(STRUCTURES["chain"], regularization=regularization)
    return known, solve(known.objective, solver or ActiveBlocks(), Stopping(tol=tol, max_passes=500), seed=0)


@pytest.mark.parametrize("t", [0.95, 0.7, 0.3])
def test_the_bound_is_the_gap_of_the_model_and_the_best_scaled_dual_point(t):
    known, solution = trained(0.5)
    other = build(STRUCTURES["chain"], regularization=0.5 * t)
    z = np.split(solution.z, known.objective.point_start[1:-1])
    duals = [
        other.dual([mu + s * (z_i - mu) for z_i, mu in zip(z, known.mu)]) for s in np.linspace(t, 1, 400)
    ]
    expected = other.primal(solution.w) - max(duals)
    assert gap_at(0.5 * t, 0.5, solution) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("solver", [ActiveBlocks(), StochasticSubgradient()], ids=["dual", "primal"])
def test_the_bound_holds(solver):
    """Also where the solver does not tell the norm of its dual point."""
    _, solution = trained(0.5, solver)
    for t in (1.0, 0.9, 0.5, 0.2):
        other = build(STRUCTURES["chain"], regularization=0.5 * t)
        assert gap_at(0.5 * t, 0.5, solution) >= other.primal(solution.w) - other.optimum() - 1e-8


def test_the_reach_of_a_model_is_where_the_bound_is_the_gap():
    _, solution = trained(0.5)
    other = reach(0.5, solution, 0.02)
    assert other < 0.5
    assert gap_at(other, 0.5, solution) == pytest.approx(0.02, rel=1e-6)


# ---- paths ----------------------------------------------------------------------------------------------


def test_each_model_is_trained_at_its_lambda_from_the_last_one(sequences):
    model = ChainClassifier(tol=1e-3, random_state=0)
    path = regularization_path(model, *sequences, [0.01, 1.0, 0.1])
    assert [one.regularization for one in path] == [1.0, 0.1, 0.01]
    for one in path:
        cold = ChainClassifier(regularization=one.regularization, tol=1e-3, random_state=0).fit(*sequences)
        assert one.certificate_.gap <= 1e-3
        assert one.certificate_.primal == pytest.approx(cold.certificate_.primal, abs=1e-3)
        assert one.get_params() == cold.get_params()
        assert not hasattr(one, "_solution")
    assert path[-1].history_.dual[0] > 0.1 * path[-1].certificate_.dual


@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
@pytest.mark.parametrize("kind", [BinaryClassifier, MulticlassClassifier])
def test_a_path_with_a_sparse_penalty(kind, penalty):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 30))
    y = (X[:, :2] @ rng.normal(size=(2, 3)) + 0.3 * rng.normal(size=(80, 3))).argmax(axis=1)
    y = y > 0 if kind is BinaryClassifier else y
    path = regularization_path(kind(penalty=penalty, tol=1e-5), X, y, np.geomspace(0.1, 0.005, 5))
    cold = [kind(penalty=penalty, tol=1e-5, regularization=one.regularization).fit(X, y) for one in path]
    for one, alone in zip(path, cold):
        assert one.certificate_.converged
        assert one.certificate_.primal == pytest.approx(alone.certificate_.primal, abs=2e-5)
    assert sum(one.certificate_.passes for one in path) < sum(one.certificate_.passes for one in cold)
    counts = [np.count_nonzero(one.coef_) for one in path]
    assert counts[0] < counts[-1]


@pytest.mark.parametrize("loss", ["hinge", "softmax"])
def test_a_path_is_within_its_gap_at_every_lambda(sequences, loss):
    gap = 0.05
    path = regularization_path(ChainClassifier(loss=loss, random_state=0), *sequences, [1.0, 0.02], gap=gap)
    values = [one.regularization for one in path]
    assert values[0] == 1.0
    assert (np.diff(values) < 0).all()
    assert len(values) > 2
    for own, model, until in zip(values, path, [*values[1:], 0.02]):
        lam = np.sqrt(own * until) if until < own else own
        best = ChainClassifier(loss=loss, regularization=lam, tol=1e-6, max_passes=5000).fit(*sequences)
        w = model.weights_
        at_own = model.certificate_.primal - own / 2 * w @ w
        assert at_own + lam / 2 * w @ w <= best.certificate_.primal + gap


def test_sample_weights_go_along(sequences):
    weight = np.arange(12.0)
    one = regularization_path(ChainClassifier(random_state=0), *sequences, [0.1], sample_weight=weight)[0]
    alone = ChainClassifier(regularization=0.1, random_state=0).fit(*sequences, weight)
    np.testing.assert_allclose(one.weights_, alone.weights_)


def test_refusals(sequences):
    X, y = np.random.default_rng(0).normal(size=(12, 2)), np.arange(12) % 3
    with pytest.raises(TypeError, match="LinearRegressor and loss='perceptron' are not"):
        regularization_path(LinearRegressor(), X, y, [1.0])
    with pytest.raises(TypeError, match="regularization_path is for"):
        regularization_path(ChainClassifier(loss="perceptron"), *sequences, [1.0])
    with pytest.raises(ValueError, match="regularizations is empty"):
        regularization_path(ChainClassifier(), *sequences, [])
    with pytest.raises(ValueError, match="regularizations must be above 0"):
        regularization_path(ChainClassifier(), *sequences, [1.0, 0.0])
    l1 = MulticlassClassifier(loss="softmax", penalty="l1")
    with pytest.raises(ValueError, match="gap is for penalty='l2'"):
        regularization_path(l1, X, y, [1.0, 0.1], gap=0.1)
