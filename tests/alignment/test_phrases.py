"""Phrase pairs against their definition, and counts against a plain table."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.uses import sorted_counts as sorting
from structlearn.alignment.uses.phrases import PhraseSpans, counted_phrases, phrase_spans
from structlearn.alignment.uses.sorted_counts import Sorter, with_totals


def by_definition(links, m, n, longest):
    """All pairs of ranges with a link inside and none that leads out."""
    for i1, i2, j1, j2 in product(range(m), range(1, m + 1), range(n), range(1, n + 1)):
        if not (0 < i2 - i1 <= longest and 0 < j2 - j1 <= longest):
            continue
        inside = [(i1 <= i < i2, j1 <= j < j2) for i, j in links]
        if (True, True) in inside and all(a == b for a, b in inside):
            yield PhraseSpans(i1, i2, j1, j2)


@pytest.mark.parametrize("seed", range(30))
def test_phrases_are_the_consistent_ones(seed):
    rng = np.random.default_rng(seed)
    m, n, longest = rng.integers(1, 7, size=3).tolist()
    links = [(i, j) for i, j in product(range(m), range(n)) if rng.random() < rng.choice([0.1, 0.3])]
    found = list(phrase_spans(links, (m, n), longest))
    assert sorted(found) == sorted(by_definition(links, m, n, longest))


def table(rows):
    return {(one.source, one.target): (one.count, one.forward, one.backward) for one in rows}


@pytest.mark.parametrize("memory", [0, 10**9])
def test_counts_and_probabilities(memory, monkeypatch):
    """The same with next to no memory, where all is sorted in files."""
    if not memory:
        monkeypatch.setattr("structlearn.alignment.uses.phrases._LEAST", 5)
        monkeypatch.setattr(sorting, "_HELD", 2)
        monkeypatch.setattr(sorting, "_MOST_RUNS", 3)
    rng = np.random.default_rng(0)
    words = ["a", "b", "c", "d", "|", "e\u2028f"]
    pairs = []
    for _ in range(60):
        source, target = (rng.choice(words, size=rng.integers(1, 5)).tolist() for _ in range(2))
        links = [(i, j) for i, j in product(range(len(source)), range(len(target))) if rng.random() < 0.3]
        pairs.append((source, target, links))
    both, left, right = Counter(), Counter(), Counter()
    for source, target, links in pairs:
        for i1, i2, j1, j2 in by_definition(links, len(source), len(target), 3):
            e, f = (
                " ".join("_".join(word.split()) for word in side) for side in (source[i1:i2], target[j1:j2])
            )
            both[e, f] += 1
            left[e] += 1
            right[f] += 1
    expected = {(e, f): (c, c / left[e], c / right[f]) for (e, f), c in both.items()}
    rows = list(counted_phrases(pairs, max_length=3, memory=memory))
    assert table(rows) == expected
    assert [one.source for one in rows] == sorted(one.source for one in rows)
    frequent = counted_phrases(pairs, max_length=3, min_count=3, memory=memory)
    assert table(frequent) == {key: row for key, row in expected.items() if row[0] >= 3}


def test_sorting_keeps_what_belongs_to_a_count():
    with Sorter(2) as sorter:
        for k in (3, 1, 2, 3, 1):
            sorter.add(str(k), "x", (1, k))
        assert list(sorter.merge()) == [("1", "x", (2, 1)), ("2", "x", (1, 2)), ("3", "x", (2, 3))]
    rows = [("a", "x", (1,)), ("a", "y", (2,)), ("b", "x", (5,))]
    assert [total for _, total in with_totals(rows)] == [3, 3, 5]


@pytest.fixture(scope="module")
def aligner():
    return Aligner().fit([(one.source, one.target) for one in load_corpus()])


def test_the_aligner_s_own(aligner):
    pairs = [(one.source, one.target) for one in load_corpus()]
    found = table(aligner.phrases(iter(pairs), max_length=2, min_count=2))
    assert found["the", "la"][0] > 2
    assert all(len(e.split()) <= 2 and len(f.split()) <= 2 for e, f in found)
    linked = [(*pair, links) for pair, links in zip(pairs, aligner.predict(pairs))]
    assert found == table(counted_phrases(linked, max_length=2, min_count=2))


def test_dictionary(aligner):
    rows = aligner.dictionary(min_score=0.2, min_count=2, top=2)
    assert all(one.score >= 0.2 and one.together >= 2 for one in rows)
    assert all(one.score == pytest.approx((one.forward * one.backward) ** 0.5) for one in rows)
    assert max(Counter(one.source for one in rows).values()) == 2
    assert "maison" in [one.target for one in rows if one.source == "house"]
    counts = dict(zip(aligner.statistics_.source_words.words, aligner.statistics_.source_words.counts))
    seen = [counts[one.source] for one in rows]
    assert seen == sorted(seen, reverse=True)
    everything = aligner.dictionary(min_score=0, min_count=0, top=10**6)
    assert len(everything) == aligner.statistics_.lexicon.target.size
    assert aligner.dictionary(min_score=2) == []


def test_labels_of_pairs(aligner):
    pair = ["the", "house", "is", "here", "."], ["la", "maison", "est", "ici", "."]
    (found,) = aligner.project_labels([pair], [["B-X", "I-X", "O", "O", "O"]])
    assert found.labels == ["B-X", "I-X", "O", "O", "O"]
    (back,) = aligner.project_labels([pair], [["D", "N", "V", "A", "P"]], labelled="target")
    assert back.labels == ["D", "N", "V", "A", "P"]
    assert all(0 < sure <= 1 for sure in back.confidence)
    with pytest.raises(ValueError, match="Pair 0 has 5 source words but 1 labels"):
        aligner.project_labels([pair], [["O"]])
    with pytest.raises(ValueError, match="1 pairs but labels of 0"):
        aligner.project_labels([pair], [])
    with pytest.raises(ValueError, match="Unknown side 'left'"):
        aligner.project_labels([pair], [["O"] * 5], labelled="left")
