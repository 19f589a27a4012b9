"""Scores of pairs of states along edges, compiled: whole tables, or one number where likes alone have one.

`table` has the shape (m, K, K) or, of Potts tables, (m, 1, 1): the score of like states; unlike ones have 0.
Of tables by the distance of states it has the shape (m, 1, 4) (see `shapes`).
"""

from __future__ import annotations

from structlearn.core.contract import Array
from structlearn.core.kernels import inline, leaf
from structlearn.structures.graph.shapes import shaped_score


@inline
def pair_score(table: Array, e: int, a: int, b: int) -> float:
    """Return the score of the states a and b at the first and the second end of edge e."""
    if table.shape[1] == 1:
        if table.shape[2] > 1:
            return shaped_score(table[e, 0], a, b)
        return table[e, 0, 0] if a == b else 0.0
    return table[e, a, b]


@inline
def add_given(table: Array, e: int, ahead: int, other: int, score: Array) -> None:
    """Add to score[x] that of x at one end of edge e, the first where `ahead`, and `other` at the other."""
    if table.shape[1] == 1:
        if table.shape[2] > 1:
            for x in range(score.size):
                score[x] += shaped_score(table[e, 0], x, other)
        else:
            score[other] += table[e, 0, 0]
    elif ahead:
        for x in range(score.size):
            score[x] += table[e, x, other]
    else:
        for x in range(score.size):
            score[x] += table[e, other, x]


@leaf
def attraction(table: Array, e: int) -> float:
    """Return what like states at the ends of an edge score more than unlike ones, for two states."""
    if table.shape[1] == 1 and table.shape[2] > 1:
        return 2.0 * (shaped_score(table[e, 0], 0, 0) - shaped_score(table[e, 0], 0, 1))
    if table.shape[1] == 1:
        return 2.0 * table[e, 0, 0]
    return table[e, 0, 0] + table[e, 1, 1] - table[e, 0, 1] - table[e, 1, 0]
