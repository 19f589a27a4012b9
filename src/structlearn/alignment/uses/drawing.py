"""Pictures of one aligned sentence pair: words joined by lines, and the grid of all word pairs.

Here is where everything goes; templates draw it. Each kind of link has a colour, and a line and a mark of
its own, so that nothing depends on the colour.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from structlearn.alignment.links import Link, Links
from structlearn.core.wording import shorten
from structlearn.reports.word_rows import LONGEST_WORD, word_centres, word_width

#: Kinds of links, in the order in which they are drawn over each other, and what they are called.
KINDS = {
    "unused": "possible, not predicted",
    "right": "predicted and sure",
    "possible": "predicted and possible",
    "missed": "sure, but not predicted",
    "spurious": "predicted, but not possible",
    "plain": "predicted",
}
_SQUARE = "M-7 -7H7V7H-7Z"
#: The marks of kinds of links in a grid, as paths around (0, 0).
MARKS = {
    "right": _SQUARE,
    "possible": "M-7 0A7 7 0 1 0 7 0A7 7 0 1 0 -7 0",
    "missed": _SQUARE,
    "spurious": "M-6 -6L6 6M-6 6L6 -6",
    "unused": "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0",
    "plain": _SQUARE,
}
_GAP = 14
_TOP, _BOTTOM, _DEPTH = 16, 124, 142
_CELL = 28
#: Shades of smaller confidences are not seen.
_LEAST_SHADE = 0.005


class Sentences(NamedTuple):
    """The words of a pair."""

    source: Sequence[str]
    target: Sequence[str]

    def words_of_link(self, link: Link) -> str:
        """Return the two words of a link."""
        return f"{self.source[link[0]]} – {self.target[link[1]]}"


class Drawn(NamedTuple):
    """A link to be drawn: its kind, and its confidence if there is one."""

    link: Link
    kind: str
    confidence: float | None

    def title(self, words: Sentences) -> str:
        """Return what a pointer at the link is told."""
        share = "" if self.confidence is None else f", confidence {self.confidence:.2f}"
        return f"{words.words_of_link(self.link)}: {KINDS[self.kind]}{share}"


class _Word(NamedTuple):
    """A word at its place; side "s" or "t"."""

    side: str
    place: int
    text: str
    x: float
    y: float


class _Mark(NamedTuple):
    """A link at its place: a line, or a mark in the grid."""

    source: int
    target: int
    kind: str
    title: str
    path: str
    x: float = 0.0
    y: float = 0.0


class _Shade(NamedTuple):
    x: float
    y: float
    opacity: float
    percent: int
    side: int = _CELL


class Drawing(NamedTuple):
    """A picture of a pair; `rules` and `shades` are the grid's."""

    width: int
    height: int
    label: str
    words: Sequence[_Word]
    links: Sequence[_Mark]
    rules: str = ""
    shades: Sequence[_Shade] = ()


def classify_links(
    predicted: Collection[Link], gold: Links | None, confidence: Mapping[Link, float]
) -> list[Drawn]:
    """All links that are predicted or gold, with their kinds, in the order of `KINDS`."""
    found = frozenset(predicted)
    if gold is None:
        sets = {"plain": found}
    else:
        sets = {
            "unused": gold.possible - gold.sure - found,
            "right": found & gold.sure,
            "possible": (found & gold.possible) - gold.sure,
            "missed": gold.sure - found,
            "spurious": found - gold.possible,
        }
    return [Drawn(link, kind, confidence.get(link)) for kind in sets for link in sorted(sets[kind])]


# ---- words and lines --------------------------------------------------------------------------------


def draw_lines(words: Sentences, links: Sequence[Drawn]) -> Drawing:
    """Return the two sentences, one above the other, and a line for each link."""
    (above, first), (below, second) = (word_centres(side, _GAP) for side in words)
    width = max(first, second)
    above = [x + (width - first) / 2 for x in above]
    below = [x + (width - second) / 2 for x in below]
    used = ", ".join(words.words_of_link(one.link) for one in links if one.kind != "unused")
    return Drawing(
        round(width) + 2,
        _DEPTH,
        f"Links: {used or 'none'}",
        [*_row("s", words.source, above, _TOP), *_row("t", words.target, below, _BOTTOM + 12)],
        [_line(words, one, above[one.link[0]], below[one.link[1]]) for one in links],
    )


def _row(side: str, words: Sequence[str], centres: Sequence[float], y: float) -> Iterator[_Word]:
    for k, (word, x) in enumerate(zip(words, centres)):
        yield _Word(side, k, shorten(word, LONGEST_WORD), round(x, 1), y)


def _line(words: Sentences, one: Drawn, start: float, end: float) -> _Mark:
    top, bottom = _TOP + 6, _BOTTOM - 4
    middle = (top + bottom) / 2
    curve = f"M{start:.1f} {top}C{start:.1f} {middle} {end:.1f} {middle} {end:.1f} {bottom}"
    return _Mark(*one.link, one.kind, one.title(words), curve)


# ---- the grid ---------------------------------------------------------------------------------------


def draw_grid(words: Sentences, links: Sequence[Drawn], confidence: Mapping[Link, float]) -> Drawing:
    """Return the table of all word pairs: source words down, target words across, confidences as shades."""
    left, top = (max(map(word_width, side)) + 10 for side in words)
    width, height = left + _CELL * len(words.target), top + _CELL * len(words.source)
    corner = left, top
    return Drawing(
        round(width) + 2,
        round(height) + 2,
        "The same links in the grid of all word pairs.",
        [*_names(words, corner)],
        [_cell(words, one, corner) for one in links],
        "".join(_rules(corner, width, height)),
        [_shade(link, share, corner) for link, share in confidence.items() if share >= _LEAST_SHADE],
    )


def _middle(link: Link, corner: tuple[float, float]) -> tuple[float, float]:
    return round(corner[0] + _CELL * (link[1] + 0.5), 1), round(corner[1] + _CELL * (link[0] + 0.5), 1)


def _rules(corner: tuple[float, float], width: float, height: float) -> Iterator[str]:
    left, top = corner
    for k in range(round((height - top) / _CELL) + 1):
        yield f"M{left:.1f} {top + _CELL * k:.1f}H{width:.1f}"
    for k in range(round((width - left) / _CELL) + 1):
        yield f"M{left + _CELL * k:.1f} {top:.1f}V{height:.1f}"


def _names(words: Sentences, corner: tuple[float, float]) -> Iterator[_Word]:
    for i, word in enumerate(words.source):
        y = _middle((i, 0), corner)[1] + 5
        yield _Word("s", i, shorten(word, LONGEST_WORD), round(corner[0] - 6, 1), y)
    for j, word in enumerate(words.target):
        x = _middle((0, j), corner)[0] + 5
        yield _Word("t", j, shorten(word, LONGEST_WORD), x, round(corner[1] - 6, 1))


def _shade(link: Link, share: float, corner: tuple[float, float]) -> _Shade:
    return _Shade(*_middle(link, corner), round(0.2 * min(share, 1.0), 3), round(100 * share))


def _cell(words: Sentences, one: Drawn, corner: tuple[float, float]) -> _Mark:
    x, y = _middle(one.link, corner)
    raised = y if one.confidence is None else y - 3.5
    return _Mark(*one.link, one.kind, one.title(words), MARKS[one.kind], x, raised)
