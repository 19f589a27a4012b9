"""LinearRegressor against scikit-learn, an independent convex solver, and its own promises."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import BayesianRidge, ElasticNet, Lasso, LinearRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

import structlearn
from structlearn.estimators.regression import ridge
from structlearn.estimators.regression.regressor import LinearRegressor

PENALTIES = ("l2", "l1", "elasticnet", "group")
MODELS = [*((penalty, None) for penalty in PENALTIES), ("l2", "gaussian")]
TIGHT = {"tol": 1e-10, "max_passes": 100_000}
#: Options of a solver, and how near to the optimal weights they bring it.
ACCURACY = {
    "coordinate-descent": ({"tol": 1e-13, "max_passes": 100_000}, 1e-5),
    "proximal": ({"tol": 1e-8, "max_passes": 100_000}, 3e-3),
}


def problem(n=40, d=12, seed=0, density=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    X[rng.random(X.shape) > density] = 0
    w = np.where(rng.random(d) < 0.4, rng.normal(size=d), 0)
    return X, X @ w + 0.3 * rng.normal(size=n) + 2


def penalty_of(w, model, d):
    lam, ratio = model.regularization, model.l1_ratio
    if model.penalty == "l2":
        return lam / 2 * cp.sum_squares(w)
    if model.penalty == "l1":
        return lam * cp.norm1(w)
    if model.penalty == "elasticnet":
        return lam * (ratio * cp.norm1(w) + (1 - ratio) / 2 * cp.sum_squares(w))
    groups = np.asarray(model.groups)
    return lam * sum(cp.norm2(w[np.flatnonzero(groups == g)]) for g in np.unique(groups))


def reference(model, X, y, weight=None):
    """The minimum of P and its weights, by Clarabel."""
    weight = np.ones(len(y)) if weight is None else weight
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    root = np.sqrt(weight / weight.sum())
    loss = cp.sum_squares(cp.multiply(root, y - X @ w - (b if model.fit_intercept else 0))) / 2
    task = cp.Problem(cp.Minimize(penalty_of(w, model, X.shape[1]) + loss))
    value = task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return value, w.value


def objective(model, X, y, weight=None):
    """P of a fitted model, from the definition."""
    p = np.full(len(y), 1 / len(y)) if weight is None else weight / weight.sum()
    residual = y - X @ model.coef_ - model.intercept_
    w = cp.Constant(model.coef_)
    return float(penalty_of(w, model, len(model.coef_)).value + p @ residual**2 / 2)


def build(penalty, d=12, **options):
    groups = np.arange(d) // 3 if penalty == "group" else None
    return LinearRegressor(penalty=penalty, groups=groups, **{"regularization": 0.1, **options})


@parametrize_with_checks([LinearRegressor()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# ---- against others --------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(40, 12), (15, 40)])
def test_l2_is_ridge(shape, intercept):
    X, y = problem(*shape)
    ours = LinearRegressor(regularization=0.3, fit_intercept=intercept).fit(X, y)
    theirs = Ridge(alpha=0.3 * len(y), fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-10)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-10)
    assert ours.certificate_.gap <= 1e-12


@pytest.mark.parametrize("solver", ["coordinate-descent", "proximal"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(40, 12), (15, 40)])
@pytest.mark.parametrize("ratio", [1.0, 0.5, 0.05])
def test_sparse_penalties_are_scikit_learns(shape, ratio, intercept, solver):
    X, y = problem(*shape)
    ours = LinearRegressor(
        penalty="elasticnet",
        l1_ratio=ratio,
        regularization=0.1,
        fit_intercept=intercept,
        solver=solver,
        **ACCURACY[solver][0],
    ).fit(X, y)
    theirs = ElasticNet(alpha=0.1, l1_ratio=ratio, fit_intercept=intercept, tol=1e-12, max_iter=10**6).fit(
        X, y
    )
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=ACCURACY[solver][1])
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=3 * ACCURACY[solver][1])


def test_l1_is_the_lasso_and_elasticnet_with_ratio_1():
    X, y = problem()
    ours = LinearRegressor(penalty="l1", regularization=0.1, **TIGHT).fit(X, y)
    same = LinearRegressor(penalty="elasticnet", l1_ratio=1.0, regularization=0.1, **TIGHT).fit(X, y)
    np.testing.assert_array_equal(ours.coef_, same.coef_)
    np.testing.assert_allclose(ours.coef_, Lasso(alpha=0.1, tol=1e-12).fit(X, y).coef_, atol=1e-6)
    assert 0 < np.count_nonzero(ours.coef_) < 12


@pytest.mark.parametrize("solver", ["auto", "proximal"])
@pytest.mark.parametrize("shape", [(40, 12), (8, 12)])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-8])
def test_certificates_hold_the_optimum(penalty, shape, solver, tol):
    X, y = problem(*shape)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    model = build(penalty, solver=solver, tol=tol, max_passes=10_000).fit(X, y, weight)
    best, _ = reference(model, X, y, weight)
    certificate = model.certificate_
    assert certificate.dual <= best * (1 + 1e-7)
    assert best * (1 - 1e-7) <= certificate.primal
    assert certificate.gap == certificate.primal - certificate.dual
    centred = y - np.average(y, weights=weight)
    assert certificate.gap <= tol * np.average(centred**2, weights=weight) / 2
    assert certificate.primal == pytest.approx(objective(model, X, y, weight), rel=1e-10)
    assert certificate.converged
    for row in model.history_:
        assert row.dual <= best * (1 + 1e-7)
        assert best * (1 - 1e-7) <= row.primal


def test_group_weights_are_the_references_and_whole_groups_vanish():
    X, y = problem(60, 12, seed=3)
    model = build("group", regularization=0.3, **TIGHT).fit(X, y)
    _, w = reference(model, X, y)
    np.testing.assert_allclose(model.coef_, w, atol=1e-4)
    norms = np.linalg.norm(model.coef_.reshape(4, 3), axis=1)
    assert (norms == 0).any()
    assert (norms > 0).any()


def test_groups_of_one_feature_are_the_lasso():
    X, y = problem()
    lasso = build("l1", **TIGHT).fit(X, y)
    group = LinearRegressor(penalty="group", groups=np.arange(12), regularization=0.1, **TIGHT).fit(X, y)
    np.testing.assert_allclose(group.coef_, lasso.coef_, atol=1e-10)


def test_groups_as_lists_and_as_ids_are_one():
    X, y = problem()
    ids = build("group", **TIGHT).fit(X, y)
    lists = [[3 * g, 3 * g + 1, 3 * g + 2] for g in range(4)]
    named = np.repeat(["d", "c", "b", "a"], 3)
    for groups in (lists, [np.array(g) for g in lists], named):
        model = LinearRegressor(penalty="group", groups=groups, regularization=0.1, **TIGHT).fit(X, y)
        np.testing.assert_allclose(model.coef_, ids.coef_, atol=1e-6)


def test_screening_and_small_working_sets_change_nothing(monkeypatch):
    from structlearn.solvers.first_order import coordinate_descent

    X, y = problem(100, 400, seed=5)
    for penalty in ("l1", "group"):
        groups = np.arange(400) // 2
        options = {"penalty": penalty, "groups": groups, "regularization": 0.05, **TIGHT}
        whole = LinearRegressor(**options).fit(X, y)
        with monkeypatch.context() as patch:
            patch.setattr(coordinate_descent, "SMALLEST", 1)
            patch.setattr(coordinate_descent, "SHARE", 0.0)
            grown = LinearRegressor(**options).fit(X, y)
        np.testing.assert_allclose(grown.coef_, whole.coef_, atol=1e-4)
        assert np.count_nonzero(whole.coef_) < 300


def test_penalties_between_none_and_all():
    """At lambda_max and above all weights are zero; just below, some are not."""
    X, y = problem()
    largest = np.abs((X - X.mean(0)).T @ (y - y.mean())).max() / len(y)
    assert not LinearRegressor(penalty="l1", regularization=largest * 1.0001, tol=1e-8).fit(X, y).coef_.any()
    assert LinearRegressor(penalty="l1", regularization=largest * 0.99, tol=1e-8).fit(X, y).coef_.any()


# ---- least squares ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("shape", [(40, 12), (15, 40)])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_without_penalty_it_is_least_squares(shape, kind, penalty):
    X, y = problem(*shape)
    model = LinearRegressor(penalty=penalty, regularization=0).fit(kind(X), y)
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, atol=1e-9)
    assert abs(model.certificate_.gap) <= 1e-12
    assert model.certificate_.converged


def test_least_squares_of_dependent_columns_has_the_least_norm():
    X, y = problem()
    X = np.c_[X, X[:, 0]]
    model = LinearRegressor(regularization=0, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-10)


def test_large_sparse_problems_are_solved_without_a_gram_matrix(monkeypatch):
    X, y = problem(60, 30, density=0.2)
    direct = LinearRegressor(regularization=0.1).fit(sparse.csr_matrix(X), y)
    monkeypatch.setattr(ridge, "LARGEST_GRAM", 5)
    monkeypatch.setattr(ridge, "PROBES", 300)
    model = LinearRegressor(regularization=0.1, random_state=0).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(model.coef_, direct.coef_, atol=1e-8)
    assert model.certificate_.gap <= 1e-10
    assert model.noise_variance_ == pytest.approx(direct.noise_variance_, rel=0.1)
    with pytest.warns(ConvergenceWarning, match="max_passes=1 .* raise it"):
        LinearRegressor(regularization=0.1, max_passes=1, tol=1e-9).fit(sparse.csr_matrix(X), y)


# ---- data in other forms ---------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize(("penalty", "posterior"), MODELS)
def test_sparse_is_dense(penalty, kind, intercept, posterior):
    for shape in ((60, 12), (8, 12)):
        X, y = problem(*shape, density=0.4)
        weight = np.random.default_rng(2).random(len(y))
        model = build(penalty, fit_intercept=intercept, posterior=posterior, **TIGHT)
        dense = model.fit(X, y, weight)
        expected = dense.coef_, dense.intercept_, dense.noise_variance_, dense.predict(X, return_std=True)
        model.fit(kind(X), y, weight)
        np.testing.assert_allclose(model.coef_, expected[0], atol=1e-6)
        assert model.intercept_ == pytest.approx(expected[1], abs=1e-6)
        assert model.noise_variance_ == pytest.approx(expected[2], rel=1e-5)
        np.testing.assert_allclose(model.predict(kind(X), return_std=True), expected[3], atol=1e-5)


def test_duplicate_entries_of_a_sparse_matrix_count_as_their_sum():
    X, y = problem(30, 4)
    rows, columns = np.nonzero(np.ones_like(X))
    twice = sparse.coo_matrix((np.r_[X.ravel(), X.ravel()] / 2, (np.r_[rows, rows], np.r_[columns, columns])))
    unsummed = sparse.csr_matrix((30, 4))
    unsummed.indptr, unsummed.indices = 8 * np.arange(31), np.tile(np.repeat(np.arange(4), 2), 30)
    unsummed.data = np.repeat(X.ravel(), 2) / 2
    unsummed.has_canonical_format = False
    before = unsummed.nnz
    for penalty in ("l2", "l1"):
        expected = build(penalty, **TIGHT).fit(X, y).coef_
        for given in (twice, unsummed):
            np.testing.assert_allclose(build(penalty, **TIGHT).fit(given, y).coef_, expected, atol=1e-6)
    assert unsummed.nnz == before


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(("penalty", "posterior"), MODELS)
def test_weights_are_repeated_rows(penalty, posterior, kind):
    X, y = problem()
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    model = build(penalty, posterior=posterior)
    repeated = model.fit(kind(np.repeat(X, weight, axis=0)), np.repeat(y, weight))
    expected = repeated.coef_, repeated.intercept_, repeated.noise_variance_, repeated.certificate_.dual
    model.fit(kind(X), y, weight)
    np.testing.assert_allclose(model.coef_, expected[0], atol=1e-8)
    assert model.intercept_ == pytest.approx(expected[1], abs=1e-8)
    assert model.noise_variance_ == pytest.approx(expected[2], rel=1e-7)
    assert model.certificate_.dual == pytest.approx(expected[3], rel=1e-7)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_float32_stays_near(penalty, kind):
    X, y = problem(density=0.5)
    X = X.astype(np.float32)
    expected = build(penalty, tol=1e-8).fit(kind(X.astype(np.float64)), y)
    model = build(penalty, tol=1e-8).fit(kind(X), y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-3)
    np.testing.assert_allclose(model.predict(kind(X)), expected.predict(X), atol=1e-3)
    assert X.dtype == np.float32


def test_the_users_arrays_stay_as_they_are():
    X, y = problem()
    X = np.asfortranarray(X)
    copies = X.copy(), y.copy()
    for penalty in PENALTIES:
        for weight in (None, np.arange(1.0, 41)):
            build(penalty).fit(X, y, weight)
            build(penalty, fit_intercept=False).fit(X, y, weight)
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(y, copies[1])


@pytest.mark.parametrize("penalty", PENALTIES)
def test_constant_columns_and_targets_get_no_weight(penalty):
    X, y = problem()
    X[:, :3] = 7.0
    model = build(penalty, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_[:3], 0, atol=1e-10)
    flat = build(penalty).fit(X, np.full(40, 3.0))
    np.testing.assert_allclose(flat.coef_, 0, atol=1e-12)
    assert flat.intercept_ == pytest.approx(3.0)


# ---- running ---------------------------------------------------------------------------------------


def test_too_few_passes_warn_and_say_so():
    X, y = problem(50, 200)
    model = LinearRegressor(penalty="l1", regularization=1e-3, tol=1e-12, max_passes=3)
    with pytest.warns(ConvergenceWarning, match="max_passes=3"):
        model.fit(X, y)
    assert model.certificate_.passes == 3
    assert not model.certificate_.converged


def test_a_warm_start_goes_on():
    X, y = problem(50, 200)
    model = LinearRegressor(penalty="l1", regularization=0.1, tol=1e-6, warm_start=True).fit(X, y)
    first = model.certificate_.passes
    again = model.fit(X, y).certificate_
    assert again.passes == 0 < first
    assert again.gap <= 1e-6 * y.var() / 2
    assert model.fit(X[:, :100], y).coef_.shape == (100,)


def test_the_callback_sees_rows_and_can_stop(capsys):
    X, y = problem(50, 200)
    rows = []
    model = LinearRegressor(
        penalty="l1", regularization=1e-3, tol=1e-12, callback=lambda row: rows.append(row) or True
    )
    model.fit(X, y)
    assert len(rows) == 1
    assert "callback" in model.certificate_.status
    LinearRegressor(callback=rows.append, verbose=1).fit(X, y)
    assert rows[-1].gap <= 1e-12
    assert "gap" in capsys.readouterr().err


def test_a_second_fit_forgets_the_posterior():
    X, y = problem()
    model = LinearRegressor(posterior="gaussian").fit(X, y)
    model.set_params(posterior=None).fit(X, y)
    with pytest.raises(AttributeError, match="posterior='gaussian'"):
        model.credible_interval()
    with pytest.raises(AttributeError, match="posterior='gaussian'"):
        _ = model.posterior_mean_
    assert not hasattr(model, "prior_precision_")


@pytest.mark.parametrize("options", [{}, {"penalty": "group"}, {"posterior": "gaussian"}])
def test_save_and_load(tmp_path, options):
    X, y = problem()
    model = build(options.get("penalty", "l2"), **{k: v for k, v in options.items() if k != "penalty"}).fit(
        X, y
    )
    model.save(tmp_path / "model")
    loaded = structlearn.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X, return_std=True), model.predict(X, return_std=True))
    assert loaded.certificate_ == model.certificate_
    assert loaded.noise_variance_ == model.noise_variance_
    assert loaded.get_params().keys() == model.get_params().keys()


# ---- likelihood and posterior ----------------------------------------------------------------------


def test_noise_variance_counts_what_was_used():
    X, y = problem()
    for penalty, intercept in ((p, i) for p in PENALTIES for i in (True, False)):
        model = build(penalty, fit_intercept=intercept, **TIGHT).fit(X, y)
        used = np.count_nonzero(model.coef_)
        if penalty == "l2":
            A = X - X.mean(0) * intercept
            used = np.trace(A @ np.linalg.solve(A.T @ A + 40 * 0.1 * np.eye(12), A.T))
        residual = y - model.predict(X)
        assert model.noise_variance_ == pytest.approx(residual @ residual / (40 - used - intercept), rel=1e-8)


def test_the_trace_is_the_same_from_either_side_and_any_solver():
    X, y = problem(15, 40)
    A = X - X.mean(0)
    trace = np.trace(A @ np.linalg.solve(A.T @ A + 15 * 0.1 * np.eye(40), A.T))
    for solver in ("direct", "coordinate-descent", "proximal"):
        model = LinearRegressor(regularization=0.1, solver=solver, **TIGHT).fit(X, y)
        residual = y - model.predict(X)
        expected = residual @ residual / max(14 - trace, 1)
        assert model.noise_variance_ == pytest.approx(expected, rel=1e-3)


def test_predictive_distribution():
    X, y = problem()
    model = LinearRegressor(penalty="l1", regularization=0.1).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, model.predict(X))
    np.testing.assert_allclose(std, np.sqrt(model.noise_variance_))
    found = model.predictive_distribution(X)
    np.testing.assert_allclose(
        found.interval(), np.c_[mean - 1.959964 * std, mean + 1.959964 * std], rtol=1e-6
    )
    expected = -((y - mean) ** 2) / (2 * std**2) - np.log(std * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(found.logpdf(y), expected)
    with pytest.raises(ValueError, match=r"level must be between 0 and 1, as in 0\.95; got 95"):
        found.interval(95)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(40, 12), (200, 5), (30, 50)])
def test_the_posterior_is_bayesian_ridges(shape, intercept):
    X, y = problem(*shape)
    y = y + 3 * np.random.default_rng(1).normal(
        size=len(y)
    )  # else more features than examples leave no noise
    ours = LinearRegressor(posterior="gaussian", fit_intercept=intercept).fit(X, y)
    none = {"alpha_1": 0, "alpha_2": 0, "lambda_1": 0, "lambda_2": 0}
    theirs = BayesianRidge(
        tol=1e-12, max_iter=10**5, fit_intercept=intercept, compute_score=True, **none
    ).fit(X, y)
    assert ours.prior_precision_ == pytest.approx(theirs.lambda_, rel=1e-5)
    assert ours.noise_precision_ == pytest.approx(theirs.alpha_, rel=1e-5)
    np.testing.assert_allclose(ours.posterior_mean_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.posterior_covariance_, theirs.sigma_, rtol=1e-4, atol=1e-8)
    assert ours.log_evidence_ == pytest.approx(theirs.scores_[-1], rel=1e-8)
    assert ours.noise_variance_ == 1 / ours.noise_precision_
    assert abs(ours.certificate_.gap) <= 1e-10


@pytest.mark.parametrize("shape", [(25, 6), (10, 20)])
def test_the_evidence_is_the_density_of_y_at_its_maximum(shape):
    X, y = problem(*shape, seed=4)
    model = LinearRegressor(posterior="gaussian", fit_intercept=False).fit(X, y)

    def evidence(alpha, beta):
        covariance = np.eye(len(y)) / beta + X @ X.T / alpha
        return stats.multivariate_normal(np.zeros(len(y)), covariance).logpdf(y)

    alpha, beta = model.prior_precision_, model.noise_precision_
    assert model.log_evidence_ == pytest.approx(evidence(alpha, beta), rel=1e-8)
    h = 1e-4
    for up, down in (((1 + h, 1), (1 - h, 1)), ((1, 1 + h), (1, 1 - h))):
        slope = evidence(alpha * up[0], beta * up[1]) - evidence(alpha * down[0], beta * down[1])
        assert abs(slope) / (2 * h) < 1e-4


@pytest.mark.parametrize("seed", range(10))
def test_the_evidence_never_falls(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(3, 40, 2)
    X, y = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4), rng.normal(size=n)
    model = LinearRegressor(posterior="gaussian").fit(X, y)
    assert (np.diff(model.evidence_path_) >= 0).all()
    assert model.log_evidence_ == model.evidence_path_[-1]
    assert np.isfinite(model.predict(X, return_std=True)).all()


def test_posterior_intervals_and_predictions():
    X, y = problem()
    model = LinearRegressor(posterior="gaussian").fit(X, y)
    half = stats.norm.ppf(0.95) * np.sqrt(np.diag(model.posterior_covariance_))
    np.testing.assert_allclose(model.credible_interval(0.9), np.c_[model.coef_ - half, model.coef_ + half])
    # a constant column with a prior of almost no precision stands for the flat prior of the intercept
    alpha, beta = model.prior_precision_, model.noise_precision_
    A = np.c_[X, np.ones(40)]
    covariance = np.linalg.inv(np.diag([alpha] * 12 + [1e-9]) + beta * A.T @ A)
    np.testing.assert_allclose(covariance[:12, :12], model.posterior_covariance_, rtol=1e-5, atol=1e-9)
    expected = np.sqrt(1 / beta + np.einsum("ij,jk,ik->i", A, covariance, A))
    np.testing.assert_allclose(model.predict(X, return_std=True)[1], expected, rtol=1e-6)


def test_intervals_cover():
    """95% intervals hold 95% of fresh examples and weights, give or take four standard errors."""
    rng = np.random.default_rng(0)
    inside, weights = [], []
    for _ in range(200):
        w = rng.normal(size=5)
        X, fresh = rng.normal(size=(2, 30, 5))
        model = LinearRegressor(posterior="gaussian").fit(X, X @ w + rng.normal(size=30))
        y = fresh @ w + rng.normal(size=30)
        low, high = model.predictive_distribution(fresh).interval().T
        inside.append(np.mean((low <= y) & (y <= high)))
        low, high = model.credible_interval().T
        weights.append(np.mean((low <= w) & (w <= high)))
    assert abs(np.mean(inside) - 0.95) < 0.025
    assert abs(np.mean(weights) - 0.95) < 0.04


# ---- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"penalty": "elastic_net"},
            r"Unknown penalty 'elastic_net'; valid are 'l2', 'l1', 'elasticnet', 'group'\. Did you mean",
        ),
        (
            {"solver": "lars"},
            "Unknown solver 'lars'; valid are 'auto', 'direct', 'coordinate-descent', 'proximal'",
        ),
        ({"posterior": "laplace"}, "Unknown posterior 'laplace'; valid are 'gaussian'"),
        ({"regularization": -1}, "regularization must be at least 0; got -1"),
        ({"regularization": np.nan}, "regularization must be a finite number"),
        ({"l1_ratio": 1.5}, r"l1_ratio must be at most 1; got 1\.5"),
        ({"l1_ratio": -0.5}, r"l1_ratio must be at least 0; got -0\.5"),
        ({"tol": -1}, "tol must be at least 0"),
        ({"max_passes": 0}, "max_passes must be above 0"),
        ({"max_seconds": 0}, "max_seconds must be above 0"),
        (
            {"penalty": "l1", "posterior": "gaussian"},
            "penalty='l1' has no Gaussian posterior: use penalty='l2'",
        ),
        (
            {"penalty": "l1", "solver": "direct"},
            "'direct' needs penalty='l2'; with 'l1' use solver='coordinate-desc",
        ),
        (
            {"solver": "proximal", "regularization": 0},
            "'proximal' needs regularization > 0 .* use solver='direct'",
        ),
        ({"penalty": "group"}, "penalty='group' needs groups"),
        ({"penalty": "group", "groups": [0, 1]}, r"group of each of the 4 features; got shape \(2,\)"),
        (
            {"penalty": "group", "groups": [[0, 1], [2]]},
            "must partition the features, but feature 3 is in none",
        ),
        (
            {"penalty": "group", "groups": [[0, 1], [1, 2, 3]]},
            "partition the features, but feature 1 is listed twice",
        ),
        (
            {"penalty": "group", "groups": [[0, 1, 2, 2], [3]]},
            "partition the features, but feature 2 is listed twice",
        ),
        (
            {"penalty": "group", "groups": [[0, 1], [2, 4]]},
            "Group 1 has the feature 4, but features run from 0 to 3",
        ),
        (
            {"penalty": "group", "groups": [[0, 1, 2, 3], []]},
            "Group 1 must be a list of at least one feature index",
        ),
        (
            {"penalty": "group", "groups": [[0.5, 1], [2]]},
            "Group 0 must be a list of at least one feature index",
        ),
    ],
)
def test_refusals(options, message):
    X, y = problem(10, 4)
    with pytest.raises(ValueError, match=message) as refused:
        LinearRegressor(**options).fit(X, y)
    assert "\n" not in str(refused.value)


def test_refusals_of_data():
    X, y = problem(10, 4)
    model = LinearRegressor()
    with pytest.raises(TypeError, match="callback must be callable"):
        LinearRegressor(callback=3).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, np.where(y > 1, np.nan, y))
    with pytest.raises(ValueError, match="at least 0"):
        model.fit(X, y, -np.ones(10))
    with pytest.raises(ValueError, match="1d array"):
        model.fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="X has 3 features, but LinearRegressor is expecting 4"):
        model.fit(X, y).predict(X[:, :3])
