"""Tables with a header: features that are numbers or text, and a target."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from structlearn.core.sentences import Statement
from structlearn.core.wording import quote
from structlearn.data.scalars import LARGEST_FEATURE, class_labels, is_number, parse_labels
from structlearn.data.tables.cells import MISSING, CellTable, open_cells
from structlearn.data.tables.choice import chosen_columns, usual_min_frequency
from structlearn.data.tables.columns import ColumnReader, Kind, TableColumn
from structlearn.storage.errors import DataError, StrPath

#: What one target is: numbers or labels, as its cells are; numbers; or names of classes, as they are spelled.
TargetKind: TypeAlias = Literal["any", "numbers", "classes"]
_SWITCHES = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}


@dataclass(frozen=True, eq=False)
class Table:
    """Features and, where the file has it, the target.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        float64; or objects where a column is text: floats, NaN for missing ones, and strings or None.
    y : ndarray of shape (n_samples,), of shape (n_samples, n_targets) with 0/1 for several targets, or None
    feature_names : list of str
    target_names : list of str, empty where y is None
    text_names : list of str
        Features that are text.
    others : list of str
        Columns of the file that are no features.
    left_out : list of str
        Those of them that there is nothing to learn from.
    min_frequency : int
        From how many rows on a level of text is not rare.
    remarks : tuple of str
        What a user should know of it: columns that were left out, and why.
    """

    X: NDArray
    y: np.ndarray | None
    feature_names: list[str]
    target_names: list[str]
    text_names: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    min_frequency: int = 1
    remarks: tuple[str, ...] = ()


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
    cells = open_cells(path)
    targets = _targets(cells.header, target) if target is not None or require_target else []
    missing = [name for name in targets if name not in cells.header]
    if missing and require_target:
        raise cells.missing("target column", missing[:1])
    return _numbers(cells, _without(cells.header, targets), [] if missing else targets)


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
    cells = open_cells(path)
    _check_there(cells, "feature column", feature_names)
    return _numbers(cells, list(feature_names), _if_all_there(cells, target_names))


def read_table(
    path: StrPath,
    *,
    target: str | None = None,
    target_kind: TargetKind = "any",
    text: str | Iterable[str] = (),
    ignore: str | Iterable[str] = (),
    min_frequency: int | None = None,
) -> Table:
    """Read a table as people have it: numbers, text and missing values.

    A column is text if its cells are no numbers. Missing are empty cells, NA, N/A, NaN, null and ?. Columns
    that are empty, the same in all rows, or text that tells rows apart (names, identifiers) are left out;
    `remarks` says so. Dates are refused.

    Parameters
    ----------
    path : str or path
        As for `read_csv`; or .parquet, where pyarrow is installed.
    target : str or None
        As for `read_csv`.
    target_kind : {"any", "numbers", "classes"}
        What one target is: as its cells are; numbers; or names of classes, as they are spelled.
    text, ignore : str or iterables of str
        Columns to take as text, and columns to leave out: a list of names, or "name,name".
    min_frequency : int, optional
        A level of text that fewer rows have is rare, and a column of rare levels alone is left out. By
        default 5, or the twentieth part of the rows if that is less.

    Returns
    -------
    Table
    """
    cells = open_cells(path)
    text, ignore = _split_names(cells.header, text), _split_names(cells.header, ignore)
    targets = _targets(cells.header, target)
    for role, names in (("target column", targets), ("column", text), ("column", ignore)):
        _check_there(cells, role, names)
    both = [name for name in (*text, *ignore) if name in targets]
    if both:
        raise DataError(f"The column {quote(both[0])} is the target; it cannot be a feature or left out.")
    features = _without(cells.header, [*targets, *ignore])
    forced = cells.text.union(text)
    kinds: dict[str, Kind] = {name: "text" for name in features if name in forced}
    columns, answers, places = _read(cells, features, targets, kinds)
    y = _answers(cells, places, targets, answers, target_kind)
    least = usual_min_frequency(len(places)) if min_frequency is None else min_frequency
    kept, remarks = chosen_columns(columns, least)
    if not kept:
        why = f": {' '.join(remarks)}" if remarks else "."
        raise DataError(f"{os.fspath(path)} has no column to learn from{why}")
    _check_sizes(cells, places, kept)
    remarks = [*_odd_header(cells), *remarks]
    found = _table(cells, kept, y, targets)
    left_out = _without(found.others, targets)
    return replace(found, left_out=left_out, min_frequency=least, remarks=tuple(remarks))


def read_table_features(
    path: StrPath,
    feature_names: Sequence[str],
    *,
    text_names: Sequence[str] = (),
    target_names: Sequence[str] = (),
    target_kind: TargetKind = "any",
) -> Table:
    """Read the columns that a trained model knows, as numbers or text; `others` are ignored.

    Parameters
    ----------
    path : str or path
        As for `read_table`.
    feature_names, text_names : sequences of str
        The model's columns, in its order, and those of them that are text. All must be there.
    target_names : sequence of str
        Kept as y if the file has all of them; else y is None.
    target_kind : {"any", "numbers", "classes"}
        As for `read_table`.

    Returns
    -------
    Table
    """
    cells = open_cells(path)
    _check_there(cells, "feature column", feature_names)
    targets = _if_all_there(cells, target_names)
    kinds: dict[str, Kind] = {**dict.fromkeys(feature_names, "number"), **dict.fromkeys(text_names, "text")}
    columns, answers, places = _read(cells, list(feature_names), targets, kinds)
    return _table(cells, columns, _answers(cells, places, targets, answers, target_kind), targets)


# ---- columns ---------------------------------------------------------------------------------------


def _targets(header: list[str], target: str | None) -> list[str]:
    if target is None:
        return [header[-1]]
    return _split_names(header, target)


def _split_names(header: list[str], names: str | Iterable[str]) -> list[str]:
    """Return the names in a list, or in a text with commas, unless that text is a name itself."""
    if isinstance(names, str):
        names = [names] if names in header else [name.strip() for name in names.split(",")]
    return list(dict.fromkeys(names))


def _without(names: Iterable[str], others: Iterable[str]) -> list[str]:
    gone = set(others)
    return [name for name in names if name not in gone]


def _check_there(cells: CellTable, role: str, names: Sequence[str]) -> None:
    missing = _without(names, cells.header)
    if missing:
        raise cells.missing(role, missing)


def _odd_header(cells: CellTable) -> list[str]:
    """Return what to say of a header that may be a row of data; whole numbers may be years."""
    odd = [
        name for name in cells.header if is_number(cells.with_decimal_point(name)) and not name.isdecimal()
    ]
    if not odd:
        return []
    return [f"The header has {quote(odd[0])} for a name; if line 1 is data, write a line of names above it."]


def _check_sizes(cells: CellTable, places: list[int], columns: Sequence[TableColumn]) -> None:
    """Raise DataError for numbers whose squares are infinite: their columns cannot be scaled."""
    for name, values in (column for column in columns if not column.is_text):
        for row in np.flatnonzero(np.abs(values) > LARGEST_FEATURE).tolist():
            found = f"column {quote(name)} holds {values[row]:g}, which is too large to be squared"
            advice = "divide the column by a constant, or leave it out ({ignore=})"
            raise cells.wrong(places[row], Statement(f"{{found}}; {advice}.", found=found, ignore=name))


def _if_all_there(cells: CellTable, names: Sequence[str]) -> list[str]:
    return list(names) if set(names) <= set(cells.header) else []


def _read(
    cells: CellTable, features: list[str], targets: list[str], kinds: dict[str, Kind]
) -> tuple[list[TableColumn], list[list[str]], list[int]]:
    """Return the features' columns, the targets' cells column by column, and the rows' places."""
    if not features:
        raise cells.wrong(1, "no feature columns (cells are separated by commas, tabs or semicolons).")
    at = {name: j for j, name in enumerate(cells.header)}
    places: list[int] = []
    readers = [ColumnReader(name, cells, kinds.get(name), places) for name in features]
    answers: list[list[str]] = [[] for _ in targets]
    for own, columns in cells.blocks:
        places += own
        for reader in readers:
            reader.extend(columns[at[reader.name]])
        for name, found in zip(targets, answers):
            found.extend(map(str.strip, columns[at[name]]))
    if not places:
        raise DataError(f"{os.fspath(cells.path)} has a header but no rows.")
    return [one.finish() for one in readers], answers, places


def _numbers(cells: CellTable, features: list[str], targets: list[str]) -> Table:
    """Return a table of numbers alone."""
    columns, answers, places = _read(cells, features, targets, dict.fromkeys(features, "strict"))
    return _table(cells, columns, _answers(cells, places, targets, answers, "any"), targets)


def _table(cells: CellTable, columns: list[TableColumn], y: np.ndarray | None, targets: list[str]) -> Table:
    names, text = [one.name for one in columns], [one.name for one in columns if one.is_text]
    if not text:
        X = np.column_stack([one.values for one in columns])
    else:
        X = np.empty((len(columns[0].values), len(columns)), dtype=object)
        for j, one in enumerate(columns):
            X[:, j] = one.values
    return Table(X, y, names, targets, text, _without(cells.header, names))


# ---- targets ---------------------------------------------------------------------------------------


def _answers(
    cells: CellTable, places: list[int], targets: list[str], answers: list[list[str]], kind: TargetKind
) -> np.ndarray | None:
    if not targets:
        return None
    if len(targets) > 1:
        return np.column_stack([_switches(cells, places, *one) for one in zip(targets, answers)])
    (name,), (column,) = targets, answers
    for place, cell in zip(places, column):
        if cell in MISSING and (kind != "any" or not cell):
            said = f" ({quote(cell)})" if cell else ""
            message = f"the target column {quote(name)} is empty{said}; remove the row, or fill it in."
            raise cells.wrong(place, message)
    if kind == "classes":
        return class_labels(column)
    if kind == "numbers":
        return _target_numbers(cells, places, name, column)
    return parse_labels([cells.with_decimal_point(cell) for cell in column], cells.path, places)


def _target_numbers(cells: CellTable, places: list[int], name: str, column: Sequence[str]) -> np.ndarray:
    reader = ColumnReader(name, cells, "strict", places, role="the target column")
    reader.extend(column)
    return reader.finish().values


def _switches(cells: CellTable, places: list[int], name: str, column: Sequence[str]) -> np.ndarray:
    """Return zeros and ones for cells that are 0, 1, false or true."""
    found = [_SWITCHES.get(cell.lower()) for cell in column]
    for place, cell, value in zip(places, column, found):
        if value is None:
            message = f"the target column {quote(name)} holds {quote(cell)}; expected 0 or 1."
            raise cells.wrong(place, message)
    return np.array(found, dtype=np.int64)
