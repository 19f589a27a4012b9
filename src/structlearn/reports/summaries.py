"""What pages say on top: how right labels are, and how much of all there is they show."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeVar

from structlearn.metrics import LabelScores

Label = TypeVar("Label", int, str)


class Summary(NamedTuple):
    """How right all labels are.

    counted : what a row is about, "labels" or "spans"
    units : what has a label, such as "tokens"
    accuracy : the share of the n units with the right one
    rows : name, precision, recall, F1, and numbers of gold, found and right ones (`summary_row`)
    confusions : gold and predicted label, how often, and the share of all mistakes
    """

    counted: str
    units: str
    accuracy: str
    n: int
    rows: Sequence[Sequence[object]]
    confusions: Sequence[Sequence[object]] = ()


def summary_row(name: object, one: LabelScores) -> list[object]:
    """Return a row of a summary."""
    return [name, *(f"{x:.4f}" for x in (one.precision, one.recall, one.f1)), one.gold, one.found, one.right]


def hues(labels: Collection[Label]) -> dict[Label, int]:
    """Return colours by label, as angles, equally far from each other."""
    return {label: round(360 * k / len(labels)) for k, label in enumerate(sorted(labels))}


def number_of(n: int, noun: str) -> str:
    """Return a number and what it counts."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def lead(n: int, shown: int, noun: str, *, judged: bool) -> str:
    """Return how many there are, how many of them the page shows, and which come first."""
    if n < 2:
        return f"{number_of(n, noun)}."
    order = "the worst first" if judged else "in their order"
    what = f"{shown:,} of {n:,} {noun}s are shown" if n > shown else f"{n:,} {noun}s"
    return f"{what}, {order}."
