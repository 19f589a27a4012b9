"""Training of the statistics: objectives, agreement, symmetry, threads, saving."""

import numpy as np
import pytest

from structlearn.alignment.statistics.statistics import AlignmentStatistics, by_pair
from structlearn.alignment.statistics.training import EMSettings, _agree, stages
from structlearn.alignment.statistics.translation import Priors
from structlearn.alignment.text.bitext import Bitext


def synthetic_pairs(n_pairs=300, seed=0):
    """Word k translates to word K; neighbours change places now and then, some words have no translation."""
    rng = np.random.default_rng(seed)
    for _ in range(n_pairs):
        source = rng.zipf(1.5, size=rng.integers(3, 9)).clip(max=60)
        order = np.arange(len(source))
        swap = rng.integers(len(source) - 1)
        order[[swap, swap + 1]] = order[[swap + 1, swap]]
        target = [f"F{k}" for k in source[order] if k > 1] + ["end"]
        yield [f"e{k}" for k in source], target


@pytest.fixture(scope="module")
def bitext():
    return Bitext.from_pairs(synthetic_pairs())


@pytest.fixture(scope="module")
def statistics(bitext):
    return AlignmentStatistics.train(bitext)


def test_objective_never_decreases(bitext):
    recipe = EMSettings(model1=6, hmm=6, agreement=False, priors=Priors(*[0.0] * 7))
    history = AlignmentStatistics.train(bitext, recipe).history
    for model in ("model1", "hmm"):
        values = np.array([(row.forward, row.reverse) for row in history if row.model == model])
        assert (np.diff(values, axis=0) >= -1e-6 * np.abs(values[1:])).all()
        assert (values[-1] > values[0] + 1).all()


def linked(statistics, source, target):
    """Words that are linked, as pairs."""
    agreement = statistics.tables(source, target).agreement()
    return {(source[i], target[j]) for i, j in np.argwhere(agreement > 0.5)}


def test_rare_words_keep_their_translations():
    """What is said once takes what is left over, and not more."""
    pairs = [*synthetic_pairs(100), (["e2", "once", "e3", "e4"], ["F2", "einmal", "F3", "F4", "end"])]
    statistics = AlignmentStatistics.train(Bitext.from_pairs(pairs))
    assert linked(statistics, *pairs[-1]) == {("e2", "F2"), ("once", "einmal"), ("e3", "F3"), ("e4", "F4")}


def test_words_that_begin_alike_help_each_other():
    """Two forms that are said once, in either order: only what others with their beginnings do can tell."""
    rng = np.random.default_rng(0)
    drawn = [rng.permutation(10)[:3] for _ in range(60)]
    pairs = [([f"abc{k}" for k in one], [f"xyz{k}" for k in rng.permutation(one)]) for one in drawn]
    rare = ["abc1s", "abc2s"], ["xyz2en", "xyz1en"]
    found = linked(AlignmentStatistics.train(Bitext.from_pairs([*pairs, rare])), *rare)
    assert found == {("abc1s", "xyz1en"), ("abc2s", "xyz2en")}


@pytest.mark.parametrize("cognates", [True, False])
def test_spelling_counts_as_far_as_the_text_says(cognates):
    """Two words that are said once are linked by their letters, unless others that look alike are not."""
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice(list("abcdefgh"), 7)) for _ in range(72)]
    other = names if cognates else np.roll(names[:30], 1)
    drawn = [rng.permutation(30)[:3] for _ in range(100)]
    pairs = [([names[k] for k in one], [f"{other[k]}o" for k in rng.permutation(one)]) for one in drawn]
    rare = names[70:72], [f"{names[71]}o", f"{names[70]}o"]
    found = AlignmentStatistics.train(Bitext.from_pairs([*pairs, rare])).tables(*rare).agreement()
    assert (found[0, 1] > 2 * found[0, 0]) == (found[1, 0] > 2 * found[1, 1]) == cognates


def test_translations_are_found_and_null_is_used(statistics):
    tables = statistics.tables(["e2", "e3"], ["F2", "F3", "end"])
    np.testing.assert_array_equal(tables.agreement() > 0.5, [[True, False, False], [False, True, False]])
    assert tables.forward_null[2] > 0.5
    np.testing.assert_allclose(tables.forward.sum(axis=0) + tables.forward_null, 1, rtol=1e-5)
    np.testing.assert_allclose(tables.reverse.sum(axis=1) + tables.reverse_null, 1, rtol=1e-5)


@pytest.mark.parametrize("agreement", [False, True])
def test_exchanging_the_sides_exchanges_the_directions(bitext, agreement):
    recipe = EMSettings(model1=2, hmm=2, agreement=agreement)
    one = AlignmentStatistics.train(bitext, recipe)
    exchanged = Bitext(bitext.target, bitext.source, bitext.target_words, bitext.source_words)
    other = AlignmentStatistics.train(exchanged, recipe)
    for a, b in zip(by_pair(bitext, one.posteriors(bitext)), by_pair(exchanged, other.posteriors(exchanged))):
        np.testing.assert_allclose(a.forward, b.reverse.T, atol=1e-4)
        np.testing.assert_allclose(a.reverse, b.forward.T, atol=1e-4)
        np.testing.assert_allclose(a.forward_null, b.reverse_null, atol=1e-4)


def test_training_to_agree_brings_the_directions_together(bitext, statistics):
    apart = AlignmentStatistics.train(bitext, EMSettings(agreement=False))

    def distance(trained):
        posteriors = trained.posteriors(bitext)
        return np.abs(posteriors.forward - posteriors.reverse).mean()

    assert distance(statistics) < distance(apart)


def test_agreement_grows_to_the_product_of_both_directions(bitext):
    of_hmm = [stage for stage in stages(EMSettings(), bitext) if stage.hmm]
    assert [stage.weight for stage in of_hmm] == [0.5, 0.625, 0.75, 0.875, 1.0]
    f, r = np.random.default_rng(0).random((2, 20)).astype(np.float32)
    for stage in of_hmm:
        forward, reverse = f.copy(), r.copy()
        _agree(forward, reverse, stage)
        np.testing.assert_allclose(forward, stage.weight * f * r + (1 - stage.weight) * f, rtol=1e-6)
        if stage.weight < 1:  # else counted once, as what `forward` has
            np.testing.assert_allclose(reverse, stage.weight * f * r + (1 - stage.weight) * r, rtol=1e-6)


def test_the_number_of_threads_changes_nothing(bitext, statistics, monkeypatch):
    monkeypatch.setattr("structlearn.alignment.statistics.training.CHUNK", 1000)
    one, three = (AlignmentStatistics.train(bitext, n_jobs=n_jobs) for n_jobs in (1, 3))
    for name, value in one.to_arrays().items():
        np.testing.assert_array_equal(value, three.to_arrays()[name])
    for mine, theirs in zip(one.posteriors(bitext), three.posteriors(bitext, n_jobs=3)):
        np.testing.assert_array_equal(mine, theirs)
    for mine, theirs in zip(one.posteriors(bitext), statistics.posteriors(bitext)):
        np.testing.assert_allclose(mine, theirs, atol=1e-3)


def test_a_word_never_seen_is_aligned_to_the_other_word_never_seen(statistics):
    tables = statistics.tables(["e2", "new", "e3"], ["F2", "neu", "F3"])
    assert tables.agreement().argmax(axis=0).tolist() == [0, 1, 2]
    assert tables.forward[1, 1] > 0.5


def test_pairs_without_words_on_a_side(statistics):
    empty = statistics.encode([([], ["F2"]), (["e2"], ["F2"]), (["e2"], [])])
    tables = list(by_pair(empty, statistics.posteriors(empty)))
    assert tables[0].forward.shape == (0, 1)
    assert tables[0].forward_null.tolist() == [1.0]
    assert tables[2].reverse_null.tolist() == [1.0]
    np.testing.assert_allclose(tables[1].forward, statistics.tables(["e2"], ["F2"]).forward)
    assert statistics.posteriors(statistics.encode([])).forward.size == 0
    with pytest.raises(ValueError, match="no pair with words on both sides"):
        AlignmentStatistics.train(Bitext.from_pairs([([], ["x"])]))


def test_saved_as_arrays_and_pruned(bitext, statistics):
    again = AlignmentStatistics.from_arrays(statistics.to_arrays())
    assert again.source_words.words == statistics.source_words.words
    for mine, theirs in zip(again.posteriors(bitext), statistics.posteriors(bitext)):
        np.testing.assert_array_equal(mine, theirs)
    small = statistics.prune(1e-3)
    assert small.lexicon.target.size < 0.7 * statistics.lexicon.target.size
    pruned, full = small.posteriors(bitext), statistics.posteriors(bitext)
    np.testing.assert_allclose(pruned.agreement(), full.agreement(), atol=0.05)


def test_pair_statistics_are_those_of_the_words(bitext, statistics):
    asked = statistics.encode([(["e2", "new"], ["F2", "F3"])])
    _, found = statistics.of_cells(asked)
    e, f = statistics.source_words.encode(["e2"])[0], statistics.target_words.encode(["F2"])[0]
    with_e = [s for s in range(len(bitext)) if e in bitext.source.words(s, s + 1)]
    with_f = [s for s in range(len(bitext)) if f in bitext.target.words(s, s + 1)]
    both = set(with_e) & set(with_f)
    assert found.dice[0] == pytest.approx(2 * len(both) / (len(with_e) + len(with_f)))
    assert found.dice[2:].tolist() == [0.0, 0.0]
    assert found.translation[0] > 0.8
    assert found.reverse_translation[0] > 0.8
