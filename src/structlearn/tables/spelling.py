"""How people write numbers: with currencies, percent, and something between thousands; yes and no."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite, nan
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array

#: Words for an unknown value in a column of numbers or dates; elsewhere they may be levels.
UNKNOWN = frozenset(
    {"-", "--", ".", "n.a.", "na", "nil", "none", "unknown", "missing", "not available", "not known", "tbd"}
)
_CURRENCIES = r"[$€£¥₹₽₩]|USD|EUR|GBP|JPY|CHF|CAD|AUD|INR|CNY|SEK|NOK|DKK|PLN"
_SIGNED = re.compile(
    rf"(?P<open>\()?(?P<minus>[+-])? ?(?P<before>{_CURRENCIES})? ?(?P<inner>[+-])?"
    rf"(?P<digits>[0-9][0-9.,' \u00a0\u202f]*|\.[0-9]+)(?P<power>[eE][+-]?[0-9]+)?"
    rf" ?(?P<after>%|{_CURRENCIES})?(?(open)\))"
)
_GROUPED = re.compile(r"[0-9]{1,3}(?:(?P<sep>[,' \u00a0\u202f])[0-9]{3})(?:(?P=sep)[0-9]{3})*(?:\.[0-9]*)?")
_GROUPED_COMMA = re.compile(
    r"[0-9]{1,3}(?:(?P<sep>[.' \u00a0\u202f])[0-9]{3})(?:(?P=sep)[0-9]{3})*(?:,[0-9]*)?"
)
_PLAIN = re.compile(r"[0-9]*\.?[0-9]*")
_PLAIN_COMMA = re.compile(r"[0-9]*,?[0-9]*")
_SEPARATORS = str.maketrans("", "", "' \u00a0\u202f")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:[.,]\d+)?))?(?: ?([AaPp])\.?[Mm]\.?)?", re.ASCII)
_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹"}
#: Pairs of words for yes and no.
_FLAGS = [("yes", "no"), ("true", "false"), ("y", "n"), ("t", "f"), ("on", "off")]


class Numbers(NamedTuple):
    """Numbers that cells spell.

    values : one for each cell, NaN for what is unknown or odd
    odd : cells that are no finite numbers
    signs : what stands beside numbers: "$", "%" ..., "" for nothing
    """

    values: Array
    odd: list[int]
    signs: frozenset[str] = frozenset({""})


def parse_numbers(cells: Sequence[str], *, comma: bool = False) -> Numbers:
    """Read cells as numbers; `comma` says that 3,14 is a little more than 3."""
    whole = "".join(cells)
    if whole.isascii() and "_" not in whole and "," not in whole:
        try:
            values = np.array(list(map(float, cells)), dtype=np.float64)
        except ValueError:
            pass
        else:
            wrong = np.flatnonzero(~np.isfinite(values))
            values[wrong] = nan
            return Numbers(values, wrong.tolist())
    found = [_number(cell, comma) for cell in cells]
    odd = [k for k, one in enumerate(found) if one is None]
    values = np.array([nan if one is None else one[0] for one in found], dtype=np.float64)
    return Numbers(values, odd, frozenset(one[1] for one in found if one is not None and one[1] is not None))


def _number(cell: str, comma: bool) -> tuple[float, str | None] | None:
    """Return a number and its sign (None for what is unknown, which has none), or None."""
    match = _SIGNED.fullmatch(cell)
    if match is None:
        return (nan, None) if cell.lower() in UNKNOWN else None
    before, after = match["before"], match["after"]
    if (before and after) or (match["minus"] and match["inner"]):
        return None
    digits = _digits(match["digits"].rstrip(), comma)
    if digits is None:
        return None
    value = float(digits + (match["power"] or ""))
    if not isfinite(value):
        return None
    negative = (match["minus"] or match["inner"]) == "-" or match["open"] is not None
    sign = before or after or ""
    return (-value if negative else value), _SYMBOLS.get(sign, sign)


def _digits(text: str, comma: bool) -> str | None:
    """Return digits with a decimal point and nothing between thousands, or None."""
    grouped, plain = (_GROUPED_COMMA, _PLAIN_COMMA) if comma else (_GROUPED, _PLAIN)
    if not plain.fullmatch(text) and not grouped.fullmatch(text):
        return None
    text = text.translate(_SEPARATORS)
    return text.replace(".", "").replace(",", ".") if comma else text.replace(",", "")


def decimal_commas(cells: Sequence[str], *, usual: bool) -> bool | None:
    """Return whether commas are decimal ones, rather than between thousands; None if there are no commas.

    `usual` is the answer where both can be.
    """
    if not any("," in cell for cell in cells):
        return None
    with_points, with_commas = (len(parse_numbers(cells, comma=comma).odd) for comma in (False, True))
    return usual if with_points == with_commas else with_commas < with_points


def parse_times(cells: Sequence[str]) -> Numbers:
    """Read cells as times of the day, in hours."""
    found = [_hours(cell) for cell in cells]
    odd = [k for k, one in enumerate(found) if one is None]
    return Numbers(np.array([nan if one is None else one for one in found]), odd)


def _hours(cell: str) -> float | None:
    match = _CLOCK.fullmatch(cell)
    if match is None:
        return nan if cell.lower() in UNKNOWN else None
    hour, minute, second = int(match[1]), int(match[2]), float((match[3] or "0").replace(",", "."))
    if match[4]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (match[4].lower() == "p")
    return hour + minute / 60 + second / 3600 if hour < 24 and minute < 60 and second < 61 else None


def are_flags(cells: Sequence[str]) -> bool:
    """Whether cells are yes and no, or another such pair, both of them."""
    return {cell.lower() for cell in cells} in [set(pair) for pair in _FLAGS]


def parse_flags(cells: Sequence[str]) -> Numbers:
    """Read cells as 1 for yes and 0 for no."""
    known = {word: value for pair in _FLAGS for word, value in zip(pair, (1.0, 0.0))}
    known |= {"1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0} | dict.fromkeys(UNKNOWN, nan)
    values = [known.get(cell.lower()) for cell in cells]
    odd = [k for k, one in enumerate(values) if one is None]
    return Numbers(np.array([nan if one is None else one for one in values]), odd)
