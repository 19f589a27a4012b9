"""Mixing of bits, for hashes inside kernels: the finaliser of splitmix64."""

from __future__ import annotations

import numpy as np

from structlearn.core.kernels import inline

SHIFTS = (30, 27, 31)
MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


@inline
def mix_bits(x: np.uint64) -> np.uint64:
    """Mix 64 bits so that each of the result depends on all of them."""
    x = (x ^ (x >> np.uint64(SHIFTS[0]))) * np.uint64(MULTIPLIERS[0])
    x = (x ^ (x >> np.uint64(SHIFTS[1]))) * np.uint64(MULTIPLIERS[1])
    return x ^ (x >> np.uint64(SHIFTS[2]))
