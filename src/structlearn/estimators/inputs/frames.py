"""Data frames of pandas and polars: what they hold, without either being imported."""

from __future__ import annotations

import sys
from decimal import Decimal
from types import NoneType
from typing import Any

import numpy as np

from structlearn.core.contract import Array
from structlearn.tables.frame import Column, Frame, TextColumn, code_cells

#: The types of pandas' values for what is missing.
_NA = ("NAType", "NaTType")
_DAY = np.timedelta64(1, "D")


def is_frame(X: object) -> bool:
    """Whether X is a data frame: rows, and columns that have names."""
    return isinstance(X, Frame) or any(
        package in sys.modules and isinstance(X, sys.modules[package].DataFrame)
        for package in ("pandas", "polars")
    )


def is_table(X: object) -> bool:
    """Whether X is a frame, or an array of what need not be numbers."""
    return is_frame(X) or (isinstance(X, np.ndarray) and X.dtype.kind == "O")


def is_missing(value: object) -> bool:
    """Whether a cell is empty: None, NaN or pandas' NA."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in _NA


def column_names(X: Any) -> list[str]:
    """Return the names of a frame's columns."""
    return X.names if isinstance(X, Frame) else [str(name) for name in X.columns]


def rows_between(X: Any, a: int, b: int) -> Any:
    """Return some rows of a frame, a matrix or an array as a copy that may be changed."""
    if not is_frame(X) or isinstance(X, Frame):
        return X[a:b].copy()
    return X.iloc[a:b].copy() if hasattr(X, "iloc") else X[a:b].clone()


def as_frame(X: Any) -> Frame:
    """Return a table as numbers and text, column by column; columns of an array are x0, x1 ..."""
    if isinstance(X, Frame):
        return X
    if hasattr(X, "iloc"):
        return Frame(column_names(X), [_pandas_column(X.iloc[:, j]) for j in range(X.shape[1])])
    if is_frame(X):
        return Frame(column_names(X), [_polars_column(one) for one in X])
    columns = np.asarray(X).T
    return Frame([f"x{j}" for j in range(len(columns))], [_column(one) for one in columns])


def frame_array(X: Any) -> Array:
    """Return a frame as an array: of floats if all its columns are numbers, else of objects."""
    if isinstance(X, Frame):
        return X.array()
    if hasattr(X, "iloc"):
        columns = [_pandas_array(X.iloc[:, j]) for j in range(X.shape[1])]
    else:
        columns = [_objects(np.array(one.to_list(), dtype=object)) for one in X]
    if all(one.dtype.kind == "f" for one in columns):
        return np.column_stack(columns)
    found = np.empty(X.shape, dtype=object)
    for j, one in enumerate(columns):
        found[:, j] = one
    return found


def _pandas_array(column: Any) -> Array:
    if column.dtype.kind in "iuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return _objects(column.to_numpy(dtype=object, na_value=None))


def _objects(column: Array) -> Array:
    """Return floats if all are numbers, or missing."""
    return column.astype(np.float64) if _are_numbers(column) else column


def _pandas_column(column: Any) -> Column:
    kind = column.dtype
    if hasattr(column, "cat"):
        levels = [str(one) for one in column.cat.categories]
        return code_cells([None if code < 0 else levels[code] for code in column.cat.codes], is_text=True)
    if kind.kind in "iuf":
        return _pandas_array(column)
    if kind.kind == "M":
        naive = column.dt.tz_localize(None) if getattr(kind, "tz", None) is not None else column
        return _column(naive.to_numpy(dtype="datetime64[s]"))
    if kind.kind == "m":
        return _column(column.to_numpy())
    return _column(column.to_numpy(dtype=object, na_value=None))


def _polars_column(column: Any) -> Column:
    if column.dtype.is_numeric():
        return column.cast(float).to_numpy().astype(np.float64)
    if column.dtype.is_temporal():
        return _column(column.to_numpy())
    return _column(np.array(column.to_list(), dtype=object))


def _column(values: Array) -> Column:
    """Return a column of an array: numbers as they are, dates and all else as text."""
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    if values.dtype.kind == "m":
        return np.where(np.isnat(values), np.nan, values / _DAY)
    if values.dtype.kind == "M":
        return _dates(values.astype("datetime64[s]"))
    if values.dtype.kind == "O" and _are_numbers(values):
        return np.array([np.nan if is_missing(one) else float(one) for one in values.tolist()])
    return code_cells([None if is_missing(one) else one for one in values.tolist()], is_text=True)


def _dates(values: Array) -> TextColumn:
    known, codes = np.unique(values.astype(np.int64), return_inverse=True)
    stamps = known.astype("datetime64[s]")
    spelled = code_cells([None if np.isnat(one) else str(one) for one in stamps], is_text=True)
    return TextColumn(spelled.codes[codes], spelled.levels, is_text=True)


def _are_numbers(values: Any) -> bool:
    """Whether all are numbers, or missing."""
    return all(
        _is_number(kind) or kind is NoneType or kind.__name__ in _NA
        for kind in set(map(type, values.tolist()))
    )


def _is_number(kind: type) -> bool:
    return issubclass(kind, int | float | np.number | Decimal) and kind is not bool
