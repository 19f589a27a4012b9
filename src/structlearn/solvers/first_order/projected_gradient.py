"""Projected gradient ascent on the dual of the hinge: every block steps along its scores and is projected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.objective import Objective, best_step
from structlearn.problem.oracle import Oracle
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate, SolverBase
from structlearn.structures.regularized import Quadratic


class ProjectedState(NamedTuple):
    """A dual point with its weights and cost, and the length of the next step."""

    z: Array
    w: Array
    cost: float
    eta: float
    oracle_calls: int


@dataclass(frozen=True)
class ProjectedGradient(SolverBase[ProjectedState]):
    """z <- z + gamma (project(z + eta (theta + c)) - z).

    gamma is the exact line search, so that the dual never decreases; eta follows Barzilai and Borwein (1988),
    in the metric of the example weights: sum_i p_i ||dz_i||^2 / (lambda ||dw||^2). For structures without
    shared parts.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"regularization", "hinge", "local parts"})
    accumulates: ClassVar[bool] = True

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> ProjectedState:
        z, w, cost = objective.gold_point(), np.zeros(objective.n_weights), 0.0
        if warm is not None and warm.point is not None:
            w, cost = objective.weights_of(np.asarray(warm.point))
            fraction = objective.best_fraction(w, cost)
            z, w, cost = z + fraction * (np.asarray(warm.point) - z), fraction * w, fraction * cost
        return ProjectedState(z, w, cost, 1.0, 0)

    def step(self, objective: Objective, state: ProjectedState, rng: np.random.Generator) -> ProjectedState:
        lam = objective.regularization
        target = self._project(objective, state)
        w, cost = objective.weights_of(target)
        away = state.w - w
        slope = lam * float(state.w @ away) + cost - state.cost
        curvature = lam * float(away @ away)
        gamma = best_step(slope, curvature)
        moved = target - state.z
        sizes = np.diff(objective.scoring.start)
        travel = float(np.repeat(objective.weight, sizes) @ (moved * moved))
        eta = travel / curvature if curvature > 0 and travel > 0 else 2 * state.eta
        return ProjectedState(
            state.z + gamma * moved,
            state.w - gamma * away,
            state.cost + gamma * (cost - state.cost),
            eta,
            state.oracle_calls + objective.n_active,
        )

    @staticmethod
    def _project(objective: Objective, state: ProjectedState) -> Array:
        """Return project(z_i + eta (theta_i + c_i)) of every example."""
        structure, n_jobs = objective.structure, objective.oracle.n_jobs
        record = Quadratic(structure.record)
        oracle = Oracle(record, objective.scoring, structure=structure, n_jobs=n_jobs)
        ones = np.ones(objective.scoring.n_examples)
        scores = state.z + state.eta * objective.cost
        return np.concatenate([one.vertices for one in oracle.maximizers(state.eta * state.w, scores, ones)])

    def candidates(self, objective: Objective, state: ProjectedState) -> list[Candidate]:
        dual = objective.dual(state.w, state.cost)
        return [Candidate(state.w, dual=dual, dual_norm=float(state.w @ state.w))]

    def settle(self, objective: Objective, state: ProjectedState) -> tuple[ProjectedState, Array]:
        w, cost = objective.weights_of(state.z)
        return state._replace(w=w, cost=cost), state.z
