"""Two classes: the linear SVM, logistic regression and the perceptron, in the primal and in the dual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.base import RowWeights, StructuredEstimator, Task
from structlearn.estimators.choices import check_number
from structlearn.estimators.forms import StoredForm, count, label_array
from structlearn.estimators.inputs import canonical_examples, check_weights, summed_duplicates
from structlearn.estimators.scikit import (
    ClassifierMixin,
    available_if,
    check_classes,
    check_is_fitted,
    checked_examples,
    checked_rows,
    sample_weights,
)
from structlearn.problem.objective import Objective
from structlearn.problem.registry import BINARY
from structlearn.scoring import RowScoring
from structlearn.solvers.solution import Solution
from structlearn.structures import Cube


@dataclass(kw_only=True, eq=False, repr=False)
class BinaryClassifier(ClassifierMixin, RowWeights, StructuredEstimator):
    """One weight vector: the second class is predicted where <w, x> + b > 0.

    With y = +1 for the second class and -1 for the first, the losses are max(0, m - y score) ("hinge", with
    margin m), log(1 + exp(-y score)) ("logistic") and the averaged perceptron. All are those of a single
    switch, `Cube(1)`. The parameters are those of `StructuredEstimator`, and one more.

    Parameters
    ----------
    margin : float
        m of the hinge.
    solver : str
        For the hinge "auto" is "coordinate-ascent", which maximises the dual over one example's
        coefficient, a box, at a time; also "bcfw", "projected-gradient" (on the whole dual), "subgradient",
        "stochastic-subgradient", "fw". For "logistic" it is "lbfgs"; also "sdca", "gradient" (solver_options
        step: "backtracking", "constant", "diminishing"), "proximal".

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
    dual_coef_ : ndarray of shape (1, n_samples)
        Where the solver works on the dual: its last point z, converged or not. The sum of dual_coef_[0, i]
        times row i is w(z), the weights of that point. `weights_` has the least primal value seen, so that it
        may be of an earlier point, an average, or zero; ||weights_ - w(z)||^2 is at most 2/lambda times the
        primal value less the dual value of z (`certificate_.gap` where the last point is the best).
    support_ : int array
        Examples whose dual coefficient is not zero.
    classes_, n_features_in_, weights_, certificate_, history_
    """

    loss: str = "hinge"
    margin: float = 1.0

    _stored: ClassVar[StoredForm] = StoredForm(
        {"classes_": label_array, "n_features_in_": count}, ("Cube",), n_labels=lambda classes: 1
    )
    _outputs: ClassVar[str] = BINARY
    _auto: ClassVar[str] = "lbfgs"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BinaryClassifier:
        """Train on X of shape (n, d), dense or CSR, and n labels of two classes."""
        X, y = checked_examples(self, X, y, accept_sparse="csr", order="C")
        X = summed_duplicates(X)
        check_classes(y)
        check_number("margin", self.margin, strict=True)
        weight = check_weights(sample_weight, X.shape[0])
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has only one class, {self.classes_[0]}; a classifier needs at least two.")
        if len(self.classes_) > 2:
            from sklearn.utils.multiclass import type_of_target

            kind = type_of_target(y)
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}, with "
                f"{len(self.classes_)} classes; use MulticlassClassifier."
            )
        if self.class_weight is not None:
            by_class = sample_weights(self.class_weight, y)
            weight = by_class if weight is None else weight * by_class
        structure = Cube(1)
        ones, memory = np.ones(X.shape[0], dtype=np.int64), self._memory()
        small = memory.limit is None
        scoring = RowScoring(X, ones, 1, intercept=self.fit_intercept, sparsify=small, memory=memory)
        gold = structure.encode_many(codes[:, None], scoring.shapes)
        cost = self.margin * (1.0 - 2.0 * codes)
        active, weight = canonical_examples(X, codes, weight)
        self._train(Task(structure, scoring, gold, cost, weight, active, memory=memory))
        return self

    def _store(self, objective: Objective, solution: Solution) -> None:
        super()._store(objective, solution)
        for name in ("dual_coef_", "support_"):
            self.__dict__.pop(name, None)
        if (
            solution.z is not None and objective.regularization > 0
        ):  # w(z) = 1/lambda sum_i p_i (mu_i - z_i) x_i
            distance = objective.gold_point() - solution.z
            self.dual_coef_ = (objective.weight * distance / objective.regularization)[None]
            self.support_ = np.flatnonzero(self.dual_coef_)

    def decision_function(self, X: Any) -> Array:
        """<w, x> + b of each row."""
        check_is_fitted(self, "weights_")
        X = checked_rows(self, X)
        return self._row_scoring(X, np.ones(X.shape[0], dtype=np.int64)).scores(self.weights_, 0, X.shape[0])

    def predict(self, X: Any) -> Array:
        """The second class where the decision function is positive, else the first."""
        positive = (self.decision_function(X) > 0).astype(np.int64)
        return self.classes_[positive]

    def _logistic(self) -> bool:
        if self.loss != "logistic":
            raise AttributeError(f"loss={self.loss!r} has no probabilities; train with loss='logistic'.")
        return True

    @available_if(_logistic)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the two classes, of shape (n, 2)."""
        from scipy.special import expit

        positive = expit(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def _check_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        if len(self.classes_) != 2:
            raise ValueError(f"it has {len(self.classes_)} classes, not 2")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags
