"""inference="exact" against enumeration and HiGHS; "relaxed"; bounds on log Z against sums over all."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

from brute import pairwise_graphs, score_of
from structlearn.core.contract import workspace
from structlearn.structures import PairwiseGraph
from structlearn.structures.graph.bounded import BRANCHES, best_labelling
from structlearn.structures.graph.inference import fill_tables
from structlearn.structures.graph.pairwise import PairwiseGraphs
from structlearn.structures.graph.partition_bound import (
    SumWork,
    bound_and_gradient,
    log_partition_bound,
    sum_order,
)
from structlearn.structures.graphs import grid_graph, make_graph

KINDS = ["full", "symmetric", "antisymmetric", "potts"]


def random_graph(rng, n_nodes, share=0.5):
    pairs = [(a, b) for a in range(n_nodes) for b in range(a) if rng.random() < share]
    return make_graph(n_nodes, np.array(pairs, dtype=int).reshape(-1, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_branch_and_bound_is_enumeration(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(12):
        graph = random_graph(rng, 6, 0.9)
        family = pairwise_graphs([graph], 3, kind)
        structure = PairwiseGraphs([graph], 3, pairs=kind, most_entries=0, inference="exact")
        theta = rng.normal(size=structure.n_parts[0])
        theta[rng.integers(18)] = -np.inf
        best = score_of(theta, family.vertices(family.shapes[0])).max()
        found = structure.solve(theta)
        assert found.exact
        assert_allclose([found.value, found.bound], best, rtol=1e-9)
        assert_allclose(score_of(theta, structure.encode(found.states)[None])[0], best, rtol=1e-9)
        assert_allclose(score_of(theta, structure.maximize(theta)[None])[0], best, rtol=1e-9)
        assert found.method in ("message passing", "branch and bound")


def integer_program(graph, k, theta):
    """The best labelling by HiGHS: states are integers, tables of pairs have their margins."""
    n = graph.n_nodes
    rows, columns, values, row = [], [], [], n
    for v in range(n):
        rows, columns, values = rows + [v] * k, columns + list(range(v * k, v * k + k)), values + [1.0] * k
    for e, ends in enumerate(graph.edges.tolist()):
        table = np.arange(k * k).reshape(k, k) + n * k + e * k * k
        for side in range(2):
            for x in range(k):
                columns += [*(table[x] if side == 0 else table[:, x]), ends[side] * k + x]
                rows, values, row = rows + [row] * (k + 1), values + [1.0] * k + [-1.0], row + 1
    A = csr_matrix((values, (rows, columns)), shape=(row, theta.size))
    right = np.concatenate([np.ones(n), np.zeros(row - n)])
    integer = (np.arange(theta.size) < n * k).astype(int)
    allowed = LinearConstraint(A, right, right)
    return -milp(-theta, constraints=allowed, integrality=integer, bounds=Bounds(0, 1)).fun


@pytest.mark.parametrize("seed", range(3))
def test_branch_and_bound_is_the_integer_program(seed):
    rng = np.random.default_rng(seed)
    graph = grid_graph(7, 7)
    structure = PairwiseGraphs([graph], 3, most_entries=0, inference="exact")
    theta = rng.normal(size=structure.n_parts[0])
    found = structure.solve(theta)
    assert found.exact
    assert_allclose(found.value, integer_program(graph, 3, theta), rtol=1e-7)


def test_a_budget_that_is_too_small_leaves_a_true_bound(monkeypatch):
    monkeypatch.setattr("structlearn.structures.graph.pairwise.MOST_VISITS", 5)
    monkeypatch.setattr("structlearn.structures.graph.pairwise.MOST_BRANCHES", 3)
    rng = np.random.default_rng(0)
    graph = random_graph(rng, 9, 0.9)
    opened = 0
    for _ in range(6):
        few, exact = (
            PairwiseGraphs([graph], 4, most_entries=size, inference="exact") for size in (0, 1 << 20)
        )
        theta = rng.normal(size=few.n_parts[0])
        best, found = exact.solve(theta), few.solve(theta)
        assert best.method == "variable elimination"
        assert found.value <= best.value + 1e-9 <= found.bound + 2e-9
        opened += not found.exact
        assert (found.missing > 0) == (not found.exact)
    assert opened > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most_read", [0, 10**5, 10**6])
def test_a_budget_of_reading_ends_the_search(kind, most_read, monkeypatch):
    """On a complete graph, where branch and bound is hopeless; a subproblem is ended, once it is begun."""
    monkeypatch.setattr("structlearn.structures.graph.pairwise.MOST_READ", most_read)
    graph = make_graph(20, [(a, b) for a in range(20) for b in range(a)])
    structure = PairwiseGraphs([graph], 4, pairs=kind, most_entries=0, inference="exact")
    theta = np.random.default_rng(0).normal(size=structure.n_parts[0])
    record = structure.record
    work = workspace(record, structure.shapes[0])
    fill_tables(record.scores, 0, theta, np.empty(0), work.labels)
    value, bound, method = best_labelling(record, 0, False, work)
    assert method == BRANCHES
    a_visit = len(graph.edges) * 4 * ((1 if kind == "potts" else 4) + 2) / 20
    assert work.branches.length[1] <= most_read / a_visit + 20 * (2 + 2 * 20)
    states = work.labels.states[:20]
    assert_allclose(value, theta @ structure.encode(states), rtol=1e-9)
    assert bound > value
    monkeypatch.setattr("structlearn.structures.graph.pairwise.MOST_READ", 1 << 31)
    whole = PairwiseGraphs([graph], 4, pairs=kind, most_entries=0, inference="exact").solve(theta)
    assert value <= whole.value + 1e-9
    assert whole.value <= bound + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_tight_bounds_hold_with_any_budget(kind, monkeypatch):
    """Nodes that are settled, subproblems left open, and edges given twice, against enumeration."""
    rng = np.random.default_rng(KINDS.index(kind))
    tight = 0
    for visits in (0, 3, 12, 400):
        monkeypatch.setattr("structlearn.structures.graph.pairwise.MOST_VISITS", visits)
        for _ in range(6):
            graph = random_graph(rng, 6, 0.9)
            graph = make_graph(6, np.concatenate([graph.edges, graph.edges[:2, ::-1]]))
            family = pairwise_graphs([graph], 3, kind)
            structure = PairwiseGraphs([graph], 3, pairs=kind, most_entries=0)
            theta = rng.normal(size=structure.n_parts[0])
            best = score_of(theta, family.vertices(family.shapes[0])).max()
            found = structure.solve(theta)
            assert found.value <= best + 1e-9 <= found.bound + 2e-9
            tight += visits == 400 and abs(found.bound - best) <= 1e-9
    assert tight == 6


def test_relaxed_inference_eliminates_forests_alone():
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    graphs = [make_graph(4, ring), make_graph(4, ring[:-1])]
    structure = PairwiseGraphs(graphs, 3, inference="relaxed")
    assert structure.elimination.exact.tolist() == [0, 1]
    rng = np.random.default_rng(0)
    thetas = [rng.normal(size=size) for size in structure.n_parts]
    assert [structure.solve(theta).method for theta in thetas] == ["message passing", "variable elimination"]
    with pytest.raises(ValueError, match="inference is one of 'auto', 'exact', 'relaxed'"):
        PairwiseGraphs(graphs, 3, inference="best")


def test_two_states_that_attract_are_solved_by_a_flow_and_say_so():
    structure = PairwiseGraphs([grid_graph(5, 5)], 2, pairs="potts", most_entries=0)
    theta = np.concatenate([np.random.default_rng(0).normal(size=50), np.ones(40)])
    found = structure.solve(theta)
    assert found.method == "maximum flow"
    assert found.exact


# ---- log Z -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_on_log_z_hold(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for scale in (0.1, 1.0, 5.0):
        structure = PairwiseGraphs([random_graph(rng, 6, 0.7)], 3, pairs=kind)
        theta = scale * rng.normal(size=structure.n_parts[0])
        theta[rng.integers(18)] = -np.inf
        exact = structure.marginals(theta).log_partition
        bound = structure.log_partition_bound(theta)
        assert bound >= exact - 1e-9 * abs(exact)
        assert bound <= exact + 18 * np.log(3) * scale  # and say something


def test_bounds_on_log_z_of_forests_are_log_z():
    rng = np.random.default_rng(0)
    tree = make_graph(9, [(0, 1), (2, 1), (1, 3), (4, 3), (5, 4), (5, 6), (7, 8)])
    structure = PairwiseGraphs([tree], 4)
    theta = rng.normal(size=structure.n_parts[0])
    assert_allclose(
        structure.log_partition_bound(theta), structure.marginals(theta).log_partition, rtol=1e-12
    )


def test_steps_make_bounds_on_log_z_tighter():
    """Where all is split evenly they are those of the first step."""
    rng = np.random.default_rng(1)
    graph = grid_graph(4, 4)
    node, table = rng.normal(size=(16, 3)), rng.normal(size=(24, 3, 3))
    exact = PairwiseGraph(16, graph.edges, 3).marginals(np.concatenate([node.ravel(), table.ravel()]))
    first, last = (log_partition_bound(graph, node, table, steps) for steps in (1, 200))
    assert exact.log_partition <= last < first - 0.01
    assert last - exact.log_partition < 0.85 * (first - exact.log_partition)


def test_the_gradient_of_the_bound_is_that_of_differences():
    rng = np.random.default_rng(2)
    graph = random_graph(rng, 5, 0.9)
    node, table = rng.normal(size=(5, 3)), rng.normal(size=(len(graph.edges), 3, 3))
    order, row = sum_order(graph), np.empty(3)
    split, step = rng.normal(size=(2, len(graph.edges), 3))

    def bound(at):
        gradient = np.zeros(split.shape)
        work = SumWork(*np.empty((3, 5, 3)), row)
        return bound_and_gradient(order, node, table, split + at * step, gradient, work), gradient

    slope = (bound(1e-5)[0] - bound(-1e-5)[0]) / 2e-5
    assert_allclose((bound(0.0)[1] * step).sum(), slope, rtol=1e-6)


def test_scores_that_forbid_everything():
    structure = PairwiseGraphs([grid_graph(2, 2)], 2, most_entries=0, inference="exact")
    theta = np.zeros(structure.n_parts[0])
    theta[:2] = -np.inf
    assert structure.log_partition_bound(theta) == -np.inf
    with pytest.raises(ValueError, match="no output is allowed"):
        structure.solve(theta)
