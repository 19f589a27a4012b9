"""Smooth losses, sparse penalties and two classes: against enumeration and scikit-learn; refusals."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import structlearn
from structlearn import (
    BinaryClassifier,
    ChainClassifier,
    MatchingClassifier,
    MulticlassClassifier,
    MultiLabelClassifier,
    StructuredPredictor,
)
from structlearn.data import make_chains, make_matchings, make_multilabel
from structlearn.structures import Simplex


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def two():
    return make_classification(n_samples=120, n_features=6, flip_y=0.1, random_state=0)


@pytest.fixture(scope="module")
def chains():
    X, y = make_chains(25, (2, 4), 3, 5, 0)
    return X, [np.array(list("abc"))[one] for one in y]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator",
    [BinaryClassifier(), BinaryClassifier(loss="logistic"), MulticlassClassifier(loss="softmax")],
    ids=["binary", "logistic", "softmax"],
)
def test_scikit_learns_own_checks(estimator):
    failed = [
        check
        for check in check_estimator(estimator, on_fail=None, on_skip=None)
        if check["status"] == "failed"
    ]
    assert not failed, failed


# ---- one of K ------------------------------------------------------------------------------------------


def test_softmax_is_multinomial_logistic_regression(iris):
    X, y = iris
    ours = MulticlassClassifier(loss="softmax", fit_intercept=False, tol=1e-9).fit(X, y)
    theirs = LogisticRegression(C=1 / (0.01 * len(y)), fit_intercept=False, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("loss", ["softmax", "sparsemax", "entmax15"])
@pytest.mark.parametrize("solver", ["sdca", "lbfgs", "proximal"])
def test_losses_and_solvers_agree(iris, loss, solver):
    X, y = iris
    model = MulticlassClassifier(loss=loss, solver=solver, tol=1e-5, random_state=0).fit(X, y)
    reference = MulticlassClassifier(loss=loss, solver="lbfgs", tol=1e-7).fit(X, y)
    assert model.certificate_.primal == pytest.approx(reference.certificate_.primal, abs=2e-5)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.classes_[probabilities.argmax(axis=1)])
    assert ((probabilities == 0).any()) == (loss != "softmax")


@pytest.mark.parametrize("penalty", ["l1", "group"])
def test_sparse_penalties_let_features_vanish(iris, penalty):
    X, y = iris
    X = np.column_stack([X, 0.3 * np.random.default_rng(0).normal(size=(len(y), 5))])
    model = MulticlassClassifier(loss="softmax", penalty=penalty, regularization=0.05, tol=1e-5).fit(X, y)
    used = (model.coef_ != 0).any(axis=0)
    assert not used[4:].any()
    assert used[:4].any()
    assert model.certificate_.converged


@pytest.mark.parametrize("solver", ["auto", "bcfw"])
def test_the_hinge_is_the_svm_of_crammer_and_singer(iris, solver):
    X, y = iris
    # a gap of 1e-8 puts no weight further than sqrt(2 gap / lambda) = 1.4e-3 from the optimum
    shared = {"loss": "hinge", "fit_intercept": False, "tol": 1e-8, "random_state": 0}
    model = MulticlassClassifier(solver=solver, max_passes=20000, **shared).fit(X, y)
    theirs = LinearSVC(
        multi_class="crammer_singer", C=1 / (0.01 * len(y)), fit_intercept=False, tol=1e-8, max_iter=100000
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=2e-3)


# ---- two classes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "coordinate-ascent", "projected-gradient", "bcfw"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_the_dual_of_the_binary_hinge(two, solver, storage):
    X, y = two
    shared = {"loss": "hinge", "tol": 1e-6, "random_state": 0, "fit_intercept": False}
    model = BinaryClassifier(solver=solver, **shared).fit(storage(X), y)
    theirs = LinearSVC(loss="hinge", C=1 / (0.01 * len(y)), fit_intercept=False, tol=1e-9, max_iter=10**6)
    theirs.fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=5e-3)
    w, z = model.weights_, model.dual_coef_[0]
    np.testing.assert_allclose(model.dual_coef_ @ X, model.coef_, atol=1e-3)
    assert (z[y == 1] >= 0).all()
    assert (z[y == 0] <= 0).all()
    assert np.abs(z).max() <= 1 / (0.01 * len(y)) + 1e-12  # the box
    margins = (2 * y - 1) * (X @ w)
    assert not np.intersect1d(np.flatnonzero(margins > 1 + 0.05), model.support_).size


@pytest.mark.parametrize("solver", ["coordinate-ascent", "projected-gradient", "bcfw"])
@pytest.mark.parametrize("max_passes", [1, 3, 1000])
@pytest.mark.parametrize("options", [{}, {"averaging": True}], ids=["last", "averaged"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_dual_coefficients_are_a_dual_point(two, solver, max_passes, options):
    """Converged or not: in the box, with a dual value that bounds their distance from the weights."""
    if options and solver == "projected-gradient":
        pytest.skip("has no averages")
    X, y = two
    lam, sign, n = 1e-3, 2 * y - 1, len(y)
    model = BinaryClassifier(
        solver=solver,
        max_passes=max_passes,
        regularization=lam,
        random_state=0,
        fit_intercept=False,
        solver_options=options,
    ).fit(X, y)
    alpha = model.dual_coef_[0] * sign * lam * n
    assert -1e-12 <= alpha.min() <= alpha.max() <= 1 + 1e-12
    w = model.dual_coef_[0] @ X
    dual = alpha.mean() - lam / 2 * w @ w
    primal = np.maximum(0, 1 - sign * (X @ model.weights_)).mean() + lam / 2 * model.weights_ @ model.weights_
    assert model.certificate_.primal == pytest.approx(primal)
    assert dual <= model.certificate_.dual + 1e-9
    assert np.sum((model.weights_ - w) ** 2) <= 2 / lam * (primal - dual) + 1e-9


def test_the_margin_scales_the_hinge(two):
    X, y = two
    one = BinaryClassifier(fit_intercept=False, tol=1e-8, random_state=0).fit(X, y)
    two_wide = BinaryClassifier(
        fit_intercept=False, tol=1e-8, margin=2.0, regularization=0.005, random_state=0
    )
    two_wide.fit(X, y)
    scores = X @ two_wide.coef_[0] * (2 * y - 1)
    primal = 0.0025 * np.sum(two_wide.coef_**2) + np.maximum(0, 2 - scores).mean()
    assert two_wide.certificate_.primal == pytest.approx(primal)
    assert one.certificate_.converged


@pytest.mark.parametrize("solver", ["lbfgs", "sdca", "gradient", "proximal"])
def test_logistic_regression(two, solver):
    X, y = two
    model = BinaryClassifier(loss="logistic", solver=solver, tol=1e-7, fit_intercept=False, random_state=0)
    model.fit(X, y)
    theirs = LogisticRegression(C=1 / (0.01 * len(y)), fit_intercept=False, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=2e-3)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-3)


# ---- structures ----------------------------------------------------------------------------------------


def sequence_scores(model, x):
    """Scores of all label sequences of one example."""
    unary = x @ model.coef_.T + model.intercept_
    found = {}
    for y in product(range(3), repeat=len(x)):
        value = sum(unary[t, k] for t, k in enumerate(y))
        found[y] = value + sum(model.transition_coef_[a, b] for a, b in pairwise(y))
    return found


@pytest.fixture(scope="module")
def crf(chains):
    return ChainClassifier(loss="softmax", random_state=0, tol=1e-4).fit(*chains)


def test_a_crf_is_the_gibbs_distribution_of_its_scores(crf, chains):
    X, y = chains
    scores = sequence_scores(crf, X[0])
    values = np.array(list(scores.values()))
    weights = np.exp(values - values.max())
    outputs = np.array(list(scores))
    marginals = crf.predict_marginals(X)[0]
    for t, k in product(range(len(X[0])), range(3)):
        expected = weights[outputs[:, t] == k].sum() / weights.sum()
        assert marginals[t, k] == pytest.approx(expected, abs=1e-9)
    codes = [np.searchsorted(crf.classes_, one) for one in y]
    losses = [
        np.logaddexp.reduce(list(s.values())) - s[tuple(c)]
        for s, c in zip((sequence_scores(crf, x) for x in X), codes)
    ]
    assert crf.certificate_.primal == pytest.approx(
        0.005 * np.sum(crf.weights_**2) + np.mean(losses), abs=1e-9
    )


def test_the_k_best_sequences_are_the_best_of_all(crf, chains):
    x = chains[0][0]
    found = crf.predict_kbest([x], k=4)[0]
    scores = sorted(sequence_scores(crf, x).values(), reverse=True)
    np.testing.assert_allclose([score for _, score in found], scores[:4])
    np.testing.assert_array_equal(found[0][0], crf.predict([x])[0])


def test_samples_follow_the_marginals(crf, chains):
    x = chains[0][0]
    drawn = crf.sample([x], 20000, random_state=0)[0]
    frequency = np.stack([(drawn == label).mean(axis=0) for label in crf.classes_], axis=1)
    np.testing.assert_allclose(frequency, crf.predict_marginals([x])[0], atol=0.02)


@pytest.mark.parametrize(
    ("loss", "solver", "other"), [("softmax", "sdca", "lbfgs"), ("sparsemax", "auto", "sdca")]
)
def test_chains_reach_one_optimum(chains, loss, solver, other):
    X, y = chains
    model = ChainClassifier(loss=loss, solver=solver, regularization=0.1, tol=1e-4, random_state=0).fit(X, y)
    assert model.certificate_.converged
    reference = ChainClassifier(loss=loss, solver=other, regularization=0.1, tol=1e-5, random_state=1).fit(
        X, y
    )
    assert model.certificate_.primal == pytest.approx(reference.certificate_.primal, abs=2e-4)


def test_label_sets_with_every_loss():
    X, Y = make_multilabel(80, 4, 6, 0)
    for loss, edges in product(("softmax", "sparsemax"), ("tree", "none")):
        model = MultiLabelClassifier(loss=loss, edges=edges, regularization=0.1, random_state=0).fit(X, Y)
        marginals = model.predict_marginals(X)
        assert ((marginals >= 0) & (marginals <= 1)).all()
        assert model.certificate_.converged
        if edges == "none":
            np.testing.assert_array_equal(model.predict(X), marginals > 0.5)


def test_matchings_with_the_sparsemax_loss():
    X, y = make_matchings(20, 3, 4, 4, 0)
    model = MatchingClassifier(loss="sparsemax", regularization=0.1, random_state=0).fit(X, y)
    for table, links in zip(model.predict_marginals(X), model.predict(X)):
        assert table.sum(axis=1).max() <= 1 + 1e-9
        assert (table[links == 1] > 0.2).all()
    assert model.certificate_.converged


def test_own_structures_with_the_sparsemax_loss(iris):
    X, y = iris
    codes = np.searchsorted(np.unique(y), y)
    blocks = [np.kron(np.eye(3), x) for x in X[::5]]
    outputs = [np.eye(3)[k] for k in codes[::5]]
    plain = type("Plain", (), {"maximize": lambda self, theta: np.eye(3)[np.argmax(theta)]})()
    first = StructuredPredictor(plain, loss="sparsemax", random_state=0, tol=1e-4).fit(blocks, outputs)
    second = StructuredPredictor(Simplex(3), loss="sparsemax", random_state=0, tol=1e-4)
    second.fit(blocks, list(codes[::5]))
    assert first.certificate_.primal == pytest.approx(second.certificate_.primal, abs=2e-4)


# ---- refusals ------------------------------------------------------------------------------------------


def test_what_cannot_be_is_refused_with_what_to_use_instead(iris, two, chains):
    matchings = make_matchings(5, 2, 2, 3, 0)
    with pytest.raises((TypeError, ValueError), match=r"softmax|#P-hard"):
        MatchingClassifier(loss="softmax").fit(*matchings)
    with pytest.raises(ValueError, match="needs a smooth loss"):
        MulticlassClassifier(loss="hinge", penalty="l1").fit(*iris)
    with pytest.raises(ValueError, match="'proximal'"):
        MulticlassClassifier(loss="softmax", penalty="l1", solver="lbfgs").fit(*iris)
    with pytest.raises(ValueError, match="Unknown penalty 'l3'"):
        MulticlassClassifier(loss="softmax", penalty="l3").fit(*iris)
    with pytest.raises(ValueError, match="cannot train loss='softmax'"):
        ChainClassifier(loss="softmax", solver="bcfw").fit(*chains)
    with pytest.raises(ValueError, match="use MulticlassClassifier"):
        BinaryClassifier().fit(*iris)
    with pytest.raises(ValueError, match="margin must be above 0"):
        BinaryClassifier(margin=0).fit(*two)
    with pytest.raises(AttributeError, match="train with loss='softmax'"):
        ChainClassifier(loss="hinge", tol=1.0).fit(*chains).predict_marginals(chains[0])
    assert not hasattr(MulticlassClassifier(loss="hinge"), "predict_proba")


def test_smooth_models_survive_saving(crf, chains, tmp_path):
    crf.save(tmp_path / "crf.safetensors")
    again = structlearn.load(tmp_path / "crf.safetensors")
    for one, other in zip(crf.predict_marginals(chains[0]), again.predict_marginals(chains[0])):
        np.testing.assert_array_equal(one, other)


def test_running_out_of_passes_warns(iris):
    with pytest.warns(ConvergenceWarning, match="max_passes=2"):
        MulticlassClassifier(loss="softmax", max_passes=2).fit(*iris)


def test_softmax_of_two_classes_is_logistic_regression(two):
    X, y = two
    models = [
        BinaryClassifier(loss=loss, tol=1e-8, random_state=0).fit(X, y) for loss in ("softmax", "logistic")
    ]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_)
    np.testing.assert_allclose(
        models[0].predict_proba(X)[:, 1], 1 / (1 + np.exp(-models[0].decision_function(X)))
    )


def test_sparsemax_of_two_classes(two):
    """The loss is 1/2 (p - s)^2 - ... of a clipped score s: by the definition, on a grid of p."""
    X, y = two
    model = BinaryClassifier(loss="sparsemax", regularization=0.05, tol=1e-9, random_state=0).fit(X, y)
    scores, gold = model.decision_function(X), (y == model.classes_[1]).astype(float)
    p = np.linspace(0, 1, 10_001)
    best = (scores[:, None] * p - 0.5 * p**2).max(axis=1)
    primal = 0.025 * model.weights_ @ model.weights_ + np.mean(best + 0.5 * gold**2 - scores * gold)
    np.testing.assert_allclose(model.certificate_.primal, primal, atol=1e-7)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities[:, 1], np.clip(scores, 0, 1), atol=1e-9)
