"""Probabilities of many rows of labels at a time: one compiled loop over all rows of scores."""

from __future__ import annotations

from math import exp, log, log1p

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.structures.batches import BatchAnswers

_NO_SHARED_PARTS = np.empty(0)


class SimplexBatches:
    """Softmax of many rows."""

    parts_at_once = 1 << 15

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels

    def values(self, lengths: Array, theta: Array, shared: Array) -> Array:
        """Return log Z of each row."""
        return self.answers(lengths, theta, shared, np.ones(lengths.size)).values

    def answers(self, lengths: Array, theta: Array, shared: Array, weight: Array) -> BatchAnswers:
        """Return weighted probabilities, log Z and the weighted entropies."""
        vertices, values = np.empty(theta.size), np.empty(lengths.size)
        gain = self._answer(theta, weight, vertices, values)
        return BatchAnswers(vertices, _NO_SHARED_PARTS, values, gain)

    def _answer(self, theta: Array, weight: Array, vertices: Array, values: Array) -> float:
        return softmax_rows(theta.reshape(-1, self.n_labels), weight, vertices, values)


class CubeBatches(SimplexBatches):
    """Sigmoids of many rows."""

    def _answer(self, theta: Array, weight: Array, vertices: Array, values: Array) -> float:
        return sigmoid_rows(theta.reshape(-1, self.n_labels), weight, vertices, values)


@kernel
def softmax_rows(theta: Array, weight: Array, vertices: Array, values: Array) -> float:
    """Write p_i softmax(theta_i) and log Z_i; return sum_i p_i H_i.

    H = log(1 / mean_best) + sum_k mean_k (theta_best - theta_k): no term is negative.
    """
    n, n_labels = theta.shape
    gain = 0.0
    for i in range(n):
        top = -np.inf
        for k in range(n_labels):
            top = max(top, theta[i, k])
        out = i * n_labels
        total = below = 0.0
        for k in range(n_labels):
            mass = exp(theta[i, k] - top)
            vertices[out + k] = mass
            total += mass
            if mass > 0.0:
                below += mass * (top - theta[i, k])
        share = weight[i] / total
        for k in range(n_labels):
            vertices[out + k] *= share
        logarithm = log(total)
        values[i] = top + logarithm
        gain += weight[i] * min(logarithm + below / total, log(float(n_labels)))
    return gain


@kernel
def sigmoid_rows(theta: Array, weight: Array, vertices: Array, values: Array) -> float:
    """Write p_i sigmoid(theta_ik) and sum_k log(1 + exp theta_ik); return sum_i p_i H_i.

    H = sum_k log(1 + exp -|theta_k|) + |theta_k| / (1 + exp |theta_k|): no term is negative.
    """
    n, n_labels = theta.shape
    gain = 0.0
    for i in range(n):
        value = entropy = 0.0
        for k in range(n_labels):
            score = theta[i, k]
            small = exp(-abs(score))
            tail = log1p(small)
            share = weight[i] / (1.0 + small)
            vertices[i * n_labels + k] = share if score >= 0.0 else share * small
            value += max(score, 0.0) + tail
            if small > 0.0:
                entropy += tail + abs(score) * small / (1.0 + small)
        values[i] = value
        gain += weight[i] * min(entropy, n_labels * log(2.0))
    return gain
