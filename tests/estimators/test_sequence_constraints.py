"""Constraints in predictions of sequences: by enumeration of all labellings, and what is refused."""

import itertools

import numpy as np
import pytest

from structlearn import ChainClassifier, Tagger
from structlearn.constraints import AtLeast, AtMost, Budget, Exactly, Implies, SameType, Xor
from structlearn.estimators.inputs.spans import spans
from structlearn.structures.chain import constrained
from structlearn.structures.chain.agreement import Agreement
from structlearn.structures.chain.constrained import Limit, best_within_limits

NAMES = np.array(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])
PLAIN = np.array(["body", "date", "title"])


def data(classes, seed=0, n=30, length=6):
    rng = np.random.default_rng(seed)
    k = len(classes)
    X = [rng.normal(size=(rng.integers(1, length), k)) for _ in range(n)]
    return X, [classes[(x + 0.5 * rng.normal(size=x.shape)).argmax(axis=1)] for x in X]


@pytest.fixture(scope="module")
def tagged():
    X, y = data(NAMES)
    return ChainClassifier(start=True, end=True, tol=0.05, random_state=0).fit(X, y), X[:8]


@pytest.fixture(scope="module")
def plain():
    X, y = data(PLAIN, 1)
    return ChainClassifier(tol=0.05, random_state=0).fit(X, y), X[:8]


def labellings(model, X):
    """Yield all labellings of each sequence with their scores, from the weights."""
    for theta in model.model_.part_scores(X)[0]:
        structure = model.structure_
        length = structure.shape(theta)[0]
        every = list(itertools.product(range(len(model.classes_)), repeat=length))
        yield [(model.classes_[list(y)].tolist(), structure.score(theta, np.array(y))) for y in every]


def count_spans(labels, name):
    return sum(own == name for own, _, _ in spans(labels))


def runs(labels, name):
    return sum(one == name and (t == 0 or labels[t - 1] != name) for t, one in enumerate(labels))


def n_of(labels, name):
    return sum(name in one for one in labels)


TAGGED = {
    "at most one span": (AtMost(1, "PER"), lambda y: count_spans(y, "PER") <= 1),
    "two kinds together": (AtMost(1, "PER", "LOC"), lambda y: len(spans(y)) <= 1),
    "exactly one": (Xor("LOC"), lambda y: count_spans(y, "LOC") == 1),
    "positions of a type": (AtLeast(1, "LOC", of="positions"), lambda y: any("LOC" in one for one in y)),
    "positions of a label": (Exactly(1, "I-PER", of="positions"), lambda y: y.count("I-PER") == 1),
    "budget": (Budget(2, {"PER": 1, "B-LOC": 2}), lambda y: n_of(y, "PER") + 2 * y.count("B-LOC") <= 2),
    "implies": (Implies("PER", "LOC"), lambda y: n_of(y, "PER") == 0 or n_of(y, "LOC") > 0),
    "outside": (AtMost(1, "O"), lambda y: runs(y, "O") <= 1),
}  # fmt: skip


@pytest.mark.parametrize("name", TAGGED)
def test_predictions_are_the_best_that_keep_it(tagged, name):
    model, X = tagged
    constraint, keeps = TAGGED[name]
    for x, every in zip(X, labellings(model, X)):
        kept = [(score, y) for y, score in every if keeps(y)]
        (found,) = model.predict_with_bounds([x], constraints=[constraint])
        assert keeps(found.labels.tolist())
        assert found.value == pytest.approx(max(kept)[0])
        assert found.bound == pytest.approx(found.value)
        assert model.predict([x], constraints=constraint)[0].tolist() == found.labels.tolist()


def test_plain_labels_are_runs(plain):
    model, X = plain
    together = [AtMost(1, "title"), AtLeast(1, "date"), Implies("title", "body")]
    for x, every in zip(X, labellings(model, X)):
        kept = [
            score
            for y, score in every
            if runs(y, "title") <= 1 and "date" in y and ("title" not in y or "body" in y)
        ]
        assert model.predict_with_bounds([x], constraints=together)[0].value == pytest.approx(max(kept))


def test_without_constraints_it_is_the_prediction(tagged):
    model, X = tagged
    for one, other in zip(model.predict(X), model.predict_with_bounds(X)):
        assert one.tolist() == other.labels.tolist()
    assert [len(one) for one in model.predict([X[0][:0], X[0]], constraints=[AtMost(1, "PER")])] == [
        0,
        len(X[0]),
    ]


def test_allowed_labels_hold_too(tagged):
    model, X = tagged
    allowed = [[{"B-PER", "B-LOC"}] * len(x) for x in X]
    for found in model.predict(X, allowed, constraints=[AtMost(0, "PER")]):
        assert set(found.tolist()) == {"B-LOC"}


# ---- the search alone --------------------------------------------------------------------------------


def random_limits(rng, k):
    found = []
    for _ in range(rng.integers(1, 4)):
        event = np.zeros((k + 1, k), dtype=int)
        event[:, rng.integers(k)] = rng.integers(1, 3)
        if rng.random() < 0.5:
            event[rng.integers(k + 1)] = 0
        low = rng.integers(0, 3) * rng.integers(2)
        found.append(Limit(event, low, low + rng.integers(0, 3) if rng.random() < 0.7 else np.inf))
    return found


def best_by_enumeration(unary, steps, limits):
    length, k = unary.shape
    best = -np.inf
    for y in itertools.product(range(k), repeat=length):
        made = list(zip((k, *y), y))
        if all(one.low <= sum(one.event[step] for step in made) <= one.high for one in limits):
            best = max(best, unary[range(length), y].sum() + sum(steps[t][made[t]] for t in range(1, length)))
    return best


@pytest.mark.parametrize("narrow", [False, True])
def test_random_limits_by_enumeration(narrow, monkeypatch):
    """Searches that keep next to nothing leave bounds open, but true."""
    if narrow:
        monkeypatch.setattr(constrained, "_FIRST_WIDTH", 1)
        monkeypatch.setattr(constrained, "_WIDTHS", (2,))
    rng = np.random.default_rng(0)
    for _ in range(80):
        k = rng.integers(2, 4)
        unary, steps = 2 * rng.normal(size=(rng.integers(1, 7), k)), None
        steps = rng.normal(size=(len(unary), k, k))
        if rng.random() < 0.3:
            steps[rng.random(steps.shape) < 0.2] = -np.inf
        limits = random_limits(rng, k)
        best, found = best_by_enumeration(unary, steps, limits), best_within_limits(unary, steps, limits)
        assert found.value <= best + 1e-9
        assert best <= found.bound + 1e-9
        if not narrow:
            assert found.value == found.bound or found.value == pytest.approx(best)
            assert found.bound == best == -np.inf or found.bound == pytest.approx(best)


def test_ten_limits_on_long_chains_by_an_integer_program():
    """Flows from label to label, with one row per limit: HiGHS."""
    rng = np.random.default_rng(3)
    for _ in range(3):
        length, k = 20, 6
        unary, steps = rng.normal(size=(length, k)), rng.normal(size=(length, k, k)) + np.eye(k)
        limits = []
        for label in range(5):
            event = np.zeros((k + 1, k), dtype=int)
            event[:, label] = 1
            event[label, label] = 0
            limits.append(Limit(event, label % 2, 1))
        found = best_within_limits(unary, steps, limits)
        assert found.bound == pytest.approx(found.value)
        assert found.value == pytest.approx(by_integer_program(unary, steps, limits), abs=1e-6)


def by_integer_program(unary, steps, limits):
    from scipy.optimize import Bounds, LinearConstraint, milp

    length, k = unary.shape
    first = np.arange(k)
    step = (k + np.arange((length - 1) * k * k)).reshape(length - 1, k, k)
    n = k + step.size
    score = np.concatenate([unary[0], (steps[1:] + unary[1:, None, :]).ravel()])
    rows, low, high = [np.r_[np.ones(k), np.zeros(n - k)]], [1.0], [1.0]
    for t in range(length - 1):
        for j in range(k):
            row = np.zeros(n)
            row[first[j] if t == 0 else step[t - 1, :, j]] = 1
            row[step[t, j]] -= 1
            rows, low, high = [*rows, row], [*low, 0.0], [*high, 0.0]
    for one in limits:
        rows.append(np.concatenate([one.event[k], np.tile(one.event[:k].ravel(), length - 1)]))
        low, high = [*low, one.low], [*high, one.high]
    found = milp(
        -score,
        constraints=LinearConstraint(np.array(rows), low, high),
        integrality=np.ones(n),
        bounds=Bounds(0, 1),
    )
    return -found.fun


# ---- agreement ---------------------------------------------------------------------------------------


def test_agreement_by_enumeration():
    rng = np.random.default_rng(1)
    kind = np.array([-1, 0, 0, 1])
    for _ in range(25):
        tables = [
            (1.5 * rng.normal(size=(n, 4)), rng.normal(size=(n, 4, 4))) for n in rng.integers(1, 4, size=2)
        ]
        tokens = [(i, t) for i, (unary, _) in enumerate(tables) for t in range(len(unary))]
        groups = [tokens[::2], tokens[1::2]]
        found = Agreement(tables, groups, kind, lambda *pair: best_within_limits(*pair, [])).solve()
        best = best_that_agrees(tables, groups, kind)
        assert agrees(found.labels, groups, kind)
        assert found.values.sum() == pytest.approx(best)
        assert found.bound >= best - 1e-9


def best_that_agrees(tables, groups, kind):
    every = [list(itertools.product(range(4), repeat=len(unary))) for unary, _ in tables]
    scored = [
        [
            (unary[range(len(y)), y].sum() + sum(steps[t, y[t - 1], y[t]] for t in range(1, len(y))), y)
            for y in own
        ]
        for (unary, steps), own in zip(tables, every)
    ]
    both = ((sum(score for score, _ in pair), [y for _, y in pair]) for pair in itertools.product(*scored))
    return max(value for value, ys in both if agrees(ys, groups, kind))


def agrees(labels, groups, kind):
    return all(len({kind[labels[i][t]] for i, t in group} - {-1}) < 2 for group in groups)


def test_a_name_has_one_type_in_a_document():
    texts = [["Jordan", "scored"], ["Jordan", "is", "hot"], ["in", "Jordan"], ["Jordan", "borders"]]
    y = [["B-PER", "O"], ["B-LOC", "O", "O"], ["O", "B-LOC"], ["B-LOC", "O"]]
    tagger = Tagger(random_state=0, tol=0.01, regularization=0.001).fit(texts, y)
    alone = [labels.tolist() for labels in tagger.predict(texts)]
    assert alone == y
    same = SameType.of_words(texts)
    assert same.groups == [[(0, 0), (1, 0), (2, 1), (3, 0)]]
    together = tagger.predict_with_bounds(texts, constraints=[same])
    assert len({one.labels[0 if i != 2 else 1] for i, one in enumerate(together)} - {"O"}) == 1
    assert sum(one.value for one in together) <= sum(one.bound for one in together) + 1e-9
    apart = SameType.of_words(texts, documents=[0, 1, 1, 1])
    assert [one.tolist() for one in tagger.predict(texts, constraints=apart)] == y


# ---- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (["title"], "constraints are a list of AtMost"),
        ([AtMost(1, "abstract")], 'name "abstract", which is neither a label of the model nor a type'),
        ([AtMost(3, "date"), AtMost(0, "title"), Xor("title")], r"^AtMost\(0, .*\) and Xor\(.*\) leave no"),
        ([AtLeast(9, "title", of="positions")], r"AtLeast\(9, 'title'\) leaves no labelling of sequence 0"),
        ([SameType([[(0, 0), (99, 0)]])], r"SameType names token \(99, 0\)"),
        ([AtMost(1 << 40, "title"), Exactly(1 << 40, "date")], "leaves no labelling"),
        ([Implies("date", "title")] * 9, "At most 8"),
    ],
)  # fmt: skip
def test_constraints_that_cannot_be_kept_are_named(plain, constraints, message):
    model, X = plain
    with pytest.raises(ValueError, match=message):
        model.predict(X, constraints=constraints)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AtMost("title"), "takes a number"),
        (lambda: AtMost(-1, "title"), "takes a number"),
        (lambda: AtMost(1), "at least one label"),
        (lambda: AtMost(1, "title", of="words"), "spans"),
        (lambda: Budget(3, {"title": 0.5}), "whole numbers"),
        (lambda: Budget(3, {}), "whole numbers"),
    ],
)
def test_constraints_that_say_nothing_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_too_many_counts_are_refused():
    unary, steps = np.zeros((100, 2)), np.zeros((100, 2, 2))
    event = np.array([[0, 1]] * 3)
    with pytest.raises(ValueError, match="too much to be kept together"):
        best_within_limits(unary, steps, [Limit(event, 0, 50)] * 11)


def test_segments_know_no_constraints():
    tagger = Tagger(model="segments", random_state=0, tol=1.0)
    tagger.fit([["the", "cat"]] * 2, [["O", "B-X"]] * 2)
    with pytest.raises(ValueError, match="train with model='chain'"):
        tagger.predict([["cat"]], constraints=[AtMost(1, "X")])
