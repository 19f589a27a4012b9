"""New text is written as the training text was."""

import pickle
import unicodedata

import pytest

from model_files import rewrite
from structlearn.alignment.aligner import Aligner
from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.text.clean import without_accents
from structlearn.alignment.text.form import FormWriter, TextForm, forms_of_text


def test_what_the_text_lacks_is_taken_out():
    form = TextForm.of({"ete": 3, "l'": 2, "peut-etre": 1})
    assert form == (True, True, True, {**dict.fromkeys("’ʼ‘`´", "'"), **dict.fromkeys("‐‑–—−", "-")})
    assert [form.write(word) for word in ("Été", "L’", "peut–être", "ﬁn", "ＡＢＣ", "cœur")] == [
        "ete", "l'", "peut-etre", "fin", "abc", "coeur",
    ]  # fmt: skip


def test_what_the_text_has_stays():
    form = TextForm.of({"été": 3, "d’": 2, "d'": 2, "House": 1, "½": 1}, lowercase=False)
    assert form[:3] == (False, False, False)
    assert "’" not in form.characters
    assert form.characters["`"] in "'’"
    for word in ("été", "d’", "d'", "House", "½"):
        assert form.write(word) == word
    assert form.write(unicodedata.normalize("NFD", "été")) == "été"


def test_stray_words_do_not_count():
    assert TextForm.of({"plain": 9999, "café": 1}).strip_accents
    assert not TextForm.of({"plain": 990, "café": 10}).strip_accents
    assert not TextForm.of({}).strip_accents
    assert TextForm.of({"house": 1}, lowercase=False).lowercase
    assert not TextForm.of({"House": 1, "house": 10**6}, lowercase=False).lowercase


def test_marks_of_other_scripts_stay_letters():
    japanese = TextForm.of({"が": 5, "か": 5})
    assert japanese.write("が") == "が"
    assert TextForm.of({"日本": 3}).write("日本") == "日本"


def test_no_word_becomes_empty():
    form = TextForm.of({"a": 1})
    assert all(form.write(mark) for mark in ("\u0301", "\u00a8", "´", "\u200b"))


def test_the_gold_text_does_not_decide():
    gold = [(["a"], ["été"])] * 50
    (_, target), text = forms_of_text(iter([(["a"], ["ete"])] * 100), gold)
    assert target.strip_accents
    assert len(list(text)) == 100
    (_, target), _ = forms_of_text(iter(()), gold)
    assert not target.strip_accents


def test_writers_are_pickled_with_their_form():
    writer = FormWriter(TextForm.of({"ete": 1}))
    assert pickle.loads(pickle.dumps(writer)).words(["Été"]) == ["ete"]  # noqa: S301


@pytest.fixture(scope="module")
def stripped():
    """An aligner of text without accents, and pairs with them."""
    pairs = [(one.source, one.target) for one in load_corpus()]
    assert any(not word.isascii() for _, target in pairs for word in target)
    return Aligner().fit([(e, list(map(without_accents, f))) for e, f in pairs]), pairs


def test_accented_text_on_a_model_without(stripped):
    aligner, pairs = stripped
    plain = [(e, list(map(without_accents, f))) for e, f in pairs]
    composed = [([w.upper() for w in e], [unicodedata.normalize("NFD", w) for w in f]) for e, f in pairs]
    assert aligner.predict(pairs) == aligner.predict(plain) == aligner.predict(composed)
    assert aligner.unknown_words(pairs)[0] == 0


@pytest.mark.parametrize("old", [False, True])
def test_the_form_is_in_the_file(stripped, tmp_path, old):
    """Files of older versions do not have it: it is seen in their vocabulary."""
    aligner, pairs = stripped
    aligner.save(tmp_path / "m.st")
    if old:
        rewrite(tmp_path / "m.st", lambda header, _: header["fitted"].pop("forms_"))
    assert Aligner.load(tmp_path / "m.st").predict(pairs) == aligner.predict(pairs)


@pytest.mark.parametrize("damage", [[], [{}], [{"lowercase": 1}] * 2, "forms"])
def test_damaged_forms_are_refused(stripped, tmp_path, damage):
    stripped[0].save(tmp_path / "m.st")
    rewrite(tmp_path / "m.st", lambda header, _: header["fitted"].update(forms_=damage))
    with pytest.raises(ValueError, match="is damaged"):
        Aligner.load(tmp_path / "m.st")


def test_characters_are_single(stripped, tmp_path):
    stripped[0].save(tmp_path / "m.st")
    rewrite(tmp_path / "m.st", lambda header, _: header["fitted"]["forms_"][0]["characters"].update(ab="c"))
    with pytest.raises(ValueError, match="not one character"):
        Aligner.load(tmp_path / "m.st")
