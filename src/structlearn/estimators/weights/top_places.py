"""Where the largest weights are."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array


def top_places(weights: Array, k: int) -> Array:
    """Return the places of the k largest positive weights and the k most negative, from the largest down."""
    up, down = np.flatnonzero(weights > 0), np.flatnonzero(weights < 0)
    if up.size > k:
        up = up[np.argpartition(-weights[up], k)[:k]]
    if down.size > k:
        down = down[np.argpartition(weights[down], k)[:k]]
    found = np.sort(np.concatenate([up, down]))  # of equal weights the first comes first
    return found[np.argsort(-weights[found], kind="stable")]
