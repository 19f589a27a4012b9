"""Confidences: what speaks for a link, and coefficients that make probabilities of it."""

from copy import copy

import numpy as np
import pytest
from scipy.optimize import minimize

from model_files import rewrite
from structlearn.alignment.aligner import Aligner
from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.gold.confidence import (
    EVIDENCE,
    USUAL,
    Cells,
    drop_words,
    fit_coefficients,
    link_probabilities,
    without_own_words,
)
from structlearn.alignment.links import Links
from structlearn.alignment.text import bitext

N_TRAIN = 120


@pytest.fixture(scope="module")
def pairs():
    return [(one.source, one.target) for one in load_corpus()]


@pytest.fixture(scope="module")
def links():
    return [one.links for one in load_corpus()]


@pytest.fixture(scope="module")
def rule(pairs):
    return Aligner().fit(pairs)


def test_evidence_is_what_its_names_say(rule):
    pair = ["the", "house", "xyzzy"], ["la", "maison", "plugh", "ici"]
    features = rule.score_edges([([], ["x"]), pair])
    cells = Cells.of(features.bitext, np.arange(12))
    np.testing.assert_array_equal(cells.i, np.repeat([0, 1, 2], 4))
    np.testing.assert_array_equal(cells.pair, 1)
    rows = rule._evidence(features, cells)
    x = dict(zip(EVIDENCE, rows.reshape(3, 4, -1).transpose(2, 0, 1), strict=True))
    lexicon, words = rule.statistics_.lexicon, rule.statistics_
    e, f = words.source_words.encode(["house"])[0], words.target_words.encode(["maison"])[0]
    together = sum("house" in one.source and "maison" in one.target for one in load_corpus())
    a = features.agreement.reshape(3, 4)[1, 1]
    assert x["agreement"][1, 1] == pytest.approx(np.clip(np.log(a / (1 - a)), -7, 7))
    assert x["seen"][1, 1] == pytest.approx(np.log1p(min(lexicon.source_pairs[e], lexicon.target_pairs[f])))
    assert x["rare"][1, 1] == pytest.approx(1 / (1 + together))
    np.testing.assert_array_equal(x["unknown"], [[0, 0, 1, 0], [0, 0, 1, 0], [1, 1, 1, 1]])
    np.testing.assert_array_equal(np.argwhere(x["both_unknown"]), [[2, 2]])
    np.testing.assert_allclose(x["unknown_share"], 2 / 7)
    np.testing.assert_allclose(x["covered"], 2 * features.agreement.sum() / 7)


def test_scores_of_the_rule_are_those_of_all_features(rule, pairs, monkeypatch):
    monkeypatch.setattr("structlearn.alignment.linking.link_identical", lambda edges, *more: edges)
    found = rule.score_edges(pairs[:20])
    features = rule.features(pairs[:20])
    np.testing.assert_allclose(found.theta, features.F @ rule.weights_, atol=1e-6)
    np.testing.assert_allclose(found.agreement, features.agreement, atol=1e-6)
    np.testing.assert_allclose(found.mean, features.mean, atol=1e-6)
    np.testing.assert_array_equal(found.dice, features.F[:, rule.feature_names_.index("dice")])


def test_threads_align_in_order(rule, pairs, monkeypatch):
    monkeypatch.setattr(bitext, "PAIRS_AT_ONCE", 7)
    several = copy(rule).set_params(n_jobs=3)
    assert several.predict_scores(iter(pairs)) == rule.predict_scores(pairs)


def test_coefficients_minimise_the_loss():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, len(EVIDENCE)))
    right = rng.random(200) < link_probabilities(rows, rng.normal(size=len(EVIDENCE)))

    def loss(w):
        theta = rows @ w
        return np.logaddexp(0, theta).sum() - theta[right].sum() + 0.7 / 2 * np.square(w - USUAL).sum()

    found = fit_coefficients(rows, right, USUAL, 0.7)
    best = minimize(loss, USUAL, tol=1e-10)
    assert loss(found) <= best.fun + 1e-8
    np.testing.assert_allclose(found, best.x, atol=1e-3)
    assert fit_coefficients(rows[:0], right[:0]) == pytest.approx(USUAL)


def test_separable_links_have_finite_coefficients():
    rows = np.ones((50, len(EVIDENCE)))
    assert np.isfinite(fit_coefficients(rows, np.ones(50))).all()
    assert link_probabilities(rows, 1e6 * np.ones(len(EVIDENCE))).max() <= 1


def test_words_of_one_pair_are_forgotten(rule):
    text = [(["a", "b"], ["c"]), (["a", "d", "d"], ["e"])]
    statistics = without_own_words(Aligner().fit(text).statistics_, text[1:])
    new = statistics.encode(text)
    assert new.source.tokens.tolist()[3:] == [len(statistics.source_words)] * 2
    assert new.target.tokens.tolist()[1] == len(statistics.target_words)
    assert len(statistics.source_words) == 3
    assert new.source.tokens.tolist()[0] == new.source.tokens.tolist()[2] < 3


def mean(aligner, pairs):
    return np.mean([value for one in aligner.predict_scores(pairs) for value in one.values()])


def masked(pairs, share):
    """A share of the words replaced by others that nobody has seen, unlike on both sides."""
    rng = np.random.default_rng(0)
    new = [lambda: "".join(rng.choice(list("bcdfghjk"), 7)), lambda: "".join(rng.choice(list("mnpqrstv"), 7))]
    return [
        tuple([own() if rng.random() < share else word for word in side] for own, side in zip(new, pair))
        for pair in pairs
    ]


def test_confidences_fall_with_unknown_words(rule, pairs):
    said = [mean(rule, masked(pairs[:100], share)) for share in (0.0, 0.3, 0.6, 1.0)]
    assert said[0] > said[1] > said[2]
    assert said[0] > 0.8
    assert said[-1] < 0.65


def test_gold_links_calibrate(rule, pairs, links):
    """What is said of pairs that were not learned from is near what is right, of new words as well."""
    aligner = Aligner(regularization=5.0, missed=2.0, random_state=0)
    aligner.fit(pairs[:N_TRAIN], links[:N_TRAIN], statistics=rule.statistics_)
    assert not np.array_equal(aligner.confidence_, USUAL)
    rest = pairs[N_TRAIN:]
    scored = aligner.predict_scores(rest)
    right = [link in known.possible for one, known in zip(scored, links[N_TRAIN:]) for link in one]
    assert abs(mean(aligner, rest) - np.mean(right)) < 0.06
    assert mean(aligner, masked(rest, 0.5)) < mean(aligner, rest)


def test_tables_have_the_scores_of_links(rule, pairs):
    pairs = [([], ["x"]), *pairs[:5]]
    tables = rule.confidences(pairs)
    for table, scored, (e, f) in zip(tables, rule.predict_scores(pairs), pairs):
        assert table.shape == (len(e), len(f))
        assert ((table >= 0) & (table <= 1)).all()
        for link, value in scored.items():
            assert table[link] == pytest.approx(value)


def test_coefficients_are_in_the_file(rule, pairs, links, tmp_path):
    path = tmp_path / "m.st"
    aligner = Aligner(regularization=5.0, missed=2.0, random_state=0)
    aligner.fit(pairs[:40], links[:40], statistics=rule.statistics_).save(path)
    again = Aligner.load(path)
    np.testing.assert_array_equal(again.confidence_, aligner.confidence_)
    rewrite(path, lambda header, _: header["fitted"].pop("confidence_"))
    np.testing.assert_array_equal(Aligner.load(path).confidence_, USUAL)
    rewrite(path, lambda header, _: header["fitted"].update(confidence_={"seen": "much"}))
    with pytest.raises(ValueError, match="is damaged"):
        Aligner.load(path)


def test_pairs_lose_words_and_keep_the_links_of_the_others():
    """Every link that is left joins the words that it joined before."""
    pairs = [([f"e{k}.{i}" for i in range(9)], [f"f{k}.{j}" for j in range(7)]) for k in range(30)]
    links = [Links.of([(i, i) for i in range(7)], [(8, 0)]) for _ in pairs]
    tables = [np.arange(63.0).reshape(9, 7) + 100 * k for k in range(30)]
    found = drop_words(pairs, links, tables)
    at = 0
    for k, (pair, one) in enumerate(zip(found.pairs, found.links)):
        names = {(pair[0][i], pair[1][j]) for i, j in one.sure}
        left = {i for i in range(7) if f"e{k}.{i}" in pair[0] and f"f{k}.{i}" in pair[1]}
        assert names == {(f"e{k}.{i}", f"f{k}.{i}") for i in left}
        assert len(one.possible - one.sure) == (f"e{k}.8" in pair[0] and f"f{k}.0" in pair[1])
        for e in pair[0]:
            for f in pair[1]:
                assert found.surplus[at] == tables[k][int(e.split(".")[1]), int(f.split(".")[1])]
                at += 1
    assert at == found.surplus.size
    kept = sum(len(pair[0]) for pair in found.pairs) / (30 * 9)
    assert 0.6 < kept < 0.9
