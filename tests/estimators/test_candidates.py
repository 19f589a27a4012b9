"""Candidate labels by a tag dictionary: training and predictions over candidates alone."""

from __future__ import annotations

import json
import warnings
from collections import Counter, defaultdict
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

import structlearn
from structlearn import ChainClassifier, Tagger, runtime
from structlearn.structures import Chain, SparseChain

MIN_COUNT = 4


def sentences(n=14, seed=0):
    """Words w0 .. w9, the first of which are frequent, with one or two labels each."""
    rng = np.random.default_rng(seed)
    words = [np.minimum(rng.geometric(0.3, rng.integers(1, 5)) - 1, 9).tolist() for _ in range(n)]
    y = [[f"L{min(word + int(rng.random() < 0.3), 3)}" for word in one] for one in words]
    return [[[f"word=w{word}", f"odd={word % 2}"] for word in one] for one in words], y


def fitted(**options):
    usual = {"regularization": 0.1, "tol": 1e-5, "max_passes": 1000, "random_state": 0}
    usual |= {"candidates": "word", "candidate_min_count": MIN_COUNT}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ChainClassifier(**usual | options).fit(*sentences())


def candidates(X):
    """The candidates of every token, by counting: independent of `TagDictionary`."""
    train, y = sentences()
    words = [token[0] for one in train for token in one]
    labels = [label for one in y for label in one]
    counts, seen, rare = Counter(words), defaultdict(set), set()
    for word, label in zip(words, labels):
        (seen[word] if counts[word] >= MIN_COUNT else rare).add(label)
    assert 0 < len(rare) < 4  # otherwise the tests below say little
    return [[sorted(seen.get(token[0], rare)) for token in one] for one in X]


def scores_of(model, tokens, y):
    """The score of a labelling, from the weights by name."""
    names, classes = model.features_.names_, model.classes_.tolist()
    codes = [classes.index(label) for label in y]
    total = sum(model.transition_coef_[pair] for pair in pairwise(codes))
    for token, k in zip(tokens, codes):
        total += model.intercept_[k] + sum(model.coef_[k, names.index(name)] for name in token)
    return total


def every(model, X):
    """Per sentence, all labellings of candidates and their scores."""
    found = []
    for tokens, here in zip(X, candidates(X)):
        known = [[name for name in token if name in model.features_.names_] for token in tokens]
        labellings = list(product(*here))
        found.append((labellings, np.array([scores_of(model, known, y) for y in labellings])))
    return found


def test_training_finds_the_optimum_over_candidates():
    X, y = sentences()
    model = fitted()
    names, classes = model.features_.names_, model.classes_.tolist()
    n, k = len(names) + 1, len(classes)

    def features(tokens, labels):
        table, steps = np.zeros((n, k)), np.zeros((k, k))
        codes = [classes.index(label) for label in labels]
        for token, code in zip(tokens, codes):
            table[[*(names.index(name) for name in token), n - 1], code] += 1
        for pair in pairwise(codes):
            steps[pair] += 1
        return np.concatenate([table.ravel(), steps.ravel()])

    tables = [
        np.array([features(tokens, one) for one in product(*here)]) - features(tokens, labels)
        for tokens, labels, here in zip(X, y, candidates(X))
    ]

    def primal(w):
        value, slope = model.regularization / 2 * w @ w, model.regularization * w
        for table in tables:
            theta = table @ w
            log_z = logsumexp(theta)
            value, slope = value + log_z / len(X), slope + np.exp(theta - log_z) @ table / len(X)
        return value, slope

    best = minimize(primal, np.zeros(model.weights_.size), jac=True, method="BFGS", options={"gtol": 1e-8})
    assert model.certificate_.dual <= best.fun + 1e-9
    assert model.certificate_.primal == pytest.approx(primal(model.weights_)[0], rel=1e-10)
    assert model.certificate_.primal - best.fun <= 1e-4
    assert "over candidate labels of a tag dictionary" in model.certificate_.status


@pytest.mark.parametrize("options", [{}, {"transitions": "seen", "features": "seen"}, {"n_jobs": 2}])
def test_answers_are_those_of_all_labellings_of_candidates(options):
    model, X = fitted(**options), sentences(9, seed=1)[0]
    if "features" in options:
        assert isinstance(model.structure_, SparseChain)
    rows = zip(every_by(model, X), model.predict(X), model.predict_marginals(X), model.predict_kbest(X, 2))
    classes = model.classes_.tolist()
    for (labellings, scores), best, table, ranked in rows:
        top = scores.max()
        assert scores[labellings.index(tuple(best.tolist()))] == pytest.approx(top)
        assert ranked[0][1] == pytest.approx(top)
        assert len(ranked) == min(2, len(labellings))
        shares = np.exp(scores - logsumexp(scores))
        expected = np.zeros(table.shape)
        for y, share in zip(labellings, shares):
            for t, label in enumerate(y):
                expected[t, classes.index(label)] += share
        np.testing.assert_allclose(table, expected, atol=1e-10)
        assert (table[expected == 0] == 0).all()


def every_by(model, X):
    """`every`, for weights that may be those of seen pairs."""
    dense = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_

    class Named:
        features_, classes_, coef_ = model.features_, model.classes_, dense
        intercept_, transition_coef_ = model.intercept_, model.transition_coef_

    return every(Named, X)


def test_whole_labellings_have_probabilities_and_samples_among_candidates():
    model, X = fitted(), sentences(6, seed=2)[0]
    for (labellings, scores), tokens in zip(every(model, X), X):
        total = model.log_probability([tokens] * len(labellings), [list(y) for y in labellings])
        np.testing.assert_allclose(total, scores - logsumexp(scores), atol=1e-9)
        drawn = model.sample([tokens], 5, random_state=0)[0]
        assert {tuple(one) for one in drawn.tolist()} <= set(labellings)


def test_allowed_labels_replace_the_candidates_of_a_token():
    model, (X, _) = fitted(), sentences()
    (found,) = model.predict([X[0]], allowed=[[{"L3"}, *[None] * (len(X[0]) - 1)]])
    assert found[0] == "L3"
    others = model.predict([X[0]], allowed=[[None] * len(X[0])])
    assert others[0].tolist() == model.predict([X[0]])[0].tolist()


def test_empty_sentences_and_unknown_words_have_answers():
    model = fitted()
    found = model.predict([[], [["word=never"]], []])
    assert [len(one) for one in found] == [0, 1, 0]
    assert found[1][0] in candidates([[["word=never"]]])[0][0]
    assert [len(one) for one in model.predict_marginals([[], [["word=never"]]])] == [0, 1]


@pytest.mark.parametrize("loss", ["hinge", "sparsemax", "softmax"])
def test_solvers_agree(loss):
    solvers = {"hinge": ("bcfw", "fw"), "sparsemax": ("sdca",), "softmax": ("sdca", "lbfgs")}[loss]
    found = [fitted(loss=loss, solver=one, tol=1e-3).certificate_ for one in ("auto", *solvers)]
    assert max(one.dual for one in found) <= min(one.primal for one in found) + 1e-9
    assert max(one.gap for one in found) < 0.01


def test_a_dictionary_of_no_rare_words_leaves_unknown_words_all_labels():
    X, y = sentences()
    model = ChainClassifier(candidates="word", candidate_min_count=1, tol=0.01, random_state=0).fit(X, y)
    assert (model.predict_marginals([[["word=never"]]])[0] > 0).all()


def test_fitting_again_and_going_on(tmp_path):
    X, y = sentences()
    model = fitted(warm_start=True)
    before = model.certificate_.primal
    model.fit(X, y)
    assert model.certificate_.primal <= before + 1e-9
    assert model.certificate_.passes <= 2
    model.set_params(candidates=None).fit(X, y)
    assert not hasattr(model, "candidate_starts_")
    assert "dictionary" not in model.certificate_.status
    model.set_params(candidates="odd", candidate_min_count=1).fit(X, y)
    assert model.candidate_columns_.size == 2
    assert type(model.structure_) is Chain


def test_models_are_saved_and_loaded(tmp_path):
    model, X = fitted(), sentences(9, seed=1)[0]
    model.save(tmp_path / "model.safetensors")
    again = structlearn.load(tmp_path / "model.safetensors")
    assert all((a == b).all() for a, b in zip(model.predict(X), again.predict(X)))
    assert all((a == b).all() for a, b in zip(model.predict_marginals(X), again.predict_marginals(X)))
    raw = (tmp_path / "model.safetensors").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(json.loads(raw[8 : 8 + size])["__metadata__"]["structlearn"])
    assert header["version"] == 11


@pytest.mark.parametrize(
    ("columns", "first", "labels", "words"),
    [
        ([0, 99], [0, 1, 2, 3], [0, 1, 2], "no columns"),
        ([1, 0], [0, 1, 2, 3], [0, 1, 2], "no columns"),
        ([0], [0, 1, 2], [0, 7], "out of range"),
        ([0], [0, 1, 1], [0], "out of range"),
        ([0], [0, 2, 3], [1, 0, 2], "not in order"),
        ([0], [0, 1], [0], "out of range"),
    ],
)
def test_dictionaries_that_are_none_are_refused(columns, first, labels, words):
    model = fitted()
    found = map(np.array, (columns, first, labels))
    model.candidate_columns_, model.candidate_starts_, model.candidate_labels_ = found
    with pytest.raises(ValueError, match=words):
        model._weight_counts()  # as a reader of model files checks it


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"candidates": 3}, "name of a feature"),
        ({"candidates": "pos"}, "there are none"),
        ({"candidate_min_count": 0}, "at least 1"),
        ({"start": True}, "does not go with start"),
        ({"constraints": [("L0", "L1")]}, "does not go with constraints"),
        ({"transition_features": [0]}, "does not go with transition_features"),
    ],
)
def test_what_does_not_go_with_candidates_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        fitted(**options)


def test_arrays_and_partly_labelled_sentences_are_refused():
    X, y = [np.eye(3)], [[0, 1, 0]]
    with pytest.raises(ValueError, match="arrays have no words"):
        ChainClassifier(candidates="word").fit(X, y)
    X, y = sentences()
    with pytest.raises(ValueError, match="partly labelled"):
        ChainClassifier(candidates="word").fit(X, [[None] * len(y[0]), *y[1:]])


# ---- taggers --------------------------------------------------------------------------------------------


def tagged():
    X, y = sentences(60)
    words = [[token[0].removeprefix("word=") for token in one] for one in X]
    return words, y


def test_taggers_look_words_up(tmp_path):
    X, y = tagged()
    tagger = Tagger(candidates="word", candidate_min_count=8, random_state=0).fit(X, y)
    counts, seen = Counter(word for one in X for word in one), defaultdict(set)
    for words, labels in zip(X, y):
        for word, label in zip(words, labels):
            seen[word].add(label)
    frequent = [word for word, count in counts.items() if count >= 8]
    assert tagger.chain_.candidate_columns_.size == len(frequent)
    for word in frequent:
        table = tagger.predict_marginals([[word]])[0][0]
        assert set(tagger.classes_[table > 0].tolist()) == seen[word]
    tagger.save(tmp_path / "tagger.safetensors")
    again = Tagger.load(tmp_path / "tagger.safetensors")
    assert again.get_params()["candidates"] == "word"
    assert [one.tolist() for one in again.predict(X)] == [one.tolist() for one in tagger.predict(X)]


def test_small_and_sparse_models_keep_the_keys(tmp_path, monkeypatch):
    monkeypatch.setattr("structlearn.tagging.small.FEW", 1)
    X, y = tagged()
    for options in ({"penalty": "l1", "regularization": 0.02}, {"features": "seen"}):
        tagger = Tagger(candidates="word", candidate_min_count=8, random_state=0, **options).fit(X, y)
        tagger.save(tmp_path / "tagger.safetensors")
        again = Tagger.load(tmp_path / "tagger.safetensors")
        assert again.chain_.n_features_in_ <= tagger.chain_.n_features_in_
        assert [one.tolist() for one in again.predict(X)] == [one.tolist() for one in tagger.predict(X)]


def test_patterns_have_keys_by_their_names():
    X, y = tagged()
    tagger = Tagger(templates="u:w=%x[0,0]\nu:l=%x[-1,0]\nb", candidates="u:w", random_state=0).fit(X, y)
    assert tagger.chain_.candidate_columns_.size > 2


def test_what_taggers_cannot_look_up_is_refused():
    X, y = tagged()
    with pytest.raises(ValueError, match="not among the templates"):
        Tagger(candidates="pos").fit(X, y)
    with pytest.raises(ValueError, match="told apart"):
        Tagger(candidates="word", hash_bits=10).fit(X, y)
    with pytest.raises(ValueError, match="model='chain'"):
        Tagger(candidates="word", model="segments").fit(X, y)


def test_other_tools_have_no_place_for_a_dictionary(tmp_path):
    from structlearn.tagging.exchange.formats import export_tagger

    tagger = Tagger(candidates="word", random_state=0).fit(*tagged())
    with pytest.raises(ValueError, match="tag dictionary"):
        export_tagger(tagger, tmp_path / "model.crfsuite", "crfsuite")
    tagger.save(tmp_path / "tagger.safetensors")
    with pytest.raises(ValueError, match="tag dictionaries"):
        runtime.load(tmp_path / "tagger.safetensors")
