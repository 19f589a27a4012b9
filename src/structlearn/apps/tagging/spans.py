"""Spans of tagged text: what B-, I-, E- and S- tags say, and how many spans were found.

The definition is that of the CoNLL-2000 scorer `conlleval`: a span begins at a B or an S, or at any tag whose
type differs from the one before, or that follows O, E or S; so IOB1, IOB2 and IOBES are all read rightly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from structlearn.metrics import LabelScores

_ALL = "all"


class SpanScores(LabelScores):
    """Counts of spans, and what follows from them: precision, recall and F1, 0 where there are none."""


def tag_type(tag: str) -> str:
    """The type of a tag: "NP" of "B-NP", "" of "O" and of a bare "B"."""
    return tag.partition("-")[2]


def spans(tags: Iterable[str]) -> list[tuple[str, int, int]]:
    """(type, first, last + 1) of each span of one sentence, in their order.

    >>> spans(["B-NP", "I-NP", "O", "I-NP", "S-LOC"])
    [('NP', 0, 2), ('NP', 3, 4), ('LOC', 4, 5)]
    """
    found = []
    before, kind, first = "O", "", 0
    for at, tag in enumerate([*tags, "O"]):
        mark, own = tag[:1], tag_type(tag)
        if mark in "BSO" or before in "ESO" or own != kind:
            if before != "O":
                found.append((kind, first, at))
            first = at
        before, kind = mark, own
    return found


def span_scores(gold: Iterable[Sequence[str]], found: Iterable[Sequence[str]]) -> dict[str, SpanScores]:
    """Scores of all sentences together: under "all", then by type in alphabetical order."""
    totals, types = scores_by_type(gold, found)
    return {_ALL: totals, **types}


def scores_by_type(
    gold: Iterable[Sequence[str]], found: Iterable[Sequence[str]]
) -> tuple[SpanScores, dict[str, SpanScores]]:
    """Scores of all sentences together, and by type in alphabetical order, whatever types are called."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in SpanScores._fields}
    for one, other in zip(gold, found, strict=True):
        a, b = set(spans(one)), set(spans(other))
        for name, those in zip(SpanScores._fields, (a & b, b, a)):
            counts[name].update(kind for kind, _, _ in those)
    totals = SpanScores(*(sum(one.values()) for one in counts.values()))
    types = sorted(set().union(*counts.values()))
    return totals, {kind: SpanScores(*(one[kind] for one in counts.values())) for kind in types}
