"""What a fit makes: a structure, weights, and the loss that they were trained by; it answers, and stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.progress import counted
from structlearn.core.sentences import Statement
from structlearn.estimators.choices import threads
from structlearn.estimators.loss_choice import trained_loss
from structlearn.estimators.weights.frequencies import tie_scores
from structlearn.problem.oracle import Oracle
from structlearn.problem.registry import LOSSES
from structlearn.scoring import Scoring
from structlearn.structures import Structure

if TYPE_CHECKING:
    from structlearn.estimators.base import StructuredEstimator

S = TypeVar("S", bound=Structure)
#: Weights that are looked at before all are.
_FIRST = 1000
#: Those of a model whose weights are still to be read from a file.
_NONE = np.empty(0)


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearModel(Generic[S]):
    """A structure and weights: theta = Phi w for what is asked.

    loss : the one that was trained
    frequencies : the share of rows with each label, where outputs are labels of rows and it is known
    n_jobs : threads that answer
    temperature : what scores are divided by in probabilities
    """

    structure: S
    weights: Array
    loss: str
    frequencies: Array | None = None
    n_jobs: int = 1
    temperature: float = 1.0

    def best_parts(self, scoring: Scoring, shift: Array | None = None) -> Iterator[tuple[int, Array]]:
        """Yield (i, local parts of the best output) for every example, whose scores may be shifted.

        After the sparsemax loss a score of 0.3 means 30%, so that a part is worth taking from 1/2 on.
        """
        threshold = self.structure.threshold if self.loss == "sparsemax" else 0.0
        if threshold:
            shift = np.full(scoring.start[-1], -threshold)
        found = self.oracle(scoring).predict(self.weights, self.total_shift(scoring, shift))
        return iter(counted(found, "predicting", scoring.n_examples))

    def soft_parts(self, scoring: Scoring, shift: Array | None = None) -> Iterator[tuple[int, Array]]:
        """Yield (i, local parts of the prediction function of the loss) for every example."""
        regularizer = LOSSES[self.loss].regularizer
        if not regularizer.smooth:
            raise AttributeError(
                Statement(
                    "{loss=} has no marginals; train with {loss=softmax} or 'sparsemax'.", loss=self.loss
                )
            )
        weights = self.weights if self.temperature == 1.0 else self.weights / self.temperature
        found = self.oracle(scoring, regularizer.record(self.structure)).predict(weights, shift)
        return iter(counted(found, "probabilities", scoring.n_examples))

    def with_temperature(self, temperature: float) -> Self:
        """Return the same model with another temperature."""
        return replace(self, temperature=temperature)

    def oracle(self, scoring: Scoring, record: Any = None) -> Oracle:
        """Return what asks the structure, or its regularised form, about these examples."""
        asked = self.structure.record if record is None else record
        return Oracle(asked, scoring, structure=self.structure, n_jobs=self.n_jobs)

    def total_shift(self, scoring: Scoring, shift: Array | None) -> Array | None:
        """Return what is added to scores: where all weights are zero, what prefers frequent labels, too."""
        known = self.frequencies
        if known is None or self.weights[:_FIRST].any() or self.weights.any():
            return shift
        ties = tie_scores(scoring, self.structure, known)
        return shift if ties is None else ties if shift is None else ties + shift


def facts_of(estimator: StructuredEstimator[Any]) -> dict[str, Any]:
    """Return what a model takes of a fitted estimator, but for the structure."""
    return {
        "weights": getattr(estimator, "weights_", _NONE),
        "loss": trained_loss(estimator),
        "frequencies": getattr(estimator, "_frequencies", None),
        "n_jobs": threads(estimator.n_jobs),
        "temperature": getattr(estimator, "temperature_", 1.0),
    }


def model_of(estimator: StructuredEstimator[Any], structure: S | None = None) -> LinearModel[Any]:
    """Return the model of a fitted estimator, over its structure or that of the examples in question."""
    own = estimator.structure_ if structure is None else structure
    return LinearModel(structure=own, **facts_of(estimator))
