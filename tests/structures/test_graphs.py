"""Graphs of any shape: all ways to the best labelling against enumeration, bounds against linear programs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from scipy.sparse import csr_array

from brute import pairwise_graphs, score_of
from structlearn.problem.objective import Objective
from structlearn.scoring import JointScoring, RowScoring
from structlearn.solvers import BlockFrankWolfe, FrankWolfe, StochasticExtragradient, Stopping, solve
from structlearn.structures import PairwiseGraph
from structlearn.structures.graph.bounded import (
    best_labelling,
    bounded_max_value,
    bounded_workspace,
    node_arcs,
)
from structlearn.structures.graph.expansion import expand
from structlearn.structures.graph.inference import fill_tables
from structlearn.structures.graph.orders import elimination_order
from structlearn.structures.graph.pairwise import PairwiseGraphs
from structlearn.structures.graphs import grid_graph, make_graph

KINDS = ["full", "symmetric", "antisymmetric", "potts"]


def random_graph(rng, n_nodes):
    """Every pair with a probability of 0.6, in a direction by chance; some twice."""
    pairs = [(a, b) for a in range(n_nodes) for b in range(n_nodes) if a != b and rng.random() < 0.3]
    return make_graph(n_nodes, np.array(pairs, dtype=int).reshape(-1, 2))


def bound_of(structure, theta, g=0):
    shape = structure.shapes[g]
    work = bounded_workspace(structure.record, shape)
    return bounded_max_value(structure.record, shape, theta, np.empty(0), work, np.empty(theta.size))


@pytest.mark.parametrize("kind", KINDS)
def test_elimination_is_enumeration(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(8):
        family = pairwise_graphs([random_graph(rng, rng.integers(1, 6))], 3, kind)
        structure, vertices = family.structure, family.vertices(family.shapes[0])
        theta = rng.normal(size=structure.n_parts[0]) * rng.choice([1e-2, 1.0, 100.0])
        scores = vertices @ theta
        assert_allclose(theta @ structure.maximize(theta), scores.max(), rtol=1e-12, atol=1e-12)
        mean, log_z = structure.marginals(theta)
        assert_allclose(log_z, np.logaddexp.reduce(scores), rtol=1e-12)
        share = np.exp(scores - np.logaddexp.reduce(scores))
        assert_allclose(mean, share @ vertices, atol=1e-11)


@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_without_elimination_answers_are_labellings_and_bounds_hold(kind, n_states):
    rng = np.random.default_rng(KINDS.index(kind))
    found = []
    for _ in range(12):
        graph = random_graph(rng, 5)
        family = pairwise_graphs([graph], n_states, kind)
        structure = PairwiseGraphs([graph], n_states, pairs=kind, most_entries=0)
        assert structure.bounded
        assert not hasattr(structure.record, "elimination")
        theta = rng.normal(size=structure.n_parts[0])
        theta[rng.integers(graph.n_nodes * n_states)] = -np.inf
        vertices = family.vertices(family.shapes[0])
        best = score_of(theta, vertices).max()
        answer = structure.maximize(theta)
        assert (vertices == answer).all(axis=1).any()
        value = score_of(theta, answer[None])[0]
        assert value <= best + 1e-9 <= bound_of(structure, theta) + 2e-9
        found.append(value == pytest.approx(best))
    assert np.mean(found) > 0.8  # most small problems are solved


def test_two_states_that_attract_are_solved_by_a_flow():
    rng = np.random.default_rng(0)
    for _ in range(10):
        graph = random_graph(rng, 6)
        family = pairwise_graphs([graph], 2)
        structure = PairwiseGraphs([graph], 2, most_entries=0)
        theta = rng.normal(size=structure.n_parts[0])
        tables = theta[12:].reshape(-1, 2, 2)  # a view
        tables[:, 0, 0] += np.abs(tables.sum(axis=(1, 2))) + 4 * np.abs(tables).max()
        best = (family.vertices(family.shapes[0]) @ theta).max()
        assert_allclose(theta @ structure.maximize(theta), best, rtol=1e-12)
        assert_allclose(bound_of(structure, theta), best, rtol=1e-12)


def local_polytope_maximum(structure, theta):
    """By HiGHS: tables of pairs, whose margins are the nodes'."""
    graph, k = structure.graphs[0], structure.n_states
    n, m = graph.n_nodes, len(graph.edges)
    rows, columns, values, right, row = [], [], [], [], 0
    for v in range(n):
        rows += [row] * k
        columns += [v * k + x for x in range(k)]
        values += [1.0] * k
        right.append(1.0)
        row += 1
    for e, ends in enumerate(graph.edges.tolist()):
        for side in range(2):
            for x in range(k):
                table = np.arange(k * k).reshape(k, k) + n * k + e * k * k
                columns += [*(table[x] if side == 0 else table[:, x]), ends[side] * k + x]
                rows += [row] * (k + 1)
                values += [1.0] * k + [-1.0]
                right.append(0.0)
                row += 1
    A = csr_array((values, (rows, columns)), shape=(row, n * k + m * k * k))
    return -linprog(-theta, A_eq=A, b_eq=right, bounds=(0, None)).fun


@pytest.mark.parametrize("seed", range(3))
def test_bounds_are_near_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    relaxed, auto, eliminated = (
        PairwiseGraphs([grid_graph(6, 6)], 3, most_entries=size, inference=inference)
        for size, inference in ((0, "relaxed"), (0, "auto"), (1 << 20, "auto"))
    )
    theta = rng.normal(size=relaxed.n_parts[0])
    best = local_polytope_maximum(relaxed, theta)
    assert best - 1e-6 <= bound_of(relaxed, theta) <= best + 3e-3 * abs(best)
    assert_allclose(bound_of(auto, theta), eliminated.solve(theta).value, rtol=1e-9)  # by branch and bound


def test_bounds_of_two_states_are_the_linear_program():
    rng = np.random.default_rng(0)
    complete = make_graph(12, np.stack(np.triu_indices(12, 1), axis=1))
    structure = PairwiseGraphs([complete], 2, most_entries=0, inference="relaxed")
    for _ in range(3):
        theta = rng.normal(size=structure.n_parts[0])
        assert_allclose(bound_of(structure, theta), local_polytope_maximum(structure, theta), rtol=1e-4)


def test_orders_of_forests_have_width_one_and_wide_graphs_none():
    path = make_graph(50, [(a, a + 1) for a in range(49)])
    assert elimination_order(path, 5).width == 1
    assert elimination_order(grid_graph(4, 20), 5).width <= 5
    assert elimination_order(grid_graph(10, 10), 3) is None


def test_wide_graphs_have_no_marginals_and_say_why():
    wide = PairwiseGraph(400, grid_graph(20, 20).edges, 5)
    with pytest.raises(TypeError, match="tree-width"):
        wide.marginals(np.zeros(wide.n_parts[0]))
    ring = [make_graph(3, [(0, 1), (1, 2), (2, 0)])]
    for option, said in (({"polytope": "local"}, "polytope='local'"), ({"inference": "relaxed"}, "relaxed'")):
        structure = PairwiseGraphs(ring, 2, **option)
        with pytest.raises(TypeError, match=f"graph 0, of 3 nodes .* has cycles, and with .*{said}"):
            structure.marginals(np.zeros(structure.n_parts[0]))


def training_problem(rng, *, most_entries, n_states=3):
    """Noisy states on grids and cycles; nodes see a one-hot of theirs, edges a constant."""
    graphs = [grid_graph(3, 3), make_graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)])]
    structure = PairwiseGraphs(graphs, n_states, most_entries=most_entries)
    which = np.arange(12) % 2
    shapes = np.array([structure.shapes[g] for g in which])
    gold = [np.sort(rng.integers(n_states, size=graphs[g].n_nodes)) for g in which]
    rows = np.concatenate(gold)[:, None] == np.arange(n_states)
    X = np.where(rng.random(rows.shape) < 0.3, ~rows, rows).astype(float)
    sizes = structure.n_nodes[which], structure.n_edges[which]
    pairs = RowScoring(np.ones((sizes[1].sum(), 1)), sizes[1], n_states**2)
    scoring = JointScoring(RowScoring(X, sizes[0], n_states, intercept=True), pairs, shapes=shapes)
    vertices = structure.encode_many(gold, shapes)
    cost = structure.cost_many(vertices, shapes)
    return Objective(structure, scoring, vertices, cost, regularization=0.05)


def optimum(seed):
    """The certificate of the exact problem, whose graphs are eliminated."""
    problem = training_problem(np.random.default_rng(seed), most_entries=1 << 20)
    found = solve(problem, StochasticExtragradient(), Stopping(tol=1e-5, max_passes=2000), seed=0)
    assert found.certificate.converged
    return found.certificate


@pytest.mark.parametrize("solver", [StochasticExtragradient(), BlockFrankWolfe(), FrankWolfe()])
def test_certificates_of_approximate_answers_contain_the_optimum(solver):
    problem = training_problem(np.random.default_rng(0), most_entries=0)
    found = solve(problem, solver, Stopping(tol=1e-4, max_passes=60), seed=0).certificate
    exact = optimum(0)
    assert found.dual <= exact.primal + 1e-9
    assert found.primal >= exact.dual - 1e-9


@pytest.mark.parametrize("solver", [StochasticExtragradient(), FrankWolfe()])
def test_bad_answers_widen_the_gap_but_never_turn_it(solver, monkeypatch):
    """One sweep at most: labellings are poor, the bounds are true."""
    monkeypatch.setattr("structlearn.structures.graph.pairwise.MOST_SWEEPS", 1)
    problem = training_problem(np.random.default_rng(1), most_entries=0)
    found = solve(problem, solver, Stopping(tol=1e-6, max_passes=20), seed=0).certificate
    exact = optimum(1)
    assert found.gap >= 0
    assert found.dual <= exact.primal + 1e-9
    assert found.primal >= exact.dual - 1e-9


def test_refusals():
    with pytest.raises(ValueError, match="pairs is one of"):
        PairwiseGraph(2, [(0, 1)], 3, pairs="metric")
    with pytest.raises(ValueError, match="leaves the graph"):
        PairwiseGraph(2, [(0, 2)], 3)
    with pytest.raises(ValueError, match="with itself"):
        PairwiseGraph(2, [(1, 1)], 3)
    with pytest.raises(ValueError, match="one label per node"):
        PairwiseGraph(2, [(0, 1)], 3).encode([0, 1, 2], (15, 0))


def test_isolated_nodes_and_graphs_without_edges():
    structure = PairwiseGraph(3, [], 2)
    theta = np.array([0.0, 1.0, 2.0, 0.0, 0.0, 3.0])
    assert structure.decode(structure.maximize(theta)).tolist() == [1, 0, 1]


def test_expansions_end_where_rounding_has_put_the_bound_below_the_value():
    structure = PairwiseGraphs([grid_graph(3, 3)], 3, most_entries=0)
    theta = np.random.default_rng(0).normal(size=structure.n_parts[0])
    work = bounded_workspace(structure.record, structure.shapes[0])
    fill_tables(structure.record.scores, 0, theta, np.empty(0), work.labels)
    value = best_labelling(structure.record, 0, False, work)[0]
    arcs = node_arcs(structure.record, 0)
    assert expand(arcs, value, value - 1e-12, work) == value  # it used not to end


def test_large_graphs_are_ordered_in_time():
    path = make_graph(30000, np.stack([np.arange(29999), np.arange(1, 30000)], axis=1))
    assert elimination_order(path, 5).width == 1
    assert elimination_order(grid_graph(60, 60), 4) is None
    ring = make_graph(300, [(v, (v + 1) % 300) for v in range(300)])
    order = elimination_order(ring, 2)
    assert order.width == 2
    assert sorted(order.nodes) == list(range(300))
