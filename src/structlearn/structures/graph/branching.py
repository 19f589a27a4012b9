"""Branch and bound on the bounds of message passing, compiled: closes what they leave open.

A subproblem forbids some states of some nodes, by scores as low as those of `lift_forbidden`. Its bound comes
from sweeps that continue from the present messages. At the moment at which a sweep visits node v, no
labelling of state x there is better than the bound plus score[x] <= 0 (see `gather_scores`): states that
cannot lead to a better labelling any more are forbidden as well. Depth first: the likeliest state of a node,
then the others of it.

A node with one state left is *settled*: what it says to its neighbours does not change any more, and sweeps
pass it by. Most nodes are soon, so that a subproblem takes as long as what is open in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import inline, jitable, leaf
from structlearn.core.vectors import argmax_of, assign
from structlearn.structures.graph.descent import is_closed, round_best
from structlearn.structures.graph.messages import NodeArcs, gather_scores, send, take_off_maximum
from structlearn.structures.graph.pair_scores import add_given

if TYPE_CHECKING:
    from structlearn.structures.graph.bounded import BoundedWork

#: Sweeps for a subproblem; they end where one lowers the bound by less than this share of what is missing.
_SWEEPS, _PAYS = 20, 0.05
#: What is on the trail in the place of a state, where a node was settled.
_SETTLED = -1


class BranchWork(NamedTuple):
    """Scratch memory: of each open subproblem node, state, length of the trail, side and bound; the trail."""

    choice: Array  # (depth, 4)
    bound: Array
    trail: Array  # (forbidden states and settled nodes, 2)
    score: Array  # those that were forbidden, and what settled nodes had in all before,
    length: Array  # how many; and how many nodes sweeps have visited
    state: Array  # that of each settled node, -1 of the others
    settled: Array  # what settled nodes and their edges have in all


@jitable
def graph_branch_work(n_nodes: int, n_states: int) -> BranchWork:
    """Allocate the stack: each of its frames forbids at least one state."""
    size = n_nodes * (n_states + 1) + 1
    choice, trail = np.empty((size, 4), dtype=np.int64), np.empty((size, 2), dtype=np.int64)
    length, state = np.zeros(2, dtype=np.int64), np.full(n_nodes, -1, dtype=np.int64)
    return BranchWork(choice, np.empty(size), trail, np.empty(size), length, state, np.zeros(1))


@leaf
def _add_to_trail(v: int, x: int, score: float, open_: BranchWork) -> None:
    """Append an entry to the trail."""
    j = open_.length[0]
    open_.trail[j, 0], open_.trail[j, 1], open_.score[j] = v, x, score
    open_.length[0] = j + 1


@leaf
def forbid(v: int, x: int, low: float, node: Array, open_: BranchWork) -> None:
    """Forbid state x of node v in the subproblem."""
    if node[v, x] > low:
        _add_to_trail(v, x, node[v, x], open_)
        node[v, x] = low


@leaf
def settle(arcs: NodeArcs, v: int, x: int, work: BoundedWork) -> None:
    """Leave only state x to node v: its neighbours get the message that they will always get.

    Those that are settled have sent theirs: with it, what was taken off it is the score of the edge.
    """
    table, message, open_ = work.labels.table, work.messages.message, work.branches
    _add_to_trail(v, _SETTLED, open_.settled[0], open_)
    open_.state[v] = x
    total = work.labels.node[v, x]
    for p in range(arcs.first[v], arcs.first[v + 1]):
        e = arcs.edge[p]
        if open_.state[arcs.head[p]] >= 0:
            total += message[e, x]
            continue
        for y in range(message.shape[1]):
            message[e, y] = 0.0
        add_given(table, e, arcs.ends[e, 1] == v, x, message[e])
        total += take_off_maximum(message, e)
    open_.settled[0] += total


@leaf
def allow_again(length: int, node: Array, open_: BranchWork) -> None:
    """Take back what was forbidden and settled, down to a length of the trail."""
    for j in range(open_.length[0] - 1, length - 1, -1):
        v, x = open_.trail[j, 0], open_.trail[j, 1]
        if x == _SETTLED:
            open_.state[v], open_.settled[0] = -1, open_.score[j]
        else:
            node[v, x] = open_.score[j]
    open_.length[0] = length


@leaf
def settle_all(arcs: NodeArcs, low: float, work: BoundedWork) -> None:
    """Settle all nodes that have one state left."""
    node, open_ = work.labels.node, work.branches
    for v in range(arcs.middle.size):
        if open_.state[v] < 0:
            n_left, last = 0, 0
            for x in range(node.shape[1]):
                if node[v, x] > low:
                    n_left, last = n_left + 1, x
            if n_left == 1:
                settle(arcs, v, last, work)


@inline
def send_open(arcs: NodeArcs, v: int, forward: bool, work: BoundedWork) -> float:
    """Send from node v to the later (or earlier) nodes that are not settled, after `gather_scores`."""
    open_, messages, table = work.branches, work.messages, work.labels.table
    first, middle, last = arcs.first[v], arcs.middle[v], arcs.first[v + 1]
    before = after = 0
    for p in range(first, middle):
        before += open_.state[arcs.head[p]] < 0
    for p in range(middle, last):
        after += open_.state[arcs.head[p]] < 0
    share, taken = 1.0 / max(before, after, 1), 0.0
    for p in range(middle if forward else first, last if forward else middle):
        if open_.state[arcs.head[p]] < 0:
            e = arcs.edge[p]
            taken += send(table, e, arcs.ends[e, 0] == v, share, messages)
    return taken


@leaf
def sweep_open(arcs: NodeArcs, forward: bool, work: BoundedWork) -> float:
    """Run `sweep` over the nodes that are not settled; return a bound on what all nodes can have."""
    n, open_ = arcs.middle.size, work.branches
    bound = open_.settled[0]
    for t in range(n):
        v = t if forward else n - 1 - t
        if open_.state[v] < 0:
            bound += gather_scores(arcs, v, work.labels.node, work.messages)
            bound += send_open(arcs, v, forward, work)
            open_.length[1] += 1
    return bound


@leaf
def thin_out(arcs: NodeArcs, value: float, bound: float, low: float, work: BoundedWork) -> tuple[int, int]:
    """Sweep forward and forbid what cannot beat `value`; return a node and a state to branch on.

    That node whose best two states are nearest to each other. Nodes with one state left are settled.
    """
    node, open_, score = work.labels.node, work.branches, work.messages.score
    best, at, state = np.inf, -1, -1
    for v in range(arcs.middle.size):
        if open_.state[v] >= 0:
            continue
        gather_scores(arcs, v, node, work.messages)
        first = argmax_of(score)
        second, n_left = -np.inf, 0
        for x in range(score.size):
            if node[v, x] > low:
                if bound + score[x] <= value:
                    forbid(v, x, low, node, open_)
                else:
                    n_left += 1
                    second = max(second, score[x] if x != first else -np.inf)
        if n_left > 1 and -second < best:
            best, at, state = -second, v, first
        send_open(arcs, v, True, work)
        open_.length[1] += 1
    settle_all(arcs, low, work)
    return at, state


@leaf
def _open_subproblem(v: int, x: int, bound: float, depth: int, open_: BranchWork) -> None:
    """Open a subproblem: node v has state x, or another."""
    choice = open_.choice
    choice[depth, 0], choice[depth, 1], choice[depth, 2], choice[depth, 3] = v, x, open_.length[0], 0
    open_.bound[depth] = bound


@leaf
def keep(arcs: NodeArcs, work: BoundedWork) -> None:
    """Keep the present messages, to which `restore` goes back."""
    for e in range(arcs.ends.shape[0]):
        assign(work.messages.kept[e], work.messages.message[e])


@leaf
def restore(arcs: NodeArcs, work: BoundedWork) -> None:
    """Restore the messages between nodes that are not settled."""
    state = work.branches.state
    for e in range(arcs.ends.shape[0]):
        if state[arcs.ends[e, 0]] < 0 and state[arcs.ends[e, 1]] < 0:
            assign(work.messages.message[e], work.messages.kept[e])


@leaf
def branch_and_bound(
    arcs: NodeArcs, value: float, bound: float, low: float, most: int, most_visits: int, work: BoundedWork
) -> tuple[float, float]:
    """best <- the best labelling; returns its value and a bound.

    Look at up to `most` subproblems, or until sweeps have visited `most_visits` nodes. Each begins with the
    messages of the first, which has them all in it, not with those of where the search has been last.
    """
    node, open_ = work.labels.node, work.branches
    depth, looked, root = 0, 0, bound
    open_.length[:] = 0
    open_.settled[0] = 0.0
    while looked < most and open_.length[1] < most_visits:
        looked += 1
        here = open_.bound[depth - 1] if depth else root
        value, here, v, x = descend(arcs, value, here, low, work)
        if looked == 1:
            keep(arcs, work)
        if v >= 0 and not is_closed(value, here):
            _open_subproblem(v, x, here, depth, open_)
            depth += 1
            for other in range(node.shape[1]):
                if other != x:
                    forbid(v, other, low, node, open_)
            continue
        while depth > 0 and (open_.choice[depth - 1, 3] == 1 or is_closed(value, open_.bound[depth - 1])):
            depth -= 1
        if depth == 0:
            allow_again(0, node, open_)
            return value, value
        allow_again(open_.choice[depth - 1, 2], node, open_)
        restore(arcs, work)
        open_.choice[depth - 1, 3] = 1
        forbid(open_.choice[depth - 1, 0], open_.choice[depth - 1, 1], low, node, open_)
    bound = value if depth > 0 else root
    for d in range(depth):
        bound = max(bound, open_.bound[d])
    allow_again(0, node, open_)
    if looked > 0:
        restore(arcs, work)
    return value, min(bound, root)


@leaf
def descend(
    arcs: NodeArcs, value: float, bound: float, low: float, work: BoundedWork
) -> tuple[float, float, int, int]:
    """Sweep on a subproblem; return the best value, its bound, and a node and a state to branch on.

    Messages come from another subproblem: what they say of this one is known after a sweep there and back.
    """
    settle_all(arcs, low, work)
    sweep_open(arcs, True, work)
    now = sweep_open(arcs, False, work)
    v = x = -1
    for _ in range(_SWEEPS):
        value = round_best(arcs, value, work)
        if is_closed(value, min(bound, now)):
            break
        before = now
        v, x = thin_out(arcs, value, now, low, work)
        now = sweep_open(arcs, False, work)
        if v < 0 or before - now < _PAYS * (now - value):
            break
    if v < 0:  # one labelling is left, or none
        value = round_best(arcs, value, work)
    return value, min(bound, now), v, x
