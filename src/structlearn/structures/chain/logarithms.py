"""Forward-backward in logarithms: slower than with scaled probabilities, and safe for all scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from structlearn.core.kernels import kernel
from structlearn.core.vectors import max_of, sum_of, sum_of_exp

LOWEST = -1e4  # no score below has a probability; times zero it is zero, which -inf is not


@kernel
def log_forward(structure: Any, length: Any, theta: Any, shared: Any, work: Any) -> Any:
    """ahead_t[k] <- unary_t[k] + log sum_j exp(ahead_(t-1)[j] + transition[j, k]), less its largest.

    Returns log Z. Leaves in back_t[k] the largest exponent of that sum (0 where all are -inf), and in
    unary_t[k] the sum of the exponentials of the others relative to it.
    """
    n = structure.n_labels
    ahead, largest, total = work.ahead, work.back, work.unary
    step = shared[: n * n].reshape(n, n)
    log_z = 0.0
    for t in range(length):
        for k in range(n):
            ahead[t, k] = theta[t * n + k]
        if structure.start and t == 0:
            for k in range(n):
                ahead[0, k] += shared[n * n + k]
        if t > 0:
            for k in range(n):
                largest[t, k] = -np.inf
                total[t, k] = 0.0
            for j in range(n):
                for k in range(n):
                    largest[t, k] = max(largest[t, k], ahead[t - 1, j] + step[j, k])
            for k in range(n):
                largest[t, k] = largest[t, k] if largest[t, k] > -np.inf else 0.0
            for j in range(n):
                for k in range(n):
                    total[t, k] += np.exp(ahead[t - 1, j] + step[j, k] - largest[t, k])
            for k in range(n):
                ahead[t, k] += largest[t, k] + np.log(total[t, k])
        if structure.end and t == length - 1:
            for k in range(n):
                ahead[t, k] += shared[shared.size - n + k]
        best = max_of(ahead[t, :n])
        if best == -np.inf:
            return best
        log_z += best
        for k in range(n):
            ahead[t, k] -= best
    return log_z + np.log(sum_of_exp(ahead[length - 1, :n]))


@kernel
def log_backward(n: Any, length: Any, shared: Any, work: Any, local: Any, transitions: Any) -> Any:
    """p(y_(t-1) = j, y_t = k) = p_t(k) p(j | k),   p(j | k) = exp(ahead_(t-1)[j] + transition[j, k] - ...).

    Backward smoothing: only ratios within one sum are taken, so large scores cost no accuracy. Returns the
    entropy by the chain rule, H(y_L) + sum_t sum_k p_t(k) H(p(. | k)), a sum of terms that are not negative.
    """
    ahead, largest, total, row = work.ahead, work.back, work.unary, work.row
    step = shared[: n * n].reshape(n, n)
    for k in range(n):
        local[length - 1, k] = np.exp(ahead[length - 1, k])
    entropy = np.log(sum_of(local[length - 1]))
    normalize(local[length - 1])
    for k in range(n):
        entropy -= max(ahead[length - 1, k], LOWEST) * local[length - 1, k]
    transitions[:] = 0.0
    for t in range(length - 1, 0, -1):
        for k in range(n):
            row[k] = local[t, k] / total[t, k] if local[t, k] > 0.0 else 0.0
            entropy += local[t, k] * np.log(total[t, k]) if local[t, k] > 0.0 else 0.0
        for j in range(n):
            through = 0.0
            for k in range(n):
                below = ahead[t - 1, j] + step[j, k] - largest[t, k]
                pair = row[k] * np.exp(below)
                entropy -= max(below, LOWEST) * pair
                transitions[j, k] += pair
                through += pair
            local[t - 1, j] = through
        normalize(local[t - 1])
    for j in range(n):
        for k in range(n):
            transitions[j, k] = min(transitions[j, k], length - 1.0)
    return entropy


@kernel
def normalize(probabilities: Any) -> None:
    scale = 1.0 / sum_of(probabilities)
    for k in range(probabilities.size):
        probabilities[k] = min(probabilities[k] * scale, 1.0)
