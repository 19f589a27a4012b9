"""Regularised polytopes: the same questions, with the corner of <theta, z> - Omega(z) for an answer.

`Entropic(record)` answers `corner` with the marginals and log Z, `Quadratic(record)` with the Euclidean
projection. So whatever asks for corners, one at a time or for a whole data set, serves every Omega.
"""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

from structlearn.core.contract import (
    corner,
    curvature,
    entropy,
    gibbs,
    gibbs_workspace,
    log_partition,
    nearest,
    nearest_workspace,
    omega,
    peak,
    workspace,
)
from structlearn.core.kernels import answer, kernel
from structlearn.core.rounding import UNIT


class Entropic(NamedTuple):
    """Omega(z) = -H(z), the negative entropy of the distribution over outputs with marginals z."""

    inner: Any


class Quadratic(NamedTuple):
    """Omega(z) = 1/2 ||z||^2 over local parts."""

    inner: Any


class PlainQuadratic:
    """The same for a plain Python object that answers `nearest`."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.workspace = inner.nearest_workspace
        self.corner = self.peak = inner.nearest

    def curvature(self) -> float:
        return 1.0


def quadratic(record: Any) -> Quadratic | PlainQuadratic:
    """The record of <theta, z> - 1/2 ||z||^2, compiled where the structure is."""
    return Quadratic(record) if isinstance(record, tuple) else PlainQuadratic(record)


@answer(curvature, object)
@kernel
def no_curvature(structure: Any) -> Any:
    return 0.0


@answer(curvature, Quadratic)
@kernel
def unit_curvature(structure: Any) -> Any:
    return 1.0


@answer(omega, object)
@kernel
def no_omega(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, z: Any, value: Any) -> Any:
    return 0.0


@answer(entropy, object)
@kernel
def difference(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, mean: Any, log_z: Any) -> Any:
    """log Z - <theta, mean>, less what rounding may have added; 0/1 parts have at most 2^parts outputs."""
    inner, size = 0.0, abs(log_z)
    for j in range(mean.size):
        if mean[j] > 0.0:
            score = theta[j] if j < theta.size else shared[j - theta.size]
            inner += score * mean[j]
            size += abs(score)
    return clipped(log_z - inner - 8.0 * mean.size * UNIT * size, theta.size * log(2.0))


@kernel
def clipped(entropy: Any, most: Any) -> Any:
    """An entropy within [0, most], whatever rounding has made of it."""
    return min(max(entropy, 0.0), most)


@answer(workspace, Entropic)
@kernel
def entropic_workspace(structure: Any, shape: Any) -> Any:
    return gibbs_workspace(structure.inner, shape)


@answer(corner, Entropic)
@kernel
def entropic_corner(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, vertex: Any) -> Any:
    return gibbs(structure.inner, shape, theta, shared, work, vertex)


@answer(omega, Entropic)
@kernel
def negative_entropy(
    structure: Any, shape: Any, theta: Any, shared: Any, work: Any, z: Any, value: Any
) -> Any:
    return -entropy(structure.inner, shape, theta, shared, work, z, value)


@answer(peak, Entropic)
@kernel
def entropic_peak(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, vertex: Any) -> Any:
    return log_partition(structure.inner, shape, theta, shared, work, vertex)


@answer(workspace, Quadratic)
@kernel
def quadratic_workspace(structure: Any, shape: Any) -> Any:
    return nearest_workspace(structure.inner, shape)


@answer(peak, Quadratic)
@answer(corner, Quadratic)
@kernel
def quadratic_corner(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, vertex: Any) -> Any:
    return nearest(structure.inner, shape, theta, shared, work, vertex)
