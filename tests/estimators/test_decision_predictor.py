"""Decisions by predicted costs: the losses by their textbook forms, data in every form, refusals."""

from itertools import product

import cvxpy
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import structlearn
from structlearn import DecisionPredictor, OracleError, regularization_path
from structlearn.metrics import normalized_regret, regret
from structlearn.structures import Assignment, Knapsack, Matching, ShortestPath, TopK

GRID = ShortestPath.grid(3, 3)
LOSSES = ("spo+", "imitation", "perturbed", "sparsemax", "two-stage")


def examples(n=40, n_parts=12, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.abs(X @ rng.normal(size=(d, n_parts)) + 2) + rng.random((n, n_parts))


def paths(structure):
    """All decisions of a structure: the 0/1 vectors that are best for scores around themselves."""
    every = np.array(list(product((0.0, 1.0), repeat=structure.n_parts)))
    best = structure.maximize(100.0 * (2 * every - 1))
    return every[(best == every).all(axis=1)]


@pytest.fixture(scope="module")
def vertices():
    return paths(GRID)


@pytest.fixture(scope="module")
def data():
    return examples()


def test_a_grid_of_three_by_three_has_six_paths(vertices):
    assert len(vertices) == 6
    assert (vertices.sum(axis=1) == 4).all()


# ---- losses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [2.0, 0.7])
@pytest.mark.parametrize("sense", ["min", "max"])
def test_spo_plus_is_its_textbook_form(data, vertices, alpha, sense):
    X, costs = data
    model = DecisionPredictor(GRID, alpha=alpha, sense=sense, regularization=0.3, random_state=0).fit(
        X, costs
    )
    predicted = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.predict_costs(X), predicted, atol=1e-12)
    sign = 1 if sense == "min" else -1
    losses = []
    for c, p in zip(sign * costs, sign * predicted):
        best = vertices[np.argmin(vertices @ c)]
        losses.append((vertices @ (c - alpha * p)).max() + alpha * p @ best - c @ best)
    primal = 0.15 * model.weights_ @ model.weights_ + np.mean(losses)
    assert model.certificate_.primal == pytest.approx(primal, abs=1e-12)
    assert model.certificate_.converged


def test_spo_plus_is_minimised_as_by_a_convex_solver(vertices):
    X, costs = examples(12)
    model = DecisionPredictor(GRID, regularization=0.2, tol=1e-7, random_state=0).fit(X, costs)
    B, slack = cvxpy.Variable((4, 12)), cvxpy.Variable(12)
    rows = np.c_[X, np.ones(12)]
    limits = [
        slack[i] >= (vertices - vertices[np.argmin(vertices @ c)]) @ (c - 2 * (rows[i] @ B))
        for i, c in enumerate(costs)
    ]
    problem = cvxpy.Problem(cvxpy.Minimize(0.1 * cvxpy.sum_squares(B) + cvxpy.sum(slack) / 12), limits)
    optimum = problem.solve(solver="CLARABEL")
    assert model.certificate_.primal == pytest.approx(optimum, rel=1e-5)
    assert model.certificate_.dual <= optimum * (1 + 1e-7)


def test_two_stage_is_ridge_regression(data):
    X, costs = data
    model = DecisionPredictor(GRID, loss="two-stage", regularization=0.1).fit(X, costs)
    rows = np.c_[X, np.ones(len(X))]
    B = np.linalg.solve(rows.T @ rows / len(X) + 0.1 * np.eye(4), rows.T @ costs / len(X))
    np.testing.assert_allclose(model.coef_.T, B[:3])
    np.testing.assert_allclose(model.intercept_, B[3])
    residual = costs - rows @ B
    primal = 0.05 * (B**2).sum() + (residual**2).sum() / (2 * len(X))
    assert model.certificate_.primal == pytest.approx(primal)
    assert model.certificate_.dual == pytest.approx(primal, rel=1e-9)
    assert model.certificate_.dual <= primal


def test_two_stage_of_many_columns_is_the_same_by_conjugate_gradients(monkeypatch):
    from structlearn.estimators.decisions import two_stage

    X, costs = examples(30)
    direct = DecisionPredictor(GRID, loss="two-stage", regularization=0.1).fit(X, costs)
    monkeypatch.setattr(two_stage, "MOST_COLUMNS", 1)
    iterated = DecisionPredictor(GRID, loss="two-stage", regularization=0.1).fit(sparse.csr_matrix(X), costs)
    np.testing.assert_allclose(iterated.weights_, direct.weights_, atol=1e-8)


def test_the_perturbed_loss_is_an_estimate_of_its_draws(data, vertices):
    X, costs = data
    options = {"regularization": 0.2, "n_samples": 3, "noise": 0.5, "random_state": 7}
    model = DecisionPredictor(GRID, loss="perturbed", **options).fit(X, costs)
    assert "estimate" in model.certificate_.status
    assert not model.certificate_.exact
    theta = -2 * model.predict_costs(X)
    gold = vertices[np.argmin(costs @ vertices.T, axis=1)]
    Z = np.random.default_rng(1).normal(size=(4000, 12)) * 0.5
    noisy = np.array(
        [((theta_i + Z) @ (vertices - mu).T).max(axis=1).mean() for theta_i, mu in zip(theta, gold)]
    )
    primal = 0.1 * model.weights_ @ model.weights_ + noisy.mean()
    assert model.certificate_.primal == pytest.approx(primal, rel=0.05)


def test_imitation_has_hamming_costs(data, vertices):
    X, costs = data
    model = DecisionPredictor(GRID, loss="imitation", regularization=0.05, random_state=0).fit(X, costs)
    theta = -2 * model.predict_costs(X)
    gold = vertices[np.argmin(costs @ vertices.T, axis=1)]
    losses = [((vertices - mu) @ (one + (1 - 2 * mu) / 12)).max() for one, mu in zip(theta, gold)]
    primal = 0.025 * model.weights_ @ model.weights_ + np.mean(losses)
    assert model.certificate_.primal == pytest.approx(primal, abs=1e-12)


def test_auto_stands_for_spo_plus(data):
    usual = DecisionPredictor(GRID, random_state=0).fit(*data)
    auto = DecisionPredictor(GRID, loss="auto", random_state=0).fit(*data)
    assert auto.loss_ == "spo+"
    assert auto.weights_.tolist() == usual.weights_.tolist()


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_learns_to_decide(data, loss):
    X, costs = data
    model = DecisionPredictor(GRID, loss=loss, random_state=0).fit(X, costs)
    nothing = np.zeros((len(X), 1))
    constant = DecisionPredictor(GRID, loss="two-stage").fit(nothing, costs)
    assert model.certificate_.converged
    assert model.score(X, costs) > constant.score(nothing, costs) + 0.02


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scales_of_costs_and_features_do_not_matter(data, scale):
    X, costs = data
    usual = DecisionPredictor(GRID, random_state=0, tol=1e-6).fit(X, costs)
    scaled = DecisionPredictor(GRID, random_state=0, tol=1e-6, fit_intercept=False)
    plain = DecisionPredictor(GRID, random_state=0, tol=1e-6, fit_intercept=False).fit(X, costs)
    np.testing.assert_allclose(
        DecisionPredictor(GRID, random_state=0, tol=1e-6).fit(X, scale * costs).predict_costs(X),
        scale * usual.predict_costs(X),
        rtol=0.05,
        atol=0.05 * scale,
    )
    found = scaled.fit(scale * X, costs)
    np.testing.assert_allclose(found.predict_costs(scale * X), plain.predict_costs(X), rtol=0.05, atol=0.05)


def test_early_stopping_takes_the_least_validation_regret(data):
    X, costs = data
    model = DecisionPredictor(GRID, early_stopping=True, regularization=0.001, random_state=3).fit(X, costs)
    assert model.certificate_.status.startswith("Early stopping")
    assert model.certificate_.gap == pytest.approx(model.certificate_.primal - model.certificate_.dual)
    left_out = np.random.default_rng([3, 1]).permutation(len(X))[: len(X) // 5]
    kept = np.setdiff1d(np.arange(len(X)), left_out)
    direct = DecisionPredictor(GRID, regularization=0.001, random_state=3).fit(X[kept], costs[kept])
    chosen, last = (one.score(X[left_out], costs[left_out]) for one in (model, direct))
    assert chosen >= last - 1e-12


def test_early_stopping_by_given_examples_trains_on_all(data, vertices):
    X, costs = data
    other_X, other_costs = examples(20, seed=5)
    model = DecisionPredictor(GRID, early_stopping=True, regularization=0.001, random_state=0)
    model.fit(X, costs, validation=(other_X, other_costs))
    least = float(model.certificate_.status.partition("regret, ")[2].partition(". ")[0])
    assert -model.score(other_X, other_costs) == pytest.approx(least, rel=1e-3)
    direct = DecisionPredictor(GRID, regularization=0.001, random_state=0).fit(X, costs)
    assert model.certificate_.dual == pytest.approx(direct.certificate_.dual, rel=1e-6)
    assert model.score(other_X, other_costs) >= direct.score(other_X, other_costs) - 1e-12


# ---- regret ---------------------------------------------------------------------------------------------


def test_regret_by_hand():
    costs, best, decided = [[1.0, 2.0], [3.0, 1.0]], [[1, 0], [0, 1]], [[1, 0], [1, 0]]
    assert regret(costs, decided, best).tolist() == [0, 2]
    assert regret(costs, best, decided, sense="max").tolist() == [0, 2]
    assert normalized_regret(costs, decided, best) == 1.0
    assert normalized_regret(costs, decided, best, sample_weight=[1, 0]) == 0.0
    with pytest.raises(ValueError, match="cost 0 in all"):
        normalized_regret([[0.0, 1.0]], [[0, 1]], [[1, 0]])
    with pytest.raises(ValueError, match="sense must be"):
        regret(costs, decided, best, sense="least")


def test_score_is_minus_the_normalised_regret(data, vertices):
    X, costs = data
    model = DecisionPredictor(GRID, random_state=0).fit(X, costs)
    decided = vertices[np.argmin(model.predict_costs(X) @ vertices.T, axis=1)]
    assert model.predict(X).tolist() == decided.astype(int).tolist()
    least = (costs @ vertices.T).min(axis=1)
    expected = ((costs * decided).sum(axis=1) - least).sum() / least.sum()
    assert model.score(X, costs) == pytest.approx(-expected)


# ---- data in every form ---------------------------------------------------------------------------------


def test_sparse_rows_and_frames_train_the_same_model(data):
    pandas = pytest.importorskip("pandas")
    X, costs = data
    usual = DecisionPredictor(GRID, tol=1e-6, random_state=0).fit(X, costs)
    frame = DecisionPredictor(GRID, tol=1e-6, random_state=0).fit(
        pandas.DataFrame(X, columns=["a", "b", "c"]), pandas.DataFrame(costs)
    )
    assert frame.weights_.tolist() == usual.weights_.tolist()
    assert frame.feature_names_in_.tolist() == ["a", "b", "c"]
    csr = DecisionPredictor(GRID, tol=1e-6, random_state=0).fit(sparse.csr_matrix(X), costs)
    assert csr.certificate_.primal == pytest.approx(usual.certificate_.primal, rel=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_features_of_parts_share_their_weights(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 12, 3))
    costs = X @ [1.0, -2.0, 0.5] + 8
    model = DecisionPredictor(GRID, loss=loss, random_state=0).fit(X, costs)
    assert model.coef_.shape == (3,)
    assert model.score(X, costs) > -0.02
    lists = DecisionPredictor(GRID, loss=loss, random_state=0).fit(
        [sparse.csr_matrix(one) for one in X], list(costs)
    )
    np.testing.assert_allclose(lists.predict_costs(list(X)), model.predict_costs(X), rtol=1e-3, atol=1e-3)


def test_examples_may_have_instances_of_their_own():
    rng = np.random.default_rng(0)
    kinds = [ShortestPath.grid(3, 3), ShortestPath.grid(2, 4), GRID.without([0])]
    instances = [kinds[i % 3] for i in range(30)]
    X = [rng.normal(size=(one.n_parts, 2)) for one in instances]
    costs = [x @ [1.0, -1.0] + 5 + rng.random(len(x)) for x in X]
    model = DecisionPredictor(regularization=0.1, random_state=0).fit(X, costs, instances=instances)
    assert model.score(X, costs, instances=instances) > -0.1
    assert all(z[0] == 0 for z in model.predict(X, instances=instances)[2::3])
    losses = []
    for x, c, one in zip(X, costs, instances):
        theta = -2 * (x @ model.coef_ + model.intercept_)
        best = one.maximize(-c)
        losses.append((theta + c) @ (one.maximize(theta + c) - best))
    primal = 0.05 * model.weights_ @ model.weights_ + np.mean(losses)
    assert model.certificate_.primal == pytest.approx(primal, abs=1e-12)


def test_known_costs_are_added_to_what_is_predicted(data, vertices):
    X, costs = data
    known = 5 * np.random.default_rng(1).random(costs.shape)
    model = DecisionPredictor(GRID, regularization=0.3, random_state=0).fit(
        X, costs + known, known_costs=known
    )
    predicted = X @ model.coef_.T + model.intercept_ + known
    np.testing.assert_allclose(model.predict_costs(X, known_costs=known), predicted, atol=1e-12)
    decided = vertices[np.argmin(predicted @ vertices.T, axis=1)]
    assert model.predict(X, known_costs=known).tolist() == decided.astype(int).tolist()
    losses = []
    for c, p in zip(costs + known, predicted):
        best = vertices[np.argmin(vertices @ c)]
        losses.append((vertices @ (c - 2 * p)).max() + 2 * p @ best - c @ best)
    primal = 0.15 * model.weights_ @ model.weights_ + np.mean(losses)
    assert model.certificate_.primal == pytest.approx(primal, abs=1e-12)
    assert model.score(X, costs + known, known_costs=known) > model.score(X, costs + known) + 0.05


def test_tables_of_a_matching_are_decided_as_the_flat_assignment():
    X, costs = examples(20, n_parts=6)
    tables = costs.reshape(-1, 2, 3)
    matched = DecisionPredictor(Matching(unmatched=False), random_state=0).fit(X, tables)
    flat = DecisionPredictor(Assignment(2, 3), random_state=0).fit(X, costs)
    assert matched.predict(X).shape == (20, 2, 3)
    assert matched.predict(X).reshape(20, -1).tolist() == flat.predict(X).tolist()


def test_an_oracle_of_ones_own_decides_too(data):
    X, costs = data

    class Cheapest:
        def maximize(self, theta):
            return np.eye(theta.size)[np.argmax(theta)]

    model = DecisionPredictor(Cheapest(), random_state=0).fit(X, costs)
    ours = DecisionPredictor(TopK(12, 1), random_state=0).fit(X, costs)
    assert model.certificate_.primal == pytest.approx(ours.certificate_.primal, rel=1e-3)

    class Dearest(Cheapest):
        def maximize(self, theta):
            return np.eye(theta.size)[np.argmin(theta)]

    with pytest.raises(OracleError, match="seems to minimise"):
        DecisionPredictor(Dearest()).fit(X, costs)


# ---- what comes after -----------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loaded_model_decides_alike(data, loss, tmp_path):
    X, costs = data
    model = DecisionPredictor(GRID.without([1]), loss=loss, random_state=0).fit(X, costs)
    model.save(tmp_path / "model")
    loaded = structlearn.load(tmp_path / "model")
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert not loaded.predict(X)[:, 1].any()
    assert loaded.predict_costs(X).tolist() == model.predict_costs(X).tolist()
    assert loaded.certificate_ == model.certificate_
    assert loaded.set_params(random_state=0).fit(X, costs).weights_.tolist() == model.weights_.tolist()


class Portfolio:
    """Positions z with z' risk z <= 1: a set with infinitely many corners."""

    def __init__(self, risk):
        self.risk = risk
        self.largest_entry = 1 / np.sqrt(np.linalg.eigvalsh(risk)[0])

    def maximize(self, theta):
        z = np.linalg.solve(self.risk, theta)
        return z / np.sqrt(max(theta @ z, 1e-300))

    def decode(self, z):
        return z


def test_an_oracle_of_a_set_that_is_no_polytope_has_a_true_certificate():
    """The optimum by a convex solver lies between D and P; max <theta, z> is ||theta|| by risk^-1."""
    rng = np.random.default_rng(0)
    half = rng.normal(size=(4, 4))
    oracle, X = Portfolio(half @ half.T + np.eye(4)), rng.normal(size=(30, 3))
    values = X @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(30, 4))
    model = DecisionPredictor(
        oracle, sense="max", regularization=0.1, tol=1e-7, fit_intercept=False, random_state=0
    ).fit(X, values)
    B, root = cvxpy.Variable((4, 3)), np.linalg.cholesky(np.linalg.inv(oracle.risk))
    thetas = [2 * (B @ x) - c for x, c in zip(X, values)]
    losses = [cvxpy.norm(root.T @ one) - one @ oracle.maximize(c) for one, c in zip(thetas, values)]
    least = cvxpy.Problem(cvxpy.Minimize(0.05 * cvxpy.sum_squares(B) + sum(losses) / 30)).solve("CLARABEL")
    history = model.history_
    assert (history["dual"] <= least + 1e-8).all()
    assert (history["primal"] >= least - 1e-8).all()
    assert model.certificate_.gap <= 1e-7 * history["primal"][0] + 1e-12
    assert -0.2 < model.score(X, values) < 0.0
    np.testing.assert_allclose(
        np.einsum("ni,ij,nj->n", *[model.predict(X), oracle.risk, model.predict(X)]), 1
    )


def test_tables_of_other_sizes_are_decided_about(tmp_path):
    """Parts with two axes, as many as each example has: the answers are matchings, also after loading."""
    rng = np.random.default_rng(4)
    X = [rng.normal(size=(m, n, 2)) for m, n in [(2, 3), (3, 3), (4, 2), (2, 3), (3, 4)]]
    model = DecisionPredictor(Matching(), sense="max", random_state=0).fit(X, [one @ [1, -2] for one in X])
    model.save(tmp_path / "model")
    for found, one in zip(structlearn.load(tmp_path / "model").predict(X), X):
        assert found.shape == one.shape[:2]
        assert found.sum(axis=0).max() <= 1
        assert found.sum(axis=1).max() <= 1
    assert model.score(X, [one @ [1, -2] for one in X]) == pytest.approx(0.0, abs=1e-12)


def test_a_loaded_model_of_instances_asks_for_them(tmp_path):
    X, costs = [np.ones((12, 1)), np.ones((10, 1))], [np.arange(1.0, 13), np.arange(1.0, 11)]
    instances = [GRID, ShortestPath.grid(2, 4)]
    model = DecisionPredictor(random_state=0).fit(X, costs, instances=instances)
    model.save(tmp_path / "model")
    loaded = structlearn.load(tmp_path / "model")
    assert [z.tolist() for z in loaded.predict(X, instances=instances)] == [
        z.tolist() for z in model.predict(X, instances=instances)
    ]
    with pytest.raises(ValueError, match="needs a structure"):
        loaded.predict(X)


def test_decisions_are_by_the_parameters_of_the_fit(data):
    X, costs = data
    model = DecisionPredictor(GRID, random_state=0).fit(X, costs)
    before = model.predict_costs(X)
    model.set_params(alpha=5.0, sense="max", fit_intercept=False)
    assert model.predict_costs(X).tolist() == before.tolist()


def test_paths_searches_warm_starts_and_clones(data):
    X, costs = data
    model = DecisionPredictor(GRID, random_state=0)
    models = regularization_path(model, X, costs, [1.0, 0.1])
    alone = clone(model).set_params(regularization=0.1).fit(X, costs)
    assert models[1].certificate_.primal == pytest.approx(alone.certificate_.primal, rel=3e-3)
    found = GridSearchCV(model, {"regularization": [10.0, 0.1]}, cv=2).fit(X, costs)
    assert found.best_score_ <= 0
    warm = DecisionPredictor(GRID, regularization=0.1, warm_start=True, tol=1e-6, random_state=0).fit(
        X, costs
    )
    cold = warm.certificate_.passes
    assert warm.fit(X, costs).certificate_.passes <= cold
    other = warm.set_params(structure=GRID.without([0])).fit(X, costs)
    fresh = clone(other).set_params(warm_start=False).fit(X, costs)
    assert other.certificate_.primal == pytest.approx(fresh.certificate_.primal, rel=1e-4)
    assert other.certificate_.dual <= fresh.certificate_.primal


def test_weights_of_examples_count_as_repetitions(data):
    X, costs = data
    weight = np.arange(len(X)) % 3
    repeated = np.repeat(np.arange(len(X)), weight)
    one = DecisionPredictor(GRID, regularization=0.1, tol=1e-6, random_state=0).fit(X, costs, weight)
    two = DecisionPredictor(GRID, regularization=0.1, tol=1e-6, random_state=0).fit(
        X[repeated], costs[repeated]
    )
    assert one.certificate_.primal == pytest.approx(two.certificate_.primal, rel=1e-4)


@pytest.mark.parametrize("solver", ["bcfw", "seg", "fw", "subgradient", "cutting-plane", "n-slack"])
def test_solvers_agree(data, solver):
    X, costs = data
    usual = DecisionPredictor(GRID, regularization=0.5, tol=1e-4, random_state=0).fit(X, costs)
    other = DecisionPredictor(
        GRID, regularization=0.5, solver=solver, max_passes=300, tol=1e-3, random_state=0
    )
    other.fit(X, costs)
    assert other.certificate_.primal == pytest.approx(usual.certificate_.primal, rel=0.02)
    assert other.certificate_.dual <= usual.certificate_.primal


# ---- refusals -------------------------------------------------------------------------------------------

X, COSTS = examples(6)
WRONG = {
    "NaN": (lambda: (X, np.where(COSTS.max() == COSTS, np.nan, COSTS)), {}, "are not finite: part"),
    "infinite": (lambda: (X, np.where(COSTS.max() == COSTS, np.inf, COSTS)), {}, "forbid the part"),
    "short": (lambda: (X, COSTS[:, :5]), {}, "12 parts; got 5"),
    "few": (lambda: (X, COSTS[:2]), {}, "6 examples but costs has 2"),
    "text": (lambda: (X, [["a"] * 12] * 6), {}, "not numbers"),
    "ragged": (lambda: (X, [*COSTS[:5], COSTS[5, :4]]), {}, "same parts in all examples"),
    "sense": (lambda: (X, COSTS), {"sense": "least"}, "sense"),
    "nothing": (lambda: (X, -COSTS[:, :3]), {"structure": Knapsack([1, 2, 3], 4), "sense": "max"}, "no part"),
    "loss": (lambda: (X, COSTS), {"loss": "hinge"}, "Unknown loss"),
    "alpha": (lambda: (X, COSTS), {"alpha": -1.0}, "alpha must be above 0"),
    "structure": (lambda: (X, COSTS), {"structure": None}, "needs a structure"),
    "samples": (lambda: (X, COSTS), {"loss": "perturbed", "n_samples": 0}, "n_samples must be"),
    "fraction": (lambda: (X, COSTS), {"validation_fraction": 1.5}, "between 0 and 1"),
    "regularization": (lambda: (X, COSTS), {"regularization": "automatic"}, "'auto' or a number"),
    "one of a kind": (lambda: (X[:1], COSTS[:1]), {"early_stopping": True}, "no example to train on"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_answered_by_a_sentence(name):
    make, parameters, sentence = WRONG[name]
    model = DecisionPredictor(**{"structure": GRID, **parameters})
    with pytest.raises((ValueError, TypeError), match=sentence):
        model.fit(*make())


def test_cycles_of_negative_cost_are_named():
    ring = ShortestPath([(0, 1), (1, 2), (2, 1), (2, 3)], 0, 3)
    with pytest.raises(ValueError, match=r"cycle (1 -> 2 -> 1|2 -> 1 -> 2) "):
        DecisionPredictor(ring, loss="two-stage").fit(np.ones((1, 1)), [[1.0, -2.0, 1.0, 1.0]])


def test_other_features_than_those_of_the_fit_are_refused(data):
    model = DecisionPredictor(GRID, random_state=0).fit(*data)
    with pytest.raises(ValueError, match="one row of features per example"):
        model.predict(np.zeros((2, 12, 3)))
    with pytest.raises(ValueError, match="2 features"):
        model.predict(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="one structure per example"):
        model.predict(np.zeros((2, 3)), instances=[GRID])
