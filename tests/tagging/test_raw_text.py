import json

import numpy as np
import pytest

from structlearn.tagging import Tagger
from structlearn.tagging.raw import TaggedToken
from structlearn.tagging.written import TEXT_FORMATS, mark_spans

TEXT = 'The dog runs. A "cat" sees\r\n\r\nthe 😀 dog!'
CLASSES = {
    "D": ["The", "the", "A"],
    "N": ["dog", "cat", "😀"],
    "V": ["runs", "sees"],
    "M": ["``", "''", ".", "!"],
}


@pytest.fixture(scope="module")
def tagger():
    """A tagger that knows the words of the text, quotes as Penn writes them."""
    pairs = [(word, label) for label, words in CLASSES.items() for word in words]
    return Tagger(templates="word", random_state=0).fit(
        [[w] for w, _ in pairs] * 5, [[k] for _, k in pairs] * 5
    )


def test_sentences_of_a_text(tagger):
    found = tagger.tag(TEXT)
    assert [[(one.token, one.label) for one in sentence] for sentence in found] == [
        [("The", "D"), ("dog", "N"), ("runs", "V"), (".", "M")],
        [("A", "D"), ('"', "M"), ("cat", "N"), ('"', "M"), ("sees", "V")],
        [("the", "D"), ("😀", "N"), ("dog", "N"), ("!", "M")],
    ]
    assert all(TEXT[one.start : one.end] == one.token for sentence in found for one in sentence)
    assert found[0][1] == TaggedToken("dog", "N", 4, 7) == ("dog", "N", 4, 7)
    streamed = [one for part in tagger.tag_stream(TEXT[i : i + 5] for i in range(0, 60, 5)) for one in part]
    assert streamed == found
    for nothing in ("", " \r\n\t\n"):
        assert tagger.tag(nothing) == list(tagger.tag_stream([nothing])) * 0 == []


def test_labels_are_those_of_predict(tagger):
    words = [[one.token.replace('"', "``") for one in sentence] for sentence in tagger.tag(TEXT)]
    words[1][3] = "''"
    for labels, sentence in zip(tagger.predict(words), tagger.tag(TEXT), strict=True):
        assert labels.tolist() == [one.label for one in sentence]


def test_a_very_long_word(tagger):
    ((one,),) = tagger.tag("x" * 300_000)
    assert (one.start, one.end) == (0, 300_000)


def test_refusals(tagger):
    with pytest.raises(ValueError, match="tag takes text, a str, not a list; predict takes sentences"):
        tagger.tag([["a"]])
    with pytest.raises(ValueError, match=r"Unknown tokenizer 'pen'; valid are .* Did you mean 'penn'"):
        tagger.tag("a", tokenizer="pen")
    options = {"random_state": 0, "chain_options": {"max_passes": 3}, "tol": 9}
    tagged = Tagger(columns=("word", "pos"), **options).fit([[("a", "D"), ("b", "N")]], [["X", "Y"]])
    with pytest.raises(ValueError, match=r"the column pos beside words, .*train .* --with MODEL"):
        tagged.tag("a b")
    named = Tagger(**options).fit([[{"w": "a"}, {"w": "b"}]], [["X", "Y"]])
    with pytest.raises(ValueError, match="trained on features by name, which raw text does not have"):
        named.tag("a b")
    with pytest.raises(ValueError, match="not fitted"):
        Tagger().tag("a b")


# ---- how sentences are written ---------------------------------------------------------------------------

NAMES = [
    TaggedToken("Ada", "B-PER", 2, 5),
    TaggedToken("Byron", "I-PER", 6, 11),
    TaggedToken("saw", "O", 12, 15),
    TaggedToken("Rome", "B-LOC", 16, 20),
]


def written(name, sentence, marked=True):
    return TEXT_FORMATS[name].write(sentence, marked=marked)


def test_formats():
    assert written("conll", NAMES) == "Ada\tB-PER\nByron\tI-PER\nsaw\tO\nRome\tB-LOC\n\n"
    assert written("inline", NAMES) == "[PER Ada Byron] saw [LOC Rome]\n"
    assert written("inline", NAMES[2:], marked=False) == "saw/O Rome/B-LOC\n"
    line = written("json", [*NAMES, TaggedToken("\x1b[1m\n’", "O", 21, 27)])
    assert line.isascii()
    assert line.count("\n") == 1
    assert json.loads(line) == {
        "tokens": ["Ada", "Byron", "saw", "Rome", "\x1b[1m\n’"],
        "labels": ["B-PER", "I-PER", "O", "B-LOC", "O"],
        "offsets": [[2, 5], [6, 11], [12, 15], [16, 20], [21, 27]],
        "spans": [
            {"start": 0, "end": 2, "label": "PER", "offsets": [2, 11]},
            {"start": 3, "end": 4, "label": "LOC", "offsets": [16, 20]},
        ],
    }
    assert json.loads(written("json", NAMES, marked=False))["spans"] == []


def test_labels_that_mark_spans():
    assert mark_spans(np.array(["B-NP", "I-NP", "O"]))
    assert not mark_spans(["O"])
    assert not mark_spans(["B-NP", "NN"])


def test_quotes_of_training_are_looked_up_once(tagger, monkeypatch):
    tagger.tag(TEXT)
    asked = []
    rows = type(tagger).rows
    monkeypatch.setattr(type(tagger), "rows", lambda self, *args: asked.append(args) or rows(self, *args))
    for _ in range(3):
        tagger.tag(TEXT)
    assert len(asked) == 3  # those of predict alone
