"""Constraints in predictions of label sets: by enumeration of all sets, and what is refused."""

import itertools

import numpy as np
import pytest

from structlearn import MultiLabelClassifier
from structlearn.constraints import AtLeast, AtMost, Budget, Implies, SameType, Xor

LABELS = ["a", "b", "c", "d"]
KEEPS = {
    "at most": ([AtMost(1, "a", "b")], lambda s: len(s & {"a", "b"}) <= 1),
    "at least": ([AtLeast(3, *LABELS)], lambda s: len(s) >= 3),
    "one": ([Xor("b", "c", "d")], lambda s: len(s & {"b", "c", "d"}) == 1),
    "if a then c": ([Implies("a", "c")], lambda s: "a" not in s or "c" in s),
    "budget": ([Budget(3, {"a": 2, "b": 2, "c": 1})], lambda s: 2 * len(s & {"a", "b"}) + ("c" in s) <= 3),
    "all": ([AtMost(2, *LABELS), AtLeast(1, "d"), Implies("d", "a")], lambda s: s == {"a", "d"}),
}  # fmt: skip


def fitted(edges, **options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    on = X + 0.5 * X[:, ::-1] + 0.5 * rng.normal(size=X.shape) > 0
    y = [{label for label, one in zip(LABELS, row) if one} for row in on]
    return MultiLabelClassifier(edges=edges, tol=0.01, random_state=0, **options).fit(X, y), X[:6]


@pytest.mark.parametrize("edges", ["none", "all"])
@pytest.mark.parametrize("name", KEEPS)
def test_label_sets_are_the_best_that_keep_them(edges, name):
    model, X = fitted(edges)
    constraints, keeps = KEEPS[name]
    every = [frozenset(one) for r in range(5) for one in itertools.combinations(LABELS, r)]
    for found, row in zip(model.predict_with_bounds(X, constraints=constraints), model.decision_function(X)):
        kept = [score(model, row, one) for one in every if keeps(one)]
        assert keeps(set(found.labels))
        assert found.value == pytest.approx(max(kept))
        assert found.bound == pytest.approx(max(kept))
    assert all(keeps(set(one)) for one in model.predict(X, constraints=constraints))


def score(model, row, labels):
    on = [int(label in labels) for label in LABELS]
    pairs = model.pair_coef_ if len(model.edges_) else []
    return row @ on + sum(table[on[a], on[b]] for (a, b), table in zip(model.edges_, pairs))


@pytest.mark.parametrize("loss", ["softmax", "sparsemax"])
def test_without_constraints_it_is_the_prediction(loss):
    model, X = fitted("none", loss=loss)
    assert model.predict(X, constraints=[]) == model.predict(X)


def test_what_is_refused():
    model, X = fitted("none")
    with pytest.raises(ValueError, match='name "e", which is not a label'):
        model.predict(X, constraints=AtMost(1, "e"))
    with pytest.raises(ValueError, match="is about sequences"):
        model.predict(X, constraints=[SameType([])])
    message = r"^AtMost\(1, 'a', 'b'\) and AtLeast\(2, 'a', 'b'\) leave no label set of row 0"
    with pytest.raises(ValueError, match=message):
        model.predict(X, constraints=[AtMost(3, "c", "d"), AtMost(1, "a", "b"), AtLeast(2, "a", "b")])
    with pytest.warns(match="exactly one label"):
        single = MultiLabelClassifier(edges="none", random_state=0).fit(X, list("abcabc"))
    with pytest.raises(ValueError, match="one label per example"):
        single.predict(X, constraints=[AtMost(1, "a")])
