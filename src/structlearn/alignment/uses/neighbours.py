"""Evidence of a pair beside that of its sides with the other sides of the pairs before and after it.

Neighbours are about the same things in words as frequent, so what their sides would have in common with a
pair's is in common by chance. With u(e, f) the evidence of two sides, added up both ways, the margins of pair
k are

    u(e_k, f_k) - max over neighbours n of u(e_k, f_n),    u(e_k, f_k) - max over neighbours n of u(e_n, f_k)

and each also where it is negative, that is, where a neighbour's side would be the better translation: lines
that slipped (a margin of scores against nearest neighbours: Artetxe and Schwenk 2019).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array

#: Kinds of sums of a pair's evidence: over the length, and over its square root.
N_SUMS = 2


class BesideNeighbours(NamedTuple):
    """The best evidence of each pair's sides with a neighbour's other side.

    of_source : its source beside the target of a neighbour
    of_target : its target beside the source of a neighbour
    """

    of_source: Array  # (n, N_SUMS)
    of_target: Array  # (n, N_SUMS)

    def usual(self) -> BesideNeighbours:
        """Return the means, for a pair that has no neighbour; of shape (1, N_SUMS)."""
        return BesideNeighbours(*(one.mean(axis=0, keepdims=True) for one in self))

    def margins(self, own: Array) -> Array:
        """Return what pairs have more than with neighbours, of shape (n, 4 N_SUMS)."""
        both = np.concatenate([summed(own) - self.of_source, summed(own) - self.of_target], axis=1)
        return np.concatenate([both, np.minimum(both, 0.0)], axis=1)


def summed(evidence: Array) -> Array:
    """Return the sums of both ways: (n, N_SUMS) from (n, `evidence.N_FEATURES`)."""
    return np.stack([evidence[:, 0] + evidence[:, 1], evidence[:, 2] + evidence[:, 3]], axis=1)


def beside_neighbours(
    next_target: Array, next_source: Array, usual: BesideNeighbours | None = None
) -> BesideNeighbours:
    """Return the best evidence beside neighbours for n >= 1 pairs in their order.

    Parameters
    ----------
    next_target : ndarray of shape (n - 1, N_FEATURES)
        Evidence of e_k and f_(k+1).
    next_source : ndarray of shape (n - 1, N_FEATURES)
        Evidence of e_(k+1) and f_k.
    usual : BesideNeighbours, optional
        Of a single pair, which has no neighbours.

    """
    if not len(next_target):
        if usual is None:
            raise ValueError("A single pair has no neighbours; say what is usual.")
        return usual
    after, before = summed(next_target), summed(next_source)
    return BesideNeighbours(_best(after, before), _best(before, after))


def _best(with_next: Array, with_last: Array) -> Array:
    """Return the best of both neighbours; the first pair has none before it, the last one none after it."""
    none = np.full((1, N_SUMS), -np.inf)
    return np.maximum(np.concatenate([with_next, none]), np.concatenate([none, with_last]))
