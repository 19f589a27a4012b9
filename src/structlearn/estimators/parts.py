"""What estimators share whose features are given part by part: theta_i = F_i w."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array, Shape
from structlearn.core.memory import Memory
from structlearn.estimators.base import S, StructuredEstimator
from structlearn.estimators.choices import cost_options, threads
from structlearn.estimators.inputs.checking import (
    Tables,
    as_list,
    check_same_length,
    check_sample_weight,
    for_no_examples,
    stack_examples,
)
from structlearn.estimators.inputs.layout import gold_and_cost
from structlearn.estimators.mapped import MappedRows
from structlearn.estimators.models.linear import model_of
from structlearn.estimators.scikit import Rows, check_is_fitted
from structlearn.estimators.training.running import TrainingProblem
from structlearn.metrics import Outputs
from structlearn.scoring import PartScoring
from structlearn.scoring.parts.sparse_parts import SparsePartScoring
from structlearn.structures import Structure

AnyPartScoring = PartScoring | SparsePartScoring


@dataclass(kw_only=True, eq=False, repr=False)
class PartEstimator(MappedRows, StructuredEstimator[S]):
    """Features for each part, weights for each feature."""

    _noun: ClassVar[str] = "Example"

    @property
    def coef_(self) -> Array:
        """Weights of the features, of shape (n_features,)."""
        return self.weights_[: self.row_map.n_scored]

    @property
    def intercept_(self) -> float:
        """Weight of the constant feature; zero where there is none."""
        return float(self.weights_[-1]) if self.weights_.size > self.row_map.n_scored else 0.0

    def _problem(
        self, structure: S, X: Tables, y: Outputs, sample_weight: ArrayLike | None
    ) -> TrainingProblem[S]:
        """Check the data and lay it out."""
        if self.class_weight is not None:
            raise ValueError(f"{type(self).__name__} has no classes to weigh; use cost or sample_weight.")
        memory = Memory(self.memory)
        scoring = self._training_part_scoring(X, structure, memory)
        outputs = as_list(y, "y")
        check_same_length(X, outputs)
        weight = check_sample_weight(sample_weight, scoring.n_examples)
        for i, (one, size) in enumerate(zip(outputs, np.diff(scoring.start))):
            self._check_output(structure, i, one, scoring.shapes[i], int(size))
        gold, cost = gold_and_cost(structure, outputs, scoring, memory, **cost_options(self.cost))
        return TrainingProblem(structure, scoring, gold, cost, weight, memory=memory)

    def _check_output(self, structure: Structure, i: int, y: object, shape: Array, size: int) -> None:
        """Name the example whose output does not fit; the structure's own sentence says why."""
        try:
            parts = structure.encode(y, (int(shape[0]), int(shape[1])))
        except ValueError as error:
            raise ValueError(f"{self._noun} {i}: {error}") from None
        if parts.size != size:
            raise ValueError(
                f"{self._noun} {i} has features of {size} parts but its output has {parts.size}."
            )

    @for_no_examples
    def _predict_parts(self, X: Tables) -> list[Array]:
        scoring = self._part_scoring(X)
        return self._each_shaped(scoring, model_of(self).best_parts(scoring))

    @for_no_examples
    def predict_marginals(self, X: Tables) -> list[Array]:
        """Return the loss's prediction function: marginals, or a sparse mixture after sparsemax."""
        scoring = self._part_scoring(X)
        return self._each_shaped(scoring, model_of(self).soft_parts(scoring))

    @for_no_examples
    def decision_function(self, X: Tables) -> list[Array]:
        """Score of each part, example by example."""
        scoring = self._part_scoring(X)
        scores = ((i, scoring.scores(self.weights_, i, i + 1)) for i in range(scoring.n_examples))
        return self._each_shaped(scoring, scores)

    def _each_shaped(self, scoring: AnyPartScoring, answers: Iterable[tuple[int, Array]]) -> list[Array]:
        """Return copies of part vectors, as tables if parts form one."""
        if self.structure_.part_ndim == 2:
            return [parts.reshape(scoring.shapes[i]).copy() for i, parts in answers]
        return [parts.copy() for _, parts in answers]

    def _training_part_scoring(self, X: Tables, structure: S, memory: Memory) -> AnyPartScoring:
        """Return the scoring of the training data, to whose rows the row map is fitted."""
        rows, axes = self._part_rows(X, structure)
        self.n_features_in_ = rows.shape[1]
        return self._scoring_of_rows(
            structure, self.fit_rows(rows, memory), axes, constant=self.fit_intercept
        )

    def _part_scoring(self, X: Tables) -> AnyPartScoring:
        """Return the scoring of examples that a fitted estimator is asked about."""
        check_is_fitted(self, "weights_")
        rows, axes = self._part_rows(X, self.structure_)
        constant = self.weights_.size > self.row_map.n_scored
        return self._scoring_of_rows(self.structure_, self.row_map.apply(rows), axes, constant=constant)

    def _part_rows(self, X: Tables, structure: Structure) -> tuple[Rows, Array]:
        """Return the rows of all parts, end to end, and the axes of each example's parts."""
        n_jobs = threads(self.n_jobs)
        return stack_examples(X, ndim=structure.part_ndim + 1, noun=self._noun, n_jobs=n_jobs)

    def _scoring_of_rows(
        self, structure: Structure, rows: Rows, axes: Array, *, constant: bool
    ) -> AnyPartScoring:
        shapes = [self._shape(structure, i, tuple(one)) for i, one in enumerate(axes)]
        kind = PartScoring if isinstance(rows, np.ndarray) else SparsePartScoring
        return kind(rows, np.array(shapes), sizes=axes.prod(axis=1), intercept=constant)

    def _weight_counts(self) -> set[int]:
        return {self.row_map.n_scored, self.row_map.n_scored + 1}

    def _shape(self, structure: Structure, i: int, axes: tuple[int, ...]) -> Shape:
        try:
            return structure.shape(np.broadcast_to(0.0, axes))
        except ValueError as error:
            raise ValueError(f"{self._noun} {i}: {error}") from None
