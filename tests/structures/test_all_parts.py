"""The projection in the norm over all parts, by its optimality at every vertex."""

import numpy as np
import pytest

from brute import STRUCTURES
from local_polytope import LocalPolytope
from structlearn.core.callbacks import Callback
from structlearn.core.contract import maximize, workspace
from structlearn.structures.all_parts import AllParts, squared_norm_record
from structlearn.structures.own import Called
from structlearn.structures.regularized import Quadratic
from structlearn.structures.unshared import Whole


def assert_nearest(theta, z, value, vertices, rtol=1e-9):
    gains = (vertices - z) @ (theta - z)
    assert gains.max() <= rtol * (1 + np.abs(theta).max() ** 2)
    assert value == pytest.approx(theta @ z - z @ z / 2, abs=1e-9)


@pytest.mark.parametrize("name", ["simplex", "chain", "chain with start and end", "label graph", "matching"])
@pytest.mark.parametrize("scale", [0.5, 20.0])
def test_no_corner_is_nearer(name, scale):
    family = STRUCTURES[name]
    record = squared_norm_record(family.structure)
    for shape in family.shapes:
        V = family.vertices(shape)
        theta = scale * np.random.default_rng(0).normal(size=V.shape[1])
        z = np.zeros(theta.size)
        n_local = shape[0] * shape[1]
        value = maximize(record, shape, theta[:n_local], theta[n_local:], workspace(record, shape), z)
        assert_nearest(theta, z, value, V)


def test_parts_that_are_all_local_are_projected_alike():
    family = STRUCTURES["chain"]
    shape = family.shapes[0]
    V = family.vertices(shape)
    theta = np.random.default_rng(1).normal(size=V.shape[1])
    record = squared_norm_record(Whole(family.structure))
    z = np.zeros(theta.size)
    value = maximize(record, shape, theta, theta[:0], workspace(record, shape), z)
    assert_nearest(theta, z, value, V)


def test_plain_objects_are_projected_too():
    """The relaxation's vertices are not listed: its best one at the gradient decides."""
    edges = np.array([[0, 1], [1, 2], [0, 2]])
    polytope = LocalPolytope(3, edges)
    callback = Callback(polytope.maximize)
    record = Quadratic(AllParts(Called(callback.address, polytope.n_shared), polytope.n_shared))
    theta = np.random.default_rng(2).normal(size=3 + polytope.n_shared)
    z, best = np.zeros(theta.size), np.zeros(theta.size)
    value = maximize(record, (1, 3), theta[:3], theta[3:], workspace(record, (1, 3)), z)
    polytope.maximize((1, 3), (theta - z)[:3], (theta - z)[3:], best)
    callback.raise_failure()
    assert_nearest(theta, z, value, best[None])
