import itertools
from functools import cache
from typing import NamedTuple

import cvxpy
import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import nnls

from structlearn.core.callbacks import Callback
from structlearn.core.contract import maximize, project, project_workspace, workspace
from structlearn.core.kernels import implements, kernel
from structlearn.structures import Chain, LabelGraph, Matching, ProjectiveTree, Simplex, as_structure
from structlearn.structures.erased import erase_structure
from structlearn.structures.own_records import Called
from structlearn.structures.sparsemap import (
    ROUGH_TOLERANCE,
    STALLED_TOLERANCE,
    SparseMAPScratch,
    active_set_project,
    active_set_workspace,
)
from structlearn.structures.vertex_mixture import enter, make_atoms, start_mixture

patient = settings(deadline=None, max_examples=50)  # the first call may compile
SCALES = st.sampled_from([1.0, 1e-3, 0.1, 1e3, 1e6])


class Permutations:
    """Plain Python: 3 x 3 permutation matrices, which are affinely dependent (6 in 4 dimensions)."""

    part_ndim = 2
    all = np.array([np.eye(3)[list(order)] for order in itertools.permutations(range(3))])

    def maximize(self, theta):
        values = np.where(self.all != 0, theta, 0.0).sum(axis=(1, 2))
        return self.all[np.argmax(values)]


@numba.njit
def pick_two(theta, out):
    """Compiled: two of the parts."""
    out[:] = 0.0
    value = 0.0
    for _ in range(2):
        best = -1
        for k in range(theta.size):
            if out[k] == 0.0 and (best < 0 or theta[k] > theta[best]):
                best = k
        out[best] = 1.0
        value += theta[best]
    return value


class PickTwo:
    def maximize(self, theta):
        out = np.zeros(theta.size)
        pick_two(theta, out)
        return out


def pairs(n):
    return np.array(
        [np.bincount(two, minlength=n) for two in itertools.combinations(range(n), 2)], dtype=float
    )


@cache
def cases():
    """Name -> structure, shape of its local parts, all vertices."""
    found = {}
    for n_labels, length, ends in [(3, 4, False), (2, 3, True), (3, 1, True), (1, 3, False), (2, 4, False)]:
        chain = Chain(n_labels, start=ends, end=ends)
        words = itertools.product(range(n_labels), repeat=length)
        V = np.array([chain.encode(np.array(word)) for word in words])
        found[f"chain {length} x {n_labels}"] = chain, (length, n_labels), V
    for n_labels, edges in [(4, "all"), (4, "tree"), (3, [(0, 2)]), (1, "all")]:
        graph = LabelGraph(n_labels, edges)
        V = np.array([graph.encode(np.array(y)) for y in itertools.product([0, 1], repeat=n_labels)])
        found[f"graph {n_labels} {edges}"] = graph, (1, n_labels), V
    every = ((np.arange(512)[:, None] >> np.arange(9)) & 1).astype(float).reshape(-1, 3, 3)
    partial = (every.sum(axis=1) <= 1).all(axis=1) & (every.sum(axis=2) <= 1).all(axis=1)
    found["partial matching"] = Matching(), (3, 3), every[partial].reshape(-1, 9)
    found["assignment"] = Matching(unmatched=False), (3, 3), Permutations.all.reshape(-1, 9)
    found["simplex"] = Simplex(5), (1, 5), np.eye(5)
    found["plain permutations"] = as_structure(Permutations()), (3, 3), Permutations.all.reshape(-1, 9)
    found["plain pairs"] = as_structure(PickTwo()), (5, 1), pairs(5)
    found["compiled pairs"] = as_structure(pick_two), (5, 1), pairs(5)
    return found


NAMES = list(cases())


@st.composite
def scores(draw, n, masks):
    integers = st.integers(-2, 2).map(float)
    kinds = [integers, st.floats(-2, 2, allow_subnormal=False), st.just(-np.inf) | integers]
    entry = draw(st.sampled_from(kinds if masks else kinds[:2]))
    return draw(SCALES) * np.array(draw(st.lists(entry, min_size=n, max_size=n)))


def dot(V, theta):
    """<theta, v> for each row v, with -inf * 0 = 0."""
    return (V * np.where(V != 0, theta, 0.0)).sum(axis=-1)


def by_address(structure, shape):
    """Its `maximize` by address, so that the active set compiles once; and what must live as long."""
    return erase_structure(structure.record, shape, frozenset({"maximize"}))


def solve(structure, shape, theta, work=None):
    """(value, z) by the active set itself, even where the structure has a projection of its own."""
    record, _alive = by_address(structure, shape)
    work = active_set_workspace(record, shape) if work is None else work
    z = np.full(theta.size, 7.0)
    n_local = shape[0] * shape[1]
    return active_set_project(record, shape, theta[:n_local], theta[n_local:], work, z), z


def optimality(V, n_local, theta, z):
    """max_v <theta - z, v - z> (z of the local parts), relative to the scores of the allowed outputs."""
    gradient = np.concatenate([theta[:n_local] - z[:n_local], theta[n_local:]])
    scale = 1 + np.abs(theta[np.isfinite(theta)]).max(initial=0.0)
    return (dot(V, gradient).max() - dot(z, gradient)) / scale


def check(name, theta, value, z):
    _, shape, V = cases()[name]
    n_local = shape[0] * shape[1]
    local = z[:n_local]
    assert optimality(V, n_local, theta, z) <= 1e-10
    largest = np.abs(theta[np.isfinite(theta)]).max(initial=0.0)  # may cancel: its rounding errors stay
    assert_allclose(value, dot(z, theta) - local @ local / 2, rtol=1e-12, atol=1e-10 + 1e-15 * largest)
    assert (z >= 0).all()
    assert (z <= V.max(axis=0)).all()
    assert (z[np.isneginf(theta)] == 0).all()


@pytest.mark.parametrize("name", NAMES)
@patient
@given(data=st.data())
def test_no_vertex_is_better_at_the_gradient(name, data):
    structure, shape, V = cases()[name]
    theta = data.draw(scores(V.shape[1], masks=True))
    if np.isneginf(dot(V, theta)).all():
        assert solve(structure, shape, theta)[0] == -np.inf
        return
    check(name, theta, *solve(structure, shape, theta))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_agrees_with_a_quadratic_program_over_the_vertices(name, scale):
    structure, shape, V = cases()[name]
    n_local = shape[0] * shape[1]
    theta = scale * np.random.default_rng(3).normal(size=V.shape[1])
    p = cvxpy.Variable(len(V), nonneg=True)
    objective = (V @ theta) @ p - cvxpy.sum_squares(V[:, :n_local].T @ p) / 2
    problem = cvxpy.Problem(cvxpy.Maximize(objective), [cvxpy.sum(p) == 1])
    expected = problem.solve(solver=cvxpy.CLARABEL)
    value, z = solve(structure, shape, theta)
    assert_allclose(value, expected, rtol=1e-6, atol=1e-6)
    assert_allclose(z[:n_local], (V.T @ p.value)[:n_local], atol=1e-4)  # only local parts are unique
    outside = nnls(np.vstack([V.T, np.ones(len(V))]), np.append(z, 1.0))[1]
    assert outside <= 1e-10


@pytest.mark.parametrize("name", NAMES)
def test_equal_scores(name):
    """Ties everywhere: the answer is the point of M with the least local norm."""
    _, shape, V = cases()[name]
    theta = np.zeros(V.shape[1])
    check(name, theta, *solve(cases()[name][0], shape, theta))


@pytest.mark.parametrize("name", NAMES)
@patient
@given(data=st.data())
def test_a_vertex_far_out_is_its_own_projection(name, data):
    structure, shape, V = cases()[name]
    v = V[data.draw(st.integers(0, len(V) - 1))]
    n_local = shape[0] * shape[1]
    theta = np.concatenate([1e3 * (2 * v[:n_local] - 1), np.zeros(v.size - n_local)])
    assert_allclose(solve(structure, shape, theta)[1][:n_local], v[:n_local], atol=1e-12)


@patient
@given(data=st.data())
def test_on_the_simplex_it_is_sparsemax(data):
    theta = data.draw(scores(5, masks=True))
    assume(np.isfinite(theta).any())
    structure, shape, _ = cases()["simplex"]
    assert_allclose(solve(structure, shape, theta)[1], structure.project(theta), atol=1e-8)


@pytest.mark.parametrize("most", [3, 4])
@patient
@given(data=st.data())
def test_a_full_set_merges_its_lightest_atoms(most, data):
    """With room for three atoms, where more are needed, it ends a little short; its value is a bound."""
    structure, shape, V = cases()["partial matching"]
    theta = data.draw(scores(9, masks=False))
    record, _alive = by_address(structure, shape)
    work = SparseMAPScratch(make_atoms(most, 9), np.empty(9), np.empty(9), workspace(record, shape))
    value, z = solve(structure, shape, theta, work)
    accuracy = ROUGH_TOLERANCE * (4 + np.abs(theta).sum())
    assert optimality(V, 9, theta, z) <= accuracy
    best, _ = solve(structure, shape, theta)
    assert best - 1e-9 * (1 + abs(best)) <= value <= best + accuracy + 1e-9 * abs(best)
    assert (z.reshape(3, 3).sum(axis=0) <= 1 + 1e-12).all()
    assert (z.reshape(3, 3).sum(axis=1) <= 1 + 1e-12).all()


def test_one_workspace_serves_smaller_outputs():
    chain, _, _ = cases()["chain 4 x 3"]
    work = active_set_workspace(by_address(chain, (7, 3))[0], (7, 3))
    rng = np.random.default_rng(0)
    for length in (7, 2, 4, 1, 7):
        theta = rng.normal(size=length * 3 + 9)
        found = solve(chain, (length, 3), theta, work)
        again = solve(chain, (length, 3), theta)
        assert found[0] == again[0]
        assert_allclose(found[1], again[1], atol=1e-12)


@pytest.mark.parametrize("scale", [0.0, 0.05])
def test_flat_scores_of_long_sentences_end_in_time(scale):
    """The point nearest to zero mixes more trees of 50 words than there is room for."""
    structure, theta = ProjectiveTree(), scale * np.random.default_rng(0).normal(size=(51, 50))
    value, z = solve(structure, (51, 50), theta.ravel())
    z = z.reshape(51, 50)
    gain = np.sum((theta - z) * (structure.maximize(theta - z) - z))
    assert gain <= ROUGH_TOLERANCE * (51 + np.abs(theta).sum())
    reached = np.sum(theta * z) - np.sum(z * z) / 2
    assert reached - 1e-9 <= value <= reached + gain + 1e-9
    assert_allclose(z.sum(axis=0), 1.0, atol=1e-9)


def test_large_chain_is_optimal_by_its_own_oracle():
    """50 x 8: too many outputs to list, but Viterbi at the gradient is the certificate."""
    chain = Chain(8)
    rng = np.random.default_rng(1)
    for scale in (0.1, 1.0, 10.0):
        theta = scale * rng.normal(size=50 * 8 + 64)
        _, z = solve(chain, (50, 8), theta)
        gradient = np.concatenate([theta[:400] - z[:400], theta[400:]])
        assert gradient @ (chain.maximize(gradient) - z) <= 1e-10 * (1 + np.abs(theta).sum())
        assert_allclose(z[:400].reshape(50, 8).sum(axis=1), 1.0, atol=1e-12)


class CountedViterbi:
    """Answers for a chain, and how often it was asked."""

    def __init__(self, chain):
        self.chain, self.asked = chain, 0

    def __call__(self, shape, theta, shared, vertex):
        self.asked += 1
        scores = np.concatenate([theta, shared])
        vertex[:] = self.chain.maximize(scores)
        return float(vertex @ scores)


def counted_projection(chain, shape, theta):
    """(value, z, number of questions)."""
    oracle = CountedViterbi(chain)
    callback = Callback(oracle)
    n_local, z = shape[0] * shape[1], np.empty(theta.size)
    record = Called(callback.address, chain.n_shared)
    work = active_set_workspace(record, shape)
    value = active_set_project(record, shape, theta[:n_local], theta[n_local:], work, z)
    callback.raise_failure()
    return value, z, oracle.asked


@pytest.mark.parametrize("noise", [1e-12, 1e-10, 1e-8, 1e-6])
def test_outputs_that_nearly_tie_do_not_stall_it(noise):
    """Of transitions that are equal but for noise, vertices for next to no gain came in by ten thousands."""
    rng, shape = np.random.default_rng(0), (30, 20)
    chain, equal = Chain(20), np.r_[0.15 * rng.normal(size=600), 0.005 * rng.choice([-1, 1], size=400)]
    noisy = equal + np.r_[np.zeros(600), noise * rng.normal(size=400)]

    def objective(z):
        return noisy @ z - z[:600] @ z[:600] / 2

    _, nearby, asked = counted_projection(chain, shape, equal)
    value, z, asked_with_noise = counted_projection(chain, shape, noisy)
    assert asked_with_noise <= 3 * asked
    missing = value - objective(z)  # what the answer says of its own error
    assert -1e-12 <= missing <= STALLED_TOLERANCE * (1 + np.abs(noisy).max() * 60 + 30)
    for other in (nearby, *(chain.maximize(noisy + rng.normal(size=1000)) for _ in range(20))):
        assert objective(other) <= value + 1e-12
    assert_allclose(z[:600].reshape(shape).sum(axis=1), 1.0, atol=1e-9)
    # Near z, the objective falls with the square of the distance: both are that near to the best point.
    radius = np.sqrt(2 * (value - objective(nearby))) + np.sqrt(2 * missing)
    assert np.linalg.norm(z[:600] - nearby[:600]) <= radius + 1e-9


def test_a_dependent_corner_takes_the_place_of_another():
    """The fourth vertex of a square is no new direction: weight moves to it, z stays, an atom leaves."""
    atoms = make_atoms(5, 2)
    square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    n = start_mixture(atoms, square[0], 2)
    for corner_ in square[1:3]:
        n, entered = enter(atoms, n, corner_, 0.0, 1.0, 2)
        assert entered
    atoms.weight[:3] = 0.2, 0.3, 0.5
    n, entered = enter(atoms, n, square[3], 0.5, 0.5, 2)
    assert (n, entered) == (3, True)
    # (1, 1) = (1, 0) + (0, 1) - (0, 0): 0.3 of each goes to it and to (0, 0).
    found = {tuple(atoms.parts[slot]): weight for slot, weight in zip(atoms.slot[:3], atoms.weight)}
    assert found == pytest.approx({(0.0, 0.0): 0.5, (0.0, 1.0): 0.2, (1.0, 1.0): 0.3})
    gram = 1.0 + atoms.parts[atoms.slot[:3]] @ atoms.parts[atoms.slot[:3]].T
    factor = np.tril(atoms.factor[:3, :3])
    assert_allclose(factor @ factor.T, gram, atol=1e-12)
    assert enter(atoms, n, square[0], 0.0, 0.5, 2) == (3, False)  # there already: nothing to gain


# ---- the public way -----------------------------------------------------------------------------------


@pytest.mark.parametrize("inner", [PickTwo(), pick_two], ids=["plain", "compiled"])
def test_own_structures_project(inner):
    structure = as_structure(inner)
    theta = np.random.default_rng(0).normal(size=(20, 6))
    z = structure.project(theta)
    V = pairs(6)
    for row, point in zip(theta, z):
        assert optimality(V, 6, row, point) <= 1e-12
        assert_allclose(structure.project(row), point, atol=1e-12)
    assert len(structure.project(list(theta))) == 20


def test_plain_and_compiled_are_one_source():
    theta = np.random.default_rng(0).normal(size=(50, 6))
    assert_allclose(as_structure(PickTwo()).project(theta), as_structure(pick_two).project(theta), atol=1e-12)


def test_plain_permutations_project_as_tables():
    theta = np.random.default_rng(0).normal(size=(3, 3))
    z = as_structure(Permutations()).project(theta)
    assert z.shape == (3, 3)
    assert optimality(Permutations.all.reshape(-1, 9), 9, theta.ravel(), z.ravel()) <= 1e-12


class Interval(NamedTuple):
    """A record that knows its vertex only: [0, top], one part."""

    top: float


@implements(workspace, Interval)
@kernel
def interval_workspace(structure, shape):
    return np.empty(0)


@implements(maximize, Interval)
@kernel
def interval_maximize(structure, shape, theta, shared, work, vertex):
    vertex[0] = structure.top if theta[0] > 0 else 0.0
    return max(theta[0], 0.0) * structure.top


def test_records_that_only_maximize_are_projected_onto():
    for theta, z in [(-1.0, 0.0), (0.5, 0.5), (1.7, 1.7), (9.0, 2.0)]:
        point = np.empty(1)
        work = project_workspace(Interval(2.0), (1, 1))
        value = project(Interval(2.0), (1, 1), np.array([theta]), np.empty(0), work, point)
        assert_allclose([point[0], value], [z, theta * z - z * z / 2], atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e8, 1e17])
def test_an_approximate_oracle_may_find_the_best_vertex_later(scale):
    """A first answer that is worse by 1e17 leaves weight to the better one, whatever rounding does."""

    class Late:
        bounded = True

        def __init__(self):
            self.calls = 0

        def maximize(self, theta):
            self.calls += 1
            value = float(np.array([0.0, 1.0, 1.0]) @ theta)
            return np.array([1.0, 0.0, 1.0] if self.calls == 1 else [0.0, 1.0, 1.0]), value

    theta = scale * np.array([-3.0, 2.5, 0.4])
    assert_allclose(as_structure(Late()).project(theta), [0.0, 1.0, 1.0])
