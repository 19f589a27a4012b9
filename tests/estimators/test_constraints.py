"""Constraints of `ChainClassifier`: by enumeration, in all losses, and what is refused."""

from itertools import pairwise, product

import numpy as np
import pytest

from structlearn import ChainClassifier, load
from structlearn.estimators.inputs.constraints import forbidden_steps, scheme_of
from structlearn.estimators.inputs.spans import spans

BIO = ["O", "B-A", "I-A", "B-B", "I-B"]
BILOU = ["O", *(f"{mark}-{kind}" for kind in "AB" for mark in "BILU")]
BIOES = ["O", *(f"{mark}-{kind}" for kind in "AB" for mark in "BIES")]


def is_bio(tags):
    """By the definition: an I-x comes after a B-x or an I-x."""
    around = ["O", *tags]
    return all(b[0] != "I" or (a[0] in "BI" and a[2:] == b[2:]) for a, b in pairwise(around))


def is_bioes(tags):
    """By spans: an S alone, or a B, any number of I and an E, all of one type."""
    at = 0
    while at < len(tags):
        mark, kind = tags[at][0], tags[at][2:]
        if mark == "B":
            while at + 1 < len(tags) and tags[at + 1] == f"I-{kind}":
                at += 1
            at += 1
            if at == len(tags) or tags[at] != f"E-{kind}":
                return False
        elif mark in "IE":
            return False
        at += 1
    return True


def is_bilou(tags):
    return is_bioes([tag.replace("L-", "E-").replace("U-", "S-") for tag in tags])


@pytest.mark.parametrize(
    ("scheme", "labels", "is_valid"),
    [("bio", BIO, is_bio), ("bioes", BIOES, is_bioes), ("bilou", BILOU, is_bilou)],
)
def test_schemes_forbid_what_is_no_sequence_of_spans(scheme, labels, is_valid):
    classes = np.array(sorted(labels))
    forbidden = {*forbidden_steps(scheme, classes)}
    for codes in product(range(len(classes)), repeat=3):
        allowed = not {*pairwise([None, *codes, None])} & forbidden
        assert allowed == is_valid(classes[list(codes)].tolist())


def bio_data(n=30, seed=0):
    """Noisy features of labels that follow BIO."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    while len(y) < n:
        tags = [BIO[k] for k in rng.integers(5, size=rng.integers(1, 6))]
        if is_bio(tags):
            y.append(tags)
            X.append(np.eye(5)[[BIO.index(tag) for tag in tags]] + rng.normal(size=(len(tags), 5)))
    return X, y


def every(model, x, allowed=None):
    """All valid labellings of one sequence and their scores, by the fitted weights."""
    local = x @ model.coef_.T + model.intercept_
    found = []
    for codes in product(range(len(model.classes_)), repeat=len(x)):
        tags = model.classes_[list(codes)].tolist()
        free = allowed is None or all(one is None or tag in one for tag, one in zip(tags, allowed))
        if is_bio(tags) and free:
            steps = sum(model.transition_coef_[j, k] for j, k in pairwise(codes))
            found.append((tags, local[np.arange(len(x)), codes].sum() + steps))
    return found


@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        *(("hinge", solver) for solver in ("auto", "bcfw", "cutting-plane")),
        *(("softmax", solver) for solver in ("auto", "sdca", "lbfgs")),
        *(("sparsemax", solver) for solver in ("auto", "sdca")),
    ],
)
def test_all_losses_train_and_predict_within_them(loss, solver):
    X, y = bio_data()
    model = ChainClassifier(loss=loss, solver=solver, constraints="bio", random_state=0, tol=1e-2).fit(X, y)
    assert model.certificate_.converged
    noise = list(np.random.default_rng(1).normal(size=(40, 4, 5)))
    for x, found in zip(noise, model.predict(noise)):
        values = {tuple(tags): value for tags, value in every(model, x)}
        assert values[tuple(found.tolist())] == pytest.approx(max(values.values()))
    free = ChainClassifier(loss=loss, solver=solver, random_state=0, tol=1e-2).fit(X, y)
    assert not all(is_bio(one.tolist()) for one in free.predict(noise))


@pytest.fixture(scope="module")
def crf():
    X, y = bio_data()
    return ChainClassifier(loss="softmax", constraints="bio", random_state=0).fit(X, y)


ALLOWED = [
    None,
    [None, {"I-A", "I-B"}, None],
    [{"O", "B-A"}, None, ["I-A"]],
    ["B-B", None, ("O", "I-B")],
]


@pytest.mark.parametrize("allowed", ALLOWED)
def test_what_is_allowed_against_enumeration(crf, allowed):
    x = np.random.default_rng(1).normal(size=(3, 5))
    given = None if allowed is None else [allowed]
    found = every(crf, x, allowed and [{one} if isinstance(one, str) else one for one in allowed])
    values = np.array([value for _, value in found])
    share = np.exp(values - np.logaddexp.reduce(values))
    assert crf.predict([x], given)[0].tolist() == found[values.argmax()][0]
    codes = [np.searchsorted(crf.classes_, tags) for tags, _ in found]
    mean = sum(p * np.eye(5)[one] for p, one in zip(share, codes))
    np.testing.assert_allclose(crf.predict_marginals([x], given)[0], mean, atol=1e-12)
    ranked = crf.predict_kbest([x], 500, given)[0]
    np.testing.assert_allclose([value for _, value in ranked], np.sort(values)[::-1], atol=1e-12)
    drawn = crf.sample([x], 100, 0, given)[0].tolist()
    assert {tuple(one) for one in drawn} <= {tuple(tags) for tags, _ in found}


@pytest.mark.parametrize("allowed", ALLOWED)
def test_confidence_in_what_is_allowed_against_enumeration(crf, allowed):
    x = np.random.default_rng(1).normal(size=(3, 5))
    given = None if allowed is None else [allowed]
    found = every(crf, x, allowed and [{one} if isinstance(one, str) else one for one in allowed])
    values = np.array([value for _, value in found])
    share = np.exp(values - np.logaddexp.reduce(values))
    ranked = crf.predict_kbest_proba([x], 500, given)[0]
    np.testing.assert_allclose([p for _, p in ranked], np.sort(share)[::-1], atol=1e-12)
    assert ranked[0][0].tolist() == found[share.argmax()][0]
    predicted = spans(crf.predict([x], given)[0])
    answers = crf.predict_spans([x], given)[0]
    assert [(one.label, one.start, one.end) for one in answers] == predicted
    for kind, start, end in predicted:
        right = sum(p for (tags, _), p in zip(found, share) if (kind, start, end) in spans(tags))
        assert answers.pop(0).probability == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize("allowed", ALLOWED)
def test_sets_keep_what_is_allowed(allowed):
    X, y = bio_data(60)
    model = ChainClassifier(loss="softmax", constraints="bio", random_state=0).fit(X[:30], y[:30])
    model.conformalize(X[30:], y[30:])
    for x in np.random.default_rng(1).normal(size=(4, 3, 5)):
        free = {tuple(one) for one in model.predict_sets([x], 0.9)[0]}
        kept = model.predict_sets([x], 0.9, allowed=None if allowed is None else [allowed])[0]
        inside = [{one} if isinstance(one, str) else one for one in allowed or [None] * 3]
        right = {one for one in free if all(s is None or tag in s for tag, s in zip(one, inside))}
        best = model.predict([x], None if allowed is None else [allowed])[0]
        assert {tuple(one) for one in kept} == right | {tuple(best)}
        assert kept[0].tolist() == best.tolist()


def test_transitions_with_features_are_constrained_too():
    X, y = bio_data()
    model = ChainClassifier(
        loss="softmax", constraints="bio", transition_features=[0, 1], random_state=0, tol=1e-2
    ).fit(X, y)
    allowed = [[None] * (len(x) - 1) + [{"I-A", "O"}] for x in X]
    for found in (model.predict(X), model.predict(X, allowed), [one[0] for one in model.sample(X, 1, 0)]):
        assert all(is_bio(one.tolist()) for one in found)
    assert {one[-1] for one in model.predict(X, allowed)} <= {"I-A", "O"}
    with pytest.raises(ValueError, match="no labelling of sequence 0"):
        model.predict(X[:1], [[{"I-A"}] + [None] * (len(X[0]) - 1)])


def test_pairs_of_labels_and_model_files(tmp_path):
    X = list(np.random.default_rng(0).normal(size=(10, 4, 3)))
    y = [[0, 2, 2, 1], [2, 1, 0, 2]] * 5
    pairs = [(0, 1), (None, 1), (2, None), (np.int64(1), 1)]
    with pytest.raises(
        ValueError, match='Sequence 1 breaks the constraints: at position 3 "2" may not be the last'
    ):
        ChainClassifier(constraints=pairs).fit(X, y)
    model = ChainClassifier(constraints=[*pairs[:2], pairs[3]], random_state=0).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert again.constraints == model.constraints
    np.testing.assert_array_equal(again.structure_.mask, model.structure_.mask)
    for one, other in zip(model.predict(X), again.predict(X)):
        np.testing.assert_array_equal(one, other)
        assert not {(0, 1), (1, 1)} & {*pairwise(one.tolist())}


@pytest.mark.parametrize(
    ("y", "constraints", "problem"),
    [
        (
            [["O", "I-A"], ["O", "O"]],
            "bio",
            "Sequence 0 breaks constraints='bio': at position 1 \"I-A\" may not come",
        ),
        ([["O", "O"], ["I-A", "O"]], "bio", 'Sequence 1 breaks .* "I-A" may not be the first'),
        ([["O", "S-A"], ["O", "B-A"]], "bioes", 'Sequence 1 breaks .* position 1 "B-A" may not be the last'),
        ([["O", "NP"]], "bio", 'goes with the labels B-x, I-x and O; y has "NP"'),
        ([["O", "E-A"]], "bio", 'y has "E-A"'),
        ([["O", "B-A"]], "iob", "Unknown constraints 'iob'"),
        ([["O", "B-A"]], [("O", "I-A")], 'name the label "I-A"'),
        ([["O", "B-A"]], [(["O"], "B-A")], "name the label"),
        ([["O", "B-A"]], [("O",)], "list of forbidden pairs"),
        ([["O", "B-A"]], [(None, None)], "list of forbidden pairs"),
        ([["O", "B-A"]], 3, "list of forbidden pairs"),
    ],
)
def test_refusals_in_training(y, constraints, problem):
    with pytest.raises(ValueError, match=problem):
        ChainClassifier(constraints=constraints).fit([np.ones((2, 1))] * len(y), y)


@pytest.mark.parametrize(
    ("allowed", "problem"),
    [
        ([None, [{"I-A"}, None]], "allowed labels and the constraints leave no labelling of sequence 1"),
        ([None, [set(), None]], "no labelling of sequence 1"),
        ([None, [{"B-B"}, {"I-A"}]], "no labelling of sequence 1"),
        ([None, [{"LOC"}, None]], 'allowed of sequence 1 names the label "LOC"'),
        ([None, [None]], "allowed of sequence 1 must be a list with a set"),
        ([None], "X has 2 sequences but allowed 1 entries"),
        ("bio", "allowed must be a list"),
    ],
)
@pytest.mark.parametrize(
    "method",
    [
        *("predict", "predict_marginals", "predict_kbest", "sample"),
        *("predict_spans", "predict_kbest_proba"),
    ],
)
def test_refusals_in_prediction(crf, method, allowed, problem):
    with pytest.raises(ValueError, match=problem):
        getattr(crf, method)(list(np.ones((2, 2, 5))), allowed=allowed)


def test_empty_sequences_keep_their_places(crf):
    X = [np.empty((0, 5)), np.ones((2, 5)), np.empty((0, 5)), np.ones((1, 5))]
    allowed = [None, [{"B-A"}, {"I-A"}], [], [{"O"}]]
    assert [one.tolist() for one in crf.predict(X, allowed)] == [[], ["B-A", "I-A"], [], ["O"]]
    with pytest.raises(ValueError, match="sequence 3;"):
        crf.predict(X, [None, None, None, [{"I-A"}]])


def test_the_scheme_of_labels_is_found():
    assert scheme_of([["O", "B-A", "I-A"], ["B-B"]]) == "bio"
    assert scheme_of([["O", "B-A", "E-A"], ["S-B"]]) == "bioes"
    assert scheme_of([["O", "I-A", "B-A"]]) is None  # IOB1
    assert scheme_of([["O", "B-A", "S-A"]]) is None
    assert scheme_of([["NN", "VB"]]) is None
