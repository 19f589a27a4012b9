"""A structure whose shared parts are scored example by example, like all others.

Where features are given part by part, nothing is shared: transitions and pair tables have their own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from structlearn.core.contract import (
    Array,
    Shape,
    corner,
    entropy,
    gibbs,
    gibbs_workspace,
    log_partition,
    nearest,
    nearest_workspace,
    peak,
    workspace,
)
from structlearn.core.kernels import answer, kernel
from structlearn.structures.base import Structure


class WholeRecord(NamedTuple):
    """Compiled form: theta holds the inner structure's local and then its shared parts."""

    inner: Any


class PlainWhole:
    """The same for a structure whose record is a plain Python object."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def workspace(self, shape: Shape) -> Any:
        return workspace(self.inner, shape)

    def corner(self, shape: Shape, theta: Array, shared: Array, work: Any, vertex: Array) -> Any:
        n_local = shape[0] * shape[1]
        return corner(self.inner, shape, theta[:n_local], theta[n_local:], work, vertex)

    peak = corner

    def nearest_workspace(self, shape: Shape) -> Any:
        return nearest_workspace(self.inner, shape)

    def nearest(self, shape: Shape, theta: Array, shared: Array, work: Any, point: Array) -> Any:
        n_local = shape[0] * shape[1]
        return nearest(self.inner, shape, theta[:n_local], theta[n_local:], work, point)


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
        self.threshold = inner.threshold
        self.no_marginals = inner.no_marginals

    @property
    def has_linear_parts(self) -> bool:
        return self.inner.has_linear_parts

    @property
    def record(self) -> WholeRecord | PlainWhole:
        record = self.inner.record
        return WholeRecord(record) if isinstance(record, tuple) else PlainWhole(record)

    def shape(self, theta: Array) -> Shape:
        return self.inner.shape(theta)

    def fits(self, shape: Any) -> Any:
        return self.inner.fits(shape)

    def n_local(self, shape: Any) -> Any:
        return self.inner.n_local(shape) + self.inner.n_shared

    def n_curved(self, shape: Any) -> Any:
        return self.inner.n_curved(shape)

    def most_entries(self, shape: Shape) -> int:
        return self.inner.most_entries(shape)

    def encode(self, y: Any, shape: Shape | None = None) -> Array:
        return self.inner.encode(y, shape)

    def decode(self, vertex: Array) -> Any:
        return self.inner.decode(vertex)

    def cost(self, mu: Array, *, weights: Any = None, nodes: Any = None, normalized: bool = True) -> Array:
        return self.inner.cost(mu, weights=weights, nodes=nodes, normalized=normalized)


@answer(workspace, WholeRecord)
@kernel
def whole_workspace(structure: Any, shape: Any) -> Any:
    return workspace(structure.inner, shape)


@answer(corner, WholeRecord)
@kernel
def whole_corner(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, vertex: Any) -> Any:
    n_local = shape[0] * shape[1]
    return corner(structure.inner, shape, theta[:n_local], theta[n_local:], work, vertex)


@answer(peak, WholeRecord)
@kernel
def whole_peak(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, vertex: Any) -> Any:
    n_local = shape[0] * shape[1]
    return peak(structure.inner, shape, theta[:n_local], theta[n_local:], work, vertex)


@answer(gibbs_workspace, WholeRecord)
@kernel
def whole_gibbs_workspace(structure: Any, shape: Any) -> Any:
    return gibbs_workspace(structure.inner, shape)


@answer(gibbs, WholeRecord)
@kernel
def whole_gibbs(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, mean: Any) -> Any:
    n_local = shape[0] * shape[1]
    return gibbs(structure.inner, shape, theta[:n_local], theta[n_local:], work, mean)


@answer(entropy, WholeRecord)
@kernel
def whole_entropy(
    structure: Any, shape: Any, theta: Any, shared: Any, work: Any, mean: Any, log_z: Any
) -> Any:
    n_local = shape[0] * shape[1]
    return entropy(structure.inner, shape, theta[:n_local], theta[n_local:], work, mean, log_z)


@answer(log_partition, WholeRecord)
@kernel
def whole_log_partition(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, mean: Any) -> Any:
    n_local = shape[0] * shape[1]
    return log_partition(structure.inner, shape, theta[:n_local], theta[n_local:], work, mean)


@answer(nearest_workspace, WholeRecord)
@kernel
def whole_nearest_workspace(structure: Any, shape: Any) -> Any:
    return nearest_workspace(structure.inner, shape)


@answer(nearest, WholeRecord)
@kernel
def whole_nearest(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, point: Any) -> Any:
    n_local = shape[0] * shape[1]
    return nearest(structure.inner, shape, theta[:n_local], theta[n_local:], work, point)
