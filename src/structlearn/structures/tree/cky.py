"""Binary trees over spans by dynamic programming (Cocke, Younger and Kasami): the best one, and marginals.

    I(i, j) = own(i, j) + max_r  I(i, r) + I(r + 1, j),   i <= r < j;     own(i, j) = max_k theta[i, j, k]

With log-sum-exp for max, I(0, n - 1) is log Z. A tree is a sequence of choices, of where to split a span and
of its label: marginals share out the probability of a span among its choices, from the whole sentence down,
and the entropy is that of the choices, each as often as its span is expected.
"""

from __future__ import annotations

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
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.core.vectors import argmax_of, log_sum, max_of
from structlearn.structures.regularized import clip_entropy
from structlearn.structures.tree.eisner import share_out, sum_in_place
from structlearn.structures.tree.sampling import draw_term


class ConstituencyRecord(NamedTuple):
    """Compiled form of `ConstituencyTree`."""

    n_labels: int


class SpanScratch(NamedTuple):
    """Scratch memory: I and own by (first, last); probabilities of spans; spans to do.

    terms, weights : what each way of a choice is worth, and its exponential
    found : (1,) the entropy
    """

    inside: Array
    own: Array
    slope: Array
    terms: Array
    weights: Array
    stack: Array
    found: Array


@implements(marginals_workspace, ConstituencyRecord)
@implements(workspace, ConstituencyRecord)
@jitable
def span_scratch(structure: ConstituencyRecord, shape: Shape) -> SpanScratch:
    n = words_of(shape)
    tables = np.empty((3, n, n))
    terms = np.empty((2, max(n, structure.n_labels)))
    stack = np.empty((n + 1, 2), np.int64)
    return SpanScratch(tables[0], tables[1], tables[2], terms[0], terms[1], stack, np.zeros(1))


@jitable
def words_of(shape: Shape) -> int:
    """Return n, where the rows of a shape are n * n spans."""
    return int(np.sqrt(shape[0]) + 0.5)


@kernel
def _fill(n: int, scores: Array, by_sum: bool, work: SpanScratch) -> float:
    """Fill I and own, by maxima or by log-sums; scores : (n * n, K). Return I of the sentence."""
    for first in range(n - 1, -1, -1):
        for last in range(first, n):
            row = scores[first * n + last]
            own = log_sum(row) if by_sum else max_of(row)
            work.own[first, last] = work.inside[first, last] = own
            if last > first:
                terms = _split_terms(work, first, last)
                work.inside[first, last] += sum_in_place(terms) if by_sum else max_of(terms)
    return work.inside[0, n - 1]


@kernel
def _split_terms(work: SpanScratch, first: int, last: int) -> Array:
    """Return what the ways to split a span are worth, in the order of where its first half ends."""
    terms = work.terms[: last - first]
    for r in range(first, last):
        terms[r - first] = work.inside[first, r] + work.inside[r + 1, last]
    return terms


@implements(max_value, ConstituencyRecord)
@implements(maximize, ConstituencyRecord)
@kernel
def best_constituents(
    structure: ConstituencyRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: SpanScratch,
    vertex: Array,
) -> float:
    n, k = words_of(shape), structure.n_labels
    scores = theta.reshape(n * n, k)
    value = _fill(n, scores, False, work)
    vertex[:] = 0.0
    if value == -np.inf:
        return value
    stack, size = work.stack, 1
    stack[0, 0], stack[0, 1] = 0, n - 1
    while size:
        size -= 1
        first, last = stack[size, 0], stack[size, 1]
        vertex[(first * n + last) * k + argmax_of(scores[first * n + last])] = 1.0
        if last > first:
            size = _push_halves(stack, size, first, last, first + argmax_of(_split_terms(work, first, last)))
    return value


@kernel
def _push_halves(stack: Array, size: int, first: int, last: int, r: int) -> int:
    stack[size, 0], stack[size, 1] = r + 1, last
    stack[size + 1, 0], stack[size + 1, 1] = first, r
    return size + 2


@implements(log_partition, ConstituencyRecord)
@kernel
def log_sum_of_trees(
    structure: ConstituencyRecord, shape: Shape, theta: Array, shared: Array, work: SpanScratch, mean: Array
) -> float:
    n = words_of(shape)
    return _fill(n, theta.reshape(n * n, structure.n_labels), True, work)


@implements(marginals, ConstituencyRecord)
@kernel
def constituent_marginals(
    structure: ConstituencyRecord, shape: Shape, theta: Array, shared: Array, work: SpanScratch, mean: Array
) -> float:
    n, k = words_of(shape), structure.n_labels
    scores, table = theta.reshape(n * n, k), mean.reshape(n * n, k)
    value = _fill(n, scores, True, work)
    mean[:] = 0.0
    if value == -np.inf:
        return value
    slope, entropy = work.slope, 0.0
    slope[:n, :n] = 0.0
    slope[0, n - 1] = 1.0
    for first in range(n):  # outer spans first
        for last in range(n - 1, first - 1, -1):
            here = slope[first, last]
            if here <= 0.0:
                continue
            shares = table[first * n + last]
            for label in range(k):
                shares[label] = scores[first * n + last, label]
            entropy += share_out(shares, work.weights, here)
            for label in range(k):
                shares[label] = min(shares[label], 1.0)
            if last > first:
                terms = _split_terms(work, first, last)
                entropy += share_out(terms, work.weights, here)
                for r in range(first, last):
                    slope[first, r] += terms[r - first]
                    slope[r + 1, last] += terms[r - first]
    work.found[0] = entropy
    return value


@implements(entropy, ConstituencyRecord)
@kernel
def constituent_entropy(
    structure: ConstituencyRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: SpanScratch,
    mean: Array,
    log_z: float,
) -> float:
    """Return H after `constituent_marginals`: a sum of terms that are not negative."""
    n = words_of(shape)
    return clip_entropy(work.found[0], (2 * n - 1) * np.log(structure.n_labels) + 2 * n * np.log(2.0))


@kernel
def draw_constituents(
    n: int, theta: Array, work: SpanScratch, uniform: Array, spans: Array, terms: Array
) -> None:
    """spans[i] <- the (first, last, label) of a tree, drawn by 3 n random numbers; after `log_partition`."""
    k = theta.size // (n * n)
    scores, stack = theta.reshape(n * n, k), work.stack
    for i in range(spans.shape[0]):
        size, found, drawn = 1, 0, 0
        stack[0, 0], stack[0, 1] = 0, n - 1
        while size:
            size -= 1
            first, last = stack[size, 0], stack[size, 1]
            for label in range(k):
                terms[label] = scores[first * n + last, label]
            spans[i, found, 0], spans[i, found, 1] = first, last
            spans[i, found, 2] = draw_term(terms, uniform[i, drawn])
            found, drawn = found + 1, drawn + 1
            if last > first:
                r = first + draw_term(_split_terms(work, first, last), uniform[i, drawn])
                drawn += 1
                size = _push_halves(stack, size, first, last, r)
