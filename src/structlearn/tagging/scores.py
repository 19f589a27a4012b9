"""Spans of tagged text: how many of them were found. What a span is, `estimators.inputs.spans` says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from structlearn.estimators.inputs.spans import spans
from structlearn.metrics import LabelScores

_ALL = "all"


class SpanScores(LabelScores):
    """Counts of spans, and what follows from them: precision, recall and F1, 0 where there are none."""


def span_scores(gold: Iterable[Sequence[str]], found: Iterable[Sequence[str]]) -> dict[str, SpanScores]:
    """Return the scores of all sentences together: under "all", then by type in alphabetical order."""
    totals, types = scores_by_type(gold, found)
    return {_ALL: totals, **types}


def scores_by_type(
    gold: Iterable[Sequence[str]], found: Iterable[Sequence[str]]
) -> tuple[SpanScores, dict[str, SpanScores]]:
    """Return the scores of all sentences together, and by type in alphabetical order."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in SpanScores._fields}
    for one, other in zip(gold, found, strict=True):
        a, b = set(spans(one)), set(spans(other))
        for name, those in zip(SpanScores._fields, (a & b, b, a)):
            counts[name].update(kind for kind, _, _ in those)
    totals = SpanScores(*(sum(one.values()) for one in counts.values()))
    types = sorted(set().union(*counts.values()))
    return totals, {kind: SpanScores(*(one[kind] for one in counts.values())) for kind in types}
