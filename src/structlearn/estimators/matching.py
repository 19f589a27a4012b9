"""Matchings: which nodes of two sides belong together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.estimators.files.attributes import StoredForm, count
from structlearn.estimators.inputs.checking import Tables
from structlearn.estimators.parts import PartEstimator
from structlearn.estimators.scikit import check_is_fitted
from structlearn.estimators.training.fresh_fit import fresh_fit
from structlearn.estimators.training.running import TrainingProblem, training_of
from structlearn.metrics import Outputs, link_scores, refuse_sparse
from structlearn.structures import Matching

if TYPE_CHECKING:
    from structlearn.estimators.training.cluster import Cluster


@dataclass(kw_only=True, eq=False, repr=False)
class MatchingClassifier(PartEstimator[Matching]):
    """Link the nodes of two sides, each to at most one of the other (or to a few).

    Bipartite matching with features of edges: theta_ij = <w, x_ij>.

    `cost` may be a mapping with the weights
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

    Examples
    --------
    >>> import numpy as np
    >>> from structlearn import MatchingClassifier
    >>> links = [np.eye(2, dtype=int), np.eye(2, dtype=int)[::-1]]
    >>> X = [table[:, :, None].astype(float) for table in links]  # one feature for each possible link
    >>> MatchingClassifier(random_state=0).fit(X, links).predict(X)[1].tolist()
    [[0, 1], [1, 0]]
    """

    fit_intercept: bool = False
    unmatched: bool = True
    capacities: tuple[int, int] = (1, 1)

    _answers_vectors: bool = field(init=False)

    _noun = "Pair"

    _stored: ClassVar[StoredForm] = StoredForm(
        {"n_features_in_": count, "_answers_vectors": bool}, ("Matching",)
    )
    packed_as = "matching"

    def fit(
        self,
        X: Tables,
        y: Outputs,
        sample_weight: ArrayLike | None = None,
        *,
        client: Cluster | None = None,
    ) -> MatchingClassifier:
        """Train on X a list of (m, n, d) arrays of edge features, and y a list of matchings.

        A matching is an (m, n) 0/1 table, or a vector of m column numbers with -1 for none; `predict` answers
        in the form of y. With a `distributed.Client` training runs on its cluster (see
        `structlearn.distributed`).
        """
        with fresh_fit(self):
            if client is None:
                training_of(self).run(self.lay_out(X, y, sample_weight))
            else:
                from structlearn.estimators.training.cluster import train_on

                train_on(client, self, X, y, sample_weight)
        return self

    def lay_out(
        self, X: Tables, y: Outputs, sample_weight: ArrayLike | None, classes: Array | None = None
    ) -> TrainingProblem[Matching]:
        """Make a training problem of tables of features and matchings."""
        structure = Matching(unmatched=self.unmatched, capacities=self.capacities)
        problem = self._problem(structure, X, y, sample_weight)
        self._answers_vectors = all(np.asarray(one).ndim == 1 for one in y)
        return problem

    def predict(self, X: Tables) -> list[Array]:
        """Return the best matching of each pair."""
        found = self._predict_parts(X)
        if self._answers_vectors and self.structure_.capacities[0] == 1:
            return [self.structure_.columns(vertex) for vertex in found]
        return [self.structure_.decode(vertex) for vertex in found]

    def score(self, X: Tables, y: Outputs, sample_weight: ArrayLike | None = None) -> float:
        """Return F1 of the links, over all pairs."""
        check_is_fitted(self, "weights_")
        refuse_sparse(y)
        found = [self.structure_.decode(vertex) for vertex in self._predict_parts(X)]
        gold = [self.structure_.encode(one, table.shape) for one, table in zip(y, found, strict=True)]
        return link_scores(gold, found, sample_weight).f1
