"""The state of block-coordinate Frank-Wolfe, and what a representation of the blocks of z offers to it."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.objective import Objective
from structlearn.solvers.bcfw.lead import Lead, Pace
from structlearn.solvers.bcfw.rounds import Accumulators, Commit
from structlearn.solvers.solution import DualPoint, Solution


class BlockState(NamedTuple):
    """w = w(z) unless there is a lead. Arrays are changed in place, so that an interruption loses nothing."""

    w: Array
    #: scalars, see `structlearn.solvers.bcfw.totals`
    totals: Array
    #: what the weighted average of the iterates lags behind w, times T (T + 1) / 2; empty without averaging
    lag: Array
    #: weighted block gaps p_i g_i when last visited
    gaps: Array
    #: what is left of the current pass
    order: Array
    #: z in its representation; in a checkpoint, what that saves
    blocks: Representation
    pace: Pace
    oracle_calls: int = 0
    #: which of the passes that follow a full one this is; zero in a full one
    again: int = 0
    #: of the stochastic extragradient (see `stochastic`)
    lead: Lead | None = None

    @property
    def sums(self) -> Accumulators:
        return Accumulators(self.w, self.totals, self.lag, self.pace)


class BlockPoint(DualPoint, Protocol):
    """z by blocks."""

    def weights(self, objective: Objective) -> tuple[Array, float]:
        """Return w(z) and the cost of z, without accumulated rounding errors."""

    def dense_blocks(self, first: int, last: int) -> Array:
        """Return blocks first .. last - 1, end to end."""


class Representation(Protocol):
    """A dual point by blocks, with the steps in them; unless said otherwise, all passes are full ones."""

    #: whether the passes that follow a full one ask the oracle
    asks_again: ClassVar[bool] = True
    point: BlockPoint

    @classmethod
    def start(
        cls, objective: Objective, options: Any, warm: Solution | None
    ) -> tuple[Representation, Array, float]:
        """Return the first z, with w(z) and the cost of z; `options` are those of the solver."""

    @classmethod
    def restored(cls, objective: Objective, options: Any, saved: Any) -> Representation:
        """Return the blocks that were `saved`; ValueError if they are not those of this objective."""

    def saved(self) -> tuple[object, ...]:
        """Return what a checkpoint needs to know, as a record of arrays and plain values."""

    def visit(self, objective: Objective, state: BlockState, order: Array, own: Accumulators) -> Commit:
        """Visit distinct blocks at the w of `own`; then any fraction of their way can be committed."""

    def run(self, objective: Objective, state: BlockState, order: Array) -> None:
        """Visit each block of `order` once, by all threads."""

    def compile(self, objective: Objective, state: BlockState) -> None:
        """Compile what `advance` will need."""
        self.run(objective, state, objective.active[:0])

    def begin_pass(self, objective: Objective, order: Array, gaps: Array) -> None:
        """Get ready for a full pass; gaps : of all blocks, when last visited."""

    def advance(
        self, objective: Objective, state: BlockState, most: int, rng: np.random.Generator
    ) -> tuple[int, Array]:
        """Make at most `most` visits of the current pass; return their number, and what is left of it."""
        now, later = state.order[:most], state.order[most:]
        self.run(objective, state, now)
        return now.size, later

    def next_pass(self, objective: Objective, state: BlockState, rng: np.random.Generator) -> Array:
        """Return the pass that follows the one that has just ended; empty where a full one is due."""
        return state.order[:0]

    @property
    def repeats(self) -> int:
        """The number of passes over `draw_again` that may follow a full one."""
        return 0

    def draw_again(self, objective: Objective, gaps: Array, rng: np.random.Generator) -> Array:
        """Return the blocks worth another visit before the next full pass."""
        return objective.active[:0]
