"""Curves of single features, beside scikit-learn's splines and by what they are said to be."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import SplineTransformer

from structlearn import LinearRegressor, SplineExpansion, load
from structlearn.estimators.inputs.nonlinear import nonlinear_kind
from structlearn.estimators.row_maps.splines import Curves
from structlearn.estimators.row_maps.stored import stored_transformer


def numbers(n=200, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_they_span_what_the_splines_of_scikit_learn_span():
    X = numbers(d=1)
    ours = SplineExpansion(n_knots=5).fit(X).transform(X)
    knots = np.quantile(np.unique(X), np.linspace(0, 1, 5))[:, None]
    theirs = SplineTransformer(knots=knots, degree=3).fit_transform(X)
    ours = np.hstack([np.ones((len(X), 1)), ours[:, 1:]])
    for one, other in ((ours, theirs), (theirs, ours)):
        fit = other @ np.linalg.lstsq(other, one, rcond=None)[0]
        np.testing.assert_allclose(fit, one, atol=1e-10)
    assert np.linalg.matrix_rank(ours) == theirs.shape[1] == 7


def test_features_of_few_values_have_none_and_rows_stay():
    X = np.c_[numbers(d=1), np.arange(200) % 9, np.arange(200) % 10]
    found = SplineExpansion().fit(X)
    assert found.map_.columns == [0, 2]
    np.testing.assert_array_equal(found.transform(X)[:, :3], X)
    names = stored_transformer(found).names(["a", "b", "c"])
    assert names[:4] == ["a", "b", "c", "a curve 1"]
    assert len(names) == found.transform(X).shape[1] == 3 + 2 * 7
    bare = SplineExpansion().fit(X[:, [1]])
    np.testing.assert_array_equal(bare.transform(X[:, [1]]), X[:, [1]])


def test_they_are_constant_outside():
    found = SplineExpansion().fit(numbers(d=1))
    ends = found.transform(np.array([[-1e6], [-1e3], [1e3], [1e6]]))[:, 1:]
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_array_equal(ends[2], ends[3])
    assert ends[0, 0] == 1


def test_sparse_rows_give_the_same():
    X = np.c_[numbers(d=2), np.r_[np.zeros(150), np.arange(50)]]
    dense = SplineExpansion().fit(X[:, :2])
    found = SplineExpansion().fit(sparse.csr_matrix(X))
    assert found.map_.columns == [0, 1]  # the third is mostly zero
    mapped = found.transform(sparse.csr_matrix(X))
    assert sparse.issparse(mapped)
    np.testing.assert_allclose(mapped.toarray()[:, 3:], dense.transform(X[:, :2])[:, 2:])


def test_parameters():
    assert clone(SplineExpansion(n_knots=4)).get_params() == {"n_knots": 4}
    for wrong in (1, 11):
        with pytest.raises(ValueError, match="n_knots must be from 2 to 10"):
            SplineExpansion(n_knots=wrong).fit(numbers())


@pytest.mark.parametrize(
    "broken",
    [
        Curves(2, [2], np.arange(8.0)[None]),
        Curves(2, [0], np.arange(8.0)[None, ::-1]),
        Curves(2, [0], np.arange(7.0)[None]),
        Curves(2, [0, 1], np.arange(8.0)[None]),
        Curves(2, [0], np.zeros((1, 8))),
    ],
)
def test_what_no_fit_gives_is_refused(broken):
    with pytest.raises(ValueError, match="row map"):
        broken.check()


def test_a_sum_of_curves_is_learned_and_kept(tmp_path):
    X, new = numbers(), numbers(seed=1)
    y, truth = (np.sin(2 * one[:, 0]) + one[:, 1] ** 2 for one in (X, new))
    model = LinearRegressor(row_transformer=SplineExpansion(), regularization=1e-4).fit(X, y)
    assert LinearRegressor().fit(X, y).score(new, truth) < 0.3 < 0.95 < model.score(new, truth)
    model.save(tmp_path / "m.st")
    np.testing.assert_array_equal(load(tmp_path / "m.st").predict(new), model.predict(new))


def test_the_kind_follows_from_the_shape():
    assert nonlinear_kind("auto", (1000, 20)) == "nystroem"
    assert nonlinear_kind("auto", (999, 20)) == "splines"
    assert nonlinear_kind("none", (999, 20)) == "none"
