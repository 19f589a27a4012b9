"""Factor graphs: by enumeration, HiGHS's integer program and a QP solver; files; what is refused."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

import structlearn
from structlearn import StructuredPredictor
from structlearn.constraints import AtLeast, AtMost, Budget, Exactly, Implies, Xor
from structlearn.structures import FactorGraph, PairwiseGraph
from structlearn.structures.factors.written import read_factors, write_factors


def random_graph(rng):
    """A factor graph of a few variables, and what its constraints demand, as functions of states."""
    n = int(rng.integers(1, 6))
    sizes = [int(one) for one in rng.integers(1, 4, size=n)]
    factors, keeps = [], []
    for _ in range(rng.integers(0, 5)):
        own = [int(v) for v in rng.permutation(n)[: rng.integers(1, min(n, 4) + 1)]]
        members = [(v, int(rng.integers(sizes[v]))) for v in own]
        k = int(rng.integers(0, 3))
        kind = rng.integers(7)
        if kind < 2:
            factors.append(tuple(own))
        elif kind < 6:
            factor, keep = [
                (AtMost(k, *members), lambda count, k=k: count <= k),
                (AtLeast(k, *members), lambda count, k=k: count >= k),
                (Exactly(k, *members), lambda count, k=k: count == k),
                (Xor(*members), lambda count: count == 1),
            ][kind - 2]
            factors.append(factor)
            keeps.append(lambda y, m=members, keep=keep: keep(sum(y[v] == s for v, s in m)))
        elif len(members) > 1:
            costs = {member: int(rng.integers(0, 4)) for member in members}
            factors += [Budget(k, costs), Implies(*members[:2])]
            keeps.append(lambda y, c=costs, k=k: sum(cost * (y[v] == s) for (v, s), cost in c.items()) <= k)
            keeps.append(lambda y, m=members: y[m[0][0]] != m[0][1] or y[m[1][0]] == m[1][1])
    return FactorGraph(sizes, factors), keeps


def score(graph, theta, y):
    """From the definition: states, then the entries of each table."""
    at, value = 0, 0.0
    for state, size in zip(y, graph.n_states):
        value, at = value + theta[at + state], at + size
    for own in (one for one in graph.factors if isinstance(one, tuple)):
        shape = [graph.n_states[v] for v in own]
        value += theta[at : at + np.prod(shape)].reshape(shape)[tuple(y[v] for v in own)]
        at += np.prod(shape)
    return value


def test_random_graphs_by_enumeration():
    rng = np.random.default_rng(0)
    empty = 0
    for _ in range(150):
        graph, keeps = random_graph(rng)
        theta = 2 * rng.normal(size=graph.n_parts)
        if rng.random() < 0.2:
            theta[rng.random(theta.size) < 0.15] = -np.inf
        every = itertools.product(*map(range, graph.n_states))
        best = max((score(graph, theta, y) for y in every if all(keep(y) for keep in keeps)), default=-np.inf)
        if best == -np.inf:
            empty += 1
            with pytest.raises(ValueError, match=r"every labelling|every output"):
                graph.solve(theta)
            continue
        found = graph.solve(theta)
        assert found.exact
        assert found.value == pytest.approx(best)
        assert found.bound == pytest.approx(best)
        assert score(graph, theta, found.states) == pytest.approx(best)
        assert all(keep(found.states) for keep in keeps)
        np.testing.assert_array_equal(graph.decode(graph.maximize(theta)), found.states)
    assert 5 < empty < 75


def test_larger_graphs_by_an_integer_program():
    """Thirty variables in a ring of tables over three, with limits: HiGHS over the local polytope."""
    rng = np.random.default_rng(1)
    n = 18
    tables = [(v, (v + 1) % n, (v + 5) % n) for v in range(0, n, 2)]
    limits = [AtMost(2, *range(0, n, 3)), AtLeast(3, *range(1, n, 3)), Xor(2, 5, 8)]
    graph = FactorGraph([2] * n, [*tables, *limits])
    for _ in range(3):
        theta = rng.normal(size=graph.n_parts)
        found = graph.solve(theta)
        assert found.exact
        assert found.value == pytest.approx(by_integer_program(graph, theta, tables, limits), abs=1e-6)


def by_integer_program(graph, theta, tables, limits):
    rows, low, high = [], [], []

    def add(entries, least, most):
        row = np.zeros(graph.n_parts)
        for place, value in entries:
            row[place] += value
        rows.append(row)
        low.append(least)
        high.append(most)

    for v in range(len(graph.n_states)):
        add([(2 * v, 1), (2 * v + 1, 1)], 1, 1)
    for t, own in enumerate(tables):
        first = 2 * len(graph.n_states) + 8 * t
        for j, v in enumerate(own):
            for s in range(2):
                entries = [e for e in range(8) if (e >> (2 - j)) & 1 == s]
                add([(2 * v + s, -1), *((first + e, 1) for e in entries)], 0, 0)
    for one in limits:
        add([(2 * v + 1, 1) for v in one.members], *one.limits)
    found = milp(
        -theta,
        constraints=LinearConstraint(sparse.csr_array(np.array(rows)), low, high),
        integrality=np.ones(graph.n_parts),
        bounds=Bounds(0, 1),
    )
    return -found.fun


def test_tables_of_two_are_a_pairwise_graph():
    rng = np.random.default_rng(2)
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    theta = rng.normal(size=4 * 3 + 5 * 9)
    one, other = FactorGraph([3] * 4, edges), PairwiseGraph(4, edges, 3)
    np.testing.assert_allclose(one.maximize(theta), other.maximize(theta))
    np.testing.assert_allclose(one.project(theta), other.project(theta), atol=1e-8)


@pytest.mark.parametrize(("n", "k"), [(5, 1), (30, 3), (12, 4)])
@pytest.mark.parametrize("kind", [AtMost, Exactly, AtLeast])
def test_sparsemap_of_counts_by_bisection(n, k, kind):
    """On: p = clip(a - t, 0, 1), with the one t for which the limit holds (t = 0 where it holds anyway).

    Both states of a variable, 1 - p and p, are projected: (p - b)^2 + (1 - p - a)^2 is, but for a constant,
    2 (p - (b - a + 1)/2)^2.
    """
    rng = np.random.default_rng(n)
    theta = rng.normal(size=2 * n)
    point = FactorGraph([2] * n, [kind(k, *range(n))]).project(theta)
    on = (theta[1::2] - theta[::2] + 1) / 2
    low, high = -20.0, 20.0
    for _ in range(200):
        t = (low + high) / 2
        low, high = (t, high) if np.clip(on - t, 0, 1).sum() > k else (low, t)
    t = {AtMost: max(t, 0.0), AtLeast: min(t, 0.0), Exactly: t}[kind]
    np.testing.assert_allclose(point[1::2], np.clip(on - t, 0, 1), atol=1e-6)
    np.testing.assert_allclose(point[::2] + point[1::2], 1.0, atol=1e-12)


def test_sparsemap_of_several_factors_by_a_qp_solver():
    """Rows and columns of a table with at most one each: this polytope has no fractional vertices."""
    import cvxpy

    rng = np.random.default_rng(3)
    places = np.arange(9).reshape(3, 3)
    limits = [AtMost(1, *line.tolist()) for line in (*places, *places.T)]
    graph, theta = FactorGraph([2] * 9, limits), rng.normal(size=18)
    z = cvxpy.Variable(18)
    keeps = [z >= 0, z[::2] + z[1::2] == 1]
    keeps += [cvxpy.sum(z[1::2][line]) <= 1 for line in (*places, *places.T)]
    cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(z - theta)), keeps).solve(
        solver=cvxpy.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12
    )
    np.testing.assert_allclose(graph.project(theta), z.value, atol=1e-6)


def test_a_small_budget_leaves_a_true_bound():
    rng = np.random.default_rng(4)
    n = 14
    graph = [tuple(int(v) for v in rng.permutation(n)[:3]) for _ in range(20)]
    theta = rng.normal(size=3 * n + 20 * 27)
    best = FactorGraph([3] * n, graph).solve(theta)
    hasty = FactorGraph([3] * n, graph, most_branches=1).solve(theta)
    assert best.exact
    assert not hasty.exact
    assert hasty.value <= best.value + 1e-9 <= hasty.bound + 2e-9


def test_training_with_constraints_and_files(tmp_path):
    """Two of six labels are on: learned by any solver, with a certificate, and kept in a file."""
    rng = np.random.default_rng(5)
    graph = FactorGraph([2] * 6, [Exactly(2, *range(6)), (0, 1, 2)])
    X, y = [], []
    for _ in range(30):
        on = np.zeros(6, dtype=int)
        on[rng.choice(6, 2, replace=False)] = 1
        parts = np.zeros((graph.n_parts, 2))
        parts[1:12:2, 0] = on + 0.7 * rng.normal(size=6)
        parts[12:, 1] = np.arange(8)
        X.append(parts)
        y.append(on)
    model = StructuredPredictor(graph, loss="hinge", regularization=0.01, tol=0.01, random_state=0).fit(X, y)
    assert model.certificate_.converged
    assert all(one.sum() == 2 for one in model.predict(X))
    model.save(tmp_path / "model.safetensors")
    again = structlearn.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_factors_are_written_and_read():
    factors = [
        (0, 1),
        AtMost(2, 0, (1, 2)),
        AtLeast(1, 0),
        Exactly(1, 0),
        Budget(3, {0: 2, (1, 1): 1}),
        Implies(0, (1, 0)),
    ]
    assert read_factors(write_factors(factors)) == factors
    for damaged in ('["x"]', "{}", '[["AtMost"]]', '[["Most", 1, 2]]', "nothing", '[["Budget", 1, 2]]'):
        with pytest.raises(ValueError, match=r".*"):
            read_factors(damaged)


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ([(0, 3)], "Factor 0 names 3; variables are numbers from 0 to 1"),
        ([(0, 0)], "names a variable twice"),
        ([AtMost(1, 1)], r"variable 1, which has 3 states: say which, as in \(1, 1\)"),
        ([AtMost(1, (1, 5))], "names state 5 of variable 1"),
        ([AtMost(1, (1, 2, 3))], r"is not \(variable, state\)"),
        (["AtMost"], "a tuple of variables or a constraint"),
        ([()], "a tuple of variables or a constraint"),
    ],
)
def test_factors_that_do_not_fit_are_named(factors, message):
    with pytest.raises(ValueError, match=message):
        FactorGraph([2, 3], factors)


def test_constraints_that_exclude_everything_are_named():
    graph = FactorGraph([2] * 4, [AtMost(3, *range(4)), AtLeast(2, 0, 1), (0, 1), Xor(0, 1)])
    with pytest.raises(ValueError, match=r"^AtLeast\(2, 0, 1\) and Xor\(0, 1\) exclude every labelling\.$"):
        graph.solve(np.zeros(graph.n_parts))
    with pytest.raises(ValueError, match="breaks AtLeast"):
        graph.encode([0, 1, 0, 0])
    with pytest.raises(ValueError, match="Variable 2 has 2 states"):
        graph.encode([0, 1, 2, 0])
    with pytest.raises(ValueError, match="at least one variable"):
        FactorGraph([])
    with pytest.raises(ValueError, match="more than"):
        FactorGraph([300] * 3, [(0, 1, 2)])
