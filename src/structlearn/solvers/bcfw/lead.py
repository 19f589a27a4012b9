"""Scoring weights that run ahead of w(z): what makes block-coordinate Frank-Wolfe a stochastic extragradient.

Frank-Wolfe scores blocks at w(z). The stochastic primal-dual hybrid gradient (Chambolle et al. 2018) scores
them at weights w of its own, which follow v = w(z) by steps of length tau and are extrapolated by what the
last visit has changed. A visit of block i by V = Phi_i^T (z_i' - z_i) does

    v <- v - p_i V / lambda,  w <- w - p_i n tau V,  and then  w <- v + (w - v) / (1 + lambda tau)

The first two are in proportion: a = v - w / (lambda n tau) stays. So a pass moves w alone, as Frank-Wolfe
does, with 1 / (n tau) in the place of lambda, and v = a + w / (lambda n tau) is there whenever it is wanted.
Where m visits are made before w follows, it does so by the power m of the factor. The step inside a block is
that of Frank-Wolfe too, with cc / (n tau) in place of lambda. For tau = 1 / (lambda n) and cc = 1, v is w.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel


class Pace(NamedTuple):
    """How far visits go; of Frank-Wolfe both are lambda."""

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
        """With the mean of nothing."""
        anchor, weights, followed = np.zeros((3, n_weights))
        return cls(anchor, weights, followed, np.array([0.0, 0.0, 0.0, np.inf, 0.0]))


#: Places of the scalars: the mean of the costs of z, of how many sweeps, how many there were, the gap when
#: the means began, how often w has followed.
MEAN_COST, MEANT, SWEEPS, FIRST_GAP, FOLLOWED = range(5)


@kernel
def follow(w: Any, anchor: Any, ratio: Any, left: Any, next_ratio: Any) -> None:
    """w <- v + left (w - v), where v = anchor + ratio w stays; the anchor is then that of another ratio."""
    for j in range(w.size):
        v = anchor[j] + ratio * w[j]
        w[j] = v + left * (w[j] - v)
        anchor[j] = v - next_ratio * w[j]


@kernel
def join_means(w: Any, lead: Any, ratio: Any, share: Any) -> None:
    """w and v join the means with this share."""
    for j in range(w.size):
        lead.weights[j] = (1.0 - share) * lead.weights[j] + share * w[j]
        lead.followed[j] = (1.0 - share) * lead.followed[j] + share * (lead.anchor[j] + ratio * w[j])


@kernel
def square_of_v(w: Any, anchor: Any, ratio: Any) -> Any:
    """||v||^2."""
    total = 0.0
    for j in range(w.size):
        total += (anchor[j] + ratio * w[j]) ** 2
    return total
