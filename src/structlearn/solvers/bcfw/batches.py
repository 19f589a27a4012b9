"""Asking together: all threads ask the oracle for the blocks of a batch, then one takes the steps in them.

A visit asks for a vertex, which joins the block's atoms, and takes steps among these. The second half needs
the present w; the first is right at any w: a vertex that is no longer the best is still one. So where the
oracle takes most of a visit, threads ask for a batch of blocks at one w, and the first of them visits these
one after the other, as a cached pass does. Every step has its exact line search at the present w: nothing is
kept by fractions, no copy of w is made, and the dual never decreases. What comes out depends neither on the
timing nor on who asked. (Wang et al. 2016 take vertices of older weights, too, in an asynchronous
block-coordinate Frank-Wolfe.)
"""

from __future__ import annotations

from typing import NamedTuple

from structlearn.core.barrier import meet, take_next
from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.scoring.erased import ErasedScoring
from structlearn.solvers.bcfw.active_pass import ASK, CACHED, Before, Visits, make_scratch, visit_blocks
from structlearn.solvers.bcfw.atoms import Store, most_room
from structlearn.solvers.bcfw.rounds import Accumulators
from structlearn.structures.erased import ErasedStructure


class Batches(NamedTuple):
    """The data that the threads of some batches share (see `run_batches`)."""

    #: where they meet (see `structlearn.core.barrier`)
    cells: Array
    #: the blocks of batch r are order[edges[r] : edges[r + 1]]
    order: Array
    #: the same ones in the order in which they are asked for
    asked: Array
    edges: Array
    #: how many blocks of each batch were taken: (n_batches, 1)
    taken: Array
    before: Before


@kernel
def run_batches(
    k: int,
    threads: Batches,
    structure: ErasedStructure,
    scoring: ErasedScoring,
    problem: Visits,
    store: Store,
    gaps: Array,
    sums: Accumulators,
) -> None:
    """Run the part of thread k; the first thread alone changes `sums`."""
    blocks, rules, _, now = problem
    oracle, nothing = (structure, scoring), threads.before
    order, edges = threads.order, threads.edges
    scratch = make_scratch(structure, scoring, blocks, most_room(store, order))
    for r in range(edges.size - 1):
        at = edges[r] + take_next(threads.taken[r])
        while at < edges[r + 1]:
            asking, one = (blocks, rules, ASK, now), threads.asked[at : at + 1]
            visit_blocks(oracle, asking, one, sums, store, gaps, nothing, scratch)
            at = edges[r] + take_next(threads.taken[r])
        if not meet(threads.cells, k, 2 * r + 1):
            return
        if k == 0:
            some, stepping = order[edges[r] : edges[r + 1]], (blocks, rules, CACHED, now)
            visit_blocks(oracle, stepping, some, sums, store, gaps, nothing, scratch)
        if not meet(threads.cells, k, 2 * r + 2):
            return
