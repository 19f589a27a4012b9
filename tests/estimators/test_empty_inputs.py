"""Empty inputs: no examples have no answers, an empty sequence an empty one; neither is learnt from."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from structlearn import ChainClassifier, TreeParser
from structlearn.data import make_chains
from structlearn.estimators.inputs.checking import Stacked

SEQUENCE_LIKE = ["chain", "matching", "segmentation", "structured"]


@pytest.mark.parametrize("name", SEQUENCE_LIKE)
def test_no_examples_have_no_predictions(make, name):
    estimator, X, y = make(name)
    with pytest.raises(NotFittedError):
        estimator.predict([])
    estimator.fit(X, y)
    assert estimator.predict([]) == []
    assert estimator.decision_function([]) == []
    assert estimator.predict(np.empty((0, 2, 3))) == []


@pytest.fixture(scope="module")
def crf():
    X, y = make_chains(12, (1, 5), 3, 4, random_state=0)
    return ChainClassifier(loss="softmax", regularization=0.1, tol=0.01, random_state=0).fit(X, y), X, y


def emptied(X):
    """The sequences with empty ones among them, in three forms."""
    d = X[0].shape[1]
    dense = [np.empty((0, d)), X[0], [], X[1], np.empty((0, d))]
    rows = np.concatenate([X[0], X[1]])
    lengths = np.array([0, len(X[0]), 0, len(X[1]), 0])
    yield dense
    yield Stacked(rows, lengths)
    yield Stacked(sparse.csr_matrix(rows), lengths)


def test_empty_sequences_have_empty_answers(crf):
    """Such sequences once reached Viterbi, which corrupted memory."""
    model, X, _ = crf
    full = X[:2]
    for given in emptied(X):
        for found, expected, nothing in [
            (model.predict(given), model.predict(full), (0,)),
            (model.predict_marginals(given), model.predict_marginals(full), (0, 3)),
            (model.decision_function(given), model.decision_function(full), (0, 3)),
        ]:
            assert [found[i].shape for i in (0, 2, 4)] == [nothing] * 3
            for one, other in zip([found[1], found[3]], expected, strict=True):
                np.testing.assert_allclose(one, other)
        assert found[0].dtype == np.float64
        assert model.predict(given)[0].dtype == model.classes_.dtype
        ((labels, score),) = model.predict_kbest(given, 3)[2]
        assert (labels.size, score) == (0, 0.0)
        assert [one.shape for one in model.sample(given, 2, 0)][:2] == [(2, 0), (2, len(X[0]))]


def test_only_empty_sequences(crf):
    model, X, _ = crf
    for given in ([[]], [np.empty((0, 4))] * 3, Stacked(np.empty((0, 4)), np.zeros(3, dtype=int))):
        assert [one.size for one in model.predict(given)] == [0] * len(given)
        assert [one.shape for one in model.predict_marginals(given)] == [(0, 3)] * len(given)
    with pytest.raises(ValueError, match="X has 5 features"):
        model.predict([np.empty((0, 5))])
    assert model.score([[], X[0]], [[], model.predict(X[:1])[0]]) == 1.0


def test_empty_sequences_are_not_learnt_from(crf):
    _, X, y = crf
    with pytest.raises(ValueError, match="Sequence 1 is empty"):
        ChainClassifier().fit([X[0], X[1][:0]], [y[0], y[1][:0]])
    rows = Stacked(X[0], np.array([len(X[0]), 0]))
    with pytest.raises(ValueError, match="Sequence 1 is empty"):
        ChainClassifier().fit(rows, [y[0], y[1][:0]])


@pytest.mark.parametrize("name", SEQUENCE_LIKE)
def test_nothing_cannot_be_scored(make, name):
    estimator, X, y = make(name)
    with pytest.raises(ValueError, match="no outputs to compare"):
        estimator.fit(X, y).score([], [])


def test_strings_are_no_features():
    for X in (["abc"], [["The", "fox"]], [np.array([["1", "2"], ["3", "4"]])]):
        with pytest.raises(ValueError, match=r"Sequence 0 has features that are not numbers \(<U"):
            ChainClassifier().fit(X, [["D", "N"]])


def test_sets_have_no_order():
    with pytest.raises(TypeError, match="X must be a list with one array an example; got set"):
        ChainClassifier().fit({1, 2}, [["D", "N"]])


def damaged(part, at, value):
    X = sparse.csr_matrix(np.eye(3))
    getattr(X, part)[at] = value
    return X


@pytest.mark.parametrize(
    "X",
    [
        damaged("indices", 1, 3),
        damaged("indices", 0, -1),
        damaged("indptr", 1, 10**6),
        damaged("indptr", 3, 10**6),
        damaged("indptr", 0, 1),
    ],
)
def test_damaged_sparse_matrices_are_refused(make, X):
    for name, y in (("multiclass", [0, 1, 0]), ("chain", [["a", "b", "a"]])):
        with pytest.raises(ValueError, match=r"damaged|indices and data|index pointer"):
            make(name).estimator.fit([X] if name == "chain" else X, y)


# ---- words -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parser():
    X = [[["a", "D", "D"], ["dog", "N", "N"]], [["dogs", "N", "N"]]] * 4
    return TreeParser(bits=10, min_count=1, tol=0.5, random_state=0).fit(X, [[2, 0], [0]] * 4), X


def test_no_sentences_have_no_trees(parser):
    model, _ = parser
    assert model.predict([]) == []
    assert list(model.decision_function([])) == []
    assert model.predict_kbest([]) == []


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("The dog", "Sentence 0 must be a list of at least one token"),
        ([], "Sentence 0 must be a list of at least one token"),
        ({"form": "a"}, "Sentence 0 must be a list of at least one token"),
        (["a", "dog"], r"token \(str\); a token is a list of 3 strings, one a column, such as \[\"fox\""),
        (["the"], r"token \(str\)"),
        ([{"form": "a", "upos": "D", "xpos": "D"}], r"token \(dict\)"),
        ([["a", "D"]], r"token \(list\)"),
        ([["a", "D", None]], r"token \(list\)"),
        ([3], r"token \(int\)"),
    ],
)
def test_words_of_another_form_are_refused(parser, sentence, said):
    model, _ = parser
    with pytest.raises(ValueError, match=said):
        model.predict([sentence])
    with pytest.raises(ValueError, match=said):
        TreeParser().fit([sentence], [[0]])
