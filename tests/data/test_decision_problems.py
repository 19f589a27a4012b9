"""Generated decision problems, against the papers' formulas entry by entry and by what they imply."""

import math

import numpy as np
import pytest

from structlearn.data import make_knapsacks, make_shortest_paths, make_tours

MAKERS = [
    make_shortest_paths,
    make_knapsacks,
    make_tours,
]


def linear_error(X, costs):
    """The largest residual of least squares with a constant."""
    A = np.column_stack([X, np.ones(len(X))])
    return abs(costs - A @ np.linalg.lstsq(A, costs, rcond=None)[0]).max()


@pytest.mark.parametrize("degree", [1, 4])
def test_paths_follow_the_formula(degree):
    n, p, noise, seed = 7, 3, 0.5, 42
    X, costs, paths = make_shortest_paths(
        n, p, rows=3, columns=4, degree=degree, noise=noise, random_state=seed
    )
    assert paths.edges[:4].tolist() == [[0, 1], [1, 2], [2, 3], [0, 4]]
    draws = np.random.RandomState(seed)
    B = draws.binomial(1, 0.5, (17, p))
    np.testing.assert_array_equal(X, draws.normal(0, 1, (n, p)))
    eps = draws.uniform(1 - noise, 1 + noise, (n, 17))
    for i in range(n):
        for e in range(17):
            score = sum(B[e, k] * X[i, k] for k in range(p)) / math.sqrt(p)
            wanted = ((score + 3) ** degree + 1) / 3.5**degree * eps[i, e]
            assert costs[i, e] == pytest.approx(wanted, rel=1e-12)


def test_knapsacks_follow_the_formula():
    n, p, noise, seed = 5, 4, 0.25, 7
    X, values, packs = make_knapsacks(
        n, p, n_items=6, dimensions=2, degree=2, noise=noise, capacity=1500, random_state=seed
    )
    draws = np.random.RandomState(seed)
    weights = draws.choice(range(300, 800), size=(2, 6)) / 100
    np.testing.assert_array_equal(packs.weights, np.rint(100 * weights))
    assert packs.capacity.tolist() == [1500, 1500]
    B = draws.binomial(1, 0.5, (6, p))
    np.testing.assert_array_equal(X, draws.normal(0, 1, (n, p)))
    eps = draws.uniform(1 - noise, 1 + noise, (n, 6))
    for i in range(n):
        for j in range(6):
            score = sum(B[j, k] * X[i, k] for k in range(p)) / math.sqrt(p)
            assert values[i, j] == math.ceil(((score + 3) ** 2 + 1) * 5 / 3.5**2 * eps[i, j])


def test_tours_follow_the_formula():
    n, p, m, noise, seed = 4, 3, 5, 0.5, 3
    X, costs, tours = make_tours(n, p, n_nodes=m, degree=2, noise=noise, random_state=seed)
    assert tours.n_parts == costs.shape[1] == 10
    draws = np.random.RandomState(seed)
    points = [*draws.uniform(-2, 2, (2, 2)), *draws.normal(0, 1, (3, 2))]
    B = draws.binomial(1, 0.5, (10, p)) * draws.uniform(-2, 2, (10, p))
    np.testing.assert_array_equal(X, draws.normal(0, 1, (n, p)))
    eps = draws.uniform(1 - noise, 1 + noise, (n, 10))
    pairs = [(a, b) for a in range(m) for b in range(a + 1, m)]
    for i in range(n):
        for e, (a, b) in enumerate(pairs):
            score = sum(B[e, k] * X[i, k] for k in range(p)) / math.sqrt(p)
            wanted = math.dist(points[a], points[b]) + (score + 3) ** 2 / 3 * eps[i, e]
            assert costs[i, e] == pytest.approx(wanted, abs=0.51e-4)


@pytest.mark.parametrize("make", MAKERS)
def test_costs_are_linear_at_degree_one_without_noise_alone(make):
    rounding = {make_knapsacks: 1.0}.get(make, 1e-3)
    assert linear_error(*make(60, random_state=0)[:2]) < rounding
    assert linear_error(*make(60, degree=6, random_state=0)[:2]) > rounding
    assert linear_error(*make(60, noise=0.5, random_state=0)[:2]) > rounding


@pytest.mark.parametrize("make", MAKERS)
def test_draws_are_those_of_the_seed(make):
    one, same, other = (make(4, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.costs, same.costs)
    assert abs(one.costs - other.costs).max() > 0.1
    own = make(4, random_state=np.random.default_rng(0))
    assert own.costs.shape == one.costs.shape


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"n": 0}, "n must be at least 1; got 0."),
        ({"n_features": 0}, "n_features must be at least 1; got 0."),
        ({"degree": 0}, "degree must be at least 1; got 0."),
        ({"noise": 1.5}, "noise must be between 0 and 1; got 1.5."),
        ({"noise": float("nan")}, "noise must be between 0 and 1; got nan."),
        ({"rows": 0}, "A grid of ways needs at least two nodes; got 0 x 5."),
    ],
)
def test_sizes_that_make_no_problem_are_refused(given, sentence):
    with pytest.raises(ValueError, match=sentence.replace(".", r"\.")):
        make_shortest_paths(**{"n": 3, **given})


def test_a_knapsack_without_items_is_refused():
    with pytest.raises(ValueError, match="needs an item and a dimension; got 0 and 1"):
        make_knapsacks(3, n_items=0)
