"""Exact samples of trees.

Projective: back through the log-sums of spans, as the best tree is read off their maxima, by chance instead.
Non-projective: word by word, its head from the marginals given the heads of the words before.
"""

from __future__ import annotations

from math import exp

import numpy as np

from structlearn.core.contract import Array, Record, Shape, marginals
from structlearn.core.kernels import implements, kernel, operation
from structlearn.core.vectors import assign, max_of, sum_of
from structlearn.structures.tree.arborescence import NonProjectiveTreeRecord
from structlearn.structures.tree.eisner import (
    LEFT,
    RIGHT,
    InsideOutside,
    ProjectiveTreeRecord,
    SpanTables,
    push_span,
    root_terms,
    split_span,
    split_terms,
)
from structlearn.structures.tree.matrix_tree import EliminationWork
from structlearn.structures.tree.plain_spans import take_logarithms


@operation
def draw_trees(
    structure: Record, shape: Shape, theta: Array, work: tuple[object, ...], uniform: Array, heads: Array
) -> None:
    """heads[i] <- a tree of p(y) ~ exp <theta, y>, by the random numbers uniform[i], 2 n of them.

    `work` is that of `log_partition`, after it.
    """


@implements(draw_trees, ProjectiveTreeRecord)
@kernel
def sample_spans(
    structure: ProjectiveTreeRecord,
    shape: Shape,
    theta: Array,
    work: InsideOutside,
    uniform: Array,
    heads: Array,
) -> None:
    n, spans = shape[1], work.spans
    scores = theta.reshape(n + 1, n)
    if work.found[1] > 0.0:
        take_logarithms(n, 1 if structure.single_root else 0, spans, work.tops)
        work.found[1] = 0.0
    for i in range(heads.shape[0]):
        if not structure.single_root:
            _sample_back(spans, 0, n, RIGHT, uniform[i], 0, heads[i])
            continue
        root_terms(n, scores, spans, spans.terms)
        root = draw_term(spans.terms[:n], uniform[i, 0]) + 1
        heads[i, root - 1] = 0
        drawn = _sample_back(spans, 1, root, LEFT, uniform[i], 1, heads[i])
        _sample_back(spans, root, n, RIGHT, uniform[i], drawn, heads[i])


@kernel
def _sample_back(
    spans: SpanTables, s: int, t: int, kind: int, uniform: Array, drawn: int, heads: Array
) -> int:
    """Draw heads of the words in a span; return how many random numbers are used by now."""
    stack = spans.stack
    size = push_span(stack, 0, s, t, kind)
    while size:
        size -= 1
        s, t, kind = stack[size, 0], stack[size, 1], stack[size, 2]
        terms = spans.terms[: t - s]
        split_terms(spans, kind, s, t, terms)
        size, head, word = split_span(stack, size, kind, s, t, draw_term(terms, uniform[drawn]))
        drawn += 1
        if head >= 0:
            heads[word - 1] = head
    return drawn


@kernel
def draw_term(terms: Array, uniform: float) -> int:
    """Draw k with probability exp terms[k] over their sum; never one of probability zero."""
    top = max_of(terms)
    for k in range(terms.size):
        terms[k] = exp(terms[k] - top)
    return draw_share(terms, uniform)


@kernel
def draw_share(shares: Array, uniform: float) -> int:
    """Draw k with a probability in proportion to shares[k]."""
    target, last, reached = uniform * sum_of(shares), 0, 0.0
    for k in range(shares.size):
        if shares[k] > 0.0:
            last = k
            reached += shares[k]
            if reached > target:
                break
    return last


@implements(draw_trees, NonProjectiveTreeRecord)
@kernel
def sample_words(
    structure: NonProjectiveTreeRecord,
    shape: Shape,
    theta: Array,
    work: EliminationWork,
    uniform: Array,
    heads: Array,
) -> None:
    """Draw each word's head from p(head | heads of the words before)."""
    n = shape[1]
    mean, given = np.empty(theta.size), np.empty(theta.size)
    table, shares = given.reshape(n + 1, n), mean.reshape(n + 1, n)
    for i in range(heads.shape[0]):
        assign(given, theta)
        for m in range(n):
            marginals(structure, shape, given, given[:0], work, mean)
            heads[i, m] = last = draw_share(shares[:, m], uniform[i, m])
            for h in range(n + 1):
                if h != last:
                    table[h, m] = -np.inf
