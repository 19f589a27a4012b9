"""Parquet files as columns of cells, where pyarrow is installed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from structlearn.core.wording import quote
from structlearn.data.tables.cells import CellBlock, CellTable, checked_header
from structlearn.data.text import check_there
from structlearn.storage.errors import DataError, StrPath

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile


def open_parquet(path: StrPath) -> CellTable:
    """Return the cells of a Parquet file.

    Numbers as they are spelled, text as it is, nothing where it is null.
    """
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
    return CellTable(path, header, _blocks(path, file), text=text, noun="row")


def _is_text(path: StrPath, name: str, kind: Any) -> bool:
    """Whether cells of a type are text; DataError for types that are no cells."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        raise DataError(f"{os.fspath(path)}: column {quote(name)} holds {kind}, which is not a single value.")
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _blocks(path: StrPath, file: ParquetFile) -> Iterator[CellBlock]:
    from pyarrow import ArrowException

    row = 1
    try:
        for batch in file.iter_batches():
            columns = [_spell(column.to_pylist()) for column in batch.columns]
            yield CellBlock(range(row, row + batch.num_rows), columns)
            row += batch.num_rows
    except (ArrowException, OSError) as error:
        raise DataError(
            f"{os.fspath(path)}, row {row}: the file cannot be read further ({error})."
        ) from error


def _spell(values: list[Any]) -> list[str]:
    return ["" if one is None else str(one) for one in values]
