"""Factor graphs under constraints and HiGHS's integer program: value <= optimum <= bound."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from structlearn.constraints import AtLeast, AtMost, Budget, Exactly, Implies
from structlearn.structures import FactorGraph


def optimum(graph, theta):
    """By the definition: one state per variable, tables that agree with them, and counts as linear rows."""
    first = np.cumsum([0, *graph.n_states])
    rows, low, high = [], [], []

    def add(entries, least, most):
        rows.append(dict(entries))
        low.append(least)
        high.append(most)

    def part(member):
        v, s = member if isinstance(member, tuple) else (member, 1)
        return first[v] + s

    for v, size in enumerate(graph.n_states):
        add({first[v] + s: 1 for s in range(size)}.items(), 1, 1)
    at = first[-1]
    for own in graph.factors:
        if isinstance(own, tuple):
            entries = list(itertools.product(*(range(graph.n_states[v]) for v in own)))
            for j, v in enumerate(own):
                for s in range(graph.n_states[v]):
                    agree = {at + e: 1 for e, entry in enumerate(entries) if entry[j] == s}
                    add({**agree, first[v] + s: -1}.items(), 0, 0)
            at += len(entries)
        elif isinstance(own, Implies):
            add({part(own.then): 1, part(own.first): -1}.items(), 0, 1)
        elif isinstance(own, Budget):
            add({part(member): cost for member, cost in own.costs.items()}.items(), 0, own.limit)
        else:
            add({part(member): 1 for member in own.members}.items(), *own.limits)
    indices = [(i, j, value) for i, row in enumerate(rows) for j, value in row.items()]
    i, j, values = zip(*indices)
    A = sparse.csr_array((values, (i, j)), shape=(len(rows), theta.size))
    found = milp(
        -theta,
        constraints=LinearConstraint(A, low, high),
        integrality=np.ones(theta.size),
        bounds=Bounds(0, 1),
    )
    return -found.fun if found.success else -np.inf


def medium(rng):
    """About fifteen variables of two to four states under random tables of two and three, and constraints."""
    n = int(rng.integers(12, 19))
    sizes = [int(one) for one in rng.integers(2, 5, size=n)]
    factors = [tuple(map(int, rng.choice(n, 2, replace=False))) for _ in range(2 * n // 3)]
    factors += [tuple(map(int, rng.choice(n, 3, replace=False))) for _ in range(n // 5)]

    def members(k):
        return [(int(v), int(rng.integers(sizes[v]))) for v in rng.choice(n, k, replace=False)]

    factors += [AtMost(2, *members(8)), AtLeast(2, *members(6)), Exactly(3, *members(9))]
    factors += [Budget(6, {one: int(rng.integers(1, 4)) for one in members(7)})]
    factors += [Implies(*members(2)) for _ in range(3)]
    return FactorGraph(sizes, factors)


@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_between_value_and_bound(seed):
    rng = np.random.default_rng(seed)
    graph = medium(rng)
    theta = rng.choice([0.3, 1.0, 3.0]) * rng.normal(size=graph.n_parts)
    best = optimum(graph, theta)
    for most_branches in (0, 8_000):
        limited = FactorGraph(graph.n_states, graph.factors, most_branches=most_branches)
        found = limited.solve(theta)
        assert found.value <= best + 1e-6
        assert found.bound >= best - 1e-6
        assert found.value == pytest.approx(theta @ limited.encode(found.states))
        if found.exact:
            assert found.value == pytest.approx(best, abs=1e-6)
    assert found.exact or seed == 0  # which takes more branches
