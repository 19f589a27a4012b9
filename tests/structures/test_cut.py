"""Cuts: maximum flows against another algorithm, projections by their certificate, graphs, refusals."""

import cvxpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow

from brute import STRUCTURES, score_of
from structlearn.problem.losses import FenchelYoungLoss, Shannon
from structlearn.structures import Cut
from structlearn.structures.cut.cut import Cuts, cut_workspace
from structlearn.structures.graphs import graph_record, grid_graph, make_graph
from structlearn.structures.sparsemap import SparseMAPScratch, active_set_project
from structlearn.structures.vertex_mixture import make_atoms

SCALES = st.sampled_from([1.0, 1e-3, 1e3, 1e6, 1e-300])


def random_graph(rng, n_nodes, n_edges):
    pairs = rng.integers(n_nodes, size=(n_edges, 2))
    return make_graph(n_nodes, pairs[pairs[:, 0] != pairs[:, 1]])


# ---- maximum flows --------------------------------------------------------------------------------------


def flow_value(graph, theta):
    """sum of positive node scores - the minimum cut, for integers, by scipy."""
    n = graph.n_nodes
    nodes, capacity = theta[:n].astype(int), np.maximum(-theta[n:], 0).astype(int)
    tails = [*graph.edges[:, 0], *graph.edges[:, 1], *np.full(n, n), *np.arange(n)]
    heads = [*graph.edges[:, 1], *graph.edges[:, 0], *np.arange(n), *np.full(n, n + 1)]
    values = [*capacity, *capacity, *np.maximum(nodes, 0), *np.maximum(-nodes, 0)]
    network = csr_matrix((np.array(values, dtype=np.int32), (tails, heads)), shape=(n + 2, n + 2))
    network.sum_duplicates()
    cut = maximum_flow(network, n, n + 1).flow_value
    return np.maximum(nodes, 0).sum() - cut + np.maximum(theta[n:], 0).sum()


@pytest.mark.parametrize("smoothing", [1, 10, 100])
@pytest.mark.parametrize("seed", range(20))
def test_maxima_are_those_of_another_maximum_flow(seed, smoothing):
    """Long paths and many repairs: grids and random graphs of up to 400 nodes."""
    rng = np.random.default_rng(seed)
    side = rng.integers(2, 21)
    graph = grid_graph(side, side, 8 if seed % 4 == 0 else 4)
    if seed % 2:
        graph = random_graph(rng, int(side) ** 2, rng.integers(4 * side**2))
    nodes = rng.integers(-50, 51, size=graph.n_nodes)
    edges = rng.integers(-smoothing, 3, size=len(graph.edges))
    theta = np.concatenate([nodes, edges]).astype(float)
    structure = Cut(*graph)
    found = structure.maximize(theta)
    assert found @ theta == flow_value(graph, theta)
    assert_array_equal(found[: graph.n_nodes], structure.decode(found))


@given(data=st.data())
def test_the_least_of_all_best_sets_is_labelled_one(data):
    """Ties: what may be 0 is 0."""
    family = STRUCTURES["cut"]
    theta = data.draw(arrays(np.float64, 9, elements=st.integers(-2, 2).map(float)))
    outputs = family.vertices(family.shapes[0])
    scores = score_of(theta, outputs)
    least = outputs[scores == scores.max(), :4].min(axis=0)
    assert_array_equal(family.structure.maximize(theta)[:4], least)


@given(data=st.data())
def test_tiny_and_huge_scores_are_maximised_too(data):
    family = STRUCTURES["cut"]
    theta = data.draw(SCALES) * data.draw(arrays(np.float64, 9, elements=st.floats(-2, 2)))
    best = score_of(theta, family.vertices(family.shapes[0])).max()
    assert family.structure.maximize(theta) @ theta == pytest.approx(best, rel=1e-12)


def test_positive_edges_are_cut_and_join_nobody():
    structure = Cut(3, [(0, 1), (1, 2)])
    assert_array_equal(structure.maximize([1.0, -2.0, -3.0, 5.0, -1.0]), [1, 0, 0, 1, 0])
    assert_array_equal(structure.maximize([1.0, -2.0, -3.0, -5.0, -1.0]), [0, 0, 0, 0, 0])


def test_a_forbidden_cut_and_a_forbidden_node():
    structure = Cut(3, [(0, 1), (1, 2)])
    assert_array_equal(structure.maximize([5.0, -2.0, 1.0, -np.inf, -9.0]), [1, 1, 1, 0, 0])
    assert_array_equal(structure.maximize([5.0, -np.inf, 1.0, -np.inf, -0.5]), [0, 0, 1, 0, 1])


# ---- projections ----------------------------------------------------------------------------------------


def optimality(structure, theta, z):
    """max_v <theta - z, v - z>, relative to the scores: at most 0 for the projection."""
    gradient = theta - z
    return (gradient @ (structure.maximize(gradient) - z)) / (1 + np.abs(theta).sum())


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 1e3, 1e6])
@pytest.mark.parametrize("smoothing", [0.0, 1.0, 3.0])
def test_no_corner_is_better_at_the_gradient_of_a_projection(scale, smoothing):
    rng = np.random.default_rng(0)
    structure = Cut.grid(9, 9)
    for _ in range(3):
        theta = np.concatenate([rng.normal(size=81), rng.normal(size=144) - smoothing]) * scale
        z = structure.project(theta)
        assert optimality(structure, theta, z) <= 1e-9
        assert ((z >= 0) & (z <= 1)).all()
        i, j = structure.edges.T
        assert (z[81:] >= np.abs(z[i] - z[j])).all()


@given(data=st.data())
def test_projections_with_ties_are_those_of_the_active_set(data):
    family = STRUCTURES["cut"]
    elements = data.draw(st.sampled_from([st.integers(-2, 2).map(float), st.floats(-2, 2)]))
    theta = data.draw(arrays(np.float64, 9, elements=elements))
    record = family.structure.record
    shape = family.shapes[0]
    work = SparseMAPScratch(make_atoms(11, 9), np.empty(9), np.empty(9), cut_workspace(record, shape))
    expected = np.empty(9)
    active_set_project(record, shape, theta, np.empty(0), work, expected)
    assert_allclose(family.structure.project(theta), expected, atol=1e-7)


def quadratic_program(structure, theta, together=(), off=()):
    """The projection by an interior-point method; some ends of edges together, some nodes off."""
    n, (i, j) = structure.n_nodes, structure.edges.T
    z, e = cvxpy.Variable(n), cvxpy.Variable(len(i))
    limits = [cvxpy.abs(z[i] - z[j]) <= e, e <= 1, z >= 0, z <= 1]
    limits += [e[k] == 0 for k in together] + [z[k] == 0 for k in off]
    target = np.where(np.isfinite(theta), theta, 0.0)
    distance = cvxpy.sum_squares(z - target[:n]) + cvxpy.sum_squares(e - target[n:])
    tolerances = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    cvxpy.Problem(cvxpy.Minimize(distance), limits).solve(solver=cvxpy.CLARABEL, **tolerances)
    return np.concatenate([z.value, e.value])


@pytest.mark.parametrize("smoothing", [0.2, 2.0])
def test_projections_are_those_of_a_quadratic_program(smoothing):
    rng = np.random.default_rng(0)
    structure = Cut.grid(5, 4, connectivity=8)
    theta = np.concatenate([rng.normal(size=20), 0.5 * rng.normal(size=len(structure.edges)) - smoothing])
    assert_allclose(structure.project(theta), quadratic_program(structure, theta), atol=1e-5)


def test_projections_keep_forbidden_parts_at_zero():
    structure = Cut(4, [(0, 1), (1, 2), (2, 3)])
    theta = np.array([0.9, 0.2, 0.6, -np.inf, -np.inf, -0.1, 0.3])
    point = structure.project(theta)
    assert point[0] == point[1]
    assert point[3] == point[4] == 0
    assert_allclose(point, quadratic_program(structure, theta, together=[0], off=[3]), atol=1e-5)


# ---- graphs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 4), (3, 1), (2, 2), (3, 5)])
@pytest.mark.parametrize("connectivity", [4, 8])
def test_grids_join_each_pixel_with_its_neighbours_once(rows, columns, connectivity):
    graph = grid_graph(rows, columns, connectivity)
    reach = 1 if connectivity == 4 else 2
    pixels = [(i, j) for i in range(rows) for j in range(columns)]
    expected = {
        frozenset((a, b))
        for a, (i, j) in enumerate(pixels)
        for b, (k, l) in enumerate(pixels)
        if 0 < (i - k) ** 2 + (j - l) ** 2 <= reach
    }
    assert len(graph.edges) == len(expected)
    assert set(map(frozenset, graph.edges.tolist())) == expected


def test_arcs_come_in_pairs():
    record = graph_record([grid_graph(3, 2), make_graph(2, []), make_graph(3, [(2, 1), (0, 2), (2, 1)])])
    for g in range(3):
        arcs = slice(2 * record.edges[g], 2 * record.edges[g + 1])
        head, reverse, edge = record.head[arcs], record.reverse[arcs], record.edge[arcs]
        first = record.first[record.nodes[g] + g : record.nodes[g + 1] + g + 1]
        tail = np.repeat(np.arange(first.size - 1), np.diff(first))
        assert_array_equal(tail[reverse], head)
        assert_array_equal(edge[reverse], edge)
        ends = record.ends[record.edges[g] : record.edges[g + 1]]
        assert_array_equal(np.sort(ends[edge], axis=1), np.sort(np.stack([tail, head], axis=1), axis=1))


@pytest.mark.parametrize(
    ("n_nodes", "edges", "sentence"),
    [
        (0, [], "at least 1 node"),
        (3, [(0, 3)], r"Edge \(0, 3\) leaves the graph: its nodes are 0 .. 2"),
        (3, [(-1, 0)], "leaves the graph"),
        (3, [(0, 2**32 + 1)], r"Edge \(0, 4294967297\) leaves the graph"),
        (3, [(1, 1)], "joins node 1 with itself"),
        (3, [(0, 1, 1), (1, 2, 2)], r"got the shape \(2, 3\): transpose it"),
        (3, np.eye(3, dtype=int), "an adjacency matrix A has the edges"),
        (3, [(0, 1), (1, 2, 0)], "some have another length"),
        (3, [(0.0, 1.0)], "pairs of integers, nodes counted from 0; got float64"),
        (3, [(0.0, 1.0)], "integers"),
        (3, [0, 1], r"shape \(E, 2\)"),
    ],
)
def test_graphs_that_cannot_be_are_refused(n_nodes, edges, sentence):
    with pytest.raises(ValueError, match=sentence):
        Cut(n_nodes, edges)


@pytest.mark.parametrize(
    ("size", "connectivity", "sentence"), [((0, 2), 4, "one row"), ((2, 2), 6, "4 or 8")]
)
def test_grids_that_cannot_be_are_refused(size, connectivity, sentence):
    with pytest.raises(ValueError, match=sentence):
        Cut.grid(*size, connectivity=connectivity)


def test_graphs_that_cannot_be_told_apart_are_asked_for():
    structure = Cuts([grid_graph(2, 3), grid_graph(3, 2)])
    with pytest.raises(ValueError, match="13 parts fit 2 graphs"):
        structure.maximize(np.zeros(13))
    with pytest.raises(ValueError, match=r"2 graphs have 6 nodes: give the shape"):
        structure.encode(np.zeros(6))


def test_there_are_no_marginals():
    with pytest.raises(TypeError, match=r"Cut has no marginals .*#P-hard\); use project .*loss='hinge'"):
        Cut(2, [(0, 1)]).marginals(np.zeros(3))
    with pytest.raises(TypeError, match="#P-hard"):
        FenchelYoungLoss(Cut(2, [(0, 1)]), Shannon())
