"""Scores that run ahead of w(z): what makes block-coordinate Frank-Wolfe a stochastic extragradient.

Frank-Wolfe scores a block at w(z). The stochastic primal-dual hybrid gradient (Chambolle et al. 2018) scores
it at weights of its own, which follow w(z) by steps of length tau and are extrapolated by what the last visit
has changed. With v = w(z) they are v + rho e, where a visit of block i by V = Phi_i^T (z_i' - z_i) does

    rho <- rho / (1 + lambda tau),  v <- v - p_i V / lambda,  e <- e + p_i (1/lambda - n tau) V / rho

so that only the support of V is touched. The step inside a block is that of Frank-Wolfe with cc / (n tau) in
place of lambda. For tau = 1 / (lambda n) and cc = 1, e is zero, and so is the difference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

#: Below this rho moves into e.
TINY = 1e-100


class Lead(NamedTuple):
    """How far, and at which pace, scores are ahead of w(z)."""

    #: e; empty where scores are those of w(z)
    ahead: Array
    #: rho, one number
    scale: Array
    #: 1 / (1 + lambda tau)
    shrink: float
    #: what stands in the place of lambda inside a block
    metric: float
    #: 1/lambda - n tau
    rate: float

    @classmethod
    def none(cls, regularization: float) -> Lead:
        """Of Frank-Wolfe."""
        return cls(np.empty(0), np.ones(1), 1.0, float(regularization), 0.0)


class SweepSums(NamedTuple):
    """Sums over the ends of sweeps: of the scoring weights, of w(z), and of the cost of z."""

    weights: Array
    followed: Array
    #: the cost, how many sweeps are summed, how many there were, the gap when the sums began
    scalars: Array


#: Places of the scalars of an average.
SUM_COST, SUMMED, SWEEPS, FIRST_GAP = range(4)


@kernel
def follow(lead: Any, w: Any, shared: Any) -> None:
    """The step of the scoring weights that a visit begins with; shared <- scores of the shared parts."""
    lead.scale[0] *= lead.shrink
    if lead.scale[0] < TINY:
        for j in range(lead.ahead.size):
            lead.ahead[j] *= lead.scale[0]
        lead.scale[0] = 1.0
    first = w.size - shared.size
    for j in range(shared.size):
        shared[j] = w[first + j] + lead.scale[0] * lead.ahead[first + j]


@kernel
def add_lead(lead: Any, more: Any, theta: Any) -> None:
    """theta <- theta + rho Phi_i e, where `more` is Phi_i e."""
    for j in range(theta.size):
        theta[j] += lead.scale[0] * more[j]
