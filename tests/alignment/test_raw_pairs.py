"""Raw text in, links between its words out: tokenizers of models, blanks, shortlists, both directions."""

import numpy as np
import pytest

from structlearn import Aligner
from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.files.pair_files import WrittenPair
from structlearn.alignment.statistics.statistics import Posteriors
from structlearn.alignment.symmetrize import intersection, union
from structlearn.alignment.text.tokenizers import AT_BLANKS, Tokenizer
from structlearn.alignment.uses.blanks import between_blanks
from structlearn.alignment.uses.shortlist import count_links, pieces_of, shortlist_lines
from structlearn.alignment.uses.sorted_counts import Sorter
from structlearn.alignment.uses.symmetrized import directions, symmetrized


def raw(words):
    """A text whose marks stand at the words before them, as people write."""
    return " ".join(words).replace(" .", ".").replace(" ,", ",").replace("' ", "'")


@pytest.fixture(scope="module")
def texts():
    return [(raw(one.source), raw(one.target)) for one in load_corpus()]


@pytest.fixture(scope="module")
def model(texts):
    return Aligner(tokenize="simple", source_language="en", target_language="fr").fit(texts)


def test_texts_are_split_as_the_model_says(model, texts):
    split = [(Tokenizer("simple", "en")(one), Tokenizer("simple", "fr")(other)) for one, other in texts]
    by_words = Aligner().fit(split)
    assert model.predict_scores(texts) == by_words.predict_scores(split)
    assert model.predict(split) == model.predict(texts)
    with pytest.raises(ValueError, match=r"two lists of words.*tokenize"):
        by_words.predict(texts)


def test_a_loaded_model_splits_text_in_the_same_way(model, texts, tmp_path):
    model.save(tmp_path / "model.st")
    again = Aligner.load(tmp_path / "model.st")
    assert again.tokenizers_ == model.tokenizers_ == (Tokenizer("simple", "en"), Tokenizer("simple", "fr"))
    assert again.predict_scores(texts[:20]) == model.predict_scores(texts[:20])


def test_a_continued_model_keeps_its_tokenizers(model, texts):
    more = Aligner().fit([], None, texts[:40], earlier=model)
    assert more.tokenizers_ == model.tokenizers_


def test_sides_may_have_tokenizers_of_their_own(texts):
    chinese = [(one, "".join(other.split())) for one, other in texts[:30]]
    found = Aligner(tokenize=("auto", "characters")).fit(chinese)
    assert [one.name for one in found.tokenizers_] == ["simple", "characters"]
    with pytest.raises(ValueError, match="one per side; got 3"):
        Aligner(tokenize=("none",) * 3).fit(texts)
    with pytest.raises(ValueError, match="Did you mean 'simple'"):
        Aligner(tokenize="simpel").fit(texts)


def test_links_between_blanks_are_those_of_any_of_their_tokens():
    source, target = Tokenizer("simple", "en")("I don't know."), Tokenizer("simple", "fr")("je ne sais pas.")
    assert source == ["I", "do", "n't", "know", "."]
    links = [(0, 0), (1, 1), (2, 3), (3, 2), (4, 4)]
    found = between_blanks(WrittenPair(source, target, links, [0.9, 0.5, 0.7, 0.8, 0.95]))
    assert list(found.source) == ["I", "don't", "know."]
    assert found.links == [(0, 0), (1, 1), (1, 3), (2, 2), (2, 3)]
    assert found.confidence == [0.9, 0.5, 0.7, 0.8, 0.95]
    twice = between_blanks(WrittenPair(source, target, [(3, 3), (4, 4)], [0.3, 0.6]))
    assert (twice.links, twice.confidence) == ([(2, 3)], [0.6])
    plain = WrittenPair(["a"], ["b"], [(0, 0)], [])
    assert between_blanks(plain) is plain
    assert between_blanks(WrittenPair(AT_BLANKS("a b"), ["c"], [(1, 0)], [])).links == [(1, 0)]


def test_shortlists_count_links():
    pairs = [
        WrittenPair(["a", "b"], ["x", "y"], [(0, 0), (1, 1)], []),
        WrittenPair(["a"], ["y"], [(0, 0)], []),
        WrittenPair(["a"], ["x"], [(0, 0)], []),
    ]
    with Sorter(2) as by_source, Sorter(2) as by_target:
        count_links(pairs, (pieces_of(None), pieces_of(None)), (by_source, by_target))
        forward, backward = (list(shortlist_lines(one, 5)) for one in (by_source, by_target))
    assert forward == ["x a 0.6666667\n", "y a 0.3333333\n", "y b 1.0000000\n"]
    assert backward == ["a x 1.0000000\n", "a y 0.5000000\n", "b y 0.5000000\n"]


def test_shortlists_keep_the_likeliest():
    pairs = [WrittenPair(["a"], [word], [(0, 0)], []) for word in "xxyzx"]
    with Sorter(10) as by_source, Sorter(10) as by_target:
        count_links(pairs, (pieces_of(None), lambda word: [word, "+"]), (by_source, by_target))
        assert list(shortlist_lines(by_source, 2)) == ["+ a 0.5000000\n", "x a 0.3000000\n"]


def test_directions_link_a_word_to_what_most_likely_generated_it():
    forward = np.array([[0.6, 0.1, 0.2], [0.3, 0.2, 0.5]])
    reverse = np.array([[0.7, 0.1, 0.1], [0.1, 0.3, 0.2]])
    tables = Posteriors(forward, reverse, 1 - forward.sum(axis=0), 1 - reverse.sum(axis=1))
    found = directions(tables)
    assert found == ([(0, 0), (1, 2)], [(0, 0)])
    assert directions(Posteriors(*(np.empty((0, 2)),) * 2, np.ones(2), np.empty(0))) == ([], [])


def test_symmetrized_links_are_between_intersection_and_union(model, texts):
    inner, outer, own = (
        list(symmetrized(model, iter(texts[:30]), intersection, scores=True)),
        list(symmetrized(model, iter(texts[:30]), union)),
        model.predict(texts[:30]),
    )
    for least, most, links in zip(inner, outer, own, strict=True):
        assert set(least.links) <= set(most.links)
        assert set(least.links) <= links | set(most.links)
        assert all(0.0 < sure <= 1.0 for sure in least.confidence)
    shared = sum(len(links & set(least.links)) for links, least in zip(own, inner))
    assert shared > 0.9 * sum(len(least.links) for least in inner)
