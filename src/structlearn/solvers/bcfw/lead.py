"""Scoring weights that run ahead of w(z): what makes block-coordinate Frank-Wolfe a stochastic extragradient.

Frank-Wolfe scores blocks at w(z). The stochastic primal-dual hybrid gradient (Chambolle et al. 2018) scores
them at weights w of its own, which follow v = w(z) by steps of length tau and are extrapolated by what the
last visit has changed. A visit of block i by V = Phi_i^T (z_i' - z_i) does

    v <- v - p_i V / lambda,  w <- w - p_i n tau V,  and then  w <- v + (w - v) / (1 + lambda tau)

The first two are in proportion: a = v - w / (lambda n tau) stays. So a pass moves w alone, as Frank-Wolfe
does, with 1 / (n tau) in the place of lambda, and v = a + w / (lambda n tau) is there whenever it is wanted.
Where m visits are made before w follows, it does so by the power m of the factor. The step inside a block is
that of Frank-Wolfe too, with cc / (n tau) in place of lambda. For tau = 1 / (lambda n) and cc = 1, v is w.

With an elastic net lambda_1 ||w||_1 + lambda_2 / 2 ||w||^2, lambda is lambda_2, and w(z) = soft(v, t) for the
threshold t = lambda_1 / lambda_2: w follows it by proximal steps, after which most of it is zero. Where no
weight may be negative, w(z) = max(v - t, 0): the dead zone of v, [-t, t], then reaches down to -infinity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, kernel


class Pace(NamedTuple):
    """The step lengths of visits; for Frank-Wolfe both are lambda."""

    #: w moves by p_i / strength of what z_i does: 1 / (n tau)
    strength: float
    #: what stands in the place of lambda inside a block
    metric: float

    @classmethod
    def of_frank_wolfe(cls, regularization: float) -> Pace:
        return cls(float(regularization), float(regularization))


class Lead(NamedTuple):
    """What scoring weights that are not w(z) need beside themselves. Arrays are changed in place."""

    #: a
    anchor: Array
    #: over the ends of sweeps, the means of w and of v
    weights: Array
    followed: Array
    #: see below
    scalars: Array

    @classmethod
    def of(cls, n_weights: int) -> Lead:
        """Make a lead with empty means."""
        anchor, weights, followed = np.zeros((3, n_weights))
        return cls(anchor, weights, followed, np.array([0.0, 0.0, 0.0, np.inf, 0.0]))


#: Places of the scalars: the mean of the costs of z, of how many sweeps, how many there were, the gap when
#: the means began, how often w has followed.
MEAN_COST, MEANT, SWEEPS, FIRST_GAP, FOLLOWED = range(5)


@kernel
def follow(
    w: Array, anchor: Array, ratio: float, left: float, next_ratio: float, threshold: float, positive: bool
) -> None:
    """Move w towards w(z) until `left` of the way is left; v = anchor + ratio w stays.

    The anchor is then that of another ratio.
    """
    for j in range(w.size):
        v = anchor[j] + ratio * w[j]
        w[j] = nearer(w[j], v, left, threshold, positive)
        anchor[j] = v - next_ratio * w[j]


@jitable
def nearer(w: float, v: float, left: float, threshold: float, positive: bool) -> float:
    """Return one weight after proximal steps w <- prox_{tau R}(w + tau u), where v = u / lambda_2.

    Without a threshold w <- v + left (w - v). With one, a weight above zero goes towards v - threshold in the
    same way, one below zero towards v + threshold. Zero, where they get to it, keeps those with |v| within
    the threshold, and lets others go on for the time that remains. Where weights must not be negative, zero
    is where one from above stays, and where one from below is at once.
    """
    if positive:
        aim = v - threshold
        return max(aim + left * (max(w, 0.0) - aim), 0.0)
    if threshold == 0.0:
        return v + left * (w - v)
    side = 1.0 if w > 0.0 or (w == 0.0 and v > 0.0) else -1.0
    aim = v - side * threshold
    new = aim + left * (w - aim)
    if new * side > 0.0:
        return new
    beyond = abs(v) - threshold
    if beyond <= 0.0:
        return 0.0
    rest = left * (aim - w) / aim
    return (beyond if v > 0.0 else -beyond) * (1.0 - rest) + 0.0  # no zero with a sign


@kernel
def join_means(w: Array, anchor: Array, weights: Array, followed: Array, ratio: float, share: float) -> None:
    """Add w and v to the means with this share."""
    for j in range(w.size):
        weights[j] = (1.0 - share) * weights[j] + share * w[j]
        followed[j] = (1.0 - share) * followed[j] + share * (anchor[j] + ratio * w[j])


@kernel
def squares(w: Array, anchor: Array, ratio: float, threshold: float, positive: bool) -> tuple[float, float]:
    """Return ||w(z)||^2 and ||v||^2."""
    square = whole = 0.0
    for j in range(w.size):
        v = anchor[j] + ratio * w[j]
        whole += v * v
        v = v if positive else abs(v)
        if v > threshold:
            square += (v - threshold) ** 2
    return square, whole
