"""Tables as `TableTransformer` reads them: what was learned of each column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from structlearn.estimators.inputs.tables import map_table
from structlearn.estimators.row_maps.base import Origin, RowMap, register_row_map
from structlearn.estimators.scikit import Rows
from structlearn.tables.maps import restore
from structlearn.tables.table_map import TableMap


@register_row_map(
    "structlearn.estimators.inputs.tables:TableTransformer",
    "numbers, flags, dates, categories and free text of a table",
)
@dataclass(frozen=True, eq=False)
class TableColumns(RowMap):
    """Features of each column of a table.

    columns : what was learned of each (see `ColumnMap.stored`); None for one that has no features
    sparse : whether the result is a sparse matrix
    """

    columns: list[dict[str, object] | None]
    sparse: bool

    of_tables: ClassVar[bool] = True
    takes_frames: ClassVar[bool] = True
    rows_at_once: ClassVar[int] = 1 << 16

    @classmethod
    def of(cls, fitted: Any) -> TableColumns:
        maps = fitted.map_.maps
        return cls([None if one is None else one.stored() for one in maps], fitted.map_.is_sparse)

    @cached_property
    def table(self) -> TableMap:
        """The maps of the columns."""
        return TableMap([None if one is None else restore(one) for one in self.columns], self.sparse)

    def check(self) -> None:
        if not self.table.width:
            raise ValueError("its row map is one of no features")

    @property
    def n_inputs(self) -> int:
        return len(self.columns)

    @property
    def n_outputs(self) -> int:
        return self.table.width

    def origins(self) -> list[Origin]:
        return [Origin(j, suffix) for j, suffix in self.table.suffixes()]

    def transform(self, X: Any) -> Rows:
        return map_table(self.table, X)
