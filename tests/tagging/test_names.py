"""Names: the defaults of "ner", and taggers with lexicons, clusters and vectors, kept in their files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from structlearn import load
from structlearn.tagging import Tagger, default_templates
from structlearn.tagging.explaining import tagger_feature_names

PEOPLE, PLACES = ["Ana", "Juan López", "Eva Gil Ruiz"], ["Roma", "San Juan"]


def corpus(n=40, seed=0):
    """Sentences "<person> vive en <place> ." with words of names that occur nowhere else."""
    rng = np.random.default_rng(seed)
    sentences, labels = [], []
    for _ in range(n):
        person, place = (str(rng.choice(names)).split() for names in (PEOPLE, PLACES))
        sentences.append([*person, "vive", "en", *place, "."])
        labels.append([*spans("PER", person), "O", "O", *spans("LOC", place), "O"])
    return sentences, labels


def spans(kind, words):
    return [f"{'I' if i else 'B'}-{kind}" for i in range(len(words))]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "names.txt").write_text("Ana\nZoe Paz\nJuan López\n", encoding="utf-8")
    (tmp_path / "brown").write_text("0010\tAna\t3\n0010\tZoe\t1\n11\tvive\t9\n", encoding="utf-8")
    (tmp_path / "some.vec").write_text("3 2\nana 1 0\nzoe 1 0.1\nvive 0 1\n", encoding="utf-8")
    return tmp_path


def parts(**files):
    return {"templates": "word", "random_state": 0, "tol": 0.05, **files}


def test_resources_are_kept_in_the_file(files):
    X, y = corpus()
    tagger = Tagger(
        **parts(
            lexicons={"PERSON": files / "names.txt", "PLACE": PLACES},
            clusters=files / "brown",
            vectors=files / "some.vec",
            usual="word word.suffix2",
        )
    ).fit(X, y)
    assert [column for part in tagger.derived_.parts for column in part.columns] == (
        ["PERSON", "PLACE", "cluster", "vector", "usual1", "usual2"]
    )
    tagger.save(files / "model.st")
    for name in ("names.txt", "brown", "some.vec"):
        (files / name).unlink()  # prediction needs none of them
    again = load(files / "model.st")
    new = [["Zoe", "Paz", "vive", "en", "San", "Juan"], [], ["\ud83d", "\x00", " ", "PERSON"]]
    assert (again.rows(new).rows != tagger.rows(new).rows).nnz == 0
    for one, other in zip(again.predict(new), tagger.predict(new)):
        assert one.tolist() == other.tolist()


def test_lexicons_tell_apart_what_training_never_saw():
    X, y = corpus()
    new = [["Zoe"], ["Vigo"]]
    tagger = Tagger(**parts(lexicons={"PERSON": [*PEOPLE, "Zoe"], "PLACE": [*PLACES, "Vigo"]})).fit(X, y)
    place = tagger.classes_.tolist().index("B-LOC")
    zoe, vigo = (table[0, place] for table in tagger.predict_marginals(new))
    assert vigo > 2 * zoe
    zoe, vigo = (table[0, place] for table in Tagger(**parts()).fit(X, y).predict_marginals(new))
    assert vigo == zoe


def test_templates_may_name_the_columns():
    X, y = corpus(10)
    tagger = Tagger(**parts(templates="word L&word.shape[1]", lexicons={"L": PEOPLE})).fit(X, y)
    assert [str(one) for one in tagger.features_.templates] == ["word", "L&word.shape[1]"]
    tagger = Tagger(**parts(lexicons={"L": PEOPLE})).fit(X, y)
    assert "L[-1]&L" in [str(one) for one in tagger.features_.templates]


def test_names_have_their_own_defaults():
    X, y = corpus(12)
    tagger = Tagger(task="ner", random_state=0, tol=0.05).fit(X, y)
    templates = [str(one) for one in tagger.features_.templates]
    assert {"word.quoted", "usual4", "word.lower[-1]&word.lower"} <= set(templates)
    assert default_templates(("word",), "ner") != default_templates(("word",))
    named = {one.name.partition("=")[0] for token in tagger.explain(X[0]) for one in token.contributions}
    assert {"word.before", "usual1", "word.place&word.before"} & named
    told = [str(name) for name in tagger_feature_names(tagger)(np.arange(tagger.features_.n_features))]
    assert not any("#" in name for name in told)
    plain = Tagger(task="ner", usual="", random_state=0, tol=0.05).fit(X, y)
    assert plain.derived_.parts == ()
    assert not any("usual" in str(one) for one in plain.features_.templates)
    assert clone(tagger).task == "ner"
    assert "pos&word.place" in default_templates(("word", "pos"), "ner").split()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"task": "names"}, "task"),
        ({"lexicons": {"word": PEOPLE}}, "name of another column"),
        ({"lexicons": {"no name": PEOPLE}}, "cannot name a lexicon"),
        ({"lexicons": {"L": []}}, "The lexicon L holds no phrases"),
        ({"vectors": "nowhere.vec"}, "nowhere.vec does not exist"),
        ({"templates": "usual1"}, "there is no column 'usual1'"),
        ({"usual": "word.shoe"}, "There is no view 'shoe'"),
    ],
)
def test_refusals(parameters, message):
    X, y = corpus(3)
    with pytest.raises(ValueError, match=message):
        Tagger(**parameters).fit(X, y)


def test_features_by_name_have_no_lexicons():
    with pytest.raises(ValueError, match="lexicons"):
        Tagger(lexicons={"L": PEOPLE}).fit([[{"a": 1}]], [["X"]])
