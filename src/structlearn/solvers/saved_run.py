"""The record of a run that was read from a checkpoint: what training relies on is checked beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import repeat
from math import isfinite
from typing import Any

import numpy as np

from structlearn.solvers.solution import Row

#: Whole numbers beyond this are no counts.
MOST = 1 << 53
#: Arrays with infinities in places that no step has seen yet.
UNSEEN = ("gaps", "totals", "values")


@contextmanager
def refusing() -> Iterator[None]:
    """What does not fit in any other way is a ValueError, too."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError) as error:
        raise misfit() from error


def check_saved(record: Mapping[str, Any], best: type, n_weights: int) -> None:
    """ValueError if the record of a run is not of its kinds; `best` is that of the best so far."""
    plain = [record["next_check"], record["seconds"], *record["extra"].values()]
    several = [value for values in record["columns"].values() for value in values]
    fits = all(map(_is_number, plain + several)) and isfinite(record["seconds"])
    fits = fits and all(isinstance(row, Row) for row in record["rows"])
    fits = fits and all(_is_kept(name, value) for name, value in _fields("state", record["state"]))
    fits = fits and int(record["random"]["state"]["inc"]) % 2 == 1  # an even one may repeat a number for ever
    if not fits or not isinstance(record["best"], best):
        raise misfit()
    check_weights(record["best"], n_weights)


def _fields(name: str, value: object) -> Iterator[tuple[str, object]]:
    """What is in a state, in the records in it and in their tuples, by the names of the fields."""
    if isinstance(value, tuple):
        for inner, one in zip(getattr(value, "_fields", repeat(name)), value):
            yield from _fields(inner, one)
    else:
        yield name, value


def _is_kept(name: str, value: object) -> bool:
    """Counts from zero on, or a budget would never be spent; numbers, or a search for a root may not end."""
    if isinstance(value, int):
        return 0 <= value < MOST
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return not np.isnan(value).any() if name in UNSEEN else bool(np.isfinite(value).all())
    return True


def check_weights(record: object, n_weights: int) -> None:
    """ValueError if a record has weights of another size."""
    w = getattr(record, "w", None)
    if w is not None and w.shape != (n_weights,):
        raise misfit()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def misfit() -> ValueError:
    return ValueError("The checkpoint does not fit this training, or it is damaged; begin afresh.")
