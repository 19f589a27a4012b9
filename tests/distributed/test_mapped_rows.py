"""Mapped rows on a cluster: the driver fits the transformer, each worker maps its own rows."""

import numpy as np
import pytest
from in_process import Here
from problems import data, estimator
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import StandardScaler

from structlearn.distributed import open_partitions, split

KERNEL = Nystroem(n_components=6, random_state=0)


@pytest.mark.parametrize("name", ["chain", "multiclass", "matching"])
def test_the_optimum_is_that_of_one_machine(name):
    X, y = data(name)
    found = estimator(name, row_transformer=KERNEL).fit(X, y, client=Here(3))
    alone = estimator(name, row_transformer=KERNEL).fit(X, y)
    assert found.certificate_.converged
    assert abs(found.certificate_.dual - alone.certificate_.dual) <= 1e-6
    np.testing.assert_allclose(found.weights_, alone.weights_, atol=5e-3)
    assert found.row_transformer is KERNEL
    np.testing.assert_array_equal(found.row_transformer_.components_, alone.row_transformer_.components_)
    assert found.score(X, y) == pytest.approx(alone.score(X, y), abs=0.05)


def test_partitions_need_a_transformer_that_is_fitted(tmp_path):
    X, y = data("multiclass")
    split(tmp_path / "p", "classes", X, y, parts=2)
    parts = open_partitions(tmp_path / "p")
    with pytest.raises(ValueError, match=r"pass it as sklearn\.frozen\.FrozenEstimator"):
        estimator("multiclass", row_transformer=StandardScaler()).fit(parts, None, client=Here(2))
    scaler = FrozenEstimator(StandardScaler().fit(X))
    found = estimator("multiclass", row_transformer=scaler).fit(parts, None, client=Here(2))
    alone = estimator("multiclass", row_transformer=scaler).fit(X, y)
    assert abs(found.certificate_.dual - alone.certificate_.dual) <= 1e-6
