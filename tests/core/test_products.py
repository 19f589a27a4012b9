"""Rows times matrices in vector registers, against NumPy."""

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from structlearn.core.products import WIDTHS, times_matrix
from structlearn.core.threads import blas_threads


@njit
def dense(x, w, first, stride, theta):
    times_matrix(x, None, w, first, stride, theta)


@njit
def numbered(x, indices, w, first, stride, theta):
    times_matrix(x, indices, w, first, stride, theta)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [0, 1, 3, 4, 9])
def test_scores_of_any_number_of_labels(dtype, n_features):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n_features).astype(dtype)
    for n in range(1, 2 * WIDTHS[0] + 2):
        w, theta = rng.normal(size=2 + n_features * n), np.full(n + 1, 7.0)
        dense(x, w, 2, n, theta[:n])
        expected = x.astype(np.float64) @ w[2:].reshape(n_features, n)
        np.testing.assert_allclose(theta[:n], expected, rtol=1e-13, atol=1e-13)
        assert theta[n] == 7.0


@pytest.mark.parametrize("n_entries", [0, 1, 4, 7])
def test_features_by_number(n_entries):
    rng = np.random.default_rng(0)
    indices = rng.permutation(10)[:n_entries].astype(np.uint32)
    x, w = rng.normal(size=n_entries), rng.normal(size=10 * 5)
    theta = np.empty(5)
    numbered(x, indices, w, 0, 5, theta)
    np.testing.assert_allclose(theta, x @ w.reshape(10, 5)[indices], rtol=1e-13, atol=1e-13)
    one = np.empty(1)
    numbered(x, indices, w, 3, 5, one)
    np.testing.assert_allclose(one[0], theta[3], rtol=1e-13, atol=1e-13)


def test_vectors_with_steps_are_refused():
    with pytest.raises(TypingError, match="contiguous"):
        dense(np.ones(6)[::2], np.ones(6), 0, 2, np.empty(2))


def test_a_limit_inside_one_as_strict_does_nothing(monkeypatch):
    from structlearn.core import threads

    with blas_threads(1):
        monkeypatch.setattr(threads, "_controller", lambda: pytest.fail("asked again"))
        with blas_threads(1):
            pass
        monkeypatch.undo()
    assert not threads._LIMITS
