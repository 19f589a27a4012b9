"""Marginals of label graphs against all 2^K labellings, which are written out by `encode`."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from structlearn.core.contract import log_partition, marginals, marginals_workspace
from structlearn.structures.labels.enumeration import EnumerationRecord, enumeration_record
from structlearn.structures.labels.label_graph import LabelGraph
from structlearn.structures.labels.label_tree import TreeRecord

ELEMENTS = {
    "ties": st.integers(-2, 2).map(float),
    "thousands": st.floats(-1e3, 1e3, allow_subnormal=False),
    "millions": st.floats(-1e6, 1e6, allow_subnormal=False),
    "masked": st.sampled_from([-np.inf, -1.0, 0.0, 0.25, 2.0]),
    "rarely masked": st.sampled_from([-np.inf, *np.linspace(-1e3, 1e3, 41)]),
}


@st.composite
def graphs(draw):
    """Forests and graphs with cycles, edges in any order and direction."""
    n_labels = draw(st.integers(1, 6))
    if draw(st.booleans()):
        parents = [draw(st.integers(-1, k - 1)) for k in range(n_labels)]
        pairs = [(k, parent) for k, parent in enumerate(parents) if parent >= 0]
    else:
        everything = list(combinations(range(n_labels), 2))
        pairs = draw(st.lists(st.sampled_from(everything), unique=True)) if everything else []
    names = draw(st.permutations(range(n_labels)))
    turned = [(b, a) if draw(st.booleans()) else (a, b) for a, b in draw(st.permutations(pairs))]
    return LabelGraph(n_labels, [(names[a], names[b]) for a, b in turned])


@st.composite
def scored_graphs(draw):
    graph = draw(graphs())
    elements = ELEMENTS[draw(st.sampled_from(sorted(ELEMENTS)))]
    return graph, draw(arrays(np.float64, graph.n_labels + graph.n_shared, elements=elements))


def random_scores(graph, scale=1.0, seed=0):
    return scale * np.random.default_rng(seed).normal(size=graph.n_labels + graph.n_shared)


def enumerated(graph, theta):
    """(marginals, log Z) of the Gibbs distribution over all labellings; None, -inf where there are none."""
    vertices = np.array([graph.encode(y) for y in product((0, 1), repeat=graph.n_labels)])
    scores = vertices @ np.where(np.isneginf(theta), 0.0, theta)  # -inf * 0 is NaN
    scores[vertices @ np.isneginf(theta) > 0] = -np.inf
    top = scores.max()
    if top == -np.inf:
        return None, top
    weights = np.exp(scores - top)
    return weights @ vertices / weights.sum(), top + np.log(weights.sum())


def ask(graph, theta, operation, record=None):
    """(value, mean) from used scratch memory."""
    record = graph.record if record is None else record
    shape = graph.shape(theta)
    local, shared = graph.split(theta, shape)
    work = marginals_workspace(record, shape)
    mean = np.full(theta.size, np.nan)
    marginals(record, shape, np.ones_like(local), np.ones_like(shared), work, mean)
    return operation(record, shape, local, shared, work, mean), mean


def assert_consistent(graph, mean):
    on, tables = mean[: graph.n_labels], mean[graph.n_labels :].reshape(-1, 2, 2)
    assert ((mean >= 0) & (mean <= 1)).all()
    np.testing.assert_allclose(tables.sum(axis=(1, 2)), 1, rtol=1e-13)
    np.testing.assert_allclose(tables[:, 1, :].sum(axis=1), on[graph.edges[:, 0]], atol=1e-13)
    np.testing.assert_allclose(tables[:, :, 1].sum(axis=1), on[graph.edges[:, 1]], atol=1e-13)


@given(scored_graphs())
@settings(deadline=None, max_examples=400)
def test_gibbs_is_the_enumerated_distribution(problem):
    graph, theta = problem
    expected, log_z = enumerated(graph, theta)
    records = [graph.record, enumeration_record(graph.n_labels, graph.edges)]  # a forest has both forms
    largest = np.abs(theta[np.isfinite(theta)]).max(initial=0.0)
    for record in records:
        value, mean = ask(graph, theta, marginals, record)
        assert value == pytest.approx(log_z, rel=1e-13, abs=1e-12 + 1e-14 * largest)
        assert ask(graph, theta, log_partition, record)[0] == value
        if expected is None:
            continue
        np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-12 + 2e-14 * largest)
        assert (mean[np.isneginf(theta)] == 0).all()
        assert_consistent(graph, mean)


@pytest.mark.parametrize("graph", [LabelGraph(12), LabelGraph(200, "tree")], ids=["all pairs", "a long path"])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_large_graphs_are_consistent(graph, scale):
    assert_consistent(graph, graph.marginals(random_scores(graph, scale)).mean)


@pytest.mark.parametrize("edges", ["tree", "all"])
@pytest.mark.parametrize("seed", range(5))
def test_marginals_are_the_derivative_of_log_z(edges, seed):
    graph = LabelGraph(4, edges)
    assert isinstance(graph.record, TreeRecord if edges == "tree" else EnumerationRecord)
    theta = random_scores(graph, seed=seed)
    step = 1e-5
    shifts = step * np.eye(theta.size)
    above, below = (graph.marginals(theta + sign * shifts).log_partition for sign in (1, -1))
    np.testing.assert_allclose(graph.marginals(theta).mean, (above - below) / (2 * step), atol=1e-9)


@pytest.mark.parametrize("edges", ["tree", "all"])
def test_many_at_once(edges):
    graph = LabelGraph(5, edges)
    stack = np.stack([random_scores(graph, seed=seed) for seed in range(4)])
    means, log_z = graph.marginals(stack)
    listed = graph.marginals(list(stack))
    for i, theta in enumerate(stack):
        one = graph.marginals(theta)
        for mean, value in ((means[i], log_z[i]), (listed.mean[i], listed.log_partition[i])):
            np.testing.assert_allclose(mean, one.mean, atol=1e-15)
            assert value == pytest.approx(one.log_partition, rel=1e-15)


@pytest.mark.parametrize("edges", ["tree", "all"])
def test_no_allowed_labelling_is_an_error(edges):
    graph = LabelGraph(3, edges)
    theta = np.zeros(graph.n_labels + graph.n_shared)
    theta[3:7] = -np.inf
    with pytest.raises(ValueError, match="forbids every output"):
        graph.marginals(theta)


def test_the_relaxation_has_no_marginals_and_says_what_has():
    graph = LabelGraph(16)
    with pytest.raises(
        TypeError, match=r"LabelGraph has no marginals \(its labels are too many .*edges='tree'"
    ):
        graph.marginals(np.zeros(graph.n_labels + graph.n_shared))
    assert LabelGraph(15).no_marginals == LabelGraph(16, "tree").no_marginals == ""
