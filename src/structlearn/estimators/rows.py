"""What estimators share whose rows of features score every label: theta = <w_k, x> for each label k."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.estimators.base import StructuredEstimator, TrainingProblem
from structlearn.estimators.choices import ON_OVERLAPPING_ROWS, ON_ROWS, ON_WIDE_ROWS, Auto
from structlearn.estimators.inputs.checking import check_two_classes, check_weights, coded, summed_duplicates
from structlearn.estimators.loss_choice import WITH_MARGINALS
from structlearn.estimators.mapped import MappedRows
from structlearn.estimators.scikit import (
    ClassifierMixin,
    Rows,
    Table,
    check_classes,
    check_is_fitted,
    sample_weights,
)
from structlearn.metrics import Outputs
from structlearn.problem.registry import LOSSES
from structlearn.scoring import RowScoring
from structlearn.structures import Chain, ConditionedChain, Cube, LabelGraph, Segments, Simplex

if TYPE_CHECKING:
    from sklearn.utils import Tags

L = TypeVar("L", bound=Simplex | Cube | LabelGraph | Chain | ConditionedChain | Segments)
C = TypeVar("C", bound=Simplex | Cube)
#: Curvature of features, over lambda, from which on examples overlap; chosen in docs/solvers-measured.md.
OVERLAP = 100.0
#: Weights from which on smooth losses are trained example by example.
WIDE = 1_000_000


class RowEstimator(MappedRows, StructuredEstimator[L]):
    """Each row of features scores every label."""

    classes_: Array

    @property
    def coef_(self) -> Array:
        """Weights of the features, of shape (n_labels, n_features)."""
        return self._label_weights[: self._n_row_features].T

    @property
    def intercept_(self) -> Array:
        """Weights of the constant feature, of shape (n_labels,); zero where there is none."""
        W, d = self._label_weights, self._n_row_features
        return W[d] if len(W) > d else np.zeros(W.shape[1])

    @property
    def _label_weights(self) -> Array:
        n_others = self.structure_.n_shared + self._n_pair_weights
        return self.weights_[: self.weights_.size - n_others].reshape(-1, self._n_row_scores(self.structure_))

    def _weight_counts(self) -> set[int]:
        structure, d = self.structure_, self._n_row_features
        others = structure.n_shared + self._n_pair_weights
        return {(d + intercept) * self._n_row_scores(structure) + others for intercept in (0, 1)}

    def _n_row_scores(self, structure: L) -> int:
        """How many parts a row scores: a label each."""
        return structure.n_labels

    @property
    def _n_pair_weights(self) -> int:
        """How many weights, the last of all, are of features that score pairs of labels."""
        return 0

    @property
    def _shared_weights(self) -> Array:
        return self.weights_[self.weights_.size - self.structure_.n_shared :]

    def _training_scoring(self, structure: L, X: Rows, lengths: Array, memory: Memory) -> RowScoring:
        return RowScoring(
            X,
            lengths,
            structure.n_labels,
            n_shared=structure.n_shared,
            intercept=self.fit_intercept,
            sparsify=memory.limit is None,
            memory=memory,
        )

    def _row_scoring(self, X: Rows, lengths: Array) -> RowScoring:
        """That of a fitted estimator, which maps the rows."""
        intercept = len(self._label_weights) > self._n_row_features
        structure, rows = self.structure_, self._map_rows(X)
        return RowScoring(rows, lengths, structure.n_labels, n_shared=structure.n_shared, intercept=intercept)


class FlatEstimator(RowEstimator[L]):
    """One row an example."""

    def _scoring(self, X: Table) -> RowScoring:
        check_is_fitted(self, "weights_")
        rows = self._checked_rows(X)
        return self._row_scoring(rows, one_row_each(rows))

    def _scores(self, X: Table) -> Array:
        """The score of each label, of shape (n, n_labels)."""
        scoring = self._scoring(X)
        return scoring.scores(self.weights_, 0, scoring.n_examples).reshape(-1, scoring.n_labels)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class ClassEstimator(ClassifierMixin, FlatEstimator[C]):
    """One class an example."""

    _auto: ClassVar[Auto] = ON_ROWS
    _of_cost: ClassVar[tuple[str, ...]] = ("cost",)

    @property
    def _auto_losses(self) -> tuple[str, ...]:
        return WITH_MARGINALS

    def _auto_for(self, problem: TrainingProblem[C]) -> Auto:
        """Where examples overlap, what is best for one alone is soon undone by the others.

        L-BFGS keeps twenty vectors as long as the weights, and works on all of them in every pass.
        """
        if self.solver != "auto" or not self.regularization > 0:
            return self._auto
        if LOSSES[self._loss].family == "smooth":
            return ON_WIDE_ROWS if problem.scoring.n_weights > WIDE else self._auto
        return ON_OVERLAPPING_ROWS if rows_overlap(problem, self.regularization) else self._auto

    def _read(
        self,
        X: Table,
        y: Outputs,
        sample_weight: ArrayLike | None,
        memory: Memory,
        classes: Array | None = None,
    ) -> tuple[Rows, Array, Array | None]:
        """Checked and mapped rows, labels as positions in `classes_`, and weights times those of classes."""
        X, labels = self._checked_inputs(X, y, accept_sparse="csr", order="C")
        rows = summed_duplicates(X)
        check_classes(labels)
        weight = check_weights(sample_weight, rows.shape[0])
        self.classes_, codes = coded(labels, classes)
        check_two_classes(self.classes_)
        if self.class_weight is not None:
            by_class = sample_weights(self.class_weight, labels)
            weight = by_class if weight is None else weight * by_class
        return self._fit_rows(rows, memory), codes, weight


def rows_overlap(problem: TrainingProblem[C], regularization: float) -> bool:
    """Whether examples of one row are more than its features, whose mean curvature is far above lambda.

    That curvature, the mean of the eigenvalues of sum_i p_i x_i x_i^T, is the mean of ||x_i||^2 over their
    number. Of examples that are alike one is counted, with the weight of all.
    """
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
