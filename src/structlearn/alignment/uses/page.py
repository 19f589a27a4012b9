"""The page of an alignment: an overview, the pairs, the worst first, and a few that work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from numpy.typing import ArrayLike

from structlearn.alignment.links import Link
from structlearn.alignment.uses.drawing import (
    KINDS,
    MARKS,
    Drawing,
    Drawn,
    Sentences,
    classify_links,
    draw_grid,
    draw_lines,
)
from structlearn.alignment.uses.overview import (
    AlignedPair,
    JudgedPair,
    confidence_bars,
    judge,
    key_figures,
    shares_of,
)
from structlearn.reports import Page
from structlearn.reports.summaries import number_of

__all__ = ["AlignedPair", "alignment_page"]

#: From pairs of sentences to tables of confidences.
Tables = Callable[[list[tuple[Sequence[str], Sequence[str]]]], Iterable[ArrayLike]]
#: The `EXAMPLES` best pairs come first, if there are at least `LEAST_PAIRS` in all.
EXAMPLES, LEAST_PAIRS = 3, 12
#: Longer sentences have no grid.
MOST_WORDS_IN_GRID = 80


class _Entry(NamedTuple):
    """A pair as the page shows it; without drawings where a side is empty."""

    number: int
    note: str
    lines: Drawing | None
    grid: Drawing | None
    #: word pairs by what is wrong with them
    faults: dict[str, list[str]]


class _Group(NamedTuple):
    heading: str
    about: str
    pairs: Sequence[_Entry]


def alignment_page(
    pairs: Iterable[AlignedPair],
    *,
    title: str = "Word alignment",
    limit: int = 200,
    tables: Tables | None = None,
) -> Page:
    """Return a page that shows aligned sentence pairs; `html()` or `write(path)` it.

    Parameters
    ----------
    pairs : iterable of AlignedPair
        With gold links the worst come first, by their alignment error rate, and of many pairs the three best
        follow at the end. Without gold links the pairs with the surest links come first, then all others in
        their order.
    title : str
        The heading.
    limit : int
        How many pairs are shown at most; the figures at the top are of all.
    tables : callable, optional
        Gives confidences of all word pairs for the pairs that are shown, instead of their own.

    """
    every = [judge(pair, place) for place, pair in enumerate(pairs, 1)]
    judged = any(one.scores is not None for one in every)
    best = _best(every, judged=judged)[:limit]
    left = [one for k, one in enumerate(every) if k not in best]
    others = sorted(left, key=_badness)[: limit - len(best)]
    groups = [("The best pairs", _why_best(judged), [every[k] for k in best])] if best else []
    order = "the worst first" if judged else "in their order"
    rest = ("All other pairs" if best else "Pairs", f"They are shown {order}.", others)
    groups = [rest, *groups] if judged else [*groups, rest]
    return Page(
        title,
        _lead(len(every), len(best) + len(others)),
        "alignment.html",
        figures=key_figures(every),
        judged=judged,
        bars=confidence_bars(every),
        legend=[(kind, KINDS[kind]) for kind in KINDS if (kind == "plain") != judged],
        marks=MARKS,
        groups=[_Group(heading, about, _entries(some, tables)) for heading, about, some in groups],
    )


def _lead(n: int, shown: int) -> str:
    if n > shown:
        return f"The overview is of {n:,} sentence pairs, of which {shown:,} are shown."
    return f"{number_of(n, 'sentence pair')}."


# ---- which come first -------------------------------------------------------------------------------


def _best(every: Sequence[JudgedPair], *, judged: bool) -> list[int]:
    """Return the numbers of the best of many; for pairs with few links, being right says little."""
    if len(every) < LEAST_PAIRS:
        return []
    least = median(len(one.pair.predicted) for one in every)
    rich = [k for k, one in enumerate(every) if len(one.pair.predicted) >= least]
    known = [(merit, k) for k in rich if (merit := _merit(every[k], judged=judged)) is not None]
    return [k for _, k in sorted(known, key=lambda pair: -pair[0])[:EXAMPLES]]


def _merit(one: JudgedPair, *, judged: bool) -> float | None:
    if judged:
        return None if one.scores is None else -one.scores.aer
    return sum(one.shares.values()) / len(one.shares) if one.shares else None


def _why_best(judged: bool) -> str:
    what = "the least error (AER)" if judged else "links that the aligner is surest of"
    return f"Among pairs with no fewer links than the median pair, these have {what}."


def _badness(one: JudgedPair) -> tuple[float, int]:
    """Return a key that sorts the worst first; among equals, the one with more links."""
    return (1.0, 0) if one.scores is None else (-one.scores.aer, -one.scores.predicted)


# ---- one pair ---------------------------------------------------------------------------------------


def _entries(some: Sequence[JudgedPair], tables: Tables | None) -> list[_Entry]:
    if tables is None:
        return [_entry(one, one.pair.confidence) for one in some]
    return [_entry(*both) for both in zip(some, tables([(one.pair.source, one.pair.target) for one in some]))]


def _entry(one: JudgedPair, confidence: ArrayLike | Mapping[Link, float] | None) -> _Entry:
    pair = one.pair._replace(confidence=confidence)
    words, shares = Sentences(pair.source, pair.target), shares_of(pair)
    links = classify_links(pair.predicted, pair.gold, shares)
    drawn = bool(pair.source and pair.target)
    short = max(map(len, words)) <= MOST_WORDS_IN_GRID
    faults = {kind.title(): _word_pairs(words, links, kind) for kind in ("missed", "spurious")}
    return _Entry(
        pair.number or 0,
        _note(one, short=short),
        draw_lines(words, links) if drawn else None,
        draw_grid(words, links, shares) if drawn and short else None,
        faults,
    )


def _note(one: JudgedPair, *, short: bool) -> str:
    links = number_of(len(one.pair.predicted), "link")
    scores = one.scores
    figures = (
        links
        if scores is None
        else f"AER {scores.aer:.3f} · precision {scores.precision:.3f} · recall {scores.recall:.3f} · {links}"
    )
    return figures if short else f"{figures} · too long for a grid"


def _word_pairs(words: Sentences, links: Sequence[Drawn], kind: str) -> list[str]:
    return [words.words_of_link(one.link) for one in links if one.kind == kind]
