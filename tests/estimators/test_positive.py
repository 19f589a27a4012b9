"""Weights that are not negative (`positive=True`): optima, senses, paths, files and refusals."""

from itertools import combinations, pairwise

import cvxpy
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone

import structlearn
from own_structures import ChooseTwo, choose_two
from structlearn import (
    DecisionPredictor,
    NothingLearnedWarning,
    StructuredPredictor,
    regularization_path,
    regularization_values,
)
from structlearn.estimators.decisions import two_stage
from structlearn.solvers import BlockFrankWolfe, Checkpoint
from structlearn.structures import TopK

RNG = np.random.default_rng(0)
X = [RNG.normal(size=(size, 5)) for size in [4, 5, 6] * 8]
Y = [ChooseTwo().maximize(x @ [1.0, -1.0, 0.5, -0.3, 2.0] + RNG.normal(size=len(x))) for x in X]
CHOICES = TopK(5, 2)
VERTICES = np.array([np.isin(np.arange(5), pair) * 1.0 for pair in combinations(range(5), 2)])
ROWS = RNG.normal(size=(30, 3))
COSTS = ROWS @ RNG.normal(size=(3, 5)) + 0.5 * RNG.normal(size=(30, 5)) - 0.5
PART_ROWS = RNG.normal(size=(30, 5, 3))
LOSSES = ("spo+", "imitation", "perturbed", "sparsemax", "two-stage")


def predictor(**options):
    return StructuredPredictor(choose_two, **{"random_state": 0, "positive": True, **options})


def decider(**options):
    return DecisionPredictor(CHOICES, **{"random_state": 0, "positive": True, **options})


def hinge_optimum(vertices, features, gold, costs, strength):
    """min over w >= 0 of strength/2 ||w||^2 + mean hinge, by an interior-point method over all vertices."""
    w, slack = cvxpy.Variable(features[0].shape[1], nonneg=True), cvxpy.Variable(len(features))
    limits = [
        slack[i] >= (V - mu) @ F @ w + (V - mu) @ c
        for i, (V, F, mu, c) in enumerate(zip(vertices, features, gold, costs))
    ]
    value = strength / 2 * cvxpy.sum_squares(w) + cvxpy.sum(slack) / len(features)
    return cvxpy.Problem(cvxpy.Minimize(value), limits).solve(solver="CLARABEL")


# ---- optima ---------------------------------------------------------------------------------------------


def test_the_hinge_is_minimised_as_by_a_convex_solver():
    free = predictor(positive=False, regularization=0.05, tol=1e-6).fit(X, Y)
    assert free.coef_.min() < -0.1
    model = predictor(regularization=0.05, tol=1e-6).fit(X, Y)
    vertices = [
        np.array([np.isin(np.arange(len(x)), pair) * 1.0 for pair in combinations(range(len(x)), 2)])
        for x in X
    ]
    costs = [(1 - 2 * np.asarray(mu)) / len(mu) for mu in Y]
    optimum = hinge_optimum(vertices, X, Y, costs, 0.05)
    assert model.certificate_.converged
    assert model.certificate_.primal == pytest.approx(optimum, abs=2e-6)
    assert model.certificate_.dual <= optimum + 1e-7
    assert (model.coef_ >= 0).all()
    assert (model.coef_ == 0).any()
    assert model.certificate_.primal > free.certificate_.primal
    assert (model.history_.dual <= optimum + 1e-7).all()


@pytest.mark.parametrize("sense", ["min", "max"])
def test_spo_plus_is_minimised_over_weights_of_costs_that_are_not_negative(sense):
    model = decider(sense=sense, regularization=0.2, tol=1e-7).fit(ROWS, COSTS)
    sign = -1.0 if sense == "min" else 1.0
    rows = np.c_[ROWS, np.ones(30)]
    features = [2 * sign * np.kron(np.eye(5), row) for row in rows]  # scores are s alpha c_hat
    gold = VERTICES[np.argmax(sign * COSTS @ VERTICES.T, axis=1)]
    optimum = hinge_optimum([VERTICES] * 30, features, gold, -sign * COSTS, 0.2)
    assert model.certificate_.converged
    assert model.certificate_.primal == pytest.approx(optimum, rel=1e-5)
    assert model.certificate_.dual <= optimum * (1 + 1e-7)
    assert min(model.coef_.min(), model.intercept_.min()) == 0
    np.testing.assert_allclose(model.predict_costs(ROWS), ROWS @ model.coef_.T + model.intercept_)


@pytest.mark.parametrize("of_parts", [False, True])
@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("loss", LOSSES)
def test_predicted_costs_rise_with_every_feature(loss, sense, of_parts):
    rows = PART_ROWS if of_parts else ROWS
    costs = PART_ROWS @ [2.0, -2.0, 1.0] if of_parts else COSTS
    free = decider(loss=loss, sense=sense, positive=False).fit(rows, costs)
    model = decider(loss=loss, sense=sense).fit(rows, costs)
    assert free.weights_.min() < 0 <= model.weights_.min()
    assert model.certificate_.converged
    assert model.weights_.any()
    assert model.certificate_.dual <= model.certificate_.primal
    risen = model.predict_costs(rows + RNG.random(rows.shape)) - model.predict_costs(rows)
    assert (risen >= 0).all()


def test_known_costs_are_not_constrained():
    known = -1 - RNG.random((30, 5))
    model = decider().fit(ROWS, COSTS, known_costs=known)
    np.testing.assert_allclose(
        model.predict_costs(ROWS, known_costs=known), model.predict_costs(ROWS) + known, atol=1e-12
    )
    assert model.weights_.min() >= 0


@pytest.mark.parametrize("most_active", [two_stage.MOST_ACTIVE, 1])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_two_stages_are_non_negative_ridge_regression(form, most_active, monkeypatch):
    monkeypatch.setattr(two_stage, "MOST_ACTIVE", most_active)  # beyond it, by descent
    model = decider(loss="two-stage", regularization=0.1, tol=1e-9).fit(form(ROWS), COSTS)
    rows = np.r_[np.c_[ROWS, np.ones(30)] / np.sqrt(30), np.sqrt(0.1) * np.eye(4)]
    targets = np.r_[COSTS / np.sqrt(30), np.zeros((4, 5))]
    B = np.stack([nnls(rows, column)[0] for column in targets.T])
    np.testing.assert_allclose(np.c_[model.coef_, model.intercept_], B, atol=1e-7)
    assert (model.weights_ == 0).any()
    assert model.certificate_.converged
    primal = ((targets - rows @ B.T) ** 2).sum() / 2
    assert model.certificate_.dual <= primal * (1 + 1e-12) <= model.certificate_.primal * (1 + 1e-9)


def test_two_stages_without_features_predict_nothing():
    model = decider(loss="two-stage", fit_intercept=False).fit(np.zeros((30, 3)), COSTS)
    assert not model.predict_costs(np.ones((1, 3))).any()


def test_two_stages_are_ridge_regression_where_that_is_not_negative():
    rows = np.abs(ROWS)
    costs = rows @ RNG.random((3, 5)) + 3
    free, bound = (
        decider(loss="two-stage", positive=one, regularization=0.01).fit(rows, costs) for one in (False, True)
    )
    assert free.weights_.min() > 0
    np.testing.assert_allclose(bound.weights_, free.weights_, rtol=1e-6)


def test_weights_that_are_all_zero_name_the_constraint():
    """Features of the best parts are negative, so that no positive weight helps."""
    rows = -VERTICES[np.argmin(COSTS @ VERTICES.T, axis=1)][:, :, None]
    with pytest.warns(NothingLearnedWarning, match="All weights are zero: train with positive=False or a"):
        model = decider(fit_intercept=False, sense="max").fit(rows, -COSTS)
    assert model.certificate_.converged
    assert not model.weights_.any()


def test_early_stopping_takes_weights_that_are_not_negative():
    model = decider(early_stopping=True).fit(ROWS, COSTS)
    assert model.weights_.min() >= 0


# ---- what else a fit has ----------------------------------------------------------------------------------


def test_paths_of_lambda_and_warm_starts_stay_above_zero():
    values = regularization_values(decider(), ROWS, COSTS, 4, width=1e-3)
    for model in regularization_path(decider(tol=1e-5), ROWS, COSTS, values):
        alone = decider(tol=1e-5, regularization=model.regularization).fit(ROWS, COSTS)
        scale = alone.certificate_.tolerance
        assert model.weights_.min() >= 0
        assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, abs=2 * scale)
    model = predictor(positive=False, warm_start=True, tol=1e-6).fit(X, Y)
    assert model.weights_.min() < 0
    model.set_params(positive=True).fit(X, Y)
    alone = predictor(tol=1e-6).fit(X, Y)
    assert model.weights_.min() >= 0
    assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, abs=2e-6)


def test_a_path_with_a_gap_keeps_its_promise():
    """Between two models of the path, the earlier one is within the gap of the optimum."""
    models = regularization_path(predictor(), X, Y, [1.0, 0.05], gap=0.05)
    assert len(models) > 2
    for model, after in pairwise(models):
        between = (model.regularization + after.regularization) / 2
        alone = predictor(regularization=between, tol=1e-6).fit(X, Y)
        shift = (between - model.regularization) / 2 * float(model.weights_ @ model.weights_)
        here = model.certificate_.primal + shift
        assert here - alone.certificate_.dual <= 0.05 + 1e-6


def test_the_strongest_lambda_follows_from_what_positive_weights_can_gain():
    """At it the objective falls by at most half of P(0); with free weights it may fall further."""
    strongest = regularization_values(predictor(), X, Y, 1)[0]
    assert strongest <= regularization_values(predictor(positive=False), X, Y, 1)[0]
    model = predictor(regularization=strongest, tol=1e-6).fit(X, Y)
    zero = model.history_.primal[0]
    assert 0.49 * zero <= model.certificate_.dual <= model.certificate_.primal <= zero


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    options = {"tol": 0.0, "regularization": 0.05}
    whole = predictor(max_passes=12, **options)
    with pytest.warns(Warning, match="Stopped after"):
        whole.fit(X, Y)
    with pytest.warns(Warning, match="Stopped after"):
        predictor(max_passes=5, checkpoint=Checkpoint(tmp_path, 0.0), **options).fit(X, Y)
    again = predictor(max_passes=12, checkpoint=Checkpoint(tmp_path, 0.0, resume=True), **options)
    with pytest.raises(ValueError, match="checkpoint"):
        clone(again).set_params(positive=False).fit(X, Y)
    with pytest.warns(Warning, match="Stopped after"):
        again.fit(X, Y)
    np.testing.assert_array_equal(again.weights_, whole.weights_)
    assert again.history_.primal.tolist() == whole.history_.primal.tolist()


def test_files_and_clones_keep_it(tmp_path):
    model = decider(sense="max").fit(ROWS, COSTS)
    model.save(tmp_path / "model.safetensors")
    loaded = structlearn.load(tmp_path / "model.safetensors")
    assert loaded.positive is True
    np.testing.assert_array_equal(loaded.weights_, model.weights_)
    np.testing.assert_array_equal(loaded.predict_costs(ROWS), model.predict_costs(ROWS))
    assert clone(model).positive is True
    assert DecisionPredictor(CHOICES).get_params()["positive"] is False


@pytest.mark.parametrize("kind", ["StructuredPredictor", "DecisionPredictor"])
def test_files_from_before_it_are_read(kind, tmp_path):
    from structlearn.storage.model_file import ModelFile, write_model

    model = decider(positive=False).fit(ROWS, COSTS) if kind[0] == "D" else predictor().fit(X, Y)
    model.save(tmp_path / "now.safetensors")
    file = ModelFile(tmp_path / "now.safetensors")
    header = {**file.header, "parameters": {**file.header["parameters"]}}
    del header["parameters"]["positive"]
    write_model(tmp_path / "old.safetensors", header, {name: file.load(name) for name in file.shapes})
    own = {} if kind[0] == "D" else {"structure": choose_two}
    loaded = structlearn.load(tmp_path / "old.safetensors", **own)
    assert loaded.positive is False
    np.testing.assert_array_equal(loaded.weights_, model.weights_)


# ---- solvers and refusals ---------------------------------------------------------------------------------


def test_smooth_losses_are_trained_by_both_solvers():
    found = [
        predictor(loss="sparsemax", solver=solver, regularization=0.05, tol=1e-6).fit(X, Y)
        for solver in ("auto", "proximal")
    ]
    for model, other in zip(found, found[::-1]):
        assert model.certificate_.converged
        assert model.certificate_.dual <= other.certificate_.primal
        assert model.weights_.min() == 0


@pytest.mark.parametrize("solver", ["bcfw", "fw", "cutting-plane", "n-slack", "subgradient", "extragradient"])
def test_other_solvers_are_refused_by_a_sentence_that_names_those_that_serve(solver):
    with pytest.raises(ValueError, match="with positive=True; use one of 'stochastic-extragradient'"):
        predictor(solver=solver).fit(X, Y)
    with pytest.raises(ValueError, match="'stochastic-extragradient', 'proximal'"):
        decider(solver="lbfgs", loss="sparsemax").fit(ROWS, COSTS)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"solver": BlockFrankWolfe()}, "BlockFrankWolfe does not take positive=True; use solver='auto'"),
        ({"loss": "perceptron"}, "positive=True does not go with loss='perceptron'; use loss='hinge'"),
        ({"regularization": 0}, "with positive=True needs regularization > 0; raise it"),
        ({"positive": "yes"}, "positive must be True or False; got 'yes'"),
        ({"positive": None}, "positive must be True or False; got None"),
    ],
)
def test_what_it_does_not_go_with_is_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        predictor(**options).fit(X, Y)
