"""Tables by the distance of states: messages against dense ones, recognition, answers by enumeration."""

import itertools

import numpy as np
import pytest

from structlearn import GridClassifier, load
from structlearn.core.kernels import kernel
from structlearn.structures import PairwiseGraph
from structlearn.structures.graph.shapes import recognise, transform
from structlearn.structures.graphs import grid_graph


@kernel
def one_message(sent, row, hull, found):
    transform(sent, row, hull, found)


def table_of(row, k):
    offset, scale, limit, power = row
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))) ** power
    return offset + scale * np.minimum(apart, limit)


def test_messages_are_those_of_whole_tables():
    rng = np.random.default_rng(0)
    for trial in range(400):
        k = int(rng.integers(1, 25))
        scale = rng.choice([-1e-6, -0.01, -1.0, -50.0, 0.0, 2.0]) * rng.uniform(0.5, 1.5)
        row = np.array([0.3, scale, rng.uniform(1, 40), 1.0 + trial % 2])
        sent = rng.normal(size=k) * rng.choice([0.1, 1, 100]) + (rng.random(k) < 0.1) * -1e9
        found = np.empty(k)
        one_message(sent, row, np.empty((2, k + 1)), found)
        dense = (sent[:, None] + table_of(row, k)).max(axis=0) - 0.3
        np.testing.assert_allclose(found, dense, rtol=0, atol=1e-12 * (1 + np.abs(dense).max()))


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_what_is_recognised(power):
    rng = np.random.default_rng(1)
    rows = np.empty((3, 1, 4))
    given = np.array([[rng.normal(), -rng.uniform(0.1, 3), limit, power] for limit in (2.5, 3.0, 1.0)])
    tables = np.array([table_of(row, 8) for row in given])
    assert recognise(tables, 3, 8, rows)
    np.testing.assert_allclose([table_of(row, 8) for row in rows[:, 0]], tables, atol=1e-12)
    for change in (1e-6, -1e-6):
        other = tables.copy()
        other[1, 2, 5] += change
        assert not recognise(other, 3, 8, rows)
    assert not recognise(-tables, 3, 8, rows)  # neighbours that repel each other


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_labellings_are_as_good_as_with_whole_tables(power, seed):
    """A change of the tables below what counts hides their shape from recognition."""
    rng = np.random.default_rng(seed)
    graph, k, limit = grid_graph(9, 8), 7, 3.0
    kind = {1: "truncated-linear", 2: "truncated-quadratic"}[power]
    node = rng.normal(size=(72, k))
    weight = rng.uniform(0.2, 2.0, size=len(graph.edges))
    table = 1.0 - np.minimum(np.abs(np.subtract.outer(np.arange(k), np.arange(k))) / limit, 1.0) ** power
    full = np.concatenate([node.ravel(), (weight[:, None, None] * table).ravel()])
    hidden = full + 1e-10 * rng.normal(size=full.size)
    whole = PairwiseGraph(*graph, k)
    shaped = PairwiseGraph(*graph, k, pairs=kind, truncation=limit)
    dense, seen = whole.solve(hidden), whole.solve(full)
    named = shaped.solve(np.concatenate([node.ravel(), weight]))
    for found in (seen, named):
        assert found.value >= dense.value - 1e-6
        assert found.bound >= found.value
        assert found.bound <= dense.bound + 1e-2 * abs(dense.bound)
    assert named.value == pytest.approx(full @ whole.encode(named.states))


def test_small_graphs_by_enumeration():
    rng = np.random.default_rng(5)
    edges = [(0, 1), (1, 2), (2, 3), (3, 0)]
    graph = PairwiseGraph(4, edges, 3, pairs="truncated-linear", truncation=2.0)
    theta = rng.normal(size=graph.n_parts)
    every = [np.array(y) for y in itertools.product(range(3), repeat=4)]
    likes = [[1 - min(abs(y[a] - y[b]) / 2, 1) for a, b in edges] for y in every]
    parts = np.array([np.concatenate([np.eye(3)[y].ravel(), one]) for y, one in zip(every, likes)])
    np.testing.assert_array_equal(graph.encode(every[7]), parts[7])
    scores = parts @ theta
    np.testing.assert_allclose(graph.maximize(theta), parts[scores.argmax()])
    mean, log_z = graph.marginals(theta)
    assert log_z == pytest.approx(np.log(np.exp(scores).sum()))
    np.testing.assert_allclose(mean, np.exp(scores - log_z) @ parts)
    assert graph.log_partition_bound(theta) >= log_z


def test_a_grid_learns_one_weight_and_a_truncation(tmp_path):
    rng = np.random.default_rng(6)
    ramps = [np.add.outer(np.arange(6), np.arange(7)) // 2 + rng.integers(3) for _ in range(8)]
    X = [-np.abs(one[..., None] + rng.normal(size=(6, 7, 1)) - np.arange(8.0)) for one in ramps]
    options = {"pairs": "truncated-linear", "directional": False, "tol": 0.05, "random_state": 0}
    tried = [GridClassifier(truncation=t, **options).fit(X, ramps) for t in (1.0, 3.0)]
    model = GridClassifier(truncation=(1.0, 3.0), **options).fit(X, ramps)
    best = min(tried, key=lambda one: one.certificate_.primal)
    assert model.truncation_ == best.truncation_
    np.testing.assert_array_equal(model.weights_, best.weights_)
    (table,) = model.edge_coef_
    falls = np.maximum(1 - np.arange(len(table)) / model.truncation_, 0)
    np.testing.assert_allclose(table[0], table[0, 0] * falls)
    model.save(tmp_path / "grid.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "grid.safetensors").predict(X)[0], model.predict(X)[0])


def test_what_is_refused():
    X, y = [np.ones((2, 2, 1))], [[[0, 1], [1, 0]]]
    for options, message in (
        ({"truncation": 0.5}, "number of at least 1; got"),
        ({"truncation": ()}, "a number or a list of numbers"),
        ({"latent_states": 2}, "leave out latent_states"),
        ({"warm_start": True}, "single number with checkpoint or warm_start"),
    ):
        with pytest.raises(ValueError, match=message):
            GridClassifier(pairs="truncated-linear", **options).fit(X, y)
