"""Compiled answers of rows times labels."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

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
from structlearn.core.kernels import implements, jitable, leaf, operation
from structlearn.core.prefetching import CACHE_LINE, prefetch_line
from structlearn.scoring.rows.storage import (
    DenseRows,
    SparseRows,
    entry,
    extent,
    row_scores,
)

#: Up to this length, and as many features, ||Phi^T delta||^2 comes from the stored Gram matrix of the rows.
LONGEST_GRAM = 256
#: A row of delta with at most n_labels / FEW_LABELS non-zeros is moved label by label.
FEW_LABELS = 3


class LabelledRows(NamedTuple):
    """Compiled form: rows first[i]:first[i + 1] are example i.

    Its Gram matrix, where there is one, is gram[gram_first[i]:gram_first[i + 1]]. A record that is only to
    score has an empty gram_first.
    """

    rows: DenseRows | SparseRows
    n_features: int
    first: Array
    n_labels: int
    n_shared: int
    intercept: bool
    gram: Array
    gram_first: Array


class RowsWithGram(Protocol):
    """A record of rows and labels with Gram matrices of the examples' rows."""

    @property
    def rows(self) -> DenseRows | SparseRows: ...
    @property
    def first(self) -> Array: ...
    @property
    def n_labels(self) -> int: ...
    @property
    def intercept(self) -> bool: ...
    @property
    def gram(self) -> Array: ...
    @property
    def gram_first(self) -> Array: ...


@implements(scoring_workspace, LabelledRows)
@jitable
def rows_workspace(scoring: LabelledRows) -> tuple[Array, Array]:
    """Return room for a pulled-back direction (zero between uses; only without Gram matrices), and labels."""
    n = scoring.n_labels
    size = (scoring.n_features + int(scoring.intercept)) * n + scoring.n_shared
    pulled = lacks_gram(scoring.first, scoring.gram_first)
    return np.zeros(size if pulled else 0), np.empty(n + 1, dtype=np.int64)


@leaf
def lacks_gram(first: Array, gram_first: Array) -> bool:
    """Return whether the products of some example's rows are not stored. Compiled: there may be a million."""
    found = False
    for i in range(gram_first.size - 1):
        length = first[i + 1] - first[i]
        found |= gram_first[i + 1] - gram_first[i] != length * length
    return found


@leaf
def has_gram(scoring: RowsWithGram, i: int) -> bool:
    """Return whether all products of example i's rows are stored; an example without rows has none."""
    length = scoring.first[i + 1] - scoring.first[i]
    return scoring.gram_first[i + 1] - scoring.gram_first[i] == length * length


# ---- scores ----------------------------------------------------------------------------------------


@implements(score, LabelledRows)
@leaf
def rows_score(scoring: LabelledRows, i: int, w: Array, work: tuple[Array, Array], theta: Array) -> None:
    d, n = scoring.n_features, scoring.n_labels
    a = scoring.first[i]
    length = scoring.first[i + 1] - a
    for t in range(length):
        row_scores(scoring.rows, a + t, w, 0, n, theta[t * n : (t + 1) * n])
    if scoring.intercept:
        constant = w[d * n : (d + 1) * n]
        for t in range(length):
            row = theta[t * n : (t + 1) * n]
            for k in range(n):
                row[k] += constant[k]


@implements(score_subset, LabelledRows)
@leaf
def rows_score_subset(
    scoring: LabelledRows, i: int, w: Array, wanted: Array, work: tuple[Array, Array], theta: Array
) -> None:
    """Score row by row: label by label where few are wanted, all at once where they are many."""
    rows, d, n = scoring.rows, scoring.n_features, scoring.n_labels
    a = scoring.first[i]
    for t in range(scoring.first[i + 1] - a):
        if not few_wanted(wanted, t * n, n):
            row_scores(rows, a + t, w, 0, n, theta[t * n : (t + 1) * n])
            continue
        for k in range(n):
            if wanted[t * n + k]:
                row_scores(rows, a + t, w, k, n, theta[t * n + k : t * n + k + 1])
    if scoring.intercept:
        for k in range(theta.size):
            if wanted[k]:
                theta[k] += w[d * n + k % n]


@leaf
def few_wanted(wanted: Array, first: int, n: int) -> bool:
    """Return whether so few of n labels are wanted that they are scored one by one."""
    count = 0
    for k in range(first, first + n):
        count += 1 if wanted[k] else 0
    return count * FEW_LABELS <= n or n == 1


@implements(prefetch, LabelledRows)
@leaf
def rows_prefetch(scoring: LabelledRows, i: int) -> None:
    """Ask for all of an example of one row; the rest of a longer one follows in sequence without asking."""
    prefetch_row(scoring.rows, scoring.first[i])


@operation
def prefetch_row(rows: DenseRows | SparseRows, row: int) -> None:
    """Ask for one row."""


@implements(prefetch_row, DenseRows)
@leaf
def _prefetch_dense(rows: DenseRows, row: int) -> None:
    x = rows.X[row]
    for j in range(0, x.size, CACHE_LINE // x.itemsize):
        prefetch_line(x, j)


@implements(prefetch_row, SparseRows)
@leaf
def _prefetch_sparse(rows: SparseRows, row: int) -> None:
    for p in range(rows.indptr[row], rows.indptr[row + 1], CACHE_LINE // rows.data.itemsize):
        prefetch_line(rows.data, p)
        prefetch_line(rows.indices, p)


# ---- pullbacks -------------------------------------------------------------------------------------


@implements(add_pullback, LabelledRows)
@leaf
def rows_add_pullback(
    scoring: LabelledRows, i: int, delta: Array, scale: float, w: Array, work: tuple[Array, Array]
) -> None:
    """Add row by row: z_i mixes few vertices, so that most of a row of delta is zero."""
    rows, d, n = scoring.rows, scoring.n_features, scoring.n_labels
    a = scoring.first[i]
    length = scoring.first[i + 1] - a
    labels = work[1]
    W = w[: d * n].reshape(d, n)
    for t in range(length):
        at, size = extent(rows, a + t)
        row = delta[t * n : (t + 1) * n]
        if n == 1:
            change = scale * row[0]
            for p in range(size):
                j, x = entry(rows, at, p)
                w[j] += change * x
            continue
        count = nonzero_labels(row, labels)
        if count * FEW_LABELS <= n:
            for q in range(count):
                k = labels[q]
                change = scale * row[k]
                for p in range(size):
                    j, x = entry(rows, at, p)
                    W[j, k] += change * x
        else:
            for p in range(size):
                j, x = entry(rows, at, p)
                change = scale * x
                for k in range(n):
                    W[j, k] += change * row[k]
    if scoring.intercept:
        constant = w[d * n : (d + 1) * n]
        for t in range(length):
            for k in range(n):
                constant[k] += scale * delta[t * n + k]
    shared = delta[length * n :]
    own = w[w.size - shared.size :]
    for j in range(shared.size):
        own[j] += scale * shared[j]


@leaf
def nonzero_labels(row: Array, labels: Array) -> int:
    """List the labels where a row of delta is not zero; return how many there are."""
    count = 0
    for k in range(row.size):
        labels[count] = k
        count += 1 if row[k] != 0.0 else 0
    return count


# ---- norms and products ----------------------------------------------------------------------------


@implements(squared_norm, LabelledRows)
@leaf
def rows_squared_norm(scoring: LabelledRows, i: int, delta: Array, work: tuple[Array, Array]) -> float:
    if has_gram(scoring, i):
        return norm_by_gram(scoring, i, scoring.first[i + 1] - scoring.first[i], delta)
    rows_add_pullback(scoring, i, delta, 1.0, work[0], work)
    return squared_and_clear(scoring.rows, scoring, i, work[0])


@leaf
def norm_by_gram(scoring: RowsWithGram, i: int, length: int, delta: Array) -> float:
    """sum_{t, u} <x_t, x_u> <delta_t, delta_u>, plus the shared parts, whose features are unit vectors."""
    n = scoring.n_labels
    table = delta[: length * n].reshape(length, n)
    first = scoring.gram_first[i]
    total = sum_of_squares(delta[length * n :])
    for t in range(length):
        for u in range(t + 1):
            inner = 0.0
            for k in range(n):
                inner += table[t, k] * table[u, k]
            total += (1.0 if t == u else 2.0) * scoring.gram[first + t * length + u] * inner
    return total


@leaf
def sum_of_squares(x: Array) -> float:
    total = 0.0
    for j in range(x.size):
        total += x[j] * x[j]
    return total


@implements(gram, LabelledRows)
@leaf
def rows_gram(
    scoring: LabelledRows, i: int, delta: Array, wanted: Array, work: tuple[Array, Array], out: Array
) -> None:
    length = scoring.first[i + 1] - scoring.first[i]
    n_local = length * scoring.n_labels
    if has_gram(scoring, i):
        _gram_of_rows(scoring, i, length, delta, out)
    else:
        rows_add_pullback(scoring, i, delta, 1.0, work[0], work)
        rows_score_subset(scoring, i, work[0], wanted, work, out[:n_local])
        squared_and_clear(scoring.rows, scoring, i, work[0])
    for j in range(n_local, delta.size):  # features of shared parts are unit vectors
        out[j] = delta[j]


@leaf
def _gram_of_rows(scoring: LabelledRows, i: int, length: int, delta: Array, out: Array) -> None:
    """out[t, k] <- sum_u <x_t, x_u> delta[u, k]; most of delta is zero."""
    n = scoring.n_labels
    first = scoring.gram_first[i]
    for j in range(length * n):
        out[j] = 0.0
    for u in range(length):
        for k in range(n):
            part = delta[u * n + k]
            if part != 0.0:
                for t in range(length):
                    out[t * n + k] += scoring.gram[first + u * length + t] * part


@operation
def squared_and_clear(rows: DenseRows | SparseRows, scoring: LabelledRows, i: int, pulled: Array) -> Any:
    """Return the squared norm of Phi_i^T delta, and set it to zero again."""


@implements(squared_and_clear, DenseRows)
@leaf
def _clear_dense(rows: DenseRows, scoring: LabelledRows, i: int, pulled: Array) -> float:
    return clear_squares(pulled)


@implements(squared_and_clear, SparseRows)
@leaf
def _clear_sparse(rows: SparseRows, scoring: LabelledRows, i: int, pulled: Array) -> float:
    """Clear only what example i touches."""
    n = scoring.n_labels
    total = clear_squares(pulled[scoring.n_features * n :])
    for p in range(rows.indptr[scoring.first[i]], rows.indptr[scoring.first[i + 1]]):
        j = rows.indices[p]
        total += clear_squares(pulled[j * n : (j + 1) * n])  # a feature seen before adds zero
    return total


@leaf
def clear_squares(x: Array) -> float:
    """Return the sum of squares, and set all to zero."""
    total = sum_of_squares(x)
    for j in range(x.size):
        x[j] = 0.0
    return total
