"""Compiled batches: one call for the examples of a padded batch, whose scores are float32 or float64.

Only one example at a time is copied, in double precision and in the order of a part vector; what goes back
into the batch is rounded to its type once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array, maximize, workspace
from structlearn.core.kernels import kernel
from structlearn.structures.base import SparseVertices
from structlearn.structures.erased import ErasedStructure
from structlearn.structures.remembering import Remembering


class BatchLayout(NamedTuple):
    """Where the examples are in scores of shape (batch, A, B, C), and what they are to the structure.

    sizes : (batch, 2) how much of A and B each example fills
    widths : the widths of the blocks of columns that follow each other in a part vector; they sum to C
    shapes : (batch, 2) its shape; n_local : (batch,) its number of local parts
    n_shared : the number of shared parts that follow them there, each example with its own scores
    """

    sizes: Array
    widths: Array
    shapes: Array
    n_local: Array
    n_shared: int


class BatchGold(NamedTuple):
    """The gold vertices mu of a batch, and the costs of local parts: of example b from cost_start[b] on.

    Without costs, `cost` is empty.
    """

    vertices: SparseVertices
    cost: Array
    cost_start: Array


class BatchFound(NamedTuple):
    """What a batch is answered: z - mu of local parts (zero where padded) and of shared parts.

    values : max <theta + c, z> - Omega(z); gold : <theta + c, mu>; usable : whether no score is NaN or +inf
    """

    local: Array
    shared: Array
    values: Array
    gold: Array
    usable: Array


@kernel
def answer_batch(
    structure: ErasedStructure | Remembering,
    layout: BatchLayout,
    mu: BatchGold,
    theta: Array,
    shared: Array,
    found: BatchFound,
    room: Array,
    first: int,
    last: int,
) -> None:
    """Answer the examples first .. last - 1; `room` has two rows with the parts of the largest example."""
    for b in range(first, last):
        n, shape = layout.n_local[b], (layout.shapes[b, 0], layout.shapes[b, 1])
        both, z = room[0, : n + layout.n_shared], room[1, : n + layout.n_shared + shared.size]
        found.usable[b] = _gather(theta[b], layout.sizes[b, 0], layout.sizes[b, 1], layout.widths, both)
        if not found.usable[b]:
            continue
        parts, others = both[:n], both[n:] if layout.n_shared > 0 else shared
        if mu.cost.size > 0:
            at = mu.cost_start[b]
            for k in range(n):
                parts[k] += mu.cost[at + k]
        z[:] = 0.0
        work = workspace(structure, shape)
        found.values[b] = maximize(structure, shape, parts, others, work, z)
        found.gold[b] = _subtract_gold(mu.vertices, b, parts, others, z)
        _scatter(z, layout.sizes[b, 0], layout.sizes[b, 1], layout.widths, found.local[b])
        for k in range(shared.size):
            found.shared[b, k] = z[n + k]


@kernel
def _gather(table: Array, rows: int, columns: int, widths: Array, parts: Array) -> bool:
    """Copy an example's scores in the order of a part vector; return whether none is NaN or +inf."""
    at = begin = bad = 0
    for width in widths:
        for i in range(rows):
            for j in range(columns):
                for k in range(width):
                    parts[at + k] = table[i, j, begin + k]
                    bad += not parts[at + k] < np.inf
                at += width
        begin += width
    return bad == 0


@kernel
def _scatter(z: Array, rows: int, columns: int, widths: Array, table: Array) -> None:
    """Invert `_gather`, and write zeros where the table is padded."""
    at = begin = 0
    for width in widths:
        for i in range(rows):
            for j in range(columns):
                for k in range(width):
                    table[i, j, begin + k] = z[at + k]
                at += width
        begin += width
    table[rows:] = 0.0
    table[:rows, columns:] = 0.0


@kernel
def _subtract_gold(mu: SparseVertices, b: int, parts: Array, shared: Array, z: Array) -> float:
    """z <- z - mu; return <theta + c, mu>."""
    score = 0.0
    for i in range(mu.start[b], mu.start[b + 1]):
        k, value = mu.index[i], mu.value[i]
        score += value * (parts[k] if k < parts.size else shared[k - parts.size])
        z[k] -= value
    return score
