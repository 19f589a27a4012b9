"""Viterbi that passes over labels which cannot precede any other, against plain maxima over all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from structlearn.structures import Chain
from structlearn.structures.chain.viterbi import PRUNED, useful_labels

LENGTH = 6


def plain_value(unary, steps):
    best = unary[0]
    for row in unary[1:]:
        best = (best[:, None] + steps).max(axis=0) + row
    return best.max()


@pytest.mark.parametrize("scale", [0.01, 0.3, 3.0, 100.0])
@pytest.mark.parametrize("forbids", [False, True])
def test_the_best_sequence_is_that_of_all_pairs(scale, forbids):
    rng = np.random.default_rng(0)
    n = PRUNED + 3
    for trial in range(5):
        unary, steps = rng.standard_normal((LENGTH, n)), scale * rng.standard_normal((n, n))
        pairs = rng.integers(0, n, (500, 2)) if forbids else np.empty((0, 2), dtype=int)
        if trial == 0:
            unary[2, 1:] = -np.inf  # one label is allowed
        chain = Chain(n, forbidden=pairs)
        masked = steps.copy()
        masked[tuple(pairs.T)] = -np.inf
        theta = chain.parts(unary, steps)
        y = chain.decode(chain.maximize(theta))
        found = unary[np.arange(LENGTH), y].sum() + masked[y[:-1], y[1:]].sum()
        assert found == pytest.approx(plain_value(unary, masked), rel=1e-12)


def test_labels_are_passed_over():
    before, useful = np.array([0.0, -1.0, -5.0]), np.empty(3, dtype=np.int64)
    assert useful_labels(before, np.full(3, -2.0), np.full(3, 2.0), useful) == 2
    assert useful[:2].tolist() == [0, 1]
