"""Parquet files as rows of cells, where pyarrow is installed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from structlearn.core.wording import quoted
from structlearn.data.cells import CellTable, Rows, checked_header
from structlearn.data.text import check_there
from structlearn.storage.errors import DataError, StrPath

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile


def open_parquet(path: StrPath) -> CellTable:
    """The cells of a Parquet file: numbers as they are spelled, text as it is, nothing where it is null."""
    check_there(path)
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise DataError(
            f"{os.fspath(path)} is a Parquet file, which needs pyarrow: pip install pyarrow (or "
            "structlearn[tables]), or write the table as CSV."
        ) from None
    try:
        file = ParquetFile(os.fspath(path))
    except (ArrowException, OSError, ValueError) as error:
        raise DataError(f"{os.fspath(path)} is no Parquet file ({error}).") from error
    header = checked_header(path, list(file.schema_arrow.names))
    if not header:
        raise DataError(f"{os.fspath(path)} has no columns.")
    text = frozenset(name for name in header if _is_text(path, name, file.schema_arrow.field(name).type))
    return CellTable(path, header, _rows(path, file), text=text, noun="row")


def _is_text(path: StrPath, name: str, kind: Any) -> bool:
    """Whether cells of a type are text; DataError for types that are no cells."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        raise DataError(f"{os.fspath(path)}: column {quoted(name)} holds {kind}, which is no single value.")
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _rows(path: StrPath, file: ParquetFile) -> Rows:
    from pyarrow import ArrowException

    row = 0
    try:
        for batch in file.iter_batches():
            columns = [column.to_pylist() for column in batch.columns]
            for cells in zip(*columns):
                row += 1
                yield row, ["" if cell is None else str(cell).strip() for cell in cells]
    except (ArrowException, OSError) as error:
        raise DataError(
            f"{os.fspath(path)}, row {row + 1}: the file cannot be read further ({error})."
        ) from error
