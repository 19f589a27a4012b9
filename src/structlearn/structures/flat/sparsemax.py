"""The Euclidean projection onto the simplex (sparsemax), in expected linear time."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import leaf
from structlearn.core.vectors import max_of


@leaf
def sparsemax(theta: Array, z: Array) -> float:
    """z <- argmin_{z >= 0, sum z = 1} 1/2 ||z - theta||^2 = max(theta - tau, 0).

    Returns <theta, z> - 1/2 ||z||^2, or -inf where every score is.

    sum_k max(theta_k - tau, 0) = 1 has one root tau. The sum falls with tau, is convex, and its pieces are
    linear, so Newton's method from the left never passes the root, and is done when a step finds the support
    of the step before (Michelot 1986). The loops have no branches: they vectorise.
    """
    top = max_of(theta)
    if top == -np.inf:
        z[:] = 0.0
        return top
    # 1. Scores relative to the largest, written down (at 1e6, theta - tau would lose ten digits), with the
    #    first step, from tau = top - 1.
    total = 0.0
    support = 0.0
    for k in range(theta.size):
        z[k] = theta[k] - top
        total += max(z[k] + 1.0, 0.0)
        support += 1.0 if z[k] > -1.0 else 0.0
    tau = (total - 1.0) / support - 1.0
    # 2. The other steps (none where tau is NaN).
    count, before = support, np.inf
    while 0.0 < count < before:
        before = count
        total = 0.0
        count = 0.0
        for k in range(z.size):
            total += max(z[k] - tau, 0.0)
            count += 1.0 if z[k] > tau else 0.0
        tau += (total - 1.0) / count
    # 3. The answer.
    value = 0.0
    for k in range(z.size):
        below = max(z[k], -1.0)  # no -inf * 0; what is below -1 gets 0
        z[k] = min(max(z[k] - tau, 0.0), 1.0)
        value += z[k] * (below - 0.5 * z[k])
    return top + value
