"""row_transformer=T is the model of rows that T transformed before: the same problem, by another door."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, StandardScaler

from structlearn import (
    BinaryClassifier,
    ChainClassifier,
    CutSegmenter,
    LinearRegressor,
    MatchingClassifier,
    MulticlassClassifier,
    NothingLearnedWarning,
    TreeParser,
)
from structlearn.core.memory import Memory
from structlearn.estimators import mapped
from structlearn.estimators.path import regularization_path


def waves():
    """Random, but always the same."""
    return make_pipeline(StandardScaler(), Nystroem(n_components=6, gamma=0.3, random_state=0))


def by_hand(transformer, X):
    """A fitted clone, and X transformed by it, as float32, example by example."""
    if isinstance(X, np.ndarray):
        fitted = clone(transformer).fit(X)
        return fitted, fitted.transform(X).astype(np.float32)
    fitted = clone(transformer).fit(np.concatenate([x.reshape(-1, x.shape[-1]) for x in X]))
    rows = [fitted.transform(x.reshape(-1, x.shape[-1])).astype(np.float32) for x in X]
    return fitted, [one.reshape(*x.shape[:-1], -1) for one, x in zip(rows, X)]


def assert_same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        np.testing.assert_array_equal(one, other)


# ---- the same problem -----------------------------------------------------------------------------------


def test_it_is_the_model_of_transformed_rows(fitting):
    parameters = {"edge_features": "constant"} if isinstance(fitting.estimator, CutSegmenter) else {}
    model = fitting.estimator.set_params(tol=1e-4, **parameters)
    _, Z = by_hand(waves(), fitting.X)
    linear = clone(model).fit(Z, fitting.y)
    model.set_params(row_transformer=waves()).fit(fitting.X, fitting.y)
    assert model.certificate_.primal == pytest.approx(linear.certificate_.primal, abs=2e-4)
    assert model.certificate_.dual == pytest.approx(linear.certificate_.dual, abs=2e-4)
    assert model.weights_.shape == linear.weights_.shape
    assert model.coef_.shape == linear.coef_.shape
    assert model.coef_.shape[-1] == 6
    assert np.shape(model.intercept_) == np.shape(linear.intercept_)
    assert_same(model.predict(fitting.X), linear.predict(Z))
    for found, expected in zip(model.decision_function(fitting.X), linear.decision_function(Z)):
        np.testing.assert_allclose(found, expected, atol=1e-2)
    assert model.score(fitting.X, fitting.y) == linear.score(Z, fitting.y)


@pytest.mark.parametrize(
    "model",
    [
        LinearRegressor(regularization=0.1),
        LinearRegressor(penalty="l1", regularization=0.01),
        LinearRegressor(posterior="gaussian"),
        LinearRegressor(penalty="group", groups=[0, 0, 1, 1, 2, 2]),
    ],
)
def test_regression_is_of_transformed_rows(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)
    _, Z = by_hand(waves(), X)
    linear = clone(model).fit(Z, y)
    model = clone(model).set_params(row_transformer=waves()).fit(X, y)
    np.testing.assert_allclose(model.predict(X), linear.predict(Z), rtol=1e-6)
    np.testing.assert_allclose(model.coef_, linear.coef_)
    np.testing.assert_allclose(
        model.predictive_distribution(X).std, linear.predictive_distribution(Z).std, rtol=1e-5
    )
    assert (model.n_features_in_, model.coef_.size) == (3, 6)


def test_two_classes_that_no_line_parts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(np.linalg.norm(X, axis=1) < 1, "in", "out")
    shared = {"loss": "hinge", "regularization": 1e-3, "random_state": 0}
    kernel = Nystroem(gamma=1.0, n_components=40, random_state=0)
    with pytest.warns(NothingLearnedWarning, match="predicts the same for all training examples: train with"):
        assert BinaryClassifier(**shared).fit(X, y).score(X, y) < 0.8
    model = BinaryClassifier(row_transformer=kernel, **shared).fit(X, y)
    assert model.score(X, y) > 0.97
    mapped_rows = kernel.fit_transform(X).astype(np.float32).astype(np.float64)
    scores = mapped_rows @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-6)
    w_of_dual = model.dual_coef_[0] @ np.c_[mapped_rows, np.ones(200)]
    assert np.linalg.norm(w_of_dual - model.weights_) ** 2 <= 2e3 * model.certificate_.gap + 1e-9


def test_probabilities_and_marginals_are_of_transformed_rows(make):
    model, X, y = make("multiclass", loss="softmax", row_transformer=waves())
    Z = by_hand(waves(), X)[1]
    linear = clone(model).set_params(row_transformer=None).fit(Z, y)
    np.testing.assert_allclose(model.fit(X, y).predict_proba(X), linear.predict_proba(Z), atol=1e-6)
    model, X, y = make("chain", loss="softmax", row_transformer=waves())
    Z = by_hand(waves(), X)[1]
    linear = clone(model).set_params(row_transformer=None).fit(Z, y)
    for found, expected in zip(model.fit(X, y).predict_marginals(X), linear.predict_marginals(Z)):
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert_same(model.sample(X[:3], 5, 0), linear.sample(Z[:3], 5, 0))
    best, expected = model.predict_kbest(X[:1], 3)[0], linear.predict_kbest(Z[:1], 3)[0]
    assert_same([labels for labels, _ in best], [labels for labels, _ in expected])


def test_sequences_without_rows_have_empty_answers(make):
    model, X, y = make("chain", row_transformer=waves())
    model.fit(X, y)
    empty = np.empty((0, 3))
    assert [len(one) for one in model.predict([X[0], empty, X[1]])] == [len(y[0]), 0, len(y[1])]
    assert [len(one) for one in model.predict([empty, empty])] == [0, 0]


def test_features_of_transitions_are_columns_of_X(make):
    model, X, y = make("chain", transition_features=[0, 2], row_transformer=waves())
    plain = clone(model).set_params(row_transformer=None).fit(X, y)
    model.fit(X, y)
    assert model.conditioned_coef_.shape == plain.conditioned_coef_.shape == (2, 3, 3)
    raw, _ = plain.model_.scoring(X)
    of_mapped, _ = model.model_.scoring(X)
    np.testing.assert_array_equal(raw.pairs.X.toarray(), of_mapped.pairs.X.toarray())
    assert of_mapped.local.X.shape[1] == 6


def test_edges_of_images_keep_their_contrast(make):
    model, X, y = make("segmentation")
    plain = clone(model).fit(X, y)
    model.set_params(row_transformer=waves()).fit(X, y)
    assert model.contrast_ == plain.contrast_
    assert model.edge_coef_.shape == plain.edge_coef_.shape


def test_an_own_scoring_makes_the_rows(make):
    model, X, y = make("structured")
    shifted = clone(model).set_params(scoring=lambda x: x + 1.0, row_transformer=waves()).fit(X, y)
    expected = clone(model).set_params(row_transformer=waves()).fit([x + 1.0 for x in X], y)
    np.testing.assert_array_equal(shifted.weights_, expected.weights_)
    assert_same(shifted.predict(X), expected.predict([x + 1.0 for x in X]))


# ---- sparse rows, ranges, types -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "transformer",
    [
        StandardScaler(with_mean=False),
        TruncatedSVD(3, random_state=0),
        Nystroem(n_components=5, random_state=0),
        make_pipeline(StandardScaler(with_mean=False), RBFSampler(n_components=8, random_state=0)),
    ],
)
def test_sparse_rows_stay_sparse_as_long_as_the_transformer_lets_them(transformer):
    rng = np.random.default_rng(0)
    X = sparse.random(80, 12, 0.3, format="csr", random_state=rng)
    y = (X @ rng.normal(size=12) > 0).astype(int)
    Z = clone(transformer).fit(X).transform(X).astype(np.float32)
    shared = {"regularization": 0.01, "random_state": 0}
    model = MulticlassClassifier(row_transformer=transformer, **shared).fit(X, y)
    linear = MulticlassClassifier(**shared).fit(Z, y)
    np.testing.assert_array_equal(model.weights_, linear.weights_)
    np.testing.assert_array_equal(model.decision_function(X), linear.decision_function(Z))
    ends = [3, 8, 9, 20, 24, 31, 45, 60, 80]
    cut = [slice(a, b) for a, b in zip([0, *ends], ends)]
    shared |= {"regularization": 0.1, "tol": 0.01}
    labels = [y[one] for one in cut]
    chain = ChainClassifier(row_transformer=transformer, **shared).fit([X[one] for one in cut], labels)
    by_hand_chain = ChainClassifier(**shared).fit([Z[one] for one in cut], labels)
    np.testing.assert_array_equal(chain.weights_, by_hand_chain.weights_)


def test_sparse_rows_are_refused_where_scikit_learn_does():
    X = sparse.eye_array(6, format="csr")
    with pytest.raises(ValueError, match="Cannot center sparse matrices"):
        MulticlassClassifier(row_transformer=StandardScaler()).fit(X, [0, 1] * 3)


def test_a_transformer_may_make_sparse_rows_of_dense_ones(make):
    model, X, y = make("chain")
    bins = KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf")
    Z = [clone(bins).fit(np.concatenate(X)).transform(x).astype(np.float32) for x in X]
    linear = clone(model).fit(Z, y)
    model.set_params(row_transformer=bins).fit(X, y)
    np.testing.assert_array_equal(model.weights_, linear.weights_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ranges_are_whole_together(monkeypatch, dtype):
    monkeypatch.setattr(mapped, "ROWS_AT_ONCE", 7)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)).astype(dtype)
    seen = []

    class Squares(FunctionTransformer):
        def transform(self, X):
            seen.append((len(X), X.dtype))
            return super().transform(X)

    found = mapped.transform_rows(Squares(np.square), X, Memory())
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, (X**2).astype(np.float32))
    assert seen == [(7, dtype)] * 7 + [(1, dtype)]


def test_no_more_than_a_range_is_in_memory_beside_the_result():
    X = np.ones((40_000, 2))
    wide = FunctionTransformer(lambda X: np.repeat(X, 50, axis=1))
    tracemalloc.start()
    found = mapped.transform_rows(wide, X, Memory())
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.nbytes == 16_000_000
    assert most < found.nbytes + 4_000_000


def test_rows_beyond_the_memory_limit_are_mapped_files(monkeypatch):
    memory = Memory()
    taken = []
    monkeypatch.setattr(
        memory, "empty", lambda size, dtype: taken.append((size, dtype)) or np.empty(size, dtype)
    )
    mapped.transform_rows(StandardScaler().fit(np.eye(3)), np.eye(3), memory)
    assert taken == [(9, np.float32)]


@pytest.mark.parametrize("transformer", [StandardScaler(copy=False), PCA(2, copy=False)])
def test_data_and_transformer_stay_as_they_were(transformer):
    X = np.random.default_rng(0).normal(size=(20, 3)) + 5
    before = X.copy()
    y = (X[:, 0] > 5).astype(int)
    model = MulticlassClassifier(row_transformer=transformer, regularization=0.1, random_state=0).fit(X, y)
    model.predict(X)
    np.testing.assert_array_equal(X, before)
    assert model.row_transformer is transformer
    assert not hasattr(transformer, "n_features_in_")
    expected = clone(transformer).set_params(copy=True).fit(X).transform(X).astype(np.float32)
    linear = MulticlassClassifier(regularization=0.1, random_state=0).fit(expected, y)
    np.testing.assert_array_equal(model.weights_, linear.weights_)


# ---- manners of scikit-learn ----------------------------------------------------------------------------


def test_parameters_of_the_transformer_are_searched(make):
    model, X, y = make("chain", row_transformer=waves())
    grid = {"row_transformer__nystroem__n_components": [2, 5], "regularization": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, y)
    chosen = search.best_params_["row_transformer__nystroem__n_components"]
    assert search.best_estimator_.row_transformer_[-1].components_.shape == (chosen, 3)
    assert model.row_transformer[-1].n_components == 6
    assert not hasattr(model, "row_transformer_")


def test_a_transformer_can_be_searched_itself():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = (np.linalg.norm(X, axis=1) < 1.2).astype(int)
    kernel = Nystroem(gamma=1.0, n_components=30, random_state=0)
    model = MulticlassClassifier(regularization=1e-2, random_state=0)
    search = GridSearchCV(model, {"row_transformer": [None, kernel]}, error_score="raise").fit(X, y)
    assert search.best_params_["row_transformer"] is kernel


def test_a_fit_without_transformer_forgets_the_last_one(make):
    model, X, y = make("multiclass", row_transformer=waves())
    model.fit(X, y)
    model.set_params(row_transformer=None).fit(X, y)
    assert not hasattr(model, "row_transformer_")
    assert model.coef_.shape == (3, 3)
    model.predict(X)


def test_going_on_keeps_the_features(make):
    model, X, y = make("multiclass", warm_start=True, tol=0.1)
    model.set_params(row_transformer=Nystroem(n_components=5)).fit(X, y)
    first = model.row_transformer_
    model.set_params(tol=1e-4).fit(X, y)
    assert model.row_transformer_ is first
    model.set_params(row_transformer__n_components=7).fit(X, y)
    assert model.coef_.shape == (3, 7)


def test_going_on_over_other_features_starts_anew(make):
    model, X, y = make("multiclass", warm_start=True, tol=1e-4)
    model.set_params(row_transformer=Nystroem(n_components=5, random_state=0)).fit(X, y)
    model.set_params(row_transformer__random_state=1).fit(X, y)
    fresh = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.weights_, fresh.weights_)
    model.set_params(row_transformer=None, regularization=1.0).fit(X, y)
    np.testing.assert_array_equal(model.weights_, clone(model).fit(X, y).weights_)


def test_a_path_has_one_map(make):
    model, X, y = make("multiclass", row_transformer=Nystroem(n_components=5))
    models = regularization_path(model, X, y, [1.0, 0.3, 0.1])
    assert len({id(one.row_transformer_) for one in models}) == 1
    for one in models:
        again = clone(one).set_params(row_transformer=FrozenEstimator(one.row_transformer_)).fit(X, y)
        assert again.certificate_.primal == pytest.approx(one.certificate_.primal, abs=0.02)


def test_the_table_of_a_frame_needs_no_names_inside():
    import pandas as pd

    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=list("abc"))
    model = MulticlassClassifier(row_transformer=StandardScaler().set_output(transform="pandas"))
    model.fit(X, (X["a"] > 0).astype(int))
    assert model.n_features_in_ == 3
    model.predict(X)


def test_a_parser_has_no_rows_to_transform():
    with pytest.raises(TypeError, match="row_transformer"):
        TreeParser(row_transformer=StandardScaler())


# ---- refusals -------------------------------------------------------------------------------------------


class Gives(TransformerMixin, BaseEstimator):
    """A transformer of the wrong kind."""

    def __init__(self, answer="rows"):
        self.answer = answer

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return {
            "fewer rows": X[:-1],
            "a vector": X[:, 0],
            "strings": X.astype(str),
            "NaN": np.where(X > 0, np.nan, X),
            "too large": X * 1e300,
            "nothing": X[:, :0],
        }[self.answer]


@pytest.mark.parametrize(
    ("transformer", "error", "said"),
    [
        (Nystroem, TypeError, r"must be an instance, Nystroem\(\), not the class Nystroem"),
        ("nystroem", TypeError, "must be a transformer, with fit and transform.*; got str"),
        (LogisticRegression(), TypeError, "must be a transformer.*; got LogisticRegression"),
        (make_pipeline(StandardScaler(), LogisticRegression()), TypeError, "got Pipeline"),
        (LinearDiscriminantAnalysis(), ValueError, "LinearDiscriminantAnalysis learns from outputs"),
        (Gives("fewer rows"), ValueError, "Gives made .* it must keep every row"),
        (Gives("a vector"), ValueError, "Gives must give rows of numbers"),
        (Gives("strings"), ValueError, "Gives must give rows of numbers"),
        (Gives("NaN"), ValueError, "Gives gave NaN or infinity .as float32. in rows 0 to"),
        (Gives("too large"), ValueError, "Gives gave NaN or infinity"),
        (Gives("nothing"), ValueError, "Gives gave rows of 0"),
    ],
)
def test_what_is_no_transformer_is_refused(fitting, transformer, error, said):
    with pytest.raises(error, match=said):
        fitting.estimator.set_params(row_transformer=transformer).fit(fitting.X, fitting.y)


def test_what_a_transformer_misses_is_said_with_its_name(make):
    model, X, y = make("chain", row_transformer=SelectKBest(k=1))
    with pytest.raises(ValueError, match="requires y") as caught:
        model.fit(X, y)
    assert "row_transformer=SelectKBest was fitted to rows" in caught.value.__notes__[0]


@pytest.mark.parametrize("kind", [LinearRegressor, MulticlassClassifier, ChainClassifier, MatchingClassifier])
def test_what_is_no_transformer_is_refused_without_data(kind):
    with pytest.raises(TypeError, match="not the class PCA"):
        kind(row_transformer=PCA).check_parameters()


def test_another_number_of_features_is_refused(fitting):
    model = fitting.estimator.set_params(row_transformer=waves()).fit(fitting.X, fitting.y)
    widened = [np.concatenate([x, x], axis=-1) for x in fitting.X]
    X = np.array(widened) if isinstance(fitting.X, np.ndarray) else widened
    with pytest.raises(ValueError, match=r"features, but .* is expecting .* features as input"):
        model.predict(X)


class Doubled(TransformerMixin, BaseEstimator):
    """A map without parameters."""

    factor = 2.0

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return self.factor * X


class Reversed(Doubled):
    factor = -1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Doubled(), Reversed()),
        (FunctionTransformer(np.cbrt), FunctionTransformer(np.negative)),
        (make_pipeline(Doubled(), StandardScaler()), make_pipeline(Reversed(), StandardScaler())),
    ],
)
def test_a_warm_start_does_not_go_on_with_another_map(one, other):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.integers(2, size=30)
    model = MulticlassClassifier(row_transformer=one, warm_start=True, random_state=0).fit(X, y)
    warm = model.set_params(row_transformer=other).fit(X, y)
    fresh = MulticlassClassifier(row_transformer=other, random_state=0).fit(X, y)
    np.testing.assert_allclose(warm.row_transformer_.transform(X), fresh.row_transformer_.transform(X))
    kept = warm.row_transformer_
    assert warm.set_params(regularization=0.1).fit(X, y).row_transformer_ is kept
