"""Gradient descent and accelerated proximal gradient, for smooth losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.rounding import Bound
from structlearn.problem.objective import Objective, Predictions
from structlearn.problem.problem import Composite
from structlearn.solvers.first_order.lbfgs import candidate_from
from structlearn.solvers.first_order.steps import StepRule
from structlearn.solvers.registry import PENALTIES
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate, Progress, SolverBase


class DescentState(NamedTuple):
    """The iterate, the predictions there, and the last step length."""

    w: Array
    here: Predictions
    eta: float
    steps: int
    oracle_calls: int


@dataclass(frozen=True)
class GradientDescent(SolverBase[DescentState]):
    """w <- w - eta (lambda w - u(z)).

    Parameters
    ----------
    step_rule : StepRule, optional
        `ConstantStep`, `DiminishingStep` or `PegasosStep`; by name "constant", "diminishing" or "pegasos".
        Without one ("backtracking"), eta is halved until the objective falls by half of what the gradient
        promises (Armijo), and doubled before each step.
    """

    step_rule: StepRule | None = None
    needs: ClassVar[frozenset[str]] = frozenset({"gradient"})

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> DescentState:
        w = np.zeros(objective.n_weights) if warm is None else warm.w.copy()
        return DescentState(w, objective.predictions(w), 1.0, 0, objective.n_active)

    def step(self, objective: Objective, state: DescentState, rng: np.random.Generator) -> DescentState:
        gradient = objective.regularization * state.w - state.here.dual_map
        trials = 0
        eta = 2 * state.eta
        if self.step_rule is not None:
            eta = self.step_rule.schedule(objective).length(state.steps + 1)
        while True:
            w = state.w - eta * gradient
            here = objective.predictions(w)
            trials += 1
            promised = eta / 2 * float(gradient @ gradient)
            if self.step_rule is not None or here.primal <= state.here.primal - promised or trials > 60:
                break
            eta /= 2
        return DescentState(w, here, eta, state.steps + 1, state.oracle_calls + trials * objective.n_active)

    def progress(self, state: DescentState) -> Progress:
        return Progress(state.oracle_calls, 0.0)

    def candidates(self, objective: Objective, state: DescentState) -> list[Candidate]:
        return [candidate_from(objective, state.w, state.here)]


class ProximalState(NamedTuple):
    """The iterate, the point ahead of it where the gradient is taken, and what is known there."""

    w: Array
    primal: float
    ahead: Array
    here: Predictions
    momentum: float
    eta: float
    oracle_calls: int
    dual: Bound


@dataclass(frozen=True)
class Proximal(SolverBase[ProximalState]):
    """Accelerated proximal gradient (FISTA, Beck and Teboulle 2009), with backtracking and restarts.

    w <- prox_{eta R}(v + eta u(z(v))),  v <- w + momentum (w - previous w). The momentum is dropped
    whenever it points uphill (O'Donoghue and Candes 2015). Serves every penalty R.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"gradient"})
    penalties: ClassVar[tuple[str, ...]] = PENALTIES

    def start(self, objective: Composite, rng: np.random.Generator, warm: Solution | None) -> ProximalState:
        w = np.zeros(objective.n_weights) if warm is None else objective.penalty.prox(warm.w.copy(), 0.0)
        here = objective.predictions(w)
        dual = objective.dual_of_map(here.dual_map, here.cost)
        return ProximalState(w, here.primal, w, here, 1.0, 1.0, objective.n_active, dual)

    def step(self, objective: Composite, state: ProximalState, rng: np.random.Generator) -> ProximalState:
        ahead, dual_map = state.ahead, state.here.dual_map
        eta, trials = 1.3 * state.eta, 0
        while True:
            w = objective.penalty.prox(ahead + eta * dual_map, eta)
            moved = w - ahead
            there = objective.predictions(w)
            trials += 1
            # the gradient may change by at most 1/eta along the step; values would drown in rounding
            if float((dual_map - there.dual_map) @ moved) <= float(moved @ moved) / eta or trials > 60:
                break
            eta /= 2
        momentum = (1 + np.sqrt(1 + 4 * state.momentum**2)) / 2
        if float(moved @ (w - state.w)) < 0:  # uphill: start anew
            momentum, ahead = 1.0, w
        else:
            ahead = w + (state.momentum - 1) / momentum * (w - state.w)
        here = there if ahead is w else objective.predictions(ahead)
        asked = trials + (ahead is not w)
        duals = [objective.dual_of_map(one.dual_map, one.cost) for one in (there, here)]
        oracle_calls = state.oracle_calls + asked * objective.n_active
        return ProximalState(w, there.primal, ahead, here, momentum, eta, oracle_calls, max(duals))

    def progress(self, state: ProximalState) -> Progress:
        return Progress(state.oracle_calls, 0.0)

    def candidates(self, objective: Composite, state: ProximalState) -> list[Candidate]:
        return [Candidate(state.w, state.primal, state.dual)]
