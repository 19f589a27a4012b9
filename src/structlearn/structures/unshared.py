"""A structure whose shared parts are scored example by example, like all others.

Where features are given part by part, nothing is shared: transitions and pair tables have their own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from structlearn.core.contract import (
    Array,
    Shape,
    entropy,
    log_partition,
    marginals,
    marginals_workspace,
    max_value,
    maximize,
    project,
    project_workspace,
    shared_parts,
    workspace,
)
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.structures.base import Structure, Weights
from structlearn.structures.erased import Record, erase_inner, erases


class WholeRecord(NamedTuple):
    """Compiled form: theta holds the inner structure's local and then its shared parts."""

    inner: Record


class Whole(Structure):
    """The outputs of `inner`, with all their parts local.

    Parameters
    ----------
    inner : Structure
    """

    def __init__(self, inner: Structure) -> None:
        self.inner = inner
        self.exact = inner.exact
        self.accuracy = inner.accuracy
        self.part_ndim = inner.part_ndim
        self.bounded = inner.bounded
        self.to_tighten = inner.to_tighten
        self.largest_entry = inner.largest_entry
        self.signed = inner.signed
        self.threshold = inner.threshold
        self.no_marginals = inner.no_marginals

    @property
    def has_linear_parts(self) -> bool:
        return self.inner.has_linear_parts

    @property
    def content(self) -> tuple[object, ...]:
        return ("whole", *self.inner.content)

    @property
    def compiled(self) -> bool:
        return self.inner.compiled

    def raise_failure(self) -> None:
        self.inner.raise_failure()

    @property
    def record(self) -> WholeRecord:
        return WholeRecord(self.inner.record)

    def shape(self, theta: Array) -> Shape:
        return self.inner.shape(theta)

    def fits(self, shape: Shape | Array) -> bool | Array:
        return self.inner.fits(shape)

    def n_local(self, shape: Shape | Array) -> Any:
        return self.inner.n_local(shape) + self.inner.n_shared

    def n_curved(self, shape: Shape | Array) -> Any:
        return self.inner.n_curved(shape)

    def most_entries(self, shape: Shape) -> int:
        return self.inner.most_entries(shape)

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        return self.inner.encode(y, shape)

    def decode(self, vertex: Array) -> Any:
        return self.inner.decode(vertex)

    def cost(
        self, mu: Array, *, weights: Weights = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        return self.inner.cost(mu, weights=weights, nodes=nodes, normalized=normalized)


erases(WholeRecord)(erase_inner)


@implements(workspace, WholeRecord)
@jitable
def whole_workspace(structure: WholeRecord, shape: Shape) -> object:
    return workspace(structure.inner, shape)


@implements(maximize, WholeRecord)
@kernel
def whole_maximize(
    structure: WholeRecord, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    n_local = theta.size - shared_parts(structure.inner)
    return maximize(structure.inner, shape, theta[:n_local], theta[n_local:], work, vertex)


@implements(max_value, WholeRecord)
@kernel
def whole_max_value(
    structure: WholeRecord, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    n_local = theta.size - shared_parts(structure.inner)
    return max_value(structure.inner, shape, theta[:n_local], theta[n_local:], work, vertex)


@implements(marginals_workspace, WholeRecord)
@jitable
def whole_marginals_workspace(structure: WholeRecord, shape: Shape) -> object:
    return marginals_workspace(structure.inner, shape)


@implements(marginals, WholeRecord)
@kernel
def whole_marginals(
    structure: WholeRecord, shape: Shape, theta: Array, shared: Array, work: object, mean: Array
) -> float:
    n_local = theta.size - shared_parts(structure.inner)
    return marginals(structure.inner, shape, theta[:n_local], theta[n_local:], work, mean)


@implements(entropy, WholeRecord)
@kernel
def whole_entropy(
    structure: WholeRecord, shape: Shape, theta: Array, shared: Array, work: object, mean: Array, log_z: float
) -> float:
    n_local = theta.size - shared_parts(structure.inner)
    return entropy(structure.inner, shape, theta[:n_local], theta[n_local:], work, mean, log_z)


@implements(log_partition, WholeRecord)
@kernel
def whole_log_partition(
    structure: WholeRecord, shape: Shape, theta: Array, shared: Array, work: object, mean: Array
) -> float:
    n_local = theta.size - shared_parts(structure.inner)
    return log_partition(structure.inner, shape, theta[:n_local], theta[n_local:], work, mean)


@implements(project_workspace, WholeRecord)
@jitable
def whole_project_workspace(structure: WholeRecord, shape: Shape) -> object:
    return project_workspace(structure.inner, shape)


@implements(project, WholeRecord)
@kernel
def whole_project(
    structure: WholeRecord, shape: Shape, theta: Array, shared: Array, work: object, point: Array
) -> float:
    n_local = theta.size - shared_parts(structure.inner)
    return project(structure.inner, shape, theta[:n_local], theta[n_local:], work, point)
