"""CSV files by pyarrow's reader, where it is installed: many times as fast as plain Python.

It takes files that are as they should be. At the first doubt (a quote that is not closed, a row that is too
long, bytes that are no text) the plain reader takes over, which knows what to say and which line it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from structlearn.data.tables.csv_columns import column_of, plain_numbers, verbatim_column
from structlearn.data.text import open_bytes
from structlearn.tables.frame import MISSING, Column, Frame, merge_levels

if TYPE_CHECKING:
    from structlearn.data.tables.source import CsvSource

#: Bytes that are looked through, and bytes that are parsed at a time.
_LOOK, _BLOCK = 1 << 24, 1 << 24
#: Rows that tell which columns are text.
_FIRST = 100


class _DoubtError(Exception):
    """What only the plain reader should read."""


def read_fast(source: CsvSource, names: Sequence[str], verbatim: Collection[str]) -> Frame | None:
    """Return some columns of a file; None where the plain reader must read it."""
    try:
        import pyarrow as pa
    except ImportError:
        return None
    quotes = _quotes(source)
    if quotes is None:
        return None
    text = {*verbatim, *_no_numbers(source, names)}
    try:
        table = _read(source, names, text, quotes)
        dated = [name for name in names if _lost_its_spelling(table.column(name).type)]
        if dated:  # as those are whose first rows are empty
            table = _read(source, names, {*text, *dated}, quotes)
        columns = [_column(table.column(name), name in verbatim) for name in names]
    except (pa.ArrowException, OSError, _DoubtError):
        return None
    return Frame(list(names), columns, source.decimal_comma)


def _no_numbers(source: CsvSource, names: Sequence[str]) -> list[str]:
    """Return the columns whose first cells are not all numbers: pyarrow would spell dates in its own way."""
    rows = list(islice(source.rows(), _FIRST))
    columns = dict(zip(source.header, zip(*(cells for _, cells in rows))))
    return [name for name in names if name in columns and not _are_plain(columns[name])]


def _are_plain(cells: Sequence[str]) -> bool:
    try:
        plain_numbers(cells)
    except ValueError:
        return False
    return True


def _lost_its_spelling(kind: Any) -> bool:
    from pyarrow import types

    return types.is_temporal(kind) or types.is_boolean(kind)


def _read(source: CsvSource, names: Sequence[str], text: Collection[str], quotes: int) -> Any:
    """Return some columns: numbers, if all cells are, or else text."""
    from pyarrow import csv, dictionary, int32, string

    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(text, dictionary(int32(), string())),
        null_values=sorted(MISSING),
        strings_can_be_null=False,
        auto_dict_encode=True,
        auto_dict_max_cardinality=1 << 30,
        include_columns=list(names),
    )
    options = {"read_options": _read_options(source, csv), "convert_options": convert}
    with open_bytes(source.file) as stream:
        return csv.read_csv(stream, parse_options=_parse_options(source, csv, quotes), **options)


def fast_pieces(
    source: CsvSource, names: Sequence[str], numbers: Collection[str], verbatim: Collection[str]
) -> Iterator[Frame] | None:
    """Yield some columns, some rows at a time; None where the plain reader must read the file.

    What is no number shows in the middle of a file: such columns come as text.
    """
    try:
        import pyarrow as pa
        from pyarrow import csv
    except ImportError:
        return None
    quotes = _quotes(source)
    if quotes is None:
        return None
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, include_columns=list(names)
    )
    stream = open_bytes(source.file)
    try:
        reader = csv.open_csv(
            stream,
            read_options=_read_options(source, csv),
            parse_options=_parse_options(source, csv, quotes),
            convert_options=convert,
        )
    except (pa.ArrowException, OSError):
        stream.close()
        return None
    return _pieces(source, stream, reader, list(names), set(numbers), set(verbatim))


def _pieces(
    source: CsvSource,
    stream: IO[bytes],
    reader: Any,
    names: list[str],
    numbers: set[str],
    verbatim: set[str],
) -> Iterator[Frame]:
    import pyarrow as pa

    at = 0
    try:
        for batch in reader:
            columns = [
                _text_column(column, name in numbers, name in verbatim)
                for name, column in zip(names, batch.columns)
            ]
            if batch.num_rows:
                yield Frame(names, columns, source.decimal_comma)
            at += batch.num_rows
    except (pa.ArrowException, OSError, _DoubtError):
        yield from source.plain_pieces(names, verbatim, at)
    finally:
        stream.close()


def _quotes(source: CsvSource) -> int | None:
    """Return how many quotes a file has; None for one that has an odd number of them, or bytes of 0."""
    n = 0
    try:
        with open_bytes(source.file) as stream:
            while piece := stream.read(_LOOK):
                if b"\0" in piece:
                    return None
                n += piece.count(b'"')
    except OSError:
        return None
    return None if n % 2 else n


def _read_options(source: CsvSource, csv: Any) -> Any:
    return csv.ReadOptions(
        column_names=source.header, skip_rows=0, skip_rows_after_names=1, block_size=_BLOCK
    )


def _parse_options(source: CsvSource, csv: Any, quotes: int) -> Any:
    return csv.ParseOptions(
        delimiter=source.delimiter, newlines_in_values=quotes > 0, quote_char='"' if quotes else False
    )


def _column(column: Any, as_is: bool) -> Column:
    """Return a column of numbers or of text."""
    from pyarrow import float64, types

    if types.is_null(column.type):
        return np.full(len(column), np.nan)
    if types.is_integer(column.type) or types.is_floating(column.type):
        return column.cast(float64(), safe=False).to_numpy()
    codes, levels = _codes(column)
    return verbatim_column(codes, levels) if as_is else merge_levels(codes, levels)


def _text_column(column: Any, is_number: bool, as_is: bool) -> Column:
    if is_number:
        from pyarrow import ArrowException, array, compute, float64, scalar, string

        gaps = compute.is_in(column, value_set=array(sorted(MISSING)))
        with suppress(ArrowException):
            known = compute.if_else(gaps, scalar(None, string()), column)
            return known.cast(float64()).to_numpy(zero_copy_only=False)
    codes, levels = _codes(column)
    return column_of(codes, levels, as_is=as_is) if is_number or as_is else merge_levels(codes, levels)


def _codes(column: Any) -> tuple[np.ndarray, list[str]]:
    """Return the levels of a column of text; _DoubtError for one that begins with a quote behind blanks."""
    from pyarrow import string, types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_binary(kind):  # no text
        raise _DoubtError
    if not types.is_dictionary(column.type):
        column = column.cast(string()).dictionary_encode()
    whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    levels = whole.dictionary.to_pylist()
    if any(one[:1].isspace() and one.lstrip().startswith('"') for one in levels):
        raise _DoubtError
    codes = whole.indices.fill_null(len(levels)).to_numpy().astype(np.int64)
    return codes, [*levels, ""]
