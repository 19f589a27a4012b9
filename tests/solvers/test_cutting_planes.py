"""Cutting planes: the master problem against an interior-point method, removal, warm starts, refusals."""

import cvxpy
import numpy as np
import pytest
from scipy import sparse

from brute import STRUCTURES, build, optimum, problem
from structlearn.solvers import BlockFrankWolfe, CuttingPlane, FrankWolfe, NSlack, Stopping, solve
from structlearn.solvers.cutting_plane.master import feasible, mixture_of_gram, mixture_of_rows
from structlearn.solvers.cutting_plane.one_slack import Planes, solve_master

NAMES = ["simplex", "chain", "matching", "own, plain Python"]
each = pytest.mark.parametrize("name", NAMES)


def run(objective, solver, *, passes=40, tol=-1.0, warm=None):
    return solve(objective, solver, Stopping(tol=tol, max_passes=passes), seed=0, warm=warm)


# ---- the master problem ---------------------------------------------------------------------------------


def random_planes(n_planes, rank, seed, d=8):
    """Pulls that span few directions, some of them twice: the Gram matrix is singular."""
    rng = np.random.default_rng(seed)
    dual_maps = rng.normal(size=(n_planes, rank)) @ rng.normal(size=(rank, d))
    cost = rng.random(n_planes)
    dual_maps[-1], cost[-1] = dual_maps[0], cost[0]
    return dual_maps, cost


def best_value(dual_maps, cost, group, lam):
    alpha = cvxpy.Variable(cost.size, nonneg=True)
    value = cost @ alpha - cvxpy.sum_squares(dual_maps.T @ alpha) / (2 * lam)
    limits = [cvxpy.sum(alpha[group == g]) <= 1 for g in np.unique(group)]
    return cvxpy.Problem(cvxpy.Maximize(value), limits).solve(solver=cvxpy.CLARABEL)


def value_of(alpha, dual_maps, cost, lam):
    u = dual_maps.T @ alpha
    return cost @ alpha - u @ u / (2 * lam)


@pytest.mark.parametrize(("n_planes", "rank"), [(2, 1), (6, 8), (40, 3), (60, 8)])
@pytest.mark.parametrize("lam", [0.01, 3.0])
def test_the_dense_master_is_solved(n_planes, rank, lam):
    dual_maps, cost = random_planes(n_planes, rank, seed=n_planes)
    alpha = mixture_of_gram(dual_maps @ dual_maps.T / lam, cost)
    assert (alpha >= 0).all()
    assert alpha.sum() <= 1 + 1e-15
    best = best_value(dual_maps, cost, np.zeros(n_planes), lam)
    assert value_of(alpha, dual_maps, cost, lam) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize(("n_planes", "rank"), [(2, 1), (40, 3), (60, 8)])
@pytest.mark.parametrize("lam", [0.01, 3.0])
def test_the_sparse_master_is_solved(n_planes, rank, lam):
    dual_maps, cost = random_planes(n_planes, rank, seed=n_planes)
    dual_maps[np.abs(dual_maps) < 0.5] = 0.0
    group = 3 * np.random.default_rng(0).integers(5, size=n_planes)  # not every number is an owner
    alpha = mixture_of_rows(sparse.csr_matrix(dual_maps), cost, group, lam)
    assert (alpha >= 0).all()
    assert (np.bincount(group, weights=alpha) <= 1 + 1e-15).all()
    best = best_value(dual_maps, cost, group, lam)
    assert value_of(alpha, dual_maps, cost, lam) == pytest.approx(best, abs=1e-6)


def test_whatever_a_solver_returns_is_made_feasible():
    group = np.array([0, 0, 1, 1, 2])
    alpha = feasible(np.array([0.9, 0.6, -1e-9, 0.4, np.nan]), group)
    np.testing.assert_allclose(alpha, [0.6, 0.4, 0.0, 0.4, 0.0])
    np.testing.assert_array_equal(feasible(np.full(2, np.inf), np.zeros(2, dtype=int)), 0.0)


# ---- planes ---------------------------------------------------------------------------------------------


def test_planes_keep_their_products():
    rng = np.random.default_rng(0)
    planes = Planes()
    for _ in range(5):
        planes = planes.add(rng.normal(size=4), rng.random())
    dual_maps = np.array(planes.dual_maps)
    np.testing.assert_allclose(planes.gram, dual_maps @ dual_maps.T)
    alpha = np.array([0.5, 0.0, 0.2, 0.0, 0.3])
    once = planes.forget(alpha, after=2)
    twice = once.forget(alpha, after=2)
    assert len(once.dual_maps) == 5
    np.testing.assert_array_equal(np.array(twice.dual_maps), dual_maps[[0, 2, 4]])
    np.testing.assert_array_equal(twice.cost, planes.cost[[0, 2, 4]])
    np.testing.assert_allclose(twice.gram, dual_maps[[0, 2, 4]] @ dual_maps[[0, 2, 4]].T)


@each
def test_a_mixture_of_planes_has_the_dual_value_of_the_mixed_answers(name):
    """Answers by enumeration; their mixture is a dual point, whose D the design's formula gives."""
    known = problem(name)
    rng = np.random.default_rng(1)
    planes, points = Planes(), []
    for _ in range(3):
        w = rng.normal(size=known.objective.n_weights)
        here = known.objective.predictions(w)
        planes = planes.add(here.dual_map, here.cost)
        points.append([V[np.argmax(V @ (Phi @ w + c))] for _, Phi, V, _, c in known.examples])
    alpha, w, dual = solve_master(known.objective, planes)
    fractions = [1 - alpha.sum(), *alpha]
    z = [sum(fraction * s for fraction, s in zip(fractions, of_one)) for of_one in zip(known.mu, *points)]
    np.testing.assert_allclose(w, known.weights(z), atol=1e-10)
    assert dual.value == pytest.approx(known.dual(z), abs=1e-10)


@pytest.mark.parametrize("solver", [CuttingPlane(forget_after=2), NSlack(forget_after=1)], ids=["1", "n"])
@each
def test_removing_planes_keeps_the_bound_and_the_way_to_the_optimum(solver, name):
    history = run(problem(name).objective, solver, passes=150).history
    assert (history.dual <= optimum(name) + 1e-8).all()
    assert history.gap[-1] < 1e-4


def test_removal_keeps_few_planes():
    objective = problem("chain").objective
    few = run(objective, CuttingPlane(forget_after=2), passes=60).state.planes
    many = run(objective, CuttingPlane(forget_after=1000), passes=60).state.planes
    assert (few.idle < 2).all()
    assert len(few.dual_maps) < len(many.dual_maps)
    written = np.column_stack([many.cost, many.dual_maps])
    assert len(np.unique(written.round(9), axis=0)) == len(written)  # none is there twice


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_any_share_reaches_the_optimum(share):
    solution = run(problem("chain").objective, CuttingPlane(share=share), passes=300, tol=1e-5)
    assert solution.certificate.converged
    assert solution.certificate.primal == pytest.approx(optimum("chain"), abs=1e-5)


@each
def test_n_slack_returns_the_dual_point_of_its_bound(name):
    known = problem(name)
    solution = run(known.objective, NSlack(examples_at_once=4), passes=5)
    z = np.split(solution.z, known.objective.point_start[1:-1])
    assert known.dual(z) == pytest.approx(solution.state.dual.value, abs=1e-7)
    np.testing.assert_allclose(known.weights(z), solution.state.w, atol=1e-5)
    for z_i, V in zip(z, known.vertices):
        assert mixes(z_i, V)


def mixes(point, vertices):
    """Whether a point is a mixture of vertices."""
    fraction = cvxpy.Variable(len(vertices), nonneg=True)
    distance = cvxpy.norm(vertices.T @ fraction - point, "inf")
    project = cvxpy.Problem(cvxpy.Minimize(distance), [cvxpy.sum(fraction) == 1])
    return project.solve(solver=cvxpy.CLARABEL) < 1e-6


def test_n_slack_adds_no_constraint_twice():
    solution = run(problem("chain").objective, NSlack(forget_after=1000), passes=40)
    sets = solution.state.constraints
    written = np.column_stack([sets.owner, sets.moves.toarray()])
    assert len(np.unique(written, axis=0)) == len(written)


# ---- warm starts ----------------------------------------------------------------------------------------

TRAINERS = {"bcfw": BlockFrankWolfe(), "1-slack": CuttingPlane(), "n-slack": NSlack(), "fw": FrankWolfe()}


@pytest.mark.parametrize("first", ["bcfw", "n-slack"])
@pytest.mark.parametrize("second", ["1-slack", "n-slack", "bcfw"])
@pytest.mark.parametrize("name", ["simplex", "chain"])
def test_a_dual_point_is_a_plane_to_start_from(first, second, name):
    objective = problem(name).objective
    done = run(objective, TRAINERS[first], passes=3000, tol=1e-3)
    again = run(objective, TRAINERS[second], passes=3000, tol=1e-3, warm=done)
    assert again.history.gap[0] <= 2e-3  # the best weights may be older than the last dual point
    assert again.history.dual[0] == pytest.approx(done.certificate.dual, abs=1e-5)


@pytest.mark.parametrize("second", ["1-slack", "n-slack"])
def test_weights_alone_are_a_start_too(second):
    objective = problem("chain").objective
    done = run(objective, FrankWolfe(), passes=200)
    again = run(objective, TRAINERS[second], passes=300, tol=1e-4, warm=done)
    assert again.history.primal[0] == pytest.approx(done.certificate.primal, abs=1e-12)
    assert again.certificate.converged


# ---- refusals -------------------------------------------------------------------------------------------


def test_n_slack_refuses_what_memory_cannot_hold():
    objective = build(STRUCTURES["chain"]).objective
    with pytest.raises(ValueError, match=r"GB for the constraints of 6 examples.* use solver='bcfw'"):
        run(objective, NSlack(max_bytes=1000))
