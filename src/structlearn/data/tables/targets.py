"""The target of a table: numbers, names of classes, or columns of zeros and ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.wording import quote
from structlearn.data.scalars import class_labels, number_problem, parse_labels
from structlearn.data.tables.source import TableSource
from structlearn.tables.detection import mixed_spelling
from structlearn.tables.frame import MISSING, Column, Frame, TextColumn, merge_levels
from structlearn.tables.list_map import SEPARATORS, count_items, find_separator, mark_items, split_items
from structlearn.tables.spelling import parse_flags, parse_numbers

#: What one target is: numbers or labels, as its cells are; numbers; names of classes, as they are spelled; or
#: lists of labels.
TargetKind: TypeAlias = Literal["any", "numbers", "classes", "lists"]


class ListTarget(NamedTuple):
    """One column whose cells list labels, such as "garden;pets".

    column : its name
    separator : what stands between labels
    labels : the labels
    """

    column: str
    separator: str
    labels: list[str]


def find_labels(source: TableSource, name: str, column: Column) -> ListTarget:
    """Return the labels that the cells of a column list; DataError if it does not list several."""
    column = _with_gaps(column)
    levels = column.levels.tolist()
    seen = (one for one in SEPARATORS if any(one in level for level in levels))
    separator = find_separator(levels, column.counts, 1) or next(seen, "")
    labels = (
        count_items([split_items(level, separator) for level in levels], column.counts) if separator else ()
    )
    if len(labels) < 2:
        what = "lists at most one label per row; several are separated, as in a;b, a|b or a, b"
        raise source.wrong(
            None, f"the target column {quote(name)} {what} (for a single one: train classify)."
        )
    return ListTarget(name, separator, sorted(labels))


def read_lists(column: Column, target: ListTarget) -> tuple[Array, list[str]]:
    """Return zeros and ones of shape (rows, labels), and labels that are none of the target's."""
    column = _with_gaps(column)
    lists = [split_items(level, target.separator) for level in column.levels.tolist()]
    marks = np.append(mark_items(lists, target.labels), np.zeros((1, len(target.labels))), axis=0)
    unknown = sorted({label for one in lists for label in one} - {*target.labels})
    return marks[column.codes].astype(np.int64), unknown


def _with_gaps(column: Column) -> TextColumn:
    """Return a column that was read verbatim, with missing cells, which are empty lists."""
    column = cast(TextColumn, column).seen()
    return merge_levels(column.codes, column.levels.tolist())


def read_targets(
    source: TableSource, frame: Frame, targets: Sequence[str], kind: TargetKind, *, first: int = 0
) -> Array | None:
    """Return the answers of a table whose target columns were read verbatim; it begins at row `first`."""
    if not targets:
        return None
    columns = dict(zip(frame.names, frame.columns))
    reader = [_Target(source, name, cast(TextColumn, columns[name]), first) for name in targets]
    if len(reader) > 1:
        return np.column_stack([one.switches() for one in reader])
    (one,) = reader
    one.check_known(MISSING if kind != "any" else {""})
    if kind == "classes":
        return one.spread(class_labels(one.levels))
    return one.numbers() if kind == "numbers" else one.labels()


class _Target:
    """A target column, read verbatim."""

    def __init__(self, source: TableSource, name: str, column: TextColumn, first: int) -> None:
        self.source, self.name, self.first = source, name, first
        self.column = column.seen()
        self.levels: list[str] = self.column.levels.tolist()

    def spread(self, values: Array) -> Array:
        return values[self.column.codes]

    def check_known(self, missing: frozenset[str] | set[str]) -> None:
        for k, cell in enumerate(self.levels):
            if cell in missing:
                said = f" ({quote(cell)})" if cell else ""
                raise self.wrong(k, f"is empty{said}; remove the row, or fill it in")

    def wrong(self, level: int, what: str) -> Exception:
        row = self.first + int(np.argmax(self.column.codes == level))
        return self.source.wrong(row, f"the target column {quote(self.name)} {what}.")

    def numbers(self) -> Array:
        comma = self.source.decimal_comma
        found = parse_numbers(self.levels, comma=comma)
        for k in [*found.odd, *np.flatnonzero(np.isnan(found.values)).tolist()]:
            what = number_problem(self.levels[k]) or f"holds {quote(self.levels[k])}, which is not a number"
            raise self.wrong(k, what)
        mixed = mixed_spelling(self.levels, found.signs, comma)
        if mixed is not None:
            raise self.wrong(mixed.level, mixed.what)
        return self.spread(found.values)

    def labels(self) -> Array:
        if not self.source.decimal_comma:
            return self.spread(parse_labels(self.levels, self.source.path, _Places(self)))
        values = parse_numbers(self.levels, comma=True)
        spelled = [
            f"{values.values[k]!r}" if "," in one and k not in values.odd else one
            for k, one in enumerate(self.levels)
        ]
        return self.spread(parse_labels(spelled, self.source.path, _Places(self)))

    def switches(self) -> Array:
        """Return zeros and ones for cells that are 0, 1, no, yes, false or true."""
        found = parse_flags(self.levels)
        for k in np.flatnonzero(np.isnan(found.values)).tolist():
            raise self.wrong(k, f"holds {quote(self.levels[k])}; expected 0 or 1")
        return self.spread(found.values.astype(np.int64))


class _Places(Sequence[int]):
    """The line of each level of a target, looked up when it is asked for."""

    def __init__(self, target: _Target) -> None:
        self._target = target

    def __getitem__(self, k: Any) -> Any:
        row = self._target.first + int(np.argmax(self._target.column.codes == k))
        return self._target.source.place(row)

    def __len__(self) -> int:
        return len(self._target.levels)
