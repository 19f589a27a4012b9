"""Exact samples of trees.

Projective: back through the log-sums of spans, as the best tree is read off their maxima, by chance instead.
Non-projective: word by word, its head from the marginals given the heads of the words before.
"""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np

from structlearn.core.contract import marginals
from structlearn.core.kernels import kernel
from structlearn.core.vectors import assign, sum_of
from structlearn.structures.tree.eisner import JOINED, LEFT, RIGHT, push


@kernel
def sample_spans(n: Any, single_root: Any, theta: Any, spans: Any, uniform: Any, heads: Any) -> None:
    """heads[i] <- a tree from filled spans, by the random numbers uniform[i]: (samples, 2 n)."""
    terms = np.empty(n + 1)
    for i in range(heads.shape[0]):
        drawn = 0
        if not single_root:
            _sample_back(spans, 0, n, RIGHT, uniform[i], drawn, terms, heads[i])
            continue
        for r in range(1, n + 1):
            terms[r - 1] = spans.left[1, r] + spans.right[r, n] + theta[0, r - 1]
        root = _draw(terms, n, uniform[i, drawn]) + 1
        heads[i, root - 1] = 0
        drawn = _sample_back(spans, 1, root, LEFT, uniform[i], drawn + 1, terms, heads[i])
        _sample_back(spans, root, n, RIGHT, uniform[i], drawn, terms, heads[i])


@kernel
def _sample_back(
    spans: Any, s: Any, t: Any, kind: Any, uniform: Any, drawn: Any, terms: Any, heads: Any
) -> Any:
    """Heads of the words in a complete span; how many random numbers are used by now."""
    stack = spans.stack
    size = push(stack, 0, s, t, kind)
    while size:
        size -= 1
        s, t, kind = stack[size, 0], stack[size, 1], stack[size, 2]
        low = s + 1 if kind == RIGHT else s
        count = t - s
        for k in range(count):
            r = low + k
            if kind == RIGHT:
                terms[k] = spans.rightward[s, r] + spans.right[r, t]
            elif kind == LEFT:
                terms[k] = spans.left[s, r] + spans.leftward[r, t]
            else:
                terms[k] = spans.right[s, r] + spans.left[r + 1, t]
        r = low + _draw(terms, count, uniform[drawn])
        drawn += 1
        if kind == RIGHT:
            heads[r - 1] = s
            size = push(stack, size, s, r, JOINED)
            size = push(stack, size, r, t, RIGHT)
        elif kind == LEFT:
            heads[r - 1] = t
            size = push(stack, size, r, t, JOINED)
            size = push(stack, size, s, r, LEFT)
        else:
            size = push(stack, size, s, r, RIGHT)
            size = push(stack, size, r + 1, t, LEFT)
    return drawn


@kernel
def _draw(terms: Any, size: Any, uniform: Any) -> Any:
    """k with probability exp terms[k] over their sum; never one of probability zero."""
    top = terms[0]
    for k in range(1, size):
        top = max(top, terms[k])
    total = 0.0
    for k in range(size):
        total += exp(terms[k] - top)
    target, last, reached = uniform * total, 0, 0.0
    for k in range(size):
        share = exp(terms[k] - top)
        if share > 0.0:
            last = k
            reached += share
            if reached > target:
                break
    return last


@kernel
def sample_words(structure: Any, shape: Any, theta: Any, work: Any, uniform: Any, heads: Any) -> None:
    """heads[i] <- a tree, each word's head from p(head | heads of the words before): (samples, n)."""
    n = shape[1]
    mean, given = np.empty(theta.size), np.empty(theta.size)
    table, shares = given.reshape(n + 1, n), mean.reshape(n + 1, n)
    for i in range(heads.shape[0]):
        assign(given, theta)
        for m in range(n):
            marginals(structure, shape, given, given[:0], work, mean)
            target, last, reached = uniform[i, m] * sum_of(shares[:, m]), -1, 0.0
            for h in range(n + 1):
                if shares[h, m] > 0.0:
                    last = h
                    reached += shares[h, m]
                    if reached > target:
                        break
            heads[i, m] = last
            for h in range(n + 1):
                if h != last:
                    table[h, m] = -np.inf
