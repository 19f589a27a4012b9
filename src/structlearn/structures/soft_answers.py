"""Answers of a user's `marginals` and `project` in plain Python, checked.

`marginals(theta)` returns (mean, log_partition), the expected parts under p(y) ~ exp <theta, y> and log Z.
`project(theta)` returns the point p of the hull of all outputs that is nearest to theta. For any p of it

    0  <=  max_z { <theta, z> - 1/2 ||z||^2 } - { <theta, p> - 1/2 ||p||^2 }  <=  max_v <theta - p, v - p>,

so that one more question to `maximize` says how far a projection may be from the right one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.errors import OracleError
from structlearn.core.rounding import MATERIAL


class Mean(NamedTuple):
    """Marginals, and the logarithm of the partition function."""

    parts: Array
    log_partition: float


def checked_marginals(answer: Any, theta: Array) -> Mean:
    """Return what a `marginals` has returned, if it can be; OracleError otherwise."""
    if not isinstance(answer, tuple) or len(answer) != 2 or np.ndim(answer[1]):
        raise OracleError(
            "marginals must return (mean, log_partition): the expected parts, and the logarithm of the sum "
            "of exp <theta, y> over all outputs y."
        )
    log_z = float(answer[1])
    if not np.isfinite(log_z):
        raise OracleError(f"marginals returned the log-partition {log_z}; it must be a finite number.")
    return Mean(_checked_point("marginals", answer[0], theta), log_z)


def checked_projection(answer: Any, theta: Array) -> Array:
    """Return what a `project` has returned, if it is a point; OracleError otherwise."""
    return _checked_point("project", answer, theta)


def _checked_point(name: str, given: Any, theta: Array) -> Array:
    point = np.asarray(given, dtype=np.float64).ravel()
    if point.shape != theta.shape:
        raise OracleError(f"{name} must return a vector of {theta.size} parts; it returned {point.size}.")
    if not np.isfinite(point).all():
        raise OracleError(f"{name} must return finite numbers; it returned NaN or inf.")
    return point


def projected_value(theta: Array, point: Array, highest: float, *, is_bound: bool) -> float:
    """Return a bound of max_z <theta, z> - 1/2 ||z||^2 by the formula above; OracleError if it is far off.

    highest : max_v <theta - p, v>, or a bound of it, which may be loose
    """
    used = point != 0.0  # -inf * 0 is NaN
    terms = theta[used] * point[used]
    square = float(point @ point)
    value = float(terms.sum()) - square / 2.0
    missing = highest + square / 2.0 - value
    scale = 1.0 + float(np.abs(terms).sum()) + square
    if missing > MATERIAL * scale and not is_bound:
        raise OracleError(
            f"project returned a point from which theta can be approached further: another one is better by "
            f"up to {missing:.3g}; correct `project`, or leave it out, since `maximize` suffices."
        )
    return value + max(missing, 0.0)
