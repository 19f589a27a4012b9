"""Blocks of a dense z over which the dual is maximised exactly, with shrinking.

Most blocks soon rest at a vertex. A full pass finds those that do not; rounds over these *active* blocks
alone follow (the shrinking of Hsieh et al. and Keerthi et al. 2008). A block is shrunk when a visit finds
no gap, and the next full pass takes it up again where that was wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.objective import Objective
from structlearn.solvers.bcfw.blocks import BlockState
from structlearn.solvers.bcfw.dense import DenseBlocks
from structlearn.solvers.bcfw.dense_point import DensePoint
from structlearn.solvers.bcfw.exact_pass import exact_pass
from structlearn.solvers.bcfw.rounds import Accumulators, is_mostly_sums

if TYPE_CHECKING:
    from typing import Self

    from structlearn.solvers.bcfw.block_frank_wolfe import BlockFrankWolfe

#: Rounds are worth it where at most this fraction of the blocks is active.
FEW_ACTIVE = 0.5
#: The rounds end when the active blocks' gaps are this fraction of what the full pass saw.
ENOUGH = 0.1
#: Passes over active blocks between two full ones, where each of them is a pass of its own.
MOST_REPEATS = 10
#: Limits of `exact_pass`: the most visits, the gap at which it ends, and the seed of the order.
Limits: TypeAlias = tuple[int, float, int]


class SavedExact(NamedTuple):
    """Exact blocks as a checkpoint holds them."""

    z: Array
    h: Array
    goal: float
    left: int


class ExactDenseBlocks(DenseBlocks):
    """z as one vector, whose blocks are projections.

    Attributes
    ----------
    steep : ndarray of shape (n_examples,)
        p ||x_i||^2 of each block.
    goal : float
        The gap of the active blocks at which the rounds over them end.
    left : int
        Visits that these may still take.
    """

    least_visits: ClassVar[int] = 1024

    def __init__(self, objective: Objective, options: BlockFrankWolfe, point: DensePoint) -> None:
        super().__init__(objective, options, point)
        self.steep = steepness(objective)
        self.goal, self.left = 0.0, 0

    @classmethod
    def restored(cls, objective: Objective, options: BlockFrankWolfe, saved: Any) -> Self:
        blocks = super().restored(objective, options, saved)
        blocks.goal, blocks.left = float(saved.goal), int(saved.left)
        return blocks

    def saved(self) -> tuple[object, ...]:
        return SavedExact(self.point.z, self.point.h, self.goal, self.left)

    @property
    def repeats(self) -> int:
        return MOST_REPEATS if self.options.focus else 0

    def advance(
        self, objective: Objective, state: BlockState, most: int, rng: np.random.Generator
    ) -> tuple[int, Array]:
        """Run a piece of a full pass, or of the rounds that follow it; it ends where a whole pass does."""
        most = min(most, objective.n_active - state.oracle_calls % objective.n_active)
        if not state.again:
            return super().advance(objective, state, most, rng)
        seed = int(rng.integers(1 << 62))
        visits, active = self._run_active(objective, state, min(most, self.left), seed)
        self.left -= visits
        return visits, active if self.left else active[:0]

    def next_pass(self, objective: Objective, state: BlockState, rng: np.random.Generator) -> Array:
        if state.again:
            return state.order[:0]
        active, self.goal = active_blocks(objective.active, state.gaps, rng)
        self.left = int(self.options.focus * objective.n_active)
        return active if self.left else active[:0]

    def draw_again(self, objective: Objective, gaps: Array, rng: np.random.Generator) -> Array:
        return active_blocks(objective.active, gaps, rng)[0]

    def _run_active(self, objective: Objective, state: BlockState, most: int, seed: int) -> tuple[int, Array]:
        """Make at most `most` visits to active blocks; return their number, and what is active after them.

        Several threads go over them once, sharing out what is worth it.
        """
        active = state.order
        few = active.size < self.least_visits * objective.n_jobs
        if objective.n_jobs == 1 or few or is_mostly_sums(objective, self.least_visits):
            limits = most, self.goal, seed
            visits, n_active = self._maximize(objective, state, active, state.sums, limits)
            return visits, active[:n_active]
        now, later = active[:most], active[most:]
        self.run(objective, state, now)
        found = now[state.gaps[now] > 0.0]
        if not later.size and float(state.gaps[found].sum()) <= self.goal:
            return now.size, now[:0]
        return now.size, np.concatenate([later, np.random.default_rng(seed).permutation(found)])

    def _pass(self, objective: Objective, state: BlockState, order: Array, own: Accumulators) -> None:
        self._maximize(objective, state, order.copy(), own, (order.size, np.inf, 0))

    def _maximize(
        self, objective: Objective, state: BlockState, order: Array, own: Accumulators, limits: Limits
    ) -> tuple[int, int]:
        """Run `exact_pass`, one round unless the goal is finite; return visits and blocks left active."""
        problem = objective.blocks, self.steep
        point = self.point.z, self.point.h, state.gaps
        return objective.run_pass(exact_pass, problem, order, limits, own, point)


def steepness(objective: Objective) -> Array:
    """Return p ||x_i||^2 of each block, which is that of any of its parts."""
    scoring, start = objective.scoring, objective.scoring.start
    norms = [scoring.part_norms(a, b)[start[a:b] - start[a]] for a, b in scoring.chunks()]
    return objective.weight * np.concatenate(norms) ** 2


def active_blocks(blocks: Array, gaps: Array, rng: np.random.Generator) -> tuple[Array, float]:
    """Return blocks that had a gap in a full pass, if few, in random order, and the gap to bring them to."""
    seen = gaps[blocks]
    active = rng.permutation(blocks[seen > 0.0])
    if active.size > FEW_ACTIVE * blocks.size:
        return active[:0], 0.0
    return active, ENOUGH * float(seen.sum())
