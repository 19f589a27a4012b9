"""Dates as people write them, as days since 1970: 2020-01-31, 31.1.2020, 1/31/20, 31 Jan 2020, with times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from math import nan
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.tables.spelling import UNKNOWN, parse_times

_MONTHS = {
    name: k + 1
    for k, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    )
}
_MONTH = rf"(?P<word>{'|'.join(_MONTHS)})[a-z]*\.?"
_TIME = r"(?P<time>\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp]\.?[Mm]\.?)?)"
_ZONE = r"(?: ?(?:Z|UTC|GMT|(?P<zone>[+-]\d{2}:?\d{2})))?"
_AT = rf"(?:(?:[T ]|, ){_TIME}{_ZONE})?"
_WEEKDAY = r"(?:[a-z]{3,9},? )?"
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?", re.ASCII)
_FORMS = [
    re.compile(form + _AT, re.IGNORECASE | re.ASCII)
    for form in (
        r"(?P<year>\d{4})(?P<sep>[-/.])(?P<month>\d{1,2})(?:(?P=sep)(?P<day>\d{1,2}))?",
        r"(?P<first>\d{1,2})(?P<sep>[-/.])(?P<second>\d{1,2})(?P=sep)(?P<year>\d{4}|\d{2})",
        rf"{_WEEKDAY}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[ .-]?{_MONTH}[ ,-]*(?P<year>\d{{4}}|\d{{2}})",
        rf"{_WEEKDAY}{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})",
    )
]
_EPOCH = date(1970, 1, 1).toordinal()
#: Two-digit years from this one on are of the last century.
_CENTURY = 69


class Dates(NamedTuple):
    """Dates that cells spell.

    values : days since 1970, with the time of the day as a fraction; NaN for what is unknown or odd
    odd : cells that are no dates
    """

    values: Array
    odd: list[int]


class DateOrder(NamedTuple):
    """Which of dates such as 1/31/2020 show that the day, or that the month, comes first; -1 for none."""

    day: int = -1
    month: int = -1
    #: one that may be read both ways, and whether points separate its parts
    either: int = -1
    points: bool = False


def parse_dates(cells: Sequence[str], *, day_first: bool = False) -> Dates:
    """Read cells as dates; `day_first` is how 1/2/2020 is read."""
    if all(map(_ISO.fullmatch, cells)):
        try:
            seconds = np.array(list(cells), dtype="datetime64[s]").astype(np.int64)
        except ValueError:  # 2020-02-30
            pass
        else:
            return Dates(seconds / 86400.0, [])
    found = [_days(cell, day_first) for cell in cells]
    odd = [k for k, one in enumerate(found) if one is None]
    return Dates(np.array([nan if one is None else one for one in found], dtype=np.float64), odd)


def _days(cell: str, day_first: bool) -> float | None:
    for form in _FORMS:
        match = form.fullmatch(cell)
        if match is not None:
            return _of_match(match, day_first)
    return nan if cell.lower() in UNKNOWN else None


def _of_match(match: re.Match[str], day_first: bool) -> float | None:
    parts = match.groupdict()
    year = int(parts["year"])
    if len(parts["year"]) == 2:
        year += 1900 if year >= _CENTURY else 2000
    if parts.get("first"):
        first, second = int(parts["first"]), int(parts["second"])
        day, month = (first, second) if day_first else (second, first)
    else:
        word = parts.get("word")
        month = _MONTHS[word.lower()] if word else int(parts["month"])
        day = int(parts["day"] or 1)
    try:
        days = date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None
    if not parts["time"]:
        return float(days)
    hours = parse_times([parts["time"]])
    return None if hours.odd else days + float(hours.values[0]) / 24


def order_of(cells: Sequence[str]) -> DateOrder:
    """Find out whether the day or the month comes first."""
    found = {"day": -1, "month": -1, "either": -1}
    points = False
    for k, cell in enumerate(cells):
        match = _FORMS[1].fullmatch(cell)
        if match is None:
            continue
        first, second = int(match["first"]), int(match["second"])
        what = "day" if first > 12 else "month" if second > 12 else "either"
        if found[what] < 0:
            found[what], points = k, match["sep"] == "."
    return DateOrder(**found, points=points)
