"""How the cells of a column are read: as numbers, times, flags, dates, categories or free text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, get_type_hints

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.registry import Registry
from structlearn.core.sentences import Statement
from structlearn.core.wording import list_names, quote
from structlearn.tables.dates import parse_dates
from structlearn.tables.frame import Column, TextColumn, code_cells
from structlearn.tables.spelling import Numbers, parse_flags, parse_numbers, parse_times
from structlearn.tables.units import strip_unit


@dataclass(frozen=True)
class ColumnReading:
    """How a column is read.

    kind : the name of an entry of `KINDS`
    comma : whether numbers have a decimal comma; None if nothing tells, and a file's own way holds
    day_first : whether the day comes first in 1/2/2020
    lenient : whether cells that cannot be read are missing, rather than an error
    unit : what may stand behind numbers
    """

    kind: str
    comma: bool | None = None
    day_first: bool = False
    lenient: bool = False
    unit: str = ""


#: The fields of a reading in files, where older ones lack a unit.
STORED_READING = {
    "unit?" if name == "unit" else name: hint for name, hint in get_type_hints(ColumnReading).items()
}


@dataclass(frozen=True)
class Kind:
    """A kind of columns.

    name : its name
    plural : the same of several columns
    noun : what a cell holds, after "not"
    parse : from levels to values; None for text
    becomes : the features that it becomes, in words
    map : where the class is that makes them
    """

    name: str
    plural: str
    noun: str
    parse: Callable[[list[str], ColumnReading], tuple[Array, list[int]]] | None
    becomes: str
    map: str


def _as_numbers(cells: list[str], reading: ColumnReading) -> tuple[Array, list[int]]:
    cells = strip_unit(cells, reading.unit) if reading.unit else cells
    found = parse_numbers(cells, comma=bool(reading.comma))
    return found.values, found.odd


def _as_dates(cells: list[str], reading: ColumnReading) -> tuple[Array, list[int]]:
    found = parse_dates(cells, day_first=reading.day_first)
    return found.values, found.odd


def _as(
    parse: Callable[[list[str]], Numbers],
) -> Callable[[list[str], ColumnReading], tuple[Array, list[int]]]:
    def parsed(cells: list[str], reading: ColumnReading) -> tuple[Array, list[int]]:
        found = parse(cells)
        return found.values, found.odd

    return parsed


_NUMBER = "structlearn.tables.maps:NumberMap"
#: All kinds of columns.
KINDS: Registry[Kind] = Registry(
    "kind of column",
    [
        Kind("number", "numbers", "a number", _as_numbers, "itself, standardised", _NUMBER),
        Kind(
            "time",
            "times",
            "a time of the day",
            _as(parse_times),
            "hours since midnight, standardised",
            _NUMBER,
        ),
        Kind("flag", "flags", "yes or no", _as(parse_flags), "1 for yes, 0 for no", _NUMBER),
        Kind(
            "date",
            "dates",
            "a date",
            _as_dates,
            "days since the first, year, month, weekday and hour",
            "structlearn.tables.date_map:DateMap",
        ),
        Kind(
            "category",
            "categories",
            "a category",
            None,
            "zeros and ones, one for each level",
            "structlearn.tables.maps:CategoryMap",
        ),
        Kind(
            "list",
            "lists",
            "a list",
            None,
            "zeros and ones, one for each item",
            "structlearn.tables.list_map:ListMap",
        ),
        Kind(
            "text",
            "texts",
            "text",
            None,
            "weights of its words (tf-idf)",
            "structlearn.tables.text_map:TextMap",
        ),
    ],
)


class ColumnProblem(NamedTuple):
    """What keeps a column from being read.

    name : the column
    row : the first row that it is found in
    what : the end of a sentence that begins with the column
    settled_by : parameters that settle it, by naming the column
    """

    name: str
    row: int
    what: str
    settled_by: tuple[str, ...] = ("number", "category", "ignore")


class UnreadableError(ValueError):
    """A column that cannot be read as it must be."""

    def __init__(self, problem: ColumnProblem) -> None:
        super().__init__(f"Column {quote(problem.name)} {problem.what} (row {problem.row}).")
        self.problem = problem


def read_column(name: str, column: Column, reading: ColumnReading, *, comma: bool = False) -> Column:
    """Return the floats of a column, or its text; UnreadableError for cells that are odd.

    `comma` says that this source writes 3,14.
    """
    kind = KINDS[reading.kind]
    if kind.parse is None:
        return column if isinstance(column, TextColumn) else spell_numbers(column)
    if not isinstance(column, TextColumn):
        if reading.kind in ("number", "time") or not np.isfinite(column).any():
            return column
        column = spell_numbers(column)
    if reading.comma is None:
        reading = replace(reading, comma=comma)
    values, odd = kind.parse(column.levels.tolist(), reading)
    there = column.counts > 0
    wrong = [k for k in odd if there[k]]
    if wrong and not reading.lenient:
        raise UnreadableError(odd_cell(name, column, wrong[0], f"is not {kind.noun}"))
    return column.spread(values)


def odd_cell(name: str, column: TextColumn, level: int, why: str, **others: tuple[str, ...]) -> ColumnProblem:
    """Return the problem of a level that does not fit its column."""
    row = int(np.argmax(column.codes == level))
    return ColumnProblem(name, row, f"holds {quote(column.levels[level])}, which {why}", **others)


def spell_numbers(column: Array) -> TextColumn:
    """Return numbers as text: whole ones without a point."""
    values, codes = np.unique(column, return_inverse=True)
    spelled = [
        None if value != value else str(int(value)) if value == int(value) else repr(value)
        for value in values.tolist()
    ]
    first = code_cells(spelled, is_text=True)
    return TextColumn(first.codes[codes], first.levels, is_text=True)


def tell_problems(problems: list[ColumnProblem], place: Callable[[int], str], where: str) -> Statement:
    """Return one sentence on all columns that cannot be read, with the parameters that settle each.

    place : from a row to what it is called, such as "line 7"
    where : the table
    """
    if len(problems) == 1:
        (one,) = problems
        begin = f"{where}{place(one.row)}: column {quote(one.name)} {one.what}"
        return Statement(f"{{begin}}; {_advice(one.settled_by)}.", begin=begin, **_names(problems))
    shown = "; ".join(f"{quote(one.name, 30)} {one.what} ({place(one.row)})" for one in problems[:_SHOWN])
    rest = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    begin = f"{where}{len(problems)} columns cannot be read: {shown}{rest}"
    common = [one for one in problems[0].settled_by if all(one in other.settled_by for other in problems)]
    return Statement(f"{{begin}}. For all of them: {_advice(common)}.", begin=begin, **_names(problems))


_SHOWN = 4
_SETTLED = {
    "number": "count such cells as missing ({number=})",
    "category": "take {columns} as categories ({category=})",
    "ignore": "leave {them} out ({ignore=})",
}


def _advice(settled_by: Iterable[str]) -> str:
    parts = [_SETTLED[one] for one in settled_by]
    return "correct the file, " + ", ".join(parts[:-1]) + (", or " if parts[:-1] else "or ") + parts[-1]


def _names(problems: list[ColumnProblem]) -> dict[str, object]:
    joined = ",".join(one.name for one in problems)
    columns, them = ("the column", "it") if len(problems) == 1 else ("the columns", "them")
    return {**dict.fromkeys(_SETTLED, joined), "columns": columns, "them": them}


def count_kinds(readings: Iterable[ColumnReading]) -> str:
    """Write how many columns there are of each kind: "2 numbers, 1 date"."""
    kinds = [one.kind for one in readings]
    counts = {name: kinds.count(name) for name in KINDS}
    return list_names(f"{n} {KINDS[name].plural if n > 1 else name}" for name, n in counts.items() if n)
