"""Penalties R on the weights: values, proximal maps, and what the dual needs.

The dual of R(w) + sum_i p_i loss_i is -R*(u) + cost(z) with u = sum_i p_i Phi_i^T (mu_i - z_i). Where R* is
infinite beyond a ball (norms), u is shrunk towards 0, that is z towards mu, until it is inside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.sentences import ParameterError


class Penalty(Protocol):
    """A convex function of the weights."""

    def value(self, w: Array) -> float:
        """Return R(w)."""

    def prox(self, v: Array, step: float) -> Array:
        """argmin_w 1/2 ||w - v||^2 + step R(w)."""

    def shrink(self, u: Array) -> float:
        """Return the largest s in [0, 1] for which R*(s u) is finite."""

    def conjugate(self, u: Array) -> float:
        """R*(u) = max_w <w, u> - R(w), where it is finite."""

    def slope(self, u: Array, cost: float) -> float:
        """Return an upper bound on the slope in u of D = s cost - R*(s u), s = shrink(u)."""


@runtime_checkable
class RadialPenalty(Penalty, Protocol):
    """A penalty that depends on ||w|| alone, so that its best weights point along u."""

    def weights_of(self, u: Array) -> Array:
        """argmax_w <w, u> - R(w)."""

    def reach(self, value: float) -> float:
        """Return the largest ||w|| for which R(w) <= value."""


def radial(penalty: Penalty, solver: str) -> RadialPenalty:
    """Return `penalty` itself; ValueError if it depends on more than the norm."""
    if isinstance(penalty, RadialPenalty):
        return penalty
    raise ParameterError(
        "Solver {given} takes the penalty 'l2' or a radius; use {solver=proximal}.", given=repr(solver)
    )


@dataclass(frozen=True)
class SquaredL2:
    """R(w) = lambda/2 ||w||^2."""

    strength: float

    def value(self, w: Array) -> float:
        return self.strength / 2 * float(w @ w)

    def prox(self, v: Array, step: float) -> Array:
        return v / (1 + step * self.strength)

    def shrink(self, u: Array) -> float:
        return 1.0 if self.strength > 0 else 0.0

    def conjugate(self, u: Array) -> float:
        return float(u @ u) / (2 * self.strength) if self.strength > 0 else 0.0

    def slope(self, u: Array, cost: float) -> float:
        return float(np.linalg.norm(u)) / self.strength if self.strength > 0 else 0.0

    def weights_of(self, u: Array) -> Array:
        return u / self.strength

    def reach(self, value: float) -> float:
        return sqrt(2 * value / self.strength)


@dataclass(frozen=True)
class Ball:
    """R(w) = 0 where ||w|| <= radius, else infinite: training within a ball, without a lambda."""

    radius: float

    def value(self, w: Array) -> float:
        return 0.0 if float(np.linalg.norm(w)) <= self.radius * (1 + 1e-12) else np.inf

    def prox(self, v: Array, step: float) -> Array:
        length = float(np.linalg.norm(v))
        return v if length <= self.radius else v * (self.radius / length)

    def shrink(self, u: Array) -> float:
        return 1.0

    def conjugate(self, u: Array) -> float:
        return self.radius * float(np.linalg.norm(u))

    def slope(self, u: Array, cost: float) -> float:
        return self.radius

    def weights_of(self, u: Array) -> Array:
        length = float(np.linalg.norm(u))
        return u * (self.radius / length) if length > 0 else np.zeros(u.size)

    def reach(self, value: float) -> float:
        return self.radius


@dataclass(frozen=True)
class ElasticNet:
    """R(w) = lambda (ratio ||w||_1 + (1 - ratio)/2 ||w||^2); ratio = 1 is the L1 norm (lasso)."""

    strength: float
    ratio: float = 1.0

    @property
    def squared(self) -> float:
        """The factor of ||w||^2 / 2."""
        return self.strength * (1 - self.ratio)

    def value(self, w: Array) -> float:
        squared = (1 - self.ratio) / 2 * float(w @ w) if self.ratio < 1 else 0.0
        return self.strength * (self.ratio * float(np.abs(w).sum()) + squared)

    def prox(self, v: Array, step: float) -> Array:
        threshold = step * self.strength * self.ratio
        soft = np.sign(v) * np.maximum(np.abs(v) - threshold, 0.0)
        return soft / (1 + step * self.strength * (1 - self.ratio))

    def shrink(self, u: Array) -> float:
        if self.ratio < 1 and self.strength > 0:
            return 1.0
        largest = float(np.abs(u).max(initial=0.0))
        return min(1.0, self.strength / largest) if largest > 0 else 1.0

    def conjugate(self, u: Array) -> float:
        if self.ratio >= 1 or self.strength == 0:
            return 0.0
        beyond = np.maximum(np.abs(u) - self.strength * self.ratio, 0.0)
        return float(beyond @ beyond) / (2 * self.strength * (1 - self.ratio))

    def slope(self, u: Array, cost: float) -> float:
        if self.ratio < 1 and self.strength > 0:
            beyond = np.maximum(np.abs(u) - self.strength * self.ratio, 0.0)
            return float(np.linalg.norm(beyond)) / (self.strength * (1 - self.ratio))
        return abs(cost) / self.strength if self.strength > 0 else 0.0


@dataclass(frozen=True)
class NonNegative:
    """R(w) = lambda/2 ||w||^2 where w >= 0, else infinite; R*(u) = ||max(u, 0)||^2 / (2 lambda)."""

    strength: float

    def value(self, w: Array) -> float:
        return self.strength / 2 * float(w @ w) if w.min(initial=0.0) >= 0 else np.inf

    def prox(self, v: Array, step: float) -> Array:
        return np.maximum(v, 0.0) / (1 + step * self.strength)

    def shrink(self, u: Array) -> float:
        return 1.0 if self.strength > 0 or u.max(initial=0.0) <= 0 else 0.0

    def conjugate(self, u: Array) -> float:
        above = np.maximum(u, 0.0)
        return float(above @ above) / (2 * self.strength) if self.strength > 0 else 0.0

    def slope(self, u: Array, cost: float) -> float:
        return float(np.linalg.norm(np.maximum(u, 0.0))) / self.strength if self.strength > 0 else 0.0


def squared_part(penalty: Penalty, regularization: float) -> float:
    """Return the factor of ||w||^2 / 2 in an elastic net; of any other penalty `regularization` itself."""
    if isinstance(penalty, ElasticNet) and penalty.ratio < 1:
        return penalty.squared
    return float(regularization)


class DeadZone(NamedTuple):
    """Where v = u(z) / squared part leaves a weight zero: [-t, t], or up to t if none may be negative."""

    threshold: float = 0.0
    positive: bool = False


def dead_zone(penalty: Penalty) -> DeadZone:
    """Return where w(z) is zero; beyond that it is the distance. The squared norm has no such zone."""
    if isinstance(penalty, NonNegative):
        return DeadZone(positive=True)
    if isinstance(penalty, ElasticNet):
        return DeadZone(penalty.strength * penalty.ratio / penalty.squared)
    return DeadZone()


@dataclass(frozen=True)
class GroupNorm:
    """R(w) = lambda sum_g ||w_g||, over groups that partition the weights.

    group : int array of shape (n_weights,), the group of each weight, 0 .. n_groups - 1.
    """

    strength: float
    group: Array = field(repr=False)

    def _norms(self, w: Array) -> Array:
        return np.sqrt(np.bincount(self.group, weights=w * w))

    def value(self, w: Array) -> float:
        return self.strength * float(self._norms(w).sum())

    def prox(self, v: Array, step: float) -> Array:
        norms = self._norms(v)
        keep = np.maximum(1 - step * self.strength / np.maximum(norms, 1e-300), 0.0)
        return v * keep[self.group]

    def shrink(self, u: Array) -> float:
        largest = float(self._norms(u).max(initial=0.0))
        return min(1.0, self.strength / largest) if largest > 0 else 1.0

    def conjugate(self, u: Array) -> float:
        return 0.0

    def slope(self, u: Array, cost: float) -> float:
        return abs(cost) / self.strength if self.strength > 0 else 0.0
