"""Base of estimators that predict costs of parts: how examples are laid out, and what the weights are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from structlearn.core.contract import Array, Shape
from structlearn.core.memory import Memory
from structlearn.estimators.base import StructuredEstimator
from structlearn.estimators.choices import threads
from structlearn.estimators.decisions.costs import Costs, check_alike, check_one_each, cost_arrays
from structlearn.estimators.decisions.features import (
    has_part_rows,
    n_part_axes,
    part_scoring,
    row_scoring,
    scaled_rows,
)
from structlearn.estimators.decisions.layout import DecisionExamples, Instances, structure_of_all
from structlearn.estimators.inputs.checking import stack_examples, summed_duplicates
from structlearn.estimators.mapped import MappedRows
from structlearn.estimators.scikit import Rows
from structlearn.estimators.training.fresh_fit import of_fit
from structlearn.estimators.weights.row_weights import RowWeights
from structlearn.scoring import Scoring
from structlearn.structures import Structure


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionEstimator(MappedRows, StructuredEstimator[Structure]):
    """Scores s alpha c_hat of parts, with predicted costs c_hat = X B; s is -1 where costs are minimised."""

    structure: object = field(default=None, kw_only=False)
    alpha: float = 2.0
    sense: str = "min"

    #: the axes of the parts of an example, where all have the same; () where they differ
    part_shape_: tuple[int, ...] = field(init=False)
    #: whether each part has features of its own
    _of_parts: bool = field(init=False)

    of_layout: ClassVar[tuple[str, ...]] = ("sense", "alpha")

    @property
    def _factor(self) -> float:
        """What predicted costs are multiplied by in scores: s alpha, by the parameters of the fit."""
        return (-1.0 if of_fit(self, "sense") == "min" else 1.0) * float(of_fit(self, "alpha"))

    # ---- examples as they are laid out ---------------------------------------------------------------------

    def _laid_out(self, X: Any, costs: Sequence[Array], instances: Instances) -> DecisionExamples:
        """Check training data, fit the map of rows, and lay all out."""
        self._of_parts = has_part_rows(X)
        rows, axes = self._training_rows(X, costs)
        self.n_features_in_ = rows.shape[1]
        self.part_shape_ = axes[0] if len(set(axes)) == 1 else ()
        if not self._of_parts:
            check_alike(costs)
        return self._with_structure(self.structure, self.fit_rows(rows, Memory(self.memory)), axes, instances)

    def _with_structure(
        self, given: object, rows: Rows, axes: list[tuple[int, ...]], instances: Instances
    ) -> DecisionExamples:
        structure, shapes = structure_of_all(given, axes, instances)
        sizes = np.array([int(np.prod(one)) for one in axes])
        return DecisionExamples(structure, self._scoring(rows, shapes, sizes), axes, rows)

    def _training_rows(self, X: Any, costs: Sequence[Array]) -> tuple[Rows, list[tuple[int, ...]]]:
        """Return the rows of features, and the axes of each example's parts."""
        if self._of_parts:
            return self._rows_of_parts(X, 1 if costs[0].ndim == 1 else costs[0].ndim)
        rows = summed_duplicates(self._checked_inputs(X, accept_sparse="csr", order="C"))
        check_one_each(costs, rows.shape[0])
        return rows, [one.shape for one in costs]

    def _rows_of_parts(self, X: Any, ndim: int) -> tuple[Rows, list[tuple[int, ...]]]:
        rows, axes = stack_examples(X, ndim=ndim + 1, noun="Example", n_jobs=threads(self.n_jobs))
        return rows, [tuple(one) for one in axes.tolist()]

    def _scoring(self, rows: Rows, shapes: Sequence[Shape] | Array, sizes: Array) -> Scoring:
        is_fitted = hasattr(self, "weights_")
        constant = self._weights.has_constant if is_fitted else self.fit_intercept
        scaled = scaled_rows(rows, self._factor, constant=constant)
        if self._of_parts:
            return part_scoring(scaled, shapes, sizes)
        return row_scoring(scaled, shapes, int(sizes[0]), Memory(self.memory))

    def _flat_known_costs(self, known_costs: Costs | None, asked: DecisionExamples) -> Array:
        if known_costs is None:
            return np.zeros(asked.scoring.start[-1])
        known = cost_arrays(known_costs, "known_costs")
        check_one_each(known, asked.scoring.n_examples, "known_costs")
        return asked.flatten(known, "known_costs")

    def _asked_about(self, X: Any, instances: Instances) -> DecisionExamples:
        """Lay examples out that a model is asked about."""
        if has_part_rows(X) != self._of_parts:
            wanted = "one row of features per part" if self._of_parts else "one row of features per example"
            raise ValueError(f"This model was trained on {wanted}; X has other axes.")
        if self._of_parts:
            rows, axes = self._rows_of_parts(X, len(self.part_shape_) or n_part_axes(X))
        else:
            rows = self._checked_rows(X)
            axes = [self.part_shape_] * rows.shape[0]
        known = getattr(self, "structure_", self.structure)
        return self._with_structure(known, self.row_map.apply(rows), axes, instances)

    # ---- what a fitted model has ---------------------------------------------------------------------------

    @property
    def _n_scores(self) -> int:
        return 1 if self._of_parts else int(np.prod(self.part_shape_))

    @property
    def _weights(self) -> RowWeights:
        return RowWeights(self.weights_, self.row_map.n_scored, self._n_scores)

    @property
    def coef_(self) -> Array:
        """B: weights of the predicted costs."""
        coef = self._weights.coef
        return coef[0] if self._of_parts else coef

    @property
    def intercept_(self) -> Any:
        """Weights of the constant feature; zero where there is none."""
        constant = self._weights.intercept
        return float(constant[0]) if self._of_parts else constant

    def _weight_counts(self) -> set[int]:
        return RowWeights(np.empty(0), self.row_map.n_scored, self._n_scores).sizes
