"""The stochastic extragradient: block steps at scores that run ahead of w(z) (see `lead`).

It is the stochastic primal-dual hybrid gradient (Chambolle et al. 2018), the relative of the extragradient
that asks the oracle once a step, in each block's own metric ||Phi_i^T dz||, with the steps of
block-coordinate Frank-Wolfe inside a block. No theorem that we know covers all of this: what it finds is
certified by its gap.

The step tau balances what w and z have to travel: n tau is half of |w| over the square root of
sum_i p_i^2 ||Phi_i^T (mu_i - z_i)||^2, estimated after passes 1, 2, 4, ... P is taken at an average of the
scoring weights, D at z and at the average of z, of which w and the cost are enough. Averages begin anew when
the blocks' gaps have halved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from structlearn.core.contract import Array, scoring_workspace, squared_norm
from structlearn.core.kernels import kernel
from structlearn.problem.objective import Objective
from structlearn.solvers.bcfw.block_frank_wolfe import ActiveBlocks
from structlearn.solvers.bcfw.blocks import BlockPoint, BlockState
from structlearn.solvers.bcfw.lead import FIRST_GAP, SUM_COST, SUMMED, SWEEPS, Lead, SweepSums
from structlearn.solvers.bcfw.totals import COST, STEPS
from structlearn.solvers.solution import Solution
from structlearn.solvers.solver import Candidate

#: Of the step in a block that would be exact if w followed at once.
CAUTION = 0.9
#: tau of the first pass in units of 1 / (lambda n): for the hinge, and for smooth losses.
FIRST_PACE, FIRST_SMOOTH_PACE = 0.1, 1.0
#: The balance of what w and z have to travel.
BALANCE = 0.5
#: An average that spans more than this fraction of all sweeps begins anew.
LONGEST_AVERAGE = 0.36


@dataclass(frozen=True)
class StochasticExtragradient(ActiveBlocks):
    """Block steps at weights that follow w(z) and are extrapolated; its pace and restarts set themselves.

    Options are those of `ActiveBlocks`; cached passes bring less here, so that there are fewer.
    """

    cached_passes: int = 2
    accumulates: ClassVar[bool] = False

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> BlockState:
        state = super().start(objective, rng, warm)
        _travelled(objective, state.blocks.point)  # compiles
        d = objective.n_weights
        average = SweepSums(np.zeros(d), np.zeros(d), np.array([0.0, 0.0, 0.0, np.inf]))
        return state._replace(average=average)

    def _lead(self, objective: Objective) -> Lead:
        pace = FIRST_SMOOTH_PACE if objective.regularizer.smooth else FIRST_PACE
        lead = Lead(np.zeros(objective.n_weights), np.ones(1), 1.0, 1.0, 0.0)
        return _paced(objective, lead, pace / objective.regularization)

    def step(self, objective: Objective, state: BlockState, rng: np.random.Generator) -> BlockState:
        sweep = state.again
        state = super().step(objective, state, rng)
        if state.order.size and state.again == sweep:
            return state
        self._add(state)
        if state.order.size:
            return state
        passes = round(state.oracle_calls / objective.n_active)
        if passes & (passes - 1) == 0:
            state = state._replace(lead=self._balanced(objective, state, passes))
        return state

    def _add(self, state: BlockState) -> None:
        """The end of a sweep joins the average, or begins it anew."""
        gap = float(state.gaps.sum())
        weights, followed, scalars = _ahead(state)[1]
        halved = state.again == 0 and gap < 0.5 * scalars[FIRST_GAP]
        if halved or scalars[SUMMED] > LONGEST_AVERAGE * scalars[SWEEPS]:
            weights[:], followed[:] = 0.0, 0.0
            scalars[SUM_COST] = scalars[SUMMED] = 0.0
            scalars[FIRST_GAP] = gap
        weights += _scoring_weights(state)
        followed += state.w
        scalars[SUM_COST] += state.totals[COST]
        scalars[SUMMED] += 1.0
        scalars[SWEEPS] += 1.0

    def _balanced(self, objective: Objective, state: BlockState, passes: int) -> Lead:
        """The lead at a better pace."""
        lead, _ = _ahead(state)
        far = np.sqrt(_travelled(objective, state.blocks.point))
        long = float(np.linalg.norm(_scoring_weights(state)))
        if not (far > 0.0 and long > 0.0):
            return lead
        pace = BALANCE * long / far  # n tau
        if passes > 1:
            pace = np.sqrt(pace * CAUTION / lead.metric)
        return _paced(objective, lead, pace)

    def candidates(self, objective: Objective, state: BlockState) -> list[Candidate]:
        steps = state.totals[STEPS]
        dual = objective.dual(state.w, state.totals[COST], steps)
        norm = float(state.w @ state.w)
        weights, followed, scalars = _ahead(state)[1]
        summed = scalars[SUMMED]
        if not summed:
            return [Candidate(state.w, None, dual, norm)]
        v, cost = followed / summed, scalars[SUM_COST] / summed
        mean_dual = objective.dual(v, cost, steps + summed)
        if mean_dual.value > dual.value:
            dual, norm = mean_dual, float(v @ v)
        return [Candidate(weights / summed, None, dual, norm)]


def _paced(objective: Objective, lead: Lead, pace: float) -> Lead:
    """The lead with n tau = `pace`; Frank-Wolfe has 1 / lambda."""
    regularization, n = objective.regularization, objective.n_active
    shrink = 1.0 / (1.0 + regularization * pace / n)
    return lead._replace(shrink=shrink, metric=CAUTION / pace, rate=1.0 / regularization - pace)


def _ahead(state: BlockState) -> tuple[Lead, SweepSums]:
    """What this solver's states have (`start` and `restored` see to it)."""
    assert isinstance(state.lead, Lead) and state.average is not None  # noqa: S101, PT018
    return state.lead, state.average


def _scoring_weights(state: BlockState) -> Array:
    lead, _ = _ahead(state)
    return state.w + lead.scale[0] * lead.ahead


def _travelled(objective: Objective, point: BlockPoint) -> float:
    """sum_i p_i^2 ||Phi_i^T (mu_i - z_i)||^2."""
    scoring, total = objective.scoring.for_pass(sum_of_squares), 0.0
    for first, last in objective.scoring.chunks():
        delta = objective.gold_blocks(first, last) - point.dense_blocks(first, last)
        start = objective.point_start[first : last + 1]
        total += sum_of_squares(scoring, first, start, objective.weight, delta)
    return total


@kernel
def sum_of_squares(scoring: Any, first: Any, start: Any, weight: Any, delta: Any) -> Any:
    work = scoring_workspace(scoring)
    total = 0.0
    for k in range(start.size - 1):
        own = delta[start[k] - start[0] : start[k + 1] - start[0]]
        total += weight[first + k] ** 2 * squared_norm(scoring, first + k, own, work)
    return total
