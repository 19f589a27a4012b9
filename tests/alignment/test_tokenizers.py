import sys

import pytest

from structlearn.alignment.text import tokenizers
from structlearn.alignment.text.tokenizers import SplitText, Tokenizer, usual_tokenizer


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("en", "I don't know John's dog.", "I do n't know John 's dog ."),
        ("en", "We’ll see, can't we?", "We 'll see , ca n't we ?"),
        ("en", "Mr. Smith paid $3.50 at 8 o'clock...", "Mr. Smith paid $ 3.50 at 8 o'clock ..."),
        ("en", "the U.S. e-mail 'as is'", "the U.S. e-mail ' as is '"),
        ("fr", "L’homme qu'il n'a pas vu aujourd'hui.", "L' homme qu' il n' a pas vu aujourd'hui ."),
        ("fr", "Y a-t-il, vois-tu, quelqu'un ?", "Y a -t-il , vois -tu , quelqu'un ?"),
        ("fr", "Donne-le-moi lorsqu'elle a rendez-vous!", "Donne -le -moi lorsqu' elle a rendez-vous !"),
        ("fr", "M. Dupont, «le grand-père», a 3,5 ans", 'M. Dupont , " le grand-père " , a 3,5 ans'),
        ("de", "Das ist's: l'art (1990).", "Das ist's : l'art ( 1990 ) ."),
    ],
)
def test_simple(language, text, tokens):
    assert Tokenizer("simple", language)(text) == tokens.split()
    assert Tokenizer("simple", language)(tokens) == tokens.split()


def test_moses():
    pytest.importorskip("sacremoses")
    assert Tokenizer("moses", "fr")("L'homme <a> vu & d'autres.") == [
        "L'",
        "homme",
        "<",
        "a",
        ">",
        "vu",
        "&",
        "d'",
        "autres",
        ".",
    ]


def test_without_moses(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(ValueError, match=r"needs the library sacremoses: install structlearn\[align\]"):
        Tokenizer("moses", "en")("a")


@pytest.mark.parametrize("name", ["none", "simple", "characters", "icu", "moses"])
def test_tokens_know_where_they_stand(name):
    pytest.importorskip({"icu": "icu", "moses": "sacremoses"}.get(name, "re"))
    text = "  L\u2019 été,\tvois-tu?  \U0001f600 12,5 我爱北京 ok. "
    found = Tokenizer(name, "fr")(text)
    assert "".join(text[a:b] for a, b in found.spans) == "".join(text.split())
    for token, (a, b) in zip(found, found.spans, strict=True):
        assert token == text[a:b].replace("\u2019", "'") or token == text[a:b]
    words = text.split()
    for word, (a, b) in zip(found.words(), found.spans, strict=True):
        assert text[a:b] in words[word]


def test_characters_of_scripts_without_blanks_are_tokens():
    thai, japanese = "ที่นี่ ok", "東京タワー、x-y."
    assert Tokenizer("characters", "th")(thai) == ["ที่", "นี่", "ok"]
    assert Tokenizer("characters", "ja")(japanese) == ["東", "京", "タ", "ワ", "ー", "、", "x-y", "."]


def test_icu_finds_words_of_text_without_blanks():
    pytest.importorskip("icu")
    assert Tokenizer("icu", "zh")("\U0001f600我爱北京天安门。") == [
        "\U0001f600",
        "我",
        "爱",
        "北京",
        "天安门",
        "。",
    ]


def test_the_usual_tokenizer_goes_by_the_script(monkeypatch):
    assert usual_tokenizer(["the house", "Tokyo 東京"], "en") == Tokenizer("simple", "en")
    monkeypatch.setitem(sys.modules, "icu", None)
    tokenizers._splitter.cache_clear()
    assert usual_tokenizer(["東京に行く", "ok"], "ja") == Tokenizer("characters", "ja")


def test_words_between_blanks_of_no_text():
    assert SplitText([], "   ", []).words() == []
