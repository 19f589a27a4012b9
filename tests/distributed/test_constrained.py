"""Constraints and labels that are missing, on a cluster."""

from itertools import pairwise

import numpy as np
import pytest
from in_process import Here

from structlearn import ChainClassifier

PAIRS = [("a", "a"), (None, "b")]


def data():
    rng = np.random.default_rng(0)
    y = [["a", "b", "c"], ["c", "b", "a"], ["c", "c", "b"], ["a", "c", "c"]] * 4
    return list(rng.normal(size=(len(y), 3, 2))), y


@pytest.mark.parametrize("loss", ["hinge", "softmax"])
def test_workers_keep_to_the_constraints(loss):
    X, y = data()
    fits = [
        ChainClassifier(loss=loss, constraints=PAIRS, random_state=0, tol=1e-3).fit(X, y, client=client)
        for client in (Here(2), None)
    ]
    one, other = (model.certificate_ for model in fits)
    assert one.converged
    assert max(one.dual, other.dual) <= min(one.primal, other.primal)
    for found in fits[0].predict(list(np.random.default_rng(1).normal(size=(40, 5, 2)))):
        assert not {*pairwise([None, *found.tolist()])} & {*PAIRS}


def test_refusals():
    X, y = data()
    with pytest.raises(ValueError, match="Sequence 2 breaks the constraints"):
        ChainClassifier(constraints=[("c", "c")]).fit(X, y, client=Here(2))
    with pytest.raises(ValueError, match="A cluster trains on whole labels"):
        ChainClassifier(loss="softmax").fit(X, [[None, *one[1:]] for one in y], client=Here(2))
