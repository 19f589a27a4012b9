"""Partitions of the nodes of a graph into induced forests, compiled: what a search moves at a time.

A forest is *induced* if the edges between its nodes are those of the forest alone: given the states of all
other nodes, its own are a tree model, whose best states, or exact draws, take time linear in its size. Nodes
join in random order where they close no cycle; those that are left over begin the next forest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.bits import mix_bits
from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, leaf
from structlearn.structures.graph.messages import NodeArcs

#: In the place of the arc to a parent, until it is known.
_NEW = -2


class Forests(NamedTuple):
    """Some partitions of the nodes into forests; the nodes of a tree come after their parent.

    order : (partitions, n), the nodes, forest by forest
    arc : (partitions, n), the arc of each node to its parent; -1 at roots
    forest : (partitions, n), the number of each node's forest
    start : (partitions, n + 1), where forests begin in `order`
    n_forests : (partitions,)
    """

    order: Array
    arc: Array
    forest: Array
    start: Array
    n_forests: Array


class ForestScratch(NamedTuple):
    """Scratch memory for one partition."""

    left: Array
    above: Array  # towards the root of a tree, to tell trees apart
    met: Array
    queue: Array


@jitable
def no_forests(n_partitions: int, n_nodes: int) -> Forests:
    """Allocate partitions."""
    shape = (n_partitions, n_nodes)
    order, arc, forest = (
        np.empty(shape, dtype=np.int32),
        np.empty(shape, dtype=np.int32),
        np.empty(shape, dtype=np.int32),
    )
    start = np.empty((n_partitions, n_nodes + 1), dtype=np.int32)
    return Forests(order, arc, forest, start, np.zeros(n_partitions, dtype=np.int32))


@jitable
def forest_scratch(n_nodes: int) -> ForestScratch:
    """Allocate scratch memory."""
    return ForestScratch(
        np.empty(n_nodes, dtype=np.int32),
        np.empty(n_nodes, dtype=np.int32),
        np.empty(n_nodes, dtype=np.int32),
        np.empty(n_nodes, dtype=np.int32),
    )


@leaf
def draw_below(seed: Array, n: int) -> Any:
    """Draw an integer below n; the state of the generator is changed."""
    seed[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.int64(((mix_bits(seed[0]) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@leaf
def _root(above: Array, v: int) -> int:
    while above[v] != v:
        above[v] = above[above[v]]
        v = above[v]
    return v


@leaf
def _joins(arcs: NodeArcs, forest: Array, f: int, v: int, scratch: ForestScratch) -> bool:
    """Join node v to forest f, unless two of its neighbours there are of one tree."""
    n_met = 0
    for p in range(arcs.first[v], arcs.first[v + 1]):
        u = arcs.head[p]
        if forest[u] == f:
            root = _root(scratch.above, u)
            for k in range(n_met):
                if scratch.met[k] == root:
                    return False
            scratch.met[n_met] = root
            n_met += 1
    forest[v] = f
    for k in range(n_met):
        scratch.above[scratch.met[k]] = v
    return True


@leaf
def partition(arcs: NodeArcs, seed: Array, found: Forests, k: int, scratch: ForestScratch) -> None:
    """Make partition k of the nodes into forests."""
    n = arcs.middle.size
    forest, left = found.forest[k], scratch.left
    for v in range(n):
        forest[v], left[v], scratch.above[v] = -1, v, v
    for v in range(n - 1, 0, -1):
        u = draw_below(seed, v + 1)
        left[v], left[u] = left[u], left[v]
    n_left, done, f = n, 0, 0
    while n_left > 0:
        found.start[k, f] = done
        kept = 0
        for q in range(n_left):
            v = left[q]
            if _joins(arcs, forest, f, v, scratch):
                found.order[k, done], found.arc[k, v] = v, _NEW
                done += 1
            else:
                left[kept] = v
                kept += 1
        _parents_first(arcs, found, k, found.start[k, f], done, scratch.queue)
        n_left, f = kept, f + 1
    found.start[k, f] = n
    found.n_forests[k] = f


@leaf
def _parents_first(arcs: NodeArcs, found: Forests, k: int, first: int, last: int, queue: Array) -> None:
    """Order the nodes of one forest so that each comes after its parent, and note the arcs to parents."""
    order, arc, forest = found.order[k], found.arc[k], found.forest[k]
    f = forest[order[first]]
    done = 0
    for q in range(first, last):
        root = order[q]
        if arc[root] != _NEW:
            continue
        arc[root] = -1
        queue[done] = root
        at, done = done, done + 1
        while at < done:
            v = queue[at]
            at += 1
            for p in range(arcs.first[v], arcs.first[v + 1]):
                u = arcs.head[p]
                if forest[u] == f and arc[u] == _NEW:
                    arc[u] = arcs.reverse[p]
                    queue[done] = u
                    done += 1
    for q in range(done):
        order[first + q] = queue[q]
