"""Exact samples of label sequences: forward filtering, backward sampling."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.core.vectors import max_of


def sample_backward(steps: Array, ahead: Array, n: int, rng: np.random.Generator) -> Array:
    """y^(1..n) ~ p(y) = exp(<theta, z(y)> - log Z), independent.

    Parameters
    ----------
    steps : ndarray of shape (L, K, K), scores of the transitions; the first table is not used.
    ahead : ndarray of shape (L or more, K or more), what the forward recursion in logarithms leaves
    n : int
    rng : numpy Generator

    Returns
    -------
    int ndarray of shape (n, L), one sequence per row.
    """
    if n < 0:
        raise ValueError(f"The number of samples must be at least 0; got {n}.")
    length = len(steps)
    labels = np.empty((n, length), dtype=np.int64)
    uniform = rng.random((length, n))
    _sample_backward(steps, ahead, uniform, labels)
    return labels


@kernel
def _sample_backward(steps: Array, ahead: Array, uniform: Array, labels: Array) -> None:
    """y_L ~ exp ahead_L,   y_(t-1) | y_t = k ~ exp(ahead_(t-1) + transition[:, k]): all samples abreast."""
    n_samples, length = labels.shape
    n_labels = steps.shape[1]
    sums = np.empty((n_labels, n_labels))  # [k, j] probabilities of 0..j before k, not normalised
    scores = np.empty(n_labels)
    for t in range(length, 0, -1):
        for k in range(n_labels if t < length else 1):
            for j in range(n_labels):
                scores[j] = ahead[t - 1, j] + (steps[t, j, k] if t < length else 0.0)
            _cumulate(scores, sums[k])
        for i in range(n_samples):
            k = labels[i, t] if t < length else 0
            labels[i, t - 1] = _draw_index(sums[k], uniform[t - 1, i])


@kernel
def _cumulate(scores: Array, sums: Array) -> None:
    """sums[j] <- sum_(i <= j) exp(score_i - largest); zeros where all are -inf."""
    top = max_of(scores)
    total = 0.0
    for j in range(scores.size):
        total += np.exp(scores[j] - top) if scores[j] > -np.inf else 0.0
        sums[j] = total


@kernel
def _draw_index(sums: Array, uniform: float) -> int:
    """Return the first j with uniform * total < sums[j], by bisection: never one of probability zero."""
    last = sums.size - 1
    target = min(uniform * sums[last], np.nextafter(sums[last], 0.0))  # the product may round up to the total
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low
