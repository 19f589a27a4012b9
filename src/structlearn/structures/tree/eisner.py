"""Projective trees by dynamic programming over spans (Eisner 1996): the best tree, and marginals.

A span (s, t) of positions, 0 the root and 1 .. n the words, is *complete* when one of its ends heads all of
it, and *incomplete* when an arc joins its ends:

    I(s, t)  = max_r  R(s, r) + L(r + 1, t)                both halves complete, s <= r < t
    A(s, t)  = I(s, t) + theta(s -> t),   B(s, t) = I(s, t) + theta(t -> s)
    R(s, t)  = max_r  A(s, r) + R(r, t),  s < r <= t       headed by s
    L(s, t)  = max_r  L(s, r) + B(r, t),  s <= r < t       headed by t

With log-sum-exp for max the same sums give log Z; the marginals are its derivatives, by going back through
the spans; in plain numbers where none can underflow (`plain_spans`). With a single root, one word r is headed
by the root, and heads L(1, r) and R(r, n).
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import (
    Array,
    Shape,
    entropy,
    log_partition,
    marginals,
    marginals_workspace,
    max_value,
    maximize,
    workspace,
)
from structlearn.core.kernels import implements, jitable, kernel, leaf
from structlearn.core.vectors import argmax_of, log_sum, max_of, sum_of
from structlearn.structures.chain.exponential import exponential
from structlearn.structures.chain.logarithms import LOWEST
from structlearn.structures.regularized import clip_entropy
from structlearn.structures.tree.plain_spans import (
    entropy_of_arcs,
    root_sum,
    spread_slopes,
    sum_spans,
    weigh_arcs,
)

RIGHT, LEFT, JOINED = 0, 1, 2


class ProjectiveTreeRecord(NamedTuple):
    """Compiled form of `ProjectiveTree`."""

    single_root: bool


class SpanTables(NamedTuple):
    """Scratch memory: I, A, B, R, L as (n + 1, n + 1) tables, and a stack of spans to go back through."""

    joined: Array
    rightward: Array
    leftward: Array
    right: Array
    left: Array
    stack: Array
    #: one for each way to split a span, and their exponentials
    terms: Array
    weights: Array


@implements(workspace, ProjectiveTreeRecord)
@jitable
def make_spans(structure: ProjectiveTreeRecord, shape: Shape) -> SpanTables:
    n = shape[1]
    tables = np.empty((5, n + 1, n + 1))
    stack = np.empty((2 * n + 2, 3), np.int64)
    terms = np.empty((2, n + 1))
    return SpanTables(tables[0], tables[1], tables[2], tables[3], tables[4], stack, terms[0], terms[1])


@leaf
def split_terms(spans: SpanTables, kind: int, s: int, t: int, terms: Array) -> None:
    """terms <- what the ways to split the span (s, t) are worth, in the order of r."""
    if kind == RIGHT:
        for r in range(s + 1, t + 1):
            terms[r - s - 1] = spans.rightward[s, r] + spans.right[r, t]
    elif kind == LEFT:
        for r in range(s, t):
            terms[r - s] = spans.left[s, r] + spans.leftward[r, t]
    else:
        for r in range(s, t):
            terms[r - s] = spans.right[s, r] + spans.left[r + 1, t]


@leaf
def root_terms(n: int, theta: Array, spans: SpanTables, terms: Array) -> None:
    """Compute the same for the sentence, by the one word under the root."""
    for r in range(1, n + 1):
        terms[r - 1] = spans.left[1, r] + spans.right[r, n] + theta[0, r - 1]


@kernel
def split_span(stack: Array, size: int, kind: int, s: int, t: int, k: int) -> tuple[int, int, int]:
    """Push the halves of a span that is split in its k-th way; the stack's size, and an arc (-1: none)."""
    if kind == RIGHT:
        r = s + 1 + k
        size = push_span(stack, size, s, r, JOINED)
        return push_span(stack, size, r, t, RIGHT), s, r
    r = s + k
    if kind == LEFT:
        size = push_span(stack, size, r, t, JOINED)
        return push_span(stack, size, s, r, LEFT), t, r
    size = push_span(stack, size, s, r, RIGHT)
    return push_span(stack, size, r + 1, t, LEFT), -1, r


@kernel
def push_span(stack: Array, size: int, s: int, t: int, kind: int) -> int:
    if s == t:
        return size
    stack[size, 0], stack[size, 1], stack[size, 2] = s, t, kind
    return size + 1


# ---- the best tree ---------------------------------------------------------------------------------


@implements(max_value, ProjectiveTreeRecord)
@implements(maximize, ProjectiveTreeRecord)
@kernel
def best_tree(
    structure: ProjectiveTreeRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: SpanTables,
    vertex: Array,
) -> float:
    n = shape[1]
    scores, tree = theta.reshape(n + 1, n), vertex.reshape(n + 1, n)
    _fill_spans(n, 1 if structure.single_root else 0, scores, work)
    vertex[:] = 0.0
    if not structure.single_root:
        value = work.right[0, n]
        if value > -np.inf:
            _go_back(work, 0, n, RIGHT, tree)
        return value
    terms = work.terms[:n]
    root_terms(n, scores, work, terms)
    root = argmax_of(terms) + 1
    value = terms[root - 1]
    if value > -np.inf:
        tree[0, root - 1] = 1.0
        _go_back(work, 1, root, LEFT, tree)
        _go_back(work, root, n, RIGHT, tree)
    return value


@kernel
def _fill_spans(n: int, first: int, theta: Array, spans: SpanTables) -> None:
    """Fill all spans from `first` on. For each s, inner loops run over ends t, so that they vectorise."""
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


@kernel
def _go_back(spans: SpanTables, s: int, t: int, kind: int, vertex: Array) -> None:
    """Write the arcs of the best span (s, t) of a kind."""
    stack = spans.stack
    size = push_span(stack, 0, s, t, kind)
    while size:
        size -= 1
        s, t, kind = stack[size, 0], stack[size, 1], stack[size, 2]
        terms = spans.terms[: t - s]
        split_terms(spans, kind, s, t, terms)
        size, head, word = split_span(stack, size, kind, s, t, argmax_of(terms))
        if head >= 0:
            vertex[head, word - 1] = 1.0


# ---- marginals -------------------------------------------------------------------------------------


class InsideOutside(NamedTuple):
    """Scratch memory: spans and their slopes; arcs in plain numbers.

    weights : (n + 1, n), tops : (n,), as in `plain_spans`
    found : (2,) the entropy or, of plain numbers, log Z without the tops; whether they are plain numbers
    """

    spans: SpanTables
    slopes: SpanTables
    weights: Array
    tops: Array
    found: Array


@implements(marginals_workspace, ProjectiveTreeRecord)
@jitable
def inside_outside_workspace(structure: ProjectiveTreeRecord, shape: Shape) -> InsideOutside:
    spans, slopes = make_spans(structure, shape), make_spans(structure, shape)
    return InsideOutside(spans, slopes, np.empty(shape[0] * shape[1]), np.empty(shape[1]), np.zeros(2))


@implements(log_partition, ProjectiveTreeRecord)
@leaf
def inside(
    structure: ProjectiveTreeRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: InsideOutside,
    mean: Array,
) -> float:
    """Compute sums of all spans, or log-sums."""
    n = shape[1]
    scores, weights = theta.reshape(n + 1, n), work.weights[: theta.size].reshape(n + 1, n)
    plain = weigh_arcs(scores, weights, work.tops[:n])
    work.found[1] = 1.0 if plain else 0.0
    if not plain:
        return _log_inside(n, structure.single_root, scores, work.spans)
    sum_spans(n, 1 if structure.single_root else 0, weights, work.spans)
    total = root_sum(n, weights, work.spans) if structure.single_root else work.spans.right[0, n]
    work.found[0] = log(total) if total > 0.0 else -np.inf
    return work.found[0] + sum_of(work.tops[:n])


@leaf
def _log_inside(n: int, single_root: bool, scores: Array, spans: SpanTables) -> float:
    """Compute log-sums of all spans."""
    joined = spans.joined
    for s in range(n, 0 if single_root else -1, -1):
        spans.right[s, s] = spans.left[s, s] = 0.0
        for t in range(s + 1, n + 1):
            joined[s, t] = _span_sum(spans, JOINED, s, t)
            spans.rightward[s, t] = joined[s, t] + scores[s, t - 1]
            spans.leftward[s, t] = joined[s, t] + scores[t, s - 1] if s > 0 else -np.inf
            spans.right[s, t] = _span_sum(spans, RIGHT, s, t)
            spans.left[s, t] = _span_sum(spans, LEFT, s, t)
    if not single_root:
        return spans.right[0, n]
    root_terms(n, scores, spans, spans.terms)
    return log_sum(spans.terms[:n])


@leaf
def _span_sum(spans: SpanTables, kind: int, s: int, t: int) -> float:
    terms = spans.terms[: t - s]
    split_terms(spans, kind, s, t, terms)
    return sum_in_place(terms)


@leaf
def sum_in_place(terms: Array) -> float:
    """Return log sum_k exp terms[k]; terms <- their exponentials, relative to the largest."""
    top = max_of(terms)
    if top == -np.inf:
        return top
    for k in range(terms.size):
        terms[k] = exponential(terms[k] - top)
    return top + log(sum_of(terms))


@implements(marginals, ProjectiveTreeRecord)
@kernel
def projective_marginals(
    structure: ProjectiveTreeRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: InsideOutside,
    mean: Array,
) -> float:
    n, total = shape[1], inside(structure, shape, theta, shared, work, mean)
    mean[:] = 0.0
    if total > -np.inf:
        scores, table = theta.reshape(n + 1, n), mean.reshape(n + 1, n)
        if work.found[1] > 0.0:
            weights = work.weights[: theta.size].reshape(n + 1, n)
            spread_slopes(n, structure.single_root, weights, work.spans, work.slopes, table)
        else:
            work.found[0] = _outside(n, structure.single_root, scores, work.spans, work.slopes, table)
    return total


@leaf
def _outside(
    n: int, single_root: bool, theta: Array, spans: SpanTables, slopes: SpanTables, mean: Array
) -> float:
    """mean <- d log Z / d theta, from filled spans. `slopes` is scratch like the spans.

    Returns the entropy: a tree is a sequence of choices of where to split a span, so that it is the sum of
    the entropies of the choices, each as often as its span is expected.
    """
    first = 1 if single_root else 0
    for s in range(first, n + 1):
        for t in range(s, n + 1):
            slopes.joined[s, t] = slopes.right[s, t] = slopes.left[s, t] = 0.0
            slopes.rightward[s, t] = slopes.leftward[s, t] = 0.0
    entropy = 0.0
    if single_root:
        terms = spans.terms[:n]
        root_terms(n, theta, spans, terms)
        entropy += share_out(terms, spans.weights, 1.0)
        for r in range(1, n + 1):
            mean[0, r - 1] = min(terms[r - 1], 1.0)
            slopes.left[1, r] += terms[r - 1]
            slopes.right[r, n] += terms[r - 1]
    else:
        slopes.right[0, n] = 1.0
    for s in range(first, n + 1):  # outer spans first
        for t in range(n, s, -1):
            entropy += _pass_on(spans, slopes, LEFT, s, t, slopes.left[s, t])
            entropy += _pass_on(spans, slopes, RIGHT, s, t, slopes.right[s, t])
            # the arcs that join s and t, and the two halves between
            there, back = slopes.rightward[s, t], slopes.leftward[s, t]
            mean[s, t - 1] = min(there, 1.0)
            if s > 0:
                mean[t, s - 1] = min(back, 1.0)
            entropy += _pass_on(spans, slopes, JOINED, s, t, there + back)
    return entropy


@leaf
def _pass_on(spans: SpanTables, slopes: SpanTables, kind: int, s: int, t: int, slope: float) -> float:
    """Add the slope of a span to those of its halves, by every way to split it; slope times their entropy."""
    if slope <= 0.0:
        return 0.0
    terms = spans.terms[: t - s]
    split_terms(spans, kind, s, t, terms)
    entropy = share_out(terms, spans.weights, slope)
    if kind == RIGHT:
        for r in range(s + 1, t + 1):
            slopes.rightward[s, r] += terms[r - s - 1]
            slopes.right[r, t] += terms[r - s - 1]
    elif kind == LEFT:
        for r in range(s, t):
            slopes.left[s, r] += terms[r - s]
            slopes.leftward[r, t] += terms[r - s]
    else:
        for r in range(s, t):
            slopes.right[s, r] += terms[r - s]
            slopes.left[r + 1, t] += terms[r - s]
    return entropy


@leaf
def share_out(terms: Array, weights: Array, slope: float) -> float:
    """terms <- slope softmax(terms), which adds up to `slope` at any size; slope times its entropy.

    weights : scratch, at least as long
    """
    top = max_of(terms)
    for k in range(terms.size):
        terms[k] -= top
    for k in range(terms.size):
        weights[k] = exponential(terms[k])
    total = below = 0.0
    for k in range(terms.size):
        below -= max(terms[k], LOWEST) * weights[k]
        total += weights[k]
    scale = slope / total
    for k in range(terms.size):
        terms[k] = scale * weights[k]
    return slope * (log(total) + below / total)


@implements(entropy, ProjectiveTreeRecord)
@kernel
def projective_entropy(
    structure: ProjectiveTreeRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: InsideOutside,
    mean: Array,
    log_z: float,
) -> float:
    n, found = shape[1], work.found[0]
    if work.found[1] > 0.0:
        found = entropy_of_arcs(theta.reshape(n + 1, n), work.tops[:n], mean.reshape(n + 1, n), found)
    return clip_entropy(found, n * np.log(shape[0]))
