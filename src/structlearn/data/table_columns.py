"""Columns of a table as they are read: numbers or text, whichever their cells are."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from itertools import compress
from math import nan
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from structlearn.core.wording import quoted
from structlearn.data.cells import MISSING, CellTable
from structlearn.storage.errors import DataError

#: Numbers of which some may be missing, text, or numbers none of which may be.
Kind: TypeAlias = Literal["number", "text", "strict"]
#: A column of so many different numbers is one of numbers: how they were spelled is forgotten.
MANY_LEVELS = 1000
#: Among so many numbers a cell that is none is a mistake; among fewer it makes text of the column.
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
    """

    def __init__(self, name: str, table: CellTable, kind: Kind | None) -> None:
        self.name, self.table, self.kind = name, table, kind
        self._levels: dict[str, int] = {}
        self._codes = array("q")
        self._numbers: array[float] | None = None
        self._try_from = MANY_LEVELS
        self._missing = frozenset() if kind == "strict" else MISSING

    def extend(self, cells: Sequence[str], places: Sequence[int]) -> None:
        """Take some more cells, and their rows' places."""
        if self._numbers is not None:
            self._check_signs(cells, places)
            self._numbers.extend(self._parsed(cells, places))
            return
        levels = self._levels
        self._codes.extend([levels.setdefault(cell, len(levels)) for cell in cells])
        if len(levels) > self._try_from and self.kind != "text":
            self._try_numbers()

    def _try_numbers(self) -> None:
        """Keep numbers in place of levels, if all are."""
        try:
            values = np.array(
                self._parsed_quickly(list(self._levels)) or list(map(self._number, self._levels))
            )
        except ValueError:
            self._try_from = 10 * len(self._levels)
            return
        self._numbers = array("d", values[np.frombuffer(self._codes, dtype=np.int64)].tobytes())
        self._levels, self._codes = {}, array("q")

    def _parsed(self, cells: Sequence[str], places: Sequence[int]) -> list[float]:
        quickly = self._parsed_quickly(cells)
        if quickly is not None:
            return quickly
        try:
            return [self._number(cell) for cell in cells]
        except ValueError:
            wrong = next(k for k, cell in enumerate(cells) if self._problem(cell))
            raise self._no_number(places[wrong], cells[wrong]) from None

    def _parsed_quickly(self, cells: Sequence[str]) -> list[float] | None:
        """The numbers, where all are spelled as Python spells them; None where each must be looked at."""
        whole = "".join(cells)
        if self.table.decimal_comma or "_" in whole or not whole.isascii():
            return None
        missing = self._missing
        try:
            found = [nan if cell in missing else float(cell) for cell in cells]
        except ValueError:
            return None
        odd = np.flatnonzero(~np.isfinite(found)).tolist()
        return found if all(cells[k] in missing for k in odd) else None

    def _number(self, cell: str) -> float:
        return nan if cell in self._missing else self.table.number(cell)

    def _problem(self, cell: str) -> str | None:
        return None if cell in self._missing else self.table.problem(cell)

    def _no_number(self, place: int, cell: str) -> DataError:
        advice = {
            None: f"; leave the cell empty if unknown, or take the column as text (text={self.name!r})",
            "number": "; leave the cell empty if unknown",
        }.get(self.kind, "")
        return self.table.wrong(place, f"column {quoted(self.name)} {self._problem(cell)}{advice}.")

    def _check_signs(self, cells: Sequence[str], places: Sequence[int]) -> None:
        """DataError for a decimal point beside decimal commas: 1.234 may be either number."""
        if not self.table.decimal_comma:
            return
        points = [place for cell, place in zip(cells, places) if "." in cell and "," not in cell]
        if points and any("," in cell for cell in cells):
            message = (
                f"column {quoted(self.name)} has numbers with a decimal comma and with a point; use one."
            )
            raise self.table.wrong(points[0], message)

    def finished(self, places: Sequence[int]) -> TableColumn:
        """The column, of rows at these places."""
        if self._numbers is not None:
            return TableColumn(self.name, np.frombuffer(self._numbers))
        codes, levels = np.array(self._codes, dtype=np.int64), list(self._levels)
        first = dict(zip(levels, self._first_places(codes, places)))
        if self.kind == "text" or (self.kind is None and self._is_text(codes, levels, first)):
            values = np.array([None if cell in MISSING else cell for cell in levels], dtype=object)
        else:
            rows = [first[cell] for cell in levels]
            self._check_signs(levels, rows)
            values = np.array(self._parsed(levels, rows), dtype=np.float64)
        return TableColumn(self.name, values[codes])

    @staticmethod
    def _first_places(codes: np.ndarray, places: Sequence[int]) -> list[int]:
        _, rows = np.unique(codes, return_index=True)
        return [places[row] for row in rows.tolist()]

    def _is_text(self, codes: np.ndarray, levels: list[str], first: dict[str, int]) -> bool:
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
            raise self._no_number(first[levels[wrong]], levels[wrong])
        self._check_text(list(compress(levels, known)), first)
        return True

    def _check_text(self, levels: list[str], first: dict[str, int]) -> None:
        """DataError for text that is none: dates, and numbers with something around them."""
        self._refuse(
            DATE.fullmatch,
            levels,
            first,
            "dates or times",
            "write numbers (a year, days since one day) or words (a month)",
        )
        self._refuse(
            ADORNED.fullmatch, levels, first, "numbers with signs around them", "write plain numbers (1234.5)"
        )

    def _refuse(
        self, looks: Callable[[str], object], levels: list[str], first: dict[str, int], what: str, advice: str
    ) -> None:
        if all(map(looks, levels)):
            raise self.table.wrong(
                first[levels[0]],
                f"column {quoted(self.name)} holds {what}, such as {quoted(levels[0])}: {advice}, leave the "
                f"column out (ignore={self.name!r}), or take it as text (text={self.name!r}).",
            )
