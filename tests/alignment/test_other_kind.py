"""Gold pairs that are more literal than the text."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.gold.learning import Setting
from structlearn.alignment.gold.other_kind import ENOUGH, LinkedShares, linked_shares


@pytest.fixture(scope="module")
def corpus():
    found = load_corpus()
    return [(one.source, one.target) for one in found], [one.links for one in found]


@pytest.fixture(scope="module")
def rule(corpus):
    return Aligner().fit([], None, corpus[0])


def free(pairs):
    """Each source with the target of another pair's beside half of its own."""
    return [(e, f[: len(f) // 2] + pairs[k - 9][1]) for k, (e, f) in enumerate(pairs)]


def test_the_gap_is_that_of_log_odds():
    assert LinkedShares(0.8, 0.5).gap == pytest.approx(np.log(4))
    assert LinkedShares(0.5, 0.8).gap == 0.0
    assert np.isfinite(LinkedShares(1.0, 0.0).gap)


def test_free_text_has_smaller_shares(rule, corpus):
    pairs = [(list(e), list(f)) for e, f in corpus[0]]
    shares = linked_shares(rule, pairs, free(pairs))
    assert shares.text < shares.gold < 1
    linked = [2 * len(one) / (len(e) + len(f)) for one, (e, f) in zip(rule.predict(pairs), pairs)]
    assert shares.gold <= np.mean(linked)  # the agreement of a link is at most 1
    assert linked_shares(rule, pairs, pairs).gap == 0.0
    assert linked_shares(rule, pairs, pairs[: ENOUGH - 1]).gap == 0.0


def test_links_of_freer_text_are_drawn_with_caution(rule, corpus):
    pairs, links = ([list(part) for part in corpus][k][:60] for k in (0, 1))
    text = free([(list(e), list(f)) for e, f in corpus[0]])
    settings = {"regularization": 0.1, "missed": 1.5, "statistics": rule.statistics_}
    statistics = settings.pop("statistics")
    with pytest.warns(UserWarning, match="translated more literally than the text"):
        careful = Aligner(**settings).fit(pairs, links, text, statistics=statistics)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bold = Aligner(**settings).fit(pairs, links, corpus[0], statistics=statistics)
    np.testing.assert_array_equal(careful.weights_[1:], bold.weights_[1:])
    assert careful.weights_[0] < bold.weights_[0]


def test_the_hinge_has_no_log_odds():
    assert Setting(1.0, 2.0, 1.0, "hinge").with_gap(1.0) == Setting(1.0, 2.0, 1.0, "hinge")
    assert Setting(1.0, 2.0, 1.0).with_gap(1.0).spurious == pytest.approx(np.e)
