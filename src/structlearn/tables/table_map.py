"""From a table to rows of features: the maps of its columns, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.progress import counted
from structlearn.tables.frame import Column, Frame
from structlearn.tables.maps import ColumnMap, ColumnRecipe, Features, Slot, learn_map
from structlearn.tables.readings import ColumnReading, read_column

#: Rows are dense if at least this share of their features is not zero, or if they have few.
_DENSE, _NARROW = 0.3, 32


@dataclass(frozen=True)
class TableMap:
    """Features of a table, column by column; a column without a map has none.

    maps : what was learned of each column
    is_sparse : whether rows of features are sparse
    """

    maps: list[ColumnMap | None]
    is_sparse: bool

    @property
    def width(self) -> int:
        """How many features a row has."""
        return sum(one.width for one in self.maps if one is not None)

    def suffixes(self) -> Iterator[tuple[int, str]]:
        """Yield the column of each feature, and what its name adds to that of the column."""
        for j, one in enumerate(self.maps):
            if one is not None:
                yield from ((j, suffix) for suffix in one.suffixes())

    def features(self, frame: Frame) -> Array | sparse.csr_matrix:
        """Return the rows of features of a table; UnreadableError for cells that are odd."""
        slots: list[Slot] = []
        texts: list[tuple[int, sparse.csr_matrix]] = []
        at = 0
        for name, column, one in zip(frame.names, frame.columns, self.maps):
            if one is None:
                continue
            read = read_column(name, column, one.reading, comma=frame.decimal_comma)
            found: Features = one.features(read)
            if isinstance(found, list):
                slots += [_shift(slot, at) for slot in found]
            else:
                texts.append((at, found))
            at += one.width
        rows = _sparse_rows(slots, len(frame), at) if self.is_sparse else _dense_rows(slots, len(frame), at)
        for place, block in texts:
            placed = _place_block(block, place, at)
            rows = rows + (placed if self.is_sparse else placed.toarray())
        return rows


def learn_table(
    columns: Sequence[Column], readings: Sequence[ColumnReading | None], recipe: ColumnRecipe
) -> TableMap:
    """Learn the features of columns that were read; one without a reading has none."""
    pairs = list(zip(columns, readings))
    maps = [
        None if reading is None else learn_map(column, reading, recipe)
        for column, reading in counted(pairs, "learning columns", len(pairs))
    ]
    known = [one for one in maps if one is not None]
    busy = sum(1 if one.reading.kind != "date" else 4 for one in known)
    width = sum(one.width for one in known)
    is_sparse = width > _NARROW and busy < _DENSE * width
    return TableMap(maps, is_sparse)


def _shift(slot: Slot, at: int) -> Slot:
    if isinstance(slot.places, int):
        return Slot(slot.places + at, slot.values)
    return Slot(np.where(slot.places < 0, -1, slot.places + at), slot.values)


def _dense_rows(slots: list[Slot], n: int, width: int) -> Array:
    found = np.zeros((n, width))
    for places, values in slots:
        if isinstance(places, int):
            found[:, places] = values
        else:
            rows = np.flatnonzero(places >= 0)
            found[rows, places[rows]] = values if isinstance(values, float) else values[rows]
    return found


def _sparse_rows(slots: list[Slot], n: int, width: int) -> sparse.csr_matrix:
    """Return the features of all slots; within a row, places go up as slots do."""
    indices = np.empty((n, len(slots)), dtype=np.int32)
    data = np.empty((n, len(slots)), dtype=np.float32)
    for s, (places, values) in enumerate(slots):
        indices[:, s], data[:, s] = places, values
    there = indices >= 0
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    if there.all():
        return sparse.csr_matrix((data.ravel(), indices.ravel(), ends), shape=(n, width))
    return sparse.csr_matrix((data[there], indices[there], ends), shape=(n, width))


def _place_block(block: sparse.csr_matrix, at: int, width: int) -> sparse.csr_matrix:
    return sparse.csr_matrix((block.data, block.indices + at, block.indptr), shape=(block.shape[0], width))
