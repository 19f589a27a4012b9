"""Scores of sentence pairs: evidence against its formula, calibration against what is known to be bad."""

import numpy as np
import pytest

from structlearn import Aligner
from structlearn.alignment.statistics.lexicon import find_entry
from structlearn.alignment.text.clean import CleaningRules
from structlearn.alignment.uses.evidence import (
    COPIED,
    N_FEATURES,
    WordRatios,
    WordTables,
    evidence_of,
    learn_alone,
    ratios_of,
    usual_alone,
)
from structlearn.alignment.uses.neighbours import beside_neighbours
from structlearn.alignment.uses.quality import (
    PairQuality,
    cut_by_precision,
    cut_by_share,
    mismatched,
    probability,
    sample_runs,
    text_with_mismatched,
)
from structlearn.alignment.uses.scored_text import ScoredText, cut_page
from structlearn.data import DataError


@pytest.fixture(scope="module")
def text():
    """1,500 pairs of 3 to 9 words, each word with one translation; a tenth of them bad; and which are."""
    rng = np.random.default_rng(0)
    draw = rng.zipf(1.4, size=(1500, 9)) % 400
    lengths = rng.integers(3, 10, size=1500)
    source = [[f"a{k}" for k in row[:n]] for row, n in zip(draw, lengths)]
    target = [[f"b{k}" for k in row[:n]] for row, n in zip(draw, lengths)]
    is_bad = rng.random(1500) < 0.1
    shuffled = [target[k] for k in rng.permutation(1500)]
    return [(e, o if bad else f) for e, f, o, bad in zip(source, target, shuffled, is_bad)], is_bad


@pytest.fixture(scope="module")
def aligner(text):
    return Aligner(random_state=0).fit([], None, text_with_mismatched(text[0]))


@pytest.fixture(scope="module")
def quality(text, aligner):
    return PairQuality.fit(aligner, text[0], own=True)


def test_evidence_follows_its_formula(aligner):
    statistics = aligner.statistics_
    tables = WordTables.of(statistics)
    pair = ["a1", "a7", "a399", "unheard"], ["b7", "b1", "unheard", "b1"]
    alone = usual_alone(statistics)
    alone[0][:] = np.random.default_rng(0).uniform(0.05, 0.9, alone[0].size)
    found = evidence_of(ratios_of(tables, statistics, [pair, ([], ["b1"])]), alone)
    assert found.shape == (2, N_FEATURES)

    bitext = statistics.encode([pair])
    source, target = bitext.source.tokens, bitext.target.tokens
    words = []
    for f in target:
        if f == len(statistics.target_words):
            continue
        t = 0.0
        for e in source:
            k = find_entry(statistics.lexicon, e, f)
            t += tables.forward[k] if k < len(statistics.lexicon.target) else 0.0
        own = alone[0][f]
        words.append(np.log(own + (1 - own) * t / len(source) / tables.target_share[f]))
    np.testing.assert_allclose(found[0, 0], np.sum(words) / 4, rtol=1e-6)
    np.testing.assert_allclose(found[0, 2], np.sum(words) / 2, rtol=1e-6)
    assert found[0, 4] == np.sum(np.array(words) > 0) / 4
    assert found[1, 0] == 0.0


def test_numbers_are_their_own_translations():
    text = [(["a", "x"], ["b", "x"])] * 20 + [(["a", "17"], ["b", "17"]), (["a", "18"], ["b", "18"])]
    statistics = Aligner(random_state=0).fit([], None, text).statistics_
    tables = WordTables.of(statistics)
    pairs = [(["17"], ["17"]), (["17"], ["18"])]
    right, wrong = evidence_of(ratios_of(tables, statistics, pairs), usual_alone(statistics))
    share = tables.target_share[statistics.target_words.encode(["17"])[0]]
    assert right[0] >= np.log(0.1 + 0.9 * COPIED / share) - 1e-9
    assert wrong[0] < 0


def test_how_often_words_stand_alone_is_learned():
    """Of 4,000 occurrences each, one word in two and one in a hundred come without what explains them."""
    statistics = Aligner().fit([], None, [(["a", "b"], ["x", "y"])] * 4000).statistics_
    rng = np.random.default_rng(0)
    word = np.repeat(statistics.target_words.encode(["x", "y"]), 4000)
    explained = rng.random(8000) > np.repeat([0.5, 0.01], 4000)
    # those that stand alone have a ratio of 1 on average, by chance
    ratio = np.where(explained, 50.0, rng.choice([0.0, 50.0], 8000, p=[0.98, 0.02]))
    side = WordRatios(ratio, word, np.full(4000, 2))
    nothing = WordRatios(np.empty(0), np.empty(0, dtype=int), np.zeros(4000, dtype=int))
    alone, _ = learn_alone((side, nothing), statistics, np.ones(4000))
    np.testing.assert_allclose(alone[word[[0, -1]]], [0.5, 0.01], atol=0.03)
    unheeded, _ = learn_alone((side, nothing), statistics, np.zeros(4000))
    np.testing.assert_allclose(unheeded[word[[0, -1]]], 0.1, atol=0.01)


def test_margins_compare_a_pair_with_its_neighbours():
    """Against all combinations of three pairs, each sum of evidence being a number of our own."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(3, 3, N_FEATURES))  # of source k and target l
    u = np.stack([table[..., 0] + table[..., 1], table[..., 2] + table[..., 3]], axis=-1)
    beside = beside_neighbours(table[[0, 1], [1, 2]], table[[1, 2], [0, 1]])
    found = beside.margins(table[[0, 1, 2], [0, 1, 2]])
    near = {0: [1], 1: [0, 2], 2: [1]}
    for k in range(3):
        source = u[k, k] - np.max([u[k, other] for other in near[k]], axis=0)
        target = u[k, k] - np.max([u[other, k] for other in near[k]], axis=0)
        both = np.concatenate([source, target])
        np.testing.assert_allclose(found[k], [*both, *np.minimum(both, 0)])


def test_lines_that_slipped_are_found_by_their_neighbours(aligner, quality):
    """A half translation whose other half is the next source's is worse than one beside other lines."""
    pair = ["a1", "a2", "a3", "a4"], ["b1", "b2", "b7", "b8"]
    elsewhere, slipped = (["a30"], ["b30"]), (["a1", "a2", "a7", "a8"], ["b9"])
    alone, beside_slipped = (quality.log_odds([elsewhere, pair, one])[1] for one in (elsewhere, slipped))
    assert beside_slipped < alone


def test_a_stream_is_scored_as_the_whole_text_is(text, quality, monkeypatch):
    from structlearn.alignment.uses import quality as room

    pairs = [*text[0][:40], ([], []), (["a1"], []), *text[0][40:60]]
    whole = quality.log_odds(pairs)
    monkeypatch.setattr(room, "AT_ONCE", 7)
    np.testing.assert_allclose(list(quality.stream_log_odds(pairs)), whole)


def test_bad_pairs_are_found_and_their_share_is_known(text, quality):
    pairs, is_bad = text
    scores = np.array(list(quality.scores(pairs)))
    assert ((scores > 0) & (scores < 1)).any()
    order = np.argsort(scores)
    assert is_bad[order[: is_bad.sum()]].mean() > 0.85
    assert abs(quality.share_bad - is_bad.mean()) < 0.03
    assert abs(scores.mean() - (1 - is_bad.mean())) < 0.03


def test_a_model_of_other_text_scores_as_well(text, aligner):
    pairs, is_bad = text
    half = len(pairs) // 2
    other = Aligner(random_state=0).fit([], None, pairs[:half])
    quality = PairQuality.fit(other, pairs[half:])
    scores = quality.log_odds(pairs[half:])
    assert np.median(scores[is_bad[half:]]) < np.quantile(scores[~is_bad[half:]], 0.05)
    assert abs(quality.share_bad - is_bad[half:].mean()) < 0.05


def test_pairs_without_words_are_bad(quality):
    assert np.isneginf(quality.log_odds([([], []), (["a1"], [])])).all()
    assert list(quality.scores([([], ["b1"])])) == [pytest.approx(0.0, abs=1e-300)]


def test_cuts():
    log_odds = np.array([4.0, -3.0, 1.0, 2.0, 0.0])
    cut = cut_by_precision(log_odds, 0.8)
    expected = probability(np.sort(log_odds)[::-1])
    kept = log_odds >= cut
    assert probability(log_odds[kept]).mean() >= 0.8
    assert expected[: kept.sum() + 1].mean() < 0.8
    assert (log_odds >= cut_by_share(log_odds, 0.4)).sum() == 2
    with pytest.raises(DataError, match="ask for less precision"):
        cut_by_precision(log_odds, 0.999)


def test_mismatched_pairs_have_other_targets():
    pairs = [([f"a{k}"], [f"b{k % 3}"]) for k in range(12)]
    right = {source[0]: target for source, target in pairs}
    made = mismatched(pairs)
    assert made
    assert all(right[source[0]] != target for source, target in made)


def test_the_sample_is_of_neighbours_from_all_over(monkeypatch):
    from structlearn.alignment.uses import quality as room

    monkeypatch.setattr(room, "LOOKED_AT", 256)
    found = sample_runs((["a"], [str(k)]) for k in range(10_000))
    numbers = np.array([int(target[0]) for _, target in found])
    assert 128 <= len(numbers) <= 256
    assert numbers.max() > 8000
    assert (np.diff(numbers) == 1).mean() > 0.9


def test_few_pairs_are_refused(aligner):
    with pytest.raises(DataError, match="at least 100 pairs"):
        PairQuality.fit(aligner, [(["a1"], ["b1"])] * 99 + [([], [])] * 50)


def test_files_are_cut_and_scored(tmp_path, text, quality):
    pairs, _ = text
    files = [tmp_path / f"text.{side}" for side in ("en", "fr")]
    for path, side in zip(files, (0, 1)):
        path.write_text("".join(" ".join(pair[side]) + "\n" for pair in [*pairs, (["a1"] * 9, ["b1"])]))
    outputs = tmp_path / "kept.en", tmp_path / "kept.fr"
    scored = ScoredText(*files, CleaningRules())
    counts, expected = scored.write(outputs, quality, 0.0, tmp_path / "scores")
    scores = np.loadtxt(tmp_path / "scores")
    assert len(scores) == len(pairs) + 1 == counts["pairs_read"]
    assert scores[-1] == 0.0
    assert counts["dropped_ratio"] == 1
    kept = [line.split() for line in outputs[0].read_text().splitlines()]
    assert kept == [pair[0] for pair, z in zip(pairs, quality.log_odds(pairs)) if z >= 0]
    assert expected == pytest.approx(scores[scores >= 0.5].mean(), abs=1e-4)
    page = cut_page(quality, 0.0, expected).html()
    assert "Just below the cut" in page
    assert "a1" in page
