"""Cutting planes with one slack variable (Joachims, Finley and Yu 2009), stabilised.

The oracle's answers at any w bound the mean loss from below by a plane: loss(v) >= cost - <v, u> for every
v. The master problem minimises lambda/2 ||v||^2 plus the largest plane; its dual mixes answers, so its value
is a dual value of the whole problem. With a smooth Omega the same holds (the cost of a mixture is at least
the mixture of the costs): the bundle method of Teo et al. 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.rounding import Bound
from structlearn.problem.objective import Objective, Predictions
from structlearn.solvers.cutting_plane.master import idle_for, mixture_of_gram
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate, Progress, SolverBase

SAME = 1e-14  # relative squared distance of planes that differ by rounding


class Planes(NamedTuple):
    """Loss(v) >= cost_k - <v, pull_k>."""

    dual_maps: tuple[Array, ...] = ()
    cost: Array = np.empty(0)
    #: <pull_k, pull_l>
    gram: Array = np.empty((0, 0))
    #: how many masters in a row gave the plane no weight
    idle: Array = np.empty(0, dtype=np.int64)

    def add(self, dual_map: Array, cost: float) -> Planes:
        """Return the planes with one more, unless it is there already."""
        products = np.array([dual_map @ one for one in (*self.dual_maps, dual_map)])
        square = products[-1]
        distance = np.diag(self.gram) - 2 * products[:-1] + square
        if ((distance <= SAME * square) & (np.abs(self.cost - cost) <= SAME)).any():
            return self
        gram = np.pad(self.gram, (0, 1))
        gram[-1] = gram[:, -1] = products
        return Planes((*self.dual_maps, dual_map), np.append(self.cost, cost), gram, np.append(self.idle, 0))

    def forget(self, alpha: Array, after: int) -> Planes:
        """Return the planes without those that have been idle `after` times."""
        idle = idle_for(self.idle, alpha)
        kept = np.flatnonzero(idle < after)
        dual_maps = tuple(self.dual_maps[k] for k in kept)
        return Planes(dual_maps, self.cost[kept], self.gram[np.ix_(kept, kept)], idle[kept])


class Mixture(NamedTuple):
    """The solution of a master problem."""

    alpha: Array
    w: Array
    #: D of the mixture of answers
    dual: Bound


class CuttingPlaneState(NamedTuple):
    """The weights last asked about, the best ones so far, the planes and the best bound they gave."""

    w: Array
    here: Predictions
    best: Array
    best_primal: float
    planes: Planes
    dual: Bound
    oracle_calls: int


@dataclass(frozen=True)
class CuttingPlane(SolverBase[CuttingPlaneState]):
    """Add the plane at w; w <- best + share (master's minimiser - best).

    Each plane is a dense vector of the size of w, and up to some hundred are kept: with millions of weights
    use `BlockFrankWolfe`.

    Parameters
    ----------
    share : float
        How far from the best weights so far towards the master's minimiser to ask next, above 0. At 1 this is
        the classical method, whose minimisers jump about; the rest stays nearer, as the line search of OCAS
        (Franc and Sonnenburg 2009) does for the binary hinge, but needs nothing of the structure.
    forget_after : int
        Remove planes that had no weight in this many master problems in a row.
    """

    share: float = 0.2
    forget_after: int = 20
    needs: ClassVar[frozenset[str]] = frozenset({"regularization"})
    resumes: ClassVar[bool] = True

    def start(
        self, objective: Objective, rng: np.random.Generator, warm: Solution | None
    ) -> CuttingPlaneState:
        if warm is not None and isinstance(warm.state, CuttingPlaneState):
            return warm.state._replace(oracle_calls=0)
        w = np.zeros(objective.n_weights) if warm is None else warm.w.copy()
        planes, dual = self._first_planes(objective, warm)
        here = objective.predictions(w)
        return CuttingPlaneState(w, here, w, here.primal, planes, dual, 0)

    @staticmethod
    def _first_planes(objective: Objective, warm: Solution | None) -> tuple[Planes, Bound]:
        """Return the plane of a warm start's dual point; only the hinge knows its cost from z alone."""
        if warm is None or warm.z is None or objective.regularizer.smooth:
            return Planes(), Bound(0.0)
        w, cost = objective.weights_of(warm.z)
        planes = Planes().add(objective.regularization * w, cost)
        return planes, solve_master(objective, planes).dual

    def step(
        self, objective: Objective, state: CuttingPlaneState, rng: np.random.Generator
    ) -> CuttingPlaneState:
        planes = state.planes.add(state.here.dual_map, state.here.cost)
        master = solve_master(objective, planes)
        w = state.best + self.share * (master.w - state.best)
        here = objective.predictions(w)
        better = here.primal < state.best_primal
        return CuttingPlaneState(
            w,
            here,
            w if better else state.best,
            here.primal if better else state.best_primal,
            planes.forget(master.alpha, self.forget_after),
            max(master.dual, state.dual),
            state.oracle_calls + objective.n_active,
        )

    def progress(self, state: CuttingPlaneState) -> Progress:
        return Progress(state.oracle_calls, state.best_primal - state.dual.value)

    def candidates(self, objective: Objective, state: CuttingPlaneState) -> list[Candidate]:
        return [Candidate(state.best, state.best_primal, state.dual)]


def solve_master(objective: Objective, planes: Planes) -> Mixture:
    """Return the best mixture of the planes, its weights and its dual value."""
    alpha = mixture_of_gram(planes.gram / objective.regularization, planes.cost)
    w = np.zeros(objective.n_weights)
    for fraction, dual_map in zip(alpha, planes.dual_maps):
        w += fraction / objective.regularization * dual_map
    return Mixture(alpha, w, objective.dual(w, float(alpha @ planes.cost)))
