"""Rounds (see `rounds`) of visits to active sets, too short to come back to Python after each round."""

from __future__ import annotations

from typing import Any, NamedTuple

from structlearn.core.barrier import meet
from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.core.vectors import assign
from structlearn.solvers.bcfw.active_pass import active_pass, room_before
from structlearn.solvers.bcfw.atoms import atoms_of
from structlearn.solvers.bcfw.rounds import combine


class ThreadState(NamedTuple):
    """What the threads of some rounds share (see `run_rounds`)."""

    #: where they meet (see `structlearn.core.barrier`)
    cells: Array
    #: the blocks of round r are order[edges[r] : edges[r + 1]]
    order: Array
    edges: Array
    #: whether a block may come again in a later round
    repeats: bool
    #: what each thread brings to a round, of shape (2, n_threads, ...), used in turn (see `rounds`)
    changes: Array
    scalars: Array


@kernel
def commit_fraction(store: Any, order: Any, before: Any, fraction: Any) -> Any:
    """z_i <- old + fraction (z_i - old) for these blocks; the cost is linear in z: no further gain."""
    for q in range(order.size):
        atoms = atoms_of(store, order[q])
        for a in range(store.count[order[q]]):
            old = before.weight[before.first[q] + a]
            atoms.weight[a] = old + fraction * (atoms.weight[a] - old)
    return 0.0


@kernel
def run_rounds(
    k: Any,
    threads: Any,
    structure: Any,
    scoring: Any,
    blocks: Any,
    regularization: Any,
    rules: Any,
    cached: Any,
    now: Any,
    store: Any,
    gaps: Any,
    w: Any,
    totals: Any,
    lag: Any,
) -> None:
    """The part of thread k in `rounds`, for visits too short to come back to Python after each round.

    Every thread settles every round by itself, on a w of its own: they come to the same, bit for bit. A
    thread may be one round ahead of those who still settle the last, unless blocks come again.
    """
    n = threads.cells.shape[0]
    for r in range(threads.edges.size - 1):
        first, size = threads.edges[r], threads.edges[r + 1] - threads.edges[r]
        order = threads.order[first + size * k // n : first + size * (k + 1) // n]
        changes, scalars = threads.changes[r % 2], threads.scalars[r % 2]
        own, scalar = changes[k], scalars[k]
        assign(own, w)
        scalar[:] = 0.0
        before = room_before(store, order)
        active_pass(
            structure,
            scoring,
            blocks,
            regularization,
            rules,
            order,
            cached,
            now,
            own,
            store,
            gaps,
            scalar,
            w[:0],
            before,
        )
        for j in range(w.size):
            own[j] -= w[j]
        if not meet(threads.cells, k, 2 * r + 1):
            return
        fractions = combine(changes, scalars, regularization, w, totals, lag)
        if fractions[k] < 1.0:
            commit_fraction(store, order, before, fractions[k])
        if threads.repeats:
            meet(threads.cells, k, 2 * r + 2)
