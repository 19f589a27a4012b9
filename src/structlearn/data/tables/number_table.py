"""Tables of numbers alone, none of them missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.wording import quote
from structlearn.data.scalars import number_problem
from structlearn.data.tables.source import TableSource, open_table
from structlearn.data.tables.table import (
    Table,
    check_columns,
    if_all_there,
    named_targets,
    read_whole,
    without,
)
from structlearn.storage.errors import StrPath
from structlearn.tables.frame import Frame, TextColumn
from structlearn.tables.readings import ColumnReading
from structlearn.tables.spelling import parse_numbers


def read_csv(path: StrPath, *, target: str | None = None, require_target: bool = True) -> Table:
    """Read a table whose features are all numbers, none of them missing.

    Parameters
    ----------
    path : str or path
        Plain or .gz, with a header. Cells are separated by commas, tabs or semicolons, whichever the header
        has most of. Between semicolons numbers may have a decimal comma.
    target : str or None
        The column to predict, the last by default. "name,name": several columns of 0 and 1 (a label set).
    require_target : bool
        If False, a file without the target column gives y = None; where `target` is None too, every
        column is a feature.

    Returns
    -------
    Table
        One target is integers if all its cells are, else floats if all are numbers, else strings.

    Raises
    ------
    DataError
        Cells that are not finite numbers, ragged rows, columns that are missing or named twice.
    """
    source = open_table(path)
    targets = named_targets(source.header, target) if target is not None or require_target else []
    missing = [name for name in targets if name not in source.header]
    if missing and require_target:
        raise source.missing("target column", missing[:1])
    return _of_numbers(source, without(source.header, targets), [] if missing else targets)


def read_csv_features(
    path: StrPath, feature_names: Sequence[str], *, target_names: Sequence[str] = ()
) -> Table:
    """Read the columns that a trained model knows, picked by name; other columns are ignored.

    Parameters
    ----------
    path : str or path
        Plain or .gz, with a header, as for `read_csv`.
    feature_names : sequence of str
        The model's columns, in its order. One that the file lacks is an error.
    target_names : sequence of str
        Kept as y if the file has all of them; else y is None.

    Returns
    -------
    Table
    """
    source = open_table(path)
    check_columns(source, "feature column", feature_names)
    return _of_numbers(source, list(feature_names), if_all_there(source, target_names))


def _of_numbers(source: TableSource, features: list[str], targets: list[str]) -> Table:
    """Return a table of numbers alone."""
    frame, y, _ = read_whole(source, features, targets, "any")
    columns = [_strict(source, name, column) for name, column in zip(frame.names, frame.columns)]
    kinds = {name: ColumnReading("number") for name in features}
    return Table(Frame(features, list(columns)), y, targets, kinds, without(source.header, features))


def _strict(source: TableSource, name: str, column: Array | TextColumn) -> Array:
    """Return a column of finite numbers; DataError for anything else."""
    if isinstance(column, TextColumn):
        found = parse_numbers(column.levels.tolist(), comma=source.decimal_comma)
        column = column.spread(found.values)
    wrong = np.flatnonzero(~np.isfinite(column))
    if wrong.size:
        row = int(wrong[0])
        cell = source.cell(row, name)
        problem = number_problem(cell) or f"holds {quote(cell)}, which is not a number"
        raise source.wrong(row, f"column {quote(name)} {problem}.")
    return column
