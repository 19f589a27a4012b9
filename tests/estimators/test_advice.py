"""A run that does not converge names the columns that nobody scaled."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from structlearn import BinaryClassifier, ChainClassifier, LinearRegressor, MulticlassClassifier
from structlearn.estimators.advice.columns import column_sizes
from structlearn.estimators.inputs.feature_names import listed_names, numbered_names


def rows(factors, n=80):
    X = np.random.default_rng(0).normal(size=(n, len(factors))) * factors
    return X, (X[:, 0] + np.random.default_rng(1).normal(size=n) > 0).astype(int)


def test_sizes_are_root_mean_squares():
    X, _ = rows([1.0, 0.0, 1e6])
    expected = np.sqrt(np.mean(X**2, axis=0))
    np.testing.assert_allclose(column_sizes(X), expected)
    np.testing.assert_allclose(column_sizes(sparse.csr_matrix(X)), expected)


@pytest.mark.parametrize("kind", [MulticlassClassifier, BinaryClassifier])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_the_largest_column_is_named(kind, make):
    X, y = rows([1, 1, 1e7, 1])
    with pytest.warns(
        ConvergenceWarning, match=r"Column x2 is \d(\.\d)?e\+06 times larger|Column x2 is .e\+07"
    ) as seen:
        model = kind(max_passes=3, tol=1e-9).fit(make(X), y)
    assert model.certificate_.status == str(seen[0].message)
    mean = "" if make is np.asarray else "with_mean=False"
    assert f"row_transformer=StandardScaler({mean})" in model.certificate_.status


def test_sparse_columns_are_rare_and_not_small():
    """Such as the features of words: nobody could scale them."""
    X, y = rows([1, 1, 1e7, 1])
    X[np.random.default_rng(2).random(X.shape) < 0.7] = 0.0
    with pytest.warns(ConvergenceWarning) as seen:
        MulticlassClassifier(max_passes=3, tol=1e-9).fit(sparse.csr_matrix(X), y)
    assert "olumn" not in str(seen[0].message)


def test_columns_have_the_names_of_a_frame():
    X, y = rows([1, 1e5, 1, 1e6, 1, 1e4, 1, 1, 1e3, 1, 1])
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(11)])
    with pytest.warns(
        ConvergenceWarning, match="Columns c3, c1, c5 and 1 more are up to .* the median column"
    ):
        LinearRegressor(penalty="l1", regularization=1e-6, tol=1e-14, max_passes=1).fit(frame, y)


def test_all_columns_may_be_large():
    X, y = rows([1e5, 2e5])
    with pytest.warns(ConvergenceWarning, match="Column x1 is .* times larger than the constant feature"):
        MulticlassClassifier(max_passes=3, tol=1e-9).fit(X, y)


def test_rows_of_sequences_are_looked_at():
    X, y = rows([1, 1, 1e7])
    with pytest.warns(ConvergenceWarning, match="Column x2"):
        ChainClassifier(max_passes=2, tol=1e-9).fit(list(X.reshape(20, 4, 3)), list(y.reshape(20, 4)))


def test_nothing_is_said_where_columns_are_alike_or_training_converges():
    X, y = rows([1, 2, 3])
    with pytest.warns(ConvergenceWarning) as seen:
        MulticlassClassifier(max_passes=1, tol=1e-9, regularization=1e-5).fit(X, y)
    assert "olumn" not in str(seen[0].message)
    X, y = rows([1, 1, 1e7])
    model = MulticlassClassifier(row_transformer=StandardScaler()).fit(X, y)
    assert model.certificate_.converged
    assert "olumn" not in model.certificate_.status


def test_names_can_go_to_another_process():
    for names in (listed_names(["a", "b"]), numbered_names("x", 1)):
        assert pickle.loads(pickle.dumps(names))(np.array([1])) == names(np.array([1]))  # noqa: S301
