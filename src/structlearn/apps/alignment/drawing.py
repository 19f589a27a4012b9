"""Pictures of one aligned sentence pair, as SVG: words joined by lines, and the grid of all word pairs.

Each kind of link has a colour, and a line and a mark of its own, so that nothing depends on the colour.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from html import escape
from itertools import accumulate, pairwise
from typing import NamedTuple

from structlearn.apps.alignment.links import Link, Links
from structlearn.core.text_width import text_columns

#: Kinds of links, in the order in which they are drawn over each other, and what they are called.
KINDS = {
    "unused": "possible, not predicted",
    "right": "predicted and sure",
    "possible": "predicted and possible",
    "missed": "sure, but not predicted",
    "spurious": "predicted, but not possible",
    "plain": "predicted",
}

_CHARACTER = 8.5  # the width of a character of the monospaced 14px font
_GAP = 14
_TOP, _BOTTOM, _DEPTH = 16, 124, 140
_CELL = 28
_MARKS = {
    "right": '<rect x="-7" y="-7" width="14" height="14" rx="2"',
    "possible": '<circle r="7"',
    "missed": '<rect x="-7" y="-7" width="14" height="14"',
    "spurious": '<path d="M-6 -6 L6 6 M-6 6 L6 -6"',
    "unused": '<circle r="4"',
}
_MARKS["plain"] = _MARKS["right"]


class Drawn(NamedTuple):
    """A link to be drawn: its kind, and its confidence if there is one."""

    link: Link
    kind: str
    confidence: float | None

    def title(self, source: Sequence[str], target: Sequence[str]) -> str:
        """What a pointer at the link is told."""
        share = "" if self.confidence is None else f", confidence {self.confidence:.2f}"
        words = f"{source[self.link[0]]} – {target[self.link[1]]}"
        return f"<title>{escape(words)}: {KINDS[self.kind]}{share}</title>"

    def attributes(self, role: str) -> str:
        """Class and position, for the style and for the script that lights up a word's links."""
        i, j = self.link
        return f'{_kind_class(role, self.kind)} data-s="{i}" data-t="{j}"'


def classified(
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


def mark(kind: str, place: str, *, attributes: str = "", inside: str = "") -> str:
    """The mark of a kind of link, at a place (see `_moved`)."""
    opened = _MARKS[kind]
    tag = opened[1:].split()[0]
    return f"<g{place}>{opened} {attributes or _kind_class('mark', kind)}>{inside}</{tag}></g>"


def swatch(kind: str) -> str:
    """A line and a mark, for the legend."""
    line = f'<path {_kind_class("line", kind)} d="M2 10 H34"/>'
    return f'<svg width="58" height="20" aria-hidden="true">{line}{mark(kind, _moved(48, 10))}</svg>'


def _kind_class(role: str, kind: str) -> str:
    return f'class="{role} {kind}"'


# ---- words and lines --------------------------------------------------------------------------------


def draw_lines(source: Sequence[str], target: Sequence[str], links: Sequence[Drawn]) -> str:
    """The two sentences, one above the other, and a line for each link."""
    above, below = _centres(source), _centres(target)
    width = max(above[-1], below[-1])
    above, below = (_shifted(side[:-1], (width - side[-1]) / 2) for side in (above, below))
    parts = [
        *(_line(source, target, one, above[one.link[0]], below[one.link[1]]) for one in links),
        *_row("s", source, above, _TOP),
        *_row("t", target, below, _BOTTOM + 12),
    ]
    return _svg("links", width, _DEPTH, "The two sentences with lines between linked words.", parts)


def _centres(words: Sequence[str]) -> list[float]:
    """Where the middle of each word is, and where the row ends."""
    widths = [_CHARACTER * text_columns(word) + _GAP for word in words]
    ends = list(accumulate(widths, initial=0.0))
    return [*((a + b) / 2 for a, b in pairwise(ends)), ends[-1]]


def _shifted(values: list[float], by: float) -> list[float]:
    return [value + by for value in values]


def _line(source: Sequence[str], target: Sequence[str], one: Drawn, start: float, end: float) -> str:
    top, bottom = _TOP + 6, _BOTTOM - 4
    middle = (top + bottom) / 2
    curve = f"M{start:.1f} {top} C{start:.1f} {middle} {end:.1f} {middle} {end:.1f} {bottom}"
    return f'<path {one.attributes("line")} d="{curve}">{one.title(source, target)}</path>'


def _row(side: str, words: Sequence[str], centres: Sequence[float], y: float) -> Iterator[str]:
    for k, (word, x) in enumerate(zip(words, centres)):
        yield (
            f'<text class="word" data-{side}="{k}" x="{x:.1f}" y="{y}" text-anchor="middle">'
            f"{escape(word)}</text>"
        )


# ---- the grid ---------------------------------------------------------------------------------------


def draw_grid(
    source: Sequence[str],
    target: Sequence[str],
    links: Sequence[Drawn],
    confidence: Mapping[Link, float],
) -> str:
    """The table of all word pairs: source words down, target words across, confidences as shades."""
    left, top = (_CHARACTER * max(map(text_columns, words)) + 10 for words in (source, target))
    width, height = left + _CELL * len(target), top + _CELL * len(source)
    corner = left, top
    parts = [
        *_rules(corner, width, height),
        *(_shade(link, share, corner) for link, share in confidence.items() if share >= 0.005),
        *_names(source, target, corner),
        *(_cell(source, target, one, corner) for one in links),
    ]
    return _svg("grid", width, height, "The grid of all word pairs, with a mark for each link.", parts)


def _middle(link: Link, corner: tuple[float, float]) -> tuple[float, float]:
    return corner[0] + _CELL * (link[1] + 0.5), corner[1] + _CELL * (link[0] + 0.5)


def _rules(corner: tuple[float, float], width: float, height: float) -> Iterator[str]:
    left, top = corner
    columns = round((width - left) / _CELL)
    rows = round((height - top) / _CELL)
    across = "".join(f"M{left:.1f} {top + _CELL * k:.1f} H{width:.1f}" for k in range(rows + 1))
    down = "".join(f"M{left + _CELL * k:.1f} {top:.1f} V{height:.1f}" for k in range(columns + 1))
    yield f'<path class="rule" d="{across}{down}"/>'


def _names(source: Sequence[str], target: Sequence[str], corner: tuple[float, float]) -> Iterator[str]:
    left, top = corner
    for i, word in enumerate(source):
        y = top + _CELL * (i + 0.5) + 5
        place = f'x="{left - 6:.1f}" y="{y:.1f}" text-anchor="end"'
        yield f'<text class="word" data-s="{i}" {place}>{escape(word)}</text>'
    for j, word in enumerate(target):
        x = left + _CELL * (j + 0.5) + 5
        place = f'transform="translate({x:.1f} {top - 6:.1f}) rotate(-90)"'
        yield f'<text class="word" data-t="{j}" {place}>{escape(word)}</text>'


def _shade(link: Link, share: float, corner: tuple[float, float]) -> str:
    x, y = _middle(link, corner)
    square = f'x="{x - _CELL / 2:.1f}" y="{y - _CELL / 2:.1f}" width="{_CELL}" height="{_CELL}"'
    text = f'<text class="share" x="{x:.1f}" y="{y + 13:.1f}">{100 * share:.0f}</text>'
    return f'<rect class="shade" {square} fill-opacity="{0.2 * min(share, 1.0):.3f}"/>{text}'


def _cell(source: Sequence[str], target: Sequence[str], one: Drawn, corner: tuple[float, float]) -> str:
    x, y = _middle(one.link, corner)
    raised = y if one.confidence is None else y - 3.5
    title = one.title(source, target)
    return mark(one.kind, _moved(x, raised), attributes=one.attributes("mark"), inside=title)


def _moved(x: float, y: float) -> str:
    return f' transform="translate({x:.1f} {y:.1f})"'


def _svg(name: str, width: float, height: float, label: str, parts: Sequence[str]) -> str:
    size = f'width="{width + 2:.0f}" height="{height + 2:.0f}"'
    return f'<svg class="{name}" {size} role="img" aria-label="{label}">{"".join(parts)}</svg>'
