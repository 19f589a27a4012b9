"""A dependency tree: the words in a row, an arc over them from each head to its dependent.

Here is where everything goes; a template draws it. Each kind of arc has a colour and a line of its own, so
that nothing depends on the colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from structlearn.core.wording import display_width, shorten
from structlearn.parsing.metrics import LabelledTree
from structlearn.reports.word_rows import LONGEST_WORD, word_centres

#: Kinds of arcs, in the order in which they are drawn over each other, and what they are called.
KINDS = {
    "missed": "right, but not predicted",
    "right": "predicted, head and label right",
    "relabelled": "predicted, the label wrong",
    "wrong": "predicted, the head wrong",
    "plain": "predicted",
}

_SMALL = 6.2  # the width of a character of the 10px font
_GAP = 18
_STEP = 24  # from one level of arcs to the next
_APART = 6  # between the arcs that meet at a word
_MARGIN = 4


class Arc(NamedTuple):
    """An arc to be drawn: from a head, 0 the root, to a word, from 1."""

    head: int
    word: int
    label: str
    kind: str
    confidence: float | None = None


def arcs_of(
    predicted: LabelledTree, gold: LabelledTree | None = None, confidence: Sequence[float] | None = None
) -> list[Arc]:
    """Return all arcs that are predicted or gold, with their kinds."""
    heads, labels = predicted
    found = []
    for k, (head, label) in enumerate(zip(heads, labels)):
        kind = "plain"
        if gold is not None:
            same = int(gold[0][k]) == int(head)
            kind = "wrong" if not same else "right" if str(gold[1][k]) == str(label) else "relabelled"
            if not same:
                found.append(Arc(int(gold[0][k]), k + 1, str(gold[1][k]), "missed"))
        share = None if confidence is None else float(confidence[k])
        found.append(Arc(int(head), k + 1, str(label), kind, share))
    return sorted(found, key=lambda arc: list(KINDS).index(arc.kind))


class _DrawnArc(NamedTuple):
    """An arc at its place: the line, its tip, and where its label stands."""

    kind: str
    title: str
    path: str
    tip: str
    label: str
    x: float
    y: float


class _Word(NamedTuple):
    text: str
    tag: str
    x: float


class TreeDrawing(NamedTuple):
    """The picture of a tree; `foot` is where arcs end and words begin."""

    width: int
    height: int
    foot: int
    label: str
    arcs: Sequence[_DrawnArc]
    words: Sequence[_Word]


def draw_tree(words: Sequence[str], tags: Sequence[str], arcs: Sequence[Arc]) -> TreeDrawing:
    """Return the sentence with its arcs above and its tags below."""
    centres, width = _centres(words, tags, arcs)
    levels = _levels([arc for arc in arcs if arc.head])
    foot = _STEP * (max(levels.values(), default=1) + 1) + 16
    feet = _feet(arcs, centres)
    return TreeDrawing(
        round(width),
        foot + 42,
        foot,
        f"Tree: {', '.join(_arc_in_words(arc, words) for arc in arcs if arc.kind != 'missed')}",
        [_draw_arc(arc, words, levels, feet, foot) for arc in arcs],
        [
            _Word(shorten(word, LONGEST_WORD), shorten(tag, LONGEST_WORD), round(x, 1))
            for word, tag, x in zip(words, tags, centres)
        ],
    )


def _centres(words: Sequence[str], tags: Sequence[str], arcs: Sequence[Arc]) -> tuple[list[float], float]:
    """Return the middle of each word, and the whole width; arcs and labels of short words need room, too."""
    labels, n_arcs = [0.0] * len(words), [0] * len(words)
    for arc in arcs:
        for word in {arc.head, arc.word} - {0}:
            n_arcs[word - 1] += 1
            if abs(arc.head - arc.word) == 1 or not arc.head:
                shown = shorten(arc.label, LONGEST_WORD)
                labels[word - 1] = max(labels[word - 1], _SMALL * display_width(shown))
    least = [
        max(_SMALL * display_width(shorten(tag, LONGEST_WORD)), _APART * n + label)
        for tag, n, label in zip(tags, n_arcs, labels)
    ]
    centres, width = word_centres(words, _GAP, least)
    return [x + _MARGIN for x in centres], width + 2 * _MARGIN


def _levels(arcs: Sequence[Arc]) -> dict[tuple[int, int], int]:
    """Return the height of each arc (head, word): above all that it overlaps with and that are not longer."""
    levels: dict[tuple[int, int], int] = {}
    for arc in sorted(arcs, key=lambda arc: abs(arc.head - arc.word)):
        low, high = sorted((arc.head, arc.word))
        under = [level for ends, level in levels.items() if min(ends) < high and max(ends) > low]
        levels[arc.head, arc.word] = 1 + max(under, default=0)
    return levels


def _feet(arcs: Sequence[Arc], centres: Sequence[float]) -> dict[tuple[Arc, int], float]:
    """Return where each arc stands at its words: side by side, longer ones inside, without crossing."""
    feet = {}
    for word, x in enumerate(centres, 1):
        meeting = [(_other(arc, word, centres), arc) for arc in arcs if word in (arc.head, arc.word)]
        # From left to right: those that go left, near and far, and those that go right, far and near.
        meeting.sort(key=lambda pair: (pair[0] > x, -pair[0]))
        for place, (_, arc) in enumerate(meeting):
            feet[arc, word] = x + _APART * (place - (len(meeting) - 1) / 2)
    return feet


def _other(arc: Arc, word: int, centres: Sequence[float]) -> float:
    """Return the place of the other end; the root is farther than all."""
    return -inf if not arc.head else centres[(arc.word if arc.head == word else arc.head) - 1]


def _draw_arc(
    arc: Arc,
    words: Sequence[str],
    levels: Mapping[tuple[int, int], int],
    feet: Mapping[tuple[Arc, int], float],
    top: float,
) -> _DrawnArc:
    end = feet[arc, arc.word]
    if not arc.head:
        high = 8.0
        path, x = f"M{end:.1f} {high} V{top - 4}", end
    else:
        start = feet[arc, arc.head]
        high = top - _STEP * levels[arc.head, arc.word]
        bend = min(8.0, abs(end - start) / 2) * (1 if end > start else -1)
        path = (
            f"M{start:.1f} {top} V{high + 8:.1f} Q{start:.1f} {high:.1f} {start + bend:.1f} {high:.1f} "
            f"H{end - bend:.1f} Q{end:.1f} {high:.1f} {end:.1f} {high + 8:.1f} V{top - 4}"
        )
        x = (start + end) / 2
    tip = f"M{end - 3.5:.1f} {top - 6} L{end + 3.5:.1f} {top - 6} L{end:.1f} {top + 2} Z"
    share = "" if arc.confidence is None else f", confidence {arc.confidence:.2f}"
    title = f"{_arc_in_words(arc, words)}: {KINDS[arc.kind]}{share}"
    label = shorten(arc.label, LONGEST_WORD)
    return _DrawnArc(arc.kind, title, path, tip, label, round(x, 1), round(high + 3.5, 1))


def _arc_in_words(arc: Arc, words: Sequence[str]) -> str:
    """Return an arc in words."""
    return f"{words[arc.head - 1] if arc.head else 'root'} → {words[arc.word - 1]}, {arc.label}"
