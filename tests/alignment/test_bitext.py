"""Bitext and lexicon against counting by hand."""

import gzip
from collections import Counter

import numpy as np
import pytest

from structlearn.alignment.statistics.cooccurrence import build_lexicon
from structlearn.alignment.statistics.lexicon import find_entries, locate
from structlearn.alignment.text.bitext import Bitext
from structlearn.alignment.text.pairs import read_pairs
from structlearn.core.threads import in_order

PAIRS = [
    (["the", "house", "is", "the", "house"], ["la", "maison", "est", "la", "maison"]),
    (["the", "blue", "book"], ["le", "livre", "bleu"]),
    ([], ["rien"]),
    (["a", "house"], ["une", "maison"]),
    (["nothing"], []),
]


def words(corpus, vocabulary, s):
    return [vocabulary.words[k] for k in corpus.words(s, s + 1)]


def test_bitext_keeps_the_words_and_counts_them():
    bitext = Bitext.from_pairs(iter(PAIRS))
    for s, (source, target) in enumerate(PAIRS):
        assert words(bitext.source, bitext.source_words, s) == source
        assert words(bitext.target, bitext.target_words, s) == target
    counts = Counter(word for source, _ in PAIRS for word in source)
    assert dict(zip(bitext.source_words.words, bitext.source_words.counts)) == counts
    assert (np.diff(bitext.source_words.counts) <= 0).all()
    assert bitext.cell_start.tolist() == [0, 25, 34, 34, 38, 38]


def test_words_never_seen_share_one_number():
    bitext = Bitext.from_pairs(PAIRS)
    new = Bitext.encode([(["the", "red", "house"], ["rouge"])], bitext.source_words, bitext.target_words)
    the, red, house = new.source.tokens
    assert bitext.source_words.words[the] == "the"
    assert bitext.source_words.words[house] == "house"
    assert red == len(bitext.source_words)
    assert new.target.tokens.tolist() == [len(bitext.target_words)]


def test_files_plain_and_compressed(tmp_path):
    (tmp_path / "text.e").write_text("the house\n\na book\n", encoding="utf-8")
    with gzip.open(tmp_path / "text.f.gz", "wt", encoding="utf-8") as file:
        file.write("la maison\nrien\nun été\n")
    text = read_pairs(tmp_path / "text.e", tmp_path / "text.f.gz", allow_empty=True)
    bitext = Bitext.from_pairs((pair.source, pair.target) for pair in text)
    assert bitext.source.lengths.tolist() == [2, 0, 2]
    assert words(bitext.target, bitext.target_words, 2) == ["un", "été"]


def test_files_of_unequal_length_are_refused(tmp_path):
    (tmp_path / "a").write_text("one\ntwo\n")
    (tmp_path / "b").write_text("un\n")
    with pytest.raises(ValueError, match="b, line 2: the file ends here"):
        Bitext.from_pairs(pair[1:] for pair in read_pairs(tmp_path / "a", tmp_path / "b"))


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_lexicon_counts_sentence_pairs(n_jobs):
    bitext = Bitext.from_pairs(PAIRS)
    with in_order(n_jobs) as run:
        lexicon = build_lexicon(bitext, run)
        entry = locate(lexicon, bitext, run)
    together = Counter((e, f) for source, target in PAIRS for e in set(source) for f in set(target))
    either = Counter(word for pair in PAIRS for side in pair for word in set(side))
    found = zip(lexicon.source(), lexicon.target, lexicon.together, lexicon.dice())
    named = {
        (bitext.source_words.words[e], bitext.target_words.words[f]): (count, value)
        for e, f, count, value in found
    }
    assert {pair: count for pair, (count, _) in named.items()} == together
    for (e, f), (count, value) in named.items():
        assert value == pytest.approx(2 * count / (either[e] + either[f]))
    np.testing.assert_array_equal(entry, find_entries(lexicon, bitext.record, 0, len(bitext)))


def test_entries_name_the_words_of_their_cells():
    bitext = Bitext.from_pairs(PAIRS)
    lexicon = build_lexicon(bitext)
    entry = locate(lexicon, bitext)
    cells = [(e, f) for source, target in PAIRS for e in source for f in target]
    source, target = lexicon.source()[entry], lexicon.target[entry]
    named = [(bitext.source_words.words[e], bitext.target_words.words[f]) for e, f in zip(source, target)]
    assert named == cells


def test_pairs_that_are_not_stored_have_places_of_their_own():
    bitext = Bitext.from_pairs(PAIRS)
    lexicon = build_lexicon(bitext)
    new = Bitext.encode([(["a", "new"], ["livre", "neuf"])], bitext.source_words, bitext.target_words)
    K = lexicon.target.size
    assert find_entries(lexicon, new.record, 0, 1).tolist() == [K, K + 2, K + 1, K + 3]
