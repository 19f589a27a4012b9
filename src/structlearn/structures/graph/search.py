"""A search among labellings that leaves local optima: annealing by exact draws of whole forests, compiled.

At a temperature T, the states of an induced forest are drawn from p(y) ~ exp(score / T) given those of all
other nodes, by one pass up and one down its trees (Hamze and de Freitas 2004, "From fields to trees"). T
falls from one at which nearly all is free to one at which nearly nothing is; runs become longer and begin at
the best labelling. With single nodes as forests this is Gibbs sampling; on grids a forest has half of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.bits import mix_bits
from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, leaf
from structlearn.core.vectors import assign
from structlearn.structures.graph.forests import (
    Forests,
    ForestScratch,
    draw_below,
    forest_scratch,
    no_forests,
    partition,
)
from structlearn.structures.graph.messages import NodeArcs, value_of
from structlearn.structures.graph.pair_scores import add_given, pair_score

#: Partitions that a search takes turns in, at random.
_PARTITIONS = 8
#: The first temperature in units of the usual distance of a node's best two states, where its neighbours have
#: random ones, and the last in units of the first. Chosen on random grids and complete graphs.
_FIRST, _LAST = 10.0, 0.006
#: Sweeps of the first run; each further one has twice as many.
_SHORTEST = 16
#: What is less likely than this power of e is not drawn.
_NEVER = -30.0


class AnnealingWork(NamedTuple):
    """Scratch memory; empty where no search is wanted."""

    forests: Forests
    scratch: ForestScratch
    belief: Array  # (n, K)
    weight: Array
    states: Array  # the present labelling
    gap: Array
    seed: Array


@jitable
def annealing_work(n_nodes: int, n_states: int, wanted: bool) -> AnnealingWork:
    """Allocate scratch memory."""
    n = n_nodes if wanted else 0
    return AnnealingWork(
        no_forests(_PARTITIONS, n),
        forest_scratch(n),
        np.empty((n, n_states)),
        np.empty(n_states),
        np.zeros(n, dtype=np.int64),
        np.empty(n),
        np.zeros(1, dtype=np.uint64),
    )


@leaf
def search(
    arcs: NodeArcs, node: Array, table: Array, value: float, bound: float, n_sweeps: int, best: Array,
    work: AnnealingWork, heat: float = 1.0,
) -> float:  # fmt: skip
    """best <- the best labelling met within this number of sweeps; returns its value, `value` at first.

    heat : the first temperature, as a share of the usual one; with little of it a search stays near `best`
    """
    n = arcs.middle.size
    work.seed[0] = np.uint64(0)
    for k in range(_PARTITIONS):
        partition(arcs, work.seed, work.forests, k, work.scratch)
    first = heat * _FIRST * _usual_gap(arcs, node, table, work)
    length, done = _SHORTEST, 0
    while done < n_sweeps and bound - value > 1e-12 * (abs(bound) + abs(value)) and first > 0.0:
        length = min(length, n_sweeps - done)
        if n_sweeps - done - length < length:
            length = n_sweeps - done
        assign(work.states[:n], best[:n])
        value = _anneal(arcs, node, table, value, first, length, best, work)
        done += length
        length *= 2
    return value


@leaf
def _anneal(
    arcs: NodeArcs, node: Array, table: Array, value: float, first: float, n_sweeps: int, best: Array,
    work: AnnealingWork,
) -> float:  # fmt: skip
    """Sweep at falling temperatures, then at next to none."""
    for t in range(n_sweeps + _PARTITIONS):
        if t < n_sweeps:
            temperature, k = first * _LAST ** (t / n_sweeps), draw_below(work.seed, _PARTITIONS)
        else:
            temperature, k = 1e-6 * first, t - n_sweeps
        draw_forests(arcs, node, table, temperature, k, work)
        if 2 * t > n_sweeps:
            found = value_of(arcs, node, table, work.states)
            if found > value:
                value = found
                assign(best[: arcs.middle.size], work.states[: arcs.middle.size])
    return value


@leaf
def draw_forests(
    arcs: NodeArcs, node: Array, table: Array, temperature: float, k: int, work: AnnealingWork
) -> None:
    """Draw the states of all nodes anew, forest by forest of partition k."""
    forests = work.forests
    for f in range(forests.n_forests[k]):
        first, last = forests.start[k, f], forests.start[k, f + 1]
        for q in range(first, last):
            _given_others(arcs, node, table, forests.order[k, q], forests.forest[k], f, work)
        for q in range(last - 1, first - 1, -1):
            v = forests.order[k, q]
            if forests.arc[k, v] >= 0:
                _tell_parent(arcs, table, v, forests.arc[k, v], temperature, work)
        for q in range(first, last):
            v = forests.order[k, q]
            _draw_state(arcs, table, v, forests.arc[k, v], temperature, work)


@leaf
def _given_others(
    arcs: NodeArcs, node: Array, table: Array, v: int, forest: Array, f: int, work: AnnealingWork
) -> None:
    """belief[v, x] <- the score of state x, given the states of neighbours outside of the forest."""
    belief = work.belief[v]
    for x in range(belief.size):
        belief[x] = node[v, x]
    for p in range(arcs.first[v], arcs.first[v + 1]):
        u = arcs.head[p]
        if forest[u] != f:
            e = arcs.edge[p]
            add_given(table, e, arcs.ends[e, 0] == v, work.states[u], belief)


@leaf
def _pair(table: Array, e: int, ahead: bool, own: int, other: int) -> float:
    return pair_score(table, e, own, other) if ahead else pair_score(table, e, other, own)


@leaf
def _tell_parent(
    arcs: NodeArcs, table: Array, v: int, p: int, temperature: float, work: AnnealingWork
) -> None:
    """Add what node v and all below it weigh to the belief of its parent, state by state."""
    belief, weight = work.belief, work.weight
    u, e = arcs.head[p], arcs.edge[p]
    ahead = arcs.ends[e, 0] == v
    for y in range(weight.size):
        top = -np.inf
        for x in range(weight.size):
            weight[x] = belief[v, x] + _pair(table, e, ahead, x, y)
            top = max(top, weight[x])
        total = 0.0
        for x in range(weight.size):
            power = (weight[x] - top) / temperature
            total += np.exp(power) if power > _NEVER else 0.0
        belief[u, y] += top + temperature * np.log(total)


@leaf
def _draw_state(
    arcs: NodeArcs, table: Array, v: int, p: int, temperature: float, work: AnnealingWork
) -> None:
    """Draw the state of node v, given that of its parent."""
    belief, weight = work.belief, work.weight
    if p >= 0:
        e = arcs.edge[p]
        add_given(table, e, arcs.ends[e, 0] == v, work.states[arcs.head[p]], belief[v])
    top = -np.inf
    for x in range(weight.size):
        top = max(top, belief[v, x])
    total = 0.0
    for x in range(weight.size):
        power = (belief[v, x] - top) / temperature
        weight[x] = np.exp(power) if power > _NEVER else 0.0
        total += weight[x]
    work.seed[0] += np.uint64(0x9E3779B97F4A7C15)
    left = total * np.float64(mix_bits(work.seed[0]) >> np.uint64(11)) * 2.0**-53
    found = -1
    for x in range(weight.size):
        if weight[x] > 0.0 and (found < 0 or left >= 0.0):
            found = x
            left -= weight[x]
    work.states[v] = found


@leaf
def _usual_gap(arcs: NodeArcs, node: Array, table: Array, work: AnnealingWork) -> float:
    """Return the median distance of a node's best two states, where its neighbours have random ones."""
    n, k = arcs.middle.size, work.weight.size
    for v in range(n):
        work.states[v] = draw_below(work.seed, k)
    for v in range(n):
        _given_others(arcs, node, table, v, work.forests.start[0], -2, work)
        best, second = -np.inf, -np.inf
        for x in range(k):
            score = work.belief[v, x]
            if score > best:
                best, second = score, best
            else:
                second = max(second, score)
        work.gap[v] = best - second
    return _median(work.gap, n)


@leaf
def _median(values: Array, n: int) -> float:
    """Return about the median of the first values, none of them negative, by halving what it may be."""
    low, high = 0.0, 0.0
    for k in range(n):
        high = max(high, values[k])
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = 0
        for k in range(n):
            below += values[k] <= middle
        if 2 * below < n:
            low = middle
        else:
            high = middle
    return high
