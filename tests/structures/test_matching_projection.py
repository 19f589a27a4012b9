import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structlearn.core.contract import project
from structlearn.structures.erased import erase_structure
from structlearn.structures.matching.matching import Matching
from structlearn.structures.matching.sinkhorn import edge_entropy

NO_SHARED = np.empty(0)
CAPACITIES = [(1, 1), (2, 1), (1, 2), (2, 2), (3, 2)]
EVERY_POLYTOPE = [(unmatched, capacities) for unmatched in (True, False) for capacities in CAPACITIES]


@st.composite
def tables(draw, largest=7, scales=(1.0, 1.0, 0.1, 10.0, 1e3, 1e6), masks=(0.0, 0.0, 0.3)):
    """Score tables with and without ties, forbidden edges, at several scales."""
    m, n = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    theta = rng.normal(size=(m, n)) + draw(st.sampled_from([-2, 0, 0, 2]))
    if draw(st.booleans()):
        theta = np.round(2 * theta)
    masked = rng.random((m, n)) < draw(st.sampled_from(masks))
    return np.where(masked, -np.inf, draw(st.sampled_from(scales)) * theta)


def sum_limits(structure, shape):
    """Least and largest sums of rows and of columns."""
    m, n = shape
    linked = not structure.unmatched
    return (int(linked and m <= n), structure.capacities[0]), (int(linked and m > n), structure.capacities[1])


def allowed(structure, theta):
    try:
        structure.maximize(theta)
    except ValueError:
        return False
    return True


def scale(theta):
    return max(1.0, np.abs(theta, where=np.isfinite(theta), out=np.zeros(theta.shape)).max())


def infeasibility(structure, z):
    (row_least, row_most), (column_least, column_most) = sum_limits(structure, z.shape)
    rows, columns = z.sum(axis=1), z.sum(axis=0)
    over = max((rows - row_most).max(), (columns - column_most).max())
    return max(over, (row_least - rows).max(), (column_least - columns).max())


def optimality(structure, theta, z):
    """max_v <theta - z, v - z> over all vertices v; at most 0 at the projection."""
    difference = structure.maximize(theta - z) - z
    edges = np.isfinite(theta)
    assert not difference[~edges].any()
    return np.sum((theta - z)[edges] * difference[edges])


def check(structure, theta, z):
    assert z.shape == theta.shape
    assert z.min() >= 0
    assert z.max() <= 1
    assert infeasibility(structure, z) <= 1e-9
    assert optimality(structure, theta, z) <= 1e-8 * scale(theta)


def constraints(structure, z, theta):
    (row_least, row_most), (column_least, column_most) = sum_limits(structure, theta.shape)
    rows, columns = cp.sum(z, axis=1), cp.sum(z, axis=0)
    found = [rows <= row_most, columns <= column_most, rows >= row_least, columns >= column_least]
    forbidden = ~np.isfinite(theta)
    return [*found, z[forbidden] == 0] if forbidden.any() else found


def by_program(structure, theta):
    """The projection by a general solver."""
    z = cp.Variable(theta.shape, bounds=[0, 1])
    finite = np.where(np.isfinite(theta), theta, 0.0)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(z - finite)), constraints(structure, z, theta))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return z.value


def random_point(structure, shape, rng):
    """A mixture of vertices."""
    vertices = [structure.maximize(rng.normal(size=shape)) for _ in range(4)]
    return np.tensordot(rng.dirichlet(np.ones(4)), vertices, axes=1)


# ---- project ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("unmatched", "capacities"), EVERY_POLYTOPE)
@settings(deadline=None, max_examples=60)
@given(theta=tables(largest=12))
def test_project_proves_its_optimality(unmatched, capacities, theta):
    structure = Matching(unmatched, capacities)
    if allowed(structure, theta):
        check(structure, theta, structure.project(theta))
    else:
        with pytest.raises(ValueError, match="forbids every output"):
            structure.project(theta)


@pytest.mark.parametrize(("unmatched", "capacities"), EVERY_POLYTOPE)
@pytest.mark.parametrize("shape", [(25, 28), (40, 30), (60, 60)])
@pytest.mark.parametrize("size", [1.0, 30.0, 1e6])
def test_project_large_tables(unmatched, capacities, shape, size):
    structure = Matching(unmatched, capacities)
    rng = np.random.default_rng(3)
    theta = size * np.array([rng.normal(size=shape), np.eye(*shape) + 0.3 * rng.normal(size=shape)])
    for one, z in zip(theta, structure.project(theta)):
        check(structure, one, z)


@pytest.mark.parametrize(("unmatched", "capacities"), EVERY_POLYTOPE)
@settings(deadline=None, max_examples=8)
@given(theta=tables(largest=5, scales=(0.5, 1.0, 3.0)))
def test_project_agrees_with_a_quadratic_program(unmatched, capacities, theta):
    structure = Matching(unmatched, capacities)
    if allowed(structure, theta):
        z, expected = structure.project(theta), by_program(structure, theta)
        np.testing.assert_allclose(z, expected, atol=1e-4)  # its own error where multipliers are 0 too
        edges = np.isfinite(theta)
        assert np.linalg.norm((z - theta)[edges]) <= np.linalg.norm((expected - theta)[edges]) + 1e-8


@pytest.mark.parametrize(("unmatched", "capacities"), EVERY_POLYTOPE)
@settings(deadline=None, max_examples=20)
@given(
    m=st.integers(1, 8), n=st.integers(1, 8), seed=st.integers(0, 2**32), far=st.sampled_from([0.1, 3, 1e3])
)
def test_project_keeps_points_and_distances(unmatched, capacities, m, n, seed, far):
    structure, rng = Matching(unmatched, capacities), np.random.default_rng(seed)
    for point in (structure.maximize(rng.normal(size=(m, n))), random_point(structure, (m, n), rng)):
        np.testing.assert_allclose(structure.project(point), point, atol=1e-9)
    one, other = far * rng.normal(size=(2, m, n))
    apart = np.linalg.norm(structure.project(one) - structure.project(other))
    assert apart <= np.linalg.norm(one - other) * (1 + 1e-9)


def test_project_of_one_edge_is_a_clip():
    scores = np.array([-1e6, -1.0, 0.0, 0.25, 1.0, 2.0, 1e6])[:, None, None]
    np.testing.assert_array_equal(Matching().project(scores), np.clip(scores, 0, 1))
    np.testing.assert_array_equal(Matching(unmatched=False).project(scores), np.ones_like(scores))


def test_project_shares_ties_evenly():
    np.testing.assert_allclose(Matching().project(np.full((3, 3), 5.0)), 1 / 3, atol=1e-12)
    np.testing.assert_allclose(Matching().project(np.full((2, 4), 1e6)), 1 / 4, atol=1e-9)
    np.testing.assert_allclose(Matching().project(np.full((3, 3), 0.2)), 0.2, atol=1e-12)
    equal = Matching(capacities=(2, 3)).project(np.full((4, 4), 7.0))
    np.testing.assert_allclose(equal.sum(axis=1), 2.0, atol=1e-10)
    np.testing.assert_allclose(equal, 0.5, atol=1e-10)


def test_project_with_everything_forbidden():
    theta = np.full((3, 4), -np.inf)
    np.testing.assert_array_equal(Matching().project(theta), np.zeros((3, 4)))
    with pytest.raises(ValueError, match="Output 1 forbids every output"):
        Matching(unmatched=False).project([np.zeros((2, 2)), theta])


def test_project_where_edges_are_forced():
    """The mask leaves one matching, against the scores."""
    theta = np.array([[0.0, 9.0, -np.inf], [-np.inf, 0.0, 9.0], [-np.inf, -np.inf, 0.0]])
    np.testing.assert_allclose(Matching(unmatched=False).project(theta), np.eye(3), atol=1e-10)


@pytest.mark.parametrize("capacities", [(1, 1), (2, 1)])
def test_transposed_problems_have_transposed_answers(capacities):
    theta = np.random.default_rng(0).normal(size=(6, 9))
    z = Matching(True, capacities).project(theta)
    np.testing.assert_allclose(Matching(True, capacities[::-1]).project(theta.T), z.T, atol=1e-9)


@pytest.mark.parametrize(("unmatched", "capacities"), [(True, (1, 1)), (False, (1, 1)), (True, (2, 1))])
def test_one_workspace_serves_smaller_tables(unmatched, capacities):
    structure, rng = Matching(unmatched, capacities), np.random.default_rng(1)
    shapes = [(9, 9), (2, 7), (7, 2), (1, 1), (9, 5)]
    theta = [size * rng.normal(size=shape) for shape in shapes for size in (1.0, 1e3)]
    points = [np.full(one.shape, 7.0) for one in theta]
    record, _alive = erase_structure(structure.record, (9, 9), frozenset({"project"}))
    for one, z in zip(theta, points):
        value = project(record, one.shape, one.ravel(), NO_SHARED, 0, z.ravel())
        check(structure, one, z)
        assert value == pytest.approx(np.vdot(one, z) - 0.5 * np.vdot(z, z), rel=1e-12, abs=1e-12)


def test_batches_are_their_examples():
    rng = np.random.default_rng(2)
    stack = rng.normal(size=(5, 4, 6))
    for method in ("project", "edge_entropy"):
        ask = getattr(Matching(), method)
        one_by_one = [ask(theta) for theta in stack]
        np.testing.assert_allclose(ask(stack), one_by_one, atol=1e-12)
        mixed = [stack[0], stack[1, :2], stack[2, :, :1]]
        for theta, z in zip(mixed, ask(mixed)):
            assert z.shape == theta.shape
            np.testing.assert_allclose(z, ask(theta), atol=1e-12)


def test_project_leaves_the_scores_alone():
    theta = 1e3 * np.random.default_rng(0).normal(size=(5, 7))
    before = theta.copy()
    Matching().project(theta)
    Matching().edge_entropy(theta)
    np.testing.assert_array_equal(theta, before)


# ---- entropy over edges ----------------------------------------------------------------------------


def slacks(structure, z):
    """Sums that are short of 1, where they may be."""
    (row_least, _), (column_least, _) = sum_limits(structure, z.shape)
    square = not structure.unmatched and z.shape[0] == z.shape[1]
    rows = [] if row_least else [1 - cp.sum(z, axis=1)]
    return rows if column_least or square else [*rows, 1 - cp.sum(z, axis=0)]


def entropic_program(structure, theta):
    """max <theta, z> + S(z) by a general solver."""
    z = cp.Variable(theta.shape)
    edges = np.isfinite(theta)
    parts = [z[edges], *slacks(structure, z)]
    entropy = sum(cp.sum(cp.entr(part)) + cp.sum(part) for part in parts)
    score = cp.sum(cp.multiply(theta[edges], z[edges]))
    cp.Problem(cp.Maximize(score + entropy), constraints(structure, z, theta)).solve(solver=cp.CLARABEL)
    return z.value


@pytest.mark.parametrize("unmatched", [True, False])
@settings(deadline=None, max_examples=20)
@given(theta=tables(largest=4, scales=(0.3, 1.0, 3.0)))
def test_edge_entropy_agrees_with_a_convex_program(unmatched, theta):
    structure = Matching(unmatched)
    if allowed(structure, theta) and np.isfinite(theta).any():
        expected = entropic_program(structure, theta)
        np.testing.assert_allclose(structure.edge_entropy(theta), expected, atol=3e-4)


@pytest.mark.parametrize("unmatched", [True, False])
@settings(deadline=None, max_examples=100)
@given(theta=tables(largest=9))
def test_edge_entropy_is_in_the_polytope(unmatched, theta):
    structure = Matching(unmatched)
    if not allowed(structure, theta):
        with pytest.raises(ValueError, match="forbids every output"):
            structure.edge_entropy(theta)
        return
    z = structure.edge_entropy(theta)
    assert z.min() >= 0
    assert z.max() <= 1
    assert infeasibility(structure, z) <= 2e-10 * max(theta.shape)
    assert not z[np.isneginf(theta)].any()


@settings(deadline=None, max_examples=60)
@given(theta=tables(largest=9, scales=(0.1, 0.5, 1.0)))
def test_edge_entropy_is_a_scaling(theta):
    """z_ij = s_i t_j exp(theta_ij), with the slacks s and t."""
    z = edge_entropy(theta)
    s, t = 1 - z.sum(axis=1), 1 - z.sum(axis=0)
    np.testing.assert_allclose(z, np.outer(s, t) * np.exp(theta), rtol=1e-5, atol=1e-8)


def test_edge_entropy_of_one_edge_is_not_the_logistic_function():
    z = Matching().edge_entropy(np.zeros((1, 1)))
    np.testing.assert_allclose(z, (3 - np.sqrt(5)) / 2, atol=1e-10)


def test_edge_entropy_at_large_scores_is_the_best_matching():
    theta = 1e6 * np.random.default_rng(0).normal(size=(20, 30))
    for structure in (Matching(), Matching(unmatched=False)):
        np.testing.assert_allclose(structure.edge_entropy(theta), structure.maximize(theta), atol=1e-9)


def test_refusals():
    with pytest.raises(ValueError, match=r"capacities \(1, 1\), not \(2, 1\); use project"):
        Matching(capacities=(2, 1)).edge_entropy(np.zeros((2, 2)))
    with pytest.raises(
        TypeError, match=r"Matching has no marginals \(its partition function is #P-hard\); use"
    ):
        Matching().marginals(np.zeros((2, 2)))


def test_edge_entropy_says_when_it_stops_early(monkeypatch):
    monkeypatch.setattr("structlearn.structures.matching.sinkhorn._STEPS", 1)
    with pytest.warns(RuntimeWarning, match="column sums wrong by"):
        Matching().edge_entropy(np.random.default_rng(0).normal(size=(4, 4)))
