"""From a column of lists, such as "garden;pets", to zeros and ones for their items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.tables.frame import TextColumn
from structlearn.tables.maps import IS_MISSING, ColumnMap, ColumnRecipe
from structlearn.tables.readings import ColumnReading

#: What may stand between items, the likelier first.
SEPARATORS = (";", "|", ",")
#: This share of what lists hold must be items that are not rare.
_USUAL = 0.9


def split_items(cell: str, separator: str) -> list[str]:
    """Return the items of a list, each once."""
    items = (item.strip() for item in cell.split(separator))
    return [item for item in dict.fromkeys(items) if item]


def find_separator(levels: Sequence[str], counts: Array, least: int) -> str:
    """Return what separates the items of lists; "" for cells that are no lists.

    They are lists if there are fewer items than different cells (so that "Oslo, Norway" is none), and few
    items are rare: `least` rows must hold the others.
    """
    return next((one for one in SEPARATORS if _are_lists(levels, counts, one, least)), "")


def _are_lists(levels: Sequence[str], counts: Array, separator: str, least: int) -> bool:
    if not any(separator in level for level in levels):
        return False
    lists = [split_items(level, separator) for level in levels]
    held = count_items(lists, counts)
    usual = sum(n for n in held.values() if n >= least)
    return len(held) < len(levels) and usual >= _USUAL * sum(held.values())


def count_items(lists: Sequence[Sequence[str]], counts: Array) -> Counter[str]:
    """Count the rows that hold each item."""
    held: Counter[str] = Counter()
    for items, n in zip(lists, counts.tolist()):
        held.update(dict.fromkeys(items, n))
    return held


def mark_items(lists: Sequence[Sequence[str]], items: Sequence[str]) -> Array:
    """Return zeros and ones of shape (lists, items); other items are left out."""
    place = {item: k for k, item in enumerate(items)}
    found = np.zeros((len(lists), len(items)))
    for row, own in zip(found, lists):
        row[[place[item] for item in own if item in place]] = 1.0
    return found


@dataclass(frozen=True)
class ListMap(ColumnMap):
    """A one at the output of each item that is held.

    items : those with an output of their own
    separator : what stands between items
    missing : whether missing lists have an output; without one they are empty lists
    """

    items: list[str]
    separator: str
    missing: bool

    @classmethod
    def learn(cls, column: TextColumn, reading: ColumnReading, recipe: ColumnRecipe) -> Self:
        levels, counts, least = column.levels.tolist(), column.counts, max(recipe.least(len(column)), 1)
        separator = find_separator(levels, counts, int(least)) or SEPARATORS[0]
        held = count_items([split_items(level, separator) for level in levels], counts)
        items = sorted(item for item, n in held.items() if n >= least)
        return cls(reading, items, separator, column.n_missing >= least)

    def check(self) -> None:
        if len(set(self.items)) < len(self.items) or self.separator not in SEPARATORS:
            raise ValueError("a column of its row map has an item twice, or a separator that is none")

    def suffixes(self) -> list[str]:
        return [f":{item}" for item in self.items] + [IS_MISSING] * self.missing

    def features(self, column: TextColumn) -> sparse.csr_matrix:
        lists = [split_items(level, self.separator) for level in column.levels.tolist()]
        by_level = np.zeros((len(lists) + 1, self.width))
        by_level[:-1, : len(self.items)] = mark_items(lists, self.items)
        by_level[-1, len(self.items) :] = 1.0
        return sparse.csr_matrix(by_level)[np.where(column.codes < 0, len(lists), column.codes)]
