"""Two readings: features of a probable alignment by hand, and what is seen of held-out pairs."""

from __future__ import annotations

import numpy as np
import pytest

from structlearn.alignment.gold import learning
from structlearn.alignment.gold.features import STRONG
from structlearn.alignment.gold.gold_pairs import EdgeTables, GoldPairs
from structlearn.alignment.gold.learning import Setting, reread
from structlearn.alignment.gold.readings import AGAIN, Readings, read_again
from structlearn.structures import Matching

SHARED = {"structure": Matching(capacities=(1, 1)), "tol": 1e-3, "max_passes": 1000, "random_state": 0}


def column(found, name, shape):
    return found[:, AGAIN.index(name)].reshape(shape)


def test_features_of_a_pair_by_hand():
    p = np.array([[0.5, 0.2, 0.1], [0.25, 0.8, 0.4]])
    found = read_again(np.log(p / (1 - p)).ravel(), np.array([[2, 3]]))
    np.testing.assert_allclose(column(found, "again", p.shape), p)
    np.testing.assert_allclose(column(found, "again_previous", p.shape), [[0, 0, 0], [0, 0.5, 0.2]])
    np.testing.assert_allclose(column(found, "again_next", p.shape), [[0.8, 0.4, 0], [0, 0, 0]])
    np.testing.assert_allclose(column(found, "again_beside", p.shape), [[0.2, 0.5, 0.2], [0.8, 0.4, 0.8]])
    np.testing.assert_allclose(column(found, "again_above", p.shape), p[::-1])
    np.testing.assert_allclose(column(found, "again_rest_of_row", p.shape), p.sum(axis=1, keepdims=True) - p)
    np.testing.assert_allclose(
        column(found, "again_rival_in_row", p.shape), [[0.2, 0.5, 0.5], [0.8, 0.4, 0.8]]
    )
    np.testing.assert_allclose(column(found, "again_rival_in_column", p.shape), p[::-1])


def test_pairs_are_read_one_by_one():
    rng = np.random.default_rng(0)
    shapes = np.array([[2, 3], [0, 4], [1, 1], [4, 2]])
    theta = rng.normal(size=int(shapes.prod(axis=1).sum()))
    at, parts = 0, []
    for shape in shapes:
        parts.append(read_again(theta[at : at + shape.prod()], shape[None]))
        at += shape.prod()
    np.testing.assert_array_equal(read_again(theta, shapes), np.concatenate(parts))


@pytest.fixture(scope="module")
def crossing():
    """Pairs whose words are linked in order or all in reverse order: an edge alone does not tell which."""
    rng = np.random.default_rng(0)
    n_pairs, n = 40, 6
    tables = [np.eye(n, dtype=int)[:: 1 if k % 2 else -1] for k in range(n_pairs)]
    y = np.concatenate([table.ravel() for table in tables])
    both = np.tile((np.eye(n) + np.eye(n)[::-1]).ravel(), n_pairs)
    rows = np.column_stack([np.full(y.size, STRONG), both, 1.5 * y + rng.normal(size=y.size)])
    shapes = np.full((n_pairs, 2), n)
    free = [np.zeros((n, n), dtype=bool)] * n_pairs
    return GoldPairs(
        EdgeTables(rows, shapes), [np.ascontiguousarray(t) for t in tables], free, np.arange(n_pairs)
    )


def test_the_second_reading_hears_the_neighbours(crossing):
    held_out = np.arange(30, 40)
    again = reread(crossing, held_out, **SHARED)
    two = again.fit(Setting(0.05, 1.0), held_out, **SHARED)
    one = learning.fit_links(crossing, Setting(0.05, 1.0), held_out, **SHARED)
    X, truth = [crossing.X[k] for k in held_out], [crossing.tables[k] for k in held_out]
    wrong = [sum(np.abs(a - b).sum() for a, b in zip(model.predict(X), truth)) for model in (one, two)]
    assert wrong[1] < 0.7 * wrong[0]


def test_no_pair_is_read_by_weights_that_have_seen_it(crossing, monkeypatch):
    seen = []
    fit = learning.fit_log_loss
    monkeypatch.setattr(
        learning, "fit_log_loss", lambda *given, **more: seen.append(set(given[2])) or fit(*given, **more)
    )
    twice = crossing._replace(pair=np.arange(40) // 2)  # two views of each pair
    again = reread(twice, [0, 1, 7], **SHARED)
    *parts, last = seen
    assert last == {0, 1, 7}
    assert sorted(np.concatenate([sorted(one - last) for one in parts])) == sorted(set(range(40)) - last)
    assert all({k for k in range(40) if k // 2 in {j // 2 for j in one - last}} <= one for one in parts)
    assert again.first.shape == (3,)


def test_one_pair_alone_is_read_once(crossing):
    again = reread(crossing, range(1, 40), **SHARED)
    assert again.first is None
    assert again.gold is crossing


def test_scores_without_a_first_reading_are_linear():
    rows = np.arange(12.0).reshape(4, 3)
    weights = np.array([1.0, -1.0, 0.5])
    np.testing.assert_allclose(Readings(weights).scores(rows, np.array([[2, 2]])), rows @ weights)
