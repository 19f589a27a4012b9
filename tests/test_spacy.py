"""The component of spaCy, where it is installed."""

import pytest

spacy = pytest.importorskip("spacy")

from structlearn import Tagger  # noqa: E402
from structlearn.spacy import EntityTagger  # noqa: E402

X = [["Ann", "Lee", "lives", "in", "Rome"], ["In", "Oslo", "Ann", "runs"], ["We", "met", "Ann", "Lee"]] * 5
Y = [
    ["B-PER", "I-PER", "O", "O", "B-LOC"],
    ["O", "B-LOC", "B-PER", "O"],
    ["O", "O", "B-PER", "I-PER"],
] * 5
TEXT = "Ann Lee lives  in Rome.\nIn Oslo Ann runs."


@pytest.mark.parametrize("loss", ["softmax", "hinge"])
@pytest.mark.parametrize("sentences", [True, False])
def test_entities_and_scores(tmp_path, loss, sentences):
    tagger = Tagger(task="ner", loss=loss, random_state=0).fit(X, Y)
    tagger.save(tmp_path / "ner.safetensors")
    nlp = spacy.blank("en")
    if sentences:
        nlp.add_pipe("sentencizer")
    nlp.add_pipe("structlearn_ner", config={"model": str(tmp_path / "ner.safetensors")})
    (doc,) = nlp.pipe([TEXT])
    assert [(one.text, one.label_) for one in doc.ents] == [
        ("Ann Lee", "PER"),
        ("Rome", "LOC"),
        ("Oslo", "LOC"),
        ("Ann", "PER"),
    ]
    groups = doc.sents if sentences else [doc]
    words = [[token.text for token in one if not token.is_space] for one in groups]
    if loss == "hinge":
        assert all(one._.score is None for one in doc.ents)
    else:
        shares = [one.probability for some in tagger.predict_spans(words) for one in some]
        assert [one._.score for one in doc.ents] == pytest.approx(shares)


def test_models_of_more_than_words_are_refused(tmp_path):
    tagger = Tagger(columns=("word", "pos")).fit([[("a", "b"), ("c", "d")]] * 2, [["X", "Y"]] * 2)
    tagger.save(tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match="raw text does not have"):
        EntityTagger(str(tmp_path / "m.safetensors"))
