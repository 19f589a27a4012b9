"""Identical tokens are linked wherever they stand; unknown words are no evidence for each other."""

from __future__ import annotations

import pytest

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.corpus import load_corpus


@pytest.fixture(scope="module")
def corpus():
    return load_corpus()


@pytest.fixture(scope="module")
def rule(corpus):
    return Aligner().fit([], None, [(one.source, one.target) for one in corpus])


@pytest.fixture(scope="module")
def taught(corpus, rule):
    pairs = [(one.source, one.target) for one in corpus[:40]]
    links = [one.links for one in corpus[:40]]
    return Aligner(regularization=0.05).fit(pairs, links, statistics=rule.statistics_)


@pytest.mark.parametrize("name", ["rule", "taught"])
@pytest.mark.parametrize(
    ("source", "target", "links"),
    [
        ("😀 the house is old", "la maison est vieille 😀", {(0, 4)}),
        ("12 houses and 13 cats", "13 chats et 12 maisons", {(0, 3), (3, 0)}),
        ("5 and 5 and 5", "la 5 5 5 maison", {(0, 1), (2, 2), (4, 3)}),
        ("https://a.b/c is old", "la maison : https://a.b/c", {(0, 3)}),
        ("Zwickau is old", "la vieille ville de Zwickau", {(0, 4)}),
    ],
)
def test_identical_tokens_are_linked_and_to_nothing_else(request, name, source, target, links):
    found = request.getfixturevalue(name).predict([(source.split(), target.split())])[0]
    rows, columns = zip(*links)
    assert {(i, j) for i, j in found if i in rows or j in columns} == links


def test_common_words_and_different_numbers_of_copies_are_left_to_the_statistics(rule, monkeypatch):
    repeated = ["7", "7", "is", "the", "house"], ["la", "maison", "est", "7"]
    pairs = [repeated, (["a", ".", "c"], [".", "b", "c"])]
    found = rule.predict(pairs)
    monkeypatch.setattr("structlearn.alignment.linking.link_identical", lambda edges, *more: edges)
    assert rule.predict(pairs) == found


@pytest.mark.parametrize("size", [1, 2, 5])
def test_unknown_words_alone_are_not_sure(rule, size):
    pair = [f"q{'x' * k}" for k in range(size)], [f"v{'w' * k}" for k in range(size)]
    links = rule.predict_scores([pair])[0]
    assert links
    assert max(links.values()) < 0.7


def test_an_unknown_number_on_both_sides_is_surer_than_other_unknown_words(rule):
    numbers, words = (
        rule.predict_scores([([one], [other])])[0][0, 0]
        for one, other in (("48151", "48151"), ("qqx", "vvw"))
    )
    assert numbers > words + 0.3
