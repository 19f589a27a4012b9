"""From dates to features: days since the first, year, month, weekday and hour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from structlearn.core.contract import Array
from structlearn.tables.maps import IS_MISSING, ColumnMap, ColumnRecipe, Slot
from structlearn.tables.readings import ColumnReading

_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
_HOURS = [str(hour) for hour in range(24)]
#: The names of what is counted, by the part of a date that it is.
_CYCLES = {"month": _MONTHS, "weekday": _WEEKDAYS, "hour": _HOURS}


@dataclass(frozen=True)
class DateMap(ColumnMap):
    """Numbers of days and of the year, and zeros and ones for month, weekday and hour.

    first : the first day, since 1970
    days, year : mean and deviation
    year_varies : whether training had several years
    seen : months, weekdays and hours that training had, by their places; none where there is just one
    indicator : whether it is said where a date is missing
    """

    first: float
    days: list[float]
    year: list[float]
    year_varies: bool
    seen: dict[str, list[int]]
    indicator: bool

    @classmethod
    def learn(cls, column: Array, reading: ColumnReading, recipe: ColumnRecipe) -> Self:
        known = column[~np.isnan(column)]
        first = float(np.floor(known.min())) if known.size else 0.0
        parts = _parts(known)
        found = {name: np.unique(parts[name]).tolist() for name in _CYCLES}
        seen = {name: places if len(places) > 1 else [] for name, places in found.items()}
        days, year = (_moments(one, recipe) for one in (known - first, parts["year"]))
        varies = known.size > 0 and bool(np.ptp(parts["year"]) > 0)
        return cls(reading, first, days, year, varies, seen, known.size < column.size)

    def check(self) -> None:
        if len(self.days) != 2 or len(self.year) != 2 or min(self.days[1], self.year[1]) <= 0:
            raise ValueError("a column of dates of its row map has no mean and deviation")
        if self.seen.keys() != _CYCLES.keys():
            raise ValueError("a column of dates of its row map lacks months, weekdays or hours")
        for name, places in self.seen.items():
            if len(set(places)) < len(places) or not all(0 <= k < len(_CYCLES[name]) for k in places):
                raise ValueError(f"a column of dates of its row map has a {name} that is none")

    def suffixes(self) -> list[str]:
        numbers = [".days", ".year"] if self.year_varies else [".days"]
        cycles = [f".{name}={_CYCLES[name][k]}" for name in _CYCLES for k in self.seen[name]]
        return numbers + cycles + [IS_MISSING] * self.indicator

    def features(self, column: Array) -> list[Slot]:
        missing = np.isnan(column)
        known = np.where(missing, self.first, column)
        parts = _parts(known)
        found = [self._number(known - self.first, self.days, missing, 0)]
        at = 1
        if self.year_varies:
            found.append(self._number(parts["year"], self.year, missing, at))
            at += 1
        for name, places in self.seen.items():
            if places:
                place = np.full(len(_CYCLES[name]), -1)
                place[places] = np.arange(at, at + len(places))
                found.append(Slot(np.where(missing, -1, place[parts[name]])))
                at += len(places)
        return [*found, Slot(np.where(missing, at, -1))] if self.indicator else found

    def _number(self, values: Array, moments: list[float], missing: Array, place: int) -> Slot:
        mean, deviation = moments
        return Slot(place, np.where(missing, 0.0, (values - mean) / deviation))


def _parts(days: Array) -> dict[str, Array]:
    """Return years, and months, weekdays and hours from 0 on."""
    whole = np.floor(days).astype(np.int64)
    dates = whole.astype("datetime64[D]")
    months = dates.astype("datetime64[M]").astype(np.int64)
    hours = np.minimum(((days - whole) * 24 + 1e-6).astype(np.int64), 23)
    return {"year": months // 12 + 1970.0, "month": months % 12, "weekday": (whole + 3) % 7, "hour": hours}


def _moments(values: Array, recipe: ColumnRecipe) -> list[float]:
    """Return mean and deviation; without scaling 0 and 1."""
    if not values.size or not recipe.scale:
        return [0.0, 1.0]
    return [float(values.mean()), float(values.std()) or 1.0]
