"""The Euclidean projection onto the simplex (sparsemax), in expected linear time."""

from __future__ import annotations

from typing import Any

import numpy as np

from structlearn.core.kernels import leaf

LANES = 8


@leaf
def largest(theta: Any) -> Any:
    """max_k theta_k, in eight lanes, since the compiler does not reorder comparisons."""
    a = b = c = d = e = f = g = h = theta[0]
    by_lanes = theta.size // LANES * LANES
    for k in range(0, by_lanes, LANES):
        a, b = max(a, theta[k]), max(b, theta[k + 1])
        c, d = max(c, theta[k + 2]), max(d, theta[k + 3])
        e, f = max(e, theta[k + 4]), max(f, theta[k + 5])
        g, h = max(g, theta[k + 6]), max(h, theta[k + 7])
    for k in range(by_lanes, theta.size):
        a = max(a, theta[k])
    return max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))


@leaf
def sparsemax(theta: Any, z: Any) -> Any:
    """z <- argmin_{z >= 0, sum z = 1} 1/2 ||z - theta||^2 = max(theta - tau, 0).

    Returns <theta, z> - 1/2 ||z||^2, or -inf where every score is.

    sum_k max(theta_k - tau, 0) = 1 has one root tau. The sum falls with tau, is convex, and its pieces are
    linear, so Newton's method from the left never passes the root, and is done when a step finds the support
    of the step before (Michelot 1986). The loops have no branches: they vectorise.
    """
    top = largest(theta)
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
    # 2. The other steps (none from a tau that is no number).
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
