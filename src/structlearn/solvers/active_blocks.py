"""Block-coordinate Frank-Wolfe on active sets: one oracle call, then steps among the corners seen so far.

A visit of a block asks the oracle for one corner, which joins the block's atoms, and takes a few steps inside
the set on its Gram matrix. Between two passes with the oracle, *cached passes* score only the parts in use.
(Shah et al. 2015; Osokin et al. 2016.) All steps have exact line search, so the dual never decreases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from structlearn.contract import Array, corner, move, score, score_some, scratch, workspace
from structlearn.kernels import kernel
from structlearn.objective import Objective
from structlearn.solvers.active_set import ActiveSet
from structlearn.solvers.active_steps import (
    Rules,
    Steps,
    best_atom,
    commit,
    make_bench,
    score_atoms,
    step_within,
)
from structlearn.solvers.atoms import (
    Store,
    append,
    atoms_of,
    connect,
    entries_of,
    find,
    forget,
    make_place,
    mark,
)
from structlearn.solvers.block_frank_wolfe import LEAST_VISITS, BlockFrankWolfe, State
from structlearn.solvers.rounds import (
    Keep,
    Trial,
    Visit,
    attempt,
    play_nothing,
    play_round,
    round_size,
    rounds_of,
)
from structlearn.solvers.solution import Solution
from structlearn.solvers.totals import CACHED_GAP, COST, LAG_COST, STEPS


@dataclass(frozen=True)
class ActiveBlocks(BlockFrankWolfe):
    """Block-coordinate Frank-Wolfe with z as mixtures of few corners; the default for the hinge.

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
        Passes after which a corner without weight is forgotten.
    most_atoms : int
        A block that has so many corners, all with weight, mixes the lightest two to take in another.
    """

    steps: Steps = Steps.PAIRWISE
    inner_steps: int = 10
    inner_accuracy: float = 0.1
    cached_passes: int = 8
    cached_accuracy: float = 0.1
    forget_after: int = 3
    most_atoms: int = 256

    def _is_dense(self, objective: Objective) -> bool:
        exact = self.exact and objective.has_exact_blocks
        return objective.regularizer.smooth or exact or not objective.has_products

    def start(self, objective: Objective, rng: np.random.Generator, warm: Solution | None) -> State:
        for name, least in (("most_atoms", 2), ("inner_steps", 1), ("cached_passes", 0), ("forget_after", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}; got {getattr(self, name)}.")
        if self._is_dense(objective):
            return super().start(objective, rng, warm)
        z, share = ActiveSet.of_gold(objective), 1.0
        w, cost = np.zeros(objective.n_weights), 0.0
        if warm is not None and warm.fits(objective):
            z = ActiveSet.of(objective, warm.point)
            w, cost = z.weights(objective)
            share = warm.share(objective, w, cost)
        if share < 1.0:
            z.shrink(objective, share, _most_entries(objective))
        z.connect(objective)
        state = self._first_state(objective, z, share * w, share * cost, np.empty(0))
        self._make_room(objective, state, objective.active)
        self._visit_atoms(objective, state, state.order)  # compiles, as does the next line
        z.weights(objective)
        return state

    def saved(self, objective: Objective, state: State) -> State:
        return state if self._is_dense(objective) else state._replace(z=state.z.store)

    def restored(self, objective: Objective, state: State) -> State:
        if self._is_dense(objective):
            return super().restored(objective, state)
        state = state._replace(z=ActiveSet(state.z, objective))
        self._visit_atoms(objective, state, objective.active[:0])
        return state

    def _make_room(self, objective: Objective, state: State, order: Array) -> None:
        state.z.make_room(order, _most_entries(objective), self.most_atoms)

    def step(self, objective: Objective, state: State, rng: np.random.Generator) -> State:
        if self._is_dense(objective):
            return super().step(objective, state, rng)
        order = state.order if state.order.size else self.draw(objective, state, rng)
        now, later = order[: self.examples_at_once], order[self.examples_at_once :]
        self._visit_atoms(objective, state, now)
        answers = state.answers + (0 if state.cached else now.size)
        state = state._replace(order=later, answers=answers)
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

    def answers_of(self, objective: Objective, visits: int, again: bool) -> int:
        return 0 if again and not self._is_dense(objective) else visits

    @staticmethod
    def _with_a_choice(objective: Objective, state: State) -> Array:
        return objective.active[state.z.store.count[objective.active] > 1]

    def _atoms_visitor(self, objective: Objective, state: State, cached: bool) -> Visit:
        store = state.z.store

        def visit(order: Array, w: Array, totals: Array) -> Keep:
            before = Before.room(store, order)
            self._visit_all(objective, state, order, cached, w, totals, w[:0], before)
            return lambda share: keep_share(store, order, before, share)

        return visit

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
        objective.oracle.run(active_pass)(
            objective.oracle.record,
            objective.scoring.record,
            objective.blocks,
            objective.regularization,
            Rules(int(self.steps), self.inner_steps, self.inner_accuracy, self.forget_after),
            order,
            cached,
            state.answers // objective.n_active,
            w,
            state.z.store,
            state.gaps,
            totals,
            lag,
            before,
        )

    def _visit_atoms(self, objective: Objective, state: State, order: Array) -> None:
        cached = state.cached > 0
        if objective.n_jobs == 1 or not order.size:
            nothing = Before.nothing()
            self._visit_all(objective, state, order, cached, state.w, state.totals, state.lag, nothing)
            if objective.n_jobs > 1:
                play_nothing(state, lambda: keep_share(state.z.store, order, nothing, 1.0))
            return
        for now in rounds_of(order, round_size(objective, self.rounds, LEAST_VISITS)):
            play_round(objective, state, now, self._atoms_visitor(objective, state, cached))

    def settle(self, objective: Objective, state: State) -> tuple[State, Any]:
        if self._is_dense(objective):
            return super().settle(objective, state)
        w, state.totals[COST] = state.z.weights(objective)
        return state._replace(w=w, order=state.order[:0], cached=0), state.z


class Before(NamedTuple):
    """Weights that the atoms of visited blocks had: those of the q-th block begin at first[q]."""

    first: Array
    weight: Array

    @classmethod
    def nothing(cls) -> Before:
        return cls(np.empty(0, dtype=np.int64), np.empty(0))

    @classmethod
    def room(cls, store: Store, order: Array) -> Before:
        """An atom that a visit adds finds its weight zero."""
        first = np.zeros(order.size + 1, dtype=np.int64)
        np.cumsum(store.atom_first[order + 1] - store.atom_first[order], out=first[1:])
        return cls(first, np.zeros(first[-1]))


@kernel
def keep_share(store: Any, order: Any, before: Any, share: Any) -> Any:
    """z_i <- old + share (z_i - old) for the blocks of `order`; the cost is linear in z: no further gain."""
    for q in range(order.size):
        atoms = atoms_of(store, order[q])
        for a in range(store.count[order[q]]):
            old = before.weight[before.first[q] + a]
            atoms.weight[a] = old + share * (atoms.weight[a] - old)
    return 0.0


def _most_entries(objective: Objective) -> Array:
    """How many entries a corner of each block may have."""
    shapes, inverse = np.unique(objective.scoring.shapes, axis=0, return_inverse=True)
    most = [objective.structure.most_entries((int(rows), int(columns))) for rows, columns in shapes]
    return np.array(most)[inverse.ravel()]


@kernel
def active_pass(
    structure: Any,
    scoring: Any,
    blocks: Any,
    regularization: Any,
    rules: Any,
    order: Any,
    cached: Any,
    now: Any,
    w: Any,
    store: Any,
    gaps: Any,
    totals: Any,
    lag: Any,
    before: Any,
) -> None:
    """One visit for each block of `order`, with the oracle or, where `cached`, without.

    Where `before` has room, it takes the weights of the atoms as they are before the visit.
    """
    work = workspace(structure, blocks.largest)
    tools = scratch(scoring)
    n_shared = scoring.n_shared
    shared = w[w.size - n_shared :]
    scores = np.zeros(blocks.most_parts)
    marks = np.zeros(blocks.most_parts, dtype=np.bool_)
    points = np.empty((2, blocks.most_parts + n_shared))
    bench = make_bench(np.diff(store.atom_first).max())
    for q in range(order.size):
        i = order[q]
        first = blocks.start[i]
        size = blocks.start[i + 1] - first
        p = blocks.weight[i]
        cost = blocks.cost[first : first + size]
        theta, wanted = scores[:size], marks[:size]
        s, out = points[0, : size + n_shared], points[1, : size + n_shared]
        atoms = atoms_of(store, i)
        # 1. In a pass with the oracle: room for one more atom.
        if not cached:
            forget(store, i, atoms, now - rules.forget_after)
            if store.count[i] == atoms.weight.size and store.count[i] > 1:
                make_place(scoring, i, store, atoms, cost, s, wanted, tools, out)
        count = store.count[i]
        if before.weight.size:
            for a in range(count):
                before.weight[before.first[q] + a] = atoms.weight[a]
        mark(atoms, count, wanted)
        # 2. Scores of the atoms; the corner s = argmax <theta + c, s>, or the best atom; the gap.
        if cached:
            score_some(scoring, i, w, wanted, tools, theta)
            here = score_atoms(atoms, count, theta, shared, bench)
            towards = best_atom(bench, count)
            best = bench.scores[towards]
            totals[CACHED_GAP] += p * (best - here)
        else:
            score(scoring, i, w, tools, theta)
            here = score_atoms(atoms, count, theta, shared, bench)
            for j in range(size):
                theta[j] += cost[j]
            shape = (blocks.shapes[i, 0], blocks.shapes[i, 1])
            best = corner(structure, shape, theta, shared, work, s)
            gaps[i] = p * (best - here)
        totals[STEPS] += 1.0
        if best - here <= 0.0:
            continue
        # 3. The corner joins the atoms.
        if not cached:
            n_entries = entries_of(s)
            towards = find(atoms, count, s, n_entries)
            if towards < 0 and (
                count == atoms.weight.size or atoms.edge[count] + n_entries > atoms.index.size
            ):
                towards = best_atom(bench, count)
            if towards < 0:
                towards = append(store, i, atoms, s, 0.0, now)
                count += 1
                connect(scoring, i, atoms, towards, count, cost, s, wanted, tools, out)
                bench.scores[towards], bench.alpha[towards] = best, 0.0
        # 4. Steps inside the set, then one move of w by all that has changed.
        step_within(rules, atoms, count, p / regularization, towards, best - here, bench)
        paid = commit(atoms, count, bench, towards, now, s)
        move(scoring, i, s, -p / regularization, w, tools)
        totals[COST] += p * paid
        if lag.size:  # as in `plain_pass`
            age = totals[STEPS] * (totals[STEPS] - 1.0) / 2.0
            move(scoring, i, s, -age * p / regularization, lag, tools)
            totals[LAG_COST] += age * p * paid
