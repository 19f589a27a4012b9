"""Spans by hand, as conlleval has them."""

import pytest

from structlearn.tagging import span_scores, spans


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        # IOB2: every span begins with B
        ("B-NP I-NP O B-NP B-NP", [("NP", 0, 2), ("NP", 3, 4), ("NP", 4, 5)]),
        # IOB1: B only between neighbours of one type
        ("I-NP I-NP B-NP I-VP O I-NP", [("NP", 0, 2), ("NP", 2, 3), ("VP", 3, 4), ("NP", 5, 6)]),
        # IOBES
        ("S-LOC B-PER I-PER E-PER S-LOC O", [("LOC", 0, 1), ("PER", 1, 4), ("LOC", 4, 5)]),
        # malformed: conlleval begins a span wherever one can begin
        ("O I-NP I-VP", [("NP", 1, 2), ("VP", 2, 3)]),
        ("B-NP I-VP", [("NP", 0, 1), ("VP", 1, 2)]),
        ("E-NP E-NP I-NP", [("NP", 0, 1), ("NP", 1, 2), ("NP", 2, 3)]),
        ("S-NP I-NP E-NP", [("NP", 0, 1), ("NP", 1, 3)]),
        ("B-A-B I-A-B", [("A-B", 0, 2)]),
        ("B I O", [("", 0, 2)]),
        # plain labels: runs of equal ones, whatever letter they begin with
        ("ORG ORG O Other Big Big Split", [("ORG", 0, 2), ("Other", 3, 4), ("Big", 4, 6), ("Split", 6, 7)]),
        ("LOC Out-of I-Out-of O O-x", [("LOC", 0, 1), ("Out-of", 1, 3)]),
        ("O", []),
        ("", []),
    ],
)
def test_spans(tags, expected):
    assert spans(tags.split()) == expected


def test_scores_by_hand():
    gold = [["B-NP", "I-NP", "O", "B-VP"], ["B-NP", "B-PP"]]
    found = [["B-NP", "I-NP", "B-NP", "B-VP"], ["B-NP", "I-NP"]]
    scores = span_scores(gold, found)
    assert list(scores) == ["all", "NP", "PP", "VP"]
    assert scores["all"] == (2, 4, 4)
    assert (scores["NP"].precision, scores["NP"].recall, scores["NP"].f1) == (1 / 3, 1 / 2, 2 / 5)
    assert (scores["PP"].precision, scores["PP"].recall, scores["PP"].f1) == (0, 0, 0)
    assert scores["VP"].f1 == 1
    with pytest.raises(ValueError, match="shorter"):
        span_scores(gold, found[:1])
