"""Taggers whose model is one of segments, against the model alone and against the shell."""

import numpy as np
import pytest

import structlearn
from structlearn.cli import app
from structlearn.estimators import SegmentTagger
from structlearn.tagging import Tagger

WORDS = {
    "B-PER": ("Anna", "Bob"),
    "I-PER": ("Smith", "Lee"),
    "O": ("saw", "in", "the"),
    "B-LOC": ("Rome", "Oslo"),
}
OPTIONS = {"model": "segments", "task": "ner", "tol": 1e-3, "random_state": 0}


@pytest.fixture(scope="module")
def text():
    rng = np.random.default_rng(0)
    phrases = (["B-PER", "I-PER"], ["B-PER"], ["O"], ["O"], ["B-LOC"])
    labels = [[tag for k in rng.integers(5, size=4) for tag in phrases[k]] for _ in range(40)]
    return [[str(rng.choice(WORDS[tag])) for tag in one] for one in labels], labels


@pytest.fixture(scope="module")
def tagger(text):
    return Tagger(**OPTIONS).fit(*text)


def test_is_a_segment_tagger_over_features(text, tagger):
    X, y = text
    maker = Tagger(model="segments", task="ner")
    rows = maker.fit_features(X, y)
    model = SegmentTagger(
        loss="softmax", regularization=1 / 40, tol=1e-3, cost="count", random_state=0, segment_features="text"
    ).fit(rows, y)
    np.testing.assert_array_equal(model.weights_, tagger.chain_.weights_)
    assert type(tagger.chain_) is SegmentTagger
    assert [one.tolist() for one in tagger.predict(X[:5])] == y[:5]
    assert tagger.predict_spans([["the", "Bob", "Lee", "saw"]])[0][0][:3] == (1, 3, "PER")
    assert len(tagger.predict_kbest_proba(X[:1], 2)[0]) == 2
    assert tagger.tag("Anna Lee saw Rome.")[0][1].label == "I-PER"


def test_the_shell_reads_the_file_and_writes_the_same(text, tagger, tmp_path, capsys):
    X, y = text
    tagger.save(tmp_path / "python.st")
    same = structlearn.load(tmp_path / "python.st")
    assert (same.model, same.task) == ("segments", "ner")
    same.save(tmp_path / "again.st")
    assert (tmp_path / "again.st").read_bytes() == (tmp_path / "python.st").read_bytes()
    data = tmp_path / "data.txt"
    data.write_text("\n".join("".join(f"{w} {t}\n" for w, t in zip(*one)) for one in zip(X, y)))
    assert not app(["evaluate", str(tmp_path / "python.st"), str(data)], standalone_mode=False)
    assert "f1: 1" in capsys.readouterr().out
    own = ["--model", "segments", "--tol", "0.001", "--out", str(tmp_path / "shell.st")]
    assert not app(["train", "ner", str(data), *own], standalone_mode=False)
    for one, other in zip(
        structlearn.load(tmp_path / "shell.st").predict_marginals(X), tagger.predict_marginals(X)
    ):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_tag_saves_as_a_chunker(text, tmp_path):
    X, y = text
    plain = Tagger(model="segments", tol=0.1, templates="word").fit(X, y)
    named = Tagger(model="segments", tol=0.1).fit([[{"w": word} for word in one] for one in X], y)
    for tagger, given in ((plain, X), (named, [[{"w": word} for word in one] for one in X])):
        tagger.save(tmp_path / "model.st")
        assert not app(["info", str(tmp_path / "model.st")], standalone_mode=False)
        same = structlearn.load(tmp_path / "model.st")
        assert same.model == "segments"
        assert [one.tolist() for one in same.predict(given)] == [
            one.tolist() for one in tagger.predict(given)
        ]


@pytest.mark.parametrize(
    "given",
    [{"constraints": "bio"}, {"penalty": "elasticnet"}, {"warm_start": True}, {"transitions": "word"}],
)
def test_what_goes_with_chains_is_refused(text, given):
    (name,) = given
    with pytest.raises(ValueError, match=f"{name} goes with model='chain', not with segments"):
        Tagger(model="segments", **given).fit(*text)


def test_other_refusals(text, tagger):
    X, y = text
    with pytest.raises(ValueError, match="Unknown model 'trees'"):
        Tagger(model="trees").fit(X, y)
    with pytest.raises(ValueError, match="Partly labelled sentences go with chains"):
        Tagger(model="segments").fit(X, [[None, *one[1:]] for one in y])
    with pytest.raises(ValueError, match="allowed goes with chains"):
        tagger.predict(X[:1], allowed=[[{"O"}] * len(X[0])])
    for ask in (tagger.explain, lambda one: tagger.top_features()):
        with pytest.raises(ValueError, match="Chains say why"):
            ask(X[0])
    with pytest.raises(ValueError, match="not sampled from"):
        tagger.sample(X[:1])


def test_arrays_beside_words(text):
    X, y = text
    pairs = [(words, np.array([[float(word[0].isupper())] for word in words])) for words in X]
    tagger = Tagger(**{**OPTIONS, "tol": 0.1}).fit(pairs, y)
    assert tagger.score(pairs, y) > 0.95
    with pytest.raises(ValueError, match="trained with arrays of 1 columns"):
        tagger.predict(X)
