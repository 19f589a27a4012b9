"""Rows times labels with weights for the (feature, label) pairs that were seen.

With many labels most pairs never occur in the training text, and a table of features times labels does not
fit in memory. Here feature j has weights for the labels that some row with x_j != 0 has, and scores no other:

    theta[t, k] = sum_j x_tj w[j, k] over the features j for which (j, k) was seen, + intercept[k]

The weights are those of the pairs, feature by feature and by label, then the intercepts of all labels where
there are some, then the shared parts' own weights.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.scoring.rows.grams import fill_gram
from structlearn.scoring.rows.rows import LabelScoring, compiled_rows
from structlearn.scoring.rows.seen_kernels import SeenRows
from structlearn.scoring.rows.storage import entry, extent


class SeenPairs(NamedTuple):
    """The labels that each feature has weights for.

    first : int64 array of shape (n_features + 1,), where the pairs of each feature begin
    label : uint32 array of shape (n_pairs,), their labels, in increasing order for each feature
    """

    first: Array
    label: Array

    @classmethod
    def of(cls, X: Array | sparse.csr_matrix, codes: Array, n_labels: int) -> SeenPairs:
        """Find the pairs of rows X and their labels."""
        n_rows = X.shape[0]
        indicators = sparse.csr_matrix(
            (np.ones(n_rows, dtype=bool), codes, np.arange(n_rows + 1)), shape=(n_rows, n_labels)
        )
        occurs = sparse.csr_matrix(X).astype(bool)
        occurs.eliminate_zeros()
        found = sparse.csr_matrix(occurs.T @ indicators)
        found.sort_indices()
        return cls(found.indptr.astype(np.int64), found.indices.astype(np.uint32))

    @property
    def n_features(self) -> int:
        return self.first.size - 1

    def table(self, weights: Array, n_labels: int) -> sparse.csr_matrix:
        """Return the pairs' weights as a matrix of shape (n_features, n_labels)."""
        shape = self.n_features, n_labels
        return sparse.csr_matrix((weights[: self.label.size], self.label.astype(np.int32), self.first), shape)

    def check(self, n_features: int, n_labels: int) -> None:
        """Raise ValueError unless these can be pairs of so many features and labels."""
        first, label = self.first, self.label
        fits = first.size == n_features + 1 and first[0] == 0 and first[-1] == label.size
        if not fits or (np.diff(first) < 0).any() or (label >= n_labels).any():
            raise ValueError("the pairs of features and labels are out of range")
        owner = np.repeat(np.arange(n_features), np.diff(first))
        if (np.diff(owner * n_labels + label.astype(np.int64)) <= 0).any():
            raise ValueError("the pairs of features and labels are not in order")


class SeenRowScoring(LabelScoring):
    """theta_i = X_i W where W is zero but for pairs that were seen; then the shared weights.

    Parameters are those of `LabelScoring`, and the pairs.
    """

    def __init__(
        self,
        X: Array | sparse.csr_matrix,
        lengths: Array,
        n_labels: int,
        pairs: SeenPairs,
        **options: Any,
    ) -> None:
        super().__init__(X, lengths, n_labels, **options)
        if pairs.n_features != X.shape[1]:
            raise ValueError(f"There are pairs of {pairs.n_features} features; got {X.shape[1]}.")
        self.pairs = pairs
        self.n_weights = pairs.label.size + self.intercept * n_labels + self.n_shared

    def of_rows(self, rows: Array, lengths: Array) -> SeenRowScoring:
        return SeenRowScoring(self.X[rows], lengths, self.n_labels, self.pairs, **self._options)

    @cached_property
    def _bare_record(self) -> SeenRows:
        """The record without Gram matrices: enough to score."""
        counts = self.first, self.n_labels, self.n_shared, bool(self.intercept)
        none = np.empty(0), np.empty(0, dtype=np.int64)
        return SeenRows(compiled_rows(self.X, self.sparsify), *counts, *self.pairs, *none)

    @cached_property
    def record(self) -> SeenRows:
        gram, gram_first = self._gram_room()
        record = self._bare_record._replace(gram=gram, gram_first=gram_first)
        fill_gram(record, self.X.shape[1])
        return record

    def _part_norms(self, first: int, last: int) -> Array:
        squares = np.zeros(self.start[last] - self.start[first])
        add_squares(self._bare_record, self.first[first], self.first[last], squares)
        return np.sqrt(squares)


@kernel
def add_squares(scoring: SeenRows, first: int, last: int, squares: Array) -> None:
    """squares[t, k] <- the sum of x_tj^2 over features j that have a weight for k, the constant included."""
    n = scoring.n_labels
    for row in range(first, last):
        own = squares[(row - first) * n : (row - first + 1) * n]
        if scoring.intercept:
            own[:] = 1.0
        at, size = extent(scoring.rows, row)
        for p in range(size):
            j, x = entry(scoring.rows, at, p)
            for q in range(scoring.pair_first[j], scoring.pair_first[j + 1]):
                own[scoring.pair_label[q]] += x * x
