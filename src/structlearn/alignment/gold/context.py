"""Features of an edge's surroundings: support by the links near it, and by other copies of its words.

A word that stands twice in a sentence has the same translations in both places: which copy is meant shows in
the links around it, and in the order of the copies. Only edges that either direction thinks possible are
looked at for support; others have zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

if TYPE_CHECKING:
    from structlearn.alignment.gold.features import SpelledWords

CONTEXT = (
    *("support", "copy_margin", "copy_support", "rest_of_row", "rest_of_column"),
    *("repeated", "repeated_in_order", "repeated_mean"),
)

#: How far around an edge links are looked at.
REACH = 3
#: Edges with a smaller agreement have no context.
POSSIBLE = 1e-3


@kernel
def fill_context(
    source: SpelledWords, target: SpelledWords, agreement: Array, mean: Array, out: Array
) -> None:
    """out[e] <- the context of edge e, for all edges of a batch, by its cells' agreements and means."""
    at = 0
    for pair in range(source.start.size - 1):
        f, g = source.start[pair], target.start[pair]
        m, n = source.start[pair + 1] - f, target.start[pair + 1] - g
        if m * n == 0:
            continue
        a = agreement[at : at + m * n].reshape(m, n)
        near = np.zeros((m, n))
        rows, columns = np.zeros(m), np.zeros(n)
        e, h = source.words[f : f + m], target.words[g : g + n]
        before = _copies(e), _copies(h)
        for i in range(m):
            for j in range(n):
                rows[i] += a[i, j]
                columns[j] += a[i, j]
                if a[i, j] > POSSIBLE:
                    near[i, j] = support(a, i, j)
        for i in range(m):
            for j in range(n):
                cell = at + i * n + j
                out[cell, 0], out[cell, 1], out[cell, 2] = 0.0, 0.0, 0.0
                if a[i, j] > POSSIBLE:
                    out[cell, 0] = near[i, j]
                    _of_copies(e, h, a, near, i, j, out[cell])
                out[cell, 3] = min(rows[i] - a[i, j], 2.0)
                out[cell, 4] = min(columns[j] - a[i, j], 2.0)
                repeated = max(before[0][i, 1], before[1][j, 1]) > 1
                out[cell, 5], out[cell, 6] = repeated, repeated and before[0][i, 0] == before[1][j, 0]
                out[cell, 7] = mean[cell] if repeated else 0.0
        at += m * n


@kernel
def _copies(words: Array) -> Array:
    """Return, per word, how many copies stand before it, and how many there are."""
    copies = np.zeros((words.size, 2), dtype=np.int64)
    for i in range(words.size):
        for k in range(words.size):
            if words[k] == words[i]:
                copies[i, 0] += k < i
                copies[i, 1] += 1
    return copies


@kernel
def support(a: Array, i: int, j: int) -> float:
    """Return the support of links in other rows and columns nearby; those in this one's order count most."""
    m, n = a.shape
    total = 0.0
    for k in range(max(0, i - REACH), min(m, i + REACH + 1)):
        for l in range(max(0, j - REACH), min(n, j + REACH + 1)):
            if k != i and l != j:
                total += a[k, l] / ((1.0 + abs(k - i - l + j)) * (abs(k - i) + abs(l - j)))
    return total


@kernel
def _of_copies(source: Array, target: Array, a: Array, near: Array, i: int, j: int, x: Array) -> None:
    """Return how much better an edge is than the best one to a copy of either word: agreement and support."""
    best, around = -1.0, 0.0
    for l in range(target.size):
        if l != j and target[l] == target[j] and a[i, l] > best:
            best, around = a[i, l], near[i, l]
    for k in range(source.size):
        if k != i and source[k] == source[i] and a[k, j] > best:
            best, around = a[k, j], near[k, j]
    if best >= 0.0:
        x[1], x[2] = a[i, j] - best, near[i, j] - around
