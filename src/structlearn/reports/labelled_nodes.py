"""What pages of labelled graphs and images share: colours of labels, mistakes, and which come first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

from structlearn.core.contract import Array
from structlearn.reports.summaries import hues

T = TypeVar("T")


def hues_of(labels: Iterable[Array]) -> dict[int, int]:
    """Return colours by label, as angles; -1, which stands for unknown, has none."""
    return hues({one for some in labels for one in np.unique(some).tolist()} - {-1})


def n_wrong(labels: Array, gold: Array | None) -> int:
    """Count the wrong labels among the known ones."""
    return 0 if gold is None else int(((gold >= 0) & (labels != gold)).sum())


def error_note(labels: Array, gold: Array | None, counted: str) -> str:
    """Return how many are wrong, in words."""
    if gold is None or not (gold >= 0).any():
        return ""
    return f"{n_wrong(labels, gold)} of {(gold >= 0).sum()} {counted} wrong"


def worst_first(shares: Sequence[float], items: Sequence[T], limit: int) -> list[tuple[int, T]]:
    """Return numbers, from 1, and items with the largest shares of mistakes, at most `limit`."""
    order = sorted(range(len(items)), key=lambda i: -shares[i])[:limit]
    return [(i + 1, items[i]) for i in order]
