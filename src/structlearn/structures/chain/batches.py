"""Forward-backward of many sequences at a time, for many labels: every step is a product of matrices.

One sequence at a time reads the whole table of K * K steps at every position. Here the sequences of a batch,
longest first, take position t together:

    ahead_t = unary_t * (ahead_(t-1) step),   back_t = unary_t * row_t,   row_(t-1) = back_t step^T

with a row per sequence, each scaled as in `marginals.py`, whose bounds on scores hold here, too. The
transitions' marginals of the whole batch are step * (ahead^T back), one product.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.rounding import UNIT
from structlearn.structures.batches import BatchAnswers
from structlearn.structures.chain.logarithms import LOWEST

if TYPE_CHECKING:
    from structlearn.structures.chain.chain import Chain

#: Chains of at least this many labels are answered in batches.
MANY_LABELS = 192
#: The widest span of transition scores with which nothing that matters underflows (see `marginals.py`).
WIDEST_SPAN = 300.0
_UNDERFLOW = -708.0


class Packing(NamedTuple):
    """Sequences packed by position, the longest first: those at position t are rows first[t]:first[t + 1].

    row : (T,) where each packed row is among the rows of sequences end to end
    owner : (T,) the sequence of each packed row
    before : the packed row of the position before, for all rows after first[1]
    last : the packed row of the last position of each sequence
    """

    first: list[int]
    row: Array
    owner: Array
    before: Array
    last: Array

    @classmethod
    def of(cls, lengths: Array) -> Packing:
        order = np.argsort(-lengths, kind="stable")
        begin = (np.cumsum(lengths) - lengths)[order]
        counts = np.searchsorted(-lengths[order], -np.arange(lengths.max()), side="left")
        rank = np.concatenate([np.arange(count) for count in counts])
        position = np.repeat(np.arange(counts.size), counts)
        first = np.concatenate([[0], np.cumsum(counts)])
        before = (first[position - 1] + rank)[first[1] :]
        last = np.empty(lengths.size, dtype=np.int64)
        last[order] = first[lengths[order] - 1] + np.arange(lengths.size)
        return cls(first.tolist(), begin[rank] + position, order[rank], before, last)


class Forward(NamedTuple):
    """What the way ahead leaves, by packed rows: scores less their largest, exponentials, scaled prefixes."""

    below: Array
    unary: Array
    ahead: Array
    #: (n,) log Z less the largest scores, and those
    rest: Array
    largest: Array


class ChainBatches:
    """Marginals of many sequences of a chain that forbids nothing."""

    parts_at_once = 1 << 20

    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    def values(self, lengths: Array, theta: Array, shared: Array) -> Array | None:
        """Return log Z of each sequence; None where the scores are too wide for scaled probabilities."""
        step = self._exponentiate(shared)
        found = None if step is None else self._run_ahead(Packing.of(lengths), lengths, theta, shared, step)
        return None if found is None else found.rest + found.largest

    def answers(self, lengths: Array, theta: Array, shared: Array, weight: Array) -> BatchAnswers | None:
        """Return weighted marginals, log Z and a lower bound on the weighted entropies; None as above."""
        step, packing = self._exponentiate(shared), Packing.of(lengths)
        found = None if step is None else self._run_ahead(packing, lengths, theta, shared, step)
        if step is None or found is None:
            return None
        local, back = _run_back(packing, found, step)
        k = self.chain.n_labels
        local *= weight[packing.owner, None]
        steps = (found.ahead[packing.before] * weight[packing.owner[packing.first[1] :], None]).T @ back
        steps *= step
        ends = [local[: packing.first[1]].sum(axis=0)] if self.chain.start else []
        ends += [local[packing.last].sum(axis=0)] if self.chain.end else []
        inner = float(np.vdot(np.maximum(found.below, LOWEST, out=found.below), local))
        inner += float(np.vdot(shared[: k * k] - shared[: k * k].max(), steps))
        size = float(weight @ (np.abs(found.rest) + lengths)) - inner
        slack = 8.0 * (int(lengths.max()) + k) * UNIT * size
        vertices = np.empty_like(local)
        vertices[packing.row] = local
        return BatchAnswers(
            vertices.ravel(),
            np.concatenate([steps.ravel(), *ends]),
            found.rest + found.largest,
            float(weight @ found.rest) - inner - slack,
        )

    def _exponentiate(self, shared: Array) -> Array | None:
        """Return exp(transition - largest), (K, K); None where their span is too wide."""
        k = self.chain.n_labels
        scores = shared[: k * k].reshape(k, k)
        largest = scores.max()
        return np.exp(scores - largest) if largest - scores.min() <= WIDEST_SPAN else None

    def _run_ahead(
        self, packing: Packing, lengths: Array, theta: Array, shared: Array, step: Array
    ) -> Forward | None:
        """ahead_t <- unary_t * (ahead_(t-1) step), scaled to sum 1; None where a position has no label."""
        first, k = packing.first, self.chain.n_labels
        below = theta.reshape(-1, k)[packing.row]
        if self.chain.start:
            below[: first[1]] += shared[k * k : k * k + k]
        if self.chain.end:
            below[packing.last] += shared[shared.size - k :]
        largest = below.max(axis=1)
        if not np.isfinite(largest).all():
            return None
        below -= largest[:, None]
        unary = np.exp(below)
        unary[below < _UNDERFLOW] = 0.0
        ahead, total = np.empty_like(unary), np.empty(largest.size)
        for t, (a, b) in enumerate(pairwise(first)):
            here = ahead[a:b]
            if t == 0:
                here[:] = unary[a:b]
            else:
                np.matmul(ahead[first[t - 1] : first[t - 1] + b - a], step, out=here)
                here *= unary[a:b]
            total[a:b] = here.sum(axis=1)
            here /= np.maximum(total[a:b], np.finfo(float).tiny)[:, None]
        if not (total > 0.0).all():
            return None
        rest = np.bincount(packing.owner, weights=np.log(total), minlength=lengths.size)
        most = np.bincount(packing.owner, weights=largest, minlength=lengths.size)
        return Forward(below, unary, ahead, rest, most + (lengths - 1) * shared[: k * k].max())


def _run_back(packing: Packing, found: Forward, step: Array) -> tuple[Array, Array]:
    """Return the labels' marginals by packed rows, and back_t of all rows but the first positions'."""
    first, ahead, back = packing.first, found.ahead, found.unary
    local = ahead.copy()
    row = np.ones((0, step.shape[0]))
    for t in range(len(first) - 2, 0, -1):
        a, b = first[t], first[t + 1]
        here, before = back[a:b], ahead[first[t - 1] : first[t - 1] + b - a]
        here[: len(row)] *= row  # what ends here has nothing after it
        here[ahead[a:b] <= 0.0] = 0.0  # what cannot be reached has no bound on what comes after it
        row = here @ step.T
        scale = 1.0 / np.einsum("ij,ij->i", before, row)[:, None]
        row *= scale
        here *= scale
        np.minimum(before * row, 1.0, out=local[first[t - 1] : first[t - 1] + b - a])
    return local, back[first[1] :]
