"""Numbers with a unit behind them, such as "86 m²" or "12km": one unit in a whole column."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: A number, and a unit of letters ("kg", "m²", "km/h") or degrees.
_WITH_UNIT = re.compile(r"(?P<number>.*\d)\s?(?P<unit>[^\W\d_]+(?:/[^\W\d_]+)?|°[CF]?)")


def common_unit(cells: Sequence[str]) -> str:
    """Return the unit of cells if at least half of them have one, and all of these the same; else ""."""
    units = [match["unit"] for cell in cells if (match := _WITH_UNIT.fullmatch(cell))]
    return units[0] if 2 * len(units) >= len(cells) and len(set(units)) == 1 else ""


def strip_unit(cells: Sequence[str], unit: str) -> list[str]:
    """Return cells without a unit behind their numbers."""
    return [
        match["number"] if (match := _WITH_UNIT.fullmatch(cell)) and match["unit"] == unit else cell
        for cell in cells
    ]
