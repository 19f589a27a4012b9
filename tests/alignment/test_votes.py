"""Votes: links of other aligners as features of gold learning."""

from __future__ import annotations

import numpy as np
import pytest

from structlearn import Aligner
from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.gold.votes import VOTE, VotedPair, kept_votes, vote_tables, votes_of
from structlearn.alignment.metrics import alignment_scores
from structlearn.alignment.text.tokenizers import Tokenizer

CORPUS = load_corpus()
PAIRS = [(one.source, one.target) for one in CORPUS]
LINKS = [one.links for one in CORPUS]
KNOWN = 60


def voter():
    """A good aligner: of each pair the sure links, but one in ten, and now and then a wrong one."""
    rng = np.random.default_rng(0)
    for (source, target), links in zip(PAIRS, LINKS):
        found = {link for link in sorted(links.sure) if rng.random() < 0.9}
        found.add((int(rng.integers(len(source))), int(rng.integers(len(target)))))
        yield found


VOTES = list(voter())


@pytest.fixture(scope="module")
def plain():
    return Aligner(random_state=0, regularization=0.05).fit(PAIRS[:KNOWN], LINKS[:KNOWN])


@pytest.fixture(scope="module")
def voted(plain):
    aligner = Aligner(random_state=0, regularization=0.05)
    return aligner.fit(PAIRS[:KNOWN], LINKS[:KNOWN], statistics=plain.statistics_, votes=[VOTES[:KNOWN]])


def error(predicted):
    return alignment_scores(LINKS[KNOWN:], predicted).aer


def test_good_votes_are_heeded_and_random_ones_are_not(plain, voted):
    alone = error(VOTES[KNOWN:])
    with_votes = error(voted.predict(PAIRS[KNOWN:], [VOTES[KNOWN:]]))
    assert with_votes < 0.9 * min(alone, error(plain.predict(PAIRS[KNOWN:])))
    nothing = error(voted.predict(PAIRS[KNOWN:], [[set()] * len(PAIRS[KNOWN:])]))
    assert nothing > with_votes


def test_features_by_hand():
    pair = VotedPair.of((["a", "b"], ["x", "y", "z"]), [{(0, 1): 0.5, (0, 2): 0.25}, {(1, 0)}])
    aligner = Aligner().fit([(["a", "b"], ["x", "y", "z"])])
    bitext = aligner.statistics_.encode([pair])
    first, second = vote_tables(bitext, [pair], 2).T.reshape(2, 2, 3)
    np.testing.assert_array_equal(first, [[0, 0.5, 0.25], [0, 0, 0]])
    np.testing.assert_array_equal(second, [[0, 0, 0], [1, 0, 0]])
    with pytest.raises(ValueError, match=r"Voter 0 has a link \(2, 0\)"):
        vote_tables(bitext, [VotedPair.of(pair, [{(2, 0)}])], 1)


def test_against_is_the_best_rival(voted):
    edges = voted.features([VotedPair.of((["a", "b"], ["x", "y"]), [{(0, 0): 0.7, (1, 0): 0.4}])])
    columns = [voted.feature_names_.index(f"{name}_1") for name in VOTE[:3]]
    expected = [[1, 0.7, 0.4], [0, 0, 0.7], [1, 0.4, 0.7], [0, 0, 0.4]]
    np.testing.assert_allclose(edges.F[:, columns], expected)


def test_votes_survive_words_that_are_left_out():
    pair = VotedPair.of((list("abc"), list("xyz")), [{(0, 0): 0.5, (2, 1): 1.0, (1, 2): 1.0}])
    kept = kept_votes(pair, (["a", "c"], ["x", "y"]), np.array([0, 2]), np.array([0, 1]))
    assert votes_of(kept) == ({(0, 0): 0.5, (1, 1): 1.0},)


def test_votes_of_raw_text_are_of_words_between_blanks():
    simple = Tokenizer("simple", "en")
    pair = VotedPair.of((simple("house, old"), simple("maison vieille")), [{(0, 0)}])
    assert votes_of(pair) == ({(0, 0): 1.0, (1, 0): 1.0},)  # the comma is in the first word


def test_saved_model_weighs_votes_alike(voted, tmp_path):
    voted.save(tmp_path / "model.st")
    loaded = Aligner.load(tmp_path / "model.st")
    assert loaded.n_voters_ == 1
    assert loaded.predict_scores(PAIRS[:9], [VOTES[:9]]) == voted.predict_scores(PAIRS[:9], [VOTES[:9]])


def test_refusals(plain, voted):
    with pytest.raises(ValueError, match="Gold links learn what votes are worth"):
        Aligner().fit(PAIRS, votes=[VOTES])
    with pytest.raises(ValueError, match="links of 3 pairs, but there are more"):
        Aligner().fit(PAIRS[:9], LINKS[:9], votes=[VOTES[:3]])
    with pytest.raises(ValueError, match="more than the 9 pairs"):
        voted.predict(PAIRS[:9], [VOTES])
    with pytest.raises(ValueError, match="weighs the links of 1 other aligners, but got those of 0"):
        voted.predict(PAIRS[:9])
    with pytest.raises(ValueError, match="between 0 and 1"):
        voted.predict(PAIRS[:1], [[{(0, 0): 1.5}]])
