"""Knapsacks: items of integer weights, of which those are packed that are worth most and fit."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array, Shape, max_value, maximize, workspace
from structlearn.core.forms import form
from structlearn.core.kernels import implements, jitable, leaf
from structlearn.core.vectors import longest_range
from structlearn.structures.decisions.branching import PackingWork, pack, packing_work
from structlearn.structures.decisions.decision import Decisions, stored_decisions
from structlearn.structures.instances import of_instances

#: Entries of the table of dynamic programming from which on branch and bound is taken.
LARGEST_TABLE = 1 << 22


class Pack(NamedTuple):
    """One instance: weights of shape (dimensions, items), and what may be packed in each dimension."""

    weights: Array
    capacity: Array

    @property
    def n_parts(self) -> int:
        return int(self.weights.shape[1])

    @property
    def most_chosen(self) -> int:
        """As many of the lightest items as fit, in the dimension where these are fewest."""
        fitting = np.cumsum(np.sort(self.weights, axis=1), axis=1) <= self.capacity[:, None]
        return max(int(fitting.sum(axis=1).min()), 1)

    @property
    def table(self) -> int:
        """How many entries dynamic programming needs; 0 where branch and bound serves better."""
        size = self.n_parts * (int(self.capacity[0]) + 1)
        return size if self.capacity.size == 1 and size <= LARGEST_TABLE else 0


@of_instances
class KnapsackRecord(NamedTuple):
    """The compiled form of `Knapsack`: instances end to end, weights item by item."""

    #: where the items of each instance begin
    items: Array
    #: (all items, dimensions)
    weights: Array
    #: (instances, dimensions)
    capacity: Array
    #: entries of each instance's table
    table: Array
    #: 1 where a search was given up
    failed: Array


class KnapsackWork(NamedTuple):
    """Scratch memory: of each capacity the best value, of each item and capacity whether it is packed."""

    best: Array
    packed: Array
    branches: PackingWork


@form("an array of weights")
def _weights(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.ndim == 2


@form("an array of capacities")
def _capacities(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.ndim == 1


@stored_decisions("items that fit into a knapsack", {"weights": _weights, "capacity": _capacities})
class Knapsack(Decisions):
    """Items whose weights add up to at most the capacity: z_j = 1 where item j is packed.

        maximize <theta, z>   subject to   weights z <= capacity,   z in {0, 1}^items

    Exact: by dynamic programming in one dimension where items times capacity are at most four million, else
    by branch and bound.

    Parameters
    ----------
    weights : integer array-like of shape (items,) or (dimensions, items)
        Positive.
    capacity : int, or one per dimension
    """

    threshold = 0.5

    def __init__(self, weights: ArrayLike, capacity: ArrayLike) -> None:
        table = np.atleast_2d(_integers(weights, "weights"))
        limits = np.atleast_1d(_integers(capacity, "capacity"))
        if table.ndim != 2 or table.size == 0:
            raise ValueError(
                f"weights must have the shape (items,) or (dimensions, items); got {np.shape(weights)}."
            )
        if limits.shape != (len(table),):
            raise ValueError(
                f"capacity must have one number per dimension ({len(table)}); got {limits.size}."
            )
        wrong = np.argwhere(table <= 0)
        if len(wrong):
            k, j = wrong[0].tolist()
            raise ValueError(
                f"Weights must be positive; item {j} has the weight {table[k, j]}. Leave an item without "
                "weight out: it is always worth packing, or never."
            )
        if (limits < 0).any():
            raise ValueError(f"capacity must be at least 0; got {limits[limits < 0][0]}.")
        self.weights, self.capacity = table, limits
        self.instances = (Pack(table, limits),)

    @cached_property
    def instance_record(self) -> KnapsackRecord:
        packs: tuple[Pack, ...] = self.instances
        dimensions = {one.capacity.size for one in packs}
        if len(dimensions) > 1:
            raise ValueError(f"Knapsacks must have one number of dimensions; got {sorted(dimensions)}.")
        items = np.cumsum([0, *(one.n_parts for one in packs)])
        weights = np.concatenate([one.weights.T for one in packs])
        capacity, table = np.stack([one.capacity for one in packs]), np.array([one.table for one in packs])
        return KnapsackRecord(items, np.ascontiguousarray(weights), capacity, table, np.zeros(1, np.int64))

    @property
    def content(self) -> tuple[object, ...]:
        return *self.instance_record._replace(failed=np.empty(0)), *self.masks

    def raise_failure(self) -> None:
        super().raise_failure()
        if self.instance_record.failed[0]:
            self.instance_record.failed[0] = 0
            raise ValueError(
                "Branch and bound found no best packing in fifty million steps; use "
                "structlearn.structures.Program, whose solver may stop earlier with a bound."
            )


def _integers(given: ArrayLike, name: str) -> Array:
    """Return numbers that are whole as int64; ValueError for others."""
    values = np.asarray(given)
    if values.dtype.kind not in "iuf" or not np.isfinite(values).all() or (values != np.rint(values)).any():
        raise ValueError(
            f"{name} must be whole numbers; multiply weights and capacity by a power of ten and round."
        )
    if values.size and np.abs(values).max() >= 2**53:
        raise ValueError(f"{name} must be below 2^53.")
    return values.astype(np.int64)


# ---- compiled answers ------------------------------------------------------------------------------


@implements(workspace, KnapsackRecord)
@jitable
def knapsack_workspace(structure: KnapsackRecord, shape: Shape) -> KnapsackWork:
    n, dimensions = longest_range(structure.items), structure.capacity.shape[1]
    most = 0
    for g in range(structure.table.size):
        if structure.table[g] > 0:
            most = max(most, structure.capacity[g, 0] + 1)
    packed = np.empty((n if most else 0, most), dtype=np.bool_)
    return KnapsackWork(np.empty(most), packed, packing_work(n, dimensions))


@implements(max_value, KnapsackRecord)
@implements(maximize, KnapsackRecord)
@leaf
def knapsack_maximize(
    structure: KnapsackRecord, shape: Shape, theta: Array, shared: Array, work: KnapsackWork, vertex: Array
) -> float:
    g = shape[1]
    weights = structure.weights[structure.items[g] : structure.items[g + 1]]
    for j in range(vertex.size):
        vertex[j] = 0.0
    if structure.table[g] > 0:
        _fill_table(weights, structure.capacity[g, 0], theta, work, vertex)
    elif not pack(weights, structure.capacity[g], theta, work.branches, vertex):
        structure.failed[0] = 1
        return -np.inf
    value = 0.0
    for j in range(theta.size):
        value += theta[j] if vertex[j] > 0.0 else 0.0
    return value


@leaf
def _fill_table(weights: Array, capacity: int, theta: Array, work: KnapsackWork, vertex: Array) -> None:
    """Dynamic programming over items and capacities."""
    best, packed = work.best, work.packed
    for c in range(capacity + 1):
        best[c] = 0.0
    for j in range(theta.size):
        weight = weights[j, 0]
        if theta[j] <= 0.0 or weight > capacity:
            continue
        for c in range(capacity, weight - 1, -1):
            value = best[c - weight] + theta[j]
            packed[j, c] = value > best[c]
            best[c] = max(best[c], value)
    left = capacity
    for j in range(theta.size - 1, -1, -1):
        if theta[j] > 0.0 and weights[j, 0] <= left and packed[j, left]:
            vertex[j] = 1.0
            left -= weights[j, 0]
