"""The page of an alignment: for each sentence pair its links, right and wrong, the worst pairs first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.apps.alignment.drawing import (
    KINDS,
    STYLE,
    Drawn,
    classified,
    draw_grid,
    draw_lines,
    swatch,
)
from structlearn.apps.alignment.links import Link, Links
from structlearn.apps.alignment.metrics import AlignmentScores, alignment_scores
from structlearn.reports import Page

#: Grids of the first pairs are open; the others open at a click.
_OPEN = 10

_PAGE_STYLE = """
.pair { margin: 0 0 2.5rem; } .pair h2 { margin-bottom: 0; }
.pair p { margin: .2rem 0 .6rem; max-width: none; }
.pair summary { cursor: pointer; color: var(--faint); margin-bottom: .5rem; }
.drawings { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 0 3rem; }
.drawings > * { max-width: 100%; }
.figures, .faults { color: var(--faint); font-variant-numeric: tabular-nums; }
.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.5rem; }
.legend li { display: flex; align-items: center; gap: .5rem; }
"""

# Pointing at a word lights up its links; pointing at a link, its words.
_SCRIPT = """
for (const pair of document.querySelectorAll(".pair")) {
  const dim = () => {
    pair.classList.remove("hover");
    pair.querySelectorAll(".lit").forEach((e) => e.classList.remove("lit"));
  };
  const meets = ({dataset: a}, {dataset: b}) => ["s", "t"].every((k) => !(k in a && k in b) || a[k] === b[k]);
  pair.addEventListener("pointerover", (event) => {
    const at = event.target.closest("[data-s], [data-t]");
    dim();
    if (!at) return;
    pair.classList.add("hover");
    const links = [...pair.querySelectorAll(".line, .mark")].filter((e) => meets(at, e));
    const words = [...pair.querySelectorAll(".word")].filter((e) => links.some((l) => meets(e, l)));
    at.classList.add("lit");
    for (const e of [...links, ...words]) e.classList.add("lit");
  });
  pair.addEventListener("pointerleave", dim);
}
"""


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
    """A pair that has its name and its scores."""

    number: int
    pair: AlignedPair
    scores: AlignmentScores | None


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
    entries = [_entry(place, pair) for place, pair in enumerate(pairs, 1)]
    page = Page(title, _lead(entries, limit), style=STYLE + _PAGE_STYLE, script=_SCRIPT)
    judged = [entry.pair for entry in entries if entry.scores is not None]
    if judged:
        page.table(*_summary(judged, len(entries)))
    page.markup(_legend(bool(judged), any(entry.pair.confidence is not None for entry in entries)))
    for place, entry in enumerate(sorted(entries, key=_badness)[:limit]):
        page.markup(_section(entry, is_open=place < _OPEN))
    return page


def _entry(place: int, pair: AlignedPair) -> _Entry:
    scores = None if pair.gold is None else alignment_scores([pair.gold], [pair.predicted])
    return _Entry(place if pair.number is None else pair.number, pair, scores)


def _badness(entry: _Entry) -> tuple[float, int]:
    """Sorts the worst first; among equals, the one with more links."""
    return (1.0, 0) if entry.scores is None else (-entry.scores.aer, -entry.scores.predicted)


# ---- the top ----------------------------------------------------------------------------------------


def _lead(entries: Sequence[_Entry], limit: int) -> str:
    order = "worst first" if any(entry.scores for entry in entries) else "in their order"
    if len(entries) > limit:
        return f"{limit} of {len(entries)} sentence pairs are shown, {order}."
    return f"{len(entries)} sentence pairs, {order}."


def _summary(judged: Sequence[AlignedPair], n_pairs: int) -> tuple[list[str], list[list[object]], str]:
    golds = [pair.gold for pair in judged if pair.gold is not None]
    scores = alignment_scores(golds, [pair.predicted for pair in judged])
    header = ["pairs with gold links", "AER", "precision", "recall", "F1", "predicted", "sure", "possible"]
    figures = [scores.aer, scores.precision, scores.recall, scores.f1]
    possible = sum(len(gold.possible) for gold in golds)
    row: list[object] = [
        f"{len(judged)} of {n_pairs}",
        *(f"{figure:.4f}" for figure in figures),
        scores.predicted,
        scores.sure,
        possible,
    ]
    caption = (
        "AER, the alignment error rate, is 0 where all sure links and none but possible ones are predicted. "
        "Precision: the share of predicted links that are possible. Recall: the share of sure links that are "
        "predicted. Possible links include the sure ones."
    )
    return header, [row], caption


def _legend(has_gold: bool, has_confidence: bool) -> str:
    kinds = [kind for kind in KINDS if (kind == "plain") != has_gold]
    items = "\n".join(f"<li>{swatch(kind)} {KINDS[kind]}</li>" for kind in kinds)
    notes = ["Point at a word to see its links."]
    if has_confidence:
        notes.append("Shades and numbers in a grid: the aligner's confidence in percent.")
    return f'<ul class="legend">\n{items}\n</ul>\n<p>{" ".join(notes)}</p>'


# ---- one pair ---------------------------------------------------------------------------------------


def _section(entry: _Entry, *, is_open: bool) -> str:
    pair = entry.pair
    confidence = _shares(pair)
    links = classified(pair.predicted, pair.gold, confidence)
    _check(entry, links)
    drawings = _drawings(pair, links, confidence, is_open) if pair.source and pair.target else ""
    return (
        f'<section class="pair">\n<h2>Pair {entry.number}</h2>\n{_figures(entry)}\n'
        f"{drawings}\n{_faults(pair, links)}\n</section>"
    )


def _drawings(
    pair: AlignedPair, links: Sequence[Drawn], confidence: Mapping[Link, float], is_open: bool
) -> str:
    return (
        f'<div class="drawings"><div class="wide">{draw_lines(pair.source, pair.target, links)}</div>\n'
        f"<details{' open' * is_open}><summary>Grid</summary>\n"
        f'<div class="wide">{draw_grid(pair.source, pair.target, links, confidence)}</div></details></div>'
    )


def _shares(pair: AlignedPair) -> dict[Link, float]:
    if pair.confidence is None:
        return {}
    table = np.asarray(pair.confidence, dtype=np.float64)
    if table.shape != (len(pair.source), len(pair.target)):
        raise ValueError(
            f"Confidences of shape {table.shape} do not fit {len(pair.source)} by {len(pair.target)} words."
        )
    return {(int(i), int(j)): float(table[i, j]) for i, j in np.ndindex(table.shape)}


def _check(entry: _Entry, links: Iterable[Drawn]) -> None:
    m, n = len(entry.pair.source), len(entry.pair.target)
    for (i, j), _, _ in links:
        if not (0 <= i < m and 0 <= j < n):
            raise ValueError(f"Pair {entry.number} has a link ({i}, {j}) but only {m} and {n} words.")


def _figures(entry: _Entry) -> str:
    if entry.scores is None:
        return f'<p class="figures">{len(entry.pair.predicted)} links</p>'
    scores = entry.scores
    return (
        f'<p class="figures">AER {scores.aer:.3f} · precision {scores.precision:.3f} · '
        f"recall {scores.recall:.3f}</p>"
    )


def _faults(pair: AlignedPair, links: Sequence[Drawn]) -> str:
    """The mistakes in words."""
    return "\n".join(_listed(pair, links, kind) for kind in ("missed", "spurious"))


def _listed(pair: AlignedPair, links: Sequence[Drawn], kind: str) -> str:
    words = [f"{pair.source[one.link[0]]} – {pair.target[one.link[1]]}" for one in links if one.kind == kind]
    return f'<p class="faults">{kind.title()}: {escape(", ".join(words))}</p>' if words else ""
