"""The target of a table: numbers, names of classes, or columns of zeros and ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.wording import quote
from structlearn.data.scalars import class_labels, number_problem, parse_labels
from structlearn.data.tables.source import TableSource
from structlearn.tables.detection import mixed_spelling
from structlearn.tables.frame import MISSING, Frame, TextColumn
from structlearn.tables.spelling import parse_flags, parse_numbers

#: What one target is: numbers or labels, as its cells are; numbers; or names of classes, as they are spelled.
TargetKind: TypeAlias = Literal["any", "numbers", "classes"]


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
