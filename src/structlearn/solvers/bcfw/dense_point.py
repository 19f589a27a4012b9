"""A dense dual point: where to start from, and what it was before a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from structlearn.core.contract import Array, strong_convexity
from structlearn.core.kernels import kernel
from structlearn.problem.objective import Objective
from structlearn.problem.regularizers import Regularizer
from structlearn.solvers.bcfw.plain_pass import smooth_start
from structlearn.solvers.solution import Solution


@dataclass(frozen=True)
class DensePoint:
    """z, examples end to end, and a scalar h_i per block: summed transitions do not tell the entropy.

    Attributes
    ----------
    h : ndarray of shape (n_examples,)
        Lower bounds of -Omega(z_i); empty where Omega is zero.
    point_start : int array of shape (n_examples + 1,)
        Where each example begins in z.
    """

    z: Array
    h: Array
    regularizer: Regularizer
    point_start: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.z.shape

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.array(self.z, dtype) if copy else np.asarray(self.z, dtype)  # NumPy 1 has no copy=None

    def dense_blocks(self, first: int, last: int) -> Array:
        return self.z[self.point_start[first] : self.point_start[last]]

    @classmethod
    def of(cls, objective: Objective, z: Array, h: Array) -> DensePoint:
        return cls(z, h, objective.regularizer, objective.point_start)

    @classmethod
    def start(
        cls, objective: Objective, smoothing: float | None, warm: Solution | None
    ) -> tuple[DensePoint, Array, float]:
        """Return z, w(z) and the cost of z: from mu towards another run's point, or towards argmin Omega.

        The latter where Omega is steep at vertices. With w_1 = w(uniform), D at a fraction s of the way is at
        least s mean_i log |Y_i| - s^2 lambda/2 ||w_1||^2, whose best s is taken unless `smoothing` says.
        """
        if warm is not None and (known := cls.of_run(objective, warm)) is not None:
            point = known
            w, cost = point.weights(objective)
            fraction = objective.best_fraction(w, cost)
        elif objective.regularizer.smooth and not strong_convexity(objective.oracle.record):
            point = cls._between(objective, 1.0)
            w, cost = point.weights(objective)
            fraction = objective.best_fraction(w, cost) if smoothing is None else smoothing
        else:
            return cls._between(objective, 0.0), np.zeros(objective.n_weights), 0.0
        point._shrink(objective, fraction)
        return point, fraction * w, fraction * cost

    @classmethod
    def _between(cls, objective: Objective, fraction: float) -> DensePoint:
        """Return the point a fraction of the way from mu to argmin Omega."""
        n_bounds = objective.scoring.n_examples if objective.regularizer.smooth else 0
        point = cls.of(objective, objective.gold_point(), np.zeros(n_bounds))
        if n_bounds:
            point._fill(objective, fraction)
        return point

    @classmethod
    def of_run(cls, objective: Objective, warm: Solution) -> DensePoint | None:
        """Return another run's z, with bounds h where Omega needs them; None if there is none that fits."""
        if warm.point is None:
            return None
        z = np.asarray(warm.point).copy()
        if not objective.regularizer.smooth:
            return cls.of(objective, z, np.empty(0))
        if isinstance(warm.point, DensePoint) and warm.point.regularizer == objective.regularizer:
            return cls.of(objective, z, warm.point.h.copy())
        if strong_convexity(objective.oracle.record):
            return cls.of(objective, z, np.zeros(objective.scoring.n_examples))
        terms = objective.regularizer.terms(objective.structure, z)
        if terms is None:
            return None
        return cls.of(objective, z, -np.add.reduceat(terms, objective.point_start[:-1]))

    def _shrink(self, objective: Objective, fraction: float) -> None:
        """z <- mu + fraction (z - mu), and h with it: -Omega is concave."""
        if fraction == 1.0:
            return
        z, h = self.z, self.h
        z *= fraction
        start = objective.point_start
        for first, last in objective.scoring.chunks():
            z[start[first] : start[last]] += (1.0 - fraction) * objective.gold_blocks(first, last)
        if h.size:
            h *= fraction
            h -= (1.0 - fraction) * objective.gold_omegas

    def _fill(self, objective: Objective, fraction: float) -> None:
        n_shared = objective.scoring.n_shared
        objective.oracle.run(smooth_start, objective.blocks, n_shared, fraction, self.z, self.h)

    def weights(self, objective: Objective) -> tuple[Array, float]:
        """Compute w(z) and the cost of z afresh from z; so is h where Omega is the squared norm."""
        w, cost = objective.weights_of(self.z)
        if not self.h.size:
            return w, cost
        if strong_convexity(objective.oracle.record):
            self.h[:] = 0.0
            self._fill(objective, 0.0)
        return w, cost + (float(objective.weight @ self.h) + objective.gold_omega)


# ---- a dense point as it was before a round --------------------------------------------------------


class Snapshot(NamedTuple):
    """z_i and h_i of some blocks before a round (see `rounds`); those of the q-th begin at first[q]."""

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
            _set_half_squares(self, objective.point_start, objective.blocks.curved, z, h)
        return float(objective.weight[self.order] @ (h[self.order] - mixed))


@kernel
def take(snapshot: Snapshot, begin: Array, z: Array) -> None:
    """Copy the blocks' entries, end to end."""
    for q in range(snapshot.order.size):
        at = begin[snapshot.order[q]]
        for j in range(snapshot.first[q], snapshot.first[q + 1]):
            snapshot.z[j] = z[at + j - snapshot.first[q]]


@kernel
def go_back(snapshot: Snapshot, begin: Array, fraction: float, z: Array) -> None:
    for q in range(snapshot.order.size):
        at = begin[snapshot.order[q]] - snapshot.first[q]
        for j in range(snapshot.first[q], snapshot.first[q + 1]):
            z[at + j] = snapshot.z[j] + fraction * (z[at + j] - snapshot.z[j])


@kernel
def _set_half_squares(snapshot: Snapshot, begin: Array, curved: Array, z: Array, h: Array) -> None:
    """h_i <- -1/2 ||z_i||^2, without the parts that enter linearly."""
    for q in range(snapshot.order.size):
        i = snapshot.order[q]
        total = 0.0
        for j in range(begin[i], begin[i] + curved[i]):
            total += z[j] * z[j]
        h[i] = -total / 2.0
