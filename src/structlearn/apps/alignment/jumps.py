"""Jumps of the HMM alignment model: a weight for each distance between one generating word and the next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array

#: Distances beyond this share one weight a side.
WIDEST = 20
#: Imaginary jumps of each distance: no weight falls to zero.
PSEUDO_JUMPS = 0.5


class JumpCounts(NamedTuple):
    """What one pass expects, by distance: `taken[reach + d]` for -reach <= d <= reach.

    `taken` is the expected number of jumps of distance d. `chance` sums 1 / Z over the expected departures
    from which d was possible; it is kept as differences, so that a range of distances takes two additions.
    """

    taken: Array
    chance: Array


def uniform_jumps() -> Array:
    """Equal weights, of shape (2 WIDEST + 1,)."""
    return np.ones(2 * WIDEST + 1)


def by_distance(weights: Array, reach: int) -> Array:
    """The weight of every distance -reach <= d <= reach."""
    return weights[_bucket(reach)]


def reestimate_jumps(weights: Array, counts: JumpCounts) -> Array:
    """Weights w that increase sum_d taken[d] log w[d] - sum_departures log Z(w), the jumps' part of EM.

    With log Z <= log Z0 + (Z - Z0) / Z0 the bound is maximal at w[d] = taken[d] / chance[d].
    """
    bucket = _bucket(len(counts.taken) // 2)
    imaginary = PSEUDO_JUMPS * weights.size / weights.sum()
    taken = np.bincount(bucket, counts.taken, weights.size) + PSEUDO_JUMPS
    chance = np.bincount(bucket, np.cumsum(counts.chance)[:-1], weights.size) + imaginary
    new = taken / chance
    return new / new.max()


def jump_penalty(weights: Array) -> float:
    """Log-probability of the imaginary jumps, each from a place where every distance is possible."""
    return float(PSEUDO_JUMPS * np.log(weights / weights.sum()).sum())


def _bucket(reach: int) -> Array:
    return np.clip(np.arange(-reach, reach + 1), -WIDEST, WIDEST) + WIDEST
