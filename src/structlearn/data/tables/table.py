"""Tables with a header: features of all kinds, and a target."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from structlearn.core.contract import Array
from structlearn.core.wording import list_names, quote
from structlearn.data.scalars import is_number
from structlearn.data.tables.rows import unnamed_column
from structlearn.data.tables.source import TableSource, open_table
from structlearn.data.tables.targets import ListTarget, TargetKind, find_labels, read_lists, read_targets
from structlearn.storage.errors import DataError, StrPath
from structlearn.tables.detection import Verdict, Wishes, all_remarks, detect, usual_min_frequency
from structlearn.tables.frame import Frame, TextColumn, merge_levels
from structlearn.tables.readings import KINDS, ColumnReading, UnreadableError, read_column, tell_problems
from structlearn.tables.spelling import parse_numbers

#: Kinds of columns whose values are numbers in `Table.X`.
_NUMBERS = ("number", "time")


@dataclass(frozen=True, eq=False)
class Table:
    """Features and, where the file has it, the target.

    Attributes
    ----------
    frame : Frame
        The features as they are in the file, column by column.
    y : ndarray of shape (n_samples,), of shape (n_samples, n_targets) with 0/1 for several targets, or None
    target_names : list of str, empty where y is None
    kinds : dict
        How each feature is read, by its name.
    others : list of str
        Columns of the file that are no features.
    left_out : list of str
        Those of them that there is nothing to learn from.
    min_frequency : int
        From how many rows on a level of text is not rare.
    remarks : tuple of str
        What a user should know of it: columns that were left out, and why.
    target_list : ListTarget or None
        The one target column whose cells list labels, which are the `target_names`.
    """

    frame: Frame
    y: np.ndarray | None
    target_names: list[str]
    kinds: dict[str, ColumnReading]
    others: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    min_frequency: int = 1
    remarks: tuple[str, ...] = ()
    target_list: ListTarget | None = None

    @property
    def feature_names(self) -> list[str]:
        """The names of the features."""
        return self.frame.names

    @property
    def text_names(self) -> list[str]:
        """Features that are no numbers."""
        return [name for name, one in self.kinds.items() if one.kind not in _NUMBERS]

    @cached_property
    def X(self) -> NDArray:
        """The features as an array of shape (n_samples, n_features).

        float64; or objects where a column is no number: floats, NaN for missing ones, strings and None.
        """
        comma = self.frame.decimal_comma
        columns = [
            read_column(name, column, own if own.kind in _NUMBERS else ColumnReading("category"), comma=comma)
            for (name, own), column in zip(self.kinds.items(), self.frame.columns)
        ]
        return Frame(self.frame.names, columns).array()


def read_table(
    path: StrPath,
    *,
    target: str | None = None,
    target_kind: TargetKind = "any",
    text: str | Iterable[str] = (),
    category: str | Iterable[str] = (),
    number: str | Iterable[str] = (),
    ignore: str | Iterable[str] = (),
    day_first: bool | None = None,
    min_frequency: int | None = None,
) -> Table:
    """Read a table as people have it: numbers, money, dates, yes and no, categories, texts, missing values.

    The cells of a column tell what it is. Missing are empty cells, NA, N/A, NaN, null and ?. Columns that
    are empty, the same in all rows, or text that tells rows apart (names, identifiers) are left out;
    `remarks` says so.

    Parameters
    ----------
    path : str or path
        As for `read_csv`; or .parquet, where pyarrow is installed.
    target : str or None
        As for `read_csv`.
    target_kind : {"any", "numbers", "classes", "lists"}
        What one target is: as its cells are; numbers; names of classes, as they are spelled; or lists of
        labels, such as "a;b", "a|b" or "a, b".
    text, category, number, ignore : str or iterables of str
        Columns to take as free text, as categories or as numbers (cells that are no numbers are then
        missing), and columns to leave out: a list of names, or "name,name".
    day_first : bool, optional
        Whether 1/2/2020 is the first of February, where a column does not tell.
    min_frequency : int, optional
        A level of text that fewer rows have is rare, and a column of rare levels alone is left out. By
        default 5, or the twentieth part of the rows if that is less.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        What cannot be read: all columns in one sentence.
    """
    source = open_table(path)
    named = {"text": text, "category": category, "number": number, "ignore": ignore}
    wished = {role: split_names(source.header, names) for role, names in named.items()}
    targets = named_targets(source.header, target)
    _check_names(source, targets, wished)
    features = without(source.header, [*targets, *wished.pop("ignore")])
    frame, y, lists = read_whole(
        source, features, targets, target_kind, verbatim=[*wished["text"], *wished["category"]]
    )
    least = usual_min_frequency(len(frame)) if min_frequency is None else min_frequency
    sets = {role: frozenset(names) for role, names in wished.items()}
    verdicts = detect(frame, Wishes(**sets, day_first=day_first, min_frequency=least))
    kinds, remarks = _kept(source, features, verdicts)
    others = without(source.header, kinds)
    return Table(
        frame.select(kinds),
        y,
        targets if lists is None else lists.labels,
        kinds,
        others,
        without(others, targets),
        least,
        (*_odd_header(source), *remarks),
        lists,
    )


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
    source = open_table(path)
    check_columns(source, "feature column", feature_names)
    targets = if_all_there(source, target_names)
    kinds = {name: ColumnReading("category" if name in text_names else "number") for name in feature_names}
    frame, y, _ = read_whole(source, list(kinds), targets, target_kind, verbatim=text_names)
    table = Table(frame, y, targets, kinds, without(source.header, kinds))
    _check_readable(source, table.frame, kinds)
    return table


def read_table_pieces(
    path: StrPath,
    kinds: Mapping[str, ColumnReading],
    *,
    target_names: Sequence[str] = (),
    target_kind: TargetKind = "any",
    target_list: ListTarget | None = None,
) -> Iterator[Table]:
    """Yield the columns that a trained model knows, some rows at a time, so that memory does not matter.

    Parameters
    ----------
    path : str or path
        As for `read_table`.
    kinds : mapping from str
        The model's columns, in its order, and how they are read (`Table.kinds`). All must be there.
    target_names : sequence of str
        Kept as y if the file has all of them; else y is None.
    target_kind : {"any", "numbers", "classes"}
        As for `read_table`.
    target_list : ListTarget, optional
        The column whose cells list the labels, instead of `target_names`.

    Yields
    ------
    Table
    """
    source = open_table(path)
    check_columns(source, "feature column", list(kinds))
    targets = if_all_there(source, target_names if target_list is None else [target_list.column])
    numbers = [name for name, one in kinds.items() if one.kind in _NUMBERS]
    whole = [name for name, one in kinds.items() if KINDS[one.kind].parse is None]
    others = without(source.header, kinds)
    at = 0
    for piece in source.pieces([*kinds, *targets], numbers, [*whole, *targets]):
        frame = _with_gaps(piece.select(kinds), whole)
        _check_readable(source, frame, kinds, first=at)
        if target_list is None or not targets:
            y = read_targets(source, piece, targets, target_kind, first=at)
            yield Table(frame, y, targets, dict(kinds), others)
        else:
            y, unknown = read_lists(piece.columns[-1], target_list)
            remarks = _unknown_labels(target_list, unknown)
            yield Table(frame, y, target_list.labels, dict(kinds), others, remarks=remarks)
        at += len(frame)
    if not at:
        raise _no_rows(source)


# ---- columns ---------------------------------------------------------------------------------------


def named_targets(header: list[str], target: str | None) -> list[str]:
    if target is None:
        return [header[-1]]
    return split_names(header, target)


def split_names(header: list[str], names: str | Iterable[str]) -> list[str]:
    """Return the names in a list, or in a text with commas, unless that text is a name itself."""
    if isinstance(names, str):
        names = [names] if names in header else [name.strip() for name in names.split(",")]
    return list(dict.fromkeys(names))


def without(names: Iterable[str], others: Iterable[str]) -> list[str]:
    gone = set(others)
    return [name for name in names if name not in gone]


def _check_names(source: TableSource, targets: list[str], wished: Mapping[str, list[str]]) -> None:
    """Raise DataError for columns that are named but not there, or in two roles."""
    others = without([name for names in wished.values() for name in names], targets)
    misspelt = without(others, source.header)
    check_columns(source, "column" if misspelt else "target column", [*targets, *misspelt])
    roles: dict[str, str] = {}
    for role, names in wished.items():
        for name in names:
            if name in targets:
                raise DataError(
                    f"The column {quote(name)} is the target; it cannot be a feature or left out."
                )
            if roles.setdefault(name, role) != role:
                raise DataError(
                    f"The column {quote(name)} is named as {roles[name]} and as {role}; choose one."
                )


def check_columns(source: TableSource, role: str, names: Sequence[str]) -> None:
    missing = without(names, source.header)
    if missing:
        raise source.missing(role, missing)


def _odd_header(source: TableSource) -> list[str]:
    """Return what to say of a header that may be a row of data; whole numbers may be years."""
    comma = source.decimal_comma
    odd = [
        name
        for name in source.header
        if not name.isdecimal() and (is_number(name) or (comma and not parse_numbers([name], comma=True).odd))
    ]
    unnamed = [name for place, name in enumerate(source.header) if place and name == unnamed_column(place)]
    remarks = [f"The header has no name for a column; it is called {quote(name)}." for name in unnamed[:3]]
    if not odd:
        return remarks
    return [
        *remarks,
        f"The header has {quote(odd[0])} for a name; if line 1 is data, write a line of names above it.",
    ]


def if_all_there(source: TableSource, names: Sequence[str]) -> list[str]:
    return list(names) if set(names) <= set(source.header) else []


def read_whole(
    source: TableSource,
    features: list[str],
    targets: list[str],
    target_kind: TargetKind,
    *,
    verbatim: Sequence[str] = (),
) -> tuple[Frame, Array | None, ListTarget | None]:
    """Return the features, the answers, and the labels that a target of lists has."""
    if not features:
        raise source.wrong(None, "no feature columns (cells are separated by commas, tabs or semicolons).")
    whole = source.read([*features, *targets], [*verbatim, *targets])
    if not len(whole):
        raise _no_rows(source)
    frame = _with_gaps(whole.select(features), verbatim)
    if target_kind == "lists" and len(targets) == 1:
        column = whole.select(targets).columns[0]
        lists = find_labels(source, targets[0], column)
        return frame, read_lists(column, lists)[0], lists
    return frame, read_targets(source, whole, targets, target_kind), None


def _unknown_labels(target: ListTarget, unknown: Sequence[str]) -> tuple[str, ...]:
    if not unknown:
        return ()
    known = f"{quote(target.column)} lists labels that the model does not know"
    return (f"Column {known}: {list_names(map(quote, unknown))}; no answer can have them.",)


def _no_rows(source: TableSource) -> DataError:
    return DataError(f"{os.fspath(source.path)} has a header but no rows.")


def _with_gaps(frame: Frame, names: Sequence[str]) -> Frame:
    """Return the frame with missing values in columns that were read verbatim."""
    columns = [
        merge_levels(column.codes, column.levels.tolist(), is_text=True)
        if name in names and isinstance(column, TextColumn)
        else column
        for name, column in zip(frame.names, frame.columns)
    ]
    return Frame(frame.names, columns, frame.decimal_comma)


def _kept(
    source: TableSource, features: Sequence[str], verdicts: Sequence[Verdict]
) -> tuple[dict[str, ColumnReading], tuple[str, ...]]:
    """Return how the columns to learn from are read, and remarks; DataError for what cannot be read."""
    problems = [one.problem for one in verdicts if one.problem is not None]
    if problems:
        name = os.fspath(source.path)
        where = f"{name}, " if len(problems) == 1 else f"{name}: "
        raise DataError(tell_problems(problems, lambda row: f"{source.noun} {source.place(row)}", where))
    remarks = all_remarks(features, verdicts)
    kinds = {name: one.reading for name, one in zip(features, verdicts) if one.reading is not None}
    if not kinds:
        why = f": {' '.join(remarks)}" if remarks else "."
        raise DataError(f"{os.fspath(source.path)} has no column to learn from{why}")
    return kinds, remarks


def _check_readable(
    source: TableSource, frame: Frame, kinds: Mapping[str, ColumnReading], *, first: int = 0
) -> None:
    """Raise DataError, with its place, for a cell that the model cannot read."""
    for name, column in zip(frame.names, frame.columns):
        try:
            read = read_column(name, column, kinds[name], comma=frame.decimal_comma)
        except UnreadableError as error:
            row, what = error.problem.row, error.problem.what
            message = f"column {quote(name)} {what}; leave the cell empty if unknown."
            raise source.wrong(first + row, message) from None
        if not isinstance(read, TextColumn) and np.isinf(read).any():
            row = int(np.argmax(np.isinf(read)))
            raise source.wrong(
                first + row, f'column {quote(name)} holds "{read[row]:g}", which is not finite.'
            )
