"""Rows times labels: every row of features scores every label.

Serves multiclass and multi-label problems (a row per example) and chains (a row per position). The weights
are W of shape (d, K), feature by feature, with one more row for the intercept where there is one, then the
shared parts' own weights. Feature-major, because a sparse row touches few features and all labels.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.scoring.base import Scoring, check_csr, contiguous, starts, starts_of
from structlearn.scoring.rows.grams import fill_gram
from structlearn.scoring.rows.kernels import LONGEST_GRAM, LabelledRows
from structlearn.scoring.rows.seen_kernels import SeenRows
from structlearn.scoring.rows.storage import (
    DenseRows,
    SparseRows,
    add_dense_squares,
    add_sparse_squares,
    count_nonzeros,
    take_nonzeros,
)

#: Dense data with fewer non-zeros than this is faster, and no larger, as CSR.
SPARSE_ENOUGH = 0.3


class LabelScoring(Scoring):
    """Rows of features, each of which scores every label: X, and which rows are an example's.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, d), float32 or float64
        All examples' rows, end to end.
    lengths : int array of shape (n_examples,)
    n_labels, n_shared : int
    intercept : bool
        Whether every row has one more feature, the constant 1.
    sparsify : bool
        Whether passes over blocks may store dense data with many zeros as CSR.
    memory : Memory, optional
        Where the examples' Gram matrices go.
    """

    def __init__(
        self,
        X: Array | sparse.csr_matrix,
        lengths: Array,
        n_labels: int,
        *,
        n_shared: int = 0,
        intercept: bool = False,
        sparsify: bool = True,
        memory: Memory | None = None,
    ) -> None:
        if isinstance(X, np.ndarray):
            X = contiguous(X)
        else:
            check_csr(X)
        self.X = X
        self.sparsify = sparsify
        self.memory = memory or Memory()
        self.n_labels = n_labels
        self.n_shared = n_shared
        self.intercept = intercept
        self.first = starts_of(lengths, X.shape[0])
        self.start = self.first * n_labels
        self.shapes = np.stack([np.diff(self.first), np.full(len(lengths), n_labels)], axis=1)

    @property
    @abstractmethod
    def record(self) -> LabelledRows | SeenRows: ...

    @property
    def _bare_record(self) -> LabelledRows | SeenRows:
        return self.record

    @abstractmethod
    def of_rows(self, rows: Array, lengths: Array) -> LabelScoring:
        """Return the scoring of other examples, with the same weights, whose rows are these."""

    @property
    def _options(self) -> dict[str, Any]:
        return {"n_shared": self.n_shared, "intercept": self.intercept, "sparsify": self.sparsify}

    def _gram_room(self) -> tuple[Array, Array]:
        """Return room for the Gram matrices of examples that are not too long, and where each begins."""
        lengths, longest = np.diff(self.first), min(LONGEST_GRAM, self.X.shape[1] + self.intercept)
        gram_first = starts(np.where(lengths <= longest, lengths**2, 0))
        return self.memory.empty(gram_first[-1]), gram_first

    @property
    def n_terms(self) -> int:
        X = self.X
        stored = X.shape[1] if isinstance(X, np.ndarray) else int(np.diff(X.indptr).max(initial=0))
        return stored + self.intercept


class RowScoring(LabelScoring):
    """theta_i = (X_i W).ravel(), then the shared weights. Parameters are those of `LabelScoring`."""

    def __init__(self, X: Array | sparse.csr_matrix, lengths: Array, n_labels: int, **options: Any) -> None:
        super().__init__(X, lengths, n_labels, **options)
        self._single = bool((np.asarray(lengths) == 1).all())
        self.isotropic = self.n_shared == 0 and self._single
        self.n_weights = (X.shape[1] + self.intercept) * n_labels + self.n_shared

    def of_rows(self, rows: Array, lengths: Array) -> RowScoring:
        return RowScoring(self.X[rows], lengths, self.n_labels, **self._options)

    @cached_property
    def _bare_record(self) -> LabelledRows:
        """The record without Gram matrices: enough to score."""
        rows = compiled_rows(self.X, self.sparsify)
        gram, gram_first = np.empty(0), np.empty(0, dtype=np.int64)
        counts = self.X.shape[1], self.first, self.n_labels, self.n_shared, bool(self.intercept)
        return LabelledRows(rows, *counts, gram, gram_first)

    @cached_property
    def record(self) -> LabelledRows:
        gram, gram_first = self._gram_room()
        record = self._bare_record._replace(gram=gram, gram_first=gram_first)
        if self._single:
            gram[:] = self._all_squares
        else:
            fill_gram(record, self.X.shape[1])
        return record

    def label_weights(self, w: Array) -> Array:
        """Return W of shape (d, K) or, with an intercept, (d + 1, K), as a view of `w`."""
        return w[: self.n_weights - self.n_shared].reshape(-1, self.n_labels)

    @property
    def _sparse(self) -> bool:
        """Whether the rows are stored sparsely; dense data is only looked through for training."""
        known = vars(self).get("record")
        return not isinstance(self.X, np.ndarray) or (
            known is not None and isinstance(known.rows, SparseRows)
        )

    def _scores(self, w: Array, first: int, last: int) -> Array:
        if self._sparse:
            return super()._scores(w, first, last)
        W = self.label_weights(w)
        d = self.X.shape[1]
        table = self._rows(first, last) @ W[:d]
        if self.intercept:
            table += W[d]
        return table.ravel()

    def _pullback(self, delta: Array, first: int, last: int, out: Array) -> None:
        if self._sparse:
            super()._pullback(delta, first, last, out)
            return
        W = self.label_weights(out)
        d = self.X.shape[1]
        table = delta.reshape(-1, self.n_labels)
        W[:d] += self._rows(first, last).T @ table
        if self.intercept:
            W[d] += table.sum(axis=0)

    def _part_norms(self, first: int, last: int) -> Array:
        return np.repeat(np.sqrt(self._row_squares(first, last)), self.n_labels)

    def largest_norms(self, first: int, last: int) -> Array:
        if not self._single:
            return super().largest_norms(first, last)
        return np.sqrt(self._all_squares[first:last])

    def _row_squares(self, first: int, last: int) -> Array:
        """Return <x, x> of the rows of a range of examples, the constant included."""
        return self._all_squares[self.first[first] : self.first[last]]

    @cached_property
    def _all_squares(self) -> Array:
        """<x, x> of every row; infinite where it overflows, which training refuses."""
        squares, X = np.full(self.X.shape[0], float(self.intercept)), self.X
        if isinstance(X, np.ndarray):
            add_dense_squares(_read_only(X), squares)
        else:
            add_sparse_squares(_read_only(X.data), _read_only(X.indptr), squares)
        return squares

    def _rows(self, first: int, last: int) -> Array | sparse.csr_matrix:
        """Return the rows of a range of examples, in float64: float32 is for storage."""
        return self.X[self.first[first] : self.first[last]].astype(np.float64, copy=False)


def compiled_rows(X: Array | sparse.csr_matrix, sparsify: bool) -> DenseRows | SparseRows:
    """Return rows as compiled code takes them; `sparsify` : dense ones with many zeros as CSR."""
    if isinstance(X, np.ndarray) and sparsify and np.count_nonzero(X) < SPARSE_ENOUGH * X.size:
        X = _as_csr(_read_only(X))
    if isinstance(X, np.ndarray):
        return DenseRows(_read_only(X))
    # unsigned: compiled code then need not ask whether an index counts from the end
    indices = X.indices.astype(np.int32, copy=False).view(np.uint32)
    indptr = X.indptr.astype(np.int64, copy=False)
    return SparseRows(*map(_read_only, (X.data, indices, indptr)))


def _as_csr(X: Array) -> sparse.csr_matrix:
    """Convert as `sparse.csr_matrix(X)` does, many times as fast."""
    counts = np.zeros(len(X), dtype=np.int64)
    count_nonzeros(X, counts)
    indptr = starts(counts)
    columns, values = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=X.dtype)
    take_nonzeros(X, indptr, columns, values)
    return sparse.csr_matrix((values, columns, indptr), shape=X.shape)


def _read_only(array: Array) -> Array:
    """Return a view that cannot be written: one compiled type, whether the user's array can be or not."""
    view = contiguous(array).view()
    view.flags.writeable = False
    return view
