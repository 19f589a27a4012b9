"""The stochastic extragradient: block steps at scoring weights that run ahead of w(z) (see `lead`).

It is the stochastic primal-dual hybrid gradient (Chambolle et al. 2018), the relative of the extragradient
that asks the oracle once a step, in each block's own metric ||Phi_i^T dz||, with the steps of
block-coordinate Frank-Wolfe inside a block. No theorem that we know covers all of this: what it finds is
certified by its gap.

The step tau balances what w and z have to travel: n tau is a fraction of |w| over the square root of
sum_i p_i^2 ||Phi_i^T (mu_i - z_i)||^2, estimated after passes 1, 2, 4, ... P is taken at an average of the
scoring weights, D at z and at the average of z, of which w and the cost are enough. Averages begin anew when
the blocks' gaps have halved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from structlearn.core.contract import Array, scoring_workspace, squared_norm
from structlearn.core.kernels import kernel
from structlearn.problem.objective import Objective
from structlearn.problem.oracle import PARTS_DEALT
from structlearn.problem.penalties import threshold
from structlearn.solvers.bcfw.block_frank_wolfe import ActiveBlocks
from structlearn.solvers.bcfw.blocks import BlockPoint, BlockState
from structlearn.solvers.bcfw.lead import (
    FIRST_GAP,
    FOLLOWED,
    MEAN_COST,
    MEANT,
    SWEEPS,
    Lead,
    Pace,
    follow,
    join_means,
    squares,
)
from structlearn.solvers.bcfw.totals import COST, STEPS
from structlearn.solvers.solution import DualPoint, Solution
from structlearn.solvers.solver import Candidate

#: Of the step in a block that would be exact if w followed at once.
CAUTION = 0.9
#: n tau of the first pass in units of 1 / lambda: for the hinge, and for smooth losses.
FIRST_PACE, FIRST_SMOOTH_PACE = 0.1, 1.0
#: The balance of what w and z have to travel: for the hinge, and for smooth losses.
BALANCE, SMOOTH_BALANCE = 0.5, 0.3
#: Weights of which each thread has so many at least.
WEIGHTS_SHARED = 1 << 18
#: An average that spans more than this fraction of all sweeps begins anew.
LONGEST_AVERAGE = 0.36


@dataclass(frozen=True)
class StochasticExtragradient(ActiveBlocks):
    """Block steps at weights that follow w(z) and are extrapolated; its pace and restarts set themselves.

    Options are those of `ActiveBlocks`; cached passes bring less here, so that there are fewer.

    Parameters
    ----------
    follows : int
        How often in a pass the scoring weights follow w(z), at most.
    """

    cached_passes: int = 2
    follows: int = 2
    accumulates: ClassVar[bool] = False
    leads: ClassVar[bool] = True
    penalties: ClassVar[tuple[str, ...]] = ("l2", "elasticnet")

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> BlockState:
        state = super().start(objective, rng, warm)
        state = state._replace(lead=Lead.of(objective.n_weights))
        _travelled(objective, state.blocks.point)  # compiles
        pace = FIRST_SMOOTH_PACE if objective.regularizer.smooth else FIRST_PACE
        return _paced(objective, state, pace / objective.regularization, left=0.0)

    def _visits_at_once(self, objective: Objective) -> int:
        return min(self.examples_at_once, -(-objective.n_active // self.follows))

    def step(self, objective: Objective, state: BlockState, rng: np.random.Generator) -> BlockState:
        sweep, visits = state.again, -state.totals[STEPS]
        state = super().step(objective, state, rng)
        _follow(objective, state, visits + state.totals[STEPS])
        if state.order.size and state.again == sweep:
            return state
        self._add(objective, state)
        if state.order.size:
            return state
        passes = round(state.oracle_calls / objective.n_active)
        return self._balanced(objective, state, passes) if passes & (passes - 1) == 0 else state

    def _add(self, objective: Objective, state: BlockState) -> None:
        """The end of a sweep joins the average, or begins it anew."""
        lead, gap = _lead(state), float(state.gaps.sum())
        scalars = lead.scalars
        halved = state.again == 0 and gap < 0.5 * scalars[FIRST_GAP]
        if halved or scalars[MEANT] > LONGEST_AVERAGE * scalars[SWEEPS]:
            scalars[MEANT], scalars[FIRST_GAP] = 0.0, gap
        scalars[[MEANT, SWEEPS]] += 1.0
        share = 1.0 / scalars[MEANT]
        scalars[MEAN_COST] = (1.0 - share) * scalars[MEAN_COST] + share * state.totals[COST]
        ratio = _ratio(objective, state.pace)
        _by_ranges(
            objective,
            lambda w, anchor, mean, followed: join_means(w, anchor, mean, followed, ratio, share),
            *(state.w, lead.anchor, lead.weights, lead.followed),
        )

    def _balanced(self, objective: Objective, state: BlockState, passes: int) -> BlockState:
        """The state at a better pace."""
        far = np.sqrt(_travelled(objective, state.blocks.point))
        long = float(np.linalg.norm(state.w))
        if not (far > 0.0 and long > 0.0):
            return state
        balance = SMOOTH_BALANCE if objective.regularizer.smooth else BALANCE
        pace = balance * long / far  # n tau
        if passes > 1:
            pace = np.sqrt(pace / state.pace.strength)
        return _paced(objective, state, float(f"{pace:.3g}"))  # the order of sums shall not show

    def candidates(self, objective: Objective, state: BlockState) -> list[Candidate]:
        lead, ratio = _lead(state), _ratio(objective, state.pace)
        limit = threshold(objective.penalty)
        square, whole = _squares(objective, state.w, lead.anchor, ratio, limit)
        points = [(square, state.totals[COST], _roundings(state, ratio, square, whole))]
        meant, w = lead.scalars[MEANT], state.w
        if meant:
            w = lead.weights
            mean, whole = _squares(objective, lead.followed, lead.followed, 0.0, limit)
            roundings = _roundings(state, ratio, mean, whole, 3.0 * meant)
            points.append((mean, lead.scalars[MEAN_COST], roundings))
        bounds = [
            (objective.magnitude.lower_bound(square, cost, objective.regularization, steps), square)
            for square, cost, steps in points
        ]
        return [Candidate(w, None, *max(bounds))]

    def settle(self, objective: Objective, state: BlockState) -> tuple[BlockState, DualPoint]:
        v, state.totals[COST] = state.blocks.point.weights(objective)
        _lead(state).anchor[:] = v - _ratio(objective, state.pace) * state.w
        return state._replace(order=state.order[:0], again=0), state.blocks.point


def _paced(objective: Objective, state: BlockState, pace: float, left: float = 1.0) -> BlockState:
    """The state with n tau = `pace`; Frank-Wolfe has 1 / lambda. Unless all is left, w follows w(z)."""
    changed = Pace(1.0 / pace, CAUTION / pace)
    now, then = _ratio(objective, state.pace), _ratio(objective, changed)
    _towards(objective, state, now, left, then)
    return state._replace(pace=changed)


def _lead(state: BlockState) -> Lead:
    """What this solver's states have (`start` and `restored` see to it)."""
    assert state.lead is not None  # noqa: S101
    return state.lead


def _ratio(objective: Objective, pace: Pace) -> float:
    """1 / (lambda n tau)."""
    return pace.strength / float(objective.regularization)


def w_of_z(objective: Objective, state: BlockState) -> Array:
    """v."""
    return _lead(state).anchor + _ratio(objective, state.pace) * state.w


def _follow(objective: Objective, state: BlockState, visits: float) -> None:
    """The scoring weights follow w(z) after so many visits."""
    ratio = _ratio(objective, state.pace)
    left = (1.0 + 1.0 / (ratio * objective.n_active)) ** -visits
    _towards(objective, state, ratio, left, ratio)
    _lead(state).scalars[FOLLOWED] += 1.0


def _towards(objective: Objective, state: BlockState, ratio: float, left: float, then: float) -> None:
    """See `follow`."""
    limit = threshold(objective.penalty)
    moves = (state.w, _lead(state).anchor)
    _by_ranges(objective, lambda w, anchor: follow(w, anchor, ratio, left, then, limit), *moves)


def _by_ranges(objective: Objective, work: Callable[..., None], *vectors: Array) -> None:
    """`work` of the same ranges of all vectors, by all threads where they are long."""

    def part(first: int, last: int) -> None:
        work(*(one[first:last] for one in vectors))

    objective.team.share_out(objective.n_weights, part, WEIGHTS_SHARED)


def _squares(
    objective: Objective, w: Array, anchor: Array, ratio: float, limit: float
) -> tuple[float, float]:
    """See `squares`; the order of sums does not depend on the number of threads."""
    firsts = range(0, w.size, WEIGHTS_SHARED)
    ranges = [slice(first, first + WEIGHTS_SHARED) for first in firsts]
    found = objective.team.deal(lambda some: squares(w[some], anchor[some], ratio, limit), ranges)
    return sum(one for one, _ in found), sum(whole for _, whole in found)


def _roundings(state: BlockState, ratio: float, square: float, whole: float, means: float = 0.0) -> float:
    """How many roundings of v there may have been, in units of the length of w(z), the root of `square`.

    `whole` is ||v||^2; roundings of w are magnified.
    """
    times = float(state.totals[STEPS] + 4.0 * _lead(state).scalars[FOLLOWED] + 4.0)
    longer = np.sqrt(whole) * (times + means) + ratio * float(np.linalg.norm(state.w)) * times
    return float(longer / np.sqrt(square)) if square > 0.0 else times


def _travelled(objective: Objective, point: BlockPoint) -> float:
    """sum_i p_i^2 ||Phi_i^T (mu_i - z_i)||^2."""

    def one(chunk: tuple[int, int]) -> float:
        first, last = chunk
        delta = objective.gold_blocks(first, last) - point.dense_blocks(first, last)
        start = objective.point_start[first : last + 1]
        scoring = objective.scoring.for_pass(sum_of_squares)
        return float(sum_of_squares(scoring, first, start, objective.weight, delta))

    return sum(objective.oracle.all_chunks(one, PARTS_DEALT))


@kernel
def sum_of_squares(scoring: Any, first: Any, start: Any, weight: Any, delta: Any) -> Any:
    work = scoring_workspace(scoring)
    total = 0.0
    for k in range(start.size - 1):
        own = delta[start[k] - start[0] : start[k + 1] - start[0]]
        total += weight[first + k] ** 2 * squared_norm(scoring, first + k, own, work)
    return total
