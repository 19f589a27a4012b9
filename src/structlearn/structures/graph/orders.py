"""Orders in which nodes are eliminated (see `elimination`): leaves first, or min-fill, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.structures.graphs import Graph
from structlearn.structures.labels.label_tree import edges_form_forest

#: No order is looked for in graphs with cycles and more nodes: sets of nodes would take more than 32 MB.
MOST_NODES = 1 << 14
_WORD = 64


class EliminationOrder(NamedTuple):
    """One graph's order: nodes, and the separator of each, by the time of elimination."""

    nodes: list[int]
    separators: list[list[int]]

    @property
    def width(self) -> int:
        """The size of the largest separator."""
        return max(map(len, self.separators))


def elimination_order(graph: Graph, widest: int) -> EliminationOrder | None:
    """Eliminate next the node that adds the fewest edges (min-fill); return None above a width."""
    if widest >= 1 and edges_form_forest(graph.n_nodes, graph.edges):
        return _leaves_first(graph)
    if graph.n_nodes > MOST_NODES:
        return None
    nodes = np.empty(graph.n_nodes, dtype=np.int64)
    near = np.zeros((graph.n_nodes, -(-graph.n_nodes // _WORD)), dtype=np.uint64)
    if not min_fill(graph.edges, widest, near, nodes):
        return None
    time = np.empty_like(nodes)
    time[nodes] = np.arange(nodes.size)
    bits = np.unpackbits(near[nodes].view(np.uint8), axis=1, bitorder="little")
    separators = [np.flatnonzero(row) for row in bits]
    return EliminationOrder(nodes.tolist(), [one[np.argsort(time[one])].tolist() for one in separators])


def _leaves_first(graph: Graph) -> EliminationOrder:
    """Order a forest: each node after its children."""
    neighbours: list[list[int]] = [[] for _ in range(graph.n_nodes)]
    for a, b in graph.edges.tolist():
        neighbours[a].append(b)
        neighbours[b].append(a)
    parent = [-1] * graph.n_nodes
    met: list[int] = []
    seen = bytearray(graph.n_nodes)
    for root in range(graph.n_nodes):
        stack = [] if seen[root] else [root]
        seen[root] = 1
        while stack:
            v = stack.pop()
            met.append(v)
            for u in neighbours[v]:
                if not seen[u]:
                    seen[u], parent[u] = 1, v
                    stack.append(u)
    met.reverse()
    return EliminationOrder(met, [[parent[v]] if parent[v] >= 0 else [] for v in met])


@kernel
def min_fill(edges: Array, widest: int, near: Array, nodes: Array) -> bool:
    """nodes <- the order, near[v] <- the separator of v, as bits; False where one is larger than `widest`.

    near : zeros of shape (n, n / 64)
    """
    n = nodes.size
    for e in range(edges.shape[0]):
        _add_bit(near[edges[e, 0]], edges[e, 1])
        _add_bit(near[edges[e, 1]], edges[e, 0])
    fill, degree = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    left = np.ones(n, dtype=np.bool_)
    for v in range(n):
        degree[v], fill[v] = missing_pairs(v, near)
    changed = np.zeros(near.shape[1], dtype=np.uint64)
    for t in range(n):
        best = -1
        for v in range(n):
            if left[v] and (
                best < 0 or fill[v] < fill[best] or (fill[v] == fill[best] and degree[v] < degree[best])
            ):
                best = v
        if degree[best] > widest:
            return False
        nodes[t], left[best] = best, False
        _join_neighbours(best, near, changed)
        for k in range(changed.size):
            while changed[k] != 0:
                u = k * _WORD + lowest(changed[k])
                changed[k] &= changed[k] - np.uint64(1)
                degree[u], fill[u] = missing_pairs(u, near)
    return True


@kernel
def _join_neighbours(v: int, near: Array, changed: Array) -> None:
    """Join the neighbours of v with each other, and remove v; `changed` marks those whose fill may change."""
    for j in range(near.shape[1]):
        word = near[v, j]
        while word != 0:
            u = j * _WORD + lowest(word)
            word &= word - np.uint64(1)
            _add_bit(changed, u)
            _add_bit(near[u], u)  # so that u is not new to itself
            new = False
            for k in range(near.shape[1]):
                new |= near[v, k] & ~near[u, k] != 0
                near[u, k] |= near[v, k]
            _remove_bit(near[u], u)
            _remove_bit(near[u], v)
            if new:
                for k in range(near.shape[1]):
                    changed[k] |= near[u, k]


@kernel
def missing_pairs(v: int | np.int64, near: Array) -> tuple[int, np.int64]:
    """Return the number of v's neighbours, and twice that of their pairs that are no neighbours."""
    degree, joined = 0, np.int64(0)
    for j in range(near.shape[1]):
        word = near[v, j]
        while word != 0:
            u = j * _WORD + lowest(word)
            word &= word - np.uint64(1)
            degree += 1
            for k in range(near.shape[1]):
                joined += count_bits(near[v, k] & near[u, k])
    return degree, degree * (degree - 1) - joined


@kernel
def _add_bit(bits: Array, v: int | np.int64) -> None:
    bits[v // _WORD] |= np.uint64(1) << np.uint64(v % _WORD)


@kernel
def _remove_bit(bits: Array, v: int | np.int64) -> None:
    bits[v // _WORD] &= ~(np.uint64(1) << np.uint64(v % _WORD))


@kernel
def lowest(word: np.uint64) -> np.int64:
    """Return the place of the lowest one."""
    return count_bits((word & (~word + np.uint64(1))) - np.uint64(1))


@kernel
def count_bits(word: np.uint64) -> np.int64:
    """Count the ones in a word, summed in ever wider fields."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
