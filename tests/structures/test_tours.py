"""Tours: against all orders of the nodes, and against dynamic programming."""

from itertools import permutations

import numpy as np
import pytest

from structlearn import DecisionPredictor
from structlearn.structures import Tour

SCORES = {
    "any sign": lambda rng, n: rng.normal(size=n),
    "ties": lambda rng, n: rng.integers(-2, 3, size=n).astype(float),
    "negative": lambda rng, n: -1e6 * rng.uniform(size=n),
    "tiny": lambda rng, n: 1e-6 * rng.normal(size=n),
    "all the same": lambda rng, n: np.full(n, -3.0),
}


def cost_table(n, theta):
    cost = np.zeros((n, n))
    cost[np.triu_indices(n, 1)] = -theta
    return cost + cost.T


def least_of_all(cost):
    """By trying every order of the nodes after the first."""
    n = len(cost)
    orders = np.array(list(permutations(range(1, n))))
    steps = cost[orders[:, :-1], orders[:, 1:]].sum(axis=1)
    return (cost[0, orders[:, 0]] + steps + cost[orders[:, -1], 0]).min()


def least_by_dynamic_programming(cost):
    """Held and Karp: the least way from node 0 through a set of nodes to one of them."""
    n = len(cost) - 1
    best = np.full((1 << n, n), np.inf)
    best[1 << np.arange(n), np.arange(n)] = cost[0, 1:]
    for group in range(1, 1 << n):
        for last in range(n):
            rest = group ^ (1 << last)
            if group >> last & 1 and rest:
                best[group, last] = (best[rest] + cost[1:, last + 1]).min()
    return (best[-1] + cost[1:, 0]).min()


def assert_is_tour(structure, z):
    edges = structure.edges[z == 1].tolist()
    node, before, seen = 0, -1, []
    for _ in range(structure.n_nodes):
        seen.append(node)
        ends = [b if a == node else a for a, b in edges if node in (a, b)]
        assert len(ends) == 2
        before, node = node, ends[0] if ends[0] != before else ends[1]
    assert node == 0
    assert sorted(seen) == list(range(structure.n_nodes))


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("n", range(3, 8))
def test_the_best_tour_of_all_orders_is_found(n, kind):
    rng, structure = np.random.default_rng(n), Tour(n)
    for _ in range(5):
        theta = SCORES[kind](rng, structure.n_parts)
        z = structure.maximize(theta)
        assert_is_tour(structure, z)
        assert -theta @ z == pytest.approx(least_of_all(cost_table(n, theta)), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("kind", ["any sign", "ties", "negative"])
@pytest.mark.parametrize("n", [9, pytest.param(12, marks=pytest.mark.long)])
def test_larger_tours_are_those_of_dynamic_programming(n, kind):
    rng, structure = np.random.default_rng(n), Tour(n)
    theta = SCORES[kind](rng, structure.n_parts)
    z = structure.maximize(theta)
    assert_is_tour(structure, z)
    assert -theta @ z == pytest.approx(least_by_dynamic_programming(cost_table(n, theta)), rel=1e-12)


def test_tours_of_twenty_nodes_are_tours_that_no_exchange_shortens():
    rng, structure = np.random.default_rng(0), Tour(20)
    points = rng.uniform(size=(20, 2))
    theta = -np.linalg.norm(points[structure.edges[:, 0]] - points[structure.edges[:, 1]], axis=1)
    z = structure.maximize(theta)
    assert_is_tour(structure, z)
    around = structure.maximize(theta + 1e-3 * rng.normal(size=(30, theta.size)))
    assert (around @ theta <= theta @ z + 1e-12).all()


def test_forbidden_edges_are_not_used():
    structure = Tour(6)
    theta = np.random.default_rng(0).normal(size=15)
    best = np.flatnonzero(structure.maximize(theta))
    without = structure.without(best[:2])
    z = without.maximize(theta)
    assert_is_tour(structure, z)
    assert not z[best[:2]].any()
    with pytest.raises(ValueError, match="no output is allowed"):
        structure.without(range(13))


@pytest.mark.parametrize(("n", "sentence"), [(2, "at least 3 nodes"), (21, "at most 20 nodes.*Program")])
def test_sizes_that_cannot_be_are_refused(n, sentence):
    with pytest.raises(ValueError, match=sentence):
        Tour(n)


def test_tours_are_learnt():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    costs = 5 + X @ rng.normal(size=(3, 21))
    model = DecisionPredictor(Tour(7), random_state=0, tol=1e-3, regularization=1e-4).fit(X, costs)
    assert model.certificate_.converged
    assert model.score(X, costs) > -0.02
