"""Any structure, the user's own too."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array, Shape
from structlearn.core.sentences import Statement
from structlearn.estimators.choices import threads
from structlearn.estimators.inputs.checking import Tables, as_list
from structlearn.estimators.inputs.instances import (
    own_instances,
    refuse_new_instances,
    refuse_without_instances,
)
from structlearn.estimators.models.linear import model_of
from structlearn.estimators.parts import PartEstimator
from structlearn.estimators.scikit import Rows, check_is_fitted
from structlearn.estimators.training.fresh_fit import fresh_fit
from structlearn.estimators.training.running import training_of
from structlearn.metrics import Outputs, exact_match
from structlearn.structures import OwnStructure, Structure, as_structure
from structlearn.structures.base import answering
from structlearn.structures.refusing import refuse_wrong_oracle
from structlearn.structures.unshared import Whole


@dataclass(kw_only=True, eq=False, repr=False)
class StructuredPredictor(PartEstimator[Structure]):
    """Predict outputs of any structure, such as one of your own.

    Linear prediction over any structure: theta = F w, with features for each part.

    Parameters
    ----------
    structure : object
        One of `structlearn.structures`; or any object with `maximize(theta) -> vertex`, or that function
        itself; or one with a Numba function `oracle(theta, out) -> value`, or that function itself, which is
        compiled into the solver. It may have `encode(y)`, `decode(vertex)` and `cost(mu)`; without them an
        output is its 0/1 part vector and the cost is Hamming over parts.
    scoring : callable, optional
        Turns one example x into its features, of shape (n_parts, d). Without it, x is those features.
    positive : bool
        Whether no weight may be negative, the intercept's included: a larger feature then never makes a part
        worse. For all losses but the perceptron.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    n_features_in_, weights_, certificate_, history_

    Examples
    --------
    >>> import numpy as np
    >>> from structlearn import StructuredPredictor
    >>> class OneOf:
    ...     def maximize(self, theta):
    ...         return np.eye(len(theta))[np.argmax(theta)]
    >>> X = [np.eye(3)[[0, 1]], np.eye(3)[[2, 0, 1]]]  # features of the parts of each example
    >>> model = StructuredPredictor(OneOf(), random_state=0).fit(X, [[1, 0], [0, 1, 0]])
    >>> model.predict(X)[1].tolist()
    [0, 1, 0]
    """

    structure: object = field(default=None, kw_only=False)
    scoring: Callable[[Any], ArrayLike] | None = field(default=None, kw_only=False)
    fit_intercept: bool = False
    positive: bool = False

    def fit(
        self,
        X: Tables,
        y: Outputs,
        sample_weight: ArrayLike | None = None,
        *,
        instances: Sequence[object] | None = None,
    ) -> StructuredPredictor:
        """Train on a list of examples and a list of outputs.

        `instances` is what belongs to each example, such as a graph or a capacity, where the structure is an
        oracle of your own whose `maximize(theta, x)` asks for it.
        """
        with fresh_fit(self):
            structure = self._structure_of(X, instances)
            if structure.n_shared:
                structure = Whole(structure)
            problem = self._problem(structure, X, y, sample_weight)
            if isinstance(structure, OwnStructure):
                refuse_wrong_oracle(structure, problem.scoring.shapes, problem.gold)
                self._warn_of_threads(structure)
            with answering(structure):
                training_of(self).run(problem)
        return self

    def _structure_of(self, X: Tables, instances: Sequence[object] | None) -> Structure:
        """Return the structure of examples."""
        if self.structure is None:
            raise ValueError("StructuredPredictor needs a structure: StructuredPredictor(structure).")
        if instances is not None:
            return own_instances(self.structure, instances, as_list(X, "X"))
        structure = as_structure(self.structure)
        refuse_without_instances(structure)
        return structure

    def _shape(self, structure: Structure, i: int, axes: tuple[int, ...]) -> Shape:
        if isinstance(structure, OwnStructure) and structure.instances is not None:
            return int(np.prod(axes)), i
        return super()._shape(structure, i, axes)

    def _warn_of_threads(self, structure: OwnStructure) -> None:
        if threads(self.n_jobs) > 1 and structure.uses_threads:
            advice = Statement(
                "{n_jobs} serves a `maximize` in plain Python only where all examples are asked at once "
                "(evaluations, predictions), and only if it releases the GIL; compile it with Numba "
                "(docs/own-structure.md), or give it the attribute parallel = 'processes', for more."
            )
            warnings.warn(UserWarning(advice), stacklevel=3)

    def _part_rows(self, X: Tables, structure: Structure) -> tuple[Rows, Array]:
        features = X if self.scoring is None else [self.scoring(x) for x in as_list(X, "X")]
        return super()._part_rows(features, structure)

    def predict(self, X: Tables, *, instances: Sequence[object] | None = None) -> list[object]:
        """Return the best output of each example; `instances` as in `fit`."""
        if instances is None:
            check_is_fitted(self, "weights_")
            refuse_new_instances(self.structure_)
            with answering(self.structure_):
                return [self.structure_.decode(vertex) for vertex in self._predict_parts(X)]
        return self._predict_instances(X, instances)

    def _predict_instances(self, X: Tables, instances: Sequence[object]) -> list[object]:
        check_is_fitted(self, "weights_")
        structure = self._structure_of(X, instances)
        rows, axes = self._part_rows(X, structure)
        constant = self.weights_.size > self.row_map.n_scored
        scoring = self._scoring_of_rows(structure, self.row_map.apply(rows), axes, constant=constant)
        with answering(structure):
            best = model_of(self, structure).best_parts(scoring)
            return [structure.decode(parts.copy()) for _, parts in best]

    def score(
        self,
        X: Tables,
        y: Outputs,
        sample_weight: ArrayLike | None = None,
        *,
        instances: Sequence[object] | None = None,
    ) -> float:
        """Return the share of outputs that are right as a whole."""
        return exact_match(y, self.predict(X, instances=instances), sample_weight)
