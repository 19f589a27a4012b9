"""The page of an alignment: for each sentence pair its links, right and wrong, the worst pairs first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.apps.alignment.drawing import KINDS, Drawn, classified, draw_grid, draw_lines, swatch
from structlearn.apps.alignment.links import Link, Links
from structlearn.apps.alignment.metrics import AlignmentScores, alignment_scores
from structlearn.reports import Page


class AlignedPair(NamedTuple):
    """A sentence pair with predicted links and, where known, gold links and confidences.

    Parameters
    ----------
    source, target : sequence of str
        The words.
    predicted : collection of (source, target)
        Predicted links, from 0.
    gold : Links, optional
        What is right.
    confidence : array of shape (len(source), len(target)), optional
        How sure the aligner is of each link, between 0 and 1.
    number : int, optional
        What the pair is called, such as its line in a file; by default its place, from 1.

    """

    source: Sequence[str]
    target: Sequence[str]
    predicted: Collection[Link]
    gold: Links | None = None
    confidence: ArrayLike | None = None
    number: int | None = None


class _Entry(NamedTuple):
    """A pair as the page shows it; without drawings where a side is empty."""

    number: int
    scores: AlignmentScores | None
    links: int
    lines: str
    grid: str
    #: word pairs by what is wrong with them
    faults: dict[str, list[str]]


def alignment_page(pairs: Iterable[AlignedPair], *, title: str = "Word alignment", limit: int = 200) -> Page:
    """A page that shows aligned sentence pairs; `html()` or `write(path)` it.

    Parameters
    ----------
    pairs : iterable of AlignedPair
        Those with gold links come first, by their alignment error rate, the worst at the top.
    title : str
        The heading.
    limit : int
        How many pairs are shown at most; the figures at the top are of all.

    """
    numbered = [
        pair._replace(number=place) if pair.number is None else pair for place, pair in enumerate(pairs, 1)
    ]
    judged = [(pair.gold, pair.predicted) for pair in numbered if pair.gold is not None]
    scored = [(pair, _scores(pair)) for pair in numbered]
    shown = sorted(scored, key=lambda one: _badness(one[1]))[:limit]
    return Page(
        title,
        _lead(len(numbered), limit, bool(judged)),
        "alignment.html",
        scores=alignment_scores(*zip(*judged)) if judged else None,
        judged=f"{len(judged)} of {len(numbered)}",
        possible=sum(len(gold.possible) for gold, _ in judged),
        legend=[(swatch(kind), KINDS[kind]) for kind in KINDS if (kind == "plain") != bool(judged)],
        confident=any(pair.confidence is not None for pair in numbered),
        pairs=[_entry(pair, scores) for pair, scores in shown],
    )


def _scores(pair: AlignedPair) -> AlignmentScores | None:
    return None if pair.gold is None else alignment_scores([pair.gold], [pair.predicted])


def _badness(scores: AlignmentScores | None) -> tuple[float, int]:
    """Sorts the worst first; among equals, the one with more links."""
    return (1.0, 0) if scores is None else (-scores.aer, -scores.predicted)


def _lead(n: int, limit: int, judged: bool) -> str:
    order = "worst first" if judged else "in their order"
    if n > limit:
        return f"{limit} of {n} sentence pairs are shown, {order}."
    return f"{n} sentence pairs, {order}."


def _entry(pair: AlignedPair, scores: AlignmentScores | None) -> _Entry:
    confidence = _shares(pair)
    links = classified(pair.predicted, pair.gold, confidence)
    _check(pair, links)
    lines = grid = ""
    if pair.source and pair.target:
        lines = draw_lines(pair.source, pair.target, links)
        grid = draw_grid(pair.source, pair.target, links, confidence)
    faults = {kind.title(): _word_pairs(pair, links, kind) for kind in ("missed", "spurious")}
    return _Entry(pair.number or 0, scores, len(pair.predicted), lines, grid, faults)


def _shares(pair: AlignedPair) -> dict[Link, float]:
    if pair.confidence is None:
        return {}
    table = np.asarray(pair.confidence, dtype=np.float64)
    if table.shape != (len(pair.source), len(pair.target)):
        raise ValueError(
            f"Confidences of shape {table.shape} do not fit {len(pair.source)} by {len(pair.target)} words."
        )
    return {(int(i), int(j)): float(table[i, j]) for i, j in np.ndindex(table.shape)}


def _check(pair: AlignedPair, links: Iterable[Drawn]) -> None:
    m, n = len(pair.source), len(pair.target)
    for (i, j), _, _ in links:
        if not (0 <= i < m and 0 <= j < n):
            raise ValueError(f"Pair {pair.number} has a link ({i}, {j}) but only {m} and {n} words.")


def _word_pairs(pair: AlignedPair, links: Sequence[Drawn], kind: str) -> list[str]:
    return [f"{pair.source[one.link[0]]} – {pair.target[one.link[1]]}" for one in links if one.kind == kind]
