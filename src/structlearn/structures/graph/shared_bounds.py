"""Labellings and bounds of wide graphs behind one address: `maximize` and `max_value` compile once for both.

All of message passing, maximum flow and branch and bound is in each of them.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import types

from structlearn.core import contract as of
from structlearn.core.contract import Array, Shape
from structlearn.core.erased import INT, c_function
from structlearn.core.kernels import implements, leaf
from structlearn.core.words import PackedWords, Words, call, load_words, vector
from structlearn.structures.erased import OUTPUT, ErasedStructure, erase_whole, erases
from structlearn.structures.graph.bounded import BoundedGraphs, bounded_answer


class SharedBounds(NamedTuple):
    """Addresses of `BoundedGraphs` with scratch memory, and of the function that answers for them."""

    words: int
    answer: int


@c_function(*OUTPUT, INT)
def answer(
    me: PackedWords,
    rows: int,
    columns: int,
    theta: types.CPointer,
    n_theta: int,
    shared: types.CPointer,
    n_shared: int,
    vertex: types.CPointer,
    n: int,
    tight: int,
) -> float:
    structure, work = load_words(me)
    local, others = vector(theta, n_theta), vector(shared, n_shared)
    return bounded_answer(structure, (rows, columns), local, others, work, vector(vertex, n), tight == 1)


@implements(of.maximize, SharedBounds)
@leaf
def shared_maximize(
    structure: SharedBounds, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    return call(structure.answer, (structure.words, shape[0], shape[1], theta, shared, vertex, 0))


@implements(of.max_value, SharedBounds)
@leaf
def shared_max_value(
    structure: SharedBounds, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    return call(structure.answer, (structure.words, shape[0], shape[1], theta, shared, vertex, 1))


@erases(BoundedGraphs)
def erase_bounds(
    record: BoundedGraphs, largest: Shape, operations: frozenset[str]
) -> tuple[ErasedStructure, object]:
    """Erase a record whose projections have scratch memory of their own."""
    words = Words(record, of.workspace(record, largest))
    shared = SharedBounds(words.address, answer.address(words.kind))
    erased, owners = erase_whole(shared, largest, operations - {"project"})
    if "project" not in operations:
        return erased, (words, owners)
    projected, owner = erase_whole(record, largest, frozenset({"project"}))
    erased = erased._replace(project_words=projected.project_words, project=projected.project)
    return erased, (words, owners, owner)
