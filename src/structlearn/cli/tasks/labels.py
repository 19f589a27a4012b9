"""Labels of a file against those of a model, whichever way the two files spelled numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.data.scalars import number_or_none


def spelling(classes: Array) -> Callable[[object], Hashable]:
    """Return a function that spells a label as the model's classes are: strings, or numbers where it is one.

    Readers make numbers of labels only if all labels of a file are numbers.
    """
    if classes.dtype.kind in "US":
        return str

    def as_number(label: object) -> Hashable:
        number = number_or_none(label) if isinstance(label, str) else label
        return label if number is None else number

    return as_number


def positions(labels: Iterable[object], classes: Array) -> Array:
    """Return the position of each label in `classes`; -1 for a label unknown to the model."""
    spelled, place = spelling(classes), _places(classes)
    return np.array([place.get(spelled(label), -1) for label in labels], dtype=np.int64)


class SetRows(NamedTuple):
    """Label sets as rows of 0 and 1; the label of each column; how often unknown labels occur."""

    gold: list[Array]
    predicted: list[Array]
    names: list[str]
    n_unknown: int


def set_rows(
    gold: Iterable[Iterable[object]], predicted: Sequence[Iterable[object]], classes: Array
) -> SetRows:
    """Make rows over the model's labels and, after these, the unknown ones."""
    spelled, place = spelling(classes), _places(classes)
    sets = [[spelled(label) for label in one] for one in gold]
    n_unknown = sum(label not in place for one in sets for label in one)
    for label in (label for one in sets for label in one):
        place.setdefault(label, len(place))
    return SetRows(_rows(sets, place), _rows(predicted, place), [*map(str, place)], n_unknown)


def _places(classes: Array) -> dict[object, int]:
    return {label: k for k, label in enumerate(classes.tolist())}


def _rows(sets: Sequence[Iterable[object]], place: Mapping[object, int]) -> list[Array]:
    on = np.zeros((len(sets), len(place)), dtype=np.int64)
    for row, one in zip(on, sets):
        row[[place[label] for label in one]] = 1
    return list(on)
