"""Spans of labelled text: what B-, I-, E- and S- tags (BILOU: L- and U-) say, and what a model's labels do.

The definition is that of the CoNLL-2000 scorer `conlleval`: a span begins at a B or an S, or at any tag whose
type differs from the one before, or that follows O, E or S; so IOB1, IOB2 and IOBES are all read rightly.
L-type and U-type, the marks of BILOU, are read as E and S. A label of another form, such as "ORG" or "Other",
is plain: it is read as I of a type that is the label itself, so that each run of equal ones is a span.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.structures.chain.spans import SpanLabels

OUTSIDE = "O"
#: M is an I of schemes for the words of a text without spaces.
_TAG = re.compile(r"O|[BIMES](-.*)?|[LU]-.*", re.DOTALL)
_AS_IN_BIOES = {"L": "E", "U": "S", "M": "I"}


class Span(NamedTuple):
    """A span of tokens, `end` not included, with its probability."""

    start: int
    end: int
    label: Any
    probability: float


class Mark(NamedTuple):
    """A tag: O, B, I, E or S, and its type."""

    kind: str
    type: str


@lru_cache(maxsize=1 << 14)
def mark_of(tag: str) -> Mark:
    """Return the mark and the type of a tag."""
    kind, _, own = tag.partition("-")
    if kind == OUTSIDE:
        return Mark(OUTSIDE, "")
    return Mark(_AS_IN_BIOES.get(kind, kind), own) if _TAG.fullmatch(tag) else Mark("I", tag)


def is_mark(tag: str) -> bool:
    """Whether a tag is O, or marks a part of a span; others are plain."""
    return _TAG.fullmatch(tag) is not None


def tag_type(tag: str) -> str:
    """Return the type of a tag: "NP" of "B-NP", "" of "O" and of a bare "B"."""
    return mark_of(tag).type


def is_boundary(before: str, tag: str) -> bool:
    """Whether no span goes on from a tag to the next one."""
    one, other = mark_of(before), mark_of(tag)
    return other.kind in "BSO" or one.kind in "ESO" or one.type != other.type


def spans(tags: Iterable[str]) -> list[tuple[str, int, int]]:
    """Return (type, first, last + 1) of each span of one sentence, in order.

    >>> spans(["B-NP", "I-NP", "O", "I-NP", "S-LOC"])
    [('NP', 0, 2), ('NP', 3, 4), ('LOC', 4, 5)]
    """
    found = []
    before, first = OUTSIDE, 0
    for at, tag in enumerate([*tags, OUTSIDE]):
        if tag == before == OUTSIDE:  # most are
            continue
        if is_boundary(before, tag):
            if mark_of(before).kind != OUTSIDE:
                found.append((tag_type(before), first, at))
            first = at
        before = tag
    return found


class SpanReading:
    """How the labels of a model mark spans.

    Labels of the form O, B-type, I-type, E-type and S-type (or M-, L- and U-type) are tags. If some
    are not, all are plain: then each run of equal labels is a span of that label, but for the label "O",
    which is none.

    Parameters
    ----------
    classes : sequence of labels
    """

    def __init__(self, classes: Sequence[object]) -> None:
        self._tags = [str(label) for label in classes]
        self.plain = not all(map(_TAG.fullmatch, self._tags))
        if self.plain:
            self._tags = [self._tag(label) for label in classes]
        types = (tag_type(tag) for tag in self._tags if tag[:1] != OUTSIDE)
        self._kinds = {one: kind for kind, one in enumerate(dict.fromkeys(types))}

    def _tag(self, label: object) -> str:
        text = str(label)
        return f"I-{text}" if self.plain and text != OUTSIDE else text

    def read(self, labels: Sequence[Any]) -> list[tuple[int, int, Any]]:
        """Return (start, end, label) of each span of a sentence; a label is a type or, if plain, itself."""
        found = spans(map(self._tag, labels))
        return [(first, end, labels[first] if self.plain else own) for own, first, end in found]

    def rows(self, found: Iterable[tuple[int, int, Any]]) -> Array:
        """Return what `read` found as structures take it: (begin, end, kind)."""
        rows = [(first, end, self._kinds[str(own)]) for first, end, own in found]
        return np.array(rows, dtype=np.int64).reshape(-1, 3)

    @property
    def types(self) -> dict[str, int]:
        """The types of spans, with their numbers."""
        return self._kinds

    @cached_property
    def labels(self) -> SpanLabels:
        """The kinds of the classes, and which of them are parted."""
        kind = [-1 if tag[:1] == OUTSIDE else self._kinds[tag_type(tag)] for tag in self._tags]
        between = [[is_boundary(before, tag) for tag in self._tags] for before in self._tags]
        return SpanLabels(np.array(kind), np.array(between))


@lru_cache(maxsize=16)
def span_reading(classes: tuple[object, ...]) -> SpanReading:
    """Return the way in which these labels are read as spans."""
    return SpanReading(classes)
