"""The search that leaves local optima: forests, exact draws, labellings that are never worse."""

import itertools

import numpy as np
import pytest

from structlearn.core.contract import workspace
from structlearn.structures import PairwiseGraph
from structlearn.structures.graph.bounded import node_arcs
from structlearn.structures.graph.forests import forest_scratch, no_forests, partition
from structlearn.structures.graph.inference import fill_tables
from structlearn.structures.graph.search import draw_forests
from structlearn.structures.graphs import grid_graph
from structlearn.structures.labels.label_tree import edges_form_forest

COMPLETE = np.argwhere(np.triu(np.ones((9, 9)), 1))


def wide(n, edges, k, pairs="full", effort=0):
    """A graph of which the search is asked: nothing is eliminated."""
    found = PairwiseGraph(n, edges, k, pairs, inference="relaxed", effort=effort)
    assert not found.eliminated
    return found


@pytest.mark.parametrize(("n", "edges"), [(9, COMPLETE), (30, grid_graph(5, 6).edges)])
def test_partitions_are_induced_forests(n, edges):
    record = wide(n, edges, 2).record
    arcs, found = node_arcs(record, 0), no_forests(3, n)
    seed = np.zeros(1, dtype=np.uint64)
    for k in range(3):
        partition(arcs, seed, found, k, forest_scratch(n))
        assert sorted(found.order[k].tolist()) == list(range(n))
        place = np.argsort(found.order[k])
        for f in range(found.n_forests[k]):
            nodes = found.order[k, found.start[k, f] : found.start[k, f + 1]]
            assert (found.forest[k][nodes] == f).all()
            inside = np.isin(edges, nodes).all(axis=1)
            assert edges_form_forest(n, edges[inside])
            assert (found.arc[k][nodes] >= 0).sum() == inside.sum()
        for v in np.flatnonzero(found.arc[k] >= 0):
            assert place[arcs.head[found.arc[k, v]]] < place[v]
    assert not np.array_equal(found.order[0], found.order[1])


@pytest.mark.parametrize("pairs", ["full", "potts"])
def test_draws_follow_the_distribution_at_a_temperature(pairs):
    rng = np.random.default_rng(1)
    edges = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]]
    structure = wide(4, edges, 2, pairs, effort=1)
    theta, temperature = rng.normal(size=int(structure.n_parts[0])), 0.8
    record = structure.record
    work = workspace(record, (theta.size, 0))
    fill_tables(record.scores, 0, theta, np.empty(0), work.labels)
    arcs, search = node_arcs(record, 0), work.search
    search.seed[0] = 7
    for k in range(len(search.forests.order)):
        partition(arcs, search.seed, search.forests, k, search.scratch)
    labellings = list(itertools.product(range(2), repeat=4))
    logs = np.array([theta @ structure.encode(list(one)) for one in labellings]) / temperature
    expected = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    counts, n = dict.fromkeys(labellings, 0), 6000
    for t in range(n):
        for turn in range(2):
            k = (2 * t + turn) % len(search.forests.order)
            draw_forests(arcs, work.labels.node, work.labels.table, temperature, k, search)
        counts[tuple(search.states.tolist())] += 1
    found = np.array([counts[one] for one in labellings]) / n
    np.testing.assert_allclose(found, expected, atol=0.03)


def test_a_search_finds_the_best_labelling_of_small_graphs():
    rng = np.random.default_rng(2)
    plain, searching, exact = (
        wide(9, COMPLETE, 3),
        wide(9, COMPLETE, 3, effort=400),
        PairwiseGraph(9, COMPLETE, 3),
    )
    gains = []
    for _ in range(12):
        theta = rng.normal(size=int(plain.n_parts[0]))
        without, found = plain.solve(theta), searching.solve(theta)
        assert found.value == pytest.approx(exact.solve(theta).value)
        assert found.value == pytest.approx(theta @ searching.encode(found.states))
        gains.append(found.value - without.value)
    assert min(gains) >= -1e-9
    assert max(gains) > 1e-3


def test_a_search_is_repeatable_and_keeps_what_is_forbidden():
    rng = np.random.default_rng(3)
    structure = wide(9, COMPLETE, 3, effort=50)
    theta = rng.normal(size=int(structure.n_parts[0]))
    theta[rng.choice(27, 9, replace=False)] = -np.inf
    theta[::3][:9] = np.where(np.isneginf(theta[:27].reshape(9, 3)).all(axis=1), 0.0, theta[::3][:9])
    first, again = structure.maximize(theta), structure.maximize(theta)
    np.testing.assert_array_equal(first, again)
    assert not np.isneginf(theta[first > 0]).any()


def test_effort_is_a_number():
    with pytest.raises(ValueError, match="effort is a number of draws"):
        PairwiseGraph(3, [[0, 1]], 2, effort=-1)
