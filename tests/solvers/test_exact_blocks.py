"""Exact block steps: rounds over active blocks change how fast the optimum comes, not which it is."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning

from structlearn import MulticlassClassifier
from structlearn.problem.objective import Objective
from structlearn.scoring import RowScoring
from structlearn.solvers import BlockFrankWolfe, ExactBlocks, Stopping, solve
from structlearn.solvers.bcfw.exact import active_blocks
from structlearn.solvers.bcfw.exact_pass import shuffle
from structlearn.solvers.bcfw.totals import STEPS
from structlearn.structures import Cube, Simplex

REGULARIZATION = 0.02


def problem(structure):
    """Noisy labels: at the optimum most blocks rest at a vertex, gold or not."""
    rng = np.random.default_rng(0)
    n, n_labels = 150, structure.n_labels
    X = rng.normal(size=(n, 4))
    scores = X @ rng.normal(size=(4, n_labels)) + 2 * rng.normal(size=(n, n_labels))
    y = (scores > 0).astype(int) if n_labels == 1 else scores.argmax(axis=1)
    scoring = RowScoring(X, np.ones(n, dtype=np.int64), n_labels)
    gold = structure.encode_many(y, scoring.shapes)
    cost = structure.cost_many(gold, scoring.shapes)
    return Objective(structure, scoring, gold, cost, regularization=REGULARIZATION)


PROBLEMS = {"simplex": problem(Simplex(3)), "switch": problem(Cube(1))}
each_problem = pytest.mark.parametrize("name", PROBLEMS)


def optimum(objective):
    """min P by an interior point method."""
    X, n_labels = objective.scoring.X, objective.scoring.n_labels
    mu = objective.gold_point().reshape(-1, n_labels)
    W = cp.Variable((X.shape[1], n_labels))
    theta = X @ W + objective.cost.reshape(-1, n_labels)
    best = cp.max(theta, axis=1) if n_labels > 1 else cp.pos(theta[:, 0])
    loss = cp.sum(best - cp.sum(cp.multiply(theta, mu), axis=1)) / len(X)
    problem = cp.Problem(cp.Minimize(REGULARIZATION / 2 * cp.sum_squares(W) + loss))
    return problem.solve(solver=cp.CLARABEL)


def run(objective, **options):
    return solve(objective, ExactBlocks(**options), Stopping(tol=2e-8, max_passes=20_000), seed=0)


def states(objective, solver, number):
    rng = np.random.default_rng(0)
    state = solver.start(objective, rng, None)
    for _ in range(number):
        state = solver.step(objective, state, rng)
        yield state


@each_problem
def test_rounds_over_active_blocks_reach_the_optimum_in_fewer_visits(name):
    objective = PROBLEMS[name]
    shrinking, plain = run(objective), run(objective, focus=0.0)
    best = optimum(objective)
    for solution in (shrinking, plain):
        assert solution.certificate.converged
        assert solution.certificate.primal == pytest.approx(best, abs=1e-6)
    z = shrinking.z.reshape(len(objective.active), -1)
    assert np.mean(((z == 0) | (z == 1)).all(axis=1)) > 0.5
    assert shrinking.certificate.oracle_calls < plain.certificate.oracle_calls


@each_problem
def test_the_dual_rises_and_every_visit_is_counted(name):
    objective = PROBLEMS[name]
    solver = ExactBlocks(examples_at_once=40)
    dual = 0.0
    n_rounds = 0
    for state in states(objective, solver, 60):
        assert state.totals[STEPS] == state.oracle_calls
        n_rounds += state.again
        dual, before = sum(solver.candidates(objective, state)[0].dual), dual
        assert dual >= before - 1e-14
    assert n_rounds > 5


@each_problem
def test_steps_end_at_whole_passes(name):
    objective = PROBLEMS[name]
    answers = [state.oracle_calls for state in states(objective, BlockFrankWolfe(), 40)]
    whole = set(range(objective.n_active, answers[-1], objective.n_active))
    assert whole <= set(answers)


def test_a_block_shrunk_by_mistake_is_active_after_the_next_full_pass():
    objective = PROBLEMS["switch"]
    solver = ExactBlocks()
    rng = np.random.default_rng(0)
    state = solver.step(objective, solver.start(objective, rng, None), rng)
    active = np.flatnonzero(state.gaps > 0)[:2]
    shrunk = np.setdiff1d(objective.active, active)
    state.gaps[shrunk] = -1.0
    state.blocks.goal, state.blocks.left = 0.0, 20
    state = solver.step(objective, state._replace(order=active, again=1), rng)
    assert (state.gaps[shrunk] == -1.0).all()
    state = state._replace(order=state.order[:0], again=0)
    while not state.again:
        state = solver.step(objective, state, rng)
    assert (state.gaps >= -1e-15).all()
    assert set(shrunk) & set(state.order)
    np.testing.assert_array_equal(np.sort(state.order), np.flatnonzero(state.gaps > 0))


def test_rounds_keep_only_blocks_with_a_gap_and_end_at_the_goal():
    objective = PROBLEMS["switch"]
    solver = ExactBlocks()
    state = next(states(objective, solver, 1))
    order = objective.active.copy()
    maximize = partial(state.blocks._maximize, objective, state)
    visits, left = maximize(order, state.sums, (order.size, 0.0, 0))
    assert visits == order.size
    assert sorted(order[:left]) == np.flatnonzero(state.gaps > 0).tolist()
    assert maximize(order[:left].copy(), state.sums, (10**6, 1.0, 0))[1] == 0


def test_many_active_blocks_are_left_to_full_passes():
    gaps = np.array([1.0, 1.0, 0.0])
    rng = np.random.default_rng(0)
    assert active_blocks(np.arange(3), gaps, rng)[0].size == 0
    active, goal = active_blocks(np.arange(3), gaps * [1, 0, 0], rng)
    assert (active.tolist(), goal) == ([0], 0.1)


def test_every_permutation_is_as_likely():
    counts = {}
    state = np.uint64(1)
    for _ in range(6000):
        order = np.arange(4)
        state = np.uint64(shuffle(order, 3, state))
        counts[tuple(order)] = counts.get(tuple(order), 0) + 1
    assert len(counts) == 6
    assert all(order[3] == 3 for order in counts)
    np.testing.assert_allclose(list(counts.values()), 1000, atol=150)  # five standard deviations


def test_equal_runs_give_equal_bits_wherever_memory_is_found():
    """Small vectors that lay close to each other were once added up in another order."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.5)
    y = (X @ rng.normal(size=(5, 4)) + rng.normal(size=(60, 4))).argmax(axis=1)
    found, held = set(), []
    for _ in range(150):
        held.append([np.empty(int(size), np.uint8) for size in rng.integers(1, 3000, 50)])
        model = MulticlassClassifier(loss="hinge", regularization=1e-3, tol=0, max_passes=4, random_state=0)
        with pytest.warns(ConvergenceWarning):
            model.fit(csr_matrix(X), y)
        found.add(model.weights_.tobytes())
    assert len(found) == 1


@each_problem
def test_a_settled_state_is_not_evaluated_again(name, monkeypatch):
    objective, asked = PROBLEMS[name], []
    primal = objective.primal
    monkeypatch.setattr(objective, "primal", lambda w: asked.append(w.copy()) or primal(w))
    found = solve(objective, ExactBlocks(), Stopping(tol=1e-6), seed=0)
    assert found.certificate.converged
    assert len(asked) == len(found.history)
    assert found.certificate.primal == primal(found.w)
