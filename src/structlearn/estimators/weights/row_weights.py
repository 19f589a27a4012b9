"""Weights of rows of features that score every label: w = [W, those of pairs of labels, shared ones]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structlearn.core.contract import Array


@dataclass(frozen=True, eq=False)
class RowWeights:
    """The parts of a weight vector whose first part is W, with a row per feature and a column per score.

    weights : the whole vector
    n_features, n_scores : of W, which may have one more row, for the constant
    n_pairs : how many weights are of features that score pairs of labels, or whole segments
    n_shared : how many weights, the last of all, have no features
    """

    weights: Array
    n_features: int
    n_scores: int
    n_pairs: int = 0
    n_shared: int = 0

    @property
    def table(self) -> Array:
        """W, of shape (n_features, n_scores), or one more row for the constant."""
        size = self.weights.size - self.n_shared - self.n_pairs
        return self.weights[:size].reshape(-1, self.n_scores)

    @property
    def coef(self) -> Array:
        """Weights of the features, of shape (n_scores, n_features)."""
        return self.table[: self.n_features].T

    def of(self, columns: Array, label: int) -> Array:
        """Return the weights of some features for one label."""
        return self.table[columns, label]

    @property
    def has_constant(self) -> bool:
        """Whether W has a row for the constant."""
        return len(self.table) > self.n_features

    @property
    def intercept(self) -> Array:
        """Weights of the constant feature, of shape (n_scores,); zero where there is none."""
        return self.table[self.n_features] if self.has_constant else np.zeros(self.n_scores)

    @property
    def shared_weights(self) -> Array:
        """Weights without features, of transitions or pairs of labels."""
        return self.weights[self.weights.size - self.n_shared :]

    @property
    def pairs(self) -> Array:
        """Weights of features that score pairs of labels, before the shared ones."""
        end = self.weights.size - self.n_shared
        return self.weights[end - self.n_pairs : end]

    @property
    def sizes(self) -> set[int]:
        """How many weights there may be: with or without the constant."""
        others = self.n_pairs + self.n_shared
        return {(self.n_features + constant) * self.n_scores + others for constant in (0, 1)}
