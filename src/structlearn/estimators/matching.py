"""Matchings: which nodes of two sides belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.base import Task
from structlearn.estimators.forms import StoredForm, count
from structlearn.estimators.parts import PartEstimator
from structlearn.estimators.scikit import check_is_fitted
from structlearn.metrics import link_scores
from structlearn.structures import Matching, Structure


@dataclass(kw_only=True, eq=False, repr=False)
class MatchingClassifier(PartEstimator):
    """Bipartite matching with features of edges: theta_ij = <w, x_ij>.

    The parameters are those of `StructuredEstimator`, and two more. `cost` may be a mapping with the weights
    "missed" and "spurious"; normalised costs are divided by the number of gold links.

    Parameters
    ----------
    unmatched : bool
        Whether nodes may stay unmatched; if not, every node of the smaller side is linked.
    capacities : pair of int
        How many links a row and a column may have.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    n_features_in_, weights_, certificate_, history_
    """

    fit_intercept: bool = False
    unmatched: bool = True
    capacities: tuple[int, int] = (1, 1)

    _noun = "Pair"

    _stored: ClassVar[StoredForm] = StoredForm(
        {"n_features_in_": count, "_answers_vectors": bool}, ("Matching",)
    )
    _packed = "matching"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, client: Any = None) -> MatchingClassifier:
        """Train on X a list of (m, n, d) arrays of edge features, and y a list of matchings.

        A matching is an (m, n) 0/1 table, or a vector of m column numbers with -1 for none; `predict` answers
        in the form of y. With a `distributed.Client` training runs on its cluster (see
        `structlearn.distributed`).
        """
        self._fit(X, y, sample_weight, client)
        return self

    def _lay_out(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Task:
        task = super()._lay_out(X, y, sample_weight)
        self._answers_vectors = all(np.ndim(one) == 1 for one in y)
        return task

    def _make_structure(self) -> Structure:
        return Matching(unmatched=self.unmatched, capacities=self.capacities)

    def predict(self, X: Any) -> list[Array]:
        """The best matching of each pair."""
        found = self._predict_parts(X)
        if self._answers_vectors and self.capacities[0] == 1:
            return [self.structure_.columns(vertex) for vertex in found]
        return [self.structure_.decode(vertex) for vertex in found]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """F1 of the links, over all pairs."""
        check_is_fitted(self, "weights_")
        found = [self.structure_.decode(vertex) for vertex in self._predict_parts(X)]
        gold = [self.structure_.encode(one, table.shape) for one, table in zip(y, found, strict=True)]
        return link_scores(gold, found, sample_weight).f1
