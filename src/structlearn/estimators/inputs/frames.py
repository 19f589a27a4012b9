"""Data frames of pandas and polars: what they hold, without either being imported."""

from __future__ import annotations

import sys
from types import NoneType
from typing import Any

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.wording import quote

#: The type of pandas' value for what is missing.
_NA = "NAType"


def is_frame(X: object) -> bool:
    """Whether X is a data frame: rows, and columns that have names."""
    return any(
        package in sys.modules and isinstance(X, sys.modules[package].DataFrame)
        for package in ("pandas", "polars")
    )


def is_table(X: object) -> bool:
    """Whether X is a frame, or an array of what need not be numbers."""
    return is_frame(X) or (isinstance(X, np.ndarray) and X.dtype.kind == "O")


def is_missing(value: object) -> bool:
    """Whether a cell is empty: None, NaN or pandas' NA."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == _NA


def column_names(X: Any) -> list[str]:
    """Return the names of a frame's columns."""
    return [str(name) for name in X.columns]


def check_no_dates(X: Any) -> None:
    """Raise ValueError for a frame with a column of dates or times."""
    for name, kind in zip(X.columns, X.dtypes) if is_frame(X) else ():
        is_date = kind.is_temporal() if hasattr(kind, "is_temporal") else getattr(kind, "kind", "") in "Mm"
        if is_date:
            raise ValueError(
                f"Column {quote(name)} holds dates or times: make numbers of them (a year, days since one "
                "day) or words (a month), or leave the column out."
            )


def rows_between(X: Any, a: int, b: int) -> Any:
    """Return some rows of a frame, a matrix or an array as a copy that may be changed."""
    if not is_frame(X):
        return X[a:b].copy()
    return X.iloc[a:b].copy() if hasattr(X, "iloc") else X[a:b].clone()


def column_arrays(X: Any) -> list[Array]:
    """Return the columns of a frame or an array: floats, NaN if missing; objects if not numbers."""
    if hasattr(X, "iloc"):
        return [_pandas_column(X.iloc[:, j]) for j in range(X.shape[1])]
    if is_frame(X):
        return [_as_floats(np.array(one.to_list(), dtype=object), one.dtype.is_numeric()) for one in X]
    return [_as_floats(column, _are_numbers(column)) for column in np.asarray(X).T]


def frame_array(X: Any) -> Array:
    """Return a frame as an array: of floats if all its columns are numbers, else of objects."""
    columns = column_arrays(X)
    if all(one.dtype.kind == "f" for one in columns):
        return np.column_stack(columns)
    found = np.empty(X.shape, dtype=object)
    for j, one in enumerate(columns):
        found[:, j] = one
    return found


def _pandas_column(column: Any) -> Array:
    is_number = column.dtype.kind in "iuf" or (column.dtype == object and _are_numbers(column))
    if is_number:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy(dtype=object, na_value=None)


def _as_floats(column: Array, is_number: bool) -> Array:
    return column.astype(np.float64) if is_number else column.astype(object)


def _are_numbers(values: Any) -> bool:
    """Whether all are numbers, or missing."""
    return all(
        _is_number(kind) or kind is NoneType or kind.__name__ == _NA
        for kind in set(map(type, values.tolist()))
    )


def _is_number(kind: type) -> bool:
    return issubclass(kind, int | float | np.number) and kind is not bool
