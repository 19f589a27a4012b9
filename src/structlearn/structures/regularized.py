"""Regularised polytopes: the same operations, with the vertex of <theta, z> - Omega(z) for an answer.

`Entropic(record)` answers `maximize` with the marginals and log Z, `Quadratic(record)` with the Euclidean
projection. So whatever asks for vertices, one at a time or for a whole data set, serves every Omega.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, NamedTuple

from structlearn.core.contract import (
    Array,
    Record,
    Shape,
    entropy,
    local_parts,
    log_partition,
    marginals,
    marginals_workspace,
    max_value,
    maximize,
    omega,
    project,
    project_workspace,
    shared_parts,
    strong_convexity,
    workspace,
)
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.core.rounding import UNIT

if TYPE_CHECKING:
    from structlearn.structures.erased import ErasedStructure


class Entropic(NamedTuple):
    """Omega(z) = -H(z), the negative entropy of the distribution over outputs with marginals z."""

    inner: tuple[object, ...]


class Quadratic(NamedTuple):
    """Omega(z) = 1/2 ||z||^2 over local parts."""

    inner: tuple[object, ...]


@implements(workspace, object)
@implements(marginals_workspace, object)
@jitable
def no_workspace(structure: ErasedStructure, shape: Shape) -> int:
    return 0


@implements(shared_parts, object)
@jitable
def no_shared_parts(structure: Record) -> int:
    return 0


@implements(local_parts, object)
@jitable
def rows_times_columns(structure: Record, shape: Shape) -> int:
    return shape[0] * shape[1]


@implements(strong_convexity, object)
@jitable
def no_convexity(structure: Record) -> float:
    return 0.0


@implements(strong_convexity, Quadratic)
@jitable
def unit_convexity(structure: Quadratic) -> float:
    return 1.0


@implements(omega, object)
@kernel
def no_omega(
    structure: Record, shape: Shape, theta: Array, shared: Array, work: object, z: Array, value: float
) -> float:
    return 0.0


@implements(entropy, object)
@kernel
def difference(
    structure: Record, shape: Shape, theta: Array, shared: Array, work: object, mean: Array, log_z: float
) -> float:
    """Return log Z - <theta, mean>, less possible rounding; 0/1 parts have at most 2^parts outputs."""
    return clip_entropy(entropy_difference(theta, shared, mean, log_z), theta.size * log(2.0))


@kernel
def entropy_difference(theta: Array, shared: Array, mean: Array, log_z: float) -> float:
    """Return log Z - <theta, mean>, less possible rounding."""
    inner, size = 0.0, abs(log_z)
    for j in range(mean.size):
        if mean[j] != 0.0:
            score = theta[j] if j < theta.size else shared[j - theta.size]
            inner += score * mean[j]
            size += abs(score) * max(1.0, abs(mean[j]))
    return log_z - inner - 8.0 * mean.size * UNIT * size


@kernel
def clip_entropy(entropy: float, most: float) -> float:
    """Clip an entropy to [0, most], whatever rounding has made of it."""
    return min(max(entropy, 0.0), most)


@implements(workspace, Entropic)
@jitable
def entropic_workspace(structure: Entropic, shape: Shape) -> object:
    return marginals_workspace(structure.inner, shape)


@implements(maximize, Entropic)
@kernel
def entropic_maximize(
    structure: Entropic, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    return marginals(structure.inner, shape, theta, shared, work, vertex)


@implements(omega, Entropic)
@kernel
def negative_entropy(
    structure: Entropic, shape: Shape, theta: Array, shared: Array, work: object, z: Array, value: float
) -> float:
    return -entropy(structure.inner, shape, theta, shared, work, z, value)


@implements(max_value, Entropic)
@kernel
def entropic_max_value(
    structure: Entropic, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    return log_partition(structure.inner, shape, theta, shared, work, vertex)


@implements(workspace, Quadratic)
@jitable
def quadratic_workspace(structure: Quadratic, shape: Shape) -> object:
    return project_workspace(structure.inner, shape)


@implements(max_value, Quadratic)
@implements(maximize, Quadratic)
@kernel
def quadratic_maximize(
    structure: Quadratic, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    return project(structure.inner, shape, theta, shared, work, vertex)
