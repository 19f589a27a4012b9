"""The stochastic extragradient in threads: feasible points, the same optimum, the same run every time."""

import time
from dataclasses import replace

import numpy as np
import pytest

from brute import STRUCTURES, build
from structlearn.core.threads import Team
from structlearn.problem.objective import Objective
from structlearn.problem.regularizers import Shannon, SquaredNorm, Zero
from structlearn.solvers import ActiveBlocks, Checkpoint, StochasticExtragradient, Stopping, checkpoint, solve
from structlearn.solvers.bcfw import active
from structlearn.solvers.bcfw.dense import DenseBlocks
from structlearn.solvers.bcfw.exact import ExactDenseBlocks
from structlearn.solvers.bcfw.lead import Pace
from structlearn.solvers.bcfw.stochastic import weights_with_lead
from structlearn.solvers.bcfw.totals import COST

PROBLEMS = {
    "active sets": (Zero(), "chain"),
    "matching": (Zero(), "matching"),
    "entropy": (Shannon(), "chain"),
    "exact": (Zero(), "simplex"),
    "squared norm, exact": (SquaredNorm(), "simplex"),
}
each = pytest.mark.parametrize(("regularizer", "family"), PROBLEMS.values(), ids=PROBLEMS)


@pytest.fixture(autouse=True)
def _short_rounds(monkeypatch):
    """Rounds of one visit a thread: as little like one thread as can be."""
    for blocks in (DenseBlocks, ExactDenseBlocks, active.ActiveSetBlocks):
        monkeypatch.setattr(blocks, "least_visits", 1)


def known(regularizer, family):
    smooth = {"regularizer": regularizer} if regularizer.smooth else {}
    return build(STRUCTURES[family], n=9, regularization=0.01, **smooth)


def threaded(regularizer, family, n_jobs):
    alone = known(regularizer, family).objective
    return Objective(
        *(alone.structure, alone.scoring, alone.gold, alone.cost),
        regularization=alone.regularization,
        regularizer=alone.regularizer,
        n_jobs=n_jobs,
    )


@each
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_the_optimum_is_reached_and_no_dual_exceeds_it(regularizer, family, n_jobs):
    alone = solve(
        known(regularizer, family).objective, StochasticExtragradient(), Stopping(1e-7, 8000), seed=0
    )
    assert alone.certificate.converged
    objective = threaded(regularizer, family, n_jobs)
    found = solve(objective, StochasticExtragradient(rounds=4), Stopping(5e-3, 4000), seed=0)
    assert found.certificate.converged, found.certificate.status
    assert (np.array(found.history.dual) <= alone.certificate.primal + 1e-12).all()
    assert (np.array(found.history.primal) >= alone.certificate.dual - 1e-12).all()
    assert found.certificate.primal == pytest.approx(objective.primal(found.w), abs=1e-12)


def test_no_dual_exceeds_the_optimum_of_a_convex_solver():
    problem = known(Zero(), "chain")
    optimum = problem.optimum()
    found = solve(threaded(Zero(), "chain", 2), StochasticExtragradient(), Stopping(1e-4, 4000), seed=0)
    assert found.certificate.converged
    assert (np.array(found.history.dual) <= optimum + 1e-8).all()
    assert found.certificate.primal == pytest.approx(optimum, abs=1e-4 + 1e-8)


@each
def test_w_and_the_cost_stay_those_of_z(regularizer, family):
    objective = threaded(regularizer, family, 3)
    solver = StochasticExtragradient(examples_at_once=6, rounds=8)
    rng = np.random.default_rng(0)
    state = solver.start(objective, rng, None)
    for _ in range(40):
        state = solver.step(objective, state, rng)
        w, cost = state.blocks.point.weights(objective)
        np.testing.assert_allclose(weights_with_lead(objective, state).w_of_z, w, atol=1e-10)
        assert state.totals[COST] == pytest.approx(cost, abs=1e-11)
    assert np.abs(state.w - w).max() > 1e-6


@each
def test_timing_does_not_matter(regularizer, family, monkeypatch):
    objective, solver = threaded(regularizer, family, 3), StochasticExtragradient()
    first = solve(objective, solver, Stopping(-1, 12), seed=0)
    together = Team.together

    def delayed(team, calls, **options):
        pauses = np.random.default_rng().random(len(calls)) * 1e-3
        slow = [lambda c=c, p=p: (time.sleep(p), c())[1] for c, p in zip(calls, pauses)]
        return together(team, slow, **options)

    monkeypatch.setattr(Team, "together", delayed)
    again = solve(objective, solver, Stopping(-1, 12), seed=0)
    assert first.w.tobytes() == again.w.tobytes()
    np.testing.assert_array_equal(first.history.gap, again.history.gap)


def test_a_checkpoint_of_several_threads_goes_on_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "BUSY", np.inf)
    objective, solver = threaded(Zero(), "chain", 2), StochasticExtragradient(examples_at_once=5)
    whole = solve(objective, solver, Stopping(-1, 9), seed=0)
    solve(objective, solver, Stopping(-1, 4), seed=0, checkpoint=Checkpoint(tmp_path, 0.0))
    kept = Checkpoint(tmp_path, 0.0, resume=True)
    rest = solve(objective, solver, Stopping(-1, 9), seed=0, checkpoint=kept)
    assert whole.w.tobytes() == rest.w.tobytes()


def test_at_the_pace_of_frank_wolfe_threads_are_those_of_frank_wolfe():
    objective, rng = threaded(Zero(), "chain", 2), np.random.default_rng(0)
    lam = objective.regularization
    plain = ActiveBlocks().start(objective, rng, None)
    state = StochasticExtragradient().start(objective, rng, None)
    state = state._replace(pace=Pace(lam, lam))
    for _ in range(3):
        order = rng.permutation(objective.active)
        for one in (plain, state):
            one.blocks.begin_pass(objective, order, one.gaps)
            one.blocks.run(objective, one, order)
    np.testing.assert_array_equal(state.w, plain.w)
    np.testing.assert_array_equal(state.totals, plain.totals)


def test_one_thread_makes_no_rounds(monkeypatch):
    monkeypatch.setattr(active.ActiveSetBlocks, "_run_rounds", None)
    objective = threaded(Zero(), "chain", 1)
    assert solve(objective, replace(StochasticExtragradient(), rounds=2), Stopping(-1, 3), seed=0).w.any()
