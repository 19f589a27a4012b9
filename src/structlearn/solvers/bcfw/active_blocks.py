"""Block-coordinate Frank-Wolfe on active sets: one oracle call, then steps among the vertices seen so far.

A visit of a block asks the oracle for one vertex, which joins the block's atoms, and takes a few steps inside
the set on its Gram matrix. Between two passes with the oracle, *cached passes* score only the parts in use.
(Shah et al. 2015; Osokin et al. 2016.) All steps have exact line search, so the dual never decreases.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from structlearn.core.barrier import GONE, make_cells
from structlearn.core.contract import Array
from structlearn.problem.objective import Objective
from structlearn.solvers.bcfw.active_pass import Before, active_pass, room_before
from structlearn.solvers.bcfw.active_set import ActiveSet
from structlearn.solvers.bcfw.active_steps import Rules, Steps
from structlearn.solvers.bcfw.atom_rounds import ThreadState, keep_fraction, run_rounds
from structlearn.solvers.bcfw.block_frank_wolfe import BlockFrankWolfe, State
from structlearn.solvers.bcfw.rounds import (
    Commit,
    LocalCopy,
    Trial,
    Visit,
    attempt,
    is_distinct,
    round_size,
    rounds_of,
)
from structlearn.solvers.bcfw.saved_blocks import check_blocks
from structlearn.solvers.bcfw.totals import CACHED_GAP, COST
from structlearn.solvers.solution import Solution

#: Visits of a thread in a round: at least so many, and one more for so many weights, which a round adds up.
LEAST_VISITS = 64
WEIGHTS_A_VISIT = 1000
#: Blocks without room may be at most this share: they make place by forgetting or mixing, which needs no copy
#: of all the others.
MOST_FULL = 0.02


@dataclass(frozen=True)
class ActiveBlocks(BlockFrankWolfe):
    """Block-coordinate Frank-Wolfe with z as mixtures of few vertices; the default for the hinge.

    Smooth losses, and blocks that are maximised exactly, keep z dense (see `BlockFrankWolfe`).

    Parameters
    ----------
    steps : Steps
        Directions inside a set: `PAIRWISE`, `AWAY` or `PLAIN`.
    inner_steps : int
        How many steps a visit takes at most.
    inner_accuracy : float
        A visit ends when the gap inside its set is at most this share of the block's gap.
    cached_passes : int
        How many passes without the oracle may follow each pass with it.
    cached_accuracy : float
        They end when one has seen at most this share of the gap that the pass with the oracle saw.
    forget_after : int
        Passes after which a vertex without weight is forgotten.
    rounds : int
        With several threads, how often a pass at most joins what they have done (see `rounds`).
    most_atoms : int
        A block that has so many vertices, all with weight, mixes the lightest two to take in another.
    """

    steps: Steps = Steps.PAIRWISE
    inner_steps: int = 10
    inner_accuracy: float = 0.1
    cached_passes: int = 8
    cached_accuracy: float = 0.1
    forget_after: int = 3
    most_atoms: int = 256
    rounds: int = 1000

    def _is_dense(self, objective: Objective) -> bool:
        exact = self.exact and objective.has_exact_blocks
        return objective.regularizer.smooth or exact or not objective.has_products

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> State:
        for name, least in (("most_atoms", 2), ("inner_steps", 1), ("cached_passes", 0), ("forget_after", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}; got {getattr(self, name)}.")
        if self._is_dense(objective):
            return super().start(objective, rng, warm)
        z, fraction = ActiveSet.of_gold(objective), 1.0
        w, cost = np.zeros(objective.n_weights), 0.0
        if warm is not None and warm.fits(objective):
            z = ActiveSet.of(objective, warm.point)
            w, cost = z.weights(objective)
            fraction = warm.fraction(objective, w, cost)
        if fraction < 1.0:
            z.shrink(objective, fraction, objective.most_entries)
        z.connect(objective)
        state = self._first_state(objective, z, fraction * w, fraction * cost, np.empty(0))
        self._make_room(objective, state, objective.active)
        self._visit_atoms(objective, state, state.order)  # compiles, as does the next line
        z.weights(objective)
        return state

    def saved(self, objective: Objective, state: State) -> State:
        return state if self._is_dense(objective) else state._replace(z=state.z.store)

    def restored(self, objective: Objective, state: State) -> State:
        if self._is_dense(objective):
            return super().restored(objective, state)
        check_blocks(objective, state)
        state = state._replace(z=ActiveSet(state.z, objective))
        self._visit_atoms(objective, state, objective.active[:0])
        return state

    def _make_room(self, objective: Objective, state: State, order: Array) -> None:
        state.z.make_room(order, objective.most_entries, self.most_atoms, MOST_FULL)

    def step(self, objective: Objective, state: State, rng: np.random.Generator) -> State:
        if self._is_dense(objective):
            return super().step(objective, state, rng)
        order = state.order if state.order.size else self.draw(objective, state, rng)
        now, later = order[: self.examples_at_once], order[self.examples_at_once :]
        self._visit_atoms(objective, state, now)
        oracle_calls = state.oracle_calls + (0 if state.cached else now.size)
        state = state._replace(order=later, oracle_calls=oracle_calls)
        return state if later.size else self._next_cached_pass(objective, state, rng)

    def _next_cached_pass(self, objective: Objective, state: State, rng: np.random.Generator) -> State:
        """Another pass over the blocks that have a choice, while the last one found enough to do."""
        several = self._with_a_choice(objective, state)
        left = np.inf if state.cached == 0 else state.totals[CACHED_GAP]
        enough = left <= self.cached_accuracy * state.gaps.sum()
        if state.cached == self.cached_passes or enough or not several.size:
            return state._replace(cached=0)
        state.totals[CACHED_GAP] = 0.0
        return state._replace(cached=state.cached + 1, order=rng.permutation(several))

    def draw(self, objective: Objective, state: State, rng: np.random.Generator) -> Array:
        order = super().draw(objective, state, rng)
        if not self._is_dense(objective):
            self._make_room(objective, state, order)
        return order

    @property
    def repeats(self) -> int:
        return max(self.cached_passes, super().repeats)

    def draw_again(self, objective: Objective, state: State, rng: np.random.Generator) -> Array:
        if self._is_dense(objective):
            return super().draw_again(objective, state, rng)
        return rng.permutation(self._with_a_choice(objective, state))

    def attempt(self, objective: Objective, state: State, order: Array, w: Array, again: bool) -> Trial:
        if self._is_dense(objective):
            return super().attempt(objective, state, order, w, again)
        return attempt(objective, order, self._atoms_visitor(objective, state, again), w)

    def oracle_calls_of(self, objective: Objective, visits: int, again: bool) -> int:
        return 0 if again and not self._is_dense(objective) else visits

    @staticmethod
    def _with_a_choice(objective: Objective, state: State) -> Array:
        return objective.active[state.z.store.count[objective.active] > 1]

    def _atoms_visitor(self, objective: Objective, state: State, cached: bool) -> Visit:
        store = state.z.store

        def visit(order: Array, w: Array, totals: Array) -> Commit:
            before = room_before(store, order)
            self._visit_all(objective, state, order, cached, w, totals, w[:0], before)
            return lambda fraction: keep_fraction(store, order, before, fraction)

        return visit

    def _problem(self, objective: Objective, function: Any) -> tuple[Any, Any, Any, float, Rules]:
        """The first arguments of a pass, in this thread."""
        rules = Rules(int(self.steps), self.inner_steps, self.inner_accuracy, self.forget_after)
        structure, scoring = objective.oracle.for_pass(function), objective.scoring.for_pass(function)
        return structure, scoring, objective.blocks, objective.regularization, rules

    def _visit_all(
        self,
        objective: Objective,
        state: State,
        order: Array,
        cached: bool,
        w: Array,
        totals: Array,
        lag: Array,
        before: Before,
    ) -> None:
        _, *problem = self._problem(objective, active_pass)
        objective.oracle.run(
            active_pass,
            *problem,
            order,
            cached,
            state.oracle_calls // objective.n_active,
            w,
            state.z.store,
            state.gaps,
            totals,
            lag,
            before,
        )

    def _visit_atoms(self, objective: Objective, state: State, order: Array) -> None:
        if objective.n_jobs > 1:
            self._run(objective, state, order)
            return
        nothing = Before.nothing()
        cached = state.cached > 0
        self._visit_all(objective, state, order, cached, state.w, state.totals, state.lag, nothing)

    def _run(self, objective: Objective, state: State, order: Array) -> None:
        """Rounds of all threads: the first changes the books of the state, the others books of their own."""
        n = objective.n_jobs
        least = LEAST_VISITS + objective.n_weights // WEIGHTS_A_VISIT
        rounds = list(rounds_of(order, round_size(objective, self.rounds, least)))
        cells, first = make_cells(n), LocalCopy(state.w, state.totals, state.lag)
        books = [first, *(LocalCopy(*(array.copy() for array in first)) for _ in range(n - 1))]
        crew = ThreadState(
            cells,
            np.concatenate([order[:0], *rounds]),
            np.cumsum([0, *map(len, rounds)]),
            not is_distinct(order),
            np.empty((2, n, state.w.size)),
            np.empty((2, n, state.totals.size)),
        )

        def part(k: int) -> None:
            run_rounds(
                k,
                crew,
                *self._problem(objective, run_rounds),
                state.cached > 0,
                state.oracle_calls // objective.n_active,
                state.z.store,
                state.gaps,
                *books[k],
            )

        objective.team.together([partial(part, k) for k in range(n)], stop=lambda: cells.fill(GONE))

    def settle(self, objective: Objective, state: State) -> tuple[State, Any]:
        if self._is_dense(objective):
            return super().settle(objective, state)
        w, state.totals[COST] = state.z.weights(objective)
        return state._replace(w=w, order=state.order[:0], cached=0), state.z
