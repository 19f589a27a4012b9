"""Compiled answers of rows times labels, where a feature has weights for some labels only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import (
    Array,
    add_pullback,
    gram,
    prefetch,
    score,
    score_subset,
    scoring_workspace,
    squared_norm,
)
from structlearn.core.kernels import implements, jitable, leaf
from structlearn.scoring.rows.kernels import (
    clear_squares,
    few_wanted,
    has_gram,
    nonzero_labels,
    norm_by_gram,
    prefetch_row,
    sum_of_squares,
)
from structlearn.scoring.rows.storage import DenseRows, SparseRows, entry, extent

#: Looking a label up among the pairs of a feature costs as much as this many steps along them, per bisection.
STEP = 4


class SeenRows(NamedTuple):
    """Compiled form: rows first[i]:first[i + 1] are example i.

    Feature j has weights for the labels pair_label[pair_first[j]:pair_first[j + 1]], in increasing order.
    Gram matrices are those of whole rows, as in `LabelledRows`.
    """

    rows: DenseRows | SparseRows
    first: Array
    n_labels: int
    n_shared: int
    intercept: bool
    pair_first: Array
    pair_label: Array
    gram: Array
    gram_first: Array


@implements(scoring_workspace, SeenRows)
@jitable
def seen_workspace(scoring: SeenRows) -> tuple[Array, Array]:
    """Return room for a pulled-back direction of local parts, which is zero between uses, and for labels."""
    n = scoring.n_labels
    return np.zeros(scoring.pair_label.size + n), np.empty(n + 1, dtype=np.int64)


@leaf
def place(scoring: SeenRows, feature: int, label: int) -> int:
    """Return the number of the pair's weight; -1 for a pair that has none."""
    low, high = scoring.pair_first[feature], scoring.pair_first[feature + 1]
    while low < high:
        middle = (low + high) // 2
        found = np.int64(scoring.pair_label[middle])
        if found == label:
            return middle
        if found < label:
            low = middle + 1
        else:
            high = middle
    return -1


@leaf
def are_few(scoring: SeenRows, feature: int, count: int) -> bool:
    """Return whether it is quicker to look `count` labels up than to go along all pairs of a feature."""
    size = scoring.pair_first[feature + 1] - scoring.pair_first[feature]
    return count * (1.0 + np.log2(size + 1.0)) * STEP < size


# ---- scores ----------------------------------------------------------------------------------------


@implements(score, SeenRows)
@leaf
def seen_score(scoring: SeenRows, i: int, w: Array, work: tuple[Array, Array], theta: Array) -> None:
    n, a = scoring.n_labels, scoring.first[i]
    for t in range(scoring.first[i + 1] - a):
        _score_row(scoring, a + t, w, theta[t * n : (t + 1) * n])


@leaf
def _score_row(scoring: SeenRows, row: int, w: Array, theta: Array) -> None:
    n, constant = scoring.n_labels, scoring.pair_label.size
    for k in range(n):
        theta[k] = w[constant + k] if scoring.intercept else 0.0
    at, size = extent(scoring.rows, row)
    for p in range(size):
        j, x = entry(scoring.rows, at, p)
        for q in range(scoring.pair_first[j], scoring.pair_first[j + 1]):
            theta[scoring.pair_label[q]] += x * w[q]


@implements(score_subset, SeenRows)
@leaf
def seen_score_subset(
    scoring: SeenRows, i: int, w: Array, wanted: Array, work: tuple[Array, Array], theta: Array
) -> None:
    """Score row by row: label by label where few are wanted, all at once where they are many."""
    n, a = scoring.n_labels, scoring.first[i]
    for t in range(scoring.first[i + 1] - a):
        if not few_wanted(wanted, t * n, n):
            _score_row(scoring, a + t, w, theta[t * n : (t + 1) * n])
            continue
        for k in range(n):
            if wanted[t * n + k]:
                theta[t * n + k] = _score_label(scoring, a + t, k, w)


@leaf
def _score_label(scoring: SeenRows, row: int, label: int, w: Array) -> float:
    total = w[scoring.pair_label.size + label] if scoring.intercept else 0.0
    at, size = extent(scoring.rows, row)
    for p in range(size):
        j, x = entry(scoring.rows, at, p)
        q = place(scoring, j, label)
        if q >= 0:
            total += x * w[q]
    return total


@implements(prefetch, SeenRows)
@leaf
def seen_prefetch(scoring: SeenRows, i: int) -> None:
    prefetch_row(scoring.rows, scoring.first[i])


# ---- pullbacks -------------------------------------------------------------------------------------


@implements(add_pullback, SeenRows)
@leaf
def seen_add_pullback(
    scoring: SeenRows, i: int, delta: Array, scale: float, w: Array, work: tuple[Array, Array]
) -> None:
    n_local = _add_local(scoring, i, delta, scale, w, work[1])
    shared = delta[n_local:]
    own = w[w.size - shared.size :]
    for j in range(shared.size):
        own[j] += scale * shared[j]


@leaf
def _add_local(scoring: SeenRows, i: int, delta: Array, scale: float, w: Array, labels: Array) -> int:
    """Pull back the local parts of delta; return how many there are."""
    n, a, constant = scoring.n_labels, scoring.first[i], scoring.pair_label.size
    length = scoring.first[i + 1] - a
    for t in range(length):
        row = delta[t * n : (t + 1) * n]
        count = nonzero_labels(row, labels)
        if count == 0:
            continue
        at, size = extent(scoring.rows, a + t)
        for p in range(size):
            j, x = entry(scoring.rows, at, p)
            _add_feature(scoring, j, scale * x, row, labels, count, w)
        if scoring.intercept:
            for q in range(count):
                w[constant + labels[q]] += scale * row[labels[q]]
    return length * n


@leaf
def _add_feature(
    scoring: SeenRows, feature: int, change: float, row: Array, labels: Array, count: int, w: Array
) -> None:
    """Add to the weights of one feature, which are looked up where few labels change."""
    if are_few(scoring, feature, count):
        for c in range(count):
            q = place(scoring, feature, labels[c])
            if q >= 0:
                w[q] += change * row[labels[c]]
        return
    for q in range(scoring.pair_first[feature], scoring.pair_first[feature + 1]):
        w[q] += change * row[scoring.pair_label[q]]


# ---- norms and products ----------------------------------------------------------------------------


@implements(squared_norm, SeenRows)
@leaf
def seen_squared_norm(scoring: SeenRows, i: int, delta: Array, work: tuple[Array, Array]) -> float:
    """Bound the norm by that over all pairs, where the Gram matrix of the rows is stored: far quicker."""
    if has_gram(scoring, i):
        return norm_by_gram(scoring, i, scoring.first[i + 1] - scoring.first[i], delta)
    n_local = _add_local(scoring, i, delta, 1.0, work[0], work[1])
    return sum_of_squares(delta[n_local:]) + _squared_and_clear(scoring, i, delta, work)


@implements(gram, SeenRows)
@leaf
def seen_gram(
    scoring: SeenRows, i: int, delta: Array, wanted: Array, work: tuple[Array, Array], out: Array
) -> None:
    n_local = _add_local(scoring, i, delta, 1.0, work[0], work[1])
    seen_score_subset(scoring, i, work[0], wanted, work, out[:n_local])
    _squared_and_clear(scoring, i, delta, work)
    for j in range(n_local, delta.size):  # features of shared parts are unit vectors
        out[j] = delta[j]


@leaf
def _squared_and_clear(scoring: SeenRows, i: int, delta: Array, work: tuple[Array, Array]) -> float:
    """Return the squared norm of what `_add_local` has pulled back, and set it to zero again."""
    pulled, labels = work
    n, a, constant = scoring.n_labels, scoring.first[i], scoring.pair_label.size
    total = clear_squares(pulled[constant:])
    for t in range(scoring.first[i + 1] - a):
        count = nonzero_labels(delta[t * n : (t + 1) * n], labels)
        if count == 0:
            continue
        at, size = extent(scoring.rows, a + t)
        for p in range(size):
            j, _ = entry(scoring.rows, at, p)
            total += _clear_feature(scoring, j, labels, count, pulled)
    return total


@leaf
def _clear_feature(scoring: SeenRows, feature: int, labels: Array, count: int, pulled: Array) -> float:
    """Clear the weights that `_add_feature` has changed; a weight that is zero already adds nothing."""
    if not are_few(scoring, feature, count):
        return clear_squares(pulled[scoring.pair_first[feature] : scoring.pair_first[feature + 1]])
    total = 0.0
    for c in range(count):
        q = place(scoring, feature, labels[c])
        if q >= 0:
            total += pulled[q] * pulled[q]
            pulled[q] = 0.0
    return total
