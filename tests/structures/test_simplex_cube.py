import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from structlearn.core.contract import (
    log_partition,
    marginals,
    marginals_workspace,
    max_value,
    maximize,
    workspace,
)
from structlearn.structures import Cube, Simplex
from structlearn.structures.flat.entmax import TsallisRecord, entmax, tsallis
from structlearn.structures.regularized import Quadratic

STRUCTURES = [Simplex, Cube]
ALPHAS = [1.0, 1.0 + 1e-9, 1.01, 1.2, 1.5, 1.75, 2.0]
patient = settings(deadline=None)  # the first call may compile
SCALES = st.sampled_from([1.0, 1e-3, 1e3, 1e6])


@st.composite
def scores(draw, largest=9, masks=True):
    """Rows full of ties and forbidden labels, or of floats without ties; one label at least is allowed."""
    integers = st.integers(-3, 3).map(float)
    kinds = [integers, st.floats(-2, 2, allow_subnormal=False)]
    entry = draw(st.sampled_from([*kinds, st.just(-np.inf) | integers] if masks else kinds))
    row = draw(st.lists(entry, min_size=1, max_size=largest))
    scale = draw(SCALES)
    row[draw(st.integers(0, len(row) - 1))] = draw(kinds[1])
    return scale * np.array(row)


def vertices(structure):
    if isinstance(structure, Simplex):
        return np.eye(structure.n_labels)
    return np.array(list(itertools.product([0.0, 1.0], repeat=structure.n_labels)))


def dot(V, theta):
    """<theta, v> for each row v, with -inf * 0 = 0."""
    return np.where(V != 0, V * np.where(V != 0, theta, 0.0), 0.0).sum(axis=-1)


def by_bisection(theta, alpha):
    """z = [(alpha - 1) theta - tau]_+^(1/(alpha - 1)), tau by halving; independent of our algorithms."""
    x = (alpha - 1) * (theta - theta.max())
    low, high = -1.0, 0.0
    for _ in range(200):
        tau = (low + high) / 2
        low, high = (tau, high) if (np.maximum(x - tau, 0) ** (1 / (alpha - 1))).sum() >= 1 else (low, tau)
    return np.maximum(x - low, 0) ** (1 / (alpha - 1))


def maximized(record, shape, theta):
    """(value, z) as a solver gets them; neither z nor the workspace is clean before."""
    z = np.full(theta.size, 7.0)
    return maximize(record, shape, theta, np.empty(0), workspace(record, (1, theta.size + 3)), z), z


# ---- marginals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", STRUCTURES)
@patient
@given(theta=scores())
def test_marginals_are_those_of_the_enumerated_distribution(make, theta):
    structure = make(theta.size)
    V = vertices(structure)
    log_p = dot(V, theta)
    top = log_p.max()
    p = np.exp(log_p - top)
    found = structure.marginals(theta)
    assert_allclose(found.mean, p @ V / p.sum(), atol=1e-12)
    assert_allclose(found.log_partition, top + np.log(p.sum()), rtol=1e-12, atol=1e-12)
    assert (found.mean >= 0).all()
    assert (found.mean <= 1).all()
    assert (found.mean[np.isneginf(theta)] == 0).all()


@pytest.mark.parametrize("make", STRUCTURES)
@patient
@given(theta=scores())
def test_log_partition_is_the_value_of_gibbs(make, theta):
    record, mean = make(theta.size).record, np.full(theta.size, 7.0)
    work = marginals_workspace(record, (1, theta.size))
    args = record, (1, theta.size), theta, np.empty(0), work, mean
    assert_allclose(log_partition(*args), marginals(*args), rtol=1e-15)


@pytest.mark.parametrize("make", STRUCTURES)
def test_marginals_are_the_gradient_of_log_partition(make):
    theta, h = np.random.default_rng(0).normal(size=7), 1e-5
    structure = make(7)
    steps = h * np.eye(7)
    up, down = structure.marginals(theta + steps), structure.marginals(theta - steps)
    slope = (up.log_partition - down.log_partition) / (2 * h)
    assert_allclose(slope, structure.marginals(theta).mean, atol=1e-9)


# ---- projections ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", STRUCTURES)
@patient
@given(theta=scores())
def test_projection_has_the_optimality_certificate(make, theta):
    structure = make(theta.size)
    z = structure.project(theta)
    V = vertices(structure)
    assert (z >= 0).all()
    assert (z <= 1).all()
    assert (z[np.isneginf(theta)] == 0).all()
    if isinstance(structure, Simplex):
        assert abs(z.sum() - 1) <= 1e-12
    scale = 1 + np.abs(theta[np.isfinite(theta)]).max()
    gaps = dot(V, theta - z) - dot(z, theta - z)
    assert gaps.max() <= 1e-14 * scale


@pytest.mark.parametrize("make", STRUCTURES)
@patient
@given(theta=scores())
def test_value_of_a_projection(make, theta):
    value, z = maximized(Quadratic(make(theta.size).record), (1, theta.size), theta)
    assert_allclose(value, dot(z, theta) - z @ z / 2, rtol=1e-12, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1e-6, 1e-3, 1e-2, 1.0, 1e6]), st.integers(1, 3000))
def test_sparsemax_of_long_rows_is_that_of_sorting(seed, scale, n):
    theta = scale * np.random.default_rng(seed).normal(size=n)
    below = np.sort(theta - theta.max())[::-1]
    excess = np.cumsum(below) - 1
    size = np.flatnonzero(below * np.arange(1, n + 1) > excess)[-1] + 1
    z = np.maximum(theta - theta.max() - excess[size - 1] / size, 0)
    found = Simplex(n).project(theta)
    assert_allclose(found, z, atol=1e-12)
    assert abs(found.sum() - 1) <= 1e-12


@pytest.mark.parametrize("method", ["marginals", "project"])
def test_all_forbidden_names_the_row(method):
    theta = np.zeros((3, 4))
    theta[1] = -np.inf
    with pytest.raises(ValueError, match="Row 1 forbids every output"):
        getattr(Simplex(4), method)(theta)


@pytest.mark.parametrize("method", ["marginals", "project"])
def test_a_cube_can_be_all_off(method):
    found = getattr(Cube(3), method)(np.full(3, -np.inf))
    assert_allclose(found.mean if method == "marginals" else found, 0.0)


# ---- entmax -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", ALPHAS)
@patient
@given(theta=scores())
def test_entmax_is_a_distribution_and_optimal(alpha, theta):
    """theta - Omega'(z) is one number on the support, and no larger outside."""
    z = entmax(theta, alpha)
    assert (z >= 0).all()
    assert abs(z.sum() - 1) <= 1e-12
    assert (z[np.isneginf(theta)] == 0).all()
    on = z > 1e-200
    rate = alpha - 1
    log_z = np.log(z[on])
    slope = np.expm1(rate * log_z) / rate if rate > 0 else log_z  # Omega' = this + a constant
    level = theta[on] - theta.max() - slope
    at = level[np.argmax(z[on])]
    tolerance = 1e-10 * max(1.0, np.abs(level).max())
    assert_allclose(level, at, atol=tolerance)
    y = theta[~on] - theta.max() - at
    if rate > 0.0:  # Omega'(0) = -1/rate + the same constant; near alpha = 1, z = exp y is too small to write
        assert ((y + 1 / rate <= tolerance) | (y < -450)).all()


@pytest.mark.parametrize("alpha", [1.2, 1.5, 1.75, 2.0])
@patient
@given(theta=scores())
def test_entmax_is_that_of_bisection(alpha, theta):
    assert_allclose(entmax(theta, alpha), by_bisection(theta, alpha), atol=1e-12)


@pytest.mark.parametrize("alpha", [1.3, 1.5])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_entmax_of_long_rows(alpha, scale):
    theta = scale * np.random.default_rng(1).normal(size=(5, 2000))
    z = entmax(theta, alpha)
    assert_allclose(z, [by_bisection(row, alpha) for row in theta], atol=1e-12)
    assert_allclose(z.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@patient
@given(theta=scores())
def test_entmax_at_both_ends(theta):
    simplex = Simplex(theta.size)
    assert_allclose(entmax(theta, 1.0), simplex.marginals(theta).mean, atol=1e-15)
    assert_allclose(entmax(theta, 2.0), simplex.project(theta), atol=1e-15)


@patient
@given(theta=scores(masks=False))
def test_entmax_is_continuous_at_both_ends(theta):
    assert_allclose(entmax(theta, 1.0 + 1e-10), entmax(theta, 1.0), atol=1e-8)
    assert_allclose(entmax(theta, 2.0 - 1e-10), entmax(theta, 2.0), atol=1e-8)


@pytest.mark.parametrize("alpha", ALPHAS)
@patient
@given(theta=scores())
def test_value_of_entmax(alpha, theta):
    record = TsallisRecord(Simplex(theta.size).record, alpha)
    value, z = maximized(record, (1, theta.size), theta)
    assert_allclose(value, dot(z, theta) - tsallis(z, alpha), rtol=1e-12, atol=1e-10)
    scratch = workspace(record, (1, theta.size))
    assert max_value(record, (1, theta.size), theta, np.empty(0), scratch, z) == value


@pytest.mark.parametrize("alpha", ALPHAS)
def test_entmax_is_the_gradient_of_its_value(alpha):
    theta, h = np.random.default_rng(0).normal(size=6), 1e-5
    simplex = Simplex(6)
    record = TsallisRecord(simplex.record, alpha)
    values = [simplex.respond(record, theta + sign * h * np.eye(6))[1] for sign in (1, -1)]
    assert_allclose((values[0] - values[1]) / (2 * h), entmax(theta, alpha), atol=1e-8)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_tsallis_is_zero_at_corners_and_as_written(alpha):
    assert_allclose(tsallis(np.eye(3), alpha), np.zeros(3), atol=1e-15)
    z = np.array([0.5, 0.3, 0.2])
    if alpha > 1.005:
        assert_allclose(tsallis(z, alpha), (z**alpha - z).sum() / (alpha * (alpha - 1)), rtol=1e-12)
    else:
        assert_allclose(tsallis(z, alpha), (z * np.log(z)).sum(), rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.99, 2.01, np.nan, -1.0])
@pytest.mark.parametrize("function", [entmax, tsallis])
def test_alpha_out_of_range(alpha, function):
    with pytest.raises(ValueError, match=r"alpha in \[1, 2\]"):
        function(np.ones(3) / 3, alpha)


def test_entmax_refuses_a_table_of_tables_and_names_forbidden_rows():
    with pytest.raises(ValueError, match="row of scores or a stack"):
        entmax(np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match="Row 1 forbids every output"):
        entmax([[0.0, 1.0], [-np.inf, -np.inf]])


def test_tables_of_switches_are_encoded_as_single_outputs_are():
    table, shapes = np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0]]), np.full((3, 2), (1, 3))
    at_once, one_by_one = (Cube(3).encode_many(ys, shapes) for ys in (table, list(table)))
    for found, expected in zip(at_once, one_by_one):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="vector of 4 labels; got shape \\(3,\\)"):
        Cube(4).encode_many(table, shapes)
    with pytest.raises(ValueError, match="other values"):
        Cube(3).encode_many(2 * table, shapes)
