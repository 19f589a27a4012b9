"""Bad input gets a clear error: the sentence names what is wrong, and where."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from own_structures import ChooseTwo
from structlearn import ChainClassifier, MulticlassClassifier, MultiLabelClassifier, StructuredPredictor
from structlearn.estimators.inputs import checking as inputs
from structlearn.estimators.inputs.distinct import ROWS_AT_ONCE, canonical_examples, row_hashes


def changed(values, i, change):
    """A list (or array) with one entry replaced."""
    copy = list(values)
    copy[i] = change(copy[i])
    return copy


def with_entry(value):
    def change(x):
        x = np.array(x, dtype=float)
        x.flat[0] = value
        return x

    return change


# ---- features -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_not_finite_are_refused(fitting, value):
    X = changed(fitting.X, 1, with_entry(value))
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        fitting.estimator.fit(X, fitting.y)


@pytest.mark.parametrize("name", ["chain", "matching", "structured"])
def test_the_example_with_bad_features_is_named(make, name):
    estimator, X, y = make(name)
    with pytest.raises(ValueError, match=r"(Sequence|Pair|Example) 2 contains NaN or infinity"):
        estimator.fit(changed(X, 2, with_entry(np.nan)), y)


def test_sparse_features_that_are_not_finite_are_refused(make):
    estimator, X, y = make("chain")
    bad = [
        sparse.csr_matrix(with_entry(np.nan)(x)) if i == 2 else sparse.csr_matrix(x) for i, x in enumerate(X)
    ]
    with pytest.raises(ValueError, match="Sequence 2 contains NaN"):
        estimator.fit(bad, y)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda x: x[:0], "Sequence 3 is empty"),
        (lambda x: x[:, :0], "Sequence 3 has no features"),
        (lambda x: x[0], "Sequence 3 must have 2 axes"),
        (lambda x: x[:, :2], "Sequence 3 has 2 features but Sequence 0 has 3"),
        (lambda x: x + 1j, "Sequence 3 has complex features"),
        (lambda x: [["a", "b", "c"]], "Sequence 3 has features that are not numbers"),
        (lambda x: [[1.0, 2.0, 3.0], [1.0]], "Sequence 3 is ragged"),
    ],
)
def test_sequences_that_cannot_be_are_refused(make, change, sentence):
    estimator, X, y = make("chain")
    with pytest.raises(ValueError, match=sentence):
        estimator.fit(changed(X, 3, change), y)


@pytest.mark.parametrize("name", ["chain", "matching", "structured"])
@pytest.mark.parametrize("X", [5, "text", {"a": 1}])
def test_examples_that_are_no_list_are_refused(make, name, X):
    estimator, _, y = make(name)
    with pytest.raises(TypeError, match="X must be a list with one array an example"):
        estimator.fit(X, y)


@pytest.mark.parametrize("name", ["chain", "matching", "structured"])
def test_no_examples_are_refused(make, name):
    with pytest.raises(ValueError, match="X is empty"):
        make(name).estimator.fit([], [])


def test_another_number_of_features_is_refused_when_predicting(fitting):
    fitting.estimator.fit(fitting.X, fitting.y)
    narrow = [x[..., :1] for x in fitting.X]
    with pytest.raises(ValueError, match=r"X has 1 features, but \w+ is expecting \d features"):
        fitting.estimator.predict(narrow)


# ---- outputs --------------------------------------------------------------------------------------------


def test_more_examples_than_outputs_are_refused(fitting):
    with pytest.raises(ValueError, match=r"X has \d+ examples but y has \d+|inconsistent numbers of samples"):
        fitting.estimator.fit(fitting.X, fitting.y[:-1])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda y: [*y, "B"], r"Sequence 3 has \d rows of features but \d labels"),
        (lambda y: [[label] for label in y], "labels of sequence 3 must form a vector"),
        (lambda y: np.zeros(len(y)), "mixes strings and numbers"),
        (lambda y: np.full(len(y), 0.5), "labels of sequence 3 are continuous"),
    ],
)
def test_labels_that_do_not_fit_their_sequence_are_refused(make, change, sentence):
    estimator, X, y = make("chain")
    with pytest.raises(ValueError, match=sentence):
        estimator.fit(X, changed(y, 3, change))


@pytest.mark.parametrize("name", ["multiclass", "chain"])
def test_a_single_class_is_refused(make, name):
    estimator, X, y = make(name)
    with pytest.raises(ValueError, match=r"only one class"):
        estimator.fit(X, [np.full_like(one, "B") for one in y] if name == "chain" else np.zeros(len(X)))


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("matching", lambda y: [7] * len(y), "Pair 1: A column is one of"),
        ("matching", lambda y: np.zeros((9, 9)), r"Pair 1: y has shape \(9, 9\)"),
        ("matching", lambda y: np.zeros(len(y), dtype=int), "Pair 1: Column 0 has"),
        ("structured", lambda y: y[:-1], "Example 1 has features of 4 parts but its output has 3"),
        ("structured", lambda y: 2 * y, "Example 1: .*0/1 part vector"),
    ],
)
def test_outputs_that_are_none_of_the_structure_are_refused(make, name, change, sentence):
    estimator, X, y = make(name)
    with pytest.raises(ValueError, match=sentence):
        estimator.fit(X, changed(y, 1, change))


def test_label_matrices_hold_zeros_and_ones(make):
    estimator, X, y = make("multilabel")
    with pytest.raises(ValueError, match="0 and 1 only"):
        estimator.fit(X, 2 * y)


def test_label_sets_without_labels_are_refused(make):
    estimator, X, _ = make("multilabel")
    with pytest.raises(ValueError, match="names no label"):
        estimator.fit(X, [set()] * len(X))


# ---- parameters -----------------------------------------------------------------------------------------

BAD_PARAMETERS = [
    ({"regularization": -1.0}, "regularization must be at least 0; got -1"),
    ({"regularization": np.nan}, "regularization must be a finite number"),
    ({"regularization": "small"}, "regularization must be a finite number; got 'small'"),
    ({"loss": "hinge", "regularization": 0.0}, "works on the dual and needs regularization > 0"),
    ({"regularization": 0, "solver": "fw"}, "'fw' works on the dual"),
    ({"regularization": 0, "solver": "subgradient"}, "need regularization > 0"),
    ({"tol": -0.1}, "tol must be at least 0"),
    ({"max_passes": 0}, "max_passes must be above 0"),
    ({"max_seconds": -1}, "max_seconds must be above 0"),
    ({"solver": "bcwf"}, r"Unknown solver 'bcwf'; valid are 'auto', 'bcfw'.* Did you mean 'bcfw'\?"),
    (
        {"loss": "hing"},
        r"Unknown loss 'hing'; valid are 'auto', 'hinge'.* Did you mean 'hinge'\?",
    ),
    ({"loss": None}, "Unknown loss None"),
    ({"loss": "perceptron", "solver": "bcfw"}, "cannot train loss='perceptron': .* optimum is w = 0"),
    ({"loss": "hinge", "solver": "perceptron"}, "trains loss='perceptron' only"),
    ({"cost": "haming"}, r"Unknown cost 'haming'.* Did you mean 'hamming'\?"),
    ({"cost": None}, "Unknown cost None"),
    (
        {"solver": "bcfw", "solver_options": {"ordr": 1}},
        r"Unknown option of solver 'bcfw' 'ordr'.* 'order'\?",
    ),
    ({"solver": "bcfw", "solver_options": {"order": "gaps"}}, r"Unknown order 'gaps'.* Did you mean 'gap'\?"),
    ({"solver": "bcfw", "solver_options": {"form": "active"}}, r"Unknown form 'active'.*'active-set'\?"),
    ({"solver": "bcfw", "solver_options": {"steps": "pairwize"}}, r"Unknown steps 'pairwize'.*'pairwise'\?"),
    ({"solver": "bcfw", "solver_options": {"inner_steps": 0}}, "inner_steps must be at least 1; got 0"),
    (
        {"solver": "bcfw", "solver_options": {"form": "dense", "inner_steps": 2}},
        "with form='dense' 'inner_steps'",
    ),
    ({"solver": "subgradient", "solver_options": {"step": "const"}}, r"Unknown step 'const'.*'constant'\?"),
    ({"solver": "subgradient", "solver_options": {"step": "pegasos", "eta": 1}}, "take no eta"),
    ({"n_jobs": 0}, "n_jobs must be a positive number"),
    ({"n_jobs": 1.5}, "n_jobs must be a positive number"),
]


@pytest.mark.parametrize(("parameters", "sentence"), BAD_PARAMETERS, ids=lambda p: str(p)[:50])
@pytest.mark.parametrize("name", ["multiclass", "chain", "structured"])
def test_parameters_that_cannot_be_are_refused(make, name, parameters, sentence):
    estimator, X, y = make(name, **parameters)
    with pytest.raises(ValueError, match=sentence):
        estimator.fit(X, y)


def test_options_do_not_go_with_a_solver_object(make):
    from structlearn.solvers import FrankWolfe

    estimator, X, y = make("multiclass", solver=FrankWolfe(), solver_options={"line_search": True})
    with pytest.raises(ValueError, match="a solver object has its own"):
        estimator.fit(X, y)


def test_a_callback_must_be_callable(fitting):
    with pytest.raises(TypeError, match="callback must be callable"):
        fitting.estimator.set_params(callback="no").fit(fitting.X, fitting.y)


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        (lambda n: np.ones(n + 1), "sample_weight must have shape"),
        (lambda n: np.r_[-1.0, np.ones(n - 1)], "at least 0"),
        (lambda n: np.full(n, np.nan), "finite"),
        (np.zeros, "at least one non-zero"),
    ],
    ids=["too many", "negative", "NaN", "all zero"],
)
def test_sample_weights_that_cannot_be_are_refused(fitting, weight, sentence):
    with pytest.raises(ValueError, match=sentence):
        fitting.estimator.fit(fitting.X, fitting.y, sample_weight=weight(len(fitting.X)))


def test_weights_that_cancel_every_example_are_refused(make):
    estimator, X, y = make("multiclass", class_weight={"cat": 0.0})
    with pytest.raises(ValueError, match="every example with weight zero"):
        estimator.fit(X, y, sample_weight=(y == "cat").astype(float))


@pytest.mark.parametrize("name", ["multiclass", "multilabel", "chain"])
def test_unknown_names_of_class_weights_are_refused(make, name):
    estimator, X, y = make(name, class_weight="balancd")
    with pytest.raises(ValueError, match=r"balanced"):
        estimator.fit(X, y)


@pytest.mark.parametrize("parameter", ["class_weight", "cost"])
@pytest.mark.parametrize("name", ["multilabel", "chain"])
def test_weights_of_unknown_labels_are_refused(make, name, parameter):
    estimator, X, y = make(name, **{parameter: {"no such": 2.0}})
    with pytest.raises(ValueError, match=f"{parameter} names the label 'no such'"):
        estimator.fit(X, y)


@pytest.mark.parametrize("name", ["matching", "structured"])
def test_without_classes_there_are_no_class_weights(make, name):
    estimator, X, y = make(name, class_weight="balanced")
    with pytest.raises(ValueError, match="has no classes to weigh"):
        estimator.fit(X, y)


@pytest.mark.parametrize(
    ("edges", "sentence"), [("al", r"Unknown edges 'al'.*'all'\?"), ([(0, 9)], r"\(0, 9\).* not a pair")]
)
def test_unknown_edges_are_refused(make, edges, sentence):
    estimator, X, y = make("multilabel", edges=edges)
    with pytest.raises(ValueError, match=sentence):
        estimator.fit(X, y)


def test_a_predictor_needs_a_structure(make):
    estimator, X, y = make("structured", structure=None)
    with pytest.raises(ValueError, match="needs a structure"):
        estimator.fit(X, y)


@pytest.mark.parametrize("capacities", [(0, 1), (1,), (1, 1, 1)])
def test_capacities_that_cannot_be_are_refused(make, capacities):
    estimator, X, y = make("matching", capacities=capacities)
    with pytest.raises(ValueError, match="capacities"):
        estimator.fit(X, y)


# ---- canonical examples ---------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "CSR"])
def test_equal_examples_are_merged_and_others_are_not(form):
    X = form(np.array([[1.0, 0], [0, 1], [1, 0], [1, 0], [0, 1]]))
    codes = np.array([0, 1, 0, 1, 1])
    active, weight = canonical_examples(X, codes, np.array([1.0, 2, 3, 4, 0]))
    assert sorted(active) == [0, 1, 3]
    assert weight[np.sort(active)].tolist() == [4, 2, 4]


# ---- a million columns ----------------------------------------------------------------------------------

WIDE = 10**6


def wide_rows(n):
    rng = np.random.default_rng(0)
    columns = rng.integers(WIDE, size=(n, 20))
    X = sparse.csr_matrix((np.ones(20 * n), columns.ravel(), 20 * np.arange(n + 1)), shape=(n, WIDE))
    X.sum_duplicates()
    return X


def peak_memory(function):
    """Most bytes that NumPy and Python held at once; the first call compiles."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def wide_multiclass(width):
    X = wide_rows(50)[:, :width]
    return MulticlassClassifier(regularization=0.1), X, np.arange(50) % 3


def wide_multilabel(width):
    X = wide_rows(50)[:, :width]
    return (
        MultiLabelClassifier(regularization=0.1, tol=0.01, edges="none"),
        X,
        np.eye(3, dtype=int)[np.arange(50) % 3],
    )


def wide_chain(width):
    X = wide_rows(50)[:, :width]
    return (
        ChainClassifier(regularization=0.1),
        [X[i : i + 5] for i in range(0, 50, 5)],
        [np.arange(5) % 3] * 10,
    )


@pytest.mark.filterwarnings("ignore::structlearn.NothingLearnedWarning")  # of a few columns
@pytest.mark.parametrize("problem", [wide_multiclass, wide_multilabel, wide_chain])
def test_a_million_columns_never_become_dense(problem):
    narrow, X, y = problem(1000)
    narrow.fit(X, y)  # compiles
    model, X, y = problem(WIDE)
    assert peak_memory(lambda: model.fit(X, y).predict(X)) < 250e6  # dense features alone are 400e6
    assert model.coef_.shape == (3, WIDE)
    assert model.score(X, y) == 1.0


def test_an_own_structure_can_be_fitted_to_float32(make):
    _, X, y = make("structured")
    model = StructuredPredictor(ChooseTwo(), regularization=0.3).fit([x.astype(np.float32) for x in X], y)
    assert model.weights_.dtype == np.float64


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 7])
def test_threads_stack_examples_as_one_does(n_jobs, monkeypatch):
    monkeypatch.setattr(inputs, "BYTES_SHARED", 0)
    monkeypatch.setattr(inputs, "VALUES_AT_ONCE", 5)
    rng = np.random.default_rng(0)
    for kinds in (["f4", "f8"], ["f4"]):
        for n in (1, 2, 6, 20):
            X = [rng.normal(size=(rng.integers(1, 6), 3)).astype(rng.choice(kinds)) for _ in range(n)]
            rows, shapes = inputs.stack_examples(X, ndim=2, noun="Example", n_jobs=n_jobs)
            assert rows.dtype == np.concatenate(X).dtype
            np.testing.assert_array_equal(rows, np.concatenate(X))
            np.testing.assert_array_equal(shapes[:, 0], [len(x) for x in X])
    X[7][0, 1] = np.nan
    with pytest.raises(ValueError, match="Example 7 contains NaN"):
        inputs.stack_examples(X, ndim=2, noun="Example", n_jobs=n_jobs)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_have_equal_hashes_however_they_are_stored(dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(ROWS_AT_ONCE + 5, 7)) * (rng.random((ROWS_AT_ONCE + 5, 7)) < 0.5)).astype(dtype)
    X[X == 0] = -0.0
    hashes = row_hashes(X)
    assert np.array_equal(hashes, row_hashes(sparse.csr_array(X)))
    assert np.array_equal(hashes, row_hashes(np.asfortranarray(X.astype(float))))
    distinct = np.unique(X, axis=0).shape[0]
    assert np.unique(hashes).size == distinct > ROWS_AT_ONCE / 2
