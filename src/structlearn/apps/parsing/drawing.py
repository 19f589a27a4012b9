"""A dependency tree as SVG: the words in a row, an arc over them from each head to its dependent.

Each kind of arc has a colour and a line of its own, so that nothing depends on the colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import accumulate, pairwise
from typing import NamedTuple

from structlearn.apps.parsing.metrics import LabelledTree
from structlearn.core.text_width import text_columns

#: Kinds of arcs, in the order in which they are drawn over each other, and what they are called.
KINDS = {
    "missed": "right, but not predicted",
    "right": "predicted, head and label right",
    "relabelled": "predicted, the label wrong",
    "wrong": "predicted, the head wrong",
    "plain": "predicted",
}

_CHARACTER = 8.5  # the width of a character of the monospaced 14px font
_SMALL = 6.2  # and of the 10px one
_GAP = 18
_STEP = 24  # from one level of arcs to the next
_APART = 6  # between the arcs that meet at a word


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
    """All arcs that are predicted or gold, with their kinds."""
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


def draw_tree(words: Sequence[str], tags: Sequence[str], arcs: Sequence[Arc]) -> str:
    """The sentence with its arcs above and its tags below."""
    centres, width = _centres(words, tags, arcs)
    levels = _levels([arc for arc in arcs if arc.head])
    top = _STEP * (max(levels.values(), default=1) + 1) + 16
    feet = _feet(arcs, centres)
    parts = [*(_drawn(arc, words, levels, feet, top) for arc in arcs)]
    for word, tag, x in zip(words, tags, centres):
        parts.append(f'<text x="{x:.1f}" y="{top + 18}">{escape(word)}</text>')
        parts.append(f'<text class="tag" x="{x:.1f}" y="{top + 34}">{escape(tag)}</text>')
    size = f'width="{width:.0f}" height="{top + 42}"'
    return f'<svg {size} role="img" aria-label="Dependency tree of the sentence.">{"".join(parts)}</svg>'


def swatch(kind: str) -> str:
    """A line, for the legend."""
    line = f'<g class="arc {kind}"><path d="M2 10 H40"/></g>'
    return f'<svg width="42" height="20" aria-hidden="true">{line}</svg>'


def _centres(words: Sequence[str], tags: Sequence[str], arcs: Sequence[Arc]) -> tuple[list[float], float]:
    """Where the middle of each word is; and the whole width. Arcs and labels of short ones need room, too."""
    labels, n_arcs = [0.0] * len(words), [0] * len(words)
    for arc in arcs:
        for word in {arc.head, arc.word} - {0}:
            n_arcs[word - 1] += 1
            if abs(arc.head - arc.word) == 1 or not arc.head:
                labels[word - 1] = max(labels[word - 1], _SMALL * text_columns(arc.label))
    widths = [
        max(_CHARACTER * text_columns(word), _SMALL * text_columns(tag), _APART * n + label) + _GAP
        for word, tag, n, label in zip(words, tags, n_arcs, labels)
    ]
    ends = list(accumulate(widths, initial=4.0))
    return [(a + b) / 2 for a, b in pairwise(ends)], ends[-1] + 4


def _levels(arcs: Sequence[Arc]) -> dict[tuple[int, int], int]:
    """How high each arc (head, word) is: above all that it overlaps with and that are not longer."""
    levels: dict[tuple[int, int], int] = {}
    for arc in sorted(arcs, key=lambda arc: abs(arc.head - arc.word)):
        low, high = sorted((arc.head, arc.word))
        under = [level for ends, level in levels.items() if min(ends) < high and max(ends) > low]
        levels[arc.head, arc.word] = 1 + max(under, default=0)
    return levels


def _feet(arcs: Sequence[Arc], centres: Sequence[float]) -> dict[tuple[Arc, int], float]:
    """Where each arc stands at each of its words: side by side, by where the other end is, outer ones out."""
    feet = {}
    for word, x in enumerate(centres, 1):
        meeting = [arc for arc in arcs if word in (arc.head, arc.word)]
        left = [a for a in meeting if _other(a, word) < word]
        right = [a for a in meeting if _other(a, word) > word]
        left.sort(key=lambda a: _other(a, word), reverse=True)
        right.sort(key=lambda a: _other(a, word), reverse=True)
        in_order = [*reversed(left), *right]
        for place, arc in enumerate(in_order):
            feet[arc, word] = x + _APART * (place - (len(in_order) - 1) / 2)
    return feet


def _other(arc: Arc, word: int) -> float:
    """The other end; the root is above the word itself, a little to the left."""
    if not arc.head:
        return word - 0.5
    return arc.word if arc.head == word else arc.head


def _drawn(
    arc: Arc,
    words: Sequence[str],
    levels: Mapping[tuple[int, int], int],
    feet: Mapping[tuple[Arc, int], float],
    top: float,
) -> str:
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
    return "".join(_group(arc, words, path, tip, x, high + 3.5))


def _group(arc: Arc, words: Sequence[str], path: str, tip: str, x: float, y: float) -> Iterator[str]:
    head = words[arc.head - 1] if arc.head else "root"
    share = "" if arc.confidence is None else f", confidence {arc.confidence:.2f}"
    title = f"{head} → {words[arc.word - 1]}, {arc.label}: {KINDS[arc.kind]}{share}"
    yield f'<g class="arc {arc.kind}"><title>{escape(title)}</title><path d="{path}"/>'
    yield f'<path class="tip" d="{tip}"/>'
    yield f'<text class="label" x="{x:.1f}" y="{y:.1f}">{escape(arc.label)}</text></g>'
