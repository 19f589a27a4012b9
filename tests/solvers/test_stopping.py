"""When training stops: an absolute gap, or in proportion to P(0) where that is far from 1."""

import numpy as np
import pytest

from brute import problem
from structlearn import ChainClassifier, LinearRegressor, MulticlassClassifier
from structlearn.solvers import BlockFrankWolfe, Checkpoint, Stopping, solve


@pytest.mark.parametrize(
    ("at_zero", "gap"),
    [(1.0, 1e-3), (10.0, 1e-3), (0.1, 1e-3), (90.0, 9e-3), (0.01, 1e-4), (0.0, 1e-3), (10.001, 1.0001e-3)],
)
def test_tol_is_absolute_near_one_and_in_proportion_beyond(at_zero, gap):
    assert Stopping(1e-3).tolerance(at_zero).gap == pytest.approx(gap)


def test_a_share_of_the_objective_at_zero():
    assert Stopping(1e-3, relative=True).tolerance(4.0).gap == pytest.approx(4e-3)


def blobs(scale):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=60)
    return rng.normal(size=(60, 2)) + np.eye(3)[y, :2], y, [scale] * 3


def fit(scale, **options):
    """P(0) is `scale`: costs of that size, and a regulariser that makes the same model of them."""
    X, y, cost = blobs(scale)
    shared = {"loss": "hinge", "cost": cost, "regularization": 0.01 * scale, "random_state": 0}
    return MulticlassClassifier(**shared, **options).fit(X, y)


@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_costs_of_any_unit_are_trained_to_the_same_share(scale):
    found = fit(scale, tol=1e-3)
    share = 1e-3 * (10 if scale < 1 else 0.1)
    assert found.certificate_.converged
    assert found.certificate_.tolerance == pytest.approx(share * scale)
    assert found.certificate_.gap <= share * scale
    assert found.weights_.any()  # with an absolute gap, zero would do for the small costs
    assert f"P(0){'/10' if scale > 1 else ''}=" in found.certificate_.status
    assert f"({share * scale:.3g})" in found.certificate_.status


def test_a_gap_above_the_tolerance_is_told_with_both_figures():
    with pytest.warns(match=r"gap .* above tol=1e-09 of P\(0\)/10=1000 \(1e-06\)"):
        fit(1e4, tol=1e-9, max_passes=1)


def test_long_sequences_stop_in_proportion():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(30, 3)) for _ in range(8)]
    y = [(one[:, 0] > 0) + 2 * (one[:, 1] > 0) for one in X]
    found = ChainClassifier(loss="softmax", fit_intercept=False, random_state=0).fit(X, y).certificate_
    assert found.tolerance == pytest.approx(1e-3 * 30 * np.log(4) / 10)
    assert found.converged
    assert found.gap <= found.tolerance


def test_a_resumed_run_knows_its_tolerance(tmp_path):
    objective = problem("chain").objective
    whole = solve(objective, BlockFrankWolfe(), Stopping(1e-3, 40), seed=0)
    solve(objective, BlockFrankWolfe(), Stopping(1e-3, 2), seed=0, checkpoint=Checkpoint(tmp_path, 0.0))
    kept = Checkpoint(tmp_path, 0.0, resume=True)
    rest = solve(objective, BlockFrankWolfe(), Stopping(1e-3, 40), seed=0, checkpoint=kept)
    assert rest.certificate.tolerance == whole.certificate.tolerance > 0


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_regression_prints_the_share_and_the_scale(penalty):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    y = 100 * X[:, 0] + rng.normal(size=50)
    at_zero = ((y - y.mean()) ** 2).mean() / 2
    found = LinearRegressor(penalty=penalty, fit_intercept=True).fit(X, y).certificate_
    assert found.tolerance == pytest.approx(1e-3 * at_zero)
    if penalty == "l1":
        assert f"is within tol=0.001 of P(0)={at_zero:.4g} ({1e-3 * at_zero:.3g})" in found.status
