"""A table in memory, column by column: numbers, or text whose distinct values are kept once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from structlearn.core.contract import Array

#: Cells that say that a value is not known.
MISSING = frozenset({"", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null"})


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of text.

    codes : ndarray of shape (n_rows,), the level of each row, -1 where it is missing
    levels : ndarray of objects, the distinct texts, in the order in which rows have them first
    is_text : whether its source says that it is text; if not, its cells tell what it is
    """

    codes: Array
    levels: Array
    is_text: bool = False

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> TextColumn:
        return TextColumn(self.codes[rows], self.levels, self.is_text)

    @property
    def counts(self) -> Array:
        """How many rows have each level; of some rows of a table, levels may have none."""
        return np.bincount(self.codes + 1, minlength=len(self.levels) + 1)[1:]

    @property
    def n_missing(self) -> int:
        """How many rows have none."""
        return int((self.codes < 0).sum())

    def seen(self) -> TextColumn:
        """Return the column with the levels that its rows have."""
        there = self.counts > 0
        if there.all():
            return self
        place = np.append(np.cumsum(there) - 1, -1)
        return TextColumn(place[self.codes], self.levels[there], self.is_text)

    def spread(self, values: Array, missing: object = np.nan) -> Array:
        """Return the value of each row, given one for each level."""
        return np.append(values, np.array([missing], dtype=values.dtype))[self.codes]

    def objects(self) -> Array:
        """Return the texts of all rows, None where missing."""
        return self.spread(self.levels.astype(object), None)


#: Floats, NaN where missing, or text.
Column: TypeAlias = Array | TextColumn


@dataclass(frozen=True, eq=False)
class Frame:
    """A table: names of columns, and columns of one length."""

    names: list[str]
    columns: list[Column]
    #: whether its source writes 3,14 for 3.14
    decimal_comma: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (len(self.columns[0]) if self.columns else 0), len(self.columns)

    ndim = 2

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Frame:
        return Frame(self.names, [one[rows] for one in self.columns], self.decimal_comma)

    def copy(self) -> Frame:
        """Return the frame itself: nobody changes it."""
        return self

    def select(self, names: Iterable[str]) -> Frame:
        """Return some of its columns."""
        own = dict(zip(self.names, self.columns))
        chosen = list(names)
        return Frame(chosen, [own[name] for name in chosen], self.decimal_comma)

    @property
    def is_complete(self) -> bool:
        """Whether all columns are numbers, and none is missing."""
        return all(not isinstance(one, TextColumn) and not np.isnan(one).any() for one in self.columns)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.array().astype(dtype)

    def array(self) -> Array:
        """Return floats if all columns are numbers, else objects: floats, NaN if missing, text and None."""
        if not any(isinstance(one, TextColumn) for one in self.columns):
            return np.column_stack(cast(list[Array], self.columns))
        found = np.empty(self.shape, dtype=object)
        for j, one in enumerate(self.columns):
            found[:, j] = one.objects() if isinstance(one, TextColumn) else one
        return found


def join_frames(frames: Sequence[Frame]) -> Frame:
    """Return the rows of several frames of the same columns."""
    first = frames[0]
    if len(frames) == 1:
        return first
    columns = [_join([one.columns[j] for one in frames]) for j in range(first.shape[1])]
    return Frame(first.names, columns, first.decimal_comma)


def _join(columns: Sequence[Column]) -> Column:
    if not any(isinstance(one, TextColumn) for one in columns):
        return np.concatenate(cast(Sequence[Array], columns))
    cells = [one.objects() if isinstance(one, TextColumn) else one.astype(object) for one in columns]
    return code_cells([None if one != one else one for one in np.concatenate(cells).tolist()])


def code_cells(cells: Sequence[object], *, is_text: bool = False) -> TextColumn:
    """Return a column of cells; None and what `MISSING` lists are missing, blanks around cells are cut."""
    known: dict[object, int] = {}
    codes = np.array([known.setdefault(cell, len(known)) for cell in cells], dtype=np.int64)
    return merge_levels(codes, [None if cell is None else str(cell) for cell in known], is_text=is_text)


def merge_levels(codes: Array, levels: Sequence[str | None], *, is_text: bool = False) -> TextColumn:
    """Return a column of levels as a file spells them: equal ones, once stripped, become one."""
    known: dict[str, int] = {}
    place = [
        -1 if one is None or (text := one.strip()) in MISSING else known.setdefault(text, len(known))
        for one in levels
    ]
    found = np.empty(len(known), dtype=object)
    found[:] = list(known)
    return TextColumn(np.append(np.array(place, dtype=np.int64), -1)[codes], found, is_text)
