"""Transformers in model files: applied from arrays they do what scikit-learn does, without scikit-learn."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
)

from model_files import contents, rewrite
from structlearn import (
    LinearRegressor,
    MulticlassClassifier,
    SplineExpansion,
    TreeParser,
    load,
    make_table_transformer,
)
from structlearn.core.contract import Array
from structlearn.estimators.row_maps import stored
from structlearn.estimators.row_maps.base import ROW_MAPS, RowMap, register_row_map
from structlearn.estimators.row_maps.stored import StoredTransformer, stored_transformer

DENSE = [
    make_table_transformer(),
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    MinMaxScaler(),
    MinMaxScaler((-2, 3), clip=True),
    PCA(3, random_state=0),
    PCA(4, whiten=True, random_state=0),
    TruncatedSVD(3, random_state=0),
    RBFSampler(gamma=0.2, n_components=7, random_state=0),
    PolynomialCountSketch(n_components=9, random_state=0),
    PolynomialCountSketch(gamma=0.3, degree=3, coef0=0.7, n_components=11, random_state=0),
    Nystroem(n_components=6, random_state=0),
    *(
        Nystroem(kernel=kernel, n_components=6, random_state=0)
        for kernel in ("laplacian", "linear", "poly", "polynomial", "sigmoid", "cosine")
    ),
    Nystroem(kernel="poly", gamma=0.2, degree=2, coef0=0.5, n_components=6, random_state=0),
    Nystroem(kernel="sigmoid", kernel_params={"gamma": 0.05, "coef0": 0.2}, n_components=6, random_state=0),
    make_pipeline(StandardScaler(), Nystroem(n_components=6, random_state=0)),
    make_pipeline(
        PCA(3, random_state=0),
        make_pipeline("passthrough", MinMaxScaler()),
        RBFSampler(n_components=5, random_state=0),
    ),
    FrozenEstimator(StandardScaler().fit(np.random.default_rng(9).normal(size=(9, 5)))),
    SimpleImputer(add_indicator=True),
    OneHotEncoder(handle_unknown="ignore"),
    FunctionTransformer(),
    SplineExpansion(),
    make_pipeline(StandardScaler(), SplineExpansion(n_knots=3)),
    make_column_transformer(
        (PCA(2, random_state=0), [0, 3, 4]), (StandardScaler(), [3]), remainder="passthrough"
    ),
]
SPARSE = [
    StandardScaler(with_mean=False),
    TruncatedSVD(3, random_state=0),
    SplineExpansion(),
    PCA(3, svd_solver="arpack", random_state=0),
    RBFSampler(n_components=7, random_state=0),
    PolynomialCountSketch(coef0=1, n_components=9, random_state=0),
    *(
        Nystroem(kernel=kernel, n_components=6, random_state=0)
        for kernel in ("rbf", "laplacian", "linear", "poly", "sigmoid", "cosine")
    ),
    make_pipeline(StandardScaler(with_mean=False), Nystroem(n_components=6, random_state=0)),
]


def rows(dtype, *, seed=0, n=40):
    X = np.random.default_rng(seed).normal(size=(n, 5)) * [1, 2, 3, 0.5, 1] + [0, 1, -2, 0, 3]
    X[0] = 0.0  # whose cosine with all others is 0
    return X.astype(dtype)


def sparse_rows(dtype, *, seed=0, n=40):
    return sparse.random(n, 5, 0.4, format="csr", random_state=np.random.default_rng(seed)).astype(dtype)


def dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def fitted_classifier(transformer, X):
    y = dense(X)[:, 0] > np.median(dense(X)[:, 0])
    shared = {"regularization": 0.1, "random_state": 0}
    return MulticlassClassifier(row_transformer=transformer, **shared).fit(X, y.astype(int))


# ---- round trips ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("transformer", "make"),
    [*((one, rows) for one in DENSE), *((one, sparse_rows) for one in SPARSE)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_stored_transformer_is_the_fitted_one(path, transformer, make, dtype):
    X, new = make(dtype), make(dtype, seed=1, n=23)
    model = fitted_classifier(transformer, X)
    model.save(path)
    again = load(path)
    expected = dense(model.row_transformer_.transform(new))
    found = again.row_transformer_.transform(new)
    assert sparse.issparse(found) == sparse.issparse(model.row_transformer_.transform(new))
    # float32 Nystroem multiplies what rounding left by the root of an inverse, in scikit-learn as here
    loose = dtype == np.float32 and "Nystroem" in str(transformer)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(dense(found), expected, rtol=0, atol=scale * (1e-3 if loose else 1e-6))
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_allclose(
        again.decision_function(new), model.decision_function(new), atol=1e-3 if loose else 1e-5
    )
    assert again.coef_.shape == model.coef_.shape
    assert again.row_transformer_.n_outputs == expected.shape[1]


def test_every_registered_transformer_is_tried():
    tried = {type(one).__name__ for one in DENSE}
    assert set(ROW_MAPS) <= tried


def test_every_estimator_is_stored_with_its_map(fitting, path):
    transformer = make_pipeline(StandardScaler(), Nystroem(n_components=6, random_state=0))
    model = fitting.estimator.set_params(row_transformer=transformer).fit(fitting.X, fitting.y)
    model.save(path)
    again = load(path, structure=getattr(model, "structure", None))
    for found, expected in zip(again.predict(fitting.X), model.predict(fitting.X), strict=True):
        np.testing.assert_array_equal(found, expected)
    for found, expected in zip(again.decision_function(fitting.X), model.decision_function(fitting.X)):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_regression_is_stored_with_its_map(path):
    X = rows(np.float64)
    model = LinearRegressor(row_transformer=RBFSampler(n_components=20, random_state=0), posterior="gaussian")
    model.fit(X, np.sin(X[:, 0])).save(path)
    again = load(path)
    np.testing.assert_allclose(again.predict(X), model.predict(X), atol=1e-6)
    found, expected = (one.predictive_distribution(X).std for one in (again, model))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_model_that_was_read_keeps_its_map_in_further_fits_and_files(path, tmp_path):
    X = rows(np.float64)
    model = fitted_classifier(Nystroem(n_components=6), X)
    model.save(path)
    again = load(path)
    assert repr(again.row_transformer) == "StoredTransformer(Nystroem)"
    y = model.predict(X)
    refitted = clone(again).fit(X, y)
    assert refitted.row_transformer_ is again.row_transformer_
    refitted.save(tmp_path / "again")
    np.testing.assert_array_equal(load(tmp_path / "again").predict(X), refitted.predict(X))


def test_files_without_a_map_are_of_the_format_before(path):
    X = rows(np.float64)
    fitted_classifier(None, X).save(path)
    assert contents(path)[0]["version"] == 3
    fitted_classifier(StandardScaler(), X).save(path)
    assert contents(path)[0]["version"] == 4


def test_prediction_does_without_scikit_learn(path, tmp_path):
    X = rows(np.float64)
    model = fitted_classifier(make_pipeline(StandardScaler(), Nystroem(n_components=6, random_state=0)), X)
    model.save(path)
    np.save(tmp_path / "X.npy", X)
    source = """
import sys
import numpy as np
from structlearn import load
np.save(sys.argv[3], load(sys.argv[1]).predict(np.load(sys.argv[2])))
assert "sklearn" not in sys.modules
"""
    files = [path, tmp_path / "X.npy", tmp_path / "y.npy"]
    subprocess.run([sys.executable, "-c", source, *map(str, files)], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), model.predict(X))


# ---- what is not held -----------------------------------------------------------------------------------


def own_kernel(x, y):
    return float(x @ y)


@pytest.mark.parametrize(
    ("transformer", "said"),
    [
        (
            QuantileTransformer(n_quantiles=9),
            "row_transformer QuantileTransformer; it holds ColumnTransformer, Nystroem",
        ),
        (
            make_pipeline(StandardScaler(), QuantileTransformer(n_quantiles=9)),
            "row_transformer QuantileTransformer",
        ),
        (FeatureUnion([("a", StandardScaler())]), "row_transformer FeatureUnion"),
        (
            Nystroem(kernel=own_kernel, n_components=4),
            r"Nystroem\(kernel=own_kernel\); it holds kernel='rbf'",
        ),
        (Nystroem(kernel="chi2", n_components=4), r"Nystroem\(kernel='chi2'\)"),
        (Pipeline([("a", "passthrough")]), "Pipeline without steps"),
    ],
)
def test_other_transformers_predict_but_are_not_saved(path, transformer, said):
    X = np.abs(rows(np.float64))
    model = fitted_classifier(transformer, X)
    Z = model.row_transformer_.transform(X).astype(np.float32)
    scores = Z.astype(np.float64) @ (model.coef_[1] - model.coef_[0]) + np.diff(model.intercept_)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-6)
    with pytest.raises(ValueError, match=said):
        model.save(path)
    assert not path.exists()


def test_a_class_of_the_same_name_is_another(path):
    class StandardScaler(FrozenEstimator):
        pass

    model = fitted_classifier(QuantileTransformer(n_quantiles=9), rows(np.float64))
    model.row_transformer_ = StandardScaler(model.row_transformer_)
    with pytest.raises(ValueError, match="cannot hold the row_transformer StandardScaler"):
        model.save(path)


# ---- one more -------------------------------------------------------------------------------------------


class Doubler(TransformerMixin, BaseEstimator):
    """2 x."""

    def fit(self, X, y=None):
        self.factor_ = np.full(X.shape[1], 2.0)
        return self

    def transform(self, X):
        return X * self.factor_


@dataclass(frozen=True, eq=False)
class Doubled(RowMap):
    factor: Array

    @classmethod
    def of(cls, fitted):
        return cls(fitted.factor_)

    def check(self):
        pass

    n_inputs = n_outputs = property(lambda self: self.factor.size)

    def transform(self, X):
        return X * self.factor


def test_a_transformer_is_added_by_its_class_and_one_entry(path):
    X = rows(np.float64)
    model = fitted_classifier(make_pipeline(Doubler(), StandardScaler()), X)
    with pytest.raises(ValueError, match="cannot hold the row_transformer Doubler"):
        model.save(path)
    register_row_map(Doubler, "twice as much")(Doubled)
    try:
        model.save(path)
        np.testing.assert_array_equal(load(path).predict(X), model.predict(X))
    finally:
        ROW_MAPS.forget("Doubler")
    with pytest.raises(ValueError, match="it has a row map 'Doubler', which is unknown"):
        load(path)


# ---- damaged files --------------------------------------------------------------------------------------


def step(k, **changes):
    def change(header, tensors):
        header["row_map"][k].update(changes)

    return change


def value(k, name, new):
    def change(header, tensors):
        header["row_map"][k]["values"][name] = new

    return change


def tensor(name, change_of):
    def change(header, tensors):
        tensors[f"row_map:{name}"] = change_of(tensors[f"row_map:{name}"])

    return change


def drop(name):
    def change(header, tensors):
        del tensors[f"row_map:{name}"]

    return change


def drop_all(header, tensors):
    header["row_map"] = []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (step(0, name="Pickled"), "row map 'Pickled', which is unknown"),
        (step(0, name=3), "row_map.name must be str"),
        (value(1, "kernel", "chi2"), "kernel 'chi2' of its row map is unknown"),
        (value(1, "parameters", {"pairs": [["gamma", "a"]]}), "must be float"),
        (value(1, "parameters", {"pairs": []}), "its parameters are"),
        (value(0, "n_features", 4), "mean of its row map must be a vector of 4 numbers"),
        (value(0, "extra", 4), "a row map must be of n_features, mean, scale"),
        (step(0, values={}), "a row map must be of n_features, mean, scale"),
        (drop("0:mean"), "a row map must be of"),
        (tensor("1:normalization", lambda N: N[:-1]), "normalization of its row map must be a matrix"),
        (
            tensor("1:landmarks", lambda L: L[:, :-1].copy()),
            "a step of its row map gives 5 features, the next",
        ),
        (tensor("1:landmarks", np.ravel), "landmarks of its row map must be a matrix"),
        (tensor("0:scale", lambda s: s * np.nan), "not finite"),
        (step(1, sparse={"landmarks": [6, 5]}), "its row map lacks '1:landmarks:data'"),
        (drop_all, "its row map has no steps"),
    ],
)
def test_damaged_maps_are_refused(path, change, said):
    X = rows(np.float64)
    fitted_classifier(make_pipeline(StandardScaler(), Nystroem(n_components=6, random_state=0)), X).save(path)
    rewrite(path, change)
    with pytest.raises(ValueError, match=f"is damaged: .*{said}"):
        load(path)


def test_indices_of_a_damaged_sparse_map_are_looked_at(path):
    fitted_classifier(Nystroem(n_components=6, random_state=0), sparse_rows(np.float64)).save(path)
    rewrite(path, tensor("0:landmarks:indices", lambda i: i + 99))
    with pytest.raises(ValueError, match="is damaged"):
        load(path)


def test_a_map_of_other_features_or_of_none_is_refused(path):
    X = rows(np.float64)
    fitted_classifier(StandardScaler(), X).save(path)

    def widen(header, tensors):
        header["fitted"]["n_features_in_"] = 6

    rewrite(path, widen)
    with pytest.raises(ValueError, match="its row map takes 5 features, not 6"):
        load(path)
    parser = TreeParser(bits=4, label_bits=4)
    sentence = [["a", "X", "x"], ["b", "Y", "y"]]
    parser.fit([sentence], [[0, 1]]).save(path)
    rewrite(path, lambda header, tensors: header.update(row_map=[]))
    with pytest.raises(ValueError, match="row_map is nothing that TreeParser has"):
        load(path)


def test_applied_from_arrays_it_is_a_transformer():
    scaler = StandardScaler().fit(rows(np.float64))
    transformer = stored_transformer(scaler)
    assert clone(transformer) is transformer
    assert transformer.fit(np.eye(5)) is transformer
    steps, arrays = stored.write_steps(transformer)
    assert isinstance(stored.read(steps, arrays.__getitem__, arrays), StoredTransformer)
    assert Path(stored.__file__).parent.name == "row_maps"
