"""Parquet files as tables, where pyarrow is installed."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from structlearn.core.wording import quote
from structlearn.data.tables.csv_columns import verbatim_column
from structlearn.data.tables.rows import checked_header
from structlearn.data.tables.source import PIECE, TableSource
from structlearn.data.text import check_there
from structlearn.storage.errors import DataError, StrPath
from structlearn.tables.frame import Column, Frame, TextColumn, code_cells


class ParquetSource(TableSource):
    """A Parquet file: numbers are numbers, text is text, whatever it holds; null is missing."""

    noun = "row"

    def __init__(self, path: StrPath) -> None:
        check_there(path)
        self.path = path
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import ParquetFile
        except ImportError:
            raise DataError(
                f"{os.fspath(path)} is a Parquet file, which needs pyarrow: pip install pyarrow (or "
                "structlearn[tables]), or write the table as CSV."
            ) from None
        try:
            self._file = ParquetFile(os.fspath(path))
        except (ArrowException, OSError, ValueError) as error:
            raise DataError(f"{os.fspath(path)} is no Parquet file ({error}).") from error
        self.header = checked_header(path, list(self._file.schema_arrow.names))
        if not self.header:
            raise DataError(f"{os.fspath(path)} has no columns.")

    def read(self, names: Sequence[str], verbatim: Collection[str] = ()) -> Frame:
        self._check(names)
        with self._reading():
            table = self._file.read(columns=list(names))
            return self._frame(table, names, verbatim)

    def pieces(
        self, names: Sequence[str], numbers: Collection[str], verbatim: Collection[str] = ()
    ) -> Iterator[Frame]:
        self._check(names)
        with self._reading():
            for batch in self._file.iter_batches(PIECE, columns=list(names)):
                yield self._frame(batch, names, verbatim)

    def place(self, row: int) -> int:
        return row + 1

    def cell(self, row: int, name: str) -> str:
        value = self._file.read(columns=[name]).column(name)[row].as_py()
        return "" if value is None else str(value)

    def _frame(self, table: Any, names: Sequence[str], verbatim: Collection[str]) -> Frame:
        return Frame(list(names), [_column(table.column(name), name in verbatim) for name in names])

    @contextmanager
    def _reading(self) -> Iterator[None]:
        from pyarrow import ArrowException

        try:
            yield
        except (ArrowException, OSError) as error:
            raise DataError(f"{os.fspath(self.path)} cannot be read further ({error}).") from error

    def _check(self, names: Sequence[str]) -> None:
        """Raise DataError for types that are no single values."""
        from pyarrow import types

        for name in names:
            kind = self._file.schema_arrow.field(name).type
            kind = kind.value_type if types.is_dictionary(kind) else kind
            if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
                raise DataError(
                    f"{os.fspath(self.path)}: column {quote(name)} holds {kind}, which is not a single value."
                )


def _column(column: Any, as_is: bool) -> Column:
    from pyarrow import float64, types

    kind = column.type
    if not as_is and (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        return column.cast(float64(), safe=False).to_numpy(zero_copy_only=False).astype(np.float64)
    if not as_is and types.is_duration(kind):
        return np.array(
            [np.nan if one is None else one.total_seconds() / 86400 for one in column.to_pylist()]
        )
    encoded = column if types.is_dictionary(kind) else column.dictionary_encode()
    whole = encoded.combine_chunks() if hasattr(encoded, "combine_chunks") else encoded
    levels = ["" if one is None else str(one) for one in whole.dictionary.to_pylist()]
    codes = whole.indices.fill_null(len(levels)).to_numpy(zero_copy_only=False).astype(np.int64)
    if as_is:
        return verbatim_column(codes, [*levels, ""])
    spelled = code_cells([*levels, None], is_text=True)
    return TextColumn(spelled.codes[codes], spelled.levels, is_text=True)
