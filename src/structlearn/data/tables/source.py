"""A file that is a table: its header, and its columns, all at once or some rows at a time."""

from __future__ import annotations

import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import IO

from structlearn.core.registry import nearest
from structlearn.core.sentences import Statement
from structlearn.core.wording import list_names, quote
from structlearn.data.compression import ending_of
from structlearn.data.tables.csv_columns import read_columns
from structlearn.data.tables.rows import open_rows
from structlearn.data.text import check_there, open_bytes
from structlearn.storage.errors import DataError, StrPath
from structlearn.tables.frame import Frame

#: Rows of a piece.
PIECE = 1 << 16
#: CSV files of fewer bytes are read in plain Python: pyarrow takes longer to be imported.
ARROW_FROM = 1 << 21


class TableSource(ABC):
    """A file that is a table.

    path : the file
    header : names of the columns, all different
    decimal_comma : whether numbers may be spelled 3,14
    noun : what the place of a row is
    """

    path: StrPath
    header: list[str]
    decimal_comma = False
    noun = "line"

    @abstractmethod
    def read(self, names: Sequence[str], verbatim: Collection[str] = ()) -> Frame:
        """Return some columns; cells of those in `verbatim` are kept as they are, but for blanks around."""

    @abstractmethod
    def pieces(
        self, names: Sequence[str], numbers: Collection[str], verbatim: Collection[str] = ()
    ) -> Iterator[Frame]:
        """Yield some columns, some rows at a time; those that are not in `numbers` are text."""

    @abstractmethod
    def place(self, row: int) -> int:
        """Return the place of a row in the file."""

    @abstractmethod
    def cell(self, row: int, name: str) -> str:
        """Return a cell as the file has it."""

    def wrong(self, row: int | None, message: str) -> DataError:
        """Return the error of one row; None is the header."""
        place = 1 if row is None else self.place(row)
        where = f"{os.fspath(self.path)}, {self.noun} {place}"
        return DataError(Statement("{where}: {message}", where=where, message=message))

    def missing(self, role: str, names: Sequence[str]) -> DataError:
        """Return the error of columns that are not there."""
        what = (
            f"the {role} {quote(names[0])} is" if len(names) == 1 else f"the {role}s {list_names(names)} are"
        )
        near = [close for name in names if (close := nearest(name, self.header)) is not None]
        advice = f" Did you mean {list_names(map(quote, near))}?" if near else ""
        return self.wrong(None, f"{what} missing; the header has {list_names(self.header)}.{advice}")


def open_table(path: StrPath) -> TableSource:
    """Open a table: Parquet by its name (.parquet), else CSV; DataError for what is none."""
    if os.fspath(path).lower().endswith(".parquet"):
        from structlearn.data.tables.parquet import ParquetSource

        return ParquetSource(path)
    return CsvSource(path)


class CsvSource(TableSource):
    """A CSV file, plain, .gz or .zst."""

    def __init__(self, path: StrPath) -> None:
        check_there(path)
        self.path = path
        self._copy: IO[bytes] | None = None if os.path.isfile(path) else _spool(path)
        self.file: StrPath = path if self._copy is None else self._copy.name
        self.delimiter, self.header, rows = open_rows(self.file, path)
        rows.close()  # type: ignore[attr-defined]
        self.decimal_comma = self.delimiter == ";"

    def read(self, names: Sequence[str], verbatim: Collection[str] = ()) -> Frame:
        if self._is_large():
            from structlearn.data.tables.arrow_csv import read_fast

            found = read_fast(self, names, verbatim)
            if found is not None:
                return found
        columns = read_columns(self.rows, self.header, names, verbatim)
        return Frame(list(names), columns, self.decimal_comma)

    def pieces(
        self, names: Sequence[str], numbers: Collection[str], verbatim: Collection[str] = ()
    ) -> Iterator[Frame]:
        if self._is_large():
            from structlearn.data.tables.arrow_csv import fast_pieces

            found = fast_pieces(self, names, numbers, verbatim)
            if found is not None:
                yield from found
                return
        yield from self.plain_pieces(names, verbatim)

    def plain_pieces(
        self, names: Sequence[str], verbatim: Collection[str] = (), first: int = 0
    ) -> Iterator[Frame]:
        """Yield some columns, some rows at a time, by the plain reader, from a row on."""
        rows = islice(self.rows(), first, None)
        while some := list(islice(rows, PIECE)):
            columns = read_columns(some.__iter__, self.header, names, verbatim)
            yield Frame(list(names), columns, self.decimal_comma)

    def place(self, row: int) -> int:
        return self._row(row)[0]

    def cell(self, row: int, name: str) -> str:
        return self._row(row)[1][self.header.index(name)].strip()

    def _row(self, row: int) -> tuple[int, list[str]]:
        return next(islice(self.rows(), row, None))

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Return all rows, by the plain reader: their lines, and their cells."""
        return open_rows(self.file, self.path)[2]

    def _is_large(self) -> bool:
        return os.path.getsize(self.file) >= ARROW_FROM


def _spool(path: StrPath) -> IO[bytes]:
    """Return a copy of what can be read only once; it is removed with the object."""
    ending = ending_of(path) or ".csv"
    copy = tempfile.NamedTemporaryFile(suffix=ending)  # noqa: SIM115
    with open_bytes(path) as stream:
        shutil.copyfileobj(stream, copy)
    copy.flush()
    return copy
