"""The local polytope: couplings against linear programs, points and bounds against HiGHS, training against a
convex solver, also with an oracle that answers badly on purpose."""

from functools import cache
from typing import NamedTuple

import cvxpy
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from scipy.sparse import csr_array

from structlearn.core.contract import max_value, maximize, workspace
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.problem.objective import Objective
from structlearn.scoring import PartScoring
from structlearn.solvers import ActiveBlocks, FrankWolfe, StochasticExtragradient, Stopping, solve
from structlearn.structures import PairwiseGraph
from structlearn.structures.graph.inference import ExactGraphs, write
from structlearn.structures.graph.local import LocalGraphs, local_max_value, local_workspace
from structlearn.structures.graph.pairwise import PairwiseGraphs
from structlearn.structures.graph.transport import couple, transport_work
from structlearn.structures.graphs import grid_graph, make_graph

KINDS = ["full", "symmetric", "antisymmetric", "potts"]


def margin_rows(k):
    """A such that A vec(pi) are the sums of rows, then of columns, of a (K, K) table."""
    return np.vstack([np.kron(np.eye(k), np.ones(k)), np.kron(np.ones(k), np.eye(k))])


def test_couplings_have_their_margins_and_are_best():
    rng = np.random.default_rng(0)
    for trial in range(60):
        k = [1, 2, 3, 5][trial % 4]
        p, q = rng.dirichlet(np.ones(k), size=2) * (rng.random((2, k)) < 0.7) + 1e-3 * np.eye(k)[0]
        p, q = p / p.sum(), q / q.sum()
        table = rng.normal(size=(k, k)) if trial % 3 else rng.integers(3, size=(k, k)).astype(float)
        pi = np.full((k, k), np.nan)
        couple(table[None], 0, p, q, pi, transport_work(k))
        assert (pi >= 0).all()
        assert_allclose(pi.sum(axis=1), p, atol=1e-14)
        assert_allclose(pi.sum(axis=0), q, atol=1e-14)
        best = linprog(-table.ravel(), A_eq=margin_rows(k), b_eq=np.r_[p, q], bounds=(0, None))
        assert_allclose((table * pi).sum(), -best.fun, atol=1e-9)
        assert np.count_nonzero(pi) <= np.count_nonzero(p) + np.count_nonzero(q) - 1


class Relaxation(NamedTuple):
    """{y >= 0: A y = b}, the local polytope in nodes and whole tables, and the parts T y of a point."""

    A: csr_array
    b: np.ndarray
    T: np.ndarray


def relaxation(structure, g=0):
    """Written out: tables of pairs, whose margins are the nodes'."""
    graph, k, tied = structure.graphs[g], structure.n_states, structure.table
    n, m = graph.n_nodes, len(graph.edges)
    nodes = np.hstack([np.kron(np.eye(n), np.ones(k)), np.zeros((n, m * k * k))])
    rows = [nodes]
    for e, ends in enumerate(graph.edges.tolist()):
        both = np.zeros((2 * k, n * k + m * k * k))
        both[:, n * k + e * k * k :][:, : k * k] = margin_rows(k)
        for side in range(2):
            both[side * k : side * k + k, ends[side] * k : ends[side] * k + k] = -np.eye(k)
        rows.append(both)
    T = np.zeros((int(structure.n_parts[g]), n * k + m * k * k))
    T[: n * k, : n * k] = np.eye(n * k)
    for e in range(m):
        for a in range(k):
            for b in range(k):
                part, pair = tied.part[a, b], a * k + b
                T[n * k + e * tied.n_parts + part, n * k + e * k * k + pair] = tied.sign[a, b]
    A = np.vstack(rows)
    return Relaxation(csr_array(A), np.r_[np.ones(n), np.zeros(len(A) - n)], T)


def relaxed_maximum(known, theta, most=None):
    """Over the points whose first entries, those of nodes, are at most `most`."""
    upper = np.ones(known.A.shape[1])
    upper[: np.size(most)] = 1.0 if most is None else most
    bounds = np.stack([np.zeros(upper.size), upper], axis=1)
    return -linprog(-(theta @ known.T), A_eq=known.A, b_eq=known.b, bounds=bounds).fun


def bound_of(structure, theta):
    shape = structure.shapes[0]
    work = local_workspace(structure.record, shape)
    return local_max_value(structure.record, shape, theta, np.empty(0), work, np.empty(theta.size))


def assert_feasible(known, point):
    """Whether some y >= 0 with A y = b has these parts."""
    A = np.vstack([known.A.toarray(), known.T])
    found = linprog(np.zeros(A.shape[1]), A_eq=A, b_eq=np.r_[known.b, point], bounds=(0, None))
    assert found.status == 0, found.message


RING = make_graph(3, [(0, 1), (2, 1), (0, 2)])
GRAPHS = [RING, make_graph(5, np.array(np.triu_indices(5, 1)).T), grid_graph(3, 3)]


@pytest.mark.parametrize("kind", KINDS)
def test_points_are_feasible_and_near_the_linear_program(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    fractional = 0
    for graph in GRAPHS:
        structure = PairwiseGraphs([graph], 3, pairs=kind, polytope="local")
        assert structure.bounded
        assert not structure.exact
        known = relaxation(structure)
        for _ in range(4):
            theta = rng.normal(size=structure.n_parts[0])
            theta[: graph.n_nodes * 3] *= 0.3
            point, best = structure.maximize(theta), relaxed_maximum(known, theta)
            assert_feasible(known, point)
            assert theta @ point <= best + 1e-8
            assert bound_of(structure, theta) >= best - 1e-8
            assert theta @ point >= best - 0.02 * abs(best)
            assert bound_of(structure, theta) <= best + 0.01 * abs(best)
            assert np.count_nonzero(point) <= structure.most_entries(structure.shapes[0])
            fractional += bool((np.abs(point - np.rint(point)) > 1e-3).any())
    assert fractional > 0 or kind == "symmetric"


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_that_may_not_have_all_states(kind):
    rng, graph = np.random.default_rng(KINDS.index(kind)), GRAPHS[1]
    for _ in range(4):
        allowed = rng.random((5, 3)) < 0.6
        allowed[np.arange(5), rng.integers(3, size=5)] = True
        structure = PairwiseGraphs([graph], 3, pairs=kind, polytope="local", allowed=[allowed])
        theta, known = rng.normal(size=structure.n_parts[0]), relaxation(structure)
        theta[:15] *= 0.3
        theta[:15][~allowed.ravel()] += 5.0  # tempting
        point, best = structure.maximize(theta), relaxed_maximum(known, theta, allowed.ravel())
        assert not point[:15][~allowed.ravel()].any()
        assert_feasible(known, point)
        assert best - 0.05 * abs(best) <= theta @ point <= best + 1e-8
        assert best - 1e-8 <= bound_of(structure, theta) <= best + 0.05 * abs(best)


def test_two_states_are_solved():
    """Half-integral points: a frustrated ring is worth more than any labelling of it."""
    ring = PairwiseGraphs([RING], 2, pairs="potts", polytope="local")
    theta = np.r_[np.zeros(6), -np.ones(3)]  # neighbours repel
    assert_allclose(theta @ ring.maximize(theta), 0.0, atol=1e-12)
    assert_allclose(bound_of(ring, theta), 0.0, atol=1e-9)
    assert_allclose(ring.maximize(theta)[:6], 0.5)
    labelling = PairwiseGraphs([RING], 2, pairs="potts").maximize(theta)
    assert theta @ labelling == -1.0


def test_forests_have_no_other_points():
    rng = np.random.default_rng(0)
    forest = make_graph(6, [(0, 1), (2, 1), (3, 4)])
    local, marginal = (PairwiseGraphs([forest], 3, polytope=one) for one in ("local", "marginal"))
    assert local.exact
    assert not local.bounded
    assert isinstance(local.record, ExactGraphs)
    theta = rng.normal(size=(3, local.n_parts[0]))
    assert_allclose(local.maximize(theta), marginal.maximize(theta))
    twice = PairwiseGraphs([make_graph(2, [(0, 1), (1, 0)])], 2, polytope="local")
    assert not twice.exact  # two couplings of the same nodes


def test_what_is_forbidden_has_no_mass():
    rng = np.random.default_rng(0)
    structure = PairwiseGraphs([grid_graph(3, 3)], 3, polytope="local")
    known = relaxation(structure)
    for _ in range(6):
        theta = rng.normal(size=structure.n_parts[0])
        theta[rng.choice(theta.size, 12, replace=False)] = -np.inf
        point = structure.maximize(theta)
        assert (point[np.isneginf(theta)] == 0).all()
        best = relaxed_maximum(known, np.maximum(theta, -1e3))
        assert np.where(point > 0, theta, 0.0) @ point <= best + 1e-6
        assert bound_of(structure, theta) >= best - 1e-6


def test_refusals():
    with pytest.raises(ValueError, match='"marginal" or "local"'):
        PairwiseGraph(2, [(0, 1)], 3, polytope="cycle")
    with pytest.raises(TypeError, match="no marginals"):
        PairwiseGraph(3, RING.edges, 3, polytope="local").marginals(np.zeros(36))


# ---- training --------------------------------------------------------------------------------------


class Trained(NamedTuple):
    objective: Objective
    optimum: float


def training_problem(structure, seed):
    """Random features of parts, which make loops of neighbours that cannot all agree."""
    rng = np.random.default_rng(seed)
    shapes = np.array([structure.shapes[i % len(structure.graphs)] for i in range(6)])
    gold = [rng.integers(structure.n_states, size=structure.n_nodes[g]) for _, g in shapes]
    scoring = PartScoring(rng.normal(size=(shapes[:, 0].sum(), 6)), shapes, sizes=shapes[:, 0])
    vertices = structure.encode_many(gold, shapes)
    cost = structure.cost_many(vertices, shapes)
    return Objective(structure, scoring, vertices, cost, regularization=0.02)


def relaxed_optimum(objective):
    """max D over points of the local polytope, by an interior-point method."""
    structure, scoring = objective.structure, objective.scoring
    dual_map, value, limits = 0, 0, []
    for i, (size, g) in enumerate(scoring.shapes.tolist()):
        known = relaxation(structure, g)
        y = cvxpy.Variable(known.T.shape[1], nonneg=True)
        own = slice(scoring.start[i], scoring.start[i + 1])
        away = objective.gold.dense(i, size) - known.T @ y
        dual_map = dual_map + objective.weight[i] * scoring.F[own].T @ away
        value = value - objective.weight[i] * objective.cost[own] @ away
        limits.append(known.A @ y == known.b)
    value = value - cvxpy.sum_squares(dual_map) / (2 * objective.regularization)
    return cvxpy.Problem(cvxpy.Maximize(value), limits).solve(solver=cvxpy.CLARABEL)


COMPLETE = make_graph(4, np.array(np.triu_indices(4, 1)).T)


@cache
def trained(n_states, seed):
    structure = PairwiseGraphs([RING, COMPLETE], n_states, polytope="local")
    objective = training_problem(structure, seed)
    return Trained(objective, relaxed_optimum(objective))


LONG = pytest.mark.long
SOLVERS = {"seg": StochasticExtragradient(), "bcfw": ActiveBlocks(), "fw": FrankWolfe()}


@pytest.mark.parametrize(("n_states", "seed"), [(2, 1), (3, 0)])
@pytest.mark.parametrize("name", SOLVERS)
def test_certificates_are_those_of_the_relaxed_problem(name, n_states, seed):
    known = trained(n_states, seed)
    found = solve(known.objective, SOLVERS[name], Stopping(tol=1e-3, max_passes=300), seed=0)
    assert (found.history.dual <= known.optimum + 1e-7).all()
    assert (found.history.primal >= known.optimum - 1e-7).all()
    assert not found.certificate.exact
    assert found.certificate.gap < 0.01 or name == "fw"


def test_the_problem_over_labellings_is_another_one():
    known = trained(2, 1)
    other = training_problem(PairwiseGraphs([RING, COMPLETE], 2), 1)
    found = solve(other, ActiveBlocks(), Stopping(tol=1e-3, max_passes=300), seed=0).certificate
    assert found.exact
    assert found.primal < known.optimum - 0.02  # its losses are less


class BadOracle(NamedTuple):
    """Answers with a labelling by chance, or with every state alike."""

    inner: LocalGraphs


@implements(workspace, BadOracle)
@jitable
def bad_workspace(structure, shape):
    return local_workspace(structure.inner, shape)


@implements(maximize, BadOracle)
@kernel
def bad_maximize(structure, shape, theta, shared, work, vertex):
    scores = structure.inner.bounded.scores
    states = work.bounded.labels.states
    for v in range(states.size):
        states[v] = int(1e6 * abs(theta[v])) % scores.n_states
    write(scores, shape[1], states, vertex)
    value = 0.0
    for j in range(vertex.size):
        value += theta[j] * vertex[j]
    return value


@implements(max_value, BadOracle)
@kernel
def bad_max_value(structure, shape, theta, shared, work, vertex):
    return local_max_value(structure.inner, shape, theta, shared, work, vertex)


class BadGraphs(PairwiseGraphs):
    @property
    def record(self):
        return BadOracle(super().record)


@pytest.mark.parametrize("name", ["fw", *(pytest.param(one, marks=LONG) for one in ("seg", "bcfw"))])
def test_bad_answers_widen_the_gap_but_never_turn_it(name):
    """For `seg` all passes are compiled anew; test_graphs.py has the same for graphs with labellings."""
    known = trained(3, 0)
    structure = BadGraphs([RING, COMPLETE], 3, polytope="local")
    found = solve(training_problem(structure, 0), SOLVERS[name], Stopping(tol=0, max_passes=20), seed=0)
    assert (found.history.gap > 0).all()
    assert (found.history.dual <= known.optimum + 1e-7).all()
    assert (found.history.primal >= known.optimum - 1e-7).all()
