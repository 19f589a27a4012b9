"""Taggers that look at what a first pass says of the same word in the sentences around."""

from __future__ import annotations

import numpy as np
import pytest

import structlearn
from structlearn.tagging import Tagger


def documents(n, seed):
    """Three sentences each: the second has the name of the first, and does not say of which kind it is."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        name, other = (
            "".join(letters).capitalize() for letters in rng.choice(list("abdeiklmnorstu"), (2, 7))
        )
        kind, before = ("PER", "señor") if rng.random() < 0.5 else ("LOC", "en")
        X += [["hoy", before, name, "."], ["ya", name, "gana"], ["hoy", before, other, "."]]
        y += [["O", "O", f"B-{kind}", "O"], ["O", f"B-{kind}", "O"], ["O", "O", f"B-{kind}", "O"]]
    return X, y


TEMPLATES = "word word[-1] word[1]"
TRAIN, TEST = documents(50, 0), documents(40, 1)


def share_right(tagger, X=TEST[0], y=TEST[1]):
    """Of the names that their sentence says nothing of."""
    return np.mean([one[1] == right[1] for one, right in zip(tagger.predict(X)[1::3], y[1::3])])


@pytest.fixture(scope="module")
def tagger():
    return Tagger(templates=TEMPLATES, context=2, random_state=0).fit(*TRAIN)


def test_names_are_known_from_the_sentence_before(tagger):
    assert share_right(tagger) == 1
    without = Tagger(templates=TEMPLATES, random_state=0).fit(*TRAIN)
    assert share_right(without) < 0.8
    # sentences that are too far away do not count
    far = [sentence for one in TEST[0] for sentence in (one, *[["y"]] * 2)]
    labels = [sentence for one in TEST[1] for sentence in (one, *[["O"]] * 2)]
    assert np.mean([a[1] == b[1] for a, b in zip(tagger.predict(far)[3::9], labels[3::9])]) < 0.8


def test_a_sentence_alone_and_none(tagger):
    assert tagger.predict([["hoy", "señor", "Zzz"]])[0].tolist()[2] == "B-PER"
    assert tagger.predict([]) == []
    assert [one.size for one in tagger.predict([[], ["ya"]])] == [0, 1]


def test_files(tagger, tmp_path):
    tagger.save(tmp_path / "t.st")
    again = structlearn.load(tmp_path / "t.st")
    assert isinstance(again, Tagger)
    assert again.context == 2
    for a, b in zip(again.predict_marginals(TEST[0]), tagger.predict_marginals(TEST[0])):
        np.testing.assert_array_equal(a, b)
    refitted = again.set_params(random_state=0).fit(*TRAIN)
    assert share_right(refitted) == 1
    assert refitted.features_.templates == tagger.features_.templates


def test_streams_remember_the_sentences_before(tagger):
    text = [" ".join(words) + "\n\n" for words in TEST[0]]
    found = [one for some in tagger.tag_stream(text, "blanks") for one in some]
    assert [[token.label for token in one] for one in found] == TEST[1]
    assert "".join(text)[found[-1][1].start :].startswith(found[-1][1].token)
    alone = [tagger.tag(one, "blanks")[0] for one in text]
    assert [[token.label for token in one] for one in alone] != TEST[1]


def test_spans_and_explanations(tagger):
    spans = tagger.predict_spans(TEST[0][:2])
    kind = TEST[1][1][1].removeprefix("B-")
    assert [(one.start, one.end, one.label) for one in spans[1]] == [(1, 2, kind)]
    names = {name for rows in tagger.top_features(3).labels.values() for name, _ in rows}
    assert any(name.startswith(("nearby=", "within=")) for name in names)
    assert tagger.explain(TEST[0][0])[2].label == TEST[1][0][2]


def test_segments():
    model = Tagger(model="segments", templates=TEMPLATES, context=2, random_state=0).fit(*TRAIN)
    assert share_right(model) == 1


def test_hashing_and_partial_labels():
    hashed = Tagger(templates=TEMPLATES, context=2, hash_bits=14, random_state=0).fit(*TRAIN)
    assert share_right(hashed) == 1
    partly = [*TRAIN[1][:100], *([None] * len(one) for one in TRAIN[1][100:])]
    few = Tagger(templates=TEMPLATES, context=2, random_state=0, tol=0.1).fit(TRAIN[0], partly)
    assert share_right(few) == 1


def test_defaults():
    def context(n, **parameters):
        tagger = Tagger(random_state=0, tol=1.0, **parameters)
        tagger.fit_features(*(part[:n] for part in TRAIN))
        return tagger.derived_.context

    assert context(150, task="ner") == 20
    assert context(150, task="ner", templates="word") == 0
    assert context(150, task="ner", context=0) == 0
    assert context(150) == 0
    assert context(59, task="ner") == 0  # too few to learn from


def test_refusals():
    with pytest.raises(ValueError, match="context is a number of sentences from 0"):
        Tagger(context=-1).fit(*TRAIN)
    with pytest.raises(ValueError, match="span_lexicon"):
        Tagger(context=3).fit([[{"word": "a"}]], [["O"]])


def test_span_lexicon():
    X = [["Villa", "Alba", name] for name in ("gana", "pierde")] * 40
    y = [["B-LOC", "I-LOC", "O"]] * 80
    tagger = Tagger(templates="word.suffix1", span_lexicon=True, context=1, random_state=0).fit(X, y)
    assert {"spans", "spans[1]", "nearby"} <= {str(one) for one in tagger.features_.templates}
    assert tagger.predict([["Villa", "Alba", "sale"]])[0].tolist() == ["B-LOC", "I-LOC", "O"]


def test_sets_with_a_guarantee_need_sentences_that_stand_alone(tagger):
    with pytest.raises(ValueError, match=r"looks at those around a sentence: train it with context=0"):
        tagger.conformalize(*TEST)
