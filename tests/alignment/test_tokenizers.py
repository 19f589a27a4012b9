import sys

import pytest

from structlearn.alignment.text.tokenizers import moses, simple


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
    assert simple(language)(text) == tokens.split()
    assert simple(language)(tokens) == tokens.split()


def test_moses():
    pytest.importorskip("sacremoses")
    assert moses("fr")("L'homme <a> vu & d'autres.") == [
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
        moses("en")
