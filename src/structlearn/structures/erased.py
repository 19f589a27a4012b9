"""Any structure behind C addresses: the one record that passes are compiled for (see `core.erased`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from numba import types

from structlearn.core import contract as of
from structlearn.core.callbacks import UNCOMPILED
from structlearn.core.contract import Array, Shape
from structlearn.core.erased import FLOAT, INT, NUMBERS, c_function
from structlearn.core.kernels import implementation, implements, jitable, leaf
from structlearn.core.words import PackedWords, Words, call, load_words, vector
from structlearn.structures.regularized import Quadratic, no_omega, no_workspace
from structlearn.structures.sparsemap import SparseMAP, active_set_project, active_set_workspace

#: What operations on one output take: its shape, the scores of its parts, shared ones, and room for a point.
OUTPUT = (INT, INT, *NUMBERS, *NUMBERS, *NUMBERS)


#: In the place of an address: Omega is zero.
NO_OMEGA = 1


class ErasedStructure(NamedTuple):
    """Addresses of a record with its scratch memory, and of its operations, or UNCOMPILED.

    That of `omega` is NO_OMEGA where there is none.
    """

    words: int = 0
    maximize: int = UNCOMPILED
    max_value: int = UNCOMPILED
    omega: int = UNCOMPILED
    project_words: int = 0
    project: int = UNCOMPILED
    strong_convexity: float = 0.0
    n_shared: int = 0


#: A NamedTuple of numbers, arrays and such records, for which operations are implemented.
Record: TypeAlias = tuple[object, ...]
Rule: TypeAlias = Callable[[Any, Shape, frozenset[str]], tuple[ErasedStructure, object]]
_RULES: dict[type, Rule] = {}


def erases(record: type) -> Callable[[Rule], Rule]:
    """Register the decorated function as the way to erase records of a class."""

    def register(rule: Rule) -> Rule:
        _RULES[record] = rule
        return rule

    return register


def erase_structure(
    record: Record, largest: Shape, operations: frozenset[str]
) -> tuple[ErasedStructure, object]:
    """Put a structure's record behind addresses; return that, and what must live as long.

    largest : a shape that scratch memory for every example fits
    """
    return _RULES.get(type(record), erase_whole)(record, largest, operations)


def erase_inner(record: Any, largest: Shape, operations: frozenset[str]) -> tuple[ErasedStructure, object]:
    """Erase the inner one of two nested records first, so that the outer one compiles once."""
    inner, owner = erase_structure(record.inner, largest, operations | {"maximize"})
    found, owners = erase_whole(record._replace(inner=inner), largest, operations)
    return found, (owner, owners)


@erases(Quadratic)
def _erase_quadratic(
    record: Quadratic, largest: Shape, operations: frozenset[str]
) -> tuple[ErasedStructure, object]:
    """Erase a record whose maximum is the projection."""
    inner, owner = erase_structure(record.inner, largest, frozenset({"project"}))
    words, found = inner.project_words, inner.project
    return ErasedStructure(words, found, found, NO_OMEGA, words, found, 1.0, inner.n_shared), owner


def erase_whole(record: Record, largest: Shape, operations: frozenset[str]) -> tuple[ErasedStructure, object]:
    """Compile every operation by itself, for the record as it is."""
    erased = ErasedStructure(n_shared=of.shared_parts(record), strong_convexity=of.strong_convexity(record))
    owners: list[object] = []
    asked = {name: function for name, function in _LINEAR.items() if name in operations}
    if implementation(of.omega, record) is no_omega:
        asked.pop("omega", None)
        erased = erased._replace(omega=NO_OMEGA)
    if asked:
        words = Words(record, of.workspace(record, largest))
        owners.append(words)
        same = implementation(of.max_value, record) is implementation(of.maximize, record)
        if "max_value" in asked and same:
            asked["max_value"] = maximize  # not compiled twice
        addresses = {name: function.address(words.kind) for name, function in asked.items()}
        erased = erased._replace(words=words.address, **addresses)
    if "project" in operations:
        words, owner = _for_projections(record, largest)
        owners += [words, owner]
        erased = erased._replace(project_words=words.address, project=project.address(words.kind))
    return erased, owners


def _for_projections(record: Record, largest: Shape) -> tuple[Words, object]:
    """Return the record and scratch memory for `project`, and what must live as long.

    SparseMAP is compiled once for all structures, around the address of `maximize`.
    """
    if implementation(of.project, record) is not active_set_project:
        return Words(record, of.project_workspace(record, largest)), None
    inner, owner = erase_structure(record, largest, frozenset({"maximize"}))
    n_local = of.local_parts(record, largest)
    return Words(SparseMAP(inner), active_set_workspace(inner, (n_local, 1))), owner


# ---- operations as C functions --------------------------------------------------------------------------


@c_function(*OUTPUT)
def maximize(
    me: PackedWords,
    rows: int,
    columns: int,
    theta: types.CPointer,
    n_theta: int,
    shared: types.CPointer,
    n_shared: int,
    vertex: types.CPointer,
    n: int,
) -> float:
    structure, work = load_words(me)
    local, others = vector(theta, n_theta), vector(shared, n_shared)
    return of.maximize(structure, (rows, columns), local, others, work, vector(vertex, n))


@c_function(*OUTPUT)
def max_value(
    me: PackedWords,
    rows: int,
    columns: int,
    theta: types.CPointer,
    n_theta: int,
    shared: types.CPointer,
    n_shared: int,
    vertex: types.CPointer,
    n: int,
) -> float:
    structure, work = load_words(me)
    local, others = vector(theta, n_theta), vector(shared, n_shared)
    return of.max_value(structure, (rows, columns), local, others, work, vector(vertex, n))


@c_function(*OUTPUT, FLOAT)
def omega(
    me: PackedWords,
    rows: int,
    columns: int,
    theta: types.CPointer,
    n_theta: int,
    shared: types.CPointer,
    n_shared: int,
    z: types.CPointer,
    n: int,
    value: float,
) -> float:
    structure, work = load_words(me)
    local, others = vector(theta, n_theta), vector(shared, n_shared)
    return of.omega(structure, (rows, columns), local, others, work, vector(z, n), value)


@c_function(*OUTPUT)
def project(
    me: PackedWords,
    rows: int,
    columns: int,
    theta: types.CPointer,
    n_theta: int,
    shared: types.CPointer,
    n_shared: int,
    point: types.CPointer,
    n: int,
) -> float:
    structure, work = load_words(me)
    local, others = vector(theta, n_theta), vector(shared, n_shared)
    return of.project(structure, (rows, columns), local, others, work, vector(point, n))


_LINEAR = {"maximize": maximize, "max_value": max_value, "omega": omega}


# ---- and back -------------------------------------------------------------------------------------------


@implements(of.shared_parts, ErasedStructure)
@jitable
def erased_shared_parts(structure: ErasedStructure) -> int:
    return structure.n_shared


@implements(of.strong_convexity, ErasedStructure)
@jitable
def erased_convexity(structure: ErasedStructure) -> float:
    return structure.strong_convexity


@implements(of.maximize, ErasedStructure)
@leaf
def erased_maximize(
    structure: ErasedStructure, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    return call(structure.maximize, (structure.words, shape[0], shape[1], theta, shared, vertex))


@implements(of.max_value, ErasedStructure)
@leaf
def erased_max_value(
    structure: ErasedStructure, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    return call(structure.max_value, (structure.words, shape[0], shape[1], theta, shared, vertex))


@implements(of.omega, ErasedStructure)
@leaf
def erased_omega(
    structure: ErasedStructure,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: object,
    z: Array,
    value: float,
) -> float:
    if structure.omega == NO_OMEGA:
        return 0.0
    return call(structure.omega, (structure.words, shape[0], shape[1], theta, shared, z, value))


implements(of.project_workspace, ErasedStructure)(no_workspace)


@implements(of.project, ErasedStructure)
@leaf
def erased_project(
    structure: ErasedStructure, shape: Shape, theta: Array, shared: Array, work: object, point: Array
) -> float:
    return call(structure.project, (structure.project_words, shape[0], shape[1], theta, shared, point))
