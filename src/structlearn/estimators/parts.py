"""What estimators share whose features are given part by part: theta_i = F_i w."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from structlearn.core.contract import Array, Shape
from structlearn.estimators.base import StructuredEstimator, Task
from structlearn.estimators.choices import cost_options
from structlearn.estimators.inputs import (
    as_list,
    check_feature_count,
    check_same_length,
    check_weights,
    for_no_examples,
    stack_examples,
)
from structlearn.estimators.layout import gold_and_cost
from structlearn.estimators.scikit import check_is_fitted
from structlearn.scoring import PartScoring
from structlearn.structures import Structure
from structlearn.structures.whole import Whole


class PartWeights:
    """The weights of an estimator whose parts have features of their own, by name."""

    weights_: Array
    n_features_in_: int
    structure_: Any

    @property
    def coef_(self) -> Array:
        """Weights of the features, of shape (n_features,)."""
        return self.weights_[: self.n_features_in_]

    @property
    def intercept_(self) -> float:
        """Weight of the constant feature; zero where there is none."""
        return float(self.weights_[-1]) if self.weights_.size > self.n_features_in_ else 0.0


@dataclass(kw_only=True, eq=False, repr=False)
class PartEstimator(PartWeights, StructuredEstimator):
    """Features for each part, weights for each feature."""

    _noun: ClassVar[str] = "Example"

    def _make_structure(self) -> Structure:
        raise NotImplementedError

    def _lay_out(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Task:
        if self.class_weight is not None:
            raise ValueError(f"{type(self).__name__} has no classes to weigh; use cost or sample_weight.")
        structure = self._make_structure()
        if structure.n_shared:
            structure = Whole(structure)
        scoring = self._read(X, structure)
        outputs = as_list(y, "y")
        check_same_length(X, outputs)
        weight = check_weights(sample_weight, scoring.n_examples)
        for i, (one, size) in enumerate(zip(outputs, np.diff(scoring.start))):
            self._check_output(structure, i, one, scoring.shapes[i], int(size))
        memory = self._memory()
        gold, cost = gold_and_cost(structure, outputs, scoring, memory, **cost_options(self.cost))
        self.n_features_in_ = scoring.n_features
        return Task(structure, scoring, gold, cost, weight, memory=memory)

    def _check_output(self, structure: Structure, i: int, y: Any, shape: Array, size: int) -> None:
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
    def _predict_parts(self, X: Any) -> list[Array]:
        check_is_fitted(self, "weights_")
        scoring = self._scoring(X)
        answers = self._decide(scoring)
        return [self._shaped(parts.copy(), scoring.shapes[i]) for i, parts in answers]

    @for_no_examples
    def predict_marginals(self, X: Any) -> list[Array]:
        """The prediction function of the loss: marginals, or a sparse mixture after sparsemax."""
        check_is_fitted(self, "weights_")
        scoring = self._scoring(X)
        return [self._shaped(parts.copy(), scoring.shapes[i]) for i, parts in self._soft(scoring)]

    @for_no_examples
    def decision_function(self, X: Any) -> list[Array]:
        """Score of each part, example by example."""
        check_is_fitted(self, "weights_")
        scoring = self._scoring(X)
        return [
            self._shaped(scoring.scores(self.weights_, i, i + 1), scoring.shapes[i])
            for i in range(scoring.n_examples)
        ]

    def _shaped(self, parts: Array, shape: Array) -> Array:
        return parts.reshape(shape) if self.structure_.part_ndim == 2 else parts

    def _scoring(self, X: Any) -> PartScoring:
        scoring = self._read(X, self.structure_)
        check_feature_count(scoring.n_features, self.n_features_in_, type(self).__name__)
        return scoring

    def _read(self, X: Any, structure: Structure) -> PartScoring:
        F, axes = stack_examples(X, ndim=structure.part_ndim + 1, noun=self._noun)
        shapes = [self._shape(structure, i, tuple(one)) for i, one in enumerate(axes)]
        return PartScoring(F, np.array(shapes), sizes=axes.prod(axis=1), intercept=self.fit_intercept)

    def _shape(self, structure: Structure, i: int, axes: tuple[int, ...]) -> Shape:
        try:
            return structure.shape(np.broadcast_to(0.0, axes))
        except ValueError as error:
            raise ValueError(f"{self._noun} {i}: {error}") from None
