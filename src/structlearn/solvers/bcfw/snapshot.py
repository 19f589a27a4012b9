"""Dense blocks as they were before a round (see `rounds`): any fraction of their way can be committed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array, strong_convexity
from structlearn.core.kernels import kernel
from structlearn.problem.objective import Objective
from structlearn.solvers.bcfw.dense_point import DensePoint


class Snapshot(NamedTuple):
    """z_i and h_i of some blocks; those of the q-th begin at first[q]."""

    order: Array
    first: Array
    z: Array
    h: Array

    @classmethod
    def of(cls, objective: Objective, point: DensePoint, order: Array) -> Snapshot:
        begin, h = objective.point_start, point.h
        first = np.zeros(order.size + 1, dtype=np.int64)
        np.cumsum(begin[order + 1] - begin[order], out=first[1:])
        snapshot = cls(order, first, np.empty(first[-1]), h[order] if h.size else h)
        take(snapshot, begin, point.z)
        return snapshot

    def commit(self, objective: Objective, point: DensePoint, fraction: float) -> float:
        """z_i <- old + fraction (z_i - old); what the cost of z gains beyond that fraction.

        -Omega is concave, so that its bound h may go with z. The squared norm is known from z itself: there
        the bound is taken afresh.
        """
        z, h = point.z, point.h
        go_back(self, objective.point_start, fraction, z)
        if not h.size:
            return 0.0
        mixed = self.h + fraction * (h[self.order] - self.h)
        h[self.order] = mixed
        if strong_convexity(objective.oracle.record):
            square(self, objective.point_start, objective.blocks.curved, z, h)
        return float(objective.weight[self.order] @ (h[self.order] - mixed))


@kernel
def take(snapshot: Any, begin: Any, z: Any) -> None:
    """The blocks' entries, end to end."""
    for q in range(snapshot.order.size):
        at = begin[snapshot.order[q]]
        for j in range(snapshot.first[q], snapshot.first[q + 1]):
            snapshot.z[j] = z[at + j - snapshot.first[q]]


@kernel
def go_back(snapshot: Any, begin: Any, fraction: Any, z: Any) -> None:
    for q in range(snapshot.order.size):
        at = begin[snapshot.order[q]] - snapshot.first[q]
        for j in range(snapshot.first[q], snapshot.first[q + 1]):
            z[at + j] = snapshot.z[j] + fraction * (z[at + j] - snapshot.z[j])


@kernel
def square(snapshot: Any, begin: Any, curved: Any, z: Any, h: Any) -> None:
    """h_i <- -1/2 ||z_i||^2, without the parts that enter linearly."""
    for q in range(snapshot.order.size):
        i = snapshot.order[q]
        total = 0.0
        for j in range(begin[i], begin[i] + curved[i]):
            total += z[j] * z[j]
        h[i] = -total / 2.0
