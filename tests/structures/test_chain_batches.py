"""Forward-backward of many sequences at a time says what it says of one at a time."""

from __future__ import annotations

import numpy as np
import pytest

from structlearn.problem.objective import Objective
from structlearn.problem.regularizers import Shannon
from structlearn.scoring import RowScoring
from structlearn.structures import Chain
from structlearn.structures.chain.batches import ChainBatches, Packing

LENGTHS = np.array([3, 1, 5, 5, 2])


def scores(chain, rng, scale=5.0):
    shared = scale / 3 * rng.standard_normal(chain.n_shared)
    return scale * rng.standard_normal(LENGTHS.sum() * chain.n_labels), shared


def test_rows_are_packed_by_position():
    packing = Packing.of(LENGTHS)
    owner = np.repeat(np.arange(5), LENGTHS)
    position = np.concatenate([np.arange(length) for length in LENGTHS])
    assert sorted(packing.row.tolist()) == list(range(LENGTHS.sum()))
    assert (owner[packing.row] == packing.owner).all()
    assert (np.diff(position[packing.row]) >= 0).all()
    later = np.arange(packing.first[1], LENGTHS.sum())
    assert (packing.row[later] - 1 == packing.row[packing.before]).all()
    assert (packing.row[packing.last] == np.cumsum(LENGTHS) - 1).all()


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("scale", [1.0, 60.0])
def test_answers_are_those_of_single_sequences(ends, scale):
    rng = np.random.default_rng(0)
    chain = Chain(7, start=ends, end=ends)
    theta, shared = scores(chain, rng, scale)
    weight = rng.random(5)
    found = ChainBatches(chain).answers(LENGTHS, theta, shared, weight)
    parts = [np.r_[one, shared] for one in np.split(theta, np.cumsum(LENGTHS * 7)[:-1])]
    single = [chain.marginals(one) for one in parts]
    np.testing.assert_allclose(found.values, [one.log_partition for one in single], rtol=1e-13)
    local = [p * one.mean[: 7 * length] for p, one, length in zip(weight, single, LENGTHS)]
    np.testing.assert_allclose(found.vertices, np.concatenate(local), rtol=1e-9, atol=1e-14)
    together = sum(p * one.mean[7 * length :] for p, one, length in zip(weight, single, LENGTHS))
    np.testing.assert_allclose(found.shared, together, rtol=1e-9, atol=1e-14)
    entropy = sum(p * (one.log_partition - one.mean @ part) for p, one, part in zip(weight, single, parts))
    assert found.gain <= entropy + 1e-12 * scale * 100
    assert found.gain == pytest.approx(entropy, abs=1e-9 * scale)
    assert (ChainBatches(chain).values(LENGTHS, theta, shared) == found.values).all()


def test_scores_that_are_too_wide_are_left_to_single_sequences():
    chain = Chain(3)
    theta, shared = scores(chain, np.random.default_rng(0))
    shared[0] = 400.0
    assert ChainBatches(chain).answers(LENGTHS, theta, shared, np.ones(5)) is None
    assert ChainBatches(chain).values(LENGTHS, theta, shared) is None
    shared[0] = 0.0
    theta[:3] = -np.inf
    assert ChainBatches(chain).values(LENGTHS, theta, shared) is None


def test_objectives_of_many_labels_are_the_same_by_batches(monkeypatch):
    rng = np.random.default_rng(1)
    chain = Chain(200)
    X, labels = rng.standard_normal((LENGTHS.sum(), 4)), rng.integers(0, 200, LENGTHS.sum())
    scoring = RowScoring(X, LENGTHS, 200, n_shared=chain.n_shared)
    gold = chain.encode_many(np.split(labels, np.cumsum(LENGTHS)[:-1]), scoring.shapes)
    w = rng.standard_normal(scoring.n_weights)

    def ask():
        objective = Objective(
            *(chain, scoring, gold, np.zeros(scoring.start[-1])), regularization=0.1, regularizer=Shannon()
        )
        return objective.oracle.batches, objective.primal(w), objective.predictions(w)

    batches, primal, found = ask()
    monkeypatch.setattr(Chain, "batches", lambda self, record: None)
    none, expected, single = ask()
    assert batches is not None
    assert none is None
    assert primal == pytest.approx(expected, rel=1e-13)
    assert found.primal == pytest.approx(single.primal, rel=1e-13)
    assert found.cost == pytest.approx(single.cost, rel=1e-9)
    np.testing.assert_allclose(found.dual_map, single.dual_map, rtol=1e-9, atol=1e-13)
