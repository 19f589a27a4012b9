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

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from structlearn.core.sentences import ParameterError
from structlearn.estimators.advice.columns import column_sizes
from structlearn.estimators.loss_choice import AUTO, trained_loss
from structlearn.estimators.training.running import EstimatorTraining, S, TrainingProblem
from structlearn.problem.objective import Objective
from structlearn.problem.registry import LOSSES
from structlearn.scoring import JointScoring

if TYPE_CHECKING:
    from structlearn.estimators.graph_base import GraphEstimator

#: Lambda for rows of unit length, and where all features are zero.
UNIT = 0.01
#: Beyond these, 1/lambda times squares of features overflows.
LEAST, MOST = 1e-100, 1e100


class SizedTraining(EstimatorTraining[S]):
    """Training with a lambda that follows from the size of the examples and of their features."""

    estimator: GraphEstimator[Any]

    def check_regularization(self) -> None:
        """Raise ValueError unless lambda is "auto" or a number of at least 0."""
        given: object = self.estimator.regularization
        if isinstance(given, str):
            if given == AUTO:
                return
            raise ParameterError(
                "{regularization} must be 'auto' or a number; got {given}.", given=repr(given)
            )
        super().check_regularization()

    def strength(self, problem: TrainingProblem[S]) -> float:
        """Return lambda for this problem."""
        if self.estimator.regularization != AUTO:
            return super().strength(problem)
        counted = not LOSSES[trained_loss(self.estimator)].cost_augmented or is_count(self.estimator.cost)
        return sized_regularization(cast(JointScoring, problem.scoring), counted=counted)

    def objective(self, problem: TrainingProblem[S]) -> Objective:
        """Bind problem, loss and penalty; note lambda."""
        objective = super().objective(problem)
        self.estimator.regularization_ = (
            objective.regularization
        )  # 0 where none is used, as by the perceptron
        return objective


def is_count(cost: object) -> bool:
    """Whether mistakes are counted; all other costs are divided by the number of nodes."""
    return isinstance(cost, str) and cost == "count"


def sized_regularization(scoring: JointScoring, *, counted: bool) -> float:
    """Return 0.01 s^2 where losses are sums over nodes, else 0.01 s^2 m; 0.01 where s^2 is 0."""
    rows = (scoring.local.X, scoring.pairs.X)
    with np.errstate(over="ignore"):
        squares = sum(one.shape[0] * np.square(column_sizes(one)).sum() for one in rows)
    size = 1.0 if counted else scoring.local.X.shape[0] / scoring.n_examples
    found = UNIT * squares / sum(one.shape[0] for one in rows) * size
    return float(np.clip(found, LEAST, MOST)) if found > 0 else UNIT
