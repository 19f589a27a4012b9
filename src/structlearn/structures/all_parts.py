"""The Euclidean projection with the norm over all parts, the shared ones included.

    max_{z in M} <theta, z> - 1/2 ||z||^2

`project` of a chain or a label graph leaves its shared parts out of the norm. A method whose steps must be
bounded in every part (the dual extragradient) asks here instead: by the same active set.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array, Shape, project, project_workspace, workspace
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.core.vectors import assign
from structlearn.structures.base import Structure
from structlearn.structures.erased import Record, erase_inner, erases
from structlearn.structures.regularized import Quadratic
from structlearn.structures.sparsemap import SparseMAPScratch, active_set_project, sparsemap_scratch
from structlearn.structures.unshared import Whole, WholeRecord


class AllParts(NamedTuple):
    """A compiled structure, how many parts it has beside local ones, and whether shapes name graphs."""

    inner: Record
    n_shared: int
    has_graphs: bool = False


class AllPartsScratch(NamedTuple):
    """Scratch memory: the scores of all parts in one vector, and the active set's."""

    scores: Array
    active: SparseMAPScratch


def squared_norm_record(structure: Structure) -> Quadratic:
    """Return the record whose vertex is argmax <theta, z> - 1/2 ||z||^2, the norm over all parts."""
    if not structure.has_linear_parts:
        return Quadratic(structure.record)
    own = structure.inner if isinstance(structure, Whole) else structure
    return Quadratic(AllParts(own.record, own.n_shared, own.has_graphs))


erases(AllParts)(erase_inner)


@implements(project_workspace, AllParts)
@jitable
def all_parts_workspace(structure: AllParts, shape: Shape) -> AllPartsScratch:
    n_parts = shape[0] * (1 if structure.has_graphs else shape[1]) + structure.n_shared
    active = sparsemap_scratch(n_parts, n_parts, workspace(structure.inner, shape))
    return AllPartsScratch(np.empty(n_parts), active)


@implements(project, AllParts)
@kernel
def all_parts_project(
    structure: AllParts, shape: Shape, theta: Array, shared: Array, work: AllPartsScratch, point: Array
) -> float:
    """Project with `theta` and `shared` together as the scores of all parts, wherever they are cut."""
    scores = work.scores[: theta.size + shared.size]
    assign(scores, theta)
    assign(scores[theta.size :], shared)
    return active_set_project(WholeRecord(structure.inner), shape, scores, shared[:0], work.active, point)
