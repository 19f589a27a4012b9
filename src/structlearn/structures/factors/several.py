"""Several factor graphs: the structure of a data set whose examples have factors of their own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import (
    Array,
    Shape,
    max_value,
    maximize,
    project,
    project_workspace,
    workspace,
)
from structlearn.core.kernels import implements, jitable, kernel, leaf
from structlearn.structures.base import SparseVertices, Structure, Weights
from structlearn.structures.factors.factor_graph import FactorAnswer, FactorGraph
from structlearn.structures.factors.records import FactorRecord, FactorWork, work_of_sizes
from structlearn.structures.factors.solving import solve_factors, write_labelling
from structlearn.structures.graph.projection import project_with_bound
from structlearn.structures.instances import of_instances
from structlearn.structures.sparsemap import MOST_ATOMS, SparseMAPScratch, sparsemap_scratch

#: The most numbers, about, that the atoms of a projection take: 64 MB; and the fewest atoms.
_MOST_NUMBERS, _FEWEST = 1 << 23, 16
#: The arrays of a `FactorRecord`, which come first.
_N_ARRAYS = 12


@of_instances
class FactorRecords(NamedTuple):
    """The arrays of several `FactorRecord`s, end to end.

    at : (12, G + 1), where those of each graph begin
    sizes : the largest numbers of states, variables, factors, entries of messages and parts
    room : as that of a `FactorRecord`, for all graphs
    n_parts : (G,)
    """

    at: Array
    state: Array
    first: Array
    variable: Array
    factor: Array
    message: Array
    cost: Array
    table: Array
    low: Array
    cap: Array
    open: Array
    own_first: Array
    own_edge: Array
    room: tuple[int, int, int, int]
    sizes: tuple[int, int, int, int, int]
    n_parts: Array
    most_branches: int
    most_read: int


def join_records(records: Sequence[FactorRecord]) -> FactorRecords:
    """Return the records of several graphs as one."""
    columns = list(zip(*(one[:_N_ARRAYS] for one in records)))
    at = np.array([np.cumsum([0, *map(len, column)]) for column in columns])
    room = tuple(max(one.room[j] for one in records) for j in range(4))
    sizes = (
        max(int(one.state[-1]) for one in records),
        max(one.state.size - 1 for one in records),
        max(one.table.size for one in records),
        max(int(one.message[-1]) for one in records),
        max(one.n_parts for one in records),
    )
    n_parts = np.array([one.n_parts for one in records])
    budget = records[0].most_branches, records[0].most_read
    fields: Any = (at, *map(np.concatenate, columns), room, sizes, n_parts, *budget)
    return FactorRecords(*fields)


@kernel
def _own(at: Array, j: int, g: int, whole: Array) -> Array:
    return whole[at[j, g] : at[j, g + 1]]


@kernel
def record_of(several: FactorRecords, g: int) -> FactorRecord:
    """Return the record of graph g."""
    at = several.at
    return FactorRecord(
        _own(at, 0, g, several.state),
        _own(at, 1, g, several.first),
        _own(at, 2, g, several.variable),
        _own(at, 3, g, several.factor),
        _own(at, 4, g, several.message),
        _own(at, 5, g, several.cost),
        _own(at, 6, g, several.table),
        _own(at, 7, g, several.low),
        _own(at, 8, g, several.cap),
        _own(at, 9, g, several.open),
        _own(at, 10, g, several.own_first),
        _own(at, 11, g, several.own_edge),
        several.room,
        several.n_parts[g],
        several.most_branches,
        several.most_read,
    )


@kernel
def _cut_work(record: FactorRecord, work: FactorWork) -> FactorWork:
    """Return the scratch memory of one graph, whose loops go by the sizes of its arrays."""
    n_states, n, n_factors = record.state[-1], record.state.size - 1, record.table.size
    return FactorWork(
        work.score[: record.n_parts],
        work.message[: record.message[-1]],
        work.belief[:n_states],
        work.gone[:n_states],
        work.cavity,
        work.found,
        work.ahead,
        work.behind,
        work.place,
        work.prefix,
        work.states[:n],
        work.best[:n],
        work.margin[:n],
        work.total[:n_factors],
        work.least[:n_factors],
        work.most[:n_factors],
        work.branch,
        work.kept,
    )


@leaf
def _n_states(several: FactorRecords, g: int) -> int:
    return several.state[several.at[0, g + 1] - 1]


@implements(workspace, FactorRecords)
@jitable
def factors_workspace(structure: FactorRecords, shape: Shape) -> FactorWork:
    return work_of_sizes(structure.sizes, structure.room)


@implements(maximize, FactorRecords)
@kernel
def factors_maximize(
    structure: FactorRecords, shape: Shape, theta: Array, shared: Array, work: FactorWork, vertex: Array
) -> float:
    record = record_of(structure, shape[1])
    own = _cut_work(record, work)
    value, _ = solve_factors(record, theta, shared, own)
    if value == -np.inf:
        vertex[:] = 0.0
    else:
        write_labelling(record, own.best, vertex)
    return value


@implements(max_value, FactorRecords)
@kernel
def factors_max_value(
    structure: FactorRecords, shape: Shape, theta: Array, shared: Array, work: FactorWork, vertex: Array
) -> float:
    """Return an upper bound of the maximum."""
    record = record_of(structure, shape[1])
    return solve_factors(record, theta, shared, _cut_work(record, work))[1]


@implements(project_workspace, FactorRecords)
@jitable
def factors_project_workspace(structure: FactorRecords, shape: Shape) -> SparseMAPScratch[object]:
    most = min(max(_MOST_NUMBERS // shape[0], _FEWEST), MOST_ATOMS)
    return sparsemap_scratch(structure.sizes[0], shape[0], workspace(structure, shape), most)


@implements(project, FactorRecords)
@kernel
def factors_project(
    structure: FactorRecords, shape: Shape, theta: Array, shared: Array, work: SparseMAPScratch, point: Array
) -> float:
    return project_with_bound(structure, _n_states(structure, shape[1]), shape, theta, work, point)


class FactorGraphs(Structure):
    """Labellings of several factor graphs (see `FactorGraph`): a shape is (parts, number of the graph).

    Parameters
    ----------
    graphs : sequence of FactorGraph
    """

    has_graphs = True
    bounded = True
    no_marginals = FactorGraph.no_marginals
    to_tighten = FactorGraph.to_tighten

    def __init__(self, graphs: Sequence[FactorGraph]) -> None:
        self.graphs = list(graphs)
        self.n_parts = np.array([one.n_parts for one in self.graphs])
        self.n_states = np.array([one.state_start[-1] for one in self.graphs])

    @cached_property
    def record(self) -> FactorRecords:
        return join_records([one.record for one in self.graphs])

    def solve(self, theta: ArrayLike, shape: Shape) -> FactorAnswer:
        """Return the best labelling of a graph that is found, its score, and a bound."""
        return self.graphs[shape[1]].solve(theta)

    # ---- sizes -------------------------------------------------------------------------------------

    def shape(self, theta: Array) -> Shape:
        """Return the graph with as many parts; ValueError if there is none, or another one."""
        fit = np.flatnonzero(self.n_parts == np.size(theta))
        if fit.size != 1:
            raise ValueError(f"{np.size(theta)} parts fit {fit.size} factor graphs, not one.")
        return int(np.size(theta)), int(fit[0])

    def fits(self, shape: Shape | Array) -> bool | Array:
        size, graph = shape
        known = (graph >= 0) & (graph < len(self.graphs))
        return known & (self.n_parts[np.where(known, graph, 0)] == size)

    def n_curved(self, shape: Shape | Array) -> Any:
        return self.n_states[shape[1]]

    @property
    def has_linear_parts(self) -> bool:
        return bool((self.n_parts > self.n_states).any())

    @property
    def output_axes(self) -> tuple[int | str, ...]:
        return ()

    def most_entries(self, shape: Shape) -> int:
        return self.graphs[shape[1]].most_entries(shape)

    # ---- outputs -----------------------------------------------------------------------------------

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return the part vector of states y; the shape says of which graph."""
        if shape is None:
            raise ValueError("Several factor graphs need a shape, (parts, number of the graph).")
        return self.graphs[shape[1]].encode(y)

    def decode(self, vertex: Array) -> Array:
        """Return the states of the variables."""
        return self.graphs[self.shape(vertex)[1]].decode(vertex)

    def cost(
        self, mu: Array, *, weights: Weights = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Return the cost of `FactorGraph`."""
        own = self.graphs[self.shape(mu)[1]]
        return own.cost(mu, weights=weights, nodes=nodes, normalized=normalized)

    def cost_many(self, gold: SparseVertices, shapes: Array, **options: Any) -> Array:
        costs = [
            self.graphs[g].cost(gold.dense(i, size), **options) for i, (size, g) in enumerate(shapes.tolist())
        ]
        return np.concatenate(costs)
