"""Bounds that cycles tighten are above every labelling, and below those of the local polytope."""

import itertools

import numpy as np
import pytest

from structlearn.structures import PairwiseGraph
from structlearn.structures.factors.cycles import cycle_bound, find_cycles
from structlearn.structures.graph.polishing import polish
from structlearn.structures.graphs import grid_graph, make_graph


def random_scores(rng, n, k, share):
    pairs = [(a, b) if rng.random() < 0.5 else (b, a) for a in range(n) for b in range(a + 1, n)]
    kept = [pair for pair in pairs if rng.random() < share]
    graph = make_graph(n, kept or pairs[:1])
    return graph, rng.normal(size=(n, k)), 2 * rng.normal(size=(len(graph.edges), k, k))


def best_of(graph, node, table):
    def score(y):
        return node[range(len(node)), y].sum() + sum(t[y[a], y[b]] for t, (a, b) in zip(table, graph.edges))

    return max(score(list(y)) for y in itertools.product(range(node.shape[1]), repeat=len(node)))


def test_bounds_are_above_all_labellings_and_no_worse_than_without_cycles():
    rng = np.random.default_rng(0)
    tighter = 0
    for _ in range(40):
        n, k = int(rng.integers(3, 7)), int(rng.integers(2, 4))
        graph, node, table = random_scores(rng, n, k, 0.8)
        found = cycle_bound(graph, node, table)
        if found is None:
            continue
        best, theta = best_of(graph, node, table), np.concatenate([node.ravel(), table.ravel()])
        relaxed = PairwiseGraph(n, graph.edges, k, inference="relaxed").solve(theta).bound
        assert best - 1e-9 <= found.bound <= relaxed + 0.05 * abs(relaxed)
        tighter += found.bound < relaxed - 1e-6
        assert found.bound == pytest.approx(best, rel=0.1)
    assert tighter > 2


def test_a_frustrated_ring_is_exact():
    """Three neighbours in a ring cannot all differ: the relaxation without cycles says they can."""
    for cycle in ([(0, 1), (1, 2), (2, 0)], [(0, 1), (2, 1), (2, 3), (0, 3)]):
        graph = make_graph(len(cycle), cycle)
        node, table = np.zeros((len(cycle), 2)), np.tile(-np.eye(2), (len(cycle), 1, 1))
        if len(cycle) == 4:
            table[0] *= -1.0
        found = cycle_bound(graph, node, table)
        assert found.bound == pytest.approx(best_of(graph, node, table), abs=1e-3)


def test_forbidden_states_keep_bounds_true():
    rng = np.random.default_rng(1)
    for _ in range(20):
        graph, node, table = random_scores(rng, 5, 2, 1.0)
        table[rng.random(table.shape) < 0.1] = -np.inf
        assert cycle_bound(graph, node, table).bound >= best_of(graph, node, table) - 1e-9


def test_cycles_are_triangles_and_squares_without_chords():
    grid = grid_graph(3, 4)
    assert len(find_cycles(grid, np.zeros((len(grid.edges), 2, 2)))) == 6
    complete = make_graph(5, list(itertools.combinations(range(5), 2)))
    assert len(find_cycles(complete, np.zeros((10, 2, 2)))) == 10
    path = make_graph(4, [(0, 1), (1, 2), (2, 3)])
    assert cycle_bound(path, np.zeros((4, 2)), np.zeros((3, 2, 2))) is None


def test_bounds_of_mixed_grids_are_within_a_few_per_cent_of_a_labelling():
    rng = np.random.default_rng(2)
    graph = grid_graph(12, 12)
    node = np.stack([np.zeros(144), rng.uniform(-1, 1, size=144)], axis=1)
    table = rng.uniform(-2, 2, size=len(graph.edges))[:, None, None] * np.array([[1, -1], [-1, 1]])
    theta = np.concatenate([node.ravel(), table.ravel()])
    found = cycle_bound(graph, node, table)
    exact = PairwiseGraph(144, graph.edges, 2).solve(theta)  # by elimination
    assert exact.exact
    assert exact.value - 1e-9 <= found.bound <= 1.02 * exact.value
    wide = PairwiseGraph(144, graph.edges, 2, inference="relaxed")
    states, value = polish(wide, theta, found.states, found.bound, 200, 0.02)
    assert value == pytest.approx(theta @ wide.encode(states))
    assert 0.99 * exact.value <= value <= exact.value + 1e-9
