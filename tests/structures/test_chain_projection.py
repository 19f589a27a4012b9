"""Projections onto label sequences by flows: against enumeration, a convex solver, and the active set."""

import itertools

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from structlearn.core.contract import (
    face_size,
    find_face,
    project,
    project_derivative,
    project_workspace,
)
from structlearn.problem.derivatives import derivative
from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.regularizers import SquaredNorm
from structlearn.structures import Chain, ConditionedChain
from structlearn.structures.sparsemap import TOLERANCE

CHAINS = {
    "chain": (Chain(3), 4),
    "ends": (Chain(3, start=True, end=True), 3),
    "one position": (Chain(4, start=True), 1),
    "one label": (Chain(1), 4),
    "forbidden": (Chain(3, forbidden=[(0, 1), (None, 2), (1, 1), (2, None)]), 4),
    "conditioned": (ConditionedChain(3), 4),
    "conditioned forbidden": (ConditionedChain(2, forbidden=[(0, 0)]), 5),
}
each_chain = pytest.mark.parametrize("name", CHAINS)
NOISE = [0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]


def solve(chain, length, theta, rounds=0, work=None):
    """(value, z, scratch memory), with at most `rounds` of the active set before the flow; None: as usual."""
    shape = (length, chain.n_columns)
    work = project_workspace(chain.record, shape) if work is None else work
    work = work if rounds is None else work._replace(rounds=rounds)
    z = np.full(theta.size, 7.0)
    return project(chain.record, shape, *chain.split(theta, shape), work, z), z, work


def vertices(chain, length):
    words = np.array(list(itertools.product(range(chain.n_labels), repeat=length)))
    allowed = [word for word in words if not chain.broken(word, np.array([length])).any()]
    return np.array([chain.encode(word) for word in allowed])


def size(chain, length):
    return length * chain.n_columns + chain.n_shared


def dot(V, theta):
    """<theta, v> for each row v, with -inf * 0 = 0."""
    return (V * np.where(V != 0, theta, 0.0)).sum(axis=-1)


def missing(chain, length, theta, z):
    """max_v <theta - z, v - z>, and the scores' own size."""
    gradient, n = theta.copy(), length * chain.n_labels
    gradient[:n] -= z[:n]
    return dot(chain.maximize(gradient) - z, gradient), 1.0 + dot(z, np.abs(theta))


def near_ties(n_labels, length, noise, seed=0):
    """Local scores 0.15 N(0, 1) and transitions of +-0.005, with noise."""
    rng = np.random.default_rng(seed)
    equal = 0.005 * rng.choice([-1.0, 1.0], size=n_labels**2)
    unary = 0.15 * rng.normal(size=length * n_labels)
    return np.r_[unary, equal + noise * rng.normal(size=n_labels**2)]


@st.composite
def scores(draw, n):
    integers = st.integers(-2, 2).map(float)
    nearly = st.integers(-1, 1).map(lambda i: i + 1e-9 * (i * 7919 % 13))
    entry = draw(st.sampled_from([integers, nearly, st.floats(-2, 2), st.just(-np.inf) | integers]))
    scale = draw(st.sampled_from([1e-6, 1e-3, 0.1, 1.0, 1e3, 1e6]))
    return scale * np.array(draw(st.lists(entry, min_size=n, max_size=n)))


@each_chain
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_no_output_is_better_at_the_gradient(name, data):
    """From one vertex on, without help of the active set."""
    chain, length = CHAINS[name]
    V = vertices(chain, length)
    theta = data.draw(scores(V.shape[1]))
    value, z, _ = solve(chain, length, theta)
    if np.isneginf(dot(V, theta)).all():
        assert value == -np.inf
        return
    n = length * chain.n_labels
    gradient = np.r_[theta[:n] - z[:n], theta[n:]]
    scale = 1.0 + dot(z, np.abs(theta))
    assert dot(V, gradient).max() - dot(z, gradient) <= 1e-11 * scale
    assert_allclose(value, dot(z, theta) - z[:n] @ z[:n] / 2, atol=1e-11 * scale, rtol=0)
    assert (z >= 0).all()
    assert (z[(V == 0).all(axis=0)] == 0).all()
    assert (z[np.isneginf(theta)] == 0).all()
    expected, best, _ = solve(chain, length, theta, rounds=10**6)
    assert_allclose(value, expected, atol=1e-11 * scale, rtol=0)
    assert_allclose(z[:n], best[:n], atol=1e-5 * np.sqrt(scale))


@each_chain
def test_agrees_with_a_quadratic_program_over_the_vertices(name):
    chain, length = CHAINS[name]
    V, n = vertices(chain, length), length * chain.n_labels
    theta = 0.3 * np.random.default_rng(3).normal(size=V.shape[1])
    p = cvxpy.Variable(len(V), nonneg=True)
    objective = (V @ theta) @ p - cvxpy.sum_squares(V[:, :n].T @ p) / 2
    expected = cvxpy.Problem(cvxpy.Maximize(objective), [cvxpy.sum(p) == 1]).solve(solver=cvxpy.CLARABEL)
    value, z, _ = solve(chain, length, theta)
    assert_allclose(value, expected, atol=1e-6)
    assert_allclose(z[:n], (V.T @ p.value)[:n], atol=1e-4)


@pytest.mark.parametrize(("n_labels", "length"), [(20, 30), (9, 100), (50, 10)])
def test_outputs_that_nearly_tie_take_no_more_rounds(n_labels, length):
    """Vertices for next to no gain came in by thousands, for noise of 1e-5 most of all."""
    chain = Chain(n_labels)
    for noise in NOISE:
        theta = near_ties(n_labels, length, noise)
        value, z, work = solve(chain, length, theta, rounds=None)
        flows, rounds = work.spent
        assert flows <= 3
        assert rounds <= 60
        gap, scale = missing(chain, length, theta, z)
        assert gap <= 2 * TOLERANCE * scale
        n = length * n_labels
        assert_allclose(value, theta @ z - z[:n] @ z[:n] / 2, atol=1e-10)
        assert_allclose(z[:n].reshape(length, n_labels).sum(axis=1), 1.0, atol=1e-12)


def test_labels_without_weight_are_exactly_zero():
    chain, theta = Chain(20), near_ties(20, 30, 1e-5)
    _, z, work = solve(chain, 30, theta, rounds=40)
    assert work.spent[0] > 0
    _, exact, _ = solve(chain, 30, theta, rounds=10**6)
    assert_allclose(z[:600], exact[:600], atol=1e-6)
    assert (z[:600] == 0).sum() > 200
    assert z[:600][z[:600] > 0].min() > 1e-9


def test_one_scratch_memory_serves_shorter_sequences():
    chain = Chain(6)
    shared = project_workspace(chain.record, (12, 6))
    for length in (12, 3, 7, 1, 12):
        theta = near_ties(6, length, 1e-6, seed=length)
        found, again = solve(chain, length, theta, work=shared), solve(chain, length, theta)
        assert found[0] == again[0]
        assert_allclose(found[1], again[1], atol=1e-14)


def test_without_memory_for_a_flow_the_active_set_goes_on():
    chain, theta = Chain(4), near_ties(4, 6, 1e-4)
    work = project_workspace(chain.record, (6, 4))
    value, z, small = solve(chain, 6, theta, work=work._replace(edges=np.empty((6, 5))))
    assert small.spent[0] == 0
    assert_allclose(value, solve(chain, 6, theta)[0], atol=1e-12)
    assert missing(chain, 6, theta, z)[0] <= 1e-11


# ---- derivatives ----------------------------------------------------------------------------------------


def moved(chain, theta, v):
    return derivative(FenchelYoungLoss(chain, SquaredNorm()), theta[None], v[None])[0]


@pytest.mark.parametrize(
    "chain", [Chain(12), Chain(8, start=True, end=True), ConditionedChain(8)], ids=["chain", "ends", "own"]
)
def test_derivatives_of_flows_are_differences(chain):
    """Scores so small that the answer mixes more sequences than the active set has rounds."""
    length, rng = 25, np.random.default_rng(0)
    theta, v, u = rng.normal(size=(3, size(chain, length)))
    theta *= 0.05
    assert solve(chain, length, theta, rounds=48)[2].spent[0] > 0
    step = 1e-7
    around = [solve(chain, length, theta + side * v, rounds=48)[1] for side in (step, -step)]
    found = moved(chain, theta, v)
    expected = (around[0] - around[1]) / (2 * step)
    assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    assert_allclose(u @ found, v @ moved(chain, theta, u), rtol=1e-8)  # J is symmetric


@each_chain
@pytest.mark.parametrize("rounds", [0, None])
def test_a_face_is_that_of_the_best_sequences(name, rounds):
    """J v = E' (E_l E_l')^+ E v with the edges E of the face: all sequences that are best at the gradient."""
    chain, length = CHAINS[name]
    theta, v = np.random.default_rng(3).normal(size=(2, size(chain, length)))
    theta *= 0.4
    V, n, shape = vertices(chain, length), length * chain.n_labels, (length, chain.n_columns)
    _, z, work = solve(chain, length, theta, rounds)
    gradient = theta.copy()
    gradient[:n] -= z[:n]
    values = dot(V, gradient)
    E = (V - V[values.argmax()])[values > values.max() - 1e-7]
    assert (work.spent[0] > 0) == (rounds == 0 and len(E) > 1)
    expected = np.linalg.pinv(E[:, :n] @ E[:, :n].T, rcond=1e-9) @ (E @ v) @ E
    face, found = np.full(face_size(chain.record, shape), 7.0), np.empty(theta.size)
    find_face(chain.record, shape, *chain.split(theta, shape), work, face)
    project_derivative(chain.record, shape, *chain.split(v, shape), work, face, found)
    assert_allclose(found, expected, atol=1e-8)


def test_the_derivative_is_finite_where_sequences_tie():
    """A flow with circles: along them, scores of steps would move weight at no cost and without end."""
    chain, theta = Chain(20), near_ties(20, 30, 0.0)
    v = np.random.default_rng(1).normal(size=theta.size)
    found = moved(chain, theta, v)
    assert np.abs(found).max() <= 1e4
    n = 600
    assert_allclose(found[:n].reshape(30, 20).sum(axis=1), 0.0, atol=1e-8 * np.abs(found).max())
    assert_allclose(found[n:].sum(), 0.0, atol=1e-7 * np.abs(found).max())


def test_what_no_output_uses_moves_nothing():
    chain, theta = Chain(20), near_ties(20, 30, 1e-3)
    z = solve(chain, 30, theta, rounds=80)[1]
    v = np.random.default_rng(2).normal(size=theta.size)
    found = moved(chain, theta, v)
    assert_allclose(moved(chain, theta, np.where(z > 0, v, np.inf)), found, atol=1e-9 * np.abs(found).max())
    assert np.isnan(moved(chain, theta, np.where(z > 0, np.inf, v))[z > 0]).all()
    assert (found[z == 0] == 0).all()
