"""Columns of a table as they are read: numbers or text, whichever their cells are."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from contextlib import suppress
from itertools import compress
from math import nan
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from structlearn.core.sentences import Statement
from structlearn.core.wording import quote
from structlearn.data.tables.cells import MISSING, CellTable
from structlearn.storage.errors import DataError

#: Numbers of which some may be missing, text, or numbers without missing ones.
Kind: TypeAlias = Literal["number", "text", "strict"]
#: A column of this many different numbers is one of numbers: their spelling is forgotten.
MANY_LEVELS = 1000
#: Among this many numbers per cell that is not one, such a cell is a mistake; else the column is text.
NUMBERS_TO_ONE = 9

_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?"
_ZONE = r"(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = (
    r"(?:\d{4}([-/.])(?:0?[1-9]|1[0-2])(?:\1(?:0?[1-9]|[12]\d|3[01]))?"
    r"|(?:0?[1-9]|[12]\d|3[01])([-/.])(?:0?[1-9]|[12]\d|3[01])\2(?:\d{4}|\d{2})"
    rf"|\d{{1,2}}[ -]{_MONTH}[ -,]*\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}})"
)
DATE = re.compile(rf"{_DATE}(?:[T ]{_TIME}{_ZONE})?|{_TIME}{_ZONE}", re.IGNORECASE | re.ASCII)
#: Numbers with a currency, a percent sign, or something between their thousands.
ADORNED = re.compile(
    r"[+-]?[$€£¥]? ?[+-]?(?:\d{1,3}(?:[,.' ]\d{3})+|\d+)(?:[.,]\d+)? ?(?:%|[$€£¥]|EUR|USD|GBP)?", re.ASCII
)
#: What looks like text but should not be: what it is, and what to do.
_NO_TEXT = {
    DATE: ("dates or times", "write numbers (a year, days since one day) or words (a month)"),
    ADORNED: ("numbers with signs around them", "write plain numbers (1234.5)"),
}


class TableColumn(NamedTuple):
    """A column that was read.

    name : its name
    values : floats, NaN where missing; or objects, text and None
    """

    name: str
    values: np.ndarray

    @property
    def is_text(self) -> bool:
        """Whether it is text."""
        return self.values.dtype.kind == "O"


class ColumnReader:
    """Collects the cells of a column, as levels, or as numbers where these are too many.

    kind : what the column must be; None where its cells are to tell
    places : those of all rows so far; whoever reads the table adds to them
    role : what errors call it
    """

    def __init__(
        self, name: str, table: CellTable, kind: Kind | None, places: Sequence[int], role: str = "column"
    ) -> None:
        self.name, self.table, self.kind, self._places = name, table, kind, places
        self._called = f"{role} {quote(name)}"
        self._levels: dict[str, int] = {}
        self._codes = array("q")
        self._numbers: array[float] | None = None
        self._try_from = MANY_LEVELS
        self._missing = frozenset() if kind == "strict" else MISSING
        self._has_comma, self._with_point = False, 0

    def extend(self, cells: Sequence[str]) -> None:
        """Take the cells of the last rows."""
        if self._numbers is not None:
            self._numbers.frombytes(self._parse(cells, self._places[-len(cells) :]).tobytes())
            return
        levels = self._levels
        self._codes.extend([levels.setdefault(cell, len(levels)) for cell in cells])
        if len(levels) > self._try_from and self.kind != "text":
            self._try_numbers()

    def _try_numbers(self) -> None:
        """Keep numbers in place of levels, if all are."""
        levels = list(self._levels)
        try:
            values = self._floats(levels)
        except ValueError:
            self._try_from = 10 * len(levels)
            return
        codes = np.frombuffer(self._codes, dtype=np.int64)
        self._check_signs(levels, self._first_places(codes))
        self._numbers = array("d", values[codes].tobytes())
        self._levels, self._codes = {}, array("q")

    def finish(self) -> TableColumn:
        """Return the column."""
        if self._numbers is not None:
            return TableColumn(self.name, np.frombuffer(self._numbers))
        codes, levels = np.frombuffer(self._codes, dtype=np.int64), [cell.strip() for cell in self._levels]
        places = self._first_places(codes)
        if self.kind == "text" or (self.kind is None and self._is_text(codes, levels, places)):
            values = np.array([None if cell in MISSING else cell for cell in levels], dtype=object)
        else:
            values = self._parse(levels, places)
        return TableColumn(self.name, values[codes])

    def _first_places(self, codes: np.ndarray) -> list[int]:
        """Return where each level is seen first."""
        _, rows = np.unique(codes, return_index=True)
        return [self._places[row] for row in rows.tolist()]

    # ---- numbers -----------------------------------------------------------------------------------

    def _parse(self, cells: Sequence[str], places: Sequence[int]) -> np.ndarray:
        """Return the numbers in cells, NaN where missing; DataError for what is neither."""
        try:
            found = self._floats(cells)
        except ValueError:
            wrong = next(k for k, cell in enumerate(cells) if self._problem(cell))
            raise self._no_number(places[wrong], cells[wrong]) from None
        self._check_signs(cells, places)
        return found

    def _floats(self, cells: Sequence[str]) -> np.ndarray:
        """Return the numbers in cells, NaN where missing; ValueError for what is neither."""
        whole = "".join(cells)
        if whole.isascii() and "_" not in whole:  # all else that float takes is a number
            with suppress(ValueError):
                found = np.array(self._as_python_spells(cells))
                odd = np.flatnonzero(~np.isfinite(found)).tolist()
                if all(cells[k].strip() in self._missing for k in odd):
                    return found
        return np.array([self._number(cell) for cell in cells])

    def _as_python_spells(self, cells: Sequence[str]) -> list[float]:
        try:
            return list(map(float, cells))
        except ValueError:
            return [nan if cell in self._missing else float(cell) for cell in cells]

    def _number(self, cell: str) -> float:
        cell = cell.strip()
        return nan if cell in self._missing else self.table.number(cell)

    def _problem(self, cell: str) -> str | None:
        cell = cell.strip()
        return None if cell in self._missing else self.table.problem(cell)

    def _no_number(self, place: int, cell: str) -> DataError:
        advice = {
            None: "; leave the cell empty if unknown, or take the column as text ({text=})",
            "number": "; leave the cell empty if unknown",
        }.get(self.kind, "")
        parts = {"called": self._called, "problem": self._problem(cell), "text": self.name}
        return self.table.wrong(place, Statement(f"{{called}} {{problem}}{advice}.", **parts))

    def _check_signs(self, cells: Sequence[str], places: Sequence[int]) -> None:
        """Raise DataError for a decimal point beside decimal commas, here or before: 1.234 is ambiguous."""
        if not self.table.decimal_comma:
            return
        points = (place for cell, place in zip(cells, places) if "." in cell and "," not in cell)
        self._with_point = self._with_point or next(points, 0)
        self._has_comma = self._has_comma or any("," in cell for cell in cells)
        if self._with_point and self._has_comma:
            message = f"{self._called} has numbers with a decimal comma and with a point; use one."
            raise self.table.wrong(self._with_point, message)

    # ---- text --------------------------------------------------------------------------------------

    def _is_text(self, codes: np.ndarray, levels: list[str], places: list[int]) -> bool:
        """Whether a column is text; DataError for what is neither text nor numbers."""
        problems = [self._problem(cell) for cell in levels]
        odd = [k for k, problem in enumerate(problems) if problem]
        if not odd:
            return False
        counts = np.bincount(codes)
        known = np.array([cell not in MISSING for cell in levels])
        n_text = counts[odd].sum()
        infinite = [k for k in odd if "not finite" in str(problems[k])]
        if infinite or counts[known].sum() - n_text >= NUMBERS_TO_ONE * n_text:
            wrong = (infinite or odd)[0]
            raise self._no_number(places[wrong], levels[wrong])
        self._check_text(list(compress(levels, known)), next(compress(places, known)))
        return True

    def _check_text(self, levels: list[str], place: int) -> None:
        """Raise DataError for text that should not be text: dates, and numbers with something around them."""
        for looks, (what, advice) in _NO_TEXT.items():
            if all(map(looks.fullmatch, levels)):
                raise self.table.wrong(
                    place,
                    Statement(
                        "{called} holds {what}, such as {level}: {advice}, leave the column out "
                        "({ignore=}), or "
                        "take it as text ({text=}).",
                        called=self._called,
                        what=what,
                        level=quote(levels[0]),
                        advice=advice,
                        ignore=self.name,
                        text=self.name,
                    ),
                )
