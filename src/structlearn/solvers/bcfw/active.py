"""Blocks as active sets: one oracle call, then steps among the vertices seen so far.

A visit of a block asks the oracle for one vertex, which joins the block's atoms, and takes a few steps inside
the set on its Gram matrix. Between two passes with the oracle, *cached passes* score only the parts in use.
(Shah et al. 2015; Osokin et al. 2016.) All steps have exact line search, so the dual never decreases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from structlearn.core.barrier import GONE, make_cells
from structlearn.core.contract import Array
from structlearn.problem.objective import Objective
from structlearn.solvers.bcfw.active_pass import (
    ASK,
    CACHED,
    VISIT,
    Before,
    ThreadState,
    active_pass,
    commit_fraction,
    room_before,
    room_for,
    run_rounds,
)
from structlearn.solvers.bcfw.active_set import ActiveSet
from structlearn.solvers.bcfw.active_steps import VisitRules
from structlearn.solvers.bcfw.atoms import Store
from structlearn.solvers.bcfw.batches import Batches, run_batches
from structlearn.solvers.bcfw.blocks import BlockState, Representation
from structlearn.solvers.bcfw.rounds import (
    WEIGHTS_A_VISIT,
    Accumulators,
    Commit,
    is_distinct,
    is_mostly_sums,
    round_size,
    rounds_of,
)
from structlearn.solvers.bcfw.saved_blocks import check_store
from structlearn.solvers.bcfw.totals import CACHED_GAP
from structlearn.solvers.solution import Solution

if TYPE_CHECKING:
    from structlearn.solvers.bcfw.block_frank_wolfe import ActiveBlocks

#: Local parts of blocks, in the mean, from which on the oracle takes most of a visit (see `batches`).
PARTS_OF_A_QUESTION = 400
#: Such blocks are asked for in batches of this fraction of all: few, since they are asked for at one w.
BATCH = 0.005
#: Questions per process of a batch that other processes answer, at least.
QUESTIONS = 2


class ActiveSetBlocks(Representation):
    """z_i as a mixture of few atoms; the passes that follow a full one are cached."""

    asks_again: ClassVar[bool] = False
    point: ActiveSet
    #: Visits of a thread in a round, at least.
    least_visits: ClassVar[int] = 64

    def __init__(self, options: ActiveBlocks, point: ActiveSet) -> None:
        self.options, self.point = options, point

    @classmethod
    def start(
        cls, objective: Objective, options: ActiveBlocks, warm: Solution | None
    ) -> tuple[ActiveSetBlocks, Array, float]:
        point, w, cost = ActiveSet.start(objective, warm)
        blocks = cls(options, point)
        point.make_room(objective, objective.active, options.most_atoms)
        return blocks, w, cost

    @classmethod
    def restored(cls, objective: Objective, options: ActiveBlocks, saved: Any) -> ActiveSetBlocks:
        check_store(saved, np.diff(objective.point_start))
        return cls(options, ActiveSet(saved, objective))

    def saved(self) -> Store:
        return self.point.store

    def begin_pass(self, objective: Objective, order: Array, gaps: Array) -> None:
        self.point.make_room(objective, order, self.options.most_atoms, gaps)

    @property
    def repeats(self) -> int:
        return self.options.cached_passes

    def next_pass(self, objective: Objective, state: BlockState, rng: np.random.Generator) -> Array:
        """Draw another pass over the blocks that have a choice, while the last one found enough to do."""
        found = np.inf if state.again == 0 else state.totals[CACHED_GAP]
        if state.again == self.repeats or found <= self.options.cached_accuracy * state.gaps.sum():
            return state.order[:0]
        state.totals[CACHED_GAP] = 0.0
        return self.draw_again(objective, state.gaps, rng)

    def draw_again(self, objective: Objective, gaps: Array, rng: np.random.Generator) -> Array:
        """Return the blocks that have a choice."""
        return rng.permutation(objective.active[self.point.store.count[objective.active] > 1])

    def visit(self, objective: Objective, state: BlockState, order: Array, own: Accumulators) -> Commit:
        store = self.point.store
        before = room_before(store, order)
        self._pass(objective, state, order, own, before)
        return partial(commit_fraction, store, order, before)

    def run(self, objective: Objective, state: BlockState, order: Array) -> None:
        if order.size and not state.again and objective.oracle.asks_processes:
            self._run_processes(objective, state, order)
            return
        apart = is_mostly_sums(objective, self.least_visits)
        if objective.n_jobs > 1 and not state.again and asks_together(objective):
            self._run_batches(objective, state, order)
        elif objective.n_jobs > 1 and not (apart and asks_together(objective)):
            self._run_rounds(objective, state, order)
        else:
            self._pass(objective, state, order, state.sums, Before.nothing())

    def compile(self, objective: Objective, state: BlockState) -> None:
        for again in (0, 1):
            self.run(objective, state._replace(again=again), objective.active[:0])

    def _pass(
        self,
        objective: Objective,
        state: BlockState,
        order: Array,
        own: Accumulators,
        before: Before,
        doing: int | None = None,
    ) -> None:
        """Visit each block of `order` once, in this thread: as the state says unless `doing` is given."""
        blocks, rules, usual, now = self._problem(objective, state)
        problem = (blocks, rules, usual if doing is None else doing, now)
        objective.run_pass(active_pass, problem, order, own, self.point.store, state.gaps, before)

    def _problem(self, objective: Objective, state: BlockState) -> tuple[object, VisitRules, int, int]:
        """Return the arguments by which `active_pass` visits blocks."""
        options = self.options
        rules = VisitRules(
            int(options.steps), options.inner_steps, options.inner_accuracy, options.forget_after
        )
        now = state.oracle_calls // objective.n_active
        return objective.blocks, rules, CACHED if state.again else VISIT, now

    def _run_processes(self, objective: Objective, state: BlockState, order: Array) -> None:
        """Let other processes answer for a batch of blocks at one w, then take the steps (see `batches`)."""
        size = max(QUESTIONS * objective.oracle.n_jobs, int(BATCH * objective.n_active))
        for some in rounds_of(order, size):
            objective.oracle.ask_ahead(state.w, objective.cost, some)
            for doing in (ASK, CACHED):
                self._pass(objective, state, some, state.sums, Before.nothing(), doing)

    def _run_batches(self, objective: Objective, state: BlockState, order: Array) -> None:
        """Let all threads ask the oracle, and the first one take the steps."""
        cells = make_cells(objective.n_jobs)
        size = max(objective.n_jobs, int(BATCH * objective.n_active))
        order, edges = _concatenate(order, rounds_of(order, size))
        taken = np.zeros((edges.size, 1), dtype=np.int64)
        asked = _longest_first(order, edges, np.diff(objective.scoring.start))
        threads = Batches(cells, order, asked, edges, taken, Before.nothing())
        self._together(objective, state, run_batches, threads, [state.sums] * objective.n_jobs)

    def _run_rounds(self, objective: Objective, state: BlockState, order: Array) -> None:
        """Run rounds of all threads: the first changes the state's accumulators, the others their own."""
        n = objective.n_jobs
        least = self.least_visits + objective.n_weights // WEIGHTS_A_VISIT
        size = round_size(objective, self.options.rounds, least)
        cells, repeats = make_cells(n), not is_distinct(order)
        order, edges = _concatenate(order, rounds_of(order, size))
        changes, scalars = (room_for(n, one.size) for one in (state.w, state.totals))
        threads = ThreadState(cells, order, edges, repeats, changes, scalars)
        sums = [state.sums, *(_copy_sums(state.sums) for _ in range(n - 1))]
        self._together(objective, state, run_rounds, threads, sums)

    def _together(
        self,
        objective: Objective,
        state: BlockState,
        kernel: Callable[..., None],
        threads: Batches | ThreadState,
        sums: Sequence[Accumulators],
    ) -> None:
        """Run the parts of all threads at once."""
        problem = self._problem(objective, state)

        def part(k: int) -> None:
            known = objective.oracle.for_pass(kernel), objective.scoring.for_pass(kernel)
            kernel(k, threads, *known, problem, self.point.store, state.gaps, sums[k])

        calls = [partial(part, k) for k in range(objective.n_jobs)]
        objective.team.together(calls, stop=lambda: threads.cells.fill(GONE))


def asks_together(objective: Objective) -> bool:
    """Return whether the oracle takes so much of a visit that threads share it out, and no more."""
    scoring = objective.scoring
    return bool(scoring.start[-1] >= PARTS_OF_A_QUESTION * scoring.n_examples)


def _concatenate(order: Array, pieces: Iterable[Array]) -> tuple[Array, Array]:
    """Concatenate pieces of `order`; return them with where each begins."""
    every = list(pieces)
    return np.concatenate([order[:0], *every]), np.cumsum([0, *map(len, every)])


def _longest_first(order: Array, edges: Array, sizes: Array) -> Array:
    """Sort the blocks of each batch, large ones first, so that threads finish at about the same time."""
    batch = np.repeat(np.arange(edges.size - 1), np.diff(edges))
    return order[np.lexsort((-sizes[order], batch))]


def _copy_sums(sums: Accumulators) -> Accumulators:
    return Accumulators(sums.w.copy(), sums.totals.copy(), sums.lag.copy(), sums.pace)
