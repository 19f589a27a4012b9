"""The books of a run that were read from a checkpoint: what training relies on is checked beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from typing import Any

from structlearn.solvers.solution import Row

#: Whole numbers beyond this are no counts.
MOST = 1 << 53


@contextmanager
def refusing() -> Iterator[None]:
    """What does not fit in any other way is a ValueError, too."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError) as error:
        raise _misfit() from error


def check_books(books: Mapping[str, Any], best: type, n_weights: int) -> None:
    """ValueError if the books of a run are not of their kinds; `best` is the record of the best so far."""
    plain = [books["next_check"], books["seconds"], *books["extra"].values()]
    several = [value for values in books["columns"].values() for value in values]
    fits = all(map(_is_number, plain + several)) and isfinite(books["seconds"])
    fits = fits and all(isinstance(row, Row) for row in books["rows"])
    fits = fits and all(0 <= count < MOST for count in _counts(books["state"]))
    fits = fits and int(books["random"]["state"]["inc"]) % 2 == 1  # an even one may repeat a number for ever
    if not fits or not isinstance(books["best"], best | None):
        raise _misfit()
    check_weights(books["best"], n_weights)


def _counts(state: Any) -> Iterator[int]:
    """All that a state counts (answers, steps, passes): a budget would never be spent from below zero."""
    for value in state if isinstance(state, tuple) else ():
        if isinstance(value, tuple):
            yield from _counts(value)
        elif isinstance(value, int):
            yield value


def check_weights(record: Any, n_weights: int) -> None:
    """ValueError if a record has weights of another size."""
    w = getattr(record, "w", None)
    if w is not None and w.shape != (n_weights,):
        raise _misfit()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _misfit() -> ValueError:
    return ValueError("The checkpoint does not fit this training, or it is damaged; begin afresh.")
