"""Exact samples of segmentations: back through the sums of the forward pass, by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structlearn.core.contract import Array, Shape
from structlearn.core.kernels import kernel
from structlearn.structures.base import nothing_allowed
from structlearn.structures.segments.marginals import (
    ForwardScratch,
    segment_log_partition,
    segment_marginals_workspace,
)
from structlearn.structures.tree.sampling import draw_share, draw_term

if TYPE_CHECKING:
    from structlearn.structures.segments.segments import SegmentsRecord


def sample_segments(
    structure: SegmentsRecord, shape: Shape, theta: Array, shared: Array, n: int, rng: np.random.Generator
) -> list[Array]:
    """Draw segmentations, each an array of rows (begin, end, state) that covers all tokens."""
    if n < 0:
        raise ValueError(f"The number of samples must be at least 0; got {n}.")
    work = segment_marginals_workspace(structure, shape)
    if segment_log_partition(structure, shape, theta, shared, work, theta) == -np.inf:
        raise nothing_allowed("The score vector")
    length = shape[0]
    tiles, counts = np.empty((n, length, 3), dtype=np.int64), np.empty(n, dtype=np.int64)
    _draw(structure.n_labels, length, work, rng.random((n, 2 * length + 1)), tiles, counts)
    return [one[:found][::-1] for one, found in zip(tiles, counts)]


@kernel
def _draw(
    n_labels: int, length: int, work: ForwardScratch, uniform: Array, tiles: Array, counts: Array
) -> None:
    """Write tiles from the last to the first: the last state, its length, the state before, and so on."""
    n = work.ahead.shape[1]
    most = work.cuts.shape[1] // n_labels
    shares = np.empty(max(n, most))
    for i in range(tiles.shape[0]):
        t, drawn, counts[i] = length - 1, 1, 0
        for k in range(n):
            shares[k] = work.ahead[t, k]
        state = draw_term(shares[:n], uniform[i, 0])
        while t >= 0:
            first = t
            if state < n_labels:
                longest = min(most, t + 1)
                for m in range(longest):
                    shares[m] = work.cuts[t, m * n_labels + state]
                first = t - draw_share(shares[:longest], uniform[i, drawn])
            tiles[i, counts[i], 0], tiles[i, counts[i], 1], tiles[i, counts[i], 2] = first, t + 1, state
            counts[i] += 1
            if first > 0:
                for j in range(n):
                    shares[j] = work.pairs[first, j * n + state]
                state = draw_share(shares[:n], uniform[i, drawn + 1])
            t, drawn = first - 1, drawn + 2
