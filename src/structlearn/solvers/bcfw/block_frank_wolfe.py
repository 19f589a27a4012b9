"""Block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013): one driver for every representation of z.

With a smooth Omega the same pass is stochastic dual coordinate ascent (Shalev-Shwartz and Zhang 2013; for
CRFs Le Priol et al. 2018): the vertex becomes the marginals or the projection.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.objective import Objective
from structlearn.solvers.bcfw.active import ActiveSetBlocks
from structlearn.solvers.bcfw.active_steps import Steps
from structlearn.solvers.bcfw.blocks import BlockState, Representation
from structlearn.solvers.bcfw.dense import DenseBlocks
from structlearn.solvers.bcfw.exact import ExactDenseBlocks
from structlearn.solvers.bcfw.lead import Pace
from structlearn.solvers.bcfw.orders import Order, Permutation
from structlearn.solvers.bcfw.saved_blocks import check_state
from structlearn.solvers.bcfw.totals import COST, LAG_COST, STEPS
from structlearn.solvers.needs import check_needs
from structlearn.solvers.solution import DualPoint, Solution
from structlearn.solvers.solver import Candidate, Progress, SolverBase


@dataclass(frozen=True)
class BlockFrankWolfe(SolverBase[BlockState]):
    """For one block at a time, a step towards the oracle's vertex, with the exact step length.

    Parameters
    ----------
    order : Order
        Which blocks a pass visits: `Permutation()`, `Uniform()` or `GapSampling()`; by name "permutation",
        "uniform" or "gap".
    averaging : bool
        Whether to certify, beside the iterates, their average weighted by 1, 2, 3, ...
    exact : bool
        Whether to maximise over each block exactly where that is a projection (multiclass problems).
    focus : float
        With exact steps, how many passes' worth of visits may follow each full pass to go to blocks that had
        a gap when last visited, alone; 0 makes every pass a full one.
    smoothing : float, optional
        With the entropy, how far from the gold vertex, where its slope is infinite, towards uniform z starts;
        unless given, as far as is best for the dual, which is then positive from the start.
    examples_at_once : int
        How many examples one compiled call visits; time limits and Ctrl-C act between calls.
    rounds : int
        With several threads, how often a pass joins what they have done.
    """

    order: Order = field(default_factory=Permutation)
    averaging: bool = False
    exact: bool = True
    focus: float = 8.0
    smoothing: float | None = None
    examples_at_once: int = 16384
    rounds: int = 80
    needs: ClassVar[frozenset[str]] = frozenset({"regularization"})
    accumulates: ClassVar[bool] = True
    #: whether states have a lead
    leads: ClassVar[bool] = False

    def _representation(self, objective: Objective) -> type[Representation]:
        """Choose how z is kept, where a run starts or goes on."""
        return ExactDenseBlocks if self.exact and objective.has_exact_blocks else DenseBlocks

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> BlockState:
        blocks, w, cost = self._representation(objective).start(objective, self, warm)
        gaps = np.zeros(objective.scoring.n_examples)
        gaps[objective.active] = np.inf
        totals, lag = np.array([cost, 0.0, 0.0, 0.0]), np.zeros(w.size if self.averaging else 0)
        pace = Pace.of_frank_wolfe(objective.regularization)
        state = BlockState(w, totals, lag, gaps, objective.active[:0], blocks, pace)
        blocks.compile(objective, state)
        return state

    def saved(self, objective: Objective, state: BlockState) -> BlockState:
        return state._replace(blocks=state.blocks.saved())  # type: ignore[arg-type]

    def restored(self, objective: Objective, saved: BlockState) -> BlockState:
        """Return the state as it was, checked; compile what `step` needs."""
        check_state(objective, saved)
        if (saved.lead is not None) != self.leads:
            raise ValueError("The checkpoint belongs to another solver; begin afresh.")
        blocks = self._representation(objective).restored(objective, self, saved.blocks)
        state = saved._replace(blocks=blocks)
        blocks.compile(objective, state)
        return state

    def draw(self, objective: Objective, state: BlockState, rng: np.random.Generator) -> Array:
        """Draw the blocks of a full pass, and make them ready for it."""
        order = self.order.draw(rng, objective.active, state.gaps)
        state.blocks.begin_pass(objective, order, state.gaps)
        return order

    def _visits_at_once(self, objective: Objective) -> int:
        return self.examples_at_once

    def step(self, objective: Objective, state: BlockState, rng: np.random.Generator) -> BlockState:
        blocks = state.blocks
        if not state.order.size:
            state = state._replace(order=self.draw(objective, state, rng))
        visits, later = blocks.advance(objective, state, self._visits_at_once(objective), rng)
        calls = 0 if state.again and not blocks.asks_again else visits
        state = state._replace(order=later, oracle_calls=state.oracle_calls + calls)
        if later.size:
            return state
        order = blocks.next_pass(objective, state, rng)
        return state._replace(order=order, again=state.again + 1 if order.size else 0)

    def progress(self, state: BlockState) -> Progress:
        whole = state.again or not state.order.size
        estimate = float(np.maximum(state.gaps, 0.0).sum()) if whole else np.inf
        pending = state.again > 0 and not state.blocks.asks_again
        return Progress(state.oracle_calls, estimate, pending=pending)

    def candidates(self, objective: Objective, state: BlockState) -> list[Candidate]:
        pairs = [(state.w, state.totals[COST])]
        steps = state.totals[STEPS]
        if self.averaging and steps:
            scale = 2.0 / (steps * (steps + 1))
            w = state.w - scale * state.lag
            pairs.append((w, state.totals[COST] - scale * state.totals[LAG_COST]))
        return [Candidate(w, None, objective.dual(w, cost, steps), float(w @ w)) for w, cost in pairs]

    def settle(self, objective: Objective, state: BlockState) -> tuple[BlockState, DualPoint]:
        """Compute w and the cost afresh from z: no drift of rounding, no half-made step."""
        w, state.totals[COST] = state.blocks.point.weights(objective)
        return state._replace(w=w, order=state.order[:0], again=0), state.blocks.point


@dataclass(frozen=True)
class ActiveBlocks(BlockFrankWolfe):
    """Block-coordinate Frank-Wolfe with z as mixtures of few vertices; the default for the hinge.

    Smooth losses, and blocks that are maximised exactly, keep z dense (see `BlockFrankWolfe`).

    Parameters
    ----------
    steps : Steps
        Directions of the steps among the vertices seen so far: `Steps.PAIRWISE`, `Steps.AWAY` or
        `Steps.PLAIN`; by name "pairwise", "away" or "plain".
    inner_steps : int
        At most how many of these steps follow an oracle call.
    inner_accuracy : float
        They end when the gap among these vertices is at most this fraction of the block's gap.
    cached_passes : int
        At most how many passes without the oracle follow each pass with it.
    cached_accuracy : float
        They end when one has seen at most this fraction of the gap that the pass with the oracle saw.
    forget_after : int
        Passes after which a vertex without weight is forgotten.
    rounds : int
        With several threads, at most how often a pass joins what they have done.
    most_atoms : int
        At most how many vertices a block keeps; a full block mixes its lightest two to take in another.
    """

    steps: Steps = Steps.PAIRWISE
    inner_steps: int = 10
    inner_accuracy: float = 0.1
    cached_passes: int = 8
    cached_accuracy: float = 0.1
    forget_after: int = 3
    most_atoms: int = 256
    rounds: int = 1000
    not_options: ClassVar[frozenset[str]] = frozenset({"smoothing"})

    def _representation(self, objective: Objective) -> type[Representation]:
        for name, least in (("most_atoms", 2), ("inner_steps", 1), ("cached_passes", 0), ("forget_after", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}; got {getattr(self, name)}.")
        exact = self.exact and objective.has_exact_blocks
        if exact or objective.regularizer.smooth or not objective.has_products:
            return super()._representation(objective)
        return ActiveSetBlocks


@dataclass(frozen=True)
class ExactBlocks(BlockFrankWolfe):
    """Coordinate ascent: the dual is maximised over one block at a time, which must be a projection.

    For one switch an example (`Cube(1)`) a block is a box: the coordinate descent of Hsieh et al. 2008.
    """

    needs: ClassVar[frozenset[str]] = BlockFrankWolfe.needs | {"exact blocks"}
    not_options: ClassVar[frozenset[str]] = frozenset({"exact", "smoothing"})

    def _representation(self, objective: Objective) -> type[Representation]:
        check_needs(self, objective)  # a worker of a cluster has no other door
        return super()._representation(objective)
