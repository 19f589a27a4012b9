"""Reductions and copies of vectors. NumPy's own compile ten times as long inside a kernel."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import leaf

_LANES = 8


@leaf
def max_of(theta: Array) -> float:
    """Return max_k theta_k, in eight lanes, since the compiler does not reorder comparisons."""
    a = b = c = d = e = f = g = h = theta[0]
    by_lanes = theta.size // _LANES * _LANES
    for k in range(0, by_lanes, _LANES):
        a, b = max(a, theta[k]), max(b, theta[k + 1])
        c, d = max(c, theta[k + 2]), max(d, theta[k + 3])
        e, f = max(e, theta[k + 4]), max(f, theta[k + 5])
        g, h = max(g, theta[k + 6]), max(h, theta[k + 7])
    for k in range(by_lanes, theta.size):
        a = max(a, theta[k])
    return max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h)))


@leaf
def argmax_of(x: Array) -> int:
    """Return the index of the largest entry, the first of them if there are several."""
    best = 0
    for k in range(1, x.size):
        best = k if x[k] > x[best] else best
    return best


@leaf
def sum_of(x: Array) -> float:
    """Return the sum of the entries."""
    found = 0.0
    for k in range(x.size):
        found += x[k]
    return found


@leaf
def dot(x: Array, y: Array) -> float:
    """Return <x, y>."""
    found = 0.0
    for k in range(x.size):
        found += x[k] * y[k]
    return found


@leaf
def sum_of_exp(x: Array) -> float:
    """Return the sum of the exponentials of the entries."""
    found = 0.0
    for k in range(x.size):
        found += np.exp(x[k])
    return found


@leaf
def log_sum(x: Array) -> float:
    """Return log sum_k exp x_k; -inf where all entries are."""
    top = max_of(x)
    if top == -np.inf:
        return top
    total = 0.0
    for k in range(x.size):
        total += np.exp(x[k] - top)
    return top + np.log(total)


@leaf
def assign(out: Array, x: Array) -> None:
    """Set out[k] = x[k]. A slice assignment also compiles the text of the error that it may raise."""
    for k in range(x.size):
        out[k] = x[k]


@leaf
def longest_range(starts: Array) -> int:
    """Return the largest difference between successive starts."""
    found = 0
    for i in range(starts.size - 1):
        found = max(found, starts[i + 1] - starts[i])
    return found
