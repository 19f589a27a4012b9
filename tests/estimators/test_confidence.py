"""Probabilities of spans and labellings, calibration and conformal sets of `ChainClassifier`."""

from copy import deepcopy
from itertools import pairwise, product

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from model_files import contents, rewrite
from structlearn import ChainClassifier, load
from structlearn.estimators.confidence.calibration import Reliability
from structlearn.estimators.confidence.conformal import examples_needed, largest_score, outputs_above
from structlearn.estimators.inputs.spans import spans
from structlearn.structures import Chain

TAGS = np.array(["B-X", "I-X", "O"])


def sequences(n, seed, most=6):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(length, 2)) for length in rng.integers(1, most, n)]


def chain_of(weights, *, scale=1.0, **parameters):
    """A chain of three tags that is as if it were trained: features and a constant, transitions."""
    model = ChainClassifier(**{"loss": "softmax", **parameters})
    model.classes_, model.n_features_in_ = TAGS, 2
    model.structure_, model.weights_ = Chain(3), scale * weights
    return model


@pytest.fixture(scope="module")
def truth():
    return chain_of(1.2 * np.random.default_rng(1).normal(size=18))


@pytest.fixture(scope="module")
def trained_once():
    X = sequences(60, 2)
    truth = chain_of(1.5 * np.random.default_rng(1).normal(size=18))
    y = [one[0] for one in truth.sample(X, 1, 3)]
    return ChainClassifier(loss="softmax", random_state=0).fit(X, y), X, y


@pytest.fixture
def trained(trained_once):
    """The same for every test, which may calibrate it."""
    return deepcopy(trained_once)


def drawn(truth, n, seed, most=6):
    X = sequences(n, seed, most)
    return X, [one[0] for one in truth.sample(X, 1, seed + 1)]


def enumerated(model, x):
    """All labellings of a sequence, and their probabilities."""
    scores, step = model.decision_function([x])[0], model.transition_coef_
    outputs = list(product(range(3), repeat=len(x)))
    values = np.array(
        [scores[range(len(x)), y].sum() + sum(step[j, k] for j, k in pairwise(y)) for y in outputs]
    )
    values /= getattr(model, "temperature_", 1.0)
    return [TAGS[list(y)] for y in outputs], np.exp(values - np.logaddexp.reduce(values))


@pytest.mark.parametrize("temperature", [None, 2.5])
def test_probabilities_against_enumeration(truth, temperature):
    model = chain_of(truth.weights_)
    if temperature:
        model.temperature_ = temperature
    X = [*sequences(5, 0), np.empty((0, 2))]
    found, best = model.predict_spans(X), model.predict_kbest_proba(X, 4)
    for x, those, ranked, own, table in zip(
        X[:-1], found, best, model.predict(X), model.predict_marginals(X)
    ):
        outputs, shares = enumerated(model, x)
        sets = [{(a, b, kind) for kind, a, b in spans(y)} for y in outputs]
        assert [(kind, a, b) for a, b, kind, _ in those] == spans(own)
        for *span, share in those:
            assert share == pytest.approx(sum(p for p, one in zip(shares, sets) if tuple(span) in one))
        for (y, share), k in zip(ranked, np.argsort(-shares), strict=False):
            assert y.tolist() == outputs[k].tolist()
            assert share == pytest.approx(shares[k])
        logs = model.log_probability([x] * len(outputs), outputs)
        np.testing.assert_allclose(np.exp(logs), shares, rtol=1e-9)
        labels = np.array(outputs)
        expected = [[shares[labels[:, t] == tag].sum() for tag in TAGS] for t in range(len(x))]
        np.testing.assert_allclose(table, expected, atol=1e-9)
    assert found[-1] == []
    ((nothing, one),) = best[-1]
    assert (nothing.size, one) == (0, 1.0)
    assert model.log_probability(X[-1:], [[]]) == [0.0]


def test_samples_are_of_the_tempered_distribution(truth):
    model, (x,) = chain_of(truth.weights_), sequences(1, 9)
    model.temperature_ = 3.0
    outputs, shares = enumerated(model, x)
    names = ["".join(y) for y in model.sample([x], 20_000, 0)[0]]
    assert names.count("".join(outputs[0])) / 20_000 == pytest.approx(shares[0], abs=0.015)


def test_labels_that_the_model_does_not_know_have_probability_zero(truth):
    X = [np.zeros((2, 2))]
    assert truth.log_probability(X, [["O", "B-Y"]]) == -np.inf
    assert truth.reliability(X, [["O", "B-Y"]]).left_out == 1
    with pytest.raises(ValueError, match="allows none of the labellings in y"):
        truth.calibrate(X, [["O", "B-Y"]])
    with pytest.raises(ValueError, match="allows none of the labellings in y"):
        truth.conformalize(X, [["O", "B-Y"]])


@pytest.mark.parametrize("labels", [["O"], ["O"] * 3])
def test_labellings_of_another_length_are_refused(truth, labels):
    with pytest.raises(ValueError, match=f"Sequence 0 has 2 rows of features but {len(labels)} labels"):
        truth.log_probability([np.zeros((2, 2))], [labels])
    with pytest.raises(ValueError, match="Sequence 0 is empty, but its labelling is not"):
        truth.conformalize([np.zeros((0, 2))], [labels])
    with pytest.raises(ValueError, match="X has 2 examples but y has 1"):
        truth.log_probability([np.zeros((2, 2))] * 2, [labels])


def test_reliability_counts_by_tenths():
    found = Reliability.of([(0.05, False), (0.96, True), (1.0, False), (0.98, True)])
    assert found.counts.tolist() == [1, *[0] * 8, 3]
    assert found.confidence[[0, 9]] == pytest.approx([0.05, 0.98])
    assert found.accuracy[[0, 9]] == pytest.approx([0, 2 / 3])
    assert found.error == pytest.approx(0.25 * 0.05 + 0.75 * (0.98 - 2 / 3))
    assert Reliability.of([]).error == 0.0


def test_calibration_undoes_a_scale(truth):
    """Scores three times too large are those of the truth at T = 3; then probabilities are frequencies."""
    X, y = drawn(truth, 1500, 20)
    model = chain_of(truth.weights_, scale=3.0)
    found = model.calibrate(X, y)
    assert found.temperature == model.temperature_ == pytest.approx(3.0, rel=0.07)
    before, after = found.before, found.after
    assert before.left_out == after.left_out == 0
    assert after.log_likelihood > before.log_likelihood
    for name in ("labels", "spans"):
        assert getattr(before, name).error > 0.08
        assert getattr(after, name).error < 0.03
    for one, other in zip(model.predict_marginals(X[:5]), chain_of(truth.weights_).predict_marginals(X[:5])):
        np.testing.assert_allclose(one, other, atol=0.05)
    X, y = drawn(truth, 1500, 30)  # and on other data
    assert model.reliability(X, y).spans.error < 0.03
    right = [np.array_equal(a, b) for a, b in zip(model.predict(X), y)]
    sure = [best[0][1] for best in model.predict_kbest_proba(X, 1)]
    assert np.mean(right) == pytest.approx(np.mean(sure), abs=0.04)


def test_the_temperature_is_the_most_likely_one(truth):
    X, y = drawn(truth, 100, 40)
    model = chain_of(truth.weights_, scale=0.5)
    best = model.calibrate(X, y).after.log_likelihood
    for factor in (0.9, 1.1):
        model.temperature_ *= factor
        assert model.log_probability(X, y).mean() < best
        model.temperature_ /= factor


@pytest.mark.parametrize("loss", ["softmax", "hinge"])
def test_sets_cover_what_they_promise(truth, loss):
    """Over many draws of calibration and test data, within three binomial errors; the model may be wrong."""
    n, m, rounds, coverage = 39, 40, 60, 0.9
    X, y = drawn(truth, (n + m) * rounds, 50, most=5)
    wrong = truth.weights_ + 0.7 * np.random.default_rng(8).normal(size=18)
    covered = []
    for a in range(0, len(X), n + m):
        b, c = a + n, a + n + m
        model = chain_of(wrong, loss=loss).conformalize(X[a:b], y[a:b])
        sets = [{"".join(y) for y in one} for one in model.predict_sets(X[b:c], coverage)]
        covered.append(np.mean(["".join(true) in one for one, true in zip(sets, y[b:c])]))
    error = np.sqrt(coverage * (1 - coverage) * (1 / (n + 2) + 1 / m) / rounds)
    assert coverage - 3 * error < np.mean(covered) < coverage + 1 / (n + 1) + 3 * error


@pytest.mark.parametrize("loss", ["softmax", "hinge"])
def test_a_set_is_of_all_labellings_that_conform(truth, loss):
    X, y = drawn(truth, 30, 60)
    model = chain_of(truth.weights_, loss=loss).conformalize(X, y)
    q = np.sort(model.conformal_scores_)[int(np.ceil(31 * 0.8)) - 1]
    for x, found in zip(X, model.predict_sets(X, 0.8)):
        outputs, shares = enumerated(model, x)
        scores = -np.log(shares if loss == "softmax" else shares / shares.max())
        expected = {"".join(one) for one, score in zip(outputs, scores) if score <= q * (1 + 1e-9)}
        expected.add("".join(outputs[np.argmax(shares)]))
        assert {"".join(one) for one in found} == expected
        assert found[0].tolist() == model.predict([x])[0].tolist()
    small = model.predict_sets(X, 0.95, max_size=3)
    for one, whole in zip(small, model.predict_sets(X, 0.95)):
        assert (one is None) == (len(whole) > 3)
    assert None in small
    ((nothing,),) = model.predict_sets([np.empty((0, 2))])
    assert nothing.size == 0


def test_outputs_above_asks_for_more():
    scores = -np.arange(100.0)
    asked = []

    def k_best(k):
        asked.append(k)
        return np.arange(100)[:k], scores[:k]

    assert outputs_above(k_best, -40.0, 1000) == list(range(41))
    assert asked == [8, 32, 128]
    assert outputs_above(k_best, -40.0, 41) == list(range(41))
    assert outputs_above(k_best, -40.0, 40) is None
    assert outputs_above(k_best, -1e9, 100) == list(range(100))
    assert outputs_above(k_best, 5.0, 1) == [0]


@pytest.mark.parametrize(("coverage", "n"), [(0.5, 1), (0.9, 9), (0.95, 19), (0.99, 99), (0.8, 4)])
def test_examples_that_a_coverage_needs(coverage, n):
    assert examples_needed(coverage) == n
    scores = np.arange(float(n))
    assert largest_score(scores, n, coverage) == n - 1
    with pytest.raises(ValueError, match=f"of coverage {coverage:g} need {n} examples .* it had {n - 1}"):
        largest_score(scores[1:], n - 1, coverage)
    with pytest.raises(ValueError, match=f"{n} examples in conformalize have labels that the model does not"):
        largest_score(scores[1:], n, coverage)


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 1.5, np.nan])
def test_coverage_is_between_zero_and_one(truth, coverage):
    X, y = drawn(truth, 10, 70)
    with pytest.raises(ValueError, match=r"between 0 and 1, both excluded; got"):
        truth.conformalize(X, y).predict_sets(X, coverage)


def test_what_is_refused(truth, trained):
    model, X, _ = trained
    with pytest.raises(ValueError, match="call conformalize with data that was used for nothing else"):
        model.predict_sets(X)
    with pytest.raises(ValueError, match="max_size must be at least 1; got 0"):
        truth.conformalize(*drawn(truth, 10, 70)).predict_sets(X, max_size=0)
    hinge = chain_of(truth.weights_, loss="hinge")
    for ask in (hinge.predict_spans, hinge.predict_kbest_proba):
        with pytest.raises(
            AttributeError, match="loss='hinge' is no distribution over sequences; train with"
        ):
            ask(X)
    for ask in (hinge.log_probability, hinge.calibrate, hinge.reliability):
        with pytest.raises(
            AttributeError, match="loss='hinge' is no distribution over sequences; train with"
        ):
            ask(X, [["O"] * len(x) for x in X])
    for ask in (model.predict_spans, model.predict_kbest_proba, truth.predict_sets):
        assert ask([]) == []
    with pytest.raises(NotFittedError):
        ChainClassifier(loss="softmax").predict_spans(X)


def test_files_keep_it_and_another_fit_forgets_it(trained, tmp_path):
    model, X, y = trained
    plain = tmp_path / "plain.st"
    model.save(plain)
    before = load(plain).predict_spans(X)
    assert not hasattr(load(plain), "temperature_")
    model.calibrate(X, y)
    model.conformalize(X, y)
    path = tmp_path / "model.st"
    model.save(path)
    same = load(path)
    assert (contents(plain)[0]["version"], contents(path)[0]["version"]) == (3, 6)
    assert same.temperature_ == model.temperature_ != 1.0
    assert same.predict_spans(X) == model.predict_spans(X) != before
    for one, other in zip(same.predict_sets(X, 0.8), model.predict_sets(X, 0.8)):
        np.testing.assert_array_equal(one, other)
    assert same.calibrate(X, y).temperature == pytest.approx(model.temperature_, rel=1e-3)
    assert not hasattr(same, "conformal_scores_")  # those of other probabilities
    same.fit(X, y)
    assert not hasattr(same, "temperature_")


@pytest.mark.parametrize(
    ("name", "value"), [("temperature_", -1), ("temperature_", "x"), ("n_conformal_", -1)]
)
def test_damaged_files_are_refused(trained, tmp_path, name, value):
    path = tmp_path / "model.st"
    trained[0].save(path)
    rewrite(path, lambda header, _: header["fitted"].update({name: value}))
    with pytest.raises(ValueError, match=f"is damaged: fitted.{name} must be"):
        load(path)
