"""Projective trees by dynamic programming over spans (Eisner 1996): the best tree, and marginals.

A span (s, t) of positions, 0 the root and 1 .. n the words, is *complete* when one of its ends heads all of
it, and *incomplete* when an arc joins its ends:

    I(s, t)  = max_r  R(s, r) + L(r + 1, t)                both halves complete, s <= r < t
    A(s, t)  = I(s, t) + theta(s -> t),   B(s, t) = I(s, t) + theta(t -> s)
    R(s, t)  = max_r  A(s, r) + R(r, t),  s < r <= t       headed by s
    L(s, t)  = max_r  L(s, r) + B(r, t),  s <= r < t       headed by t

With log-sum-exp for max the same sums give log Z; the marginals are its derivatives, by going back through
the spans. With a single root, one word r is headed by the root, and heads L(1, r) and R(r, n).
"""

from __future__ import annotations

from math import exp, log
from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, kernel
from structlearn.structures.chain.logarithms import LOWEST


class Spans(NamedTuple):
    """Scratch memory: I, A, B, R, L as (n + 1, n + 1) tables, and a stack of spans to go back through."""

    joined: Array
    rightward: Array
    leftward: Array
    right: Array
    left: Array
    stack: Array


@jitable
def make_spans(n: Any) -> Any:
    tables = np.empty((5, n + 1, n + 1))
    return Spans(tables[0], tables[1], tables[2], tables[3], tables[4], np.empty((2 * n + 2, 3), np.int64))


# ---- the best tree ---------------------------------------------------------------------------------


@kernel
def best_tree(n: Any, single_root: Any, theta: Any, spans: Any, vertex: Any) -> Any:
    """vertex <- the best projective tree of the (n + 1, n) table theta; returns its score."""
    first = 1 if single_root else 0
    _fill_spans(n, first, theta, spans)
    vertex[:] = 0.0
    if not single_root:
        value = spans.right[0, n]
        if value > -np.inf:
            _go_back(n, spans, 0, n, vertex)
        return value
    root, value = -1, -np.inf
    for r in range(1, n + 1):
        through = spans.left[1, r] + spans.right[r, n] + theta[0, r - 1]
        if through > value:
            root, value = r, through
    if root > 0:
        vertex[0, root - 1] = 1.0
        _go_back(n, spans, 1, -root, vertex)
        _go_back(n, spans, root, n, vertex)
    return value


@kernel
def _fill_spans(n: Any, first: Any, theta: Any, spans: Any) -> None:
    """All spans from `first` on. For each s, the inner loops run over ends t, so that they vectorise."""
    right, left, joined = spans.right, spans.left, spans.joined
    for s in range(n, first - 1, -1):
        for t in range(s, n + 1):
            right[s, t] = left[s, t] = joined[s, t] = -np.inf
        right[s, s] = left[s, s] = 0.0
        for r in range(s, n + 1):
            if r > s:
                # I(s, r), R(s, < r) and L(s, < r) are complete
                a = joined[s, r] + theta[s, r - 1]
                b = joined[s, r] + theta[r, s - 1] if s > 0 else -np.inf
                spans.rightward[s, r] = a
                spans.leftward[s, r] = b
                for t in range(r, n + 1):
                    right[s, t] = max(right[s, t], a + right[r, t])
                left[s, r] = max(left[s, r], b)
                low = left[s, r]
                for t in range(r + 1, n + 1):
                    left[s, t] = max(left[s, t], low + spans.leftward[r, t])
            high = right[s, r]
            for t in range(r + 1, n + 1):
                joined[s, t] = max(joined[s, t], high + left[r + 1, t])


RIGHT, LEFT, JOINED = 0, 1, 2


@kernel
def _go_back(n: Any, spans: Any, s: Any, t: Any, vertex: Any) -> None:
    """Write the arcs of the best complete span (s, t), headed by s; of (s, -t), headed by -t, if t < 0."""
    stack = spans.stack
    stack[0, 0], stack[0, 1], stack[0, 2] = s, abs(t), (LEFT if t < 0 else RIGHT)
    size = 1
    while size:
        size -= 1
        s, t, kind = stack[size, 0], stack[size, 1], stack[size, 2]
        if s == t:
            continue
        if kind == RIGHT:
            r = s + 1
            for q in range(s + 2, t + 1):
                if spans.rightward[s, q] + spans.right[q, t] > spans.rightward[s, r] + spans.right[r, t]:
                    r = q
            vertex[s, r - 1] = 1.0
            size = push(stack, size, s, r, JOINED)
            size = push(stack, size, r, t, RIGHT)
        elif kind == LEFT:
            r = s
            for q in range(s + 1, t):
                if spans.left[s, q] + spans.leftward[q, t] > spans.left[s, r] + spans.leftward[r, t]:
                    r = q
            vertex[t, r - 1] = 1.0
            size = push(stack, size, r, t, JOINED)
            size = push(stack, size, s, r, LEFT)
        else:
            r = s
            for q in range(s + 1, t):
                if spans.right[s, q] + spans.left[q + 1, t] > spans.right[s, r] + spans.left[r + 1, t]:
                    r = q
            size = push(stack, size, s, r, RIGHT)
            size = push(stack, size, r + 1, t, LEFT)


@kernel
def push(stack: Any, size: Any, s: Any, t: Any, kind: Any) -> Any:
    if s == t:
        return size
    stack[size, 0], stack[size, 1], stack[size, 2] = s, t, kind
    return size + 1


# ---- marginals -------------------------------------------------------------------------------------


@kernel
def inside(n: Any, single_root: Any, theta: Any, spans: Any) -> Any:
    """Log-sums of all spans; returns log Z."""
    first = 1 if single_root else 0
    right, left, joined = spans.right, spans.left, spans.joined
    terms = np.empty(n + 1)
    for s in range(n, first - 1, -1):
        right[s, s] = left[s, s] = 0.0
        for t in range(s + 1, n + 1):
            for r in range(s, t):
                terms[r - s] = right[s, r] + left[r + 1, t]
            joined[s, t] = _log_sum(terms, t - s)
            spans.rightward[s, t] = joined[s, t] + theta[s, t - 1]
            spans.leftward[s, t] = joined[s, t] + theta[t, s - 1] if s > 0 else -np.inf
            for r in range(s + 1, t + 1):
                terms[r - s - 1] = spans.rightward[s, r] + right[r, t]
            right[s, t] = _log_sum(terms, t - s)
            for r in range(s, t):
                terms[r - s] = left[s, r] + spans.leftward[r, t]
            left[s, t] = _log_sum(terms, t - s)
    if not single_root:
        return right[0, n]
    for r in range(1, n + 1):
        terms[r - 1] = left[1, r] + right[r, n] + theta[0, r - 1]
    return _log_sum(terms, n)


@kernel
def _log_sum(terms: Any, size: Any) -> Any:
    top = terms[0]
    for k in range(1, size):
        top = max(top, terms[k])
    if top == -np.inf:
        return top
    total = 0.0
    for k in range(size):
        total += exp(terms[k] - top)
    return top + log(total)


@kernel
def outside(n: Any, single_root: Any, theta: Any, spans: Any, slopes: Any, mean: Any) -> Any:
    """mean <- d log Z / d theta, from filled spans. `slopes` is scratch like the spans.

    Returns the entropy: a tree is a sequence of choices of where to split a span, so that it is the sum of
    the entropies of the choices, each as often as its span is expected.
    """
    first = 1 if single_root else 0
    right, left = spans.right, spans.left
    terms = np.empty(n + 1)
    for s in range(first, n + 1):
        for t in range(s, n + 1):
            slopes.joined[s, t] = slopes.right[s, t] = slopes.left[s, t] = 0.0
            slopes.rightward[s, t] = slopes.leftward[s, t] = 0.0
    mean[:] = 0.0
    entropy = 0.0
    if single_root:
        for r in range(1, n + 1):
            terms[r - 1] = left[1, r] + right[r, n] + theta[0, r - 1]
        entropy += _share_out(terms[:n], 1.0)
        for r in range(1, n + 1):
            mean[0, r - 1] = min(terms[r - 1], 1.0)
            slopes.left[1, r] += terms[r - 1]
            slopes.right[r, n] += terms[r - 1]
    else:
        slopes.right[0, n] = 1.0
    for s in range(first, n + 1):  # outer spans first
        for t in range(n, s, -1):
            own = terms[: t - s]
            if slopes.left[s, t] > 0.0:
                for r in range(s, t):
                    own[r - s] = left[s, r] + spans.leftward[r, t]
                entropy += _share_out(own, slopes.left[s, t])
                for r in range(s, t):
                    slopes.left[s, r] += own[r - s]
                    slopes.leftward[r, t] += own[r - s]
            if slopes.right[s, t] > 0.0:
                for r in range(s + 1, t + 1):
                    own[r - s - 1] = spans.rightward[s, r] + right[r, t]
                entropy += _share_out(own, slopes.right[s, t])
                for r in range(s + 1, t + 1):
                    slopes.rightward[s, r] += own[r - s - 1]
                    slopes.right[r, t] += own[r - s - 1]
            # the arcs that join s and t, and the two halves between
            there, back = slopes.rightward[s, t], slopes.leftward[s, t]
            mean[s, t - 1] = min(there, 1.0)
            if s > 0:
                mean[t, s - 1] = min(back, 1.0)
            if there + back > 0.0:
                for r in range(s, t):
                    own[r - s] = right[s, r] + left[r + 1, t]
                entropy += _share_out(own, there + back)
                for r in range(s, t):
                    slopes.right[s, r] += own[r - s]
                    slopes.left[r + 1, t] += own[r - s]
    return entropy


@kernel
def _share_out(terms: Any, slope: Any) -> Any:
    """terms <- slope softmax(terms), which adds up to `slope` at any size; slope times its entropy."""
    top = terms[0]
    for k in range(1, terms.size):
        top = max(top, terms[k])
    total = below = 0.0
    for k in range(terms.size):
        weight = exp(terms[k] - top)
        below -= max(terms[k] - top, LOWEST) * weight
        total += weight
        terms[k] = weight
    scale = slope / total
    for k in range(terms.size):
        terms[k] *= scale
    return slope * (log(total) + below / total)
