"""Taggers name what they look at, and say why; also after a round trip through a file."""

import json

import numpy as np
import pytest

import structlearn
from model_files import contents, rewrite
from structlearn.tagging import Tagger
from structlearn.tagging.explaining import STARTS, STRINGS

SENTENCES = [["the", "dog", "runs"], ["a", "cat", "sees", "the", "dog"]]
LABELS = [["D", "N", "V"], ["D", "N", "V", "D", "N"]]


@pytest.fixture(scope="module")
def tagger():
    return Tagger(random_state=0).fit(SENTENCES, LABELS)


@pytest.fixture
def path(tagger, tmp_path):
    tagger.save(tmp_path / "tagger.st")
    return tmp_path / "tagger.st"


def test_names_survive_in_a_file(tagger, path):
    again = structlearn.load(path)
    assert again.top_features(7) == tagger.top_features(7)
    assert again.explain(SENTENCES[0]) == tagger.explain(SENTENCES[0])


def test_weights_are_those_of_named_columns(tagger):
    """A column's name says where it is 1: the score of a label is the sum over names that a token has."""
    top = tagger.top_features(10_000).labels
    one = tagger.explain(["the", "dog"])[1]
    found = dict(one.contributions)
    weights = {label: dict(pairs) for label, pairs in top.items()}
    for name in ("word=dog", "word[-1]=the", "word[1]=<end>", "word.lower[-1]=the&word.lower=dog"):
        difference = weights[one.label].get(name, 0.0) - weights[one.runner_up].get(name, 0.0)
        assert found[name] == pytest.approx(difference)
    assert sum(found.values()) == pytest.approx(one.difference)
    assert tagger.explain([]) == []


def test_hashed_features_are_named_by_the_text():
    tagger = Tagger(hash_bits=12, random_state=0).fit(SENTENCES, LABELS)
    assert tagger.arrays().keys() == {"features"}
    assert tagger.top_features(1).labels["D"][0].name.startswith("hash ")
    one = tagger.explain(["the", "dog"])[1]
    assert any("word=dog" in part.name for part in one.contributions)
    assert sum(part.amount for part in one.contributions) == pytest.approx(one.difference)


def test_features_that_score_transitions_are_named():
    X = [[(word, word[-1]) for word in one] for one in SENTENCES]
    tagger = Tagger(columns=("word", "end"), templates="word", transitions="end", random_state=0).fit(
        X, LABELS
    )
    assert any(one.feature == "end=g" for one in tagger.top_features(50).conditioned)
    for one in tagger.explain(X[1]):
        assert sum(part.amount for part in one.contributions) == pytest.approx(one.difference)
    assert any(part.name.startswith("end=g: ") for part in tagger.explain(X[0])[1].contributions)


def test_files_without_strings_show_hashes(tagger, path):
    def older(header, tensors):
        del tensors[f"array:{STRINGS}"], tensors[f"array:{STARTS}"]

    rewrite(path, older)
    again = structlearn.load(path)
    assert [label.tolist() for label in again.predict(SENTENCES)] == LABELS
    names = [name for name, _ in again.top_features(3).labels["D"]]
    assert all(name.startswith("#") for name in names)
    assert again.explain(SENTENCES[0]) == tagger.explain(SENTENCES[0])  # names come from the text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (STRINGS, np.zeros(3)),
        (STARTS, np.array([0, 5], dtype=np.int64)),
        (STARTS, np.zeros(3)),
        (STARTS, None),
    ],
)
def test_strings_that_do_not_fit_are_refused(path, name, value):
    starts = contents(path)[1][f"array:{STARTS}"]

    def damage(header, tensors):
        tensors[f"array:{name}"] = starts[::-1].copy() if value is None else value

    rewrite(path, damage)
    with pytest.raises(ValueError, match="is damaged: the"):
        structlearn.load(path)


def test_strings_that_are_none_are_refused_when_names_are_asked_for(path):
    text = np.frombuffer(json.dumps({"word": [1]}).encode(), dtype=np.uint8)
    rewrite(path, lambda header, tensors: tensors.update({f"array:{STRINGS}": text}))
    with pytest.raises(ValueError, match="strings of its features"):
        structlearn.load(path).top_features()
