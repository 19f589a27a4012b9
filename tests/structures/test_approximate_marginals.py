"""Approximate marginals: exact on forests; on cycles a bound above enumeration, and beliefs that agree."""

import itertools

import numpy as np
import pytest

from structlearn.structures import PairwiseGraph

METHODS = ["tree-reweighted", "loopy"]
TREE = [(0, 1), (2, 1), (1, 3), (4, 5)]
CYCLES = [(0, 1), (1, 2), (2, 0), (2, 3), (4, 3), (4, 0), (1, 4)]


@pytest.mark.parametrize("pairs", ["full", "symmetric", "antisymmetric", "potts", "truncated-linear"])
@pytest.mark.parametrize("method", METHODS)
def test_forests_are_exact(method, pairs):
    rng = np.random.default_rng(0)
    graph = PairwiseGraph(6, TREE, 3, pairs=pairs, truncation=2.0)
    for scale in (0.1, 3.0):
        theta = scale * rng.normal(size=graph.n_parts)
        theta[4] = -np.inf
        mean, log_z = graph.marginals(theta)
        found = graph.approximate_marginals(theta, method, damping=0.0, tol=1e-12)
        assert found.converged
        assert found.log_partition == pytest.approx(log_z, abs=1e-9)
        np.testing.assert_allclose(found.mean, mean, atol=1e-9)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_cycles(method, k):
    rng = np.random.default_rng(k)
    graph = PairwiseGraph(5, CYCLES, k)
    every = np.array([graph.encode(np.array(y)) for y in itertools.product(range(k), repeat=5)])
    for scale in (0.0, 0.5, 2.0):
        theta = scale * rng.normal(size=graph.n_parts)
        log_z = np.log(np.exp(every @ theta).sum())
        found = graph.approximate_marginals(theta, method, tol=1e-9, most_steps=5000)
        assert found.converged
        if method == "tree-reweighted":
            assert found.log_partition >= log_z - 1e-9
            assert found.log_partition == pytest.approx(graph.log_partition_bound(theta), rel=1e-3)
        else:
            assert found.log_partition == pytest.approx(log_z, abs=0.5 * max(scale, 1e-9))
        nodes, edges = found.mean[: 5 * k].reshape(5, k), found.mean[5 * k :].reshape(-1, k, k)
        np.testing.assert_allclose(nodes.sum(axis=1), 1.0)
        agree = 1e-2 if method == "tree-reweighted" else 1e-6
        for (a, b), table in zip(CYCLES, edges):
            np.testing.assert_allclose(table.sum(axis=1), nodes[a], atol=agree)
            np.testing.assert_allclose(table.sum(axis=0), nodes[b], atol=agree)


def test_the_bound_moves_by_its_marginals():
    """The gradient of the least bound, by central differences of the bound itself."""
    rng = np.random.default_rng(3)
    graph = PairwiseGraph(5, CYCLES, 2)
    theta = rng.normal(size=graph.n_parts)
    found = graph.approximate_marginals(theta)
    for part in (0, 7, 12, 33):
        step = 1e-3 * np.eye(theta.size)[part]
        up, down = (graph.log_partition_bound(theta + s) for s in (step, -step))
        assert (up - down) / 2e-3 == pytest.approx(found.mean[part], abs=2e-3)


def test_what_does_not_converge_says_so():
    """Strong couplings of both signs in a complete graph, and little else: messages run in circles."""
    rng = np.random.default_rng(1)
    graph = PairwiseGraph(8, list(itertools.combinations(range(8), 2)), 2, pairs="potts")
    theta = np.concatenate([0.1 * rng.normal(size=16), rng.choice([-4.0, 4.0], size=28)])
    found = graph.approximate_marginals(theta, "loopy", damping=0.0, most_steps=60)
    assert not found.converged
    assert found.steps == 60
    assert ((found.mean[:16] >= 0) & (found.mean[:16] <= 1)).all()


def test_what_is_refused():
    graph = PairwiseGraph(3, [(0, 1), (1, 2)], 2)
    theta = np.zeros(graph.n_parts)
    with pytest.raises(ValueError, match=r"method is one of 'tree-reweighted', 'loopy'; got 'mean'"):
        graph.approximate_marginals(theta, "mean")
    with pytest.raises(ValueError, match=r"damping is a number from 0 to below 1; got 1\.0"):
        graph.approximate_marginals(theta, damping=1.0)
    theta[:2] = -np.inf
    for method in METHODS:
        with pytest.raises(ValueError, match="-inf"):
            graph.approximate_marginals(theta, method)
