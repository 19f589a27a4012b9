"""Models of segments: fitted, asked, stored; and the spans that cannot be."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from structlearn import ChainClassifier, SegmentClassifier, load
from structlearn.estimators import SegmentTagger

SENTENCES = [
    "Anna Smith lives in New York City",
    "we saw Bob in London",
    "nothing here",
    "Ms Jane Doe left Paris",
]
SPANS = [[(0, 2, "PER"), (4, 7, "LOC")], [(2, 3, "PER"), (4, 5, "LOC")], [], [(0, 3, "PER"), (4, 5, "LOC")]]
OPTIONS = {"regularization": 0.01, "tol": 1e-3, "random_state": 0}


def tokens(sentence):
    return [{"word": word.lower(), "capital": word[0].isupper()} for word in sentence.split()]


def phrase(sentence, start, end):
    return ["_".join(token["word"] for token in sentence[start:end])]


def tags(spans, length):
    found = ["O"] * length
    for start, end, label in spans:
        found[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return found


X = [tokens(sentence) for sentence in SENTENCES]
TAGS = [tags(spans, len(one)) for spans, one in zip(SPANS, X)]


@pytest.fixture(scope="module")
def crf():
    return SegmentClassifier(loss="softmax", **OPTIONS).fit(X, SPANS)


# ---- training -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "softmax", "sparsemax"])
def test_spans_are_learnt_with_a_certificate(loss):
    model = SegmentClassifier(loss=loss, **OPTIONS).fit(X, SPANS)
    assert model.certificate_.gap <= 1e-3
    assert model.predict(X) == SPANS
    assert model.score(X, SPANS) == 1.0
    assert model.classes_.tolist() == ["LOC", "PER"]
    assert model.structure_.max_length == 3  # the longest of the data
    assert (model.coef_.shape, model.transition_coef_.shape) == ((7, model.n_features_in_), (3, 3))
    assert model.length_coef_.shape == (3, 2)


def test_two_solvers_reach_one_optimum():
    one, other = (
        SegmentClassifier(loss="softmax", solver=solver, **{**OPTIONS, "tol": 1e-5}).fit(X, SPANS)
        for solver in ("sdca", "lbfgs")
    )
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, abs=2e-5)
    assert other.certificate_.dual <= one.certificate_.primal


def test_arrays_and_sparse_matrices_are_the_same_problem():
    rng = np.random.default_rng(0)
    dense = [rng.normal(size=(len(one), 4)) for one in X]
    first = SegmentClassifier(**OPTIONS).fit(dense, SPANS)
    second = SegmentClassifier(**OPTIONS).fit([sparse.csr_matrix(one) for one in dense], SPANS)
    assert first.certificate_.primal == pytest.approx(second.certificate_.primal, abs=2e-3)


def test_spans_that_cover_everything_have_no_gaps():
    covered = [[(0, len(one) - 1, "a"), (len(one) - 1, len(one), "b")] for one in X]
    model = SegmentClassifier(loss="softmax", **OPTIONS).fit(X, covered)
    assert not model.structure_.gaps
    assert model.predict_marginals(X)[0].shape == (7, 2)
    assert model.predict(X[:1]) == covered[:1]


def test_segments_of_one_token_are_no_better_than_a_chain():
    """With spans of one token and no other, a label per token says the same; the model has more weights."""
    single = [[(t, t + 1, "ab"[t % 2]) for t in range(len(one))] for one in X]
    labels = [[label for _, _, label in one] for one in single]
    options = {**OPTIONS, "loss": "softmax", "tol": 1e-4}
    chain = ChainClassifier(**options).fit(X, labels).certificate_.primal
    assert SegmentClassifier(**options).fit(X, single).certificate_.primal < chain


# ---- answers --------------------------------------------------------------------------------------------


def test_probabilities_of_spans_are_sums_over_segmentations(crf):
    best = crf.predict_kbest_proba(X, 100_000)
    for found, all_of_it, table in zip(crf.predict_spans(X), best, crf.predict_marginals(X)):
        assert sum(share for _, share in all_of_it) == pytest.approx(1.0)
        for start, end, label, probability in found:
            expected = sum(share for spans, share in all_of_it if (start, end, label) in spans)
            assert probability == pytest.approx(expected)
        inside = sum(share for spans, share in all_of_it if any(a <= 1 < b for a, b, _ in spans))
        assert table[1, :2].sum() == pytest.approx(inside)
        assert table.sum(axis=1) == pytest.approx(1.0)


def test_log_probability_is_that_of_the_k_best(crf):
    for i, best in enumerate(crf.predict_kbest_proba(X, 3)):
        for spans, share in best:
            assert crf.log_probability([X[i]], [spans])[0] == pytest.approx(np.log(share))
    assert crf.log_probability(X[:1], [[(0, 1, "ORG")]])[0] == -np.inf
    assert crf.log_probability(X[:1], [[(0, 5, "PER")]])[0] == -np.inf  # longer than any


def test_calibration_and_conformal_sets(crf):
    model = clone(crf).fit(X, SPANS)
    assert model.calibrate(X, SPANS).temperature == model.temperature_
    sets = model.conformalize(X, SPANS).predict_sets(X, coverage=0.7)
    assert sum(spans in found for spans, found in zip(SPANS, sets)) >= 3


def test_empty_sentences_have_no_spans(crf):
    assert crf.predict([X[0], [], X[1]]) == [SPANS[0], [], SPANS[1]]
    assert crf.predict_spans([[], X[2]]) == [[], []]
    assert crf.predict_marginals([[], X[2]])[0].shape == (0, 3)
    assert crf.predict_kbest([[], X[2]])[0] == [([], 0.0)]
    assert crf.predict([]) == []


def test_the_hinge_has_no_probabilities():
    model = SegmentClassifier(**OPTIONS, loss="hinge").fit(X, SPANS)
    with pytest.raises(AttributeError, match="no marginals"):
        model.predict_marginals(X)
    with pytest.raises(AttributeError, match="no distribution"):
        model.predict_spans(X)
    with pytest.raises(NotFittedError):
        SegmentClassifier().predict(X)


# ---- features of whole segments ---------------------------------------------------------------------------


def test_features_of_segments_tell_what_tokens_cannot(tmp_path):
    """Words in either order: only the phrase says which pairs are names."""
    words = ["a b", "b a", "a c", "c b"] * 3
    given = [tokens(f"{one} x") for one in words]
    spans = [[(0, 2, "N")] if one in ("a b", "c b") else [(0, 1, "N")] for one in words]
    options = {**OPTIONS, "loss": "softmax", "segment_bits": 8}
    plain = SegmentClassifier(**options).fit(given, spans)
    model = SegmentClassifier(segment_features=phrase, **options).fit(given, spans)
    assert model.certificate_.primal < plain.certificate_.primal
    assert model.predict(given) == spans
    model.save(tmp_path / "model.st")
    again = load(tmp_path / "model.st")
    with pytest.raises(ValueError, match="set_params"):
        again.predict(given)
    assert again.set_params(segment_features=phrase).predict(given) == spans


# ---- files, refusals --------------------------------------------------------------------------------------


def test_models_come_back_from_files(crf, tmp_path):
    crf.save(tmp_path / "model.st")
    again = load(tmp_path / "model.st")
    assert type(again) is SegmentClassifier
    assert again.predict_spans(X) == crf.predict_spans(X)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (
            [[(0, 2, "PER"), (1, 3, "LOC")], *SPANS[1:]],
            r"Sentence 0 has the span \(1, 3\), which begins before 2",
        ),
        (
            [SPANS[0], [(4, 5, "LOC"), (2, 3, "PER")], *SPANS[2:]],
            r"Sentence 1 has the span \(2, 3\).* in order",
        ),
        ([*SPANS[:2], [(1, 3, "PER")], SPANS[3]], r"Sentence 2 has the span \(1, 3\), outside its 2 tokens"),
        ([*SPANS[:2], [(1, 1, "PER")], SPANS[3]], "has no token"),
        ([*SPANS[:2], [(1, "PER")], SPANS[3]], r"Sentence 2 has the span \(1, 'PER'\); a span is"),
        ([*SPANS[:2], [(0.5, 1, "PER")], SPANS[3]], "the first two integers"),
        ([*SPANS[:2], [(0, 1, None)], SPANS[3]], "without a label"),
        ([*SPANS[:2], [(0, 1, float("nan"))], SPANS[3]], "Sentence 2 has the label nan; labels are"),
        ([*SPANS[:2], "no", SPANS[3]], "The spans of sentence 2 must be a list"),
        ([*SPANS[:2], [(0, 1, 3)], SPANS[3]], "mixes strings and numbers"),
        ([[], [], [], []], "no span at all"),
        (SPANS[:3], "4 examples but y has 3"),
    ],
)
def test_spans_that_cannot_be_are_refused(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        SegmentClassifier().fit(X, y)


@pytest.mark.parametrize("most", [0, 2.5, "long"])
def test_max_length_is_a_number_of_tokens(most):
    with pytest.raises(ValueError, match="max_length must be a number of tokens"):
        SegmentClassifier(max_length=most).fit(X, SPANS)


def test_a_span_longer_than_max_length_is_named():
    with pytest.raises(ValueError, match=r"Sentence 0 has the span \(4, 7\), of 3 tokens; .* has 2"):
        SegmentClassifier(max_length=2).fit(X, SPANS)


# ---- tags -------------------------------------------------------------------------------------------------


def test_a_tagger_of_segments_is_the_same_model(crf, tmp_path):
    model = SegmentTagger(loss="softmax", **OPTIONS).fit(X, TAGS)
    np.testing.assert_allclose(model.weights_, crf.weights_)
    assert [one.tolist() for one in model.predict(X)] == TAGS
    assert model.score(X, TAGS) == 1.0
    assert model.predict_spans(X) == crf.predict_spans(X)
    assert model.log_probability(X, TAGS) == pytest.approx(crf.log_probability(X, SPANS))
    for table, same in zip(model.predict_marginals(X), crf.predict_marginals(X)):
        np.testing.assert_allclose(table[:, 1::2] + table[:, 2::2], same[:, :2])
        np.testing.assert_allclose(table[:, 0], same[:, 2])
    assert model.predict_kbest(X, 2)[0][0][0].tolist() == TAGS[0]
    assert model.calibrate(X, TAGS).temperature > 0
    assert model.conformalize(X, TAGS).predict_sets(X, coverage=0.5)[0][0].tolist() == TAGS[0]
    model.save(tmp_path / "model.st")
    assert [one.tolist() for one in load(tmp_path / "model.st").predict(X)] == TAGS
    with pytest.raises(ValueError, match="allowed goes with chains"):
        model.predict(X, [None] * 4)
    for ask in (model.predict_marginals, model.predict_kbest, model.predict_spans):
        with pytest.raises(ValueError, match="allowed goes with chains"):
            ask(X, allowed=[None] * 4)
    with pytest.raises(ValueError, match="Sentence 2 has 2 rows of features but 1 labels"):
        SegmentTagger().fit(X, [*TAGS[:2], ["O"], TAGS[3]])
