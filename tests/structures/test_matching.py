from functools import cache

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import block_array, eye_array, kron

from structlearn.core.contract import max_value, maximize, workspace
from structlearn.structures.matching.matching import Matching

NO_SHARED = np.empty(0)
SCALES = st.sampled_from([1.0, 1e-3, 1e3, 1e6])
CAPACITIES = [(1, 1), (2, 1), (1, 2), (2, 2), (3, 2)]


@st.composite
def tables(draw, largest=4, most=12):
    """Score tables full of ties and forbidden edges, or of floats without ties, at several scales."""
    m = draw(st.integers(1, largest))
    n = draw(st.integers(1, min(largest, most // m)))
    integers = st.integers(-3, 3).map(float)
    entry = draw(st.sampled_from([integers, st.just(-np.inf) | integers, st.floats(-1, 1)]))
    return draw(SCALES) * np.array(draw(st.lists(entry, min_size=m * n, max_size=m * n))).reshape(m, n)


@st.composite
def large_tables(draw, largest):
    m, n = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    theta = rng.integers(-5, 6, (m, n)).astype(float) if draw(st.booleans()) else rng.normal(size=(m, n))
    theta = draw(SCALES) * (theta + draw(st.sampled_from([-2, 0, 2])))
    return np.where(rng.random((m, n)) < draw(st.sampled_from([0, 0.2, 0.8])), -np.inf, theta)


@cache
def all_vertices(m, n, unmatched, capacities):
    z = ((np.arange(2 ** (m * n))[:, None] >> np.arange(m * n)) & 1).reshape(-1, m, n)
    rows, columns = z.sum(axis=2), z.sum(axis=1)
    allowed = (rows <= capacities[0]).all(axis=1) & (columns <= capacities[1]).all(axis=1)
    if not unmatched:
        allowed &= ((rows if m <= n else columns) >= 1).all(axis=1)
    return z[allowed]


def score(theta, z):
    """<theta, z> with -inf * 0 = 0."""
    return np.where(z, theta, 0.0).sum(axis=(-2, -1))


def solve(structure, theta, work=None, operation=maximize):
    """(value, vertex, workspace) as a solver gets them; the vertex is never clean before."""
    record = structure.record
    work = workspace(record, theta.shape) if work is None else work
    vertex = np.full(theta.size, 7.0)
    value = operation(record, theta.shape, theta.ravel(), NO_SHARED, work, vertex)
    return value, vertex.reshape(theta.shape), work


def tolerance(theta):
    return 1e-12 * theta.size * np.abs(theta, where=np.isfinite(theta), out=np.zeros(theta.shape)).max()


@pytest.mark.parametrize("unmatched", [True, False])
@pytest.mark.parametrize("capacities", CAPACITIES)
@settings(deadline=None, max_examples=100)
@given(theta=tables())
def test_maximize_agrees_with_enumeration(unmatched, capacities, theta):
    structure = Matching(unmatched, capacities)
    vertices = all_vertices(*theta.shape, unmatched, capacities)
    best = score(theta, vertices).max()
    value, vertex, _ = solve(structure, theta)
    assert value == pytest.approx(best, abs=tolerance(theta))
    assert solve(structure, theta, operation=max_value)[0] == value
    if best == -np.inf:
        with pytest.raises(ValueError, match="no output is allowed"):
            structure.maximize(theta)
        return
    assert (vertex == vertices).all(axis=(1, 2)).any()
    assert score(theta, vertex) == pytest.approx(value, abs=tolerance(theta))
    np.testing.assert_array_equal(structure.maximize(theta), vertex)
    if unmatched:
        assert (theta[vertex == 1] > 0).all()


@pytest.mark.parametrize("unmatched", [True, False])
@settings(deadline=None, max_examples=100)
@given(theta=large_tables(40))
def test_prices_prove_that_an_assignment_is_optimal(unmatched, theta):
    """p >= 0, u_i = the best of row i at these prices: then sum u + sum p bounds every matching's score."""
    value, vertex, work = solve(Matching(unmatched), theta)
    assume(value > -np.inf)
    if theta.shape[0] > theta.shape[1]:
        theta, vertex = theta.T, vertex.T
    near = tolerance(theta)
    p = work.assignment.prices[: theta.shape[1]]
    u = (theta - p).max(axis=1, initial=0.0 if unmatched else -np.inf)
    assert (p >= -near).all()
    assert p[vertex.sum(axis=0) == 0] == pytest.approx(0.0, abs=near)
    assert u.sum() + p.sum() == pytest.approx(value, abs=near)
    links = np.nonzero(vertex)
    assert (u[:, None] + p - theta)[links] == pytest.approx(0.0, abs=near)
    assert u[vertex.sum(axis=1) == 0] == pytest.approx(0.0, abs=near)


@settings(deadline=None, max_examples=100)
@given(theta=large_tables(40))
def test_assignment_agrees_with_scipy(theta):
    value, vertex, _ = solve(Matching(unmatched=False), theta)
    try:
        rows, columns = linear_sum_assignment(theta, maximize=True)
    except ValueError:  # infeasible
        assert value == -np.inf
        assert not vertex.any()
        return
    assert value == pytest.approx(theta[rows, columns].sum(), abs=tolerance(theta))
    assert vertex.sum() == min(theta.shape)
    assert max(vertex.sum(axis=0).max(), vertex.sum(axis=1).max()) == 1


def maximum_by_linear_program(theta, unmatched, capacities):
    m, n = theta.shape
    rows, columns = kron(eye_array(m), np.ones((1, n))), kron(np.ones((1, m)), eye_array(n))
    matrix, bound = [[rows], [columns]], np.repeat(capacities, (m, n))
    if not unmatched:
        matrix, bound = [*matrix, [-(rows if m <= n else columns)]], np.append(bound, -np.ones(min(m, n)))
    upper = np.isfinite(theta).astype(float).ravel()
    c = -np.where(np.isfinite(theta), theta, 0.0).ravel()
    answer = linprog(c, block_array(matrix).tocsr(), bound, bounds=np.c_[0 * upper, upper], method="highs")
    return -answer.fun if answer.status == 0 else -np.inf


@pytest.mark.parametrize("unmatched", [True, False])
@pytest.mark.parametrize("capacities", [(1, 1), (1, 3), (2, 2), (4, 3), (30, 30)])
@settings(deadline=None, max_examples=15)
@given(theta=large_tables(12))
def test_maximize_agrees_with_a_linear_program(unmatched, capacities, theta):
    scale = max(1.0, np.abs(theta, where=np.isfinite(theta), out=np.zeros(theta.shape)).max())
    value, vertex, _ = solve(Matching(unmatched, capacities), theta)
    assert value / scale == pytest.approx(maximum_by_linear_program(theta / scale, unmatched, capacities))
    if value > -np.inf:
        Matching(unmatched, capacities).encode(vertex)
        assert score(theta, vertex) == pytest.approx(value, abs=tolerance(theta))


@pytest.mark.parametrize("unmatched", [True, False])
@pytest.mark.parametrize("capacities", [(2, 3), (3, 1)])
@settings(deadline=None, max_examples=60)
@given(theta=large_tables(20))
def test_duals_prove_that_a_flow_is_optimal(unmatched, capacities, theta):
    value, vertex, work = solve(Matching(unmatched, capacities), theta)
    assume(value > -np.inf)
    a, b = capacities
    if theta.shape[0] > theta.shape[1]:
        theta, vertex, a, b = theta.T, vertex.T, b, a
    (m, n), near = theta.shape, tolerance(theta)
    u, p = work.flow.dual[:m], work.flow.dual[m : m + n]
    surplus, units = theta - u[:, None] - p, min(a, n)
    alone = units - vertex.sum(axis=1)
    assert (p >= -near).all()
    assert (p[vertex.sum(axis=0) < b] <= near).all()
    assert (surplus[vertex == 0] <= near).all()
    assert (surplus[vertex == 1] >= -near).all()
    assert (u[alone < (units if unmatched else units - 1)] >= -near).all()
    assert (u[alone > 0] <= near).all()


@pytest.mark.parametrize("capacities", [(1, 1), (2, 1), (1, 3), (2, 2)])
def test_parts_without_positive_scores_between_them_are_decided_apart(capacities):
    rng, structure = np.random.default_rng(0), Matching(capacities=capacities)
    for _ in range(20):
        blocks = [rng.normal(shift, size=(3, 4)) for shift in (2.0, -1.0, 0.5, 2.0)]
        rows, columns = rng.permutation(12), rng.permutation(16)
        theta = np.where(block_diag(*map(np.ones_like, blocks)), block_diag(*blocks), -rng.random((12, 16)))
        _, vertex, _ = solve(structure, theta[rows][:, columns])
        options = all_vertices(3, 4, True, capacities)
        best = [options[score(block, options).argmax()] for block in blocks]
        np.testing.assert_array_equal(vertex, block_diag(*best)[rows][:, columns])


@pytest.mark.parametrize("capacities", [(1, 1), (2, 3)])
@pytest.mark.parametrize("unmatched", [True, False])
def test_one_workspace_serves_all_smaller_tables(unmatched, capacities):
    rng = np.random.default_rng(0)
    structure = Matching(unmatched, capacities)
    shared_work = workspace(structure.record, (7, 9))
    for shape in [(7, 9), (7, 1), (1, 9), (7, 3), (1, 1), (2, 9), (7, 7), (4, 4), (7, 9), (5, 2)]:
        theta = rng.normal(size=shape)
        value, vertex, _ = solve(structure, theta)
        again, vertex_again, _ = solve(structure, theta, shared_work)
        assert again == value
        np.testing.assert_array_equal(vertex_again, vertex)


@numba.njit
def corner_from_compiled_code(record, shape, theta, shared, vertex):
    return maximize(record, shape, theta, shared, workspace(record, shape), vertex)


def test_compiled_code_may_ask():
    theta = np.array([[3.0, 2.0], [2.0, 0.5], [-1.0, -1.0]])
    vertex = np.empty(6)
    value = corner_from_compiled_code(Matching().record, theta.shape, theta.ravel(), NO_SHARED, vertex)
    assert value == 4.0
    np.testing.assert_array_equal(vertex.reshape(3, 2), [[0, 1], [1, 0], [0, 0]])


def test_only_edges_that_raise_the_score_are_used():
    theta = [[5.0, 0.0], [-1.0, -2.0]]
    np.testing.assert_array_equal(Matching().maximize(theta), [[1, 0], [0, 0]])
    np.testing.assert_array_equal(Matching(unmatched=False).maximize(theta), [[1, 0], [0, 1]])
    np.testing.assert_array_equal(Matching(capacities=(2, 2)).maximize(theta), [[1, 0], [0, 0]])


@pytest.mark.parametrize("capacities", CAPACITIES)
def test_nothing_allowed(capacities):
    theta = np.full((2, 3), -np.inf)
    assert not Matching(capacities=capacities).maximize(theta).any()
    assert solve(Matching(capacities=capacities), theta)[0] == 0.0
    with pytest.raises(ValueError, match="no output is allowed"):
        Matching(unmatched=False, capacities=capacities).maximize(theta)


def test_lists_and_stacks():
    rng = np.random.default_rng(0)
    stack = rng.normal(size=(3, 2, 4))
    one_by_one = [Matching().maximize(theta) for theta in stack]
    np.testing.assert_array_equal(Matching().maximize(stack), one_by_one)
    np.testing.assert_array_equal(Matching().maximize(list(stack)), one_by_one)
    np.testing.assert_array_equal(Matching().maximize(stack[0].T), one_by_one[0].T)


def test_encode_and_decode():
    table = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]])
    for y in (table, table.astype(bool), table.tolist(), np.array([1, -1, 0])):
        mu = Matching().encode(y, (3, 3))
        assert mu.dtype == np.float64
        np.testing.assert_array_equal(mu, table)
    np.testing.assert_array_equal(Matching().decode(mu - 1e-9), table)
    assert Matching().decode(mu).dtype == np.int64
    np.testing.assert_array_equal(Matching().columns(mu), [1, -1, 0])
    mu[0, 0] = 5
    assert table[0, 0] == 0  # encode copies


REFUSED = [
    (Matching(), [[1, 1], [0, 0]], None, r"Row 0 has 2 links but its capacity is 1\."),
    (Matching(), [0, 0], (2, 3), r"Column 0 has 2 links but its capacity is 1\."),
    (Matching(capacities=(1, 2)), np.ones((3, 1)), None, r"Column 0 has 3 links but its capacity is 2\."),
    (Matching(False), [[1, 0], [0, 0]], None, r"Row 1 has 0 links but unmatched=False asks for at least 1\."),
    (Matching(False), [[1, 0], [0, 0], [0, 0]], None, r"Column 1 has 0 links but unmatched=False"),
    (Matching(), [[0, 2]], None, r"got y\[0, 1\] = 2\."),
    (Matching(), [[np.nan]], None, r"got y\[0, 0\] = nan\."),
    (Matching(), [0, 3], (2, 3), r"one of 0\.\.2, or -1 for none; got y\[1\] = 3\."),
    (Matching(), [-2], (1, 3), r"got y\[0\] = -2\."),
    (Matching(), [0.0], (1, 3), "holds integers; got float64"),
    (Matching(), [0, 1], (3, 3), "y has 2 entries but there are 3 rows"),
    (Matching(), [0, 1], None, r"give shape=\(m, n\)"),
    (Matching(), [[1, 0]], (2, 1), r"y has shape \(1, 2\) but the scores have shape \(2, 1\)"),
    (Matching(), np.empty((0, 3)), None, r"got shape \(0, 3\)"),
]


@pytest.mark.parametrize(("structure", "y", "shape", "sentence"), REFUSED)
def test_encode_refuses(structure, y, shape, sentence):
    with pytest.raises(ValueError, match=sentence):
        structure.encode(y, shape)


def test_refusals():
    with pytest.raises(ValueError, match=r"got shape \(2, 0\)"):
        Matching().maximize(np.empty((2, 0)))
    with pytest.raises(ValueError, match="have 2 axes; got 1"):
        Matching().maximize(np.zeros(3))
    with pytest.raises(ValueError, match="each at least 1"):
        Matching(capacities=(1, 0))
    with pytest.raises(ValueError, match="A row may have 2 links"):
        Matching(capacities=(2, 1)).columns(np.eye(2))


def test_cost_counts_missed_and_spurious_links():
    mu, z = np.eye(3), np.array([[1, 0, 0], [0, 0, 1], [0, 0, 0]])  # 2 missed, 1 spurious
    loss = lambda **options: (Matching().cost(mu, **options) * (z - mu)).sum()  # noqa: E731
    assert loss(normalized=False) == 3
    assert loss() == pytest.approx(1)
    assert loss(weights={"missed": 5.0}, normalized=False) == 11
    assert loss(weights={"spurious": 0.5}, normalized=False) == 2.5
    assert loss(nodes=[1, 10, 100], normalized=False) == 10 + 10 + 100
    possible = np.zeros((3, 3), bool)
    possible[1, 2] = possible[2, 2] = True
    assert loss(weights={"possible": possible}, normalized=False) == 1
    np.testing.assert_array_equal(Matching().cost(np.zeros((2, 2))), np.ones((2, 2)))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"weights": {"mised": 1}}, "Unknown weights mised; the valid keys are missed, spurious, possible"),
        ({"weights": {"missed": -1}}, "weight of missed links .* got -1"),
        ({"weights": {"possible": [True]}}, r"has shape \(1,\), not \(2, 2\)"),
        ({"weights": 3.0}, "weights must be a mapping"),
        ({"nodes": [1.0]}, "nodes are 2 weights"),
    ],
)
def test_cost_refuses(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        Matching().cost(np.eye(2), **options)


def test_costs_of_many_examples():
    structure, shapes = Matching(), np.array([[2, 2], [1, 3]])
    gold = structure.encode_many([np.eye(2), np.array([2])], shapes)
    masks = [np.array([[0, 1], [0, 0]]), np.array([[1, 0, 0]])]
    nodes = [np.array([1.0, 2.0]), np.array([3.0])]
    costs = structure.cost_many(gold, shapes, weights={"missed": 2, "possible": masks}, nodes=nodes)
    np.testing.assert_array_equal(costs, [-1, 0, 1, -2, 0, 3, -6])
    np.testing.assert_array_equal(structure.cost_many(gold, shapes)[4:], [1, 1, -1])
