"""scikit-learn's conventions, the attributes of the design's section 6, and what parameters mean."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from own_structures import ChooseTwo, CompiledChooseTwo, choose_two
from structlearn import (
    BinaryClassifier,
    ChainClassifier,
    MatchingClassifier,
    MulticlassClassifier,
    MultiLabelClassifier,
    StructuredPredictor,
)
from structlearn.solvers import BlockFrankWolfe, Uniform
from structlearn.structures import Chain, LabelGraph, Matching, Simplex

COLUMNS = ["iteration", "passes", "oracle_calls", "seconds", "primal", "dual", "gap"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:y has exactly one label per example")
@parametrize_with_checks([MulticlassClassifier(), MultiLabelClassifier()])
def test_flat_estimators_keep_scikit_learns_conventions(estimator, check):
    check(estimator)


# ---- parameters -----------------------------------------------------------------------------------------


def test_clones_have_equal_parameters_and_nothing_learnt(fitting):
    fitted = fitting.estimator.set_params(regularization=0.5).fit(fitting.X, fitting.y)
    copy = clone(fitted)
    assert copy.regularization == 0.5
    assert set(copy.get_params()) == set(fitted.get_params())
    assert not [name for name in vars(copy) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        copy.predict(fitting.X)


def test_fit_returns_self_and_leaves_parameters_alone(fitting):
    before = fitting.estimator.get_params()
    assert fitting.estimator.fit(fitting.X, fitting.y) is fitting.estimator
    assert fitting.estimator.get_params() == before


def test_fit_adds_only_names_with_an_underscore(fitting):
    parameters = set(fitting.estimator.get_params())
    fitting.estimator.fit(fitting.X, fitting.y)
    added = set(vars(fitting.estimator)) - parameters
    assert all(name.endswith("_") or name.startswith("_") for name in added)


@pytest.mark.filterwarnings("ignore::structlearn.NothingLearnedWarning")  # at 30
def test_grid_search_chooses_a_regularization(fitting):
    search = GridSearchCV(fitting.estimator, {"regularization": [0.3, 30.0]}, cv=3)
    search.fit(fitting.X, fitting.y)
    assert search.best_params_["regularization"] in (0.3, 30.0)
    assert search.best_score_ > 0.5
    assert len(search.predict(fitting.X)) == len(fitting.X)


def test_estimators_learn_their_small_problems(fitting):
    assert fitting.estimator.fit(fitting.X, fitting.y).score(fitting.X, fitting.y) > 0.7


@pytest.mark.parametrize("name", ["multiclass", "multilabel"])
def test_flat_estimators_follow_a_scaler_in_a_pipeline(make, name):
    estimator, X, y = make(name)
    model = make_pipeline(StandardScaler(), estimator).fit(X, y)
    assert model.score(X, y) > 0.7


def double_each(X):
    return [2 * x for x in X]


@pytest.mark.parametrize("name", ["chain", "matching", "structured"])
def test_estimators_of_lists_follow_a_function_in_a_pipeline(make, name):
    estimator, X, y = make(name)
    model = make_pipeline(FunctionTransformer(double_each), estimator).fit(X, y)
    alone = clone(estimator).fit(double_each(X), y)
    np.testing.assert_array_equal(model[-1].weights_, alone.weights_)
    assert model.score(X, y) == alone.score(double_each(X), y)


def test_cross_validation_of_sequences(make):
    estimator, X, y = make("chain")
    assert cross_val_score(estimator, X, y, cv=3).mean() > 0.6


# ---- attributes -----------------------------------------------------------------------------------------


def shapes_of(estimator, names):
    return {name: np.shape(getattr(estimator, name)) for name in names}


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("multiclass", {}, {"coef_": (3, 3), "intercept_": (3,), "weights_": (12,), "classes_": (3,)}),
        ("multiclass", {"fit_intercept": False}, {"coef_": (3, 3), "intercept_": (3,), "weights_": (9,)}),
        ("multilabel", {}, {"coef_": (3, 4), "intercept_": (3,), "pair_coef_": (3, 2, 2), "weights_": (27,)}),
        ("multilabel", {"edges": "tree"}, {"pair_coef_": (2, 2, 2), "edges_": (2, 2)}),
        ("multilabel", {"edges": [(0, 2)]}, {"pair_coef_": (1, 2, 2), "edges_": (1, 2)}),
        ("multilabel", {"edges": "none"}, {"coef_": (3, 4), "pair_coef_": (0, 2, 2), "edges_": (0, 2)}),
        ("chain", {}, {"coef_": (3, 3), "intercept_": (3,), "transition_coef_": (3, 3), "weights_": (21,)}),
        ("chain", {"start": True, "end": True}, {"start_coef_": (3,), "end_coef_": (3,), "weights_": (27,)}),
        ("matching", {}, {"coef_": (2,), "intercept_": (), "weights_": (2,)}),
        ("matching", {"fit_intercept": True}, {"coef_": (2,), "intercept_": (), "weights_": (3,)}),
        ("structured", {}, {"coef_": (2,), "intercept_": (), "weights_": (2,)}),
    ],
)
def test_learnt_attributes_have_their_shapes(make, name, parameters, expected):
    estimator, X, y = make(name, regularization=0.1, **parameters)
    estimator.fit(X, y)
    assert shapes_of(estimator, expected) == expected
    assert estimator.n_features_in_ == estimator.coef_.shape[-1]


def test_start_and_end_weights_exist_only_where_asked_for(make):
    estimator, X, y = make("chain", start=True)
    estimator.fit(X, y)
    assert not hasattr(estimator, "end_coef_")
    with pytest.raises(AttributeError, match="end=True"):
        _ = estimator.end_coef_


def test_certificate_and_history_have_their_names(fitting, tmp_path):
    estimator = fitting.estimator.fit(fitting.X, fitting.y)
    certificate, history = estimator.certificate_, estimator.history_
    assert -1e-12 <= certificate.gap <= estimator.tol
    assert certificate.gap == certificate.primal - certificate.dual
    assert certificate.oracle_calls == round(certificate.passes * len(fitting.X))
    assert certificate.seconds >= 0
    assert certificate.exact
    assert certificate.status.startswith("Converged")
    frame = history.to_frame()
    assert list(frame.columns) == COLUMNS
    assert frame.gap.iloc[-1] == certificate.gap
    history.to_csv(tmp_path / "history.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "history.csv"), frame, check_dtype=False)


def test_the_certificate_is_printed_as_names_and_values(make):
    estimator, X, y = make("multiclass")
    lines = str(estimator.fit(X, y).certificate_).splitlines()
    assert [line.split(": ")[0] for line in lines][:7] == [
        "primal",
        "dual",
        "gap",
        "passes",
        "oracle_calls",
        "seconds",
        "status",
    ]


def test_a_relaxed_oracle_is_not_exact():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=(6, 16))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MultiLabelClassifier(max_passes=1, edges="all").fit(rng.normal(size=(6, 2)), y)
    assert not model.certificate_.exact


@pytest.mark.parametrize("name", ["multiclass", "chain"])
def test_string_labels_come_back(make, name):
    estimator, X, y = make(name)
    found = estimator.fit(X, y).predict(X)
    assert set(np.concatenate([np.atleast_1d(one) for one in found])) <= set(estimator.classes_)
    assert estimator.classes_.dtype.kind == "U"
    assert all(np.shape(a) == np.shape(b) for a, b in zip(found, y))


def test_label_sets_come_back_as_they_were_given(make):
    estimator, X, y = make("multilabel", regularization=0.1)
    names = np.array(["x", "y", "z"])
    as_sets = clone(estimator).fit(X, [set(names[row == 1]) for row in y])
    as_matrix = clone(estimator).fit(X, y)
    expected = [tuple(names[row == 1]) for row in as_matrix.predict(X)]
    assert as_sets.predict(X) == expected
    assert as_sets.classes_.tolist() == ["x", "y", "z"]


def test_matchings_are_vectors_or_tables_as_they_were_given(make):
    estimator, X, y = make("matching")
    tables = [np.eye(x.shape[1], dtype=int)[one] for x, one in zip(X, y)]
    by_vector, by_table = clone(estimator).fit(X, y), clone(estimator).fit(X, tables)
    np.testing.assert_array_equal(by_vector.weights_, by_table.weights_)
    for vector, table in zip(by_vector.predict(X), by_table.predict(X)):
        np.testing.assert_array_equal(vector, np.where(table.any(axis=1), table.argmax(axis=1), -1))


# ---- the objective that is trained, by hand -------------------------------------------------------------


def multiclass_hinge(model, X, y):
    scores = X @ model.coef_.T + model.intercept_
    own = model.classes_[:, None] == y
    return (scores + ~own.T).max(axis=1) - scores[own.T]


def test_multiclass_primal_by_hand(make):
    model, X, y = make("multiclass", loss="hinge")
    model.fit(X, y)
    w = np.concatenate([model.coef_.ravel(), model.intercept_])
    by_hand = model.regularization / 2 * w @ w + multiclass_hinge(model, X, y).mean()
    assert model.certificate_.primal == pytest.approx(by_hand, abs=1e-12)
    assert w @ w == pytest.approx(model.weights_ @ model.weights_)


def chain_hinge(model, x, y):
    """max over all label sequences of score + wrong / length, minus the score of y."""
    from itertools import product

    k = len(model.classes_)
    gold = np.searchsorted(model.classes_, y)
    unary = x @ model.coef_.T + model.intercept_

    def score(labels):
        steps = model.transition_coef_[labels[:-1], labels[1:]].sum()
        return (
            unary[np.arange(len(labels)), labels].sum()
            + steps
            + model.start_coef_[labels[0]]
            + model.end_coef_[labels[-1]]
        )

    sequences = map(np.array, product(range(k), repeat=len(gold)))
    return max(score(s) + np.mean(s != gold) for s in sequences) - score(gold)


def test_chain_primal_by_hand(make):
    model, X, y = make("chain", loss="hinge", start=True, end=True)
    model.fit(X, y)
    tables = [model.coef_, model.intercept_, model.transition_coef_, model.start_coef_, model.end_coef_]
    w = np.concatenate([table.ravel() for table in tables])
    by_hand = model.regularization / 2 * w @ w + np.mean([chain_hinge(model, *pair) for pair in zip(X, y)])
    assert model.certificate_.primal == pytest.approx(by_hand, abs=1e-12)


def test_multilabel_primal_by_hand(make):
    from itertools import product

    model, X, y = make("multilabel")
    model.fit(X, y)
    w = np.concatenate([model.coef_.ravel(), model.intercept_, model.pair_coef_.ravel()])

    def score(x, on):
        pairs = sum(table[on[a], on[b]] for table, (a, b) in zip(model.pair_coef_, model.edges_))
        return (model.coef_ @ x + model.intercept_) @ on + pairs

    sets = [np.array(on) for on in product((0, 1), repeat=3)]
    losses = [max(score(x, s) + np.mean(s != on) for s in sets) - score(x, on) for x, on in zip(X, y)]
    assert model.certificate_.primal == pytest.approx(
        model.regularization / 2 * w @ w + np.mean(losses), abs=1e-12
    )
    best = [sets[np.argmax([score(x, s) for s in sets])] for x in X]
    np.testing.assert_array_equal(model.predict(X), best)


def test_decision_functions_are_features_times_coefficients(fitting):
    model = fitting.estimator.set_params(fit_intercept=True).fit(fitting.X, fitting.y)
    for scores, x in zip(model.decision_function(fitting.X), fitting.X):
        np.testing.assert_allclose(scores, x @ model.coef_.T + model.intercept_, atol=1e-12)


def test_two_classes_have_one_decision():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    model = MulticlassClassifier(regularization=0.1).fit(X, y)
    decision = model.decision_function(X)
    assert decision.shape == (20,)
    np.testing.assert_array_equal(model.predict(X), (decision > 0).astype(int))


# ---- weights and costs ----------------------------------------------------------------------------------


def weights_after(fitting, sample_weight=None, X=None, y=None, **parameters):
    estimator = clone(fitting.estimator).set_params(**parameters)
    return estimator.fit(fitting.X if X is None else X, fitting.y if y is None else y, sample_weight).weights_


@pytest.mark.parametrize("name", ["multiclass", "multilabel"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "CSR"])
def test_repeated_rows_are_sample_weights_to_rounding(make, name, form):
    fitting = make(name)
    counts = np.arange(30) // 3 % 3
    repeated = weights_after(
        fitting, X=form(np.repeat(fitting.X, counts, axis=0)), y=np.repeat(fitting.y, counts, axis=0)
    )
    np.testing.assert_allclose(
        weights_after(fitting, counts, X=form(fitting.X)), repeated, rtol=0, atol=1e-13
    )


@pytest.mark.parametrize("name", ["chain", "matching", "structured"])
def test_repeated_examples_are_sample_weights(make, name):
    fitting = make(name, tol=1e-3, max_passes=5000, regularization=1.0)
    counts = np.array([2, 0, 1] * 5)[: len(fitting.X)]
    chosen = np.repeat(np.arange(len(fitting.X)), counts)
    X, y = [fitting.X[i] for i in chosen], [fitting.y[i] for i in chosen]
    np.testing.assert_allclose(weights_after(fitting, counts), weights_after(fitting, X=X, y=y), atol=0.1)


def test_class_weights_of_a_multiclass_problem_are_sample_weights(make):
    fitting = make("multiclass")
    by_class = {"cat": 2.0, "dog": 0.5, "owl": 1.0}
    expected = weights_after(fitting, [by_class[label] for label in fitting.y])
    np.testing.assert_array_equal(weights_after(fitting, class_weight=by_class), expected)


@pytest.mark.parametrize("name", ["multiclass", "multilabel", "chain"])
def test_balanced_weights_of_unbalanced_data_change_the_model(make, name):
    fitting = make(name)
    X, y = fitting.X[:13], fitting.y[:13]
    plain, balanced = (weights_after(fitting, X=X, y=y, class_weight=c) for c in (None, "balanced"))
    assert not np.allclose(plain, balanced)


@pytest.mark.parametrize("name", ["chain", "multilabel"])
def test_class_weights_multiply_costs(make, name):
    fitting = make(name, regularization=0.3)
    classes = clone(fitting.estimator).fit(fitting.X, fitting.y).classes_
    by_label = dict(zip(classes.tolist(), [2.0, 0.5, 3.0]))
    as_cost = weights_after(fitting, cost=by_label)
    np.testing.assert_array_equal(weights_after(fitting, class_weight=by_label), as_cost)
    np.testing.assert_array_equal(weights_after(fitting, cost=np.array([2.0, 0.5, 3.0])), as_cost)


def test_class_weights_of_label_sets_may_be_an_array(make):
    fitting = make("multilabel", regularization=0.3)
    by_label = np.array([2.0, 0.5, 3.0])
    np.testing.assert_array_equal(
        weights_after(fitting, class_weight=by_label), weights_after(fitting, cost=by_label)
    )


@pytest.mark.parametrize("name", ["multilabel", "chain", "matching", "structured"])
def test_counted_mistakes_cost_more_than_their_mean(make, name):
    fitting = make(name, loss="hinge", regularization=1.0)
    primal = [
        clone(fitting.estimator).set_params(cost=cost).fit(fitting.X, fitting.y).certificate_.primal
        for cost in ("hamming", "count")
    ]
    assert primal[0] < primal[1]


def test_a_cost_table_enters_the_multiclass_hinge(make):
    table = np.array([[0, 1, 4], [1, 0, 2], [1, 1, 0.0]])
    model, X, y = make("multiclass", cost=table)
    model.fit(X, y)
    codes = np.searchsorted(model.classes_, y)
    scores = X @ model.coef_.T + model.intercept_
    losses = (scores + table[codes]).max(axis=1) - scores[np.arange(len(y)), codes]
    by_hand = model.regularization / 2 * model.weights_ @ model.weights_ + losses.mean()
    assert model.certificate_.primal == pytest.approx(by_hand, abs=1e-12)


def test_dear_missed_links_raise_the_score_of_links(make):
    def intercept(**cost):
        model, X, y = make("matching", regularization=3.0, fit_intercept=True, cost=cost)
        return model.fit(X, y).intercept_

    assert intercept(missed=0.1, spurious=1.0) < intercept(missed=1.0, spurious=0.1)


# ---- solvers, budgets -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "solver", ["auto", "bcfw", "fw", "cutting-plane", "n-slack", "subgradient", "stochastic-subgradient"]
)
def test_every_named_solver_reaches_the_same_objective(make, solver):
    shared = {"loss": "hinge", "regularization": 0.3}
    model, X, y = make("multiclass", solver=solver, tol=1e-2, max_passes=5000, **shared)
    model.fit(X, y)
    assert model.certificate_.converged
    assert model.certificate_.primal == pytest.approx(
        make("multiclass", **shared).estimator.fit(X, y).certificate_.primal, abs=0.011
    )


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        ("bcfw", {"order": "gap", "averaging": True, "examples_at_once": 3}),
        ("bcfw", {"order": "uniform"}),
        ("bcfw", {"form": "dense", "exact": False}),
        ("bcfw", {"exact": False, "steps": "away", "inner_steps": 2, "cached_passes": 1, "most_atoms": 9}),
        ("fw", {"line_search": False}),
        ("cutting-plane", {"share": 1.0, "forget_after": 3}),
        ("n-slack", {"examples_at_once": 7, "violation": 0.0, "forget_after": 2, "max_bytes": 1e8}),
        ("subgradient", {"step": "diminishing", "eta": 0.5, "averaging": False}),
        (
            "stochastic-subgradient",
            {"step": "constant", "eta": 0.1, "order": "uniform", "uniform_average": True},
        ),
        ("stochastic-subgradient", {"step": "pegasos"}),
    ],
)
def test_solver_options_are_taken(make, solver, options):
    model, X, y = make("multiclass", solver=solver, solver_options=options, tol=0.5)
    assert model.fit(X, y).certificate_.gap <= 0.5


def test_a_solver_object_stands_for_itself(make):
    by_object = make("multiclass", loss="hinge", solver=BlockFrankWolfe(order=Uniform()))
    by_name = make("multiclass", solver="bcfw", solver_options={"order": "uniform"})
    np.testing.assert_array_equal(weights_after(by_object), weights_after(by_name))


def test_perceptrons_learn(fitting):
    model = fitting.estimator.set_params(loss="perceptron").fit(fitting.X, fitting.y)
    assert model.certificate_.status.startswith("Converged")
    assert model.score(fitting.X, fitting.y) > 0.7


def test_exhausted_passes_warn(fitting):
    fitting.estimator.set_params(max_passes=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="max_passes=1 with gap"):
        fitting.estimator.fit(fitting.X, fitting.y)
    assert fitting.estimator.certificate_.passes == 1


def test_spent_seconds_end_training_without_a_warning(make):
    model, X, y = make("chain", tol=0.0, max_seconds=1e-6, max_passes=10**9)
    assert "max_seconds" in model.fit(X, y).certificate_.status


def test_a_callback_ends_training(fitting):
    rows = []
    fitting.estimator.set_params(tol=0.0, callback=lambda row: rows.append(row) or len(rows) == 2)
    fitting.estimator.fit(fitting.X, fitting.y)
    assert "callback" in fitting.estimator.certificate_.status


def test_random_states_make_runs_repeatable(fitting):
    options = {"form": "dense"}  # active sets end at the very same optimum
    weights = [weights_after(fitting, random_state=seed, solver_options=options) for seed in (3, 3, 4)]
    np.testing.assert_array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])


@pytest.mark.parametrize("name", ["multiclass", "multilabel", "chain", "matching", "structured"])
def test_warm_starts_go_on(make, name):
    model, X, y = make(name, warm_start=True, tol=0.1, regularization=0.3)
    rough = model.fit(X, y).certificate_
    fine = model.set_params(tol=0.0005).fit(X, y).certificate_
    cold = clone(model).fit(X, y).certificate_
    assert fine.gap <= 0.0005
    assert rough.gap <= 0.1
    assert name == "multiclass" or rough.gap > 0.0005  # Newton's steps go far beyond a rough gap
    assert fine.passes <= cold.passes
    assert model.fit(X, y).certificate_.passes < cold.passes


def test_a_second_fit_starts_afresh(fitting):
    first = fitting.estimator.fit(fitting.X, fitting.y).weights_
    np.testing.assert_array_equal(fitting.estimator.fit(fitting.X, fitting.y).weights_, first)


def csr32(x):
    return sparse.csr_matrix(x.astype(np.float32))


@pytest.mark.parametrize(
    "form",
    [sparse.csr_matrix, sparse.csc_array, np.float32, csr32],
    ids=["CSR", "CSC", "float32", "CSR float32"],
)
def test_every_form_of_features_trains_the_same_problem(make, form):
    fitting = make("multiclass", regularization=1.0, tol=1e-4, max_passes=5000)
    np.testing.assert_allclose(weights_after(fitting, X=form(fitting.X)), weights_after(fitting), atol=0.02)


def test_sparse_sequences_train_the_same_problem(make):
    fitting = make("chain", regularization=1.0, tol=1e-4, max_passes=5000)
    X = [sparse.csr_matrix(x) for x in fitting.X]
    np.testing.assert_allclose(weights_after(fitting, X=X), weights_after(fitting), atol=0.02)


@pytest.mark.filterwarnings("ignore:n_jobs serves")  # of an oracle in Python
def test_threads_certify_the_same_problem(fitting):
    """Two threads take another way, the same each time, to the optimum that both bracket."""
    found = [clone(fitting.estimator).set_params(n_jobs=n).fit(fitting.X, fitting.y) for n in (1, 2, 2)]
    certificates = [model.certificate_ for model in found]
    assert max(one.dual for one in certificates) <= min(one.primal for one in certificates) + 1e-12
    np.testing.assert_array_equal(found[1].weights_, found[2].weights_)


def test_duplicate_entries_of_csr_features_count_as_their_sum(make):
    """BCFW's exact steps need the true norms of rows."""
    fitting = make("multiclass", regularization=0.3)
    X = sparse.csr_matrix(fitting.X)
    twice = sparse.csr_matrix(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )
    np.testing.assert_allclose(weights_after(fitting, X=twice), weights_after(fitting, X=X), atol=1e-6)


def test_the_users_features_are_left_alone(make):
    fitting = make("chain", tol=1.0)
    X = sparse.csr_matrix(np.vstack(fitting.X))
    doubled = sparse.csr_matrix(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )
    kept = doubled.data.copy()
    weights_after(fitting, X=[doubled], y=[np.concatenate(fitting.y)])
    np.testing.assert_array_equal(doubled.data, kept)


# ---- own structures -------------------------------------------------------------------------------------


def test_the_three_forms_of_an_own_structure_train_alike(make):
    fitting = make("structured", regularization=0.3)
    plain, *compiled = (
        weights_after(fitting, structure=own) for own in (ChooseTwo(), CompiledChooseTwo(), choose_two)
    )
    for weights in compiled:
        np.testing.assert_allclose(weights, plain, atol=1e-10)


def test_an_oracle_may_write_only_the_ones():
    """The memory that an oracle writes to is clean in training as it is in `maximize`."""
    import numba

    @numba.njit
    def best(theta, out):
        k = np.argmax(theta)
        out[k] = 1.0
        return theta[k]

    rng = np.random.default_rng(0)
    X = [rng.normal(size=(3, 2)) for _ in range(8)]
    y = [np.eye(3, dtype=int)[np.argmax(x @ [1.0, 1.0])] for x in X]
    lazy = StructuredPredictor(best, regularization=0.3, cost="count", random_state=0).fit(X, y)
    clean = StructuredPredictor(Simplex(3), regularization=0.3, cost=np.full(3, 2.0), random_state=0)
    clean.fit(X, [int(np.argmax(one)) for one in y])
    np.testing.assert_allclose(lazy.weights_, clean.weights_, atol=1e-8)


def test_a_scoring_turns_examples_into_features(make):
    fitting = make("structured")
    named = [{"features": x} for x in fitting.X]
    weights = weights_after(fitting, X=named, scoring=lambda example: example["features"])
    np.testing.assert_array_equal(weights, weights_after(fitting))


def test_a_matching_is_a_structure_like_any_other(make):
    fitting = make("matching")
    tables = [np.eye(x.shape[1])[one] for x, one in zip(fitting.X, fitting.y)]
    general = StructuredPredictor(Matching(), regularization=0.1, tol=0.01, random_state=0).fit(
        fitting.X, tables
    )
    np.testing.assert_array_equal(general.weights_, weights_after(fitting))


@pytest.mark.parametrize(
    ("structure", "n_parts", "y"),
    [(Chain(2), 10, [0, 1, 1]), (LabelGraph(3), 15, [0, 1, 1]), (Simplex(3), 3, 1)],
    ids=["chain", "label graph", "simplex"],
)
def test_any_structure_can_be_trained_from_features_of_its_parts(structure, n_parts, y):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n_parts, 4)) for _ in range(6)]
    model = StructuredPredictor(structure, regularization=0.5).fit(X, [y] * 6)
    mu = structure.encode(y)
    best = [structure.maximize(x @ model.coef_ + structure.cost(mu)) - mu for x in X]
    losses = [(x @ model.coef_ + structure.cost(mu)) @ delta for x, delta in zip(X, best)]
    by_hand = 0.5 / 2 * model.coef_ @ model.coef_ + np.mean(losses)
    assert model.certificate_.primal == pytest.approx(by_hand, abs=1e-12)


def test_examples_of_a_wrong_size_are_refused_when_predicting():
    rng = np.random.default_rng(0)
    model = StructuredPredictor(Simplex(3)).fit([rng.normal(size=(3, 2)) for _ in range(6)], [0, 1, 2] * 2)
    with pytest.raises(ValueError, match="parts"):
        model.predict([rng.normal(size=(5, 2))])


# ---- others ---------------------------------------------------------------------------------------------


def test_scores_of_pairs_count_sample_weights(make):
    model, X, y = make("matching")
    model.fit(X, y)
    wrong = [np.full_like(one, -1) for one in y[1:]]
    only_first = np.r_[1.0, np.zeros(len(y) - 1)]
    assert model.score(X, [model.predict(X)[0], *wrong], sample_weight=only_first) == 1.0


@pytest.mark.parametrize(
    "estimator", [ChainClassifier(), MatchingClassifier(), StructuredPredictor(ChooseTwo())]
)
def test_representations_are_short(estimator):
    assert len(repr(estimator)) < 100


# ---- what "auto" is on rows ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("scale", [0.5, 2.0])
@pytest.mark.parametrize("estimator", [BinaryClassifier, MulticlassClassifier])
def test_auto_runs_ahead_where_examples_overlap(estimator, scale, form):
    """The mean eigenvalue of X^T X / n, over lambda: 100 divides them. Fewer rows than features: never."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    eigenvalues = np.linalg.eigvalsh(X.T @ X / len(X))
    X *= np.sqrt(scale * 100 * 0.01 / eigenvalues.mean())
    y = (X[:, 0] > X[:, 1]).astype(int)
    few, labels = X[:4, ::-1], np.array([0, 1, 0, 1])
    found = []
    for rows, classes in ((X, y), (few, labels)):
        shared = {"loss": "hinge", "fit_intercept": False, "warm_start": True, "random_state": 0}
        model = estimator(regularization=0.01, **shared).fit(form(rows), classes)
        assert model.certificate_.converged
        found.append(model._solution.state.lead is not None)
    assert found == [scale > 1.0, False]


def test_a_named_solver_is_not_replaced_where_examples_overlap():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    for solver, options in (("bcfw", None), ("auto", {"averaging": True})):
        model = BinaryClassifier(
            regularization=1e-4, solver=solver, solver_options=options, warm_start=True, tol=0.1, max_passes=9
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert model.fit(X, y)._solution.state.lead is None
