"""Scores and graphs as nobody wants them: large, small, forbidden, without edges; all against enumeration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from brute import pairwise_graphs, score_of
from structlearn.structures.graph.pairwise import PairwiseGraphs
from structlearn.structures.graphs import make_graph

KINDS = ["full", "symmetric", "antisymmetric", "potts"]
COMPLETE = [(a, b) for a in range(5) for b in range(a)]
GRAPHS = {
    "one node": make_graph(1, []),
    "no edges": make_graph(4, []),
    "an isolated node": make_graph(5, [(0, 1), (1, 2), (2, 0)]),
    "an edge twice": make_graph(4, [(0, 1), (1, 0), (1, 2), (2, 0), (2, 3), (3, 0)]),
    "complete": make_graph(5, COMPLETE),
}
each_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
each_kind = pytest.mark.parametrize("kind", KINDS)


def best_of(graph, n_states, kind, theta):
    family = pairwise_graphs([graph], n_states, kind)
    return score_of(theta, family.vertices(family.shapes[0])).max()


def check(graph, n_states, kind, theta, **options):
    """A labelling of the score it says it has, below the best; a bound above it. Returns what to compare."""
    structure = PairwiseGraphs([graph], n_states, pairs=kind, **options)
    best = best_of(graph, n_states, kind, theta)
    found = structure.solve(theta)
    slack = 1e-9 * np.abs(theta[np.isfinite(theta)]).max()
    own = score_of(theta, structure.encode(found.states)[None])[0]
    assert_allclose(found.value, own, atol=slack)
    assert found.value <= best + slack
    assert found.bound >= best - slack
    return found, best, slack


@each_kind
@each_graph
@pytest.mark.parametrize("size", [1e8, 1e-9, 1e-200])
def test_scores_of_any_size(graph, kind, size):
    rng = np.random.default_rng(0)
    n_parts = PairwiseGraphs([graph], 3, pairs=kind).n_parts[0]
    for _ in range(3):
        theta = size * rng.normal(size=n_parts)
        for options in ({}, {"most_entries": 0, "inference": "exact"}):
            found, best, slack = check(graph, 3, kind, theta, **options)
            assert found.exact
            assert_allclose(found.value, best, atol=slack)
        check(graph, 3, kind, theta, most_entries=0)
        check(graph, 3, kind, theta, most_entries=0, polytope="local")


@each_kind
def test_scores_of_very_different_sizes(kind):
    """Single scores of 1e8 among those of 1: temperatures are small beside their differences."""
    rng, graph = np.random.default_rng(1), GRAPHS["complete"]
    n_parts = PairwiseGraphs([graph], 3, pairs=kind).n_parts[0]
    for _ in range(10):
        theta = rng.normal(size=n_parts) * np.where(rng.random(n_parts) < 0.2, 1e8, 1.0)
        check(graph, 3, kind, theta, most_entries=0)
        found, best, slack = check(graph, 3, kind, theta, most_entries=0, inference="exact")
        assert_allclose(found.value, best, atol=slack)


@each_graph
def test_one_state(graph):
    theta = np.arange(1.0, PairwiseGraphs([graph], 1).n_parts[0] + 1)
    for options in ({}, {"most_entries": 0}, {"most_entries": 0, "inference": "exact"}):
        found, best, slack = check(graph, 1, "full", theta, **options)
        assert_allclose([found.value, found.bound], best, atol=slack)


def test_ties_everywhere():
    graph = GRAPHS["complete"]
    theta = np.zeros(PairwiseGraphs([graph], 3).n_parts[0])
    structure = PairwiseGraphs([graph], 3, most_entries=0)
    found = structure.solve(theta)
    assert (found.value, found.bound) == (0.0, 0.0)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_where_much_is_forbidden_the_exact_answer_is_found_or_there_is_none(share):
    rng, graph, none = np.random.default_rng(2), GRAPHS["complete"], 0
    structure = PairwiseGraphs([graph], 3, most_entries=0, inference="exact")
    auto = PairwiseGraphs([graph], 3, most_entries=0)
    for _ in range(40):
        theta = rng.normal(size=structure.n_parts[0])
        theta[15:][rng.random(theta.size - 15) < share] = -np.inf
        best = best_of(graph, 3, "full", theta)
        if best == -np.inf:
            none += 1
            for one in (structure, auto):
                with pytest.raises(ValueError, match=r"forbids every output|no labelling"):
                    one.solve(theta)
            continue
        assert_allclose(structure.solve(theta).value, best, rtol=1e-9)
        try:
            assert auto.solve(theta).value <= best + 1e-9
        except ValueError as error:  # search has not met one, and says so
            assert "inference='exact'" in str(error)  # noqa: PT017
    assert none < 40
