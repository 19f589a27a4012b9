"""Pairs that are too long: left out of training, without links in prediction, and one warning."""

import warnings

import pytest

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.links import Links
from structlearn.alignment.text import bitext

CORPUS = load_corpus()[:30]
PAIRS = [(one.source, one.target) for one in CORPUS]
LINKS = [one.links for one in CORPUS]
LONG = (["a"] * 20, ["b"] * 31)
LIMIT = 30  # no pair of the corpus has more words


@pytest.fixture(scope="module")
def aligner():
    return Aligner(max_length=LIMIT).fit(PAIRS)


def words(aligner):
    return {*aligner.statistics_.source_words.words, *aligner.statistics_.target_words.words}


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({}, ([*PAIRS[:7], LONG, *PAIRS[7:]],)),
        ({}, (PAIRS, None, [LONG])),
        ({"memory": "400MB"}, ([], None, [LONG, *PAIRS])),
    ],
)
def test_long_text_is_left_out(aligner, parameters, text):
    with pytest.warns(UserWarning, match="1 of 31 pairs have more than 30 words .* the longest has 31"):
        found = Aligner(max_length=LIMIT, **parameters).fit(*text)
    assert words(found) == words(aligner)
    assert found.predict(PAIRS[:5]) == aligner.predict(PAIRS[:5])


def test_long_gold_pairs_are_left_out(aligner):
    given = {"missed": 2.0, "regularization": 1.0, "random_state": 0, "max_length": LIMIT}
    known = Aligner(**given).fit(PAIRS, LINKS)
    with pytest.warns(UserWarning, match="1 of 31 pairs"):
        found = Aligner(**given).fit([LONG, *PAIRS], [Links.of([(0, 0)]), *LINKS])
    assert found.weights_.tolist() == known.weights_.tolist()


def test_gold_pairs_that_are_all_long_teach_nothing(aligner):
    with pytest.warns(UserWarning, match="1 of 31 pairs"):
        found = Aligner(max_length=LIMIT).fit([LONG], [Links.of([(0, 0)])], PAIRS)
    assert found.certificate_ is None
    assert found.predict(PAIRS) == aligner.predict(PAIRS)


def test_long_pairs_have_no_links(aligner):
    with pytest.warns(UserWarning, match="2 of 6 pairs .* have no links; the longest has 31") as said:
        found = aligner.predict([LONG, *PAIRS[:4], LONG])
    assert len(said) == 1
    assert found == [frozenset(), *aligner.predict(PAIRS[:4]), frozenset()]


def test_the_limit_itself_is_not_long():
    longest = max(len(side) for pair in PAIRS for side in pair)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Aligner(max_length=longest).fit(PAIRS)
        assert all(found.predict(PAIRS))
    with pytest.warns(UserWarning, match="words on a side"):
        Aligner(max_length=longest - 1).fit(PAIRS)


def test_models_keep_the_limit(aligner, tmp_path):
    aligner.save(tmp_path / "model.safetensors")
    assert Aligner.load(tmp_path / "model.safetensors").max_length == LIMIT


def test_a_limit_of_nothing_is_refused():
    with pytest.raises(ValueError, match="max_length is at least 1; got 0"):
        Aligner(max_length=0).fit(PAIRS)


@pytest.mark.parametrize("cells", [1, 300])
def test_batches_have_few_cells_and_change_nothing(aligner, monkeypatch, cells):
    expected = aligner.predict_scores(PAIRS)
    monkeypatch.setattr(bitext, "CELLS_AT_ONCE", cells)
    found = list(bitext.batches(PAIRS))
    assert [pair for batch in found for pair in batch] == PAIRS
    assert all(sum(len(e) * len(f) for e, f in batch[:-1]) < cells for batch in found)
    assert aligner.predict_scores(PAIRS) == expected
