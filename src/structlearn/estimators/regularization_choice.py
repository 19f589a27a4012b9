"""What regularization="auto" stands for where examples are graphs: lambda by the size of an example.

A score sums over the rows of features of a graph, one per node and one per edge. Where the loss sums over the
m nodes, too (softmax, counted mistakes), the objective is as that of a chain,

    lambda/2 ||u||^2 + mean_i sum_v loss_v(u),

whose default is lambda = 0.01. That is for rows of unit length: rows that are scaled by c need u/c, and so
c^2 lambda. With s^2, the mean squared length of a row, lambda is 0.01 s^2. Costs that are divided by m make
weights w = u/m, and the same objective, divided by m, is

    m lambda/2 ||w||^2 + mean_i loss_i(w),

so that lambda is 0.01 s^2 m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from structlearn.core.sentences import ParameterError
from structlearn.estimators.advice.columns import column_sizes
from structlearn.estimators.base import S, StructuredEstimator, TrainingProblem
from structlearn.estimators.loss_choice import AUTO
from structlearn.problem.objective import Objective
from structlearn.problem.registry import LOSSES
from structlearn.scoring import JointScoring

#: Lambda for rows of unit length, and where all features are zero.
UNIT = 0.01
#: Beyond these, 1/lambda times squares of features is no number.
LEAST, MOST = 1e-100, 1e100


@dataclass(kw_only=True, eq=False, repr=False)
class SizedRegularization(StructuredEstimator[S]):
    """A lambda that follows from the size of the examples and of their features.

    Parameters
    ----------
    regularization : float or "auto"
        lambda in P(w) = lambda/2 ||w||^2 + mean loss. "auto" is 0.01 s^2 m, where s^2 is the mean of
        ||row||^2 over the rows of features of all nodes and edges, and m is the mean number of nodes per
        example where costs are divided by it (the hinge, unless cost="count"), else 1. `regularization_`
        tells the number. Not used by the perceptron.
    """

    regularization: float | Literal["auto"] = AUTO  # type: ignore[assignment]

    def _check_regularization(self) -> None:
        if isinstance(self.regularization, str):
            if self.regularization == AUTO:
                return
            raise ParameterError(
                "{regularization} must be 'auto' or a number; got {given}.", given=repr(self.regularization)
            )
        super()._check_regularization()

    def _strength(self, problem: TrainingProblem[S]) -> float:
        if self.regularization != AUTO:
            return super()._strength(problem)
        counted = not LOSSES[self._loss].cost_augmented or is_count(self.cost)
        return sized_regularization(cast(JointScoring, problem.scoring), counted=counted)

    def _objective(self, problem: TrainingProblem[S]) -> Objective:
        objective = super()._objective(problem)
        self.regularization_ = objective.regularization  # 0 where none is used, as by the perceptron
        return objective


def is_count(cost: object) -> bool:
    """Whether mistakes are counted; all other costs are divided by the number of nodes."""
    return isinstance(cost, str) and cost == "count"


def sized_regularization(scoring: JointScoring, *, counted: bool) -> float:
    """0.01 s^2 where losses are sums over nodes, else 0.01 s^2 m; 0.01 where s^2 is 0."""
    rows = (scoring.local.X, scoring.pairs.X)
    with np.errstate(over="ignore"):
        squares = sum(one.shape[0] * np.square(column_sizes(one)).sum() for one in rows)
    size = 1.0 if counted else scoring.local.X.shape[0] / scoring.n_examples
    found = UNIT * squares / sum(one.shape[0] for one in rows) * size
    return float(np.clip(found, LEAST, MOST)) if found > 0 else UNIT
