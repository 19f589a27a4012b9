"""One of K classes: the multiclass SVM and its relatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.core.sentences import Statement
from structlearn.estimators.choices import cost_options
from structlearn.estimators.confidence.rows import COVERED, TEMPERED
from structlearn.estimators.files.attributes import StoredForm, count, label_array
from structlearn.estimators.inputs.distinct import DistinctExamples
from structlearn.estimators.inputs.layout import gold_and_cost
from structlearn.estimators.loss_choice import trained_loss
from structlearn.estimators.rows import ClassEstimator
from structlearn.estimators.scikit import Table, available_if
from structlearn.estimators.training.fresh_fit import fresh_fit
from structlearn.estimators.training.running import TrainingProblem, training_of
from structlearn.estimators.weights.frequencies import most_frequent_best
from structlearn.estimators.weights.sparse_penalty import PENALTIES
from structlearn.metrics import Outputs
from structlearn.problem.penalties import GroupNorm, Penalty
from structlearn.problem.registry import CLASSES, LOSSES
from structlearn.scoring import RowScoring
from structlearn.structures import Simplex

if TYPE_CHECKING:
    from structlearn.estimators.training.cluster import Cluster


@dataclass(kw_only=True, eq=False, repr=False)
class MulticlassClassifier(ClassEstimator[Simplex]):
    """Choose one of K classes for each row.

    Linear classifier over the `Simplex`: theta_k = <w_k, x>.

    With the hinge this is the multiclass SVM of Crammer and Singer, with "softmax" multinomial logistic
    regression; "sparsemax" and "entmax15" give probabilities that are exactly zero for hopeless
    classes. `cost` may be an array of shape (K,), by true
    class, or (K, K), as [true, predicted]; `class_weight` multiplies the weight of each class's examples.

    Parameters
    ----------
    penalty : str
        R(w): "l2" is lambda/2 ||w||^2, "l1" is lambda ||w||_1, "elasticnet" is lambda (l1_ratio ||w||_1 +
        (1 - l1_ratio)/2 ||w||^2), and "group" is lambda sum_j ||w_j||, the norms of each feature's weights
        for all classes, so that whole features vanish. All but "l2" need a smooth loss.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
    intercept_ : ndarray of shape (n_classes,)
    classes_, n_features_in_, weights_, certificate_, history_

    Examples
    --------
    >>> from structlearn import MulticlassClassifier
    >>> X, y = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], ["red", "green", "blue"]
    >>> MulticlassClassifier(random_state=0).fit(X, y).predict(X).tolist()
    ['red', 'green', 'blue']
    """

    penalties: ClassVar[tuple[str, ...]] = (*PENALTIES, "group")
    _stored: ClassVar[StoredForm] = StoredForm(
        {"classes_": label_array, "n_features_in_": count, **TEMPERED, **COVERED}, ("Simplex",)
    )
    output_kind: ClassVar[str] = CLASSES

    packed_as = "classes"

    def fit(
        self,
        X: Table,
        y: Outputs,
        sample_weight: ArrayLike | None = None,
        *,
        client: Cluster | None = None,
    ) -> MulticlassClassifier:
        """Train on X of shape (n, d), dense or CSR, and n labels.

        With a `distributed.Client` training runs on its cluster (see `structlearn.distributed`).
        """
        with fresh_fit(self):
            if client is None:
                training_of(self).run(self.lay_out(X, y, sample_weight))
            else:
                from structlearn.estimators.training.cluster import train_on

                train_on(client, self, X, y, sample_weight)
        return self

    def lay_out(
        self, X: Table, y: Outputs, sample_weight: ArrayLike | None, classes: Array | None = None
    ) -> TrainingProblem[Simplex]:
        """Make a training problem of rows and labels; set `classes_`."""
        memory = Memory(self.memory)
        rows, codes, weight = self._labelled_rows(X, y, sample_weight, memory, classes)
        structure = Simplex(len(self.classes_))
        scoring = self._training_row_scoring(rows, structure, memory)
        options = cost_options(self.cost, self.classes_)
        gold, cost = gold_and_cost(structure, codes, scoring, memory, **options)
        penalty = self._sparse_penalty(scoring)
        distinct = DistinctExamples(rows, codes, weight)
        return TrainingProblem(structure, scoring, gold, cost, weight, None, penalty, memory, distinct)

    def _sparse_penalty(self, scoring: RowScoring) -> Penalty | None:
        if self.penalty == "group":
            return GroupNorm(self.regularization, np.arange(scoring.n_weights) // scoring.n_labels)
        return super()._sparse_penalty(scoring)

    def decision_function(self, X: Table) -> Array:
        """Return scores of shape (n, K); for two classes (n,), the second's minus the first's."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def _class_scores(self, X: Table) -> Array:
        return self._scores(X)

    def predict(self, X: Table) -> Array:
        """Return the class with the highest score; among ties, the one most frequent in training."""
        best = most_frequent_best(self._scores(X), getattr(self, "_frequencies", None))
        return self.classes_[best]

    def _smooth(self) -> bool:
        if not LOSSES[trained_loss(self)].smooth:
            raise AttributeError(
                Statement(
                    "{loss=} has no probabilities; train with {loss=softmax} or 'sparsemax'.",
                    loss=trained_loss(self),
                )
            )
        return True

    @available_if(_smooth)
    def predict_proba(self, X: Table) -> Array:
        """Return probabilities of shape (n, K): the loss's prediction function, which may be sparse."""
        scores = self._scores(X) / self._temperature
        return self.structure_.respond(
            LOSSES[trained_loss(self)].regularizer.record(self.structure_), scores
        )[0]
