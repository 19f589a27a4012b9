"""Figures of all pairs of an alignment: how many words are linked, how rightly, and how surely."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.alignment.links import Link, Links
from structlearn.alignment.metrics import AlignmentScores, alignment_scores
from structlearn.core.contract import Array

_N_BINS = 10


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
    confidence : array of shape (len(source), len(target)), or mapping from links, optional
        How sure the aligner is of links, between 0 and 1.
    number : int, optional
        What the pair is called, such as its line in a file; by default its place, from 1.

    """

    source: Sequence[str]
    target: Sequence[str]
    predicted: Collection[Link]
    gold: Links | None = None
    confidence: ArrayLike | Mapping[Link, float] | None = None
    number: int | None = None


class JudgedPair(NamedTuple):
    """A pair, its figures where gold links are known, and how sure its predicted links are where that is."""

    pair: AlignedPair
    scores: AlignmentScores | None
    shares: dict[Link, float]


class Bar(NamedTuple):
    """A bar of a histogram: parts of the longest one that are right and wrong; `rest` is None if unknown."""

    name: str
    share: float
    rest: float | None
    cells: Sequence[str]


class Histogram(NamedTuple):
    """Bars, the names of their columns, and how to read them."""

    header: Sequence[str]
    bars: Sequence[Bar]
    caption: str


def judge(pair: AlignedPair, place: int) -> JudgedPair:
    """Return the pair with its figures; ValueError if links or confidences do not fit its words."""
    pair = pair if pair.number is not None else pair._replace(number=place)
    _check(pair)
    shares = shares_of(pair)
    known = {link: shares[link] for link in pair.predicted if link in shares}
    scores = None if pair.gold is None else alignment_scores([pair.gold], [pair.predicted])
    return JudgedPair(pair, scores, known)


def _check(pair: AlignedPair) -> None:
    m, n = len(pair.source), len(pair.target)
    gold = frozenset() if pair.gold is None else pair.gold.possible | pair.gold.sure
    for i, j in (*pair.predicted, *gold):
        if not (0 <= i < m and 0 <= j < n):
            raise ValueError(f"Pair {pair.number} has a link ({i}, {j}) but only {m} and {n} words.")


def shares_of(pair: AlignedPair) -> Mapping[Link, float]:
    """Return the confidences by links."""
    if pair.confidence is None or isinstance(pair.confidence, Mapping):
        return pair.confidence or {}
    table = np.asarray(pair.confidence, dtype=np.float64)
    if table.shape != (len(pair.source), len(pair.target)):
        raise ValueError(
            f"Confidences of shape {table.shape} do not fit {len(pair.source)} by {len(pair.target)} words."
        )
    return {(int(i), int(j)): float(table[i, j]) for i, j in np.ndindex(table.shape)}


def key_figures(every: Sequence[JudgedPair]) -> dict[str, str]:
    """Return what an overview says in numbers, by name."""
    pairs = [one.pair for one in every]
    figures = {
        "sentence pairs": f"{len(pairs):,}",
        "predicted links": f"{sum(len(one.predicted) for one in pairs):,}",
        "source words linked": _share_with_links(
            ((i for i, _ in one.predicted), one.source) for one in pairs
        ),
        "target words linked": _share_with_links(
            ((j for _, j in one.predicted), one.target) for one in pairs
        ),
    }
    gold = [(one.gold, one.predicted) for one in pairs if one.gold is not None]
    return figures | (_judged_figures(gold, len(pairs)) if gold else {})


def _share_with_links(sides: Iterable[tuple[Iterable[int], Sequence[str]]]) -> str:
    """Return the share of words that have a link."""
    counts = [(len(set(places)), len(words)) for places, words in sides]
    return f"{sum(n for n, _ in counts) / max(sum(n for _, n in counts), 1):.1%}"


def _judged_figures(gold: Sequence[tuple[Links, Collection[Link]]], n: int) -> dict[str, str]:
    scores = alignment_scores(*zip(*gold))
    return {
        "AER": f"{scores.aer:.4f}",
        "precision": f"{scores.precision:.4f}",
        "recall": f"{scores.recall:.4f}",
        "F1": f"{scores.f1:.4f}",
        "sure links": f"{scores.sure:,}",
        "possible links": f"{sum(len(one.possible) for one, _ in gold):,}",
        **({"pairs with gold links": f"{len(gold):,}"} if len(gold) < n else {}),
    }


# ---- how sure ---------------------------------------------------------------------------------------


def confidence_bars(every: Sequence[JudgedPair]) -> Histogram | None:
    """Count predicted links by confidence and, if gold links are known, how many are possible.

    None where no confidences are known.
    """
    judged = [one for one in every if one.scores is not None]
    shares, right = _links_of(judged or every)
    if not len(shares):
        return None
    bins = np.minimum((shares * _N_BINS).astype(int), _N_BINS - 1)
    n, n_right = (np.bincount(some, minlength=_N_BINS) for some in (bins, bins[right]))
    counts = [(int(a), int(b) if judged else None) for a, b in zip(n, n_right)]
    bars = [_bar(k, *counts[k], int(n.max())) for k in reversed(range(_N_BINS))]
    caption = f"How sure the aligner is of {len(shares):,} predicted links."
    if not judged:
        return Histogram(("confidence", "", "links"), bars, caption)
    caption += " Solid: links that are possible by the gold links; hatched: links that are not."
    return Histogram(("confidence", "", "links", "possible"), bars, caption)


def _links_of(some: Sequence[JudgedPair]) -> tuple[Array, Array]:
    """Return the confidences of predicted links, and whether the links are possible."""
    known = [
        (share, one.pair.gold is not None and link in one.pair.gold.possible)
        for one in some
        for link, share in one.shares.items()
    ]
    return np.array([share for share, _ in known]), np.array([right for _, right in known], dtype=bool)


def _bar(k: int, n: int, n_right: int | None, most: int) -> Bar:
    name = f"{k / _N_BINS:.1f} to {(k + 1) / _N_BINS:.1f}"
    if n_right is None:
        return Bar(name, round(n / most, 4), None, [f"{n:,}"])
    good, bad = round(n_right / most, 4), round((n - n_right) / most, 4)
    return Bar(name, good, bad, [f"{n:,}", f"{n_right / n:.0%}" if n else "–"])
