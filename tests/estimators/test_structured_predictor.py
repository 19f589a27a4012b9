"""What `StructuredPredictor` takes: sparse features, plain functions, costs; and what it says of threads."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import structlearn
from own_structures import ChooseTwo, choose_two
from structlearn import ChainClassifier, OracleError, StructuredPredictor
from structlearn.losses import FenchelYoungLoss, Zero
from structlearn.scoring import PartScoring
from structlearn.scoring.parts.sparse_parts import SparsePartScoring

RNG = np.random.default_rng(0)
X = [RNG.normal(size=(size, 6)) * (RNG.random((size, 6)) < 0.5) for size in [4, 5, 6] * 8]
Y = [ChooseTwo().maximize(x @ [1.0, -1.0, 0.5, 0.0, 2.0, 0.3]) for x in X]


def best_two(theta):
    return ChooseTwo().maximize(theta)


def best_two_with_value(theta):
    vertex = ChooseTwo().maximize(theta)
    return vertex, float(theta @ vertex)


# ---- sparse features ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_features_are_taken(form):
    given = [form(x) for x in X]
    dense = StructuredPredictor(choose_two, random_state=0).fit(X, Y)
    model = StructuredPredictor(choose_two, random_state=0).fit(given, Y)
    assert model.certificate_.dual <= dense.certificate_.primal
    assert dense.certificate_.dual <= model.certificate_.primal
    scores, expected = (np.concatenate(model.decision_function(one)) for one in (given, X))
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    np.testing.assert_array_equal(np.concatenate(model.predict(given)), np.concatenate(model.predict(X)))
    assert model.score(given, Y) == model.score(X, Y)


@pytest.mark.parametrize("solver", ["bcfw", "fw", "cutting-plane", "n-slack", "subgradient", "extragradient"])
def test_every_solver_scores_sparse_features(solver):
    options = {"solver": solver, "tol": 0.02, "regularization": 0.1, "random_state": 0, "fit_intercept": True}
    dense = StructuredPredictor(ChooseTwo(), **options).fit(X, Y)
    model = StructuredPredictor(ChooseTwo(), **options).fit([sparse.csr_array(x) for x in X], Y)
    assert model.certificate_.primal == pytest.approx(dense.certificate_.primal, abs=0.02)
    assert model.certificate_.dual <= dense.certificate_.primal


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sparse_parts_are_scored_as_dense_ones(intercept, kind):
    shapes = np.array([(len(x), 1) for x in X])
    F = np.concatenate(X).astype(kind)
    options = {"sizes": shapes[:, 0], "intercept": intercept}
    dense, rare = PartScoring(F, shapes, **options), SparsePartScoring(sparse.csr_array(F), shapes, **options)
    w, delta = RNG.normal(size=dense.n_weights), RNG.normal(size=len(F))
    np.testing.assert_allclose(rare.scores(w, 2, 9), dense.scores(w, 2, 9))
    np.testing.assert_allclose(rare.part_norms(2, 9), dense.part_norms(2, 9))
    found, wanted = np.zeros_like(w), np.zeros_like(w)
    rare.pullback(delta, 0, len(X), found)
    dense.pullback(delta, 0, len(X), wanted)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


# ---- functions as structures ------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [best_two, best_two_with_value])
def test_a_plain_function_is_a_structure(function, tmp_path):
    model = StructuredPredictor(function, random_state=0).fit(X, Y)
    reference = StructuredPredictor(ChooseTwo(), random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.weights_, reference.weights_)
    again = clone(model)
    assert again.structure is function
    np.testing.assert_array_equal(again.fit(X, Y).weights_, model.weights_)
    expected = np.concatenate(model.predict(X))
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301  (our own)
    np.testing.assert_array_equal(np.concatenate(copy.predict(X)), expected)
    model.save(tmp_path / "two.model")
    loaded = structlearn.load(tmp_path / "two.model", structure=function)
    np.testing.assert_array_equal(np.concatenate(loaded.predict(X)), expected)
    with pytest.raises(ValueError, match="structure of the user's own: pass it"):
        structlearn.load(tmp_path / "two.model")


def test_a_value_that_is_not_that_of_the_vertex_is_refused():
    def wrong(theta):
        return best_two(theta), 7.0

    with pytest.raises(OracleError, match="returned the value 7, but its vertex has the score"):
        StructuredPredictor(wrong).fit(X, Y)


# ---- threads and costs -------------------------------------------------------------------------------------


def test_threads_that_python_does_not_use_are_told_of():
    with pytest.warns(UserWarning, match="n_jobs serves a `maximize` in plain Python only where"):
        StructuredPredictor(ChooseTwo(), n_jobs=2, random_state=0).fit(X, Y)
    StructuredPredictor(choose_two, n_jobs=2, random_state=0).fit(X, Y)  # warnings are errors


def test_a_cost_that_is_a_function_is_refused():
    for model, outputs in (
        (StructuredPredictor(ChooseTwo()), Y),
        (ChainClassifier(loss="hinge"), [np.arange(len(x)) % 2 for x in X]),
    ):
        with pytest.raises(
            TypeError, match=r"not a function; a structure of your own may have a method cost\(mu\)"
        ):
            model.set_params(cost=lambda mu: mu).fit(X, outputs)
    with pytest.raises(TypeError, match="not a function"):
        FenchelYoungLoss(ChooseTwo(), Zero(), cost=lambda mu: mu).value(np.ones(4), [1, 1, 0, 0])


def test_cost_weights_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"one per part, of shape \(4,\); got \(3,\)"):
        StructuredPredictor(ChooseTwo(), cost=[1.0, 2.0, 3.0]).fit(X, Y)


def test_no_examples_have_no_predictions():
    model = StructuredPredictor(ChooseTwo(), random_state=0).fit(X, Y)
    for nothing in ([], (), np.empty((0, 4, 6))):
        assert model.predict(nothing) == []
