"""Columns of cells below a header, from CSV and from Parquet."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import chain, islice
from math import isfinite
from typing import NamedTuple

import numpy as np

from structlearn.core.wording import count_of, listed, quoted
from structlearn.data.scalars import number_problem, parse_number
from structlearn.data.text import BINARY, open_pieces
from structlearn.storage.errors import DataError, StrPath

#: The place of a row in its file, and its cells.
Rows = Iterator[tuple[int, list[str]]]
_ROWS_AT_ONCE = 1024
#: From how many bytes on compiled code saves more time than its first use takes.
_PAYS = 1 << 23
#: What may stand between two cells.
DELIMITERS = (",", "\t", ";")
#: Cells that say that a value is not known.
MISSING = frozenset({"", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null"})
#: A number with a decimal comma, perhaps with points between its thousands.
_WITH_COMMA = re.compile(r"[+-]?(?:[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+),[0-9]+(?:[eE][+-]?[0-9]+)?")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


class CellBlock(NamedTuple):
    """Some rows: their places in the file, and their cells, column by column, perhaps with blanks around."""

    places: Sequence[int]
    columns: Sequence[Sequence[str]]

    def column(self, j: int) -> Sequence[str]:
        """The cells of a column."""
        return self.columns[j]

    def numbers(self, j: int, *, gaps: bool) -> np.ndarray | None:
        """The numbers of a column, where they are to be had without its cells; NaN for empty ones."""
        return None


class PlainBlock(NamedTuple):
    """The same of ASCII text without quotes: its bytes, and where each cell ends, row by row."""

    places: Sequence[int]
    text: str
    raw: np.ndarray
    ends: np.ndarray
    n_columns: int

    def column(self, j: int) -> Sequence[str]:
        """The cells of a column."""
        ends = self.ends.reshape(-1, self.n_columns)
        starts = 1 + (ends[:, j - 1] if j else np.append(-1, ends[:-1, -1]))
        return [self.text[start:end] for start, end in zip(starts.tolist(), ends[:, j].tolist())]

    def numbers(self, j: int, *, gaps: bool) -> np.ndarray | None:
        """The numbers of a column, NaN for empty cells if `gaps`; None if a cell may be something else."""
        from structlearn.data.number_cells import column_numbers

        return column_numbers(self.raw, self.ends, j, self.n_columns, gaps=gaps)


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
    blocks: Iterable[CellBlock | PlainBlock]
    decimal_comma: bool = False
    text: frozenset[str] = frozenset()
    noun: str = "line"

    def wrong(self, place: int, message: str) -> DataError:
        """The error of one row."""
        return DataError(f"{os.fspath(self.path)}, {self.noun} {place}: {message}")

    def missing(self, role: str, names: list[str]) -> DataError:
        """The error of columns that are not there."""
        what = f"the {role} {quoted(names[0])} is" if len(names) == 1 else f"the {role}s {listed(names)} are"
        return self.wrong(1, f"{what} missing; the header has {listed(self.header)}.")

    def spelled(self, cell: str) -> str:
        """A cell as a number is spelled elsewhere: with a decimal point."""
        if self.decimal_comma and _WITH_COMMA.fullmatch(cell):
            return cell.replace(".", "").replace(",", ".")
        return cell

    def number(self, cell: str) -> float:
        """The finite number in a cell; ValueError for anything else."""
        found = parse_number(self.spelled(cell))
        if not isfinite(found):
            raise ValueError("not finite")
        return found

    def problem(self, cell: str) -> str | None:
        """Why a cell is no finite number, as the end of a sentence; None if it is one."""
        return number_problem(self.spelled(cell))


def open_cells(path: StrPath) -> CellTable:
    """The cells of a file: Parquet by its name (.parquet), else CSV; DataError for what is no table."""
    if os.fspath(path).lower().endswith(".parquet"):
        from structlearn.data.parquet import open_parquet

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
            raise DataError.at(path, 1, f"two columns are named {quoted(name)}; rename one of them.")
        known.add(name)
    return header


# ---- CSV -------------------------------------------------------------------------------------------


def _open_csv(path: StrPath) -> CellTable:
    pieces = open_pieces(path)
    start = next(pieces, "")
    if not start:
        raise DataError(f"{os.fspath(path)} is empty.")
    first, _, _ = start.partition("\n")
    if not first.strip():
        raise DataError.at(path, 1, "the header is empty.")
    if "\0" in first:
        raise DataError(f"{os.fspath(path)} {BINARY}")
    delimiter = _delimiter(first)
    _, header = next(_split(path, StringIO(start, newline="\n"), delimiter))
    checked = checked_header(path, [name.strip() for name in header])
    n_lines = 1 + sum(name.count("\n") for name in header)
    rest = start.split("\n", n_lines)[n_lines:]
    blocks = _blocks(path, chain(rest, pieces), delimiter, len(header), n_lines + 1)
    return CellTable(path, checked, blocks, delimiter == ";")


def _delimiter(header: str) -> str:
    """What stands most often between the names of the header, outside quotes."""
    bare = _QUOTED.sub("", header)
    return max(DELIMITERS, key=bare.count)


def _blocks(
    path: StrPath, pieces: Iterator[str], delimiter: str, length: int, line: int
) -> Iterator[CellBlock | PlainBlock]:
    """The rows of pieces of text, which begin at a line; DataError for one not as long as the header."""
    compiled = delimiter != ";" and os.path.getsize(path) >= _PAYS  # between semicolons are decimal commas
    for piece in pieces:
        if '"' in piece or "\r" in piece:  # from here on by the csv module, which takes its time
            lines = chain.from_iterable(StringIO(one, newline="\n") for one in chain([piece], pieces))
            yield from _of_rows(_as_long(path, _split(path, lines, delimiter, line), length))
            return
        bare = piece.removesuffix("\n")
        plain = bare.split("\n") if piece else []
        places = range(line, line + len(plain))
        if length == 1 or {one.count(delimiter) for one in plain} != {length - 1}:
            rows = ((place, one.split(delimiter)) for place, one in zip(places, plain) if one)
            yield from _of_rows(_as_long(path, rows, length))
        elif compiled and piece.isascii():
            raw = np.frombuffer(f"{bare}\n".encode(), dtype=np.uint8)
            ends = np.flatnonzero((raw == ord(delimiter)) | (raw == ord("\n")))
            yield PlainBlock(places, piece, raw, ends, length)
        else:
            cells = bare.replace("\n", delimiter).split(delimiter)
            yield CellBlock(places, [cells[column::length] for column in range(length)])
        line += len(plain)


def _split(path: StrPath, lines: Iterable[str], delimiter: str, line: int = 1) -> Rows:
    """The line number and the cells of each row that is not empty; the first line has a number."""
    # strict: a quote that is never closed is an error, instead of one cell that holds the rest of the file.
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=delimiter != "\t")
    start = line
    try:
        for cells in reader:
            if cells:
                yield start, cells
            start = line + reader.line_num
    except csv.Error as error:
        raise DataError.at(path, start, f"the row cannot be split into cells ({error}).") from error


def _as_long(path: StrPath, rows: Rows, length: int) -> Rows:
    """The rows that are no lines of blanks; DataError for one that is not as long as the header."""
    for line, cells in rows:
        if len(cells) == length:
            yield line, cells
        elif len(cells) > 1 or cells[0].strip():
            there = f"{count_of(len(cells), 'cell')}, but the header has {count_of(length, 'column')}."
            raise DataError.at(path, line, there)


def _of_rows(rows: Rows) -> Iterator[CellBlock]:
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        places, cells = zip(*some)
        yield CellBlock(places, list(zip(*cells)))
