"""From a column to features: numbers, and zeros and ones for the levels of categories."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self, TypeAlias, get_type_hints

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.registry import resolve_name
from structlearn.storage.schema import check_form
from structlearn.tables.frame import Column, TextColumn
from structlearn.tables.readings import KINDS, STORED_READING, ColumnReading

#: What names say of missing values, and of levels that share an output.
IS_MISSING, RARE = " is missing", "(rare)"


@dataclass(frozen=True)
class ColumnRecipe:
    """What is learned of columns.

    scale : whether numbers are standardised
    min_frequency : from how many rows (or, below 1, from which share of them) on a level is not rare
    ngrams : how many words of a text in a row are features at most
    hash_bits : words are hashed to this many bits; None for a vocabulary
    """

    scale: bool = True
    min_frequency: float | None = 5
    ngrams: int = 1
    hash_bits: int | None = None

    def least(self, n_rows: int) -> float:
        """Return from how many rows on a level is not rare."""
        share = self.min_frequency
        return 1 if share is None else share * n_rows if share < 1 else share


class Slot(NamedTuple):
    """One feature per row at most: its place among those of the column, -1 for none, and its value."""

    places: Array | int
    values: Array | float = 1.0


#: Features of some rows of a column.
Features: TypeAlias = list[Slot] | sparse.csr_matrix


@dataclass(frozen=True)
class ColumnMap(ABC):
    """What was learned of a column; its fields are what model files hold."""

    reading: ColumnReading

    @classmethod
    @abstractmethod
    def learn(cls, column: Any, reading: ColumnReading, recipe: ColumnRecipe) -> Self:
        """Learn from a column that was read (see `read_column`)."""

    @abstractmethod
    def suffixes(self) -> list[str]:
        """Return what the name of each feature adds to that of the column."""

    @abstractmethod
    def features(self, column: Any) -> Features:
        """Return the features of a column that was read."""

    @abstractmethod
    def check(self) -> None:
        """Raise ValueError if the fields do not fit together."""

    @property
    def width(self) -> int:
        """How many features it has."""
        return len(self.suffixes())

    def stored(self) -> dict[str, object]:
        """Return the fields as JSON has them."""
        return asdict(self)


def map_of(reading: ColumnReading) -> type[ColumnMap]:
    """Return the class that learns a column of this kind."""
    found: type[ColumnMap] = resolve_name(KINDS[reading.kind].map)
    return found


def restore(stored: Mapping[str, Any]) -> ColumnMap:
    """Return the map that was `stored`; ValueError for what never was."""
    reading = stored.get("reading")
    if not isinstance(reading, dict) or reading.get("kind") not in KINDS:
        raise ValueError("a column of its row map is of no known kind")
    check_form(reading, STORED_READING, "row_map.columns.reading")
    own = ColumnReading(**reading)
    kind = map_of(own)
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name != "reading"}
    fields = {name: value for name, value in stored.items() if name != "reading"}
    check_form(fields, hints, "row_map.columns")
    if fields.keys() != hints.keys():
        raise ValueError(f"a column of its row map must be of {', '.join(hints)}")
    found = kind(own, **fields)
    found.check()
    return found


@dataclass(frozen=True)
class NumberMap(ColumnMap):
    """(x - mean) / scale, `fill` where x is missing, and whether it was, if training had such rows.

    suffix : what is added to the name
    """

    mean: float
    scale: float
    fill: float
    indicator: bool
    suffix: str

    @classmethod
    def learn(cls, column: Array, reading: ColumnReading, recipe: ColumnRecipe) -> Self:
        known = column[~np.isnan(column)]
        gaps = known.size < column.size
        if reading.kind == "flag":
            return cls(reading, 0.0, 1.0, float(known.size > 0 and known.mean() > 0.5), gaps, "=yes")
        if not known.size:
            return cls(reading, 0.0, 1.0, 0.0, gaps, "")
        mean, deviation = (float(known.mean()), float(known.std())) if recipe.scale else (0.0, 1.0)
        if deviation <= 10 * np.finfo(np.float64).eps * abs(mean):
            deviation = 1.0
        return cls(reading, mean, deviation, (float(np.median(known)) - mean) / deviation, gaps, "")

    def check(self) -> None:
        if not np.isfinite([self.mean, self.scale, self.fill]).all() or self.scale <= 0:
            raise ValueError("a column of its row map has no finite mean and scale")

    def suffixes(self) -> list[str]:
        return [self.suffix, f"{IS_MISSING}"] if self.indicator else [self.suffix]

    def features(self, column: Array) -> list[Slot]:
        missing = np.isnan(column)
        values = (column - self.mean) / self.scale
        if not missing.any():
            return [Slot(0, values)]
        values[missing] = self.fill
        return [Slot(0, values), Slot(np.where(missing, 1, -1))] if self.indicator else [Slot(0, values)]


@dataclass(frozen=True)
class CategoryMap(ColumnMap):
    """A one at the output of the level.

    levels : those with an output of their own
    missing : whether missing values have one
    rare : whether all other levels share one
    """

    levels: list[str]
    missing: bool
    rare: bool

    @classmethod
    def learn(cls, column: TextColumn, reading: ColumnReading, recipe: ColumnRecipe) -> Self:
        counts, least = column.counts, recipe.least(len(column))
        often = counts >= max(least, 1)
        n_missing = column.n_missing
        missing = n_missing >= max(least, 1)
        rare = bool((counts[~often] > 0).any()) or (n_missing > 0 and not missing)
        return cls(reading, sorted(column.levels[often].tolist()), missing, rare)

    def check(self) -> None:
        if len(set(self.levels)) < len(self.levels):
            raise ValueError("a column of its row map has a level twice")

    def suffixes(self) -> list[str]:
        more = [IS_MISSING] * self.missing + [f"={RARE}"] * self.rare
        return [f"={one}" for one in self.levels] + more

    def features(self, column: TextColumn) -> list[Slot]:
        n = len(self.levels)
        known = {level: k for k, level in enumerate(self.levels)}
        other = n + self.missing if self.rare else -1
        places = np.array([known.get(one, other) for one in column.levels.tolist()], dtype=np.int64)
        return [Slot(column.spread(places, n if self.missing else other))]


def learn_map(column: Column, reading: ColumnReading, recipe: ColumnRecipe) -> ColumnMap:
    """Learn the features of a column that was read."""
    return map_of(reading).learn(column, reading, recipe)
