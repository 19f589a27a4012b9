"""Columns of cells below a header, from CSV and from Parquet."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import isfinite
from typing import NamedTuple

from structlearn.core.sentences import Statement
from structlearn.core.wording import count_of, list_names, quote
from structlearn.data.file_formats import DELIMITERS
from structlearn.data.scalars import number_problem, parse_number
from structlearn.data.text import BINARY, open_text
from structlearn.storage.errors import DataError, StrPath

#: The place of a row in its file, and its cells.
Rows = Iterator[tuple[int, list[str]]]
_ROWS_AT_ONCE = 1024
#: What may stand between two cells.

#: Cells that say that a value is not known.
MISSING = frozenset({"", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null"})
#: A number with a decimal comma, perhaps with points between its thousands.
_WITH_COMMA = re.compile(r"[+-]?(?:[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+),[0-9]+(?:[eE][+-]?[0-9]+)?")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


class CellBlock(NamedTuple):
    """Some rows: their places in the file, and their cells, column by column, perhaps with blanks around."""

    places: Sequence[int]
    columns: Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class CellTable:
    """A table as it is in its file.

    path : the file
    header : names of the columns, all different
    blocks : the rows, some at a time, each as long as the header
    decimal_comma : whether numbers may be spelled 3,14
    text : columns that are text by their type
    noun : what a place is
    """

    path: StrPath
    header: list[str]
    blocks: Iterable[CellBlock]
    decimal_comma: bool = False
    text: frozenset[str] = frozenset()
    noun: str = "line"

    def wrong(self, place: int, message: str) -> DataError:
        """Return the error of one row."""
        where = f"{os.fspath(self.path)}, {self.noun} {place}"
        return DataError(Statement("{where}: {message}", where=where, message=message))

    def missing(self, role: str, names: list[str]) -> DataError:
        """Return the error of columns that are not there."""
        what = (
            f"the {role} {quote(names[0])} is" if len(names) == 1 else f"the {role}s {list_names(names)} are"
        )
        return self.wrong(1, f"{what} missing; the header has {list_names(self.header)}.")

    def with_decimal_point(self, cell: str) -> str:
        """Return a cell as a number is spelled elsewhere: with a decimal point."""
        if self.decimal_comma and _WITH_COMMA.fullmatch(cell):
            return cell.replace(".", "").replace(",", ".")
        return cell

    def number(self, cell: str) -> float:
        """Return the finite number in a cell; ValueError for anything else."""
        found = parse_number(self.with_decimal_point(cell))
        if not isfinite(found):
            raise ValueError("not finite")
        return found

    def problem(self, cell: str) -> str | None:
        """Return why a cell is not a finite number, as the end of a sentence; None if it is one."""
        return number_problem(self.with_decimal_point(cell))


def open_cells(path: StrPath) -> CellTable:
    """Return the cells of a file: Parquet by its name (.parquet), else CSV.

    DataError for what is no table.
    """
    if os.fspath(path).lower().endswith(".parquet"):
        from structlearn.data.tables.parquet import open_parquet

        return open_parquet(path)
    return _open_csv(path)


def checked_header(path: StrPath, header: list[str]) -> list[str]:
    """DataError for names that are missing or repeated."""
    known: set[str] = set()
    for place, name in enumerate(header):
        if not name:
            advice = "name it, or delete it (pandas writes row numbers so: use to_csv(index=False))"
            raise DataError.at(path, 1, f"column {place + 1} has no name; {advice}.")
        if name in known:
            raise DataError.at(path, 1, f"two columns are named {quote(name)}; rename one of them.")
        known.add(name)
    return header


# ---- CSV -------------------------------------------------------------------------------------------


def _open_csv(path: StrPath) -> CellTable:
    lines = open_text(path)
    _, first = next(lines, (0, None))
    if first is None:
        raise DataError(f"{os.fspath(path)} is empty.")
    if not first.strip():
        raise DataError.at(path, 1, "the header is empty.")
    if "\0" in first:
        raise DataError(f"{os.fspath(path)} {BINARY}")
    delimiter = _delimiter(first)
    rows = _split(path, chain([first], (line for _, line in lines)), delimiter)
    _, header = next(rows)
    checked = checked_header(path, [name.strip() for name in header])
    return CellTable(path, checked, _blocks(_as_long(path, rows, len(checked))), delimiter == ";")


def _delimiter(header: str) -> str:
    """Return what stands most often between the names of the header, outside quotes."""
    bare = _QUOTED.sub("", header)
    return max(DELIMITERS, key=bare.count)


def _split(path: StrPath, lines: Iterator[str], delimiter: str) -> Rows:
    """Yield the line number and the cells of each row that is not empty; the header is the first."""
    # strict: a quote that is never closed is an error, instead of one cell that holds the rest of the file.
    text = (f"{line}\n" for line in lines)
    reader = csv.reader(text, delimiter=delimiter, strict=True, skipinitialspace=delimiter != "\t")
    start = 1
    try:
        for cells in reader:
            if cells:
                yield start, cells
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError.at(path, start, f"the row cannot be split into cells ({error}).") from error


def _as_long(path: StrPath, rows: Rows, length: int) -> Rows:
    """Yield the rows that are no lines of blanks; DataError for one that is not as long as the header."""
    for line, cells in rows:
        if len(cells) == length:
            yield line, cells
        elif len(cells) > 1 or cells[0].strip():
            there = f"{count_of(len(cells), 'cell')}, but the header has {count_of(length, 'column')}."
            raise DataError.at(path, line, there)


def _blocks(rows: Rows) -> Iterator[CellBlock]:
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        places, cells = zip(*some)
        yield CellBlock(places, list(zip(*cells)))
