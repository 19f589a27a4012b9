"""One of K classes: the multiclass SVM and its relatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.base import RowWeights, StructuredEstimator, Task
from structlearn.estimators.choices import cost_options, one_of
from structlearn.estimators.forms import StoredForm, count, label_array
from structlearn.estimators.inputs import canonical_examples, check_weights, coded, summed_duplicates
from structlearn.estimators.layout import gold_and_cost
from structlearn.estimators.scikit import (
    ClassifierMixin,
    available_if,
    check_classes,
    check_is_fitted,
    checked_examples,
    checked_rows,
    sample_weights,
)
from structlearn.problem.penalties import ElasticNet, GroupNorm, Penalty
from structlearn.problem.registry import CLASSES, LOSSES
from structlearn.scoring import RowScoring
from structlearn.structures import Simplex


@dataclass(kw_only=True, eq=False, repr=False)
class MulticlassClassifier(ClassifierMixin, RowWeights, StructuredEstimator):
    """Linear classifier over the `Simplex`: theta_k = <w_k, x>.

    With the hinge this is the multiclass SVM of Crammer and Singer, with "softmax" multinomial logistic
    regression; "sparsemax" and "entmax15" give probabilities that are exactly zero for hopeless classes. The
    parameters are those of `StructuredEstimator`, and one more; `cost` may be an array of shape (K,), by true
    class, or (K, K), as [true, predicted]; `class_weight` multiplies the weight of each class's examples.

    Parameters
    ----------
    penalty : {"l2", "l1", "group"}
        R(w): lambda/2 ||w||^2; lambda ||w||_1; or lambda sum_j ||w_j||, the norms of each feature's weights
        for all classes, so that whole features vanish. The last two need a smooth loss.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
    intercept_ : ndarray of shape (n_classes,)
    classes_, n_features_in_, weights_, certificate_, history_
    """

    penalty: str = "l2"

    _stored: ClassVar[StoredForm] = StoredForm(
        {"classes_": label_array, "n_features_in_": count}, ("Simplex",)
    )
    _outputs: ClassVar[str] = CLASSES
    _auto: ClassVar[str] = "lbfgs"

    _packed = "classes"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, client: Any = None) -> MulticlassClassifier:
        """Train on X of shape (n, d), dense or CSR, and n labels.

        With a `distributed.Client` training runs on its cluster (see `structlearn.distributed`).
        """
        self._fit(X, y, sample_weight, client)
        return self

    def _lay_out(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Task:
        X, y = checked_examples(self, X, y, accept_sparse="csr", order="C")
        X = summed_duplicates(X)
        check_classes(y)
        weight = check_weights(sample_weight, X.shape[0])
        self.classes_, codes = coded(y, classes)
        if len(self.classes_) < 2:
            raise ValueError(f"y has only one class, {self.classes_[0]}; a classifier needs at least two.")
        if self.class_weight is not None:
            by_class = sample_weights(self.class_weight, y)
            weight = by_class if weight is None else weight * by_class
        return self._task(X, codes, weight)

    def _task(self, X: Any, codes: Array, weight: Array | None) -> Task:
        structure, memory = Simplex(len(self.classes_)), self._memory()
        ones = np.ones(X.shape[0], dtype=np.int64)
        scoring = RowScoring(
            X,
            ones,
            structure.n_labels,
            intercept=self.fit_intercept,
            sparsify=memory.limit is None,
            memory=memory,
        )
        options = cost_options(self.cost, self.classes_)
        gold, cost = gold_and_cost(structure, codes, scoring, memory, **options)
        active, weight = canonical_examples(X, codes, weight)
        return Task(structure, scoring, gold, cost, weight, active, self._penalty(scoring), memory)

    def _penalty(self, scoring: RowScoring) -> Penalty | None:
        kind = one_of("penalty", self.penalty, ("l2", "l1", "group"))
        if kind == "l2":
            return None
        if kind == "l1":
            return ElasticNet(self.regularization)
        return GroupNorm(self.regularization, np.arange(scoring.n_weights) // scoring.n_labels)

    def decision_function(self, X: Any) -> Array:
        """Scores of shape (n, K); for two classes (n,), the second's minus the first's."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Array:
        """The class with the highest score."""
        best = np.argmax(self._scores(X), axis=1)
        return self.classes_[best]

    def _smooth(self) -> bool:
        if not LOSSES[self.loss].smooth:
            raise AttributeError(
                f"loss={self.loss!r} has no probabilities; train with loss='softmax' or 'sparsemax'."
            )
        return True

    @available_if(_smooth)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of shape (n, K): the prediction function of the loss, sparse if that is."""
        scores = self._scores(X)
        return self.structure_.respond(LOSSES[self.loss].regularizer.record(self.structure_), scores)[0]

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self, "weights_")
        X = checked_rows(self, X)
        scoring = self._row_scoring(X, np.ones(X.shape[0], dtype=np.int64))
        return scoring.scores(self.weights_, 0, X.shape[0]).reshape(-1, len(self.classes_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
