"""Dense dual points as arrays."""

import numpy as np

from structlearn.problem.regularizers import Zero
from structlearn.solvers.bcfw.dense_point import DensePoint


def test_a_point_is_an_array_without_a_copy_unless_one_is_asked_for():
    z = np.array([0.25, 0.75, 1.0])
    point = DensePoint(z, np.zeros(0), Zero(), np.array([0, 2, 3]))
    assert np.shares_memory(np.asarray(point), z)
    assert np.asarray(point, dtype=np.float32).dtype == np.float32
    assert not np.shares_memory(point.__array__(copy=True), z)
    assert point.__array__(np.float64, copy=True).tolist() == z.tolist()
