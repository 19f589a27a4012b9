"""Weights as small model files hold them: none near zero, in 32 bits."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array


def without_small(table: Array, limit: float, kept: Array | None = None) -> Array:
    """Return weights as 32 bits hold them, zero up to `limit` but in the rows that are kept."""
    small = np.abs(table) <= limit
    if kept is not None:
        small[kept] = False
    return np.where(small, 0.0, as_floats(table))


def as_floats(weights: Array) -> Array:
    """Return weights as 32 bits hold them."""
    return weights.astype(np.float32).astype(np.float64)
