"""Newton's method on rows, with and without sparse penalties, against convex solvers and other solvers."""

import cvxpy
import numpy as np
import pytest
from scipy import sparse
from scipy.special import xlogy

from structlearn import BinaryClassifier, MulticlassClassifier, MultiLabelClassifier
from structlearn.problem.kept_scores import KeptScores
from structlearn.problem.objective import Objective
from structlearn.problem.penalties import ElasticNet, GroupNorm
from structlearn.problem.regularizers import Shannon
from structlearn.scoring import RowScoring
from structlearn.solvers import LBFGS, Checkpoint, Newton, ProximalNewton, Stopping, solve
from structlearn.solvers.first_order import curvature
from structlearn.solvers.first_order.model_descent import MOST_PICKS, ColumnReader
from structlearn.structures import Cube, Simplex

N, D = 60, 5
FORMS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_matrix,
}


def rows(n=N, d=D, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7) * 3.0 ** np.arange(d)
    return X, X @ rng.normal(size=(d, 3)) / 9 + rng.normal(size=(n, 3))


def objective(kind, *, n=N, d=D, penalty=None, strength=0.1, intercept=True, weight=None, form="float64"):
    """An objective over classes ("simplex"), one switch ("switch") or three ("switches")."""
    X, noisy = rows(n, d)
    structure = {"simplex": Simplex(3), "switch": Cube(1), "switches": Cube(3)}[kind]
    k = structure.n_labels
    ys = np.argmax(noisy, axis=1) if kind == "simplex" else (noisy[:, :k] > 0).astype(float)
    scoring = RowScoring(FORMS[form](X), np.ones(n, dtype=np.int64), k, intercept=intercept)
    gold = structure.encode_many(ys, scoring.shapes)
    return Objective(
        *(structure, scoring, gold, np.zeros(n * k)),
        regularization=strength,
        regularizer=Shannon(),
        penalty=penalty,
        sample_weight=weight,
    )


def optimum(problem, norm):
    """The least P, by a convex solver, with R(W) = norm(W) for W of shape (d, K)."""
    X, scoring = problem.scoring.X, problem.scoring
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
    if scoring.intercept:
        X = np.column_stack([X, np.ones(len(X))])
    k, p = scoring.n_labels, problem.weight
    W = cvxpy.Variable((X.shape[1], k))
    theta = X @ W
    mu = np.concatenate([problem.gold.dense(i, k) for i in range(len(X))]).reshape(-1, k)
    if problem.couples_labels:
        losses = cvxpy.log_sum_exp(theta, axis=1) - cvxpy.sum(cvxpy.multiply(mu, theta), axis=1)
    else:
        losses = cvxpy.sum(cvxpy.logistic(theta) - cvxpy.multiply(mu, theta), axis=1)
    value = cvxpy.Problem(cvxpy.Minimize(norm(W) + p @ losses))
    return value.solve(solver=cvxpy.CLARABEL)


def squared(strength):
    return lambda W: strength / 2 * cvxpy.sum_squares(W)


# ---- kept scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["simplex", "switch", "switches"])
def test_a_line_is_that_of_the_objective(kind):
    problem = objective(kind, weight=np.r_[0.0, np.arange(1.0, N)])
    rng = np.random.default_rng(1)
    w, p = rng.normal(size=(2, problem.n_weights))
    scores = KeptScores(problem, w)
    scores.aim(p)

    def losses(s):
        return problem.primal(w + s * p) - problem.penalty.value(w + s * p)

    h = 1e-4
    for s in (0.0, 0.7, -2.0):
        found = scores.at(s)
        assert found.losses == pytest.approx(losses(s), rel=1e-12)
        assert found.slope == pytest.approx((losses(s + h) - losses(s - h)) / (2 * h), rel=1e-5)
        bend = (losses(s + h) - 2 * losses(s) + losses(s - h)) / h**2
        assert found.bend == pytest.approx(bend, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("kind", ["simplex", "switch", "switches"])
def test_predictions_after_many_moves_are_those_of_the_objective(kind):
    problem, rng = objective(kind), np.random.default_rng(2)
    scores = KeptScores(problem, np.zeros(problem.n_weights))
    for _ in range(40):
        scores.aim(rng.normal(size=problem.n_weights) / 10)
        found = scores.at(0.5)
        scores.move(0.5)
    here, there = scores.predictions(found), problem.predictions(scores.w)
    np.testing.assert_allclose(here.dual_map, there.dual_map, atol=1e-12)
    assert here.primal == pytest.approx(there.primal, rel=1e-12)
    assert here.cost == pytest.approx(there.cost, rel=1e-12)


@pytest.mark.parametrize("kind", ["simplex", "switch", "switches"])
def test_the_dual_of_a_shrunk_point_is_written_out(kind):
    penalty = ElasticNet(0.05, 1.0)
    problem = objective(kind, penalty=penalty)
    scores = KeptScores(problem, np.random.default_rng(3).normal(size=problem.n_weights))
    here = scores.predictions(scores.at(0.0))
    s, k, p = penalty.shrink(here.dual_map), problem.scoring.n_labels, problem.weight
    assert 0 < s < 1
    mu = np.concatenate([problem.gold.dense(i, k) for i in range(N)]).reshape(N, k)
    z = mu + s * (scores.mean.reshape(N, k) / p[:, None] - mu)
    entropy = -xlogy(z, z)
    if not problem.couples_labels:
        entropy -= xlogy(1 - z, 1 - z)
    bound = scores.dual(here)
    assert bound.value + bound.rounding == pytest.approx(p @ entropy.sum(axis=1), rel=1e-12)
    assert bound.value > problem.dual_of_map(here.dual_map, here.cost).value
    assert bound.value <= optimum(problem, lambda W: 0.05 * cvxpy.norm1(W)) + 1e-7


# ---- the squared norm ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["simplex", "switch", "switches"])
def test_optimum_of_a_convex_solver(kind, form):
    weight = np.random.default_rng(4).integers(0, 3, N).astype(float)
    problem = objective(kind, form=form, weight=weight)
    found = solve(problem, Newton(), Stopping(tol=1e-8)).certificate
    assert found.converged
    assert found.primal == pytest.approx(optimum(problem, squared(0.1)), abs=1e-6)
    assert found.passes < 30


@pytest.mark.parametrize("estimate", ["SampledHessian", "SecondMoments", "Diagonal"])
@pytest.mark.parametrize("kind", ["simplex", "switch"])
def test_every_estimate_of_the_curvature_leads_to_one_optimum(kind, estimate, monkeypatch):
    problem = objective(kind, n=400, strength=1e-3)
    monkeypatch.setattr(curvature, "MOST_HESSIAN", 128 if estimate == "SampledHessian" else 0)
    monkeypatch.setattr(curvature, "MOST_MOMENTS", 0 if estimate == "Diagonal" else 512)
    assert type(curvature.estimate_curvature(problem)).__name__ == estimate
    found = solve(problem, Newton(), Stopping(tol=1e-7)).certificate
    best = solve(problem, LBFGS(), Stopping(tol=1e-7)).certificate
    assert found.converged
    assert abs(found.primal - best.primal) <= 2e-7
    assert found.passes <= best.passes


def test_a_sample_of_few_rows_is_enlarged():
    problem = objective("switch", n=2000, strength=1e-6)
    sampled = curvature.SampledHessian(problem, problem.scoring)
    before = sampled.size
    assert before == 50 * (D + 1)
    sampled.refine()
    assert sampled.size == 2 * before
    for _ in range(9):
        sampled.refine()
    assert sampled.size == 2000
    assert len(sampled.sample[0]) == 2000


def test_columns_that_a_sample_has_not_seen(monkeypatch):
    """A rare column has no entry in the sample: its curvature comes from all rows."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5000, 3))
    X[:, 2] = 0.0
    X[[7, 4011], 2] = 50.0
    y = (X @ [1.0, -1.0, 0.1] + rng.normal(size=5000) > 0).astype(int)
    for most in (128, 0):
        monkeypatch.setattr(curvature, "MOST_HESSIAN", most)
        model = BinaryClassifier(regularization=1e-4, tol=1e-6).fit(X, y)
        assert model.certificate_.converged
        assert model.certificate_.passes < 60


def test_auto_is_newton_and_agrees_with_lbfgs():
    X, noisy = rows(300)
    y = np.argmax(noisy, axis=1)
    for kind, labels in ((MulticlassClassifier, y), (BinaryClassifier, y > 0)):
        ours = kind(tol=1e-8).fit(X, labels)
        other = kind(tol=1e-8, solver="lbfgs").fit(X, labels)
        np.testing.assert_allclose(ours.weights_, other.weights_, atol=1e-3)
        assert ours.certificate_.passes < other.certificate_.passes


def test_label_sets_without_pairs():
    X, noisy = rows(200)
    model = MultiLabelClassifier(edges="none", loss="softmax", solver="newton", tol=1e-7).fit(X, noisy > 0)
    other = MultiLabelClassifier(edges="none", loss="softmax", solver="lbfgs", tol=1e-7).fit(X, noisy > 0)
    assert model.certificate_.primal == pytest.approx(other.certificate_.primal, abs=2e-6)


def test_without_regularization_the_loss_still_falls():
    X, noisy = rows(200)
    model = BinaryClassifier(regularization=0.0, max_passes=50, tol=1e-9)
    with pytest.warns(match="."):
        model.fit(X, noisy[:, 0] > 0)
    assert model.certificate_.primal < 0.6


def test_structures_that_are_no_rows_are_refused():
    X, noisy = rows(20)
    with pytest.raises(ValueError, match="is for loss='softmax' of single rows"):
        MulticlassClassifier(loss="sparsemax", solver="newton").fit(X, np.argmax(noisy, axis=1))
    with pytest.raises(ValueError, match="cannot train"):
        MulticlassClassifier(loss="hinge", solver="newton").fit(X, np.argmax(noisy, axis=1))


def test_badly_scaled_features_converge():
    X, noisy = rows(300)
    scaled = X * np.array([1e-6, 1.0, 1e5, 1e2, 1e-3])
    model = BinaryClassifier(regularization=1e-8, tol=1e-4).fit(scaled, noisy[:, 0] > 0)
    assert model.certificate_.converged


# ---- sparse penalties ----------------------------------------------------------------------------------

NETS = {
    "l1": (ElasticNet(0.05, 1.0), lambda W: 0.05 * cvxpy.norm1(W)),
    "elastic net": (
        ElasticNet(0.05, 0.4),
        lambda W: 0.05 * (0.4 * cvxpy.norm1(W) + 0.3 * cvxpy.sum_squares(W)),
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("kind", ["simplex", "switch", "switches"])
def test_sparse_optimum_of_a_convex_solver(kind, net, form):
    penalty, norm = NETS[net]
    problem, seen = objective(kind, penalty=penalty, form=form), []
    found = solve(problem, ProximalNewton(), Stopping(tol=1e-7), callback=seen.append)
    best = optimum(problem, norm)
    assert found.certificate.converged
    assert found.certificate.primal == pytest.approx(best, abs=1e-6)
    assert (found.w == 0).any()
    for row in seen:
        assert row.dual - 1e-6 <= best <= row.primal + 1e-6


@pytest.mark.parametrize("form", FORMS)
def test_group_optimum_of_a_convex_solver(form):
    problem = objective("simplex", form=form)
    penalty = GroupNorm(0.08, np.arange(problem.n_weights) // 3)
    problem = objective("simplex", penalty=penalty, form=form)
    found = solve(problem, ProximalNewton(), Stopping(tol=1e-7))
    best = optimum(problem, lambda W: 0.08 * cvxpy.sum(cvxpy.norm(W, 2, axis=1)))
    assert found.certificate.converged
    assert found.certificate.primal == pytest.approx(best, abs=1e-6)
    by_feature = found.w.reshape(-1, 3)
    assert (by_feature == 0).all(axis=1).any()
    assert not ((by_feature == 0).any(axis=1) ^ (by_feature == 0).all(axis=1)).any()


@pytest.mark.parametrize("n_features", [30, 400])
def test_working_sets_find_all_weights(n_features):
    """More features than a working set begins with; few have weights in the end."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(150, n_features))
    y = X[:, :7] @ rng.normal(size=7) + 0.3 * rng.normal(size=150) > 0
    options = {"penalty": "l1", "regularization": 0.01, "tol": 1e-6, "fit_intercept": False}
    model = BinaryClassifier(**options).fit(X, y)
    slow = BinaryClassifier(**options, solver="proximal", max_passes=5000).fit(X, y)
    assert model.certificate_.converged
    assert model.certificate_.primal == pytest.approx(slow.certificate_.primal, abs=3e-6)
    assert model.certificate_.passes < slow.certificate_.passes
    np.testing.assert_array_equal(model.coef_ != 0, np.abs(slow.coef_) > 1e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_columns_are_those_of_the_rows(intercept):
    """Whether they are picked out of the rows, known already, or those of all columns."""
    X = sparse.random(40, 30, 0.2, "csr", random_state=np.random.default_rng(0))
    scoring = RowScoring(X, np.ones(40, dtype=np.int64), 2, intercept=intercept)
    reader, whole = ColumnReader(scoring), np.column_stack([X.toarray(), np.ones(40)])
    rng = np.random.default_rng(1)
    for turn in range(2 * MOST_PICKS):
        chosen = np.sort(rng.choice(30, size=5, replace=False))
        chosen = np.append(chosen, 30) if intercept and turn % 2 else chosen
        values, at, start = reader.take(chosen)
        found = sparse.csc_matrix((values, at, start), shape=(40, chosen.size))
        np.testing.assert_array_equal(found.toarray(), whole[:, chosen])
    assert reader.picks > MOST_PICKS


def test_penalties_of_estimators():
    X, noisy = rows(200)
    y = np.argmax(noisy, axis=1)
    counts = {}
    for penalty in ("l2", "l1", "elasticnet", "group"):
        model = MulticlassClassifier(penalty=penalty, regularization=0.1, tol=1e-6).fit(X, y)
        counts[penalty] = np.count_nonzero(model.coef_)
        assert model.certificate_.converged
    assert counts["l1"] < counts["elasticnet"] <= counts["l2"]
    hinge = BinaryClassifier(penalty="elasticnet", loss="hinge", regularization=0.1).fit(X, y > 0)
    assert hinge.certificate_.converged
    with pytest.raises(ValueError, match="penalty"):
        BinaryClassifier(penalty="group").fit(X, y > 0)
    with pytest.raises(ValueError, match="l1_ratio"):
        BinaryClassifier(penalty="elasticnet", l1_ratio=1.0).fit(X, y > 0)
    with pytest.raises(ValueError, match="smooth loss"):
        BinaryClassifier(penalty="l1", loss="hinge").fit(X, y > 0)


def test_models_with_a_penalty_are_saved_and_go_on(tmp_path):
    import structlearn

    X, noisy = rows(200)
    model = BinaryClassifier(penalty="elasticnet", l1_ratio=0.3, warm_start=True, tol=1e-5)
    model.fit(X, noisy[:, 0] > 0).save(tmp_path / "model")
    again = structlearn.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert (again.penalty, again.l1_ratio) == ("elasticnet", 0.3)
    first = model.certificate_
    second = model.fit(X, noisy[:, 0] > 0).certificate_
    assert second.passes <= first.passes
    assert second.primal == pytest.approx(first.primal, abs=1e-5)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_an_interrupted_run_goes_on(penalty, tmp_path):
    X, noisy = rows(300)
    options = {"penalty": penalty, "regularization": 1e-4, "tol": 1e-9, "random_state": 0}
    whole = BinaryClassifier(**options).fit(X, noisy[:, 0] > 0)
    with pytest.warns(match="max_passes"):
        BinaryClassifier(**options, max_passes=3, checkpoint=tmp_path / "kept").fit(X, noisy[:, 0] > 0)
    kept = Checkpoint(tmp_path / "kept", resume=True)
    resumed = BinaryClassifier(**options, checkpoint=kept).fit(X, noisy[:, 0] > 0)
    assert resumed.certificate_.primal == pytest.approx(whole.certificate_.primal, abs=1e-8)
