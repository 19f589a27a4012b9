"""Batch subgradient descent, with a certificate from averages of the oracle's answers.

Each answer s_t = (s_1, ..., s_n) is a dual feasible point, and so is every average of them in which all
examples carry equal weight: its dual value is a lower bound, though no z is ever stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.rounding import Bound
from structlearn.problem.objective import Objective, Predictions
from structlearn.solvers.first_order.steps import PegasosStep, StepRule
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate, SolverBase


class DualAverage(NamedTuple):
    """An average of answers: lambda w(z) and the cost of z, enough for D(z)."""

    dual_map: Array
    cost: float = 0.0
    weight: float = 0.0

    def add(self, dual_map: Array, cost: float, weight: float) -> DualAverage:
        total = self.weight + weight
        rho = weight / total
        return DualAverage(
            self.dual_map + rho * (dual_map - self.dual_map), self.cost + rho * (cost - self.cost), total
        )

    def value(self, objective: Objective) -> Bound | None:
        """Return D of the average; without a regulariser there is no dual."""
        if objective.regularization <= 0 or self.weight == 0:
            return None
        return objective.dual_of_map(self.dual_map, self.cost)


class SubgradientState(NamedTuple):
    """The iterate, the oracle's answers there, and the running averages."""

    w: Array
    predictions: Predictions
    average: Array
    dual_average: DualAverage
    steps: int
    oracle_calls: int


@dataclass(frozen=True)
class Subgradient(SolverBase[SubgradientState]):
    """w <- w - eta_t (lambda w - sum_i p_i Phi_i^T (mu_i - s_i)).

    Parameters
    ----------
    step_rule : StepRule
        `PegasosStep` (the default), `ConstantStep` or `DiminishingStep`; by name "pegasos", "constant" or
        "diminishing".
    averaging : bool
        Whether to certify, beside the iterates, their average weighted by 1, 2, 3, ...
    """

    step_rule: StepRule = field(default_factory=PegasosStep)
    averaging: bool = True
    resumes: ClassVar[bool] = True

    def start(
        self, objective: Objective, rng: np.random.Generator, warm: Solution | None
    ) -> SubgradientState:
        self.step_rule.schedule(objective)  # refuses here what it cannot do
        if warm is not None and isinstance(warm.state, SubgradientState):
            return warm.state._replace(oracle_calls=0)
        w = np.zeros(objective.n_weights) if warm is None else warm.w.copy()
        return SubgradientState(w, objective.predictions(w), w, DualAverage(np.zeros(w.size)), 0, 0)

    def step(
        self, objective: Objective, state: SubgradientState, rng: np.random.Generator
    ) -> SubgradientState:
        t = state.steps + 1
        eta = self.step_rule.schedule(objective).length(t)
        here = state.predictions
        w = state.w - eta * (objective.regularization * state.w - here.dual_map)
        average = state.average + 2.0 / (t + 1) * (w - state.average) if self.averaging else w
        dual_average = state.dual_average.add(here.dual_map, here.cost, t)
        return SubgradientState(
            w, objective.predictions(w), average, dual_average, t, state.oracle_calls + objective.n_active
        )

    def candidates(self, objective: Objective, state: SubgradientState) -> list[Candidate]:
        found = [Candidate(state.w, state.predictions.primal, state.dual_average.value(objective))]
        if self.averaging and state.steps:
            found.append(Candidate(state.average))
        return found
