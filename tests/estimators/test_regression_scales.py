"""LinearRegressor on data of hostile scales and shifts: certificates against extended precision."""

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.linear_model import BayesianRidge

from structlearn import LinearRegressor
from structlearn.estimators.regression import ridge
from structlearn.estimators.regression.design import CentredData, Design
from torture.regressions import (
    EXTENDED,
    LONG,
    PENALTIES,
    Exact,
    Regression,
    check_regression,
    random_regression,
)

needs_extended = pytest.mark.skipif(not EXTENDED, reason="np.longdouble is float64 here")
KINDS = {"dense": np.asarray, "csr": sparse.csr_matrix}
SCALES = np.array([1e-6, 1.0, 1e6])


def scaled(n=50, noise=0.1, seed=0):
    """Three columns of scales 1e-6, 1 and 1e6, all of which matter."""
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(n, 3))
    return U * SCALES, U @ [1.0, 1.0, 1.0] + noise * rng.normal(size=n)


def shifted(shift, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(60, 5)) + shift).astype(dtype)
    return X, X.astype(np.float64) @ [1.0, -1.0, 0.5, 0.0, 0.0] + 0.3 * rng.normal(size=60)


def checked(model, X, y):
    return check_regression(Regression(model, X, y, None, repr(model)))


# ---- certificates ----------------------------------------------------------------------------------


@needs_extended
@pytest.mark.parametrize("solver", ["auto", "proximal"])
def test_sparse_columns_far_from_zero(solver):
    X, y = shifted(1e6)
    model = LinearRegressor(penalty="l1", regularization=0.02, tol=1e-6, solver=solver)
    found = checked(model, sparse.csr_matrix(X), y)
    assert found.converged
    assert found.primal <= found.best * (1 + 1e-4)


@needs_extended
@pytest.mark.parametrize("kind", KINDS)
def test_float32_columns_far_from_zero(kind):
    X, y = shifted(1e5, np.float32)
    model = LinearRegressor(penalty="l1", regularization=0.02, tol=1e-8)
    assert checked(model, KINDS[kind](X), y).converged


@needs_extended
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", KINDS)
def test_scales_and_shifts(kind, dtype, penalty):
    for seed, (scale, shift) in enumerate([(1e-6, 1e6), (1.0, 1e6), (1e6, 1e-6), (1e6, 0.0)]):
        data = {"kind": kind, "dtype": dtype, "scale": scale, "shift": shift}
        check_regression(random_regression(seed, penalty=penalty, **data))


@needs_extended
def test_random_regressions():
    found = [check_regression(random_regression(seed)) for seed in range(1000, 1025)]
    assert np.mean([one.converged for one in found]) > 0.5


@needs_extended
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_rounding_bounds_the_error_of_the_objective(kind, penalty):
    """At weights of any size, also those that no fit would end with."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * [1e-3, 1.0, 1e3, 1.0] + [0.0, 1e6, 0.0, 1e-6]
    X[rng.random(30) < 0.7, 0] = 0
    model = LinearRegressor(penalty=penalty, regularization=0.1, groups=[0, 0, 1, 1])
    regression = Regression(model, X, rng.normal(size=30) + 100, None, "")
    objective = model._objective(CentredData.of(KINDS[kind](X), regression.y, None, centred=True))
    exact = Exact(regression)
    for size in 10.0 ** np.arange(-3, 4):
        w = size * rng.normal(size=4) / [1e-3, 1.0, 1e3, 1.0]
        assert (
            abs(LONG(objective.primal(w)) - exact.value(w))
            <= objective.primal_rounding(w, objective.primal(w))
            <= 1e-10 * exact.value(w)
        )


@pytest.mark.parametrize("kind", KINDS)
def test_constant_columns_become_zero_and_others_orthogonal(kind):
    """Whatever their means are, and however many digits these leave."""
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    p /= p.sum()
    X = np.c_[np.full(3000, 0.1), np.full(3000, 1e6 / 3), 1e6 + 1e-6 * rng.normal(size=3000)]
    A = Design(KINDS[kind](X), p, True)
    assert not A.sizes[:2].any()
    assert abs(A.adjoint(A.root)[2]) <= 1e-13 * A.sizes[2]


# ---- least squares ---------------------------------------------------------------------------------


def exact_minimum(X, y):
    model = LinearRegressor(regularization=0)
    return float(Exact(Regression(model, X, y, None, "")).minimum(np.zeros(X.shape[1])))


@needs_extended
@pytest.mark.parametrize("solve", ["whole", "scaled Gram matrix", "LSQR"])
@pytest.mark.parametrize("kind", KINDS)
def test_least_squares_of_badly_scaled_columns(kind, solve, monkeypatch):
    if solve != "whole":
        monkeypatch.setattr(ridge, "LARGEST_LAID_OUT", 0)
    if solve == "LSQR":
        monkeypatch.setattr(ridge, "LARGEST_GRAM", 1)
    X, y = scaled()
    model = LinearRegressor(regularization=0, random_state=0).fit(KINDS[kind](X), y)
    best, told = exact_minimum(X, y), model.certificate_
    assert told.primal == pytest.approx(best, rel=1e-10)
    assert told.dual <= best
    np.testing.assert_allclose(model.coef_ * SCALES, 1, atol=0.2)
    if kind == "dense" or solve != "LSQR":
        assert told.converged
        assert told.gap <= 1e-10 * best


@pytest.mark.parametrize("kind", KINDS)
def test_dependent_columns_without_a_penalty_have_no_dual_bound(kind):
    X, y = np.random.default_rng(0).normal(size=(2, 30, 4))[0], np.arange(30.0)
    X = np.c_[X, X[:, 0]]
    model = LinearRegressor(regularization=0, fit_intercept=False).fit(KINDS[kind](X), y)
    assert model.certificate_.dual == 0
    assert not model.certificate_.converged
    assert "without a dual bound" in model.certificate_.status
    np.testing.assert_allclose(model.coef_, np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_a_direct_solution_advises_what_helps_it(kind):
    """More passes would not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    X[:, 1] = X[:, 0] + 1e-12 * X[:, 1]
    model = LinearRegressor(regularization=0, tol=1e-12)
    with pytest.warns(UserWarning, match="scale the columns of X, or raise tol or regularization"):
        model.fit(KINDS[kind](X), X[:, 0] + rng.normal(size=40))
    assert "max_passes" not in model.certificate_.status


# ---- evidence --------------------------------------------------------------------------------------


def evidence(X, y, alpha, beta):
    """log p(y | alpha, beta) of centred data, from the definition."""
    X, y = X - X.mean(0), y - y.mean()
    covariance = np.eye(len(y)) / beta + X @ X.T / alpha
    return stats.multivariate_normal(np.zeros(len(y)), covariance).logpdf(y)


def test_the_evidence_is_not_left_at_a_poor_maximum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * [0.1, 10]
    y = 20 * X[:, 0] + 0.3 * rng.normal(size=60)
    model = LinearRegressor(posterior="gaussian").fit(X, y)
    assert model.score(X, y) == pytest.approx(BayesianRidge().fit(X, y).score(X, y), abs=1e-3)


@pytest.mark.parametrize("seed", range(60))
def test_no_more_evidence_is_known_to_bayesian_ridge(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    X = rng.normal(size=(60, d)) * 10.0 ** rng.uniform(-2, 2, size=d)
    y = X @ (rng.normal(size=d) * 10.0 ** rng.uniform(-2, 2, size=d)) + rng.normal(size=60)
    ours = LinearRegressor(posterior="gaussian").fit(X, y)
    theirs = BayesianRidge(max_iter=10_000).fit(X, y)
    known = evidence(X, y, theirs.lambda_, theirs.alpha_)
    assert ours.log_evidence_ >= known - 1e-8 * abs(known)
    assert ours.log_evidence_ == pytest.approx(
        evidence(X, y, ours.prior_precision_, ours.noise_precision_), rel=1e-6
    )
