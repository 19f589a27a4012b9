"""What pages of labelled graphs and images share: colours of labels, figures, and which come first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from structlearn.core.contract import Array

T = TypeVar("T")


class NodeSummary(NamedTuple):
    """How right all labels are.

    counted : "nodes" or "pixels"
    accuracy : the share of them with the right label, of n
    rows : label, precision, recall, F1, and numbers of gold, found and right ones
    """

    counted: str
    accuracy: str
    n: int
    rows: Sequence[Sequence[object]]


def hues(labels: Iterable[Array]) -> dict[int, int]:
    """Colours by label, as angles; -1, which is not known, has none."""
    known = sorted({one for some in labels for one in np.unique(some).tolist()} - {-1})
    return {label: round(360 * k / len(known)) for k, label in enumerate(known)}


def n_wrong(labels: Array, gold: Array | None) -> int:
    """How many labels are wrong, of those that are known."""
    return 0 if gold is None else int(((gold >= 0) & (labels != gold)).sum())


def note(labels: Array, gold: Array | None, counted: str) -> str:
    """How many are wrong, in words."""
    if gold is None or not (gold >= 0).any():
        return ""
    return f"{n_wrong(labels, gold)} of {(gold >= 0).sum()} {counted} wrong"


def worst_first(shares: Sequence[float], items: Sequence[T], limit: int) -> list[tuple[int, T]]:
    """Numbers, from 1, and items with the largest shares of mistakes, at most `limit`."""
    order = sorted(range(len(items)), key=lambda i: -shares[i])[:limit]
    return [(i + 1, items[i]) for i in order]


def lead(n: int, shown: int, noun: str, *, judged: bool) -> str:
    """A sentence under the heading."""
    order = "the worst first" if judged else "in their order"
    return f"{f'{shown} of {n} {noun} are shown' if n > shown else f'{n} {noun}'}, {order}."
