"""Monotone paths through a grid by dynamic programming: the best one, and marginals.

    D(i, j) = theta(i, j) + max of D(i - 1, j), D(i, j - 1) and D(i - 1, j - 1), as far as they are allowed

from (0, 0) to (m - 1, n - 1). With log-sum-exp for max the last entry is log Z. Backwards, the probability of
a cell is shared out among the cells before it; the entropy is that of these choices.
"""

from __future__ import annotations

from math import exp, log
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import (
    Array,
    Shape,
    entropy,
    log_partition,
    marginals,
    marginals_workspace,
    max_value,
    maximize,
    workspace,
)
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.structures.chain.logarithms import LOWEST
from structlearn.structures.regularized import clip_entropy

#: The moves, by how they change the row and the column.
DOWN, RIGHT, DIAGONAL = 0, 1, 2


class MonotoneRecord(NamedTuple):
    """Compiled form of `MonotoneAlignment`: which moves there are."""

    down: bool
    right: bool
    diagonal: bool


class GridScratch(NamedTuple):
    """Scratch memory: D with a row and a column of -inf before the first; the entropy."""

    reached: Array
    found: Array


@implements(marginals_workspace, MonotoneRecord)
@implements(workspace, MonotoneRecord)
@jitable
def path_scratch(structure: MonotoneRecord, shape: Shape) -> GridScratch:
    return GridScratch(np.empty((shape[0] + 1, shape[1] + 1)), np.zeros(1))


@kernel
def before(structure: MonotoneRecord, reached: Array, i: int, j: int) -> tuple[float, float, float]:
    """Return D where a move into the cell (i, j) comes from: down, right, diagonal; -inf if not allowed."""
    return (
        reached[i, j + 1] if structure.down else -np.inf,
        reached[i + 1, j] if structure.right else -np.inf,
        reached[i, j] if structure.diagonal else -np.inf,
    )


@kernel
def _fill(structure: MonotoneRecord, m: int, n: int, scores: Array, by_sum: bool, reached: Array) -> float:
    """Fill D by maxima or by log-sums; return that of the last cell."""
    for i in range(m + 1):
        reached[i, 0] = -np.inf
    for j in range(n + 1):
        reached[0, j] = -np.inf
    for i in range(m):
        for j in range(n):
            down, right, diagonal = before(structure, reached, i, j)
            ahead = 0.0 if i == 0 and j == 0 else max(down, right, diagonal)
            if by_sum and ahead > -np.inf and i + j > 0:
                ahead += log(exp(down - ahead) + exp(right - ahead) + exp(diagonal - ahead))
            reached[i + 1, j + 1] = ahead + scores[i, j]
    return reached[m, n]


@implements(max_value, MonotoneRecord)
@implements(maximize, MonotoneRecord)
@kernel
def best_path(
    structure: MonotoneRecord, shape: Shape, theta: Array, shared: Array, work: GridScratch, vertex: Array
) -> float:
    m, n = shape
    value = _fill(structure, m, n, theta.reshape(m, n), False, work.reached)
    vertex[:] = 0.0
    if value == -np.inf:
        return value
    i, j = m - 1, n - 1
    vertex[i * n + j] = 1.0
    while i + j > 0:
        down, right, diagonal = before(structure, work.reached, i, j)
        i, j = _step_back(
            i, j, DIAGONAL if diagonal >= max(down, right) else DOWN if down >= right else RIGHT
        )
        vertex[i * n + j] = 1.0
    return value


@kernel
def _step_back(i: int, j: int, move: int) -> tuple[int, int]:
    return (i if move == RIGHT else i - 1), (j if move == DOWN else j - 1)


@implements(log_partition, MonotoneRecord)
@kernel
def log_sum_of_paths(
    structure: MonotoneRecord, shape: Shape, theta: Array, shared: Array, work: GridScratch, mean: Array
) -> float:
    m, n = shape
    return _fill(structure, m, n, theta.reshape(m, n), True, work.reached)


@implements(marginals, MonotoneRecord)
@kernel
def path_marginals(
    structure: MonotoneRecord, shape: Shape, theta: Array, shared: Array, work: GridScratch, mean: Array
) -> float:
    m, n = shape
    value = _fill(structure, m, n, theta.reshape(m, n), True, work.reached)
    mean[:] = 0.0
    if value == -np.inf:
        return value
    entropy = 0.0
    mean[m * n - 1] = 1.0
    for i in range(m - 1, -1, -1):
        for j in range(n - 1, -1, -1):
            here = min(mean[i * n + j], 1.0)
            mean[i * n + j] = here
            if here <= 0.0 or i + j == 0:
                continue
            down, right, diagonal = before(structure, work.reached, i, j)
            top = max(down, right, diagonal)
            down, right, diagonal = down - top, right - top, diagonal - top
            a, b, c = exp(down), exp(right), exp(diagonal)
            total = a + b + c
            below = a * max(down, LOWEST) + b * max(right, LOWEST) + c * max(diagonal, LOWEST)
            entropy += here * (log(total) - below / total)
            scale = here / total
            if a > 0.0:
                mean[(i - 1) * n + j] += scale * a
            if b > 0.0:
                mean[i * n + j - 1] += scale * b
            if c > 0.0:
                mean[(i - 1) * n + j - 1] += scale * c
    work.found[0] = entropy
    return value


@implements(entropy, MonotoneRecord)
@kernel
def path_entropy(
    structure: MonotoneRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: GridScratch,
    mean: Array,
    log_z: float,
) -> float:
    """Return H after `path_marginals`: a sum of terms that are not negative."""
    return clip_entropy(work.found[0], (shape[0] + shape[1]) * log(3.0))


@kernel
def draw_paths(
    structure: MonotoneRecord, shape: Shape, reached: Array, uniform: Array, tables: Array
) -> None:
    """tables[s] <- the cells of a path, drawn by m + n random numbers; after `log_partition`."""
    m, n = shape
    tables[:] = 0
    for s in range(tables.shape[0]):
        i, j, drawn = m - 1, n - 1, 0
        tables[s, i, j] = 1
        while i + j > 0:
            down, right, diagonal = before(structure, reached, i, j)
            top = max(down, right, diagonal)
            a, b, c = exp(down - top), exp(right - top), exp(diagonal - top)
            at = uniform[s, drawn] * (a + b + c)
            move = DIAGONAL if c > 0.0 else RIGHT if b > 0.0 else DOWN
            if at < a:
                move = DOWN
            elif at < a + b:
                move = RIGHT
            i, j = _step_back(i, j, move)
            tables[s, i, j] = 1
            drawn += 1
