"""Gold vertices beside the oracle's answers: what each example loses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel, leaf


class ExampleLayout(NamedTuple):
    """Where each example's local parts are, as a compiled pass sees it."""

    shapes: Array
    start: Array
    #: a shape that holds every example's
    largest: tuple[int, int]
    most_parts: int


class GoldVertices(NamedTuple):
    """Gold vertices, sparse as `structures.base.SparseVertices` are, and what the squared norm covers."""

    start: Array
    part: Array
    value: Array
    #: how many local parts, the first of each example, count in the squared norm
    curved: Array
    #: what the largest score counts in the size of a loss: more than 0 where the oracle itself is inaccurate
    inaccuracy: float = 0.0

    @classmethod
    def nothing(cls, n_examples: int) -> GoldVertices:
        """Return empty vertices, for operations that no gold vertex is compared with."""
        none = np.zeros(n_examples + 1, dtype=np.int64)
        return cls(none, none[:0], np.empty(0), none[:-1])


@leaf
def largest_score(theta: Array) -> float:
    """max_j |theta_j|, without an array of the absolute values."""
    largest = 0.0
    for j in range(theta.size):
        largest = max(largest, abs(theta[j]))
    return largest


@leaf
def against_gold(
    gold: GoldVertices, i: int, convexity: float, theta: Array, shared: Array, best: float
) -> tuple[float, float, float]:
    """loss_i, from the scores of one example: large ones cancel exactly. What rounding leaves below 0 is 0.

    Returns the loss, how far below zero it was over the scores that it is a difference of (infinite where it
    was not), and Omega(mu_i), which is zero unless it is the squared norm.
    """
    known = square = 0.0
    for e in range(gold.start[i], gold.start[i + 1]):
        j, entry = gold.part[e], gold.value[e]
        known += entry * (theta[j] if j < theta.size else shared[j - theta.size])
        if j < gold.curved[i]:
            square += entry * entry
    omega_known = convexity * square / 2.0
    loss = best - known + omega_known
    if gold.part.size and loss < 0.0:
        size = abs(best) + abs(known) + omega_known + 1.0
        if gold.inaccuracy > 0.0:
            size += gold.inaccuracy * largest_score(theta)
        return 0.0, loss / size, omega_known
    return loss, np.inf, omega_known


@kernel
def compare_chunk(
    layout: ExampleLayout,
    gold: GoldVertices,
    weight: Array,
    first: int,
    last: int,
    theta: Array,
    shared: Array,
    values: Array,
) -> tuple[float, float, float, int]:
    """Return the fields of `Losses` for a range of examples whose maxima are known; Omega(mu) is zero."""
    offset = layout.start[first]
    total, least, example = 0.0, np.inf, -1
    for i in range(first, last):
        if weight[i] == 0.0:
            continue
        a, b = layout.start[i] - offset, layout.start[i + 1] - offset
        loss, fraction, _ = against_gold(gold, i, 0.0, theta[a:b], shared, values[i - first])
        if fraction < least:
            least, example = fraction, i
        total += weight[i] * loss
    return total, 0.0, least, example
