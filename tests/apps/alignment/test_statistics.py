"""Training of the statistics: objectives, agreement, symmetry, threads, saving."""

import numpy as np
import pytest

from structlearn.apps.alignment.bitext import Bitext
from structlearn.apps.alignment.direction import Priors
from structlearn.apps.alignment.statistics import AlignmentStatistics, by_pair
from structlearn.apps.alignment.training import EMSettings


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


@pytest.mark.parametrize("alpha", [0.0, 0.01])
def test_objective_never_decreases(bitext, alpha):
    recipe = EMSettings(model1=6, hmm=6, agreement=False, priors=Priors(alpha, 0.1, 0.0))
    history = AlignmentStatistics.train(bitext, recipe).history
    for model in ("model1", "hmm"):
        # With a prior on translations, the uniform start has no variational objective.
        rows = [row for row in history if row.model == model and (alpha == 0 or row != history[0])]
        values = np.array([(row.forward, row.reverse) for row in rows])
        assert (np.diff(values, axis=0) >= -1e-6 * np.abs(values[1:])).all()
        assert (values[-1] > values[0] + 1).all()


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


def test_the_number_of_threads_changes_nothing(bitext, statistics, monkeypatch):
    monkeypatch.setattr("structlearn.apps.alignment.training.CHUNK", 1000)
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
    assert small.lexicon.target.size < statistics.lexicon.target.size / 2
    pruned, full = small.posteriors(bitext), statistics.posteriors(bitext)
    np.testing.assert_allclose(pruned.agreement(), full.agreement(), atol=0.05)


def test_pair_statistics_are_those_of_the_words(bitext, statistics):
    asked = statistics.encode([(["e2", "new"], ["F2", "F3"])])
    found = statistics.pair_statistics(asked)
    e, f = statistics.source_words.encode(["e2"])[0], statistics.target_words.encode(["F2"])[0]
    with_e = [s for s in range(len(bitext)) if e in bitext.source.words(s, s + 1)]
    with_f = [s for s in range(len(bitext)) if f in bitext.target.words(s, s + 1)]
    both = set(with_e) & set(with_f)
    assert found.dice[0] == pytest.approx(2 * len(both) / (len(with_e) + len(with_f)))
    assert found.dice[2:].tolist() == [0.0, 0.0]
    assert found.translation[0] > 0.8
    assert found.reverse_translation[0] > 0.8
