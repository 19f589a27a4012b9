"""CSV files row by row, in plain Python: any file that is one, and the place of every row."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from structlearn.core.wording import count_of, list_names, quote
from structlearn.data.file_formats import DELIMITERS
from structlearn.data.text import BINARY, open_text
from structlearn.storage.errors import DataError, StrPath

#: The line of a row in its file, and its cells.
Rows = Iterator[tuple[int, list[str]]]
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def open_rows(path: StrPath, name: StrPath) -> tuple[str, list[str], Rows]:
    """Return the delimiter of a file, its header, and its rows, each as long as the header.

    DataError for what is no table; `name` is what errors call the file.
    """
    lines = open_text(path)
    _, first = next(lines, (0, None))
    if first is None:
        raise DataError(f"{os.fspath(name)} is empty.")
    if not first.strip():
        raise DataError.at(name, 1, "the header is empty.")
    if "\0" in first:
        raise DataError(f"{os.fspath(name)} {BINARY}")
    delimiter = _delimiter(first)
    rows = _split(name, chain([first], _check_text(name, lines)), delimiter)
    _, header = next(rows)
    checked = checked_header(name, [one.strip() for one in header])
    return delimiter, checked, _as_long(name, rows, len(checked))


def checked_header(path: StrPath, header: list[str]) -> list[str]:
    """Return the names of columns; DataError for names that are repeated.

    A column without a name is called as pandas, which writes row numbers so, calls it.
    """
    if not any(header):
        raise DataError.at(path, 1, "no column has a name; write a line of names above the rows.")
    header = [name or unnamed_column(place) for place, name in enumerate(header)]
    several = [name for name, n in Counter(header).items() if n > 1]
    if len(several) == 1:
        raise DataError.at(path, 1, f"two columns are named {quote(several[0])}; rename one of them.")
    if several:
        named = list_names(map(quote, several))
        raise DataError.at(path, 1, f"several columns have the same name: {named}; rename them.")
    return header


def unnamed_column(place: int) -> str:
    """Return what a column without a name is called, by its place from 0."""
    return f"Unnamed: {place}"


def blocks(rows: Rows, size: int) -> Iterator[tuple[list[int], list[tuple[str, ...]]]]:
    """Yield rows, some at a time: their lines, and their cells column by column."""
    while some := list(islice(rows, size)):
        places, cells = zip(*some)
        yield list(places), list(zip(*cells))


def _delimiter(header: str) -> str:
    """Return what stands most often between the names of the header, outside quotes."""
    bare = _QUOTED.sub("", header)
    return max(DELIMITERS, key=bare.count)


def _check_text(path: StrPath, lines: Iterable[tuple[int, str]]) -> Iterator[str]:
    """Yield lines; DataError for one that holds a byte of 0, which no text has."""
    for number, line in lines:
        if "\0" in line:
            raise DataError.at(path, number, "the line holds a byte of 0; save the table as text again.")
        yield line


def _split(path: StrPath, lines: Iterable[str], delimiter: str) -> Rows:
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
