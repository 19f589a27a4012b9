"""The elastic net over structures against convex solvers, and its parts against their definitions."""

import cvxpy
import numpy as np
import pytest

from brute import STRUCTURES, build, entropic_optimum, quadratic_optimum
from structlearn.problem.penalties import DeadZone, ElasticNet, SquaredL2, dead_zone, squared_part
from structlearn.problem.regularizers import Shannon, SquaredNorm
from structlearn.solvers import StochasticExtragradient, Stopping, solve
from structlearn.solvers.bcfw.lead import nearer, squares
from structlearn.solvers.first_order.gradient import Proximal

NET = ElasticNet(0.2, 0.4)
CASES = ["chain", "chain with start and end", "conditioned chain"]


def net(w):
    return 0.2 * (0.4 * cvxpy.norm1(w) + 0.3 * cvxpy.sum_squares(w))


def conjugate(u):
    beyond = cvxpy.pos(cvxpy.hstack([u, -u]) - 0.08)
    return cvxpy.sum_squares(beyond) / (2 * 0.12)


def posed(family, loss, **options):
    omega = {"hinge": None, "softmax": Shannon(), "sparsemax": SquaredNorm()}[loss]
    problem = build(STRUCTURES[family], regularizer=omega, penalty=NET, regularization=0.2, **options)
    if loss == "softmax":
        return problem, entropic_optimum(problem, net)
    return problem, problem.optimum(net) if loss == "hinge" else quadratic_optimum(problem, conjugate)


@pytest.mark.parametrize("loss", ["hinge", "softmax", "sparsemax"])
@pytest.mark.parametrize("family", CASES)
def test_optimum_of_a_convex_solver(family, loss):
    problem, optimum = posed(family, loss)
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
    assert 0 < zeros.sum() < zeros.size
    assert not np.signbit(solution.w[zeros]).any()


def test_weights_of_other_examples_and_threads():
    problem, optimum = posed("chain", "softmax", sample_weight=np.array([5.0, 0.2, 1.0, 0.0, 2.0, 0.7]))
    problem.objective.oracle.n_jobs = 2
    found = solve(problem.objective, StochasticExtragradient(), Stopping(1e-5, 3000), seed=0).certificate
    assert found.converged
    assert found.primal == pytest.approx(optimum, abs=2e-5)


@pytest.mark.parametrize("loss", ["hinge", "softmax", "sparsemax"])
def test_settled_states_have_the_dual_value_written_out(loss):
    problem, _ = posed("chain", loss)
    solver, rng, objective = StochasticExtragradient(), np.random.default_rng(0), problem.objective
    state = solver.start(objective, rng, None)
    for _ in range(6):
        state = solver.step(objective, state, rng)
    state, _ = solver.settle(objective, state)
    state.lead.scalars[1] = 0.0  # no mean of points
    v, cost = state.blocks.point.weights(objective)
    assert 0 < (np.abs(v) > 2 / 3).sum() < v.size
    value = cost - NET.conjugate(0.12 * v)
    bound = solver.candidates(objective, state)[0].dual
    assert bound.value + bound.rounding == pytest.approx(value, abs=1e-13)
    assert bound.value < value


def test_proximal_gradient_agrees():
    problem, optimum = posed("chain", "softmax")
    found = solve(problem.objective, Proximal(), Stopping(1e-6, 3000), seed=0)
    assert found.certificate.primal == pytest.approx(optimum, abs=2e-6)
    assert (found.w == 0).any()


def test_a_run_goes_on_from_its_solution():
    problem, _ = posed("chain", "softmax")
    first = solve(problem.objective, StochasticExtragradient(), Stopping(1e-4, 3000), seed=0)
    again = solve(problem.objective, StochasticExtragradient(), Stopping(1e-6, 3000), seed=0, warm=first)
    assert again.certificate.converged
    assert again.certificate.dual >= first.certificate.dual - 1e-4


# ---- parts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("v", [-2.0, -0.7, 0.0, 0.3, 0.9, 3.0])
@pytest.mark.parametrize("w", [-1.5, -0.01, 0.0, 0.4, 2.0])
def test_following_is_many_small_proximal_steps(w, v):
    """w <- prox_{tau R}(w + tau u) with lambda_2 = 1 and u = v: in the limit a continuous motion."""
    tau, steps = 1e-5, 80_000
    slow = w
    for _ in range(steps):
        moved = slow + tau * v
        slow = np.sign(moved) * max(abs(moved) - tau * 0.5, 0.0) / (1 + tau)
    assert nearer(w, v, (1 + tau) ** -steps, 0.5, False) == pytest.approx(slow, abs=3e-5)


def test_following_ends_at_w_of_z_and_starts_at_w():
    v = np.linspace(-2, 2, 41)
    for w in (-1.0, 0.0, 0.7):
        ends = [nearer(w, one, 0.0, 0.5, False) for one in v]
        np.testing.assert_allclose(ends, np.sign(v) * np.maximum(np.abs(v) - 0.5, 0), atol=1e-15)
        np.testing.assert_allclose([nearer(w, one, 1.0, 0.5, False) for one in v], w, atol=1e-15)
        assert not np.signbit([one for one in ends if one == 0]).any()


def test_squares_are_those_of_soft_weights():
    v = np.random.default_rng(0).normal(size=50)
    square, whole = squares(v / 2, v / 2, 1.0, 0.6, False)
    soft = np.maximum(np.abs(v) - 0.6, 0)
    assert (square, whole) == (pytest.approx(soft @ soft), pytest.approx(v @ v))


def test_parts_of_penalties():
    assert squared_part(NET, 7.0) == pytest.approx(0.12)
    assert squared_part(SquaredL2(7.0), 7.0) == squared_part(ElasticNet(7.0), 7.0) == 7.0
    assert dead_zone(SquaredL2(7.0)) == DeadZone(0.0, False)
    assert dead_zone(NET) == DeadZone(pytest.approx(2 / 3), False)
