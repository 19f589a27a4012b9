"""Raw text in tokens: nothing lost, nothing moved, however it comes."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structlearn.tagging import streams
from structlearn.tagging.streams import passages
from structlearn.tagging.tokenizers import TOKENIZERS

NAMES = list(TOKENIZERS)
#: Whatever quotes, periods, blanks and line ends can do together; and any text.
TEXTS = st.text(st.sampled_from("ab A.'\"`’“-,\n\r\t(\u00a0\x1c😀"), max_size=60) | st.text(max_size=40)


def tokens(text, name="penn"):
    return [[text[a:b] for a, b in sentence] for sentence in TOKENIZERS[name].split(text)]


def test_penn_tokens():
    text = "Mr. Smith's firm can't pay $3.50, he said. “No,” says the U.S. state-of-the-art dept.\n\nThe end"
    assert [" ".join(one) for one in tokens(text)] == [
        "Mr. Smith 's firm ca n't pay $ 3.50 , he said .",
        "“ No , ” says the U.S. state-of-the-art dept .",
        "The end",
    ]
    assert tokens("It didn’t. So?") == [["It", "did", "n’t", "."], ["So", "?"]]


def test_other_tokens():
    assert tokens("¿Qué? 3.5 a las 10:30, U.S. --", "marks") == [
        ["¿", "Qué", "?"],
        ["3.5", "a", "las", "10:30", ",", "U.S.", "--"],
    ]
    assert tokens("a b. c\r\n\n d", "blanks") == [["a", "b.", "c"], ["d"]]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=150, deadline=None)
@given(text=TEXTS)
def test_every_character_that_is_no_blank_is_in_a_token(name, text):
    assert "".join(word for sentence in tokens(text, name) for word in sentence) == "".join(text.split())
    spans = [span for sentence in TOKENIZERS[name].split(text) for span in sentence]
    assert all(a < b for a, b in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert all(TOKENIZERS[name].split(text))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100, deadline=None)
@given(text=TEXTS, edges=st.lists(st.integers(0, 60)))
def test_a_text_in_pieces_is_the_text(name, text, edges):
    cuts = [0, *sorted(min(edge, len(text)) for edge in edges), len(text)]
    pieces = [text[a:b] for a, b in pairwise(cuts)]
    found = [
        [(offset + a, offset + b) for a, b in sentence]
        for _, sentences, offset in passages(pieces, TOKENIZERS[name])
        for sentence in sentences
    ]
    assert found == TOKENIZERS[name].split(text)


@pytest.mark.parametrize("text", ["The dog runs. " * 40, "dog " * 100, "d" * 400, "A dog.\r\n" * 60])
def test_long_paragraphs_leave_before_their_end(text, monkeypatch):
    monkeypatch.setattr(streams, "LONGEST", 50)
    pieces = [text[a : a + 10] for a in range(0, len(text), 10)]
    found = list(passages(pieces, TOKENIZERS["penn"]))
    assert max(len(one.text) for one in found) <= 60
    assert "".join(one.text for one in found) == text
    words = [one.text[a:b] for one in found for sentence in one.sentences for a, b in sentence]
    assert "".join(words) == "".join(text.split())
    if "." in text:  # sentences stay whole
        parts = [sentence for one in found for sentence in one.sentences]
        assert [len(one) for one in parts] == [len(one) for one in TOKENIZERS["penn"].split(text)]
