"""What estimators share whose examples are rows of features: theta = <w_k, x> for each label k."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.estimators.base import StructuredEstimator
from structlearn.estimators.choices import (
    ON_OVERLAPPING_ROWS,
    ON_ROWS,
    ON_SOFTMAX_ROWS,
    ON_WIDE_ROWS,
    ON_WIDE_SOFTMAX_ROWS,
    Auto,
)
from structlearn.estimators.confidence.calibration import Calibration
from structlearn.estimators.confidence.conformal import Conformal
from structlearn.estimators.confidence.rows import (
    ClassConfidence,
    RowConfidence,
    check_conformal,
    check_tempered,
)
from structlearn.estimators.inputs.checking import (
    as_list,
    check_sample_weight,
    check_two_classes,
    encode_labels,
    summed_duplicates,
)
from structlearn.estimators.loss_choice import WITH_MARGINALS, trained_loss
from structlearn.estimators.mapped import MappedRows
from structlearn.estimators.scikit import (
    ClassifierMixin,
    Rows,
    Table,
    check_classes,
    check_is_fitted,
    sample_weights,
)
from structlearn.estimators.training.fresh_fit import forget_attributes
from structlearn.estimators.training.running import EstimatorTraining, TrainingProblem
from structlearn.estimators.weights.row_weights import RowWeights
from structlearn.estimators.weights.sparse_penalty import PENALTIES, check_penalty, elastic_net
from structlearn.metrics import Outputs
from structlearn.problem.kept_scores import can_keep_scores
from structlearn.problem.penalties import Penalty
from structlearn.problem.registry import LOSSES
from structlearn.scoring import RowScoring
from structlearn.structures import Cube, LabelGraph, Simplex

if TYPE_CHECKING:
    from sklearn.utils import Tags

L = TypeVar("L", bound=Simplex | Cube | LabelGraph)
C = TypeVar("C", bound=Simplex | Cube)
#: Curvature of features, over lambda, from which on examples overlap; chosen in docs/solvers-measured.md.
OVERLAP = 100.0
#: Weights from which on smooth losses are trained example by example.
WIDE = 1_000_000


@dataclass(kw_only=True, eq=False, repr=False)
class FlatEstimator(MappedRows, StructuredEstimator[L]):
    """One row per example, which scores every label."""

    classes_: Array = field(init=False)

    @property
    def coef_(self) -> Array:
        """Weights of the features, of shape (n_labels, n_features)."""
        return self._row_weights(self.weights_).coef

    @property
    def intercept_(self) -> Array:
        """Weights of the constant feature, of shape (n_labels,); zero where there is none."""
        return self._row_weights(self.weights_).intercept

    def _row_weights(self, weights: Array) -> RowWeights:
        structure = self.structure_
        return RowWeights(weights, self.row_map.n_scored, structure.n_labels, n_shared=structure.n_shared)

    def _weight_counts(self) -> set[int]:
        return self._row_weights(np.empty(0)).sizes

    def _training_row_scoring(self, X: Rows, structure: L, memory: Memory) -> RowScoring:
        return RowScoring(
            X,
            one_row_each(X),
            structure.n_labels,
            n_shared=structure.n_shared,
            intercept=self.fit_intercept,
            sparsify=memory.limit is None,
            memory=memory,
        )

    def _row_scoring(self, X: Table) -> RowScoring:
        """Return the scoring of rows that a fitted estimator is asked about."""
        check_is_fitted(self, "weights_")
        given, structure = self._checked_rows(X), self.structure_
        return RowScoring(
            self.row_map.apply(given),
            one_row_each(given),
            structure.n_labels,
            n_shared=structure.n_shared,
            intercept=self._row_weights(self.weights_).has_constant,
        )

    def _scores(self, X: Table) -> Array:
        """Return the score of each label, of shape (n, n_labels)."""
        scoring = self._row_scoring(X)
        return scoring.scores(self.weights_, 0, scoring.n_examples).reshape(-1, scoring.n_labels)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class ClassTraining(EstimatorTraining[C]):
    """Training of one class per example."""

    def auto_for(self, problem: TrainingProblem[C]) -> Auto:
        """Return what solver="auto" stands for on this data.

        Where examples overlap, what is best for one alone is soon undone by the others. Newton's method keeps
        twenty vectors as long as the weights, and works on all of them in every pass.
        """
        estimator, usual = self.estimator, super().auto_for(problem)
        if estimator.solver != "auto":
            return usual
        if LOSSES[trained_loss(estimator)].family == "smooth":
            return smooth_solvers(estimator, problem, usual)
        overlap = estimator.regularization > 0 and rows_overlap(problem, estimator.regularization)
        return ON_OVERLAPPING_ROWS if overlap else usual


@dataclass(kw_only=True, eq=False, repr=False)
class ClassEstimator(ClassifierMixin, FlatEstimator[C]):
    """One class per example.

    Parameters
    ----------
    penalty : str
        R(w): "l2" is lambda/2 ||w||^2, "l1" is lambda ||w||_1, and "elasticnet" is lambda (l1_ratio ||w||_1 +
        (1 - l1_ratio)/2 ||w||^2). All but "l2" need a smooth loss.
    l1_ratio : float
        The share of the l1 norm with "elasticnet", from 0 to below 1.

    Attributes
    ----------
    temperature_ : float, after `calibrate`
    conformal_scores_, n_conformal_ : after `conformalize`
    """

    penalty: str = "l2"
    l1_ratio: float = 0.5

    temperature_: float = field(init=False)
    conformal_scores_: Array = field(init=False)
    n_conformal_: int = field(init=False)

    #: what `penalty` may be
    penalties: ClassVar[tuple[str, ...]] = PENALTIES
    trained_by: ClassVar[type[EstimatorTraining[Any]]] = ClassTraining
    usual_solvers: ClassVar[Auto] = ON_ROWS
    of_cost: ClassVar[tuple[str, ...]] = ("cost",)

    @property
    def usual_losses(self) -> tuple[str, ...]:
        return WITH_MARGINALS

    def _sparse_penalty(self, scoring: RowScoring) -> Penalty | None:
        """Return R; None for the squared norm."""
        check_penalty(self, self.penalties)
        return elastic_net(self)

    def _labelled_rows(
        self,
        X: Table,
        y: Outputs,
        sample_weight: ArrayLike | None,
        memory: Memory,
        classes: Array | None = None,
    ) -> tuple[Rows, Array, Array | None]:
        """Return checked, mapped rows, labels as positions in `classes_`, and weights times class weights."""
        X, labels = self._checked_inputs(X, y, accept_sparse="csr", order="C")
        rows = summed_duplicates(X)
        check_classes(labels)
        weight = check_sample_weight(sample_weight, rows.shape[0])
        self.classes_, codes = encode_labels(labels, classes)
        check_two_classes(self.classes_)
        if self.class_weight is not None:
            by_class = sample_weights(self.class_weight, labels)
            weight = by_class if weight is None else weight * by_class
            if not weight.any():
                raise ValueError("Sample weights and class weights leave every example with weight zero.")
        return self.fit_rows(rows, memory), codes, weight

    # ---- how sure it is ----------------------------------------------------------------------------------

    @abstractmethod
    def _class_scores(self, X: Table) -> Array:
        """Return the score of each class, of shape (n, K)."""

    def calibrate(self, X: Table, y: Outputs) -> Calibration[RowConfidence]:
        """Choose the temperature by the likelihood of data that was not trained on; say what it changes.

        `predict_proba` answers with the probabilities of the scores over `temperature_` from now on;
        predictions stay. What `conformalize` has set is forgotten, since it is about other probabilities.
        Rows of unknown classes are left out.
        """
        check_tempered(trained_loss(self))
        found = self._confidence(X).calibrate(self._codes(y))
        forget_attributes(self, "conformal_scores_", "n_conformal_")
        self.temperature_ = found.temperature
        return found

    def reliability(self, X: Table, y: Outputs) -> RowConfidence:
        """Compare how often answers are right with their probabilities, on data with labels."""
        check_tempered(trained_loss(self))
        return self._confidence(X).reliability(self._codes(y))

    def conformalize(self, X: Table, y: Outputs) -> Self:
        """Prepare `predict_sets` by data that was used for nothing else, neither training nor calibration.

        Of each row it keeps by how much its class does not conform: -log p(y | x) or, where the loss has no
        probabilities, by how much the best score exceeds its score.
        """
        self.conformal_scores_, self.n_conformal_ = self._confidence(X).conformal(self._codes(y))
        return self

    def predict_sets(self, X: Table, coverage: float = 0.9) -> list[list[Any]]:
        """Return classes of each row that hold the true one with at least this probability, best first.

        The probability is over examples, those of `conformalize` included, that are exchangeable with these;
        it is guaranteed whatever the model is worth, but not for a single example. No set is empty.
        """
        check_conformal(self, "sets")
        known = Conformal(self.conformal_scores_, self.n_conformal_)
        return [self.classes_[own].tolist() for own in self._confidence(X).sets(known, coverage)]

    def _confidence(self, X: Table) -> ClassConfidence:
        probable = trained_loss(self) == "softmax"
        return ClassConfidence(self._class_scores(X), self._temperature, probable)

    @property
    def _temperature(self) -> float:
        return getattr(self, "temperature_", 1.0)

    def _codes(self, y: Outputs) -> Array:
        """Return the positions of labels in `classes_`; -1 for unknown ones."""
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        return np.array([place.get(label, -1) for label in as_list(y, "y")], dtype=np.int64)


def smooth_solvers(estimator: FlatEstimator[Any], problem: TrainingProblem[Any], usual: Auto) -> Auto:
    """Return what solver="auto" stands for with a smooth loss: `usual` where scores cannot be kept."""
    loss, scoring = LOSSES[trained_loss(estimator)], problem.scoring
    kept = can_keep_scores(problem.structure, loss.regularizer, scoring, problem.memory)
    if scoring.n_weights > WIDE and estimator.regularization > 0:
        return ON_WIDE_SOFTMAX_ROWS if kept else ON_WIDE_ROWS
    return ON_SOFTMAX_ROWS if kept else usual


def rows_overlap(problem: TrainingProblem[C], regularization: float) -> bool:
    """Whether examples of one row are more than its features, whose mean curvature is far above lambda.

    That curvature, the mean of the eigenvalues of sum_i p_i x_i x_i^T, is the mean of ||x_i||^2 over their
    number. Of examples that are alike one is counted, with the weight of all.
    """
    problem = problem.merged()
    scoring, active = problem.scoring, problem.active
    assert isinstance(scoring, RowScoring)  # noqa: S101
    active = np.arange(scoring.n_examples) if active is None else active
    if not (regularization > 0 and active.size > scoring.X.shape[1]):
        return False
    weight = np.ones(active.size) if problem.sample_weight is None else problem.sample_weight[active]
    with np.errstate(over="ignore"):
        squares = float(weight @ scoring.record.gram[active])
    return squares > OVERLAP * regularization * scoring.X.shape[1] * float(weight.sum())


def one_row_each(rows: Rows) -> Array:
    return np.ones(rows.shape[0], dtype=np.int64)
