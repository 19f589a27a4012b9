"""Weights of pairs of a feature and a label: w = [pairs, intercepts, those of pairs of labels, shared].

They answer what `RowWeights` answers, with sparse tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.estimators.weights.row_weights import RowWeights
from structlearn.scoring import SeenPairs


@dataclass(frozen=True, eq=False, kw_only=True)
class SeenWeights(RowWeights):
    """The parts of a weight vector that begins with the weights of pairs.

    seen : the labels that each feature has weights for
    """

    seen: SeenPairs

    @property
    def table(self) -> sparse.csr_matrix:
        """W, of shape (n_features, n_scores), without a row for the constant."""
        return self.seen.table(self.weights, self.n_scores)

    @property
    def coef(self) -> sparse.csr_matrix:
        """Weights of the features, a CSR matrix of shape (n_scores, n_features)."""
        return self.table.T.tocsr()

    def of(self, columns: Array, label: int) -> Array:
        return np.asarray(self.table[columns, np.full(len(columns), label)]).ravel()

    @property
    def has_constant(self) -> bool:
        return self._n_constants > 0

    @property
    def intercept(self) -> Array:
        begin = self.seen.label.size
        return self.weights[begin : begin + self.n_scores] if self.has_constant else np.zeros(self.n_scores)

    @property
    def _n_constants(self) -> int:
        return self.weights.size - self.seen.label.size - self.n_pairs - self.n_shared

    @property
    def sizes(self) -> set[int]:
        others = self.seen.label.size + self.n_pairs + self.n_shared
        return {others, others + self.n_scores}
