"""The columns of a CSV file, in plain Python: levels of cells, or numbers where these are too many."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from math import nan

import numpy as np

from structlearn.core.contract import Array
from structlearn.data.tables.rows import Rows, blocks
from structlearn.tables.frame import MISSING, Column, TextColumn, merge_levels

#: A column of this many different numbers is one of numbers: their spelling is forgotten.
MANY_LEVELS = 1000
_ROWS_AT_ONCE = 1024


def read_columns(
    open_again: Callable[[], Rows], header: Sequence[str], names: Sequence[str], verbatim: Collection[str]
) -> list[Column]:
    """Return the columns of these names; the rows are read again if a column of numbers is none after all."""
    at = {name: j for j, name in enumerate(header)}
    kept = set(verbatim)
    while True:
        collectors = [_Collector(keeps_spelling=name in kept) for name in names]
        spoiled = _collect(open_again(), collectors, [at[name] for name in names])
        if spoiled is None:
            return [one.finish(as_is=name in verbatim) for name, one in zip(names, collectors)]
        kept.add(names[spoiled])


def _collect(rows: Rows, collectors: Sequence[_Collector], places: Sequence[int]) -> int | None:
    """Give all cells to their collectors; return the first column whose spelling should have been kept."""
    for _, columns in blocks(rows, _ROWS_AT_ONCE):
        for k, (one, place) in enumerate(zip(collectors, places)):
            try:
                one.extend(columns[place])
            except ValueError:
                return k
    return None


class _Collector:
    """Collects the cells of a column."""

    def __init__(self, *, keeps_spelling: bool) -> None:
        self._levels: dict[str, int] = {}
        self._codes = array("q")
        self._numbers: array[float] | None = None
        self._try_from = None if keeps_spelling else MANY_LEVELS
        self._keeps_spelling = keeps_spelling

    def extend(self, cells: Sequence[str]) -> None:
        """Take more cells; ValueError if they are no numbers and those before were too many."""
        if self._numbers is not None:
            self._numbers.frombytes(plain_numbers(cells).tobytes())
            return
        levels = self._levels
        self._codes.extend([levels.setdefault(cell, len(levels)) for cell in cells])
        if self._try_from is not None and len(levels) > self._try_from:
            self._try_numbers()

    def _try_numbers(self) -> None:
        """Keep numbers in place of levels, if all are."""
        try:
            values = plain_numbers(list(self._levels))
        except ValueError:
            self._try_from = 10 * len(self._levels)
            return
        self._numbers = array("d", values[np.frombuffer(self._codes, dtype=np.int64)].tobytes())
        self._levels, self._codes = {}, array("q")

    def finish(self, *, as_is: bool) -> Column:
        """Return the column."""
        if self._numbers is not None:
            return np.frombuffer(self._numbers)
        codes = np.frombuffer(self._codes, dtype=np.int64) if self._codes else np.empty(0, dtype=np.int64)
        return column_of(codes, list(self._levels), as_is=as_is)


def column_of(codes: Array, levels: list[str], *, as_is: bool) -> Column:
    """Return the column of levels: numbers if all are plain ones, else text."""
    if as_is:
        return verbatim_column(codes, levels)
    try:
        return plain_numbers(levels)[codes]
    except ValueError:
        return merge_levels(codes, levels)


def verbatim_column(codes: Array, levels: Sequence[str]) -> TextColumn:
    """Return text as it is, but for blanks around it; nothing is missing."""
    known: dict[str, int] = {}
    place = np.array([known.setdefault(one.strip(), len(known)) for one in levels], dtype=np.int64)
    found = np.empty(len(known), dtype=object)
    found[:] = list(known)
    return TextColumn(place[codes], found, is_text=True)


def plain_numbers(cells: Sequence[str]) -> Array:
    """Return the numbers in cells, as Python spells them, NaN where missing; ValueError for all else."""
    whole = "".join(cells)
    if "_" in whole or not whole.isascii():
        raise ValueError("not plain numbers")
    try:
        return np.array(list(map(float, cells)), dtype=np.float64)
    except ValueError:
        return np.array([nan if cell.strip() in MISSING else float(cell) for cell in cells], dtype=np.float64)
