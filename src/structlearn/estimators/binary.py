"""Two classes: the linear SVM, logistic regression and the perceptron, in the primal and in the dual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.core.sentences import Statement
from structlearn.estimators.choices import check_number
from structlearn.estimators.confidence.rows import COVERED, TEMPERED
from structlearn.estimators.files.attributes import StoredForm, count, label_array
from structlearn.estimators.inputs.distinct import DistinctExamples
from structlearn.estimators.loss_choice import trained_loss
from structlearn.estimators.rows import ClassEstimator
from structlearn.estimators.scikit import Table, available_if
from structlearn.estimators.training.fresh_fit import fresh_fit
from structlearn.estimators.training.running import TrainingProblem, training_of
from structlearn.metrics import Outputs
from structlearn.problem.registry import BINARY, LOSSES
from structlearn.structures import Cube

if TYPE_CHECKING:
    from sklearn.utils import Tags

#: How often the second class occurs, where that is not known.
_NEVER = np.zeros(1)


@dataclass(kw_only=True, eq=False, repr=False)
class BinaryClassifier(ClassEstimator[Cube]):
    """Choose one of two classes for each row.

    One weight vector: the second class is predicted where <w, x> + b > 0.

    With y = +1 for the second class and -1 for the first, the losses are max(0, m - y score) ("hinge", with
    margin m), log(1 + exp(-y score)) ("softmax", also called "logistic"), its sparse relative ("sparsemax",
    whose probabilities are exactly 0 or 1 where the score is beyond -1/2 or 1/2) and the averaged
    perceptron. All are those of a single switch, `Cube(1)`.

    Parameters
    ----------
    margin : float
        m of the hinge.
    solver : str
        For the hinge "auto" maximises the dual over one example's coefficient, a box, at a time ("bcfw",
        "coordinate-ascent") or, where examples overlap, is the "stochastic-extragradient"; also
        "projected-gradient" (on the whole dual), "subgradient", "stochastic-subgradient", "fw". For smooth
        losses it is "newton" ("proximal-newton" with a sparse penalty); also "lbfgs", "sdca", "gradient"
        (solver_options step: "backtracking", "constant", "diminishing"), "proximal".

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

    Examples
    --------
    >>> from structlearn import BinaryClassifier
    >>> model = BinaryClassifier().fit([[0.0], [1.0], [3.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[0.5], [5.0]]).tolist()
    ['no', 'yes']
    >>> model.certificate_.converged
    True
    """

    margin: float = 1.0

    dual_coef_: Array = field(init=False)
    support_: Array = field(init=False)

    _stored: ClassVar[StoredForm] = StoredForm(
        {"classes_": label_array, "n_features_in_": count, **TEMPERED, **COVERED},
        ("Cube",),
        n_labels=lambda classes: 1,
    )
    output_kind: ClassVar[str] = BINARY
    of_cost: ClassVar[tuple[str, ...]] = ("margin",)

    def fit(self, X: Table, y: Outputs, sample_weight: ArrayLike | None = None) -> BinaryClassifier:
        """Train on X of shape (n, d), dense or CSR, and n labels of two classes."""
        with fresh_fit(self):
            check_number("margin", self.margin, strict=True)
            memory = Memory(self.memory)
            rows, codes, weight = self._labelled_rows(X, y, sample_weight, memory)
            if len(self.classes_) > 2:
                raise ValueError(
                    "Only binary classification is supported. The type of the target is multiclass, with "
                    f"{len(self.classes_)} classes; use MulticlassClassifier."
                )
            structure = Cube(1)
            scoring = self._training_row_scoring(rows, structure, memory)
            gold = structure.encode_many(codes[:, None], scoring.shapes)
            cost = self.margin * (1.0 - 2.0 * codes)
            penalty, distinct = self._sparse_penalty(scoring), DistinctExamples(rows, codes, weight)
            problem = TrainingProblem(structure, scoring, gold, cost, weight, None, penalty, memory, distinct)
            objective, solution = training_of(self).run(problem)
            if solution.z is not None and objective.regularization > 0:
                distance = objective.gold_point() - solution.z  # w(z) = 1/lambda sum_i p_i (mu_i - z_i) x_i
                self.dual_coef_ = (objective.weight * distance / objective.regularization)[None]
                self.support_ = np.flatnonzero(self.dual_coef_)
        return self

    def decision_function(self, X: Table) -> Array:
        """Return <w, x> + b for each row."""
        return self._scores(X)[:, 0]

    def _class_scores(self, X: Table) -> Array:
        scores = self._scores(X)
        return np.column_stack([np.zeros_like(scores), scores])

    def predict(self, X: Table) -> Array:
        """Return the second class if the decision function is positive, else the first; at 0 the usual."""
        scores = self.decision_function(X)
        second = getattr(self, "_frequencies", _NEVER)[0] > 0.5
        return self.classes_[(scores >= 0 if second else scores > 0).astype(np.int64)]

    def _smooth(self) -> bool:
        if trained_loss(self) not in LOSSES or not LOSSES[trained_loss(self)].smooth:
            raise AttributeError(
                Statement("{loss=} has no probabilities; train with {loss=softmax}.", loss=trained_loss(self))
            )
        return True

    @available_if(_smooth)
    def predict_proba(self, X: Table) -> Array:
        """Return the probabilities of both classes, of shape (n, 2); some are exactly 0 after sparsemax."""
        scores = self._scores(X) / self._temperature
        positive = self.structure_.respond(
            LOSSES[trained_loss(self)].regularizer.record(self.structure_), scores
        )[0]
        return np.column_stack([1 - positive, positive])

    def _check_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        if len(self.classes_) != 2:
            raise ValueError(f"it has {len(self.classes_)} classes, not 2")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
