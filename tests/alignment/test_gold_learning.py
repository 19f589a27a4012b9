"""Learning from gold links: the optimum of the log-loss, thresholds, what is tried."""

from __future__ import annotations

import numpy as np
import pytest

from structlearn.alignment.gold.features import STRONG
from structlearn.alignment.gold.gold_pairs import EdgeTables, GoldPairs, GoldViews
from structlearn.alignment.gold.learning import (
    LEARNERS,
    SHUFFLES,
    Setting,
    choose_setting,
    fit_links,
    settings_of,
)
from structlearn.alignment.links import Links, table_links
from structlearn.structures import Matching

SHARED = {"structure": Matching(capacities=(2, 2)), "max_passes": 1000, "random_state": 0}
N_PAIRS = 12


@pytest.fixture(scope="module")
def gold():
    """Edges whose first feature is the constant; the second one tells links, a little."""
    rng = np.random.default_rng(0)
    shapes = np.column_stack([rng.integers(2, 6, N_PAIRS), rng.integers(2, 6, N_PAIRS)])
    tables = [np.eye(*shape, dtype=int) for shape in shapes]
    free = [(rng.random(shape) < 0.2) & (table == 0) for shape, table in zip(shapes, tables)]
    rows = rng.normal(size=(int(shapes.prod(axis=1).sum()), 3))
    rows[:, 0] = STRONG
    rows[:, 1] += 2.0 * np.concatenate([table.ravel() for table in tables])
    return GoldPairs(EdgeTables(rows, shapes), tables, free, np.arange(N_PAIRS))


def gradient(gold, weights, regularization, held_out):
    """That of lambda/2 ||w||^2 + the mean over pairs of the sums of their edges' losses."""
    found = regularization * weights
    kept = [k for k in range(N_PAIRS) if k not in held_out]
    for k in kept:
        x, y = gold.X[k].reshape(-1, 3), gold.tables[k].ravel()
        error = (1 / (1 + np.exp(-x @ weights)) - y) * ~gold.free[k].ravel()
        found = found + x.T @ error / len(kept)
    return found


@pytest.mark.parametrize("held_out", [(), (0, 7)])
def test_log_loss_is_at_its_optimum(gold, held_out):
    model = fit_links(gold, Setting(0.1, 1.0), held_out, tol=1e-9, **SHARED)
    assert model.certificate.converged
    np.testing.assert_allclose(gradient(gold, model.weights, 0.1, held_out), 0.0, atol=1e-4)


def test_edges_of_one_kind_teach_that_kind(gold):
    none = gold._replace(tables=[0 * table for table in gold.tables])
    model = fit_links(none, Setting(0.1, 1.5), tol=1e-3, **SHARED)
    assert model.certificate is None
    assert not any(table.any() for table in model.predict(gold.X))


def test_costs_are_thresholds_of_probabilities(gold):
    even, bold = (fit_links(gold, Setting(0.1, cost, 2.0), tol=1e-9, **SHARED) for cost in (2.0, 6.0))
    for x, least in zip(gold.X, bold.predict(gold.X)):
        probability = 1 / (1 + np.exp(-(x @ even.weights)))
        drawn = SHARED["structure"].decode(
            SHARED["structure"].maximize(probability * 6 - (1 - probability) * 2)
        )
        wanted = probability > 0.25  # 6 p > 2 (1 - p)
        np.testing.assert_array_equal(least * wanted, least)
        if max(wanted.sum(axis=0).max(), wanted.sum(axis=1).max()) <= 2:
            np.testing.assert_array_equal(least, wanted)
            np.testing.assert_array_equal(drawn, wanted)


@pytest.mark.parametrize("loss", [*LEARNERS, "auto"])
def test_all_that_is_not_given_is_tried(loss):
    given = settings_of(loss, 0.5, 3.0, 1.0, 10)
    assert given == [Setting(0.5, 3.0, 1.0, name) for name in (LEARNERS if loss == "auto" else [loss])]
    tried = settings_of(loss, None, None, 2.0, 10)
    assert len(set(tried)) == len(tried) == {"softmax": 4, "hinge": 20, "auto": 24}[loss]
    assert all(one.missed >= one.spurious == 2.0 for one in tried)


def test_trials_are_sorted_and_of_unseen_pairs(gold, monkeypatch):
    from structlearn.alignment.gold import learning

    seen = []
    fit = learning.fit_links
    monkeypatch.setattr(
        learning, "fit_links", lambda *given, **more: seen.append(given[2]) or fit(*given, **more)
    )
    links = [Links.of(table_links(table), table_links(table + free)) for table, free in zip(*gold[1:3])]
    settings = settings_of("softmax", None, None, 1.0, N_PAIRS)
    best, trials = choose_setting(GoldViews(gold), links, settings, 4, tol=1e-3, **SHARED)
    assert best == trials[0].setting
    assert {one.setting for one in trials} == set(settings)
    assert [one.error for one in trials] == sorted(one.error for one in trials)
    assert len(seen) == len(settings) * SHUFFLES * 4
    whole = SHUFFLES * list(range(N_PAIRS))
    assert sorted(np.concatenate(seen[:: len(settings)])) == sorted(whole)
