"""The stochastic extragradient: block steps at scoring weights that run ahead of w(z) (see `lead`).

It is the stochastic primal-dual hybrid gradient (Chambolle et al. 2018), the relative of the extragradient
that asks the oracle once a step, in each block's own metric ||Phi_i^T dz||, with the steps of
block-coordinate Frank-Wolfe inside a block. No theorem that we know covers all of this: what it finds is
certified by its gap. Its step is estimated after passes 1, 2, 4, ... (see `led_weights`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from structlearn.core.contract import Array, scoring_workspace, squared_norm
from structlearn.core.kernels import kernel
from structlearn.problem.objective import Objective
from structlearn.problem.oracle import PARTS_DEALT
from structlearn.scoring.erased import ErasedScoring
from structlearn.solvers.bcfw.block_frank_wolfe import ActiveBlocks
from structlearn.solvers.bcfw.blocks import BlockPoint, BlockState
from structlearn.solvers.bcfw.lead import Lead
from structlearn.solvers.bcfw.led_weights import LedWeights
from structlearn.solvers.bcfw.totals import COST, STEPS
from structlearn.solvers.registry import NONNEGATIVE
from structlearn.solvers.solution import DualPoint, Solution
from structlearn.solvers.solver import Candidate

#: n tau of the first pass in units of 1 / lambda: for the hinge, and for smooth losses.
FIRST_PACE, FIRST_SMOOTH_PACE = 0.1, 1.0
#: The balance of what w and z have to travel: for the hinge, and for smooth losses.
BALANCE, SMOOTH_BALANCE = 0.5, 0.3


@dataclass(frozen=True)
class StochasticExtragradient(ActiveBlocks):
    """Block steps at weights that follow w(z) and are extrapolated; its pace and restarts set themselves.

    The options are those of `ActiveBlocks`; cached passes help less here, so there are fewer of them.

    Parameters
    ----------
    follows : int
        How often in a pass the scoring weights follow w(z), at most.
    """

    cached_passes: int = 2
    follows: int = 2
    accumulates: ClassVar[bool] = False
    leads: ClassVar[bool] = True
    penalties: ClassVar[tuple[str, ...]] = ("l2", "elasticnet", NONNEGATIVE)
    not_options: ClassVar[frozenset[str]] = frozenset({"order", "averaging"})

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> BlockState:
        state = super().start(objective, rng, warm)
        state = state._replace(lead=Lead.of(objective.n_weights))
        _travel_of(objective, state.blocks.point, (0, 1))  # compiles
        pace = first_pace(objective.regularizer.smooth) / objective.regularization
        return state._replace(pace=weights_with_lead(objective, state).set_pace(pace, left=0.0))

    def _visits_at_once(self, objective: Objective) -> int:
        return min(self.examples_at_once, -(-objective.n_active // self.follows))

    def step(self, objective: Objective, state: BlockState, rng: np.random.Generator) -> BlockState:
        sweep, visits = state.again, -state.totals[STEPS]
        state = super().step(objective, state, rng)
        weights = weights_with_lead(objective, state)
        weights.follow(visits + state.totals[STEPS])
        if state.order.size and state.again == sweep:
            return state
        weights.join(state.totals[COST], float(state.gaps.sum()), full=state.again == 0)
        passes = round(state.oracle_calls / objective.n_active)
        if state.order.size or not is_estimated_after(passes):
            return state
        far = squared_travel(objective, state.blocks.point)
        return state._replace(pace=weights.balance_pace(far, balance(objective.regularizer.smooth), passes))

    def candidates(self, objective: Objective, state: BlockState) -> list[Candidate]:
        weights = weights_with_lead(objective, state)
        dual = weights.dual(state.totals[COST], state.totals[STEPS])
        return [Candidate(weights.certified_weights, None, *dual, weights.ahead)]

    def settle(self, objective: Objective, state: BlockState) -> tuple[BlockState, DualPoint]:
        v, state.totals[COST] = state.blocks.point.weights(objective)
        weights_with_lead(objective, state).anchor_at(v)
        return state._replace(order=state.order[:0], again=0), state.blocks.point


def weights_with_lead(objective: Objective, state: BlockState) -> LedWeights:
    """Return the weights of this solver's states, which have a lead (`start` and `restored` see to it)."""
    assert state.lead is not None  # noqa: S101
    return LedWeights(objective, state.w, state.lead, state.pace)


def first_pace(smooth: bool) -> float:
    return FIRST_SMOOTH_PACE if smooth else FIRST_PACE


def balance(smooth: bool) -> float:
    return SMOOTH_BALANCE if smooth else BALANCE


def is_estimated_after(passes: int) -> bool:
    """Return whether the pace is estimated anew: after passes 1, 2, 4, ..."""
    return passes & (passes - 1) == 0


def squared_travel(objective: Objective, point: BlockPoint) -> float:
    """Return sum_i p_i^2 ||Phi_i^T (mu_i - z_i)||^2."""
    return sum(objective.oracle.all_chunks(partial(_travel_of, objective, point), PARTS_DEALT))


def _travel_of(objective: Objective, point: BlockPoint, chunk: tuple[int, int]) -> float:
    """Return the same sum over a range of examples."""
    first, last = chunk
    delta = objective.gold_blocks(first, last) - point.dense_blocks(first, last)
    start = objective.point_start[first : last + 1]
    scoring = objective.scoring.for_pass(sum_of_squares)
    return float(sum_of_squares(scoring, first, start, objective.weight, delta))


@kernel
def sum_of_squares(scoring: ErasedScoring, first: int, start: Array, weight: Array, delta: Array) -> float:
    work = scoring_workspace(scoring)
    total = 0.0
    for k in range(start.size - 1):
        own = delta[start[k] - start[0] : start[k + 1] - start[0]]
        total += weight[first + k] ** 2 * squared_norm(scoring, first + k, own, work)
    return total
