"""Assignments: each worker a task of their own, at the least cost in all."""

from __future__ import annotations

from functools import cached_property
from operator import index
from typing import NamedTuple, SupportsIndex

import numpy as np

from structlearn.core.contract import Array, Shape, max_value, maximize, workspace
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.structures.decisions.decision import Decisions, stored_decisions
from structlearn.structures.instances import of_instances
from structlearn.structures.matching.kernels import (
    MatchingRecord,
    MatchingWork,
    matching_maximize,
    matching_workspace,
)
from structlearn.structures.registry import count


class AssignmentTable(NamedTuple):
    """One instance: how many rows and columns there are."""

    n_rows: int
    n_columns: int

    @property
    def n_parts(self) -> int:
        return self.n_rows * self.n_columns

    @property
    def most_chosen(self) -> int:
        return min(self.n_rows, self.n_columns)


@of_instances
class AssignmentRecord(NamedTuple):
    """The compiled form of `Assignment`."""

    rows: Array
    columns: Array


@stored_decisions("assignments of rows to columns", {"n_rows": count, "n_columns": count})
class Assignment(Decisions):
    """One column for each row, no column twice (or the reverse, where columns are fewer): `Matching`, flat.

    The part of row i and column j is number i * n_columns + j.

    Parameters
    ----------
    n_rows, n_columns : int
        As many columns as rows unless given.
    """

    def __init__(self, n_rows: SupportsIndex, n_columns: SupportsIndex | None = None) -> None:
        self.n_rows = index(n_rows)
        self.n_columns = self.n_rows if n_columns is None else index(n_columns)
        if min(self.n_rows, self.n_columns) < 1:
            raise ValueError(
                f"An assignment needs at least one row and column; got {self.n_rows} x {self.n_columns}."
            )
        self.instances = (AssignmentTable(self.n_rows, self.n_columns),)

    @cached_property
    def instance_record(self) -> AssignmentRecord:
        return AssignmentRecord(*(np.array([one[k] for one in self.instances]) for k in (0, 1)))


@implements(workspace, AssignmentRecord)
@jitable
def assignment_workspace(structure: AssignmentRecord, shape: Shape) -> MatchingWork:
    most = (structure.rows.max(), structure.columns.max())
    return matching_workspace(MatchingRecord(False, 1, 1), most)


@implements(max_value, AssignmentRecord)
@implements(maximize, AssignmentRecord)
@kernel
def assignment_maximize(
    structure: AssignmentRecord, shape: Shape, theta: Array, shared: Array, work: MatchingWork, vertex: Array
) -> float:
    table = (structure.rows[shape[1]], structure.columns[shape[1]])
    return matching_maximize(MatchingRecord(False, 1, 1), table, theta, shared, work, vertex)
