"""Gold pairs as new pairs are seen: by statistics that do not contain their text."""

from itertools import count, islice

import numpy as np
import pytest

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.gold import new_pairs
from structlearn.alignment.gold.features import FEATURES, edge_features
from structlearn.alignment.gold.gold_pairs import EdgeTables, GoldPairs, GoldViews
from structlearn.alignment.gold.new_pairs import LEFT_OUT, features_as_new, other_text, parts_of
from structlearn.alignment.metrics import alignment_scores
from structlearn.alignment.statistics.statistics import AlignmentStatistics
from structlearn.alignment.text.bitext import Bitext

CORPUS = load_corpus()
PAIRS, LINKS = [(one.source, one.target) for one in CORPUS], [one.links for one in CORPUS]
FEW = {"regularization": 5.0, "folds": 3, "random_state": 0}


def error_of_new_pairs(aligner, pairs, links):
    return alignment_scores(links, aligner.predict(pairs)).aer


def test_the_figure_is_that_of_pairs_which_are_not_in_the_text():
    """Either half of the corpus is new to a model of the other; 0.02 less were promised of gold text."""
    reported, seen = [], []
    for own, other in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        found = Aligner(random_state=0).fit(PAIRS[own], LINKS[own])
        reported.append(found.aer_)
        seen.append(error_of_new_pairs(found, PAIRS[other], LINKS[other]))
        assert found.text_aer_ < found.aer_ + 0.005
    assert np.mean(reported) == pytest.approx(np.mean(seen), abs=0.015)


def test_beside_much_text_gold_pairs_are_not_counted(monkeypatch):
    monkeypatch.setattr(new_pairs, "ENOUGH", 3)
    gold, links, text = PAIRS[:30], LINKS[:30], PAIRS[30:]
    found = Aligner(**FEW).fit(gold, links, iter(text))
    alone = Aligner(**FEW).fit(gold, links, statistics=Aligner().fit([], None, text).statistics_)
    assert found.statistics_.source_words.words == alone.statistics_.source_words.words
    assert found.unknown_words(gold)[0] > 0
    assert found.aer_ == alone.aer_
    assert found.text_aer_ is None
    np.testing.assert_array_equal(found.weights_, alone.weights_)


def test_features_are_those_of_statistics_without_the_part():
    gold, text = PAIRS[:40], PAIRS[40:]
    aligner = Aligner(**FEW).fit(gold, LINKS[:40], text)
    nothing = [np.zeros((len(source), len(target))) for source, target in gold]
    F = features_as_new(aligner, gold, text, None, nothing)
    ends = np.cumsum([table.size for table in nothing])
    parts = parts_of(gold)
    assert len(parts) > 2
    for part in parts[:3]:
        rest = [pair for k, pair in enumerate(gold) if k not in part] + text
        written = [aligner.write_pair(pair) for pair in rest]
        statistics = AlignmentStatistics.train(Bitext.from_pairs(written)).prune(aligner.min_probability)
        for k in part:
            expected = edge_features(statistics, [aligner.write_pair(gold[k])]).F
            np.testing.assert_allclose(F[ends[k] - nothing[k].size : ends[k], : len(FEATURES)], expected)


@pytest.mark.parametrize("n", [40, 2, 5, 101])
def test_every_gold_pair_is_in_one_part(n):
    parts = parts_of(PAIRS[:n])
    assert sorted(k for part in parts for k in part) == list(range(n))
    assert max(map(len, parts)) <= max(1, np.ceil(LEFT_OUT * n))


def test_text_is_read_until_it_is_much():
    def endless():
        return ((["a"], [str(k)]) for k in count())

    gold = [(["x"], ["y"])] * 3
    found = other_text(gold, endless())
    assert found.is_much
    assert [target for _, target in islice(found.pairs, 400)] == [[str(k)] for k in range(400)]
    few = other_text(gold, islice(endless(), 9))
    assert not few.is_much
    assert len(list(few.pairs)) == len(list(few.pairs)) == 9


def test_views_of_gold_pairs():
    shapes = np.array([[1, 2], [2, 2], [1, 1]])
    text = GoldPairs(
        EdgeTables(np.zeros((7, 1)), shapes),
        [np.zeros(shape) for shape in shapes],
        [],
        np.arange(len(shapes)),
    )
    views = GoldViews.of(text, np.ones((7, 1)))
    assert [table.max() for table in views.mix().X] == [0, 1, 0]
    assert [table.max() for table in views.both().X] == [0, 0, 0, 1, 1, 1]
    assert GoldViews.of(text, None).both() is GoldViews.of(text, None).mix() is text


def test_figures_are_kept_in_files(tmp_path):
    found = Aligner(folds=3, random_state=0).fit(PAIRS[:20], LINKS[:20], PAIRS[20:40])
    found.save(tmp_path / "model.safetensors")
    loaded = Aligner.load(tmp_path / "model.safetensors")
    assert (loaded.aer_, loaded.text_aer_) == (found.aer_, found.text_aer_)
    assert loaded.text_aer_ is not None
