"""Forward-backward in logarithms: slower than with scaled probabilities, and safe for all scores."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.core.vectors import max_of, sum_of, sum_of_exp
from structlearn.structures.chain.exponential import exponential
from structlearn.structures.chain.viterbi import SequenceScores

LOWEST = -1e4  # no score below has a probability; times zero it is zero, which -inf is not


@kernel
def log_forward(scores: SequenceScores, ahead: Array, largest: Array, total: Array) -> float:
    """ahead_t[k] <- unary_t[k] + log sum_j exp(ahead_(t-1)[j] + step_t[j, k]), less its largest.

    Returns log Z of the `SequenceScores`. Leaves in largest_t[k] the largest exponent of that sum (0 where
    all are -inf), and in total_t[k] the sum of the exponentials relative to it.
    """
    unary, steps, start, end = scores
    length, n = unary.shape
    log_z = 0.0
    for t in range(length):
        for k in range(n):
            ahead[t, k] = unary[t, k]
        if t == 0:
            for k in range(start.size):
                ahead[0, k] += start[k]
        else:
            s = min(t, steps.shape[0] - 1)
            for k in range(n):
                largest[t, k] = -np.inf
                total[t, k] = 0.0
            for j in range(n):
                for k in range(n):
                    largest[t, k] = max(largest[t, k], ahead[t - 1, j] + steps[s, j, k])
            for k in range(n):
                largest[t, k] = largest[t, k] if largest[t, k] > -np.inf else 0.0
            for j in range(n):
                for k in range(n):
                    total[t, k] += exponential(ahead[t - 1, j] + steps[s, j, k] - largest[t, k])
            for k in range(n):
                ahead[t, k] += largest[t, k] + np.log(total[t, k])
        if t == length - 1:
            for k in range(end.size):
                ahead[t, k] += end[k]
        best = max_of(ahead[t, :n])
        if best == -np.inf:
            return best
        log_z += best
        for k in range(n):
            ahead[t, k] -= best
    return log_z + np.log(sum_of_exp(ahead[length - 1, :n]))


@kernel
def log_backward(
    steps: Array, ahead: Array, largest: Array, total: Array, row: Array, local: Array, transitions: Array
) -> float:
    """p(y_(t-1) = j, y_t = k) = p_t(k) p(j | k),   p(j | k) = exp(ahead_(t-1)[j] + step_t[j, k] - ...).

    Backward smoothing: only ratios within one sum are taken, so large scores cost no accuracy. Writes p_t and
    the pairs, laid out as `steps`; `row` is scratch. Returns the entropy by the chain rule, H(y_L) + sum_t
    sum_k p_t(k) H(p(. | k)), a sum of terms that are not negative.
    """
    length, n = local.shape
    for k in range(n):
        local[length - 1, k] = np.exp(ahead[length - 1, k])
    entropy = np.log(sum_of(local[length - 1]))
    normalize(local[length - 1])
    for k in range(n):
        entropy -= max(ahead[length - 1, k], LOWEST) * local[length - 1, k]
    transitions[:] = 0.0
    for t in range(length - 1, 0, -1):
        s = min(t, steps.shape[0] - 1)
        for k in range(n):
            row[k] = local[t, k] / total[t, k] if local[t, k] > 0.0 else 0.0
            entropy += local[t, k] * np.log(total[t, k]) if local[t, k] > 0.0 else 0.0
        for j in range(n):
            through = 0.0
            for k in range(n):
                below = ahead[t - 1, j] + steps[s, j, k] - largest[t, k]
                pair = row[k] * exponential(below)
                entropy -= max(below, LOWEST) * pair
                transitions[s, j, k] += pair
                through += pair
            local[t - 1, j] = through
        normalize(local[t - 1])
    most = length - 1.0 if steps.shape[0] == 1 else 1.0
    flat = transitions.reshape(transitions.size)
    for i in range(flat.size):
        flat[i] = min(flat[i], most)
    return entropy


@kernel
def normalize(probabilities: Array) -> None:
    scale = 1.0 / sum_of(probabilities)
    for k in range(probabilities.size):
        probabilities[k] = min(probabilities[k] * scale, 1.0)
