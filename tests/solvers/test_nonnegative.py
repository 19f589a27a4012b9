"""Non-negative weights against convex solvers over all vertices, and their parts by their definitions."""

import cvxpy
import numpy as np
import pytest
from cvxpy.transforms import indicator

from brute import STRUCTURES, build, entropic_optimum, quadratic_optimum
from structlearn.problem.penalties import DeadZone, NonNegative, dead_zone, squared_part
from structlearn.problem.regularizers import Shannon, SquaredNorm
from structlearn.solvers import StochasticExtragradient, Stopping, solve
from structlearn.solvers.bcfw.lead import nearer, squares
from structlearn.solvers.first_order.gradient import Proximal

PENALTY = NonNegative(0.2)
OMEGAS = {"hinge": None, "softmax": Shannon(), "sparsemax": SquaredNorm()}


def nonnegative(w):
    return 0.1 * cvxpy.sum_squares(w) + indicator([w >= 0])


def conjugate(u):
    return cvxpy.sum_squares(cvxpy.pos(u)) / 0.4


def posed(family, loss, **options):
    given = {"regularizer": OMEGAS[loss], "penalty": PENALTY, "regularization": 0.2, **options}
    problem = build(STRUCTURES[family], **given)
    if loss == "softmax":
        return problem, entropic_optimum(problem, nonnegative)
    return problem, problem.optimum(nonnegative) if loss == "hinge" else quadratic_optimum(problem, conjugate)


CASES = [
    *(("chain", loss) for loss in OMEGAS),
    *(("simplex", loss) for loss in OMEGAS),
    *((family, loss) for family in ("paths", "subset", "own, compiled") for loss in ("hinge", "sparsemax")),
]


@pytest.mark.parametrize(("family", "loss"), CASES)
def test_optimum_of_a_convex_solver(family, loss):
    problem, optimum = posed(family, loss)
    unconstrained = solve(
        build(STRUCTURES[family], regularizer=OMEGAS[loss], regularization=0.2).objective,
        *(StochasticExtragradient(), Stopping(1e-5, 3000)),
        seed=0,
    )
    assert unconstrained.w.min() < -1e-3  # so that the constraint binds
    seen = []
    solution = solve(
        *(problem.objective, StochasticExtragradient(), Stopping(tol=1e-5, max_passes=3000)),
        seed=0,
        callback=seen.append,
    )
    assert solution.certificate.converged
    assert solution.certificate.primal == pytest.approx(optimum, abs=2e-5)
    for row in seen:
        assert row.dual - 2e-7 <= optimum <= row.primal + 2e-7
    zeros = solution.w == 0
    assert solution.w.min() == 0
    assert zeros.sum() > 0
    assert not np.signbit(solution.w).any()


def test_weights_of_other_examples_and_threads():
    problem, optimum = posed("chain", "softmax", sample_weight=np.array([5.0, 0.2, 1.0, 0.0, 2.0, 0.7]))
    problem.objective.oracle.n_jobs = 2
    found = solve(problem.objective, StochasticExtragradient(), Stopping(1e-5, 3000), seed=0)
    assert found.certificate.converged
    assert found.certificate.primal == pytest.approx(optimum, abs=2e-5)
    assert found.w.min() >= 0


def test_a_constraint_that_does_not_bind_changes_nothing():
    free = build(STRUCTURES["matching"], regularizer=SquaredNorm(), regularization=0.2).objective
    bound = posed("matching", "sparsemax")[0].objective
    found, wanted = (
        solve(one, StochasticExtragradient(), Stopping(1e-9, 3000), seed=0) for one in (bound, free)
    )
    assert wanted.w.min() > 0.01
    np.testing.assert_allclose(found.w, wanted.w, atol=1e-4)
    assert found.certificate.primal == pytest.approx(wanted.certificate.primal, abs=2e-9)


@pytest.mark.parametrize("size", [1.0, 1e3])
@pytest.mark.parametrize("loss", ["hinge", "sparsemax"])
def test_zero_weights_are_certified_where_none_wants_to_be_positive(loss, size):
    """Features of gold parts are negative: P(0) is the optimum, and the pace must find that out."""
    problem = build(STRUCTURES["own, compiled"], regularizer=OMEGAS[loss], penalty=PENALTY, intercept=False)
    scoring, gold = problem.objective.scoring, np.concatenate(problem.mu)
    scoring.F[:] = -size * gold[:, None]
    found = solve(problem.objective, StochasticExtragradient(), Stopping(1e-6, 100), seed=0)
    assert found.certificate.converged
    assert not found.w.any()
    assert found.certificate.primal == problem.objective.primal(np.zeros(problem.objective.n_weights))


@pytest.mark.parametrize("loss", OMEGAS)
def test_settled_states_have_the_dual_value_written_out(loss):
    problem, _ = posed("chain", loss)
    solver, rng, objective = StochasticExtragradient(), np.random.default_rng(0), problem.objective
    state = solver.start(objective, rng, None)
    for _ in range(6):
        state = solver.step(objective, state, rng)
    state, _ = solver.settle(objective, state)
    state.lead.scalars[1] = 0.0  # no mean of points
    v, cost = state.blocks.point.weights(objective)
    assert 0 < (v > 0).sum() < v.size
    value = cost - PENALTY.conjugate(0.2 * v)
    bound = solver.candidates(objective, state)[0].dual
    assert bound.value + bound.rounding == pytest.approx(value, abs=1e-13)
    assert bound.value < value


@pytest.mark.parametrize("family", ["chain", "simplex"])
def test_proximal_gradient_agrees(family):
    problem, optimum = posed(family, "softmax")
    found = solve(problem.objective, Proximal(), Stopping(1e-6, 3000), seed=0)
    assert found.certificate.primal == pytest.approx(optimum, abs=2e-6)
    assert found.w.min() == 0


@pytest.mark.parametrize("solver", [StochasticExtragradient(), Proximal()])
def test_a_run_goes_on_from_a_solution_with_negative_weights(solver):
    free = build(STRUCTURES["chain"], regularizer=Shannon(), regularization=0.2)
    first = solve(free.objective, StochasticExtragradient(), Stopping(1e-4, 3000), seed=0, resumable=True)
    assert first.w.min() < 0
    problem, optimum = posed("chain", "softmax")
    again = solve(problem.objective, solver, Stopping(1e-6, 3000), seed=0, warm=first)
    assert again.certificate.converged
    assert again.certificate.primal == pytest.approx(optimum, abs=2e-6)
    assert again.w.min() >= 0


# ---- parts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.0, 0.5])
@pytest.mark.parametrize("v", [-2.0, 0.0, 0.3, 0.9, 3.0])
@pytest.mark.parametrize("w", [-1.5, 0.0, 0.4, 2.0])
def test_following_is_many_small_proximal_steps(w, v, threshold):
    """w <- max((w + tau (v - threshold)) / (1 + tau), 0): in the limit a continuous motion."""
    tau, steps = 1e-5, 80_000
    slow = w
    for _ in range(steps):
        slow = max((slow + tau * (v - threshold)) / (1 + tau), 0.0)
    assert nearer(w, v, (1 + tau) ** -steps, threshold, True) == pytest.approx(slow, abs=3e-5)


def test_following_ends_at_w_of_z_and_starts_at_w():
    v = np.linspace(-2, 2, 41)
    for w in (0.0, 0.7):
        ends = [nearer(w, one, 0.0, 0.0, True) for one in v]
        np.testing.assert_array_equal(ends, np.maximum(v, 0.0))
        assert not np.signbit(ends).any()
        np.testing.assert_allclose([nearer(w, one, 1.0, 0.0, True) for one in v], w, atol=1e-15)


@pytest.mark.parametrize("threshold", [0.0, 0.6])
def test_squares_are_those_of_positive_parts(threshold):
    v = np.random.default_rng(0).normal(size=50)
    square, whole = squares(v / 2, v / 2, 1.0, threshold, True)
    above = np.maximum(v - threshold, 0)
    assert (square, whole) == (pytest.approx(above @ above), pytest.approx(v @ v))


def test_values_and_conjugates_are_their_definitions():
    rng = np.random.default_rng(1)
    u, points = rng.normal(size=7), rng.normal(size=(4000, 7))
    assert PENALTY.value(points[0]) == np.inf
    assert PENALTY.value(np.abs(points[0])) == pytest.approx(0.1 * points[0] @ points[0])
    best = np.maximum(u, 0) / 0.2
    assert PENALTY.conjugate(u) == pytest.approx(best @ u - PENALTY.value(best))
    assert PENALTY.conjugate(u) >= max(p @ u - PENALTY.value(p) for p in np.abs(points))
    shift = 1e-6 * rng.normal(size=7)
    change = abs(PENALTY.conjugate(u + shift) - PENALTY.conjugate(u))
    assert change <= PENALTY.slope(u, 0.0) * np.linalg.norm(shift) * (1 + 1e-3)
    assert (squared_part(PENALTY, 0.2), dead_zone(PENALTY)) == (0.2, DeadZone(0.0, True))


def test_without_a_strength_the_conjugate_is_finite_below_zero_alone():
    free = NonNegative(0.0)
    assert (free.shrink(np.array([-1.0, 0.0])), free.shrink(np.array([-1.0, 0.1]))) == (1.0, 0.0)
    assert free.conjugate(np.array([-1.0, 0.0])) == free.slope(np.array([-1.0]), 1.0) == 0.0
