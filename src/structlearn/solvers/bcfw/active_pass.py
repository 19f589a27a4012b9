"""Compiled visits to blocks in active-set form, with the oracle or without: a pass, or rounds of threads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.barrier import WORDS_APART, meet
from structlearn.core.contract import (
    Array,
    add_pullback,
    maximize,
    prefetch,
    score,
    score_subset,
    scoring_workspace,
    workspace,
)
from structlearn.core.kernels import kernel
from structlearn.core.vectors import assign
from structlearn.problem.oracle import ExampleBlocks
from structlearn.scoring.erased import ErasedScoring
from structlearn.solvers.bcfw.active_steps import (
    Bench,
    VisitRules,
    best_atom,
    commit,
    make_bench,
    score_atoms,
    step_within,
)
from structlearn.solvers.bcfw.atoms import (
    Store,
    append,
    atoms_of,
    connect,
    entries_of,
    find,
    forget_unused_atoms,
    make_place,
    mark,
    most_room,
    prefetch_atoms,
)
from structlearn.solvers.bcfw.rounds import Accumulators, combine
from structlearn.solvers.bcfw.totals import CACHED_GAP, COST, LAG_COST, STEPS
from structlearn.structures.erased import ErasedStructure

#: What a visit does: it asks the oracle and takes steps; it takes steps alone; it asks alone.
VISIT, CACHED, ASK = range(3)
#: The blocks, the rules of a visit, what it does, and which pass this is.
Visits = tuple[ExampleBlocks, VisitRules, int, int]


class Before(NamedTuple):
    """Weights that the atoms of visited blocks had: those of the q-th block begin at first[q]."""

    first: Array
    weight: Array

    @classmethod
    def nothing(cls) -> Before:
        return cls(np.empty(0, dtype=np.int64), np.empty(0))


@kernel
def room_before(store: Store, order: Array) -> Before:
    """Make room for the weights of some blocks. An atom that a visit adds finds its weight zero."""
    first = np.zeros(order.size + 1, dtype=np.int64)
    for q in range(order.size):
        first[q + 1] = first[q] + store.atom_first[order[q] + 1] - store.atom_first[order[q]]
    return Before(first, np.zeros(first[-1]))


class VisitScratch(NamedTuple):
    """The workbench of visits, whatever their block."""

    work: object
    tools: object
    scores: Array
    marks: Array
    points: Array
    bench: Bench


@kernel
def make_scratch(
    structure: ErasedStructure, scoring: ErasedScoring, blocks: ExampleBlocks, most_atoms: int
) -> VisitScratch:
    """Allocate scratch memory for blocks of at most `most_atoms` atoms."""
    return VisitScratch(
        workspace(structure, blocks.largest),
        scoring_workspace(scoring),
        np.zeros(blocks.most_parts),
        np.zeros(blocks.most_parts, dtype=np.bool_),
        np.empty((2, blocks.most_parts + scoring.n_shared)),
        make_bench(most_atoms),
    )


@kernel
def active_pass(
    structure: ErasedStructure,
    scoring: ErasedScoring,
    problem: Visits,
    order: Array,
    own: Accumulators,
    store: Store,
    gaps: Array,
    before: Before,
) -> None:
    """Visit each block of `order` once: in full, without the oracle, or with the oracle alone.

    problem : the blocks, `VisitRules`, what to do, and which pass this is. Where `before` has room, it takes
    the weights of the atoms as they are before the visit.
    """
    scratch = make_scratch(structure, scoring, problem[0], most_room(store, order))
    visit_blocks((structure, scoring), problem, order, own, store, gaps, before, scratch)


@kernel
def visit_blocks(
    oracle: tuple[ErasedStructure, ErasedScoring],
    problem: Visits,
    order: Array,
    own: Accumulators,
    store: Store,
    gaps: Array,
    before: Before,
    scratch: VisitScratch,
) -> None:
    """Do as `active_pass`, with scratch memory that may be used again; oracle : structure and scoring."""
    structure, scoring = oracle
    blocks, rules, doing, now = problem
    cached = doing == CACHED
    w, totals, lag, pace = own
    work, tools, scores, marks, points, bench = scratch
    n_shared = scoring.n_shared
    shared = w[w.size - n_shared :]
    for q in range(order.size):
        i = order[q]
        if q + 1 < order.size:
            soon = order[q + 1]
            prefetch(scoring, soon)
            prefetch_atoms(store, soon)
        first = blocks.start[i]
        size = blocks.start[i + 1] - first
        p = blocks.weight[i]
        cost = blocks.cost[first : first + size]
        theta, wanted = scores[:size], marks[:size]
        s, out = points[0, : size + n_shared], points[1, : size + n_shared]
        atoms = atoms_of(store, i)
        # 1. In a pass with the oracle: room for one more atom.
        if not cached:
            forget_unused_atoms(store, i, atoms, now - rules.forget_after)
            if store.count[i] == atoms.weight.size and store.count[i] > 1:
                make_place(scoring, i, store, atoms, cost, s, wanted, tools, out)
        count = store.count[i]
        if before.weight.size:
            for a in range(count):
                before.weight[before.first[q] + a] = atoms.weight[a]
        mark(atoms, count, wanted)
        # 2. Scores of the atoms; the vertex s = argmax <theta + c, s>, or the best atom; the gap.
        if cached:
            score_subset(scoring, i, w, wanted, tools, theta)
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
            best = maximize(structure, shape, theta, shared, work, s)
            gaps[i] = p * (best - here)
        if doing != ASK:
            totals[STEPS] += 1.0
        if best - here <= 0.0:
            continue
        # 3. The vertex joins the atoms.
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
        if doing == ASK:
            continue
        # 4. Steps inside the set, then one move of w by all that has changed.
        step_within(rules, atoms, count, p / pace.metric, towards, best - here, bench)
        paid = commit(atoms, count, bench, towards, now, s)
        add_pullback(scoring, i, s, -p / pace.strength, w, tools)
        totals[COST] += p * paid
        if lag.size:  # as in `plain_pass`
            age = totals[STEPS] * (totals[STEPS] - 1.0) / 2.0
            add_pullback(scoring, i, s, -age * p / pace.strength, lag, tools)
            totals[LAG_COST] += age * p * paid


# ---- rounds (see `rounds`), too short to come back to Python after each ----------------------------


class ThreadState(NamedTuple):
    """The data that the threads of some rounds share (see `run_rounds`)."""

    #: where they meet (see `structlearn.core.barrier`)
    cells: Array
    #: the blocks of round r are order[edges[r] : edges[r + 1]]
    order: Array
    edges: Array
    #: whether a block may come again in a later round
    repeats: bool
    #: what each thread brings to a round, of shape (2, n_threads, ...), used in turn (see `rounds`); rows are
    #: longer than what they hold (see `room_for`)
    changes: Array
    scalars: Array


def room_for(n_threads: int, size: int) -> Array:
    """Allocate two rows for each thread, far enough from what other threads write."""
    return np.empty((2, n_threads, size + WORDS_APART))


@kernel
def commit_fraction(store: Store, order: Array, before: Before, fraction: float) -> float:
    """z_i <- old + fraction (z_i - old) for these blocks; the cost is linear in z: no further gain."""
    for q in range(order.size):
        atoms = atoms_of(store, order[q])
        for a in range(store.count[order[q]]):
            old = before.weight[before.first[q] + a]
            atoms.weight[a] = old + fraction * (atoms.weight[a] - old)
    return 0.0


@kernel
def run_rounds(
    k: int,
    threads: ThreadState,
    structure: ErasedStructure,
    scoring: ErasedScoring,
    problem: Visits,
    store: Store,
    gaps: Array,
    sums: Accumulators,
) -> None:
    """Run the part of thread k.

    Every thread settles every round by itself, on a w of its own: they come to the same, bit for bit. A
    thread may be one round ahead of those who still settle the last, unless blocks come again.
    """
    w, totals, lag, pace = sums
    n = threads.cells.shape[0]
    scratch = make_scratch(structure, scoring, problem[0], most_room(store, threads.order))
    for r in range(threads.edges.size - 1):
        first, size = threads.edges[r], threads.edges[r + 1] - threads.edges[r]
        order = threads.order[first + size * k // n : first + size * (k + 1) // n]
        changes, scalars = threads.changes[r % 2], threads.scalars[r % 2]
        own, scalar = changes[k, : w.size], scalars[k, : totals.size]
        assign(own, w)
        scalar[:] = 0.0
        before = room_before(store, order)
        sums_here = Accumulators(own, scalar, w[:0], pace)
        visit_blocks((structure, scoring), problem, order, sums_here, store, gaps, before, scratch)
        for j in range(w.size):
            own[j] -= w[j]
        if not meet(threads.cells, k, 2 * r + 1):
            return
        fractions = combine(changes, scalars, pace, w, totals, lag)
        if fractions[k] < 1.0:
            commit_fraction(store, order, before, fractions[k])
        if threads.repeats:
            meet(threads.cells, k, 2 * r + 2)
