"""The stochastic extragradient against its dense form, against Frank-Wolfe, and against convex optima."""

import numpy as np
import pytest

from brute import STRUCTURES, build, problem
from structlearn import ChainClassifier
from structlearn.problem.regularizers import Shannon
from structlearn.solvers import ActiveBlocks, BlockFrankWolfe, StochasticExtragradient, Stopping, solve
from structlearn.solvers.bcfw.exact import steepness
from structlearn.solvers.bcfw.lead import Pace
from structlearn.solvers.bcfw.led_weights import CAUTION
from structlearn.solvers.bcfw.stochastic import weights_with_lead
from structlearn.solvers.bcfw.totals import COST


def started(objective, pace, **options):
    state = StochasticExtragradient(**options).start(objective, np.random.default_rng(0), None)
    return state._replace(pace=weights_with_lead(objective, state).set_pace(pace))


def visited_densely(objective, order, pace):
    """z, w(z) and the scoring weights after these visits to blocks of one row, as the papers write them."""
    lam, n, scoring = objective.regularization, objective.n_active, objective.scoring
    tau, start, weight = pace / n, scoring.start, objective.weight
    z = objective.gold_point()
    w, u, extrapolated = np.zeros((3, scoring.n_weights))
    squares = steepness(objective) / weight
    for i in order:
        w = (w + tau * extrapolated) / (1 + lam * tau)
        own = slice(start[i], start[i + 1])
        theta = scoring.scores(w, i, i + 1) + objective.cost[own]
        fresh = objective.structure.project(z[own] + CAUTION * theta / (n * tau * weight[i] * squares[i]))
        moved = np.zeros_like(w)
        scoring.pullback(fresh - z[own], i, i + 1, moved)
        z[own] = fresh
        u -= weight[i] * moved
        extrapolated = u - n * weight[i] * moved
    return z, u / lam, (w + tau * extrapolated) / (1 + lam * tau)


@pytest.mark.parametrize("pace", [0.05, 0.7, 20.0])
def test_following_after_each_visit_it_is_the_hybrid_gradient_as_written(pace):
    objective = problem("simplex").objective
    order = np.random.default_rng(1).permutation(np.tile(objective.active, 7))
    z, v, w = visited_densely(objective, order, pace)
    state = started(objective, pace)
    for i in order:
        state.blocks.run(objective, state, np.array([i]))
        weights_with_lead(objective, state).follow(1.0)
    np.testing.assert_allclose(np.asarray(state.blocks.point), z, atol=1e-12)
    np.testing.assert_allclose(weights_with_lead(objective, state).w_of_z, v, atol=1e-11)
    np.testing.assert_allclose(state.w, w, atol=1e-11)


@pytest.mark.parametrize("family", ["simplex", "chain", "matching", "projective tree"])
def test_what_is_followed_is_w_of_z(family):
    known = problem(family)
    solver, rng = StochasticExtragradient(), np.random.default_rng(0)
    state = solver.start(known.objective, rng, None)
    for _ in range(40):
        state = solver.step(known.objective, state, rng)
        w, cost = state.blocks.point.weights(known.objective)
        np.testing.assert_allclose(weights_with_lead(known.objective, state).w_of_z, w, atol=1e-11)
        assert state.totals[COST] == pytest.approx(cost, abs=1e-12)
    assert np.abs(state.w - w).max() > 1e-6


@pytest.mark.parametrize("family", ["simplex", "chain", "matching", "projective tree"])
def test_at_the_pace_of_frank_wolfe_it_is_frank_wolfe(family):
    objective = problem(family).objective
    rng, lam = np.random.default_rng(0), objective.regularization
    plain = ActiveBlocks().start(objective, rng, None)
    state = started(objective, 1.0 / lam)._replace(pace=Pace(lam, lam))
    state.lead.anchor[:] = 0.0
    for _ in range(3):
        order = rng.permutation(objective.active)
        for one in (plain, state):
            one.blocks.begin_pass(objective, order, one.gaps)
            one.blocks.run(objective, one, order)
        weights_with_lead(objective, state).follow(order.size)
    assert not state.lead.anchor.any()
    np.testing.assert_array_equal(state.w, plain.w)
    np.testing.assert_array_equal(state.totals, plain.totals)


@pytest.mark.parametrize("family", ["simplex", "chain", "matching"])
def test_examples_of_other_weights(family):
    known = build(STRUCTURES[family], sample_weight=np.array([5.0, 0.2, 1.0, 0.0, 2.0, 0.7]))
    solution = solve(known.objective, StochasticExtragradient(), Stopping(tol=1e-5, max_passes=800), seed=0)
    optimum = known.optimum()
    assert solution.certificate.converged
    assert solution.certificate.dual <= optimum + 1e-8
    assert solution.certificate.primal == pytest.approx(optimum, abs=2e-5)


def test_far_fewer_passes_where_regularization_is_small():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(length, 8)) for length in rng.integers(3, 9, 60)]
    W = rng.normal(size=(8, 4))
    y = [np.argmax(x @ W + rng.normal(size=(len(x), 4)), axis=1) for x in X]
    passes = {}
    for solver in ("bcfw", "seg"):
        model = ChainClassifier(solver=solver, regularization=1e-3, tol=1e-2, random_state=0).fit(X, y)
        assert model.certificate_.converged
        passes[solver] = model.certificate_.passes
    assert passes["seg"] < 0.5 * passes["bcfw"]


def test_both_names_are_one_solver():
    X, y = [np.eye(3), np.eye(3)[::-1]], [[0, 1, 2], [2, 1, 0]]
    models = [
        ChainClassifier(solver=name, random_state=0).fit(X, y) for name in ("seg", "stochastic-extragradient")
    ]
    for one, other in zip(models[0].coef_, models[1].coef_):
        np.testing.assert_array_equal(one, other)


def test_a_warm_start_goes_on_from_z():
    objective = problem("chain").objective
    first = solve(objective, ActiveBlocks(), Stopping(tol=1e-4, max_passes=500), seed=0)
    again = solve(objective, StochasticExtragradient(), Stopping(tol=2e-4), seed=0, warm=first)
    assert again.certificate.passes <= 2


def test_smooth_losses_need_fewer_passes_than_sdca():
    objective = build(STRUCTURES["chain"], regularizer=Shannon(), regularization=1e-3).objective
    stopping = Stopping(tol=1e-3, max_passes=2000)
    passes = [
        solve(objective, solver, stopping, seed=0).certificate.passes
        for solver in (StochasticExtragradient(), BlockFrankWolfe())
    ]
    assert passes[0] < passes[1]
