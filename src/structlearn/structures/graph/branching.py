"""Branch and bound on the bounds of message passing, compiled: closes what they leave open.

A subproblem forbids some states of some nodes, by scores as low as those of `lift_forbidden`. Its bound comes
from sweeps that go on from the messages that there are. At the moment at which a sweep visits node v, no
labelling of state x there is better than the bound plus score[x] <= 0 (see `gather`): states that cannot
lead to a better labelling any more are forbidden as well. Depth first: the likeliest state of a node, then
the others of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, leaf
from structlearn.core.vectors import argmax_of
from structlearn.structures.graph.descent import closed, round_best
from structlearn.structures.graph.messages import gather, send_all, sweep

#: Sweeps for a subproblem; they end where one lowers the bound by less than this share of what is missing.
_SWEEPS, _PAYS = 20, 0.02


class BranchWork(NamedTuple):
    """Scratch memory: of each open subproblem node, state, length of the trail, side and bound; the trail."""

    choice: Array  # (depth, 4)
    bound: Array
    trail: Array  # (forbidden states, 2)
    score: Array  # those that were forbidden,
    length: Array  # and how many


@jitable
def branch_work(n_nodes: Any, n_states: Any) -> Any:
    """Each frame of the stack forbids at least one state."""
    size = n_nodes * n_states + 1
    choice, trail = np.empty((size, 4), dtype=np.int64), np.empty((size, 2), dtype=np.int64)
    return BranchWork(choice, np.empty(size), trail, np.empty(size), np.zeros(1, dtype=np.int64))


@leaf
def forbid(v: Any, x: Any, low: Any, node: Any, open_: Any) -> None:
    """State x of node v has no part in the subproblem."""
    if node[v, x] > low:
        j = open_.length[0]
        open_.trail[j, 0], open_.trail[j, 1], open_.score[j] = v, x, node[v, x]
        open_.length[0] = j + 1
        node[v, x] = low


@leaf
def allow_again(length: Any, node: Any, open_: Any) -> None:
    """Take back what was forbidden, down to a length of the trail."""
    for j in range(open_.length[0] - 1, length - 1, -1):
        node[open_.trail[j, 0], open_.trail[j, 1]] = open_.score[j]
    open_.length[0] = length


@leaf
def thin_out(arcs: Any, value: Any, bound: Any, low: Any, work: Any) -> Any:
    """A forward sweep that forbids what cannot be better than `value`; returns a node and state to branch on.

    That node whose best two states are nearest to each other.
    """
    node, messages = work.labels.node, work.messages
    score = messages.score
    best, at, state = np.inf, -1, -1
    for v in range(arcs.middle.size):
        gather(arcs, v, node, messages)
        first = argmax_of(score)
        second, n_left = -np.inf, 0
        for x in range(score.size):
            if node[v, x] > low:
                if bound + score[x] <= value:
                    forbid(v, x, low, node, work.branches)
                else:
                    n_left += 1
                    second = max(second, score[x] if x != first else -np.inf)
        if n_left > 1 and -second < best:
            best, at, state = -second, v, first
        send_all(arcs, v, True, work.labels.table, messages)
    return at, state


@leaf
def push(v: Any, x: Any, bound: Any, depth: Any, open_: Any) -> None:
    """A subproblem is open: node v has state x, or another."""
    choice = open_.choice
    choice[depth, 0], choice[depth, 1], choice[depth, 2], choice[depth, 3] = v, x, open_.length[0], 0
    open_.bound[depth] = bound


@leaf
def branch_and_bound(arcs: Any, value: Any, bound: Any, low: Any, most: Any, work: Any) -> Any:
    """best <- the best labelling; returns its value, a bound, and the number of subproblems looked at."""
    node, open_ = work.labels.node, work.branches
    depth, looked, root = 0, 0, bound
    open_.length[0] = 0
    while looked < most:
        looked += 1
        here = open_.bound[depth - 1] if depth else root
        value, here, v, x = descend(arcs, value, here, low, work)
        if v >= 0 and not closed(value, here):
            push(v, x, here, depth, open_)
            depth += 1
            for other in range(node.shape[1]):
                if other != x:
                    forbid(v, other, low, node, open_)
            continue
        while depth > 0 and (open_.choice[depth - 1, 3] == 1 or closed(value, open_.bound[depth - 1])):
            depth -= 1
        if depth == 0:
            allow_again(0, node, open_)
            return value, value, looked
        allow_again(open_.choice[depth - 1, 2], node, open_)
        open_.choice[depth - 1, 3] = 1
        forbid(open_.choice[depth - 1, 0], open_.choice[depth - 1, 1], low, node, open_)
    bound = value
    for d in range(depth):
        bound = max(bound, open_.bound[d])
    allow_again(0, node, open_)
    return value, min(bound, root), looked


@leaf
def descend(arcs: Any, value: Any, bound: Any, low: Any, work: Any) -> Any:
    """Sweeps on a subproblem: the best value now, its bound, and a node and a state to branch on.

    Messages come from another subproblem: what they say of this one is known after a sweep there and back.
    """
    node, table, messages = work.labels.node, work.labels.table, work.messages
    sweep(arcs, True, node, table, messages)
    now = sweep(arcs, False, node, table, messages)
    v = x = -1
    for _ in range(_SWEEPS):
        value = round_best(arcs, value, work)
        if closed(value, min(bound, now)):
            break
        before = now
        v, x = thin_out(arcs, value, now, low, work)
        now = min(now, sweep(arcs, False, node, table, messages))
        if v < 0 or before - now < _PAYS * (now - value):
            break
    return value, min(bound, now), v, x
