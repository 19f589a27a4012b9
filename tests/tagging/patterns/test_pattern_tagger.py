"""Taggers with patterns of CRF++ and Wapiti: training and model files."""

import numpy as np
import pytest

from structlearn import Tagger
from structlearn.core.sentences import ParameterError

X = [[("The", "D"), ("dog", "N"), ("runs", "V")], [("A", "D"), ("cat", "N")], [("dog", "N")]] * 4
Y = [["B-NP", "I-NP", "O"], ["B-NP", "I-NP"], ["B-NP"]] * 4
LINES = ["U00:%x[-1,0]", "U01:%x[0,0]", "U02:%x[0,1]/%x[1,1]", "B"]


def fitted(**parameters):
    return Tagger(columns=("word", "pos"), templates=LINES, random_state=0, **parameters).fit(X, Y)


def test_patterns_train_as_the_same_templates_of_ours():
    """Features are the same indicators, so that the optimum is the same."""
    ours = Tagger(
        columns=("word", "pos"), templates="word[-1] word pos&pos[1]", tol=1e-6, random_state=0
    ).fit(X, Y)
    theirs = fitted(tol=1e-6)
    assert theirs.certificate_.primal == pytest.approx(ours.certificate_.primal, abs=1e-6)
    for a, b in zip(ours.predict_marginals(X), theirs.predict_marginals(X)):
        np.testing.assert_allclose(a, b, atol=2e-3)


@pytest.mark.parametrize("options", [{}, {"hash_bits": 10}, {"keep_names": False}])
def test_a_loaded_tagger_tags_the_same(tmp_path, options):
    tagger = fitted(**options)
    tagger.save(tmp_path / "m.safetensors")
    again = Tagger.load(tmp_path / "m.safetensors")
    assert again.columns == ["word", "pos"]
    assert again.features_.templates == tagger.features_.templates
    for a, b in zip(tagger.predict_marginals(X), again.predict_marginals(X)):
        np.testing.assert_array_equal(a, b)
    assert again.features_.names_ == tagger.features_.names_


def test_bigram_patterns_score_pairs(tmp_path):
    tagger = Tagger(columns=("word", "pos"), templates=[*LINES, "B01:%x[0,1]"]).fit(X, Y)
    names = [tagger.features_.names_[j] for j in tagger.chain_.transition_features]
    assert sorted(names) == ["B01:D", "B01:N", "B01:V"]
    tagger.save(tmp_path / "m.safetensors")
    again = Tagger.load(tmp_path / "m.safetensors")
    for a, b in zip(tagger.predict(X), again.predict(X)):
        np.testing.assert_array_equal(a, b)


def test_training_goes_on_by_the_names_of_features():
    first = fitted()
    again = Tagger(columns=("word", "pos"), templates=LINES[1:], random_state=0).continue_from(first)
    again.fit(X, Y)
    assert again.certificate_.passes <= first.certificate_.passes
    with pytest.raises(ValueError, match="another notation"):
        Tagger(columns=("word", "pos"), templates="word").continue_from(first).fit(X, Y)


def test_names_and_explanations_are_the_strings():
    tagger = fitted()
    assert any(one.name == "U01:dog" for one in tagger.explain(X[0])[1].contributions)
    assert "U01:dog" in [name for name, _ in tagger.top_features(9).labels["I-NP"]]


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"templates": ["U:%x[0,2]"]}, "Line 1 of the templates: there is no column 2"),
        ({"templates": LINES, "transitions": "pos"}, "transitions"),
        ({"templates": LINES, "span_lexicon": True}, "span_lexicon"),
        ({"templates": LINES, "usual": "word"}, "usual"),
        ({"templates": [*LINES, "B1:%x[0,0]"], "hash_bits": 8}, "hash_bits"),
    ],
)
def test_what_does_not_go_with_patterns_is_refused(parameters, problem):
    with pytest.raises((ValueError, ParameterError), match=problem):
        Tagger(columns=("word", "pos"), **parameters).fit(X, Y)
