"""Comma- or tab-separated tables with a header: numeric features and a target."""

from __future__ import annotations

import csv
import os
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from structlearn.core.wording import listed, quoted
from structlearn.data.scalars import number_problem, parse_labels, parse_number
from structlearn.data.text import open_text
from structlearn.storage.errors import DataError, StrPath

Rows = Iterator[tuple[int, list[str]]]


@dataclass(frozen=True, eq=False)
class Table:
    """Features and, where the file has it, the target.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float64
    y : ndarray of shape (n_samples,), of shape (n_samples, n_targets) with 0/1 for several targets, or None
    feature_names : list of str
    target_names : list of str, empty where y is None
    """

    X: NDArray[np.float64]
    y: np.ndarray | None
    feature_names: list[str]
    target_names: list[str]


def read_csv(path: StrPath, *, target: str | None = None, require_target: bool = True) -> Table:
    """Read a table whose features are all numbers.

    Parameters
    ----------
    path : str or path
        Plain or .gz, with a header. Cells are separated by commas, or by tabs if the header has no comma.
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
    rows = _rows(path)
    header = _header(path, rows)
    targets = _targets(header, target) if target is not None or require_target else []
    missing = [name for name in targets if name not in header]
    if missing and require_target:
        raise _missing(path, missing[0], "target column", header)
    targets_present = [] if missing else targets
    features = [name for name in header if name not in targets]
    return _collect(path, rows, header, features, targets_present)


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
    rows = _rows(path)
    header = _header(path, rows)
    for name in feature_names:
        if name not in header:
            raise _missing(path, name, "feature column", header)
    targets = list(target_names) if set(target_names) <= set(header) else []
    return _collect(path, rows, header, list(feature_names), targets)


def _rows(path: StrPath) -> Rows:
    """The line number and the cells of each row that is not empty; the header is the first."""
    lines = open_text(path)
    _, first = next(lines, (0, None))
    if first is None:
        raise DataError(f"{os.fspath(path)} is empty.")
    if not first.strip():
        raise DataError.at(path, 1, "the header is empty.")
    delimiter = "\t" if "\t" in first and "," not in first else ","
    text = (line + "\n" for line in chain([first], (line for _, line in lines)))
    # strict: a quote that is never closed is an error, instead of one cell that holds the rest of the file.
    reader = csv.reader(text, delimiter=delimiter, strict=True, skipinitialspace=True)
    start = 1
    try:
        for cells in reader:
            if cells:
                yield start, [cell.strip() for cell in cells]
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError.at(path, start, f"the row cannot be split into cells ({error}).") from error


def _header(path: StrPath, rows: Rows) -> list[str]:
    _, header = next(rows)
    for place, name in enumerate(header):
        if not name:
            raise DataError.at(path, 1, f"column {place + 1} has no name.")
        if name in header[:place]:
            raise DataError.at(path, 1, f"two columns are named {quoted(name)}.")
    return header


def _targets(header: list[str], target: str | None) -> list[str]:
    if target is None:
        return [header[-1]]
    if target in header:
        return [target]
    return list(dict.fromkeys(name.strip() for name in target.split(",")))


def _missing(path: StrPath, name: str, role: str, header: list[str]) -> DataError:
    return DataError.at(path, 1, f"the {role} {quoted(name)} is missing; the header has {listed(header)}.")


def _collect(path: StrPath, rows: Rows, header: list[str], features: list[str], targets: list[str]) -> Table:
    if not features:
        raise DataError.at(path, 1, "no feature columns (cells are separated by commas, or by tabs).")
    feature_places = [header.index(name) for name in features]
    target_places = [header.index(name) for name in targets]
    values = array("d")
    lines: list[int] = []
    answers: list[list[str]] = []
    for line, cells in rows:
        if len(cells) != len(header):
            raise DataError.at(path, line, f"{len(cells)} cells, but the header has {len(header)} columns.")
        try:
            values.extend([parse_number(cells[place]) for place in feature_places])
        except ValueError:
            raise _wrong_cell(path, line, features, [cells[place] for place in feature_places]) from None
        lines.append(line)
        answers.append([cells[place] for place in target_places])
    if not lines:
        raise DataError(f"{os.fspath(path)} has a header but no rows.")
    X = np.frombuffer(values, dtype=np.float64).reshape(len(lines), len(features)).copy()
    for row in np.flatnonzero(~np.isfinite(X).all(axis=1)):
        raise _wrong_cell(path, lines[row], features, [str(value) for value in X[row]])
    return Table(X, _answers(path, lines, targets, answers), features, targets)


def _answers(
    path: StrPath, lines: list[int], targets: list[str], answers: list[list[str]]
) -> np.ndarray | None:
    if not targets:
        return None
    if len(targets) == 1:
        for line, (cell,) in zip(lines, answers):
            if not cell:
                raise DataError.at(path, line, f"the target column {quoted(targets[0])} is empty.")
        return parse_labels([cell for (cell,) in answers], path, lines)
    for line, cells in zip(lines, answers):
        for name, cell in zip(targets, cells):
            if number_problem(cell) or parse_number(cell) not in (0, 1):
                message = f"the target column {quoted(name)} holds {quoted(cell)}; expected 0 or 1."
                raise DataError.at(path, line, message)
    return np.array([[parse_number(cell) for cell in cells] for cells in answers]).astype(np.int64)


def _wrong_cell(path: StrPath, line: int, names: list[str], cells: list[str]) -> DataError:
    name, problem = next((n, p) for n, cell in zip(names, cells) if (p := number_problem(cell)))
    return DataError.at(path, line, f"column {quoted(name)} {problem}.")
