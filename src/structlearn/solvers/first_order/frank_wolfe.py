"""Batch Frank-Wolfe: all blocks step towards their vertices at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.objective import Objective, Predictions, best_step
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate, Progress, SolverBase


class FrankWolfeState(NamedTuple):
    """w = w(z) and the cost of z stand for z itself, which is not needed."""

    w: Array
    cost: float
    #: the oracle's answers at w
    predictions: Predictions
    steps: int
    oracle_calls: int
    estimate: float


@dataclass(frozen=True)
class FrankWolfe(SolverBase[FrankWolfeState]):
    """z <- z + gamma (s - z), s_i = argmax <theta_i + c_i, s_i> for every i.

    Parameters
    ----------
    line_search : bool
        The exact gamma if true, else gamma = 2 / (k + 2).
    """

    line_search: bool = True
    needs: ClassVar[frozenset[str]] = frozenset({"regularization"})
    resumes: ClassVar[bool] = True

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> FrankWolfeState:
        if warm is not None and isinstance(warm.state, FrankWolfeState):
            return warm.state._replace(oracle_calls=0)
        w, cost = np.zeros(objective.n_weights), 0.0
        if warm is not None and warm.point is not None:
            w, cost = objective.weights_of(np.asarray(warm.point))
            fraction = objective.best_fraction(w, cost)
            w, cost = fraction * w, fraction * cost
        return FrankWolfeState(w, cost, objective.predictions(w), 0, 0, np.inf)

    def step(self, objective: Objective, state: FrankWolfeState, rng: np.random.Generator) -> FrankWolfeState:
        lam = objective.regularization
        vertex_w = state.predictions.dual_map / lam
        away = state.w - vertex_w
        gap = lam * float(state.w @ away) + state.predictions.cost - state.cost
        gamma = 2.0 / (state.steps + 2)
        if self.line_search:
            curvature = lam * float(away @ away)
            gamma = best_step(gap, curvature)
        w = state.w - gamma * away
        cost = state.cost + gamma * (state.predictions.cost - state.cost)
        oracle_calls = state.oracle_calls + objective.n_active
        return FrankWolfeState(w, cost, objective.predictions(w), state.steps + 1, oracle_calls, gap)

    def progress(self, state: FrankWolfeState) -> Progress:
        return Progress(state.oracle_calls, state.estimate)

    def candidates(self, objective: Objective, state: FrankWolfeState) -> list[Candidate]:
        dual = objective.dual(state.w, state.cost)
        return [Candidate(state.w, state.predictions.primal, dual, float(state.w @ state.w))]
