import pytest

from structlearn.alignment.corpus import load_corpus, read_linked_pairs
from structlearn.alignment.text.tokenizers import Tokenizer
from structlearn.data import DataError

CORPUS = load_corpus()


def pair_of(source):
    (found,) = [pair for pair in CORPUS if " ".join(pair.source) == source]
    return found


def test_size_and_lengths():
    assert len(CORPUS) >= 160
    lengths = [len(side) for pair in CORPUS for side in (pair.source, pair.target)]
    assert (min(lengths), max(lengths)) == (3, 25)
    assert len({" ".join(pair.source) for pair in CORPUS}) == len(CORPUS)


def test_most_words_are_linked_and_few_links_are_only_possible():
    words = sum(len(pair.source) + len(pair.target) for pair in CORPUS)
    linked = sum(
        len({i for i, _ in p.links.possible}) + len({j for _, j in p.links.possible}) for p in CORPUS
    )
    assert 0.99 < linked / words < 1
    sure, possible = (sum(len(pair.links[k]) for pair in CORPUS) for k in (0, 1))
    assert 0.7 < sure / possible < 0.9


def test_the_tokeniser_agrees_with_the_corpus():
    for pair in CORPUS:
        assert Tokenizer("simple", "en")(" ".join(pair.source)) == pair.source
        assert Tokenizer("simple", "fr")(" ".join(pair.target)) == pair.target
        assert " ".join(pair.source + pair.target).islower()


def test_links_of_some_pairs():
    def named(pair, links):
        return {f"{pair.source[i]} {pair.target[j]}" for i, j in links}

    red = pair_of("the red house is old .")
    assert red.target == ["la", "maison", "rouge", "est", "vieille", "."]
    assert red.links.possible == {(0, 0), (1, 2), (2, 1), (3, 3), (4, 4), (5, 5)}
    bread = pair_of("the dog does not eat bread .")
    assert named(bread, bread.links.sure) == {
        "the le", "dog chien", "not ne", "not pas", "eat mange", "bread pain", ". .",
    }  # fmt: skip
    assert named(bread, bread.links.possible - bread.links.sure) == {"bread de"}


def test_files_of_ones_own(write):
    (pair,) = read_linked_pairs(write("a b\tc\t0-0 1?0\n"))
    assert pair.links.possible == {(0, 0), (1, 0)}
    with pytest.raises(DataError, match=r"line 1: the link from source word 3 .* of 2 and 1 words"):
        list(read_linked_pairs(write("a b\tc\t2-0\n")))
    with pytest.raises(DataError, match="line 1: the third column"):
        list(read_linked_pairs(write("a b\tc\n")))
