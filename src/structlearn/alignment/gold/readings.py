"""Two readings of a pair: what the first finds likely makes features for the second.

    p_ij = 1 / (1 + exp(-<first, x_ij>)),    theta_ij = <weights, (x_ij, again_ij)>

`again` are the probability p of the edge, those of its neighbours, of the other edges in its row and column,
and of the links around it. A word that could be linked to several places is so linked by what its neighbours
are linked to, as learned from gold links, and not by the statistics alone.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from structlearn.alignment.gold.context import POSSIBLE, support
from structlearn.alignment.gold.rivals import best_others, best_two, value_at
from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

AGAIN = (
    *("again", "again_log_odds", "again_previous", "again_next", "again_around", "again_both_around"),
    *("again_beside", "again_above", "again_rest_of_row", "again_rest_of_column"),
    *("again_rival_in_row", "again_rival_in_column", "again_free", "again_support"),
)


class Readings(NamedTuple):
    """Weights of the features of edges; and those of a first reading, if there is one."""

    weights: Array
    first: Array | None = None

    def scores(self, rows: Array, shapes: Array) -> Array:
        """Return theta of all edges of pairs.

        Parameters
        ----------
        rows : ndarray of shape (n_edges, n_features)
        shapes : ndarray of shape (n_pairs, 2)

        """
        if self.first is None:
            return rows @ self.weights
        d = self.first.size
        return rows @ self.weights[:d] + read_again(rows @ self.first, shapes) @ self.weights[d:]


def read_again(theta: Array, shapes: Array) -> Array:
    """Return the features of edges whose log odds were theta, (n_edges, len(AGAIN)), pair by pair."""
    out = np.empty((theta.size, len(AGAIN)))
    _fill(1.0 / (1.0 + np.exp(-np.clip(theta, -30.0, 30.0))), shapes, out)
    return out


@kernel
def _fill(probability: Array, shapes: Array, out: Array) -> None:
    at = 0
    for pair in range(shapes.shape[0]):
        m, n = shapes[pair, 0], shapes[pair, 1]
        if m * n == 0:
            continue
        p = probability[at : at + m * n].reshape(m, n)
        rows, columns = np.zeros(m), np.zeros(n)
        for i in range(m):
            for j in range(n):
                rows[i] += p[i, j]
                columns[j] += p[i, j]
        rivals = best_two(p)
        for i in range(m):
            for j in range(n):
                x, own = out[at + i * n + j], p[i, j]
                x[0], x[1] = own, log((own + 1e-4) / (1.0 - own + 1e-4)) / 5.0
                before, after = value_at(p, i - 1, j - 1), value_at(p, i + 1, j + 1)
                x[2], x[3], x[4], x[5] = before, after, max(before, after), min(before, after)
                x[6] = max(value_at(p, i, j - 1), value_at(p, i, j + 1))
                x[7] = max(value_at(p, i - 1, j), value_at(p, i + 1, j))
                x[8], x[9] = min(rows[i] - own, 2.0), min(columns[j] - own, 2.0)
                x[10], x[11] = best_others(rivals, i, j, own)
                x[12] = (1.0 - x[10]) * (1.0 - x[11])
                x[13] = support(p, i, j) if own > POSSIBLE else 0.0
        at += m * n
