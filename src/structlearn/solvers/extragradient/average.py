"""Averages of the iterates of a saddle-point method, and what can be certified of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.objective import Objective
from structlearn.problem.penalties import RadialPenalty
from structlearn.solvers.extragradient.saddle import Point
from structlearn.solvers.solver import Candidate


class Average(NamedTuple):
    """Weighted mean of points (w, z). The dual map and the cost are linear in z: they stand for it."""

    total: float
    w: Array
    dual_map: Array
    cost: float
    #: full form only
    z: Array | None

    @classmethod
    def empty(cls, n_weights: int) -> Average:
        return cls(0.0, np.zeros(n_weights), np.zeros(n_weights), 0.0, None)

    def with_point(self, w: Array, point: Point, weight: float) -> Average:
        """Return the average with one more point."""
        total = self.total + weight
        fraction = weight / total
        z = point.z
        if z is not None and self.z is not None:
            z = self.z + fraction * (z - self.z)
        return Average(
            total,
            self.w + fraction * (w - self.w),
            self.dual_map + fraction * (point.dual_map - self.dual_map),
            self.cost + fraction * (point.cost - self.cost),
            z,
        )

    def candidate(self, objective: Objective, penalty: RadialPenalty, radius: float) -> Candidate:
        """Return P and D of the mean, and the papers' restricted gap, for ||w|| <= radius and all z."""
        primal = objective.primal(self.w)
        dual = objective.dual_of_map(self.dual_map, self.cost)
        restricted = primal - restricted_dual(penalty, self.dual_map, self.cost, radius)
        return Candidate(self.w, primal, dual, extra={"restricted_gap": restricted})


def restricted_dual(penalty: RadialPenalty, dual_map: Array, cost: float, radius: float) -> float:
    """min_{||w|| <= radius} R(w) - <w, u(z)> + cost(z): D(z), as far as weights within the radius tell."""
    w = penalty.weights_of(dual_map)
    length = float(np.linalg.norm(w))
    if length > radius:
        w = w * (radius / length)
    return penalty.value(w) - float(w @ dual_map) + cost
