"""Probabilities of spans: that a labelling begins one here, ends it there, and does not go on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.structures.base import nothing_allowed
from structlearn.structures.chain.logarithms import log_backward, log_forward
from structlearn.structures.chain.viterbi import SequenceScores


class SpanLabels(NamedTuple):
    """The meaning of K labels for spans.

    kind : int (K,), the kind of span that a label is inside of, -1 for none.
    parted : bool (K, K), whether no span goes on from a label to the next one.
    """

    kind: Array
    parted: Array


def span_probabilities(unary: Array, steps: Array, spans: Array, labels: SpanLabels) -> Array:
    """p(there is such a span): the sum over all labellings in which it is, from where it begins to its end.

    The posterior is a Markov chain. From right to left, q is the joint probability of a label and of what
    the span asks of all labels after it:

        q_(b-1)(j) = sum_(k parted from j) p(y_(b-1) = j, y_b = k)
        q_(t-1)(j) = sum_(k not parted from j) p(y_(t-1) = j | y_t = k) q_t(k)

    Only probabilities are added and multiplied, so that large scores, and masks of -inf, cost no accuracy.

    Parameters
    ----------
    unary : ndarray of shape (L, K); -inf forbids a label.
    steps : ndarray of shape (L, K, K); the first table is not used.
    spans : int ndarray of shape (n, 3): begin, end (exclusive) and kind of each.
    labels : SpanLabels

    Returns
    -------
    ndarray of shape (n,)
    """
    found = np.empty(len(spans))
    if not _probabilities(unary, steps, spans, labels.kind, labels.parted, found):
        raise nothing_allowed("The score vector")
    return np.minimum(found, 1.0)


@kernel
def _probabilities(
    unary: Array, steps: Array, spans: Array, kind: Array, parted: Array, found: Array
) -> bool:
    """Compute the probability of each span; return False where no labelling is allowed."""
    length, n = unary.shape
    ahead, largest, total = np.empty((length, n)), np.empty((length, n)), np.empty((length, n))
    none = unary[0, :0]
    if log_forward(SequenceScores(unary, steps, none, none), ahead, largest, total) == -np.inf:
        return False
    local, pairs, row = np.empty((length, n)), np.empty((length, n, n)), np.empty(n)
    log_backward(steps, ahead, largest, total, row, local, pairs)
    after = np.empty(n)
    for i in range(spans.shape[0]):
        begin, end, own = spans[i, 0], spans[i, 1], spans[i, 2]
        _ending(local, pairs, kind, parted, end, own, row)
        for t in range(end - 1, begin, -1):
            for k in range(n):
                after[k] = row[k] / local[t, k] if row[k] > 0.0 else 0.0
            _inside(pairs, kind, parted, t, own, after, row)
        found[i] = _beginning(local, pairs, parted, begin, row)
    return True


@kernel
def _ending(local: Array, pairs: Array, kind: Array, parted: Array, end: int, own: int, row: Array) -> None:
    """row[j] <- p(y_(end-1) = j, and the span ends there)."""
    length, n = local.shape
    for j in range(n):
        row[j] = local[end - 1, j] if end == length and kind[j] == own else 0.0
        if end < length and kind[j] == own:
            for k in range(n):
                row[j] += pairs[end, j, k] if parted[j, k] else 0.0


@kernel
def _inside(pairs: Array, kind: Array, parted: Array, t: int, own: int, after: Array, row: Array) -> None:
    """row[j] <- sum_k p(y_(t-1) = j, y_t = k) after[k] over the k by which the span goes on."""
    for j in range(row.size):
        row[j] = 0.0
        if kind[j] == own:
            for k in range(row.size):
                row[j] += pairs[t, j, k] * after[k] if not parted[j, k] else 0.0


@kernel
def _beginning(local: Array, pairs: Array, parted: Array, begin: int, row: Array) -> float:
    """Return sum_k row[k] p(y_(begin-1) is parted from k | y_begin = k)."""
    found = 0.0
    for k in range(row.size):
        if row[k] > 0.0:
            before = 1.0
            if begin > 0:
                before = 0.0
                for j in range(row.size):
                    before += pairs[begin, j, k] / local[begin, k] if parted[j, k] else 0.0
            found += row[k] * before
    return found
