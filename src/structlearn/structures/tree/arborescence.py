"""The best directed tree (Chu and Liu 1965, Edmonds 1967), by growing a path backwards from each node.

Every node takes its best incoming arc. A path of such arcs ends in what is done already (at first: the root
alone), or it closes a cycle. A cycle becomes one node, whose incoming arcs count by how much they are better
than the cycle's own arc that they would replace. Choosing takes O(n) a node, joining O(n) a member: O(n^2).
Afterwards the cycles are opened again, the youngest first (Gabow, Galil, Spencer and Tarjan 1986).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array, Shape, max_value, maximize, workspace
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.core.vectors import assign


class NonProjectiveTreeRecord(NamedTuple):
    """Compiled form of `NonProjectiveTree`."""

    single_root: bool


class ArborescenceWork(NamedTuple):
    """Scratch memory. Nodes 0 .. n are the root and the words, later ones are cycles; gains by table row."""

    #: gain[a, v]: of the best arc from word v into the node of row a; target[a, v]: the word it enters
    gain: Array
    target: Array
    #: row of a node in the two tables
    row: Array
    #: the cycle that a node is a member of, or -1
    parent: Array
    #: for each word, the outermost node that it is in
    outer: Array
    #: the chosen arc into a node: from, to, gain
    source: Array
    entered: Array
    chosen: Array
    #: 0 not visited, 1 on the path, 2 done
    mark: Array
    path: Array
    shifted: Array


@implements(workspace, NonProjectiveTreeRecord)
@jitable
def arborescence_work(structure: NonProjectiveTreeRecord, shape: Shape) -> ArborescenceWork:
    n = shape[1]
    nodes = 2 * n + 2
    integers = np.empty((7, nodes), np.int64)
    return ArborescenceWork(
        np.empty((n + 1, n + 1)),
        np.empty((n + 1, n + 1), np.int64),
        integers[0],
        integers[1],
        integers[2],
        integers[3],
        integers[4],
        np.empty(nodes),
        integers[5],
        integers[6],
        np.empty((n + 1, n)),
    )


@implements(max_value, NonProjectiveTreeRecord)
@implements(maximize, NonProjectiveTreeRecord)
@kernel
def best_arborescence(
    structure: NonProjectiveTreeRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: ArborescenceWork,
    vertex: Array,
) -> float:
    """With a single root: where the best tree has several words under the root, arcs from the root are made
    so much worse that the tree has as few of them as it can.
    """
    n = shape[1]
    scores, tree = theta.reshape(n + 1, n), vertex.reshape(n + 1, n)
    value, roots = _grow(n, scores, work, tree)
    if not structure.single_root or roots == 1 or value == -np.inf:
        return value
    low, high = np.inf, -np.inf
    for h in range(n + 1):
        for m in range(n):
            if scores[h, m] > -np.inf and h != m + 1:
                low, high = min(low, scores[h, m]), max(high, scores[h, m])
    handicap = 1.0 + 2.0 * n * (high - low)
    for h in range(n + 1):
        assign(work.shifted[h], scores[h])
    for m in range(n):
        work.shifted[0, m] -= handicap
    value, roots = _grow(n, work.shifted, work, tree)
    if roots != 1 or value == -np.inf:
        vertex[:] = 0.0
        return -np.inf
    value = 0.0
    for k in range(theta.size):
        if vertex[k] > 0.0:
            value += theta[k]
    return value


@kernel
def _grow(n: int, theta: Array, work: ArborescenceWork, vertex: Array) -> tuple[float, int]:
    """Find the best tree; return its score and its number of words under the root."""
    _start(n, theta, work)
    vertex[:] = 0.0
    nodes = n + 1
    for word in range(1, n + 1):
        node = work.outer[word]
        length = 0
        while work.mark[node] != 2:
            # 1. The best arc into the node at the end of the path.
            work.mark[node] = 1
            work.path[length] = node
            length += 1
            if not _choose(n, node, work):
                return -np.inf, 0
            ahead = work.outer[work.source[node]]
            # 2. A cycle becomes the new end of the path.
            if work.mark[ahead] == 1:
                first = length - 1
                while work.path[first] != ahead:
                    first -= 1
                _join(n, first, length, nodes, work)
                ahead = nodes
                nodes += 1
                length = first
            node = ahead
        # 3. The path leads to what is done: so it is done too.
        for k in range(length):
            work.mark[work.path[k]] = 2
    return _open_cycles(n, nodes, theta, work, vertex)


@kernel
def _start(n: int, theta: Array, work: ArborescenceWork) -> None:
    for a in range(n + 1):
        work.row[a] = work.outer[a] = a
        work.mark[a] = 0
        work.parent[a] = -1
    work.mark[0] = 2
    for a in range(1, n + 1):
        for v in range(n + 1):
            work.gain[a, v] = theta[v, a - 1]
            work.target[a, v] = a
        work.gain[a, a] = -np.inf


@kernel
def _choose(n: int, node: int, work: ArborescenceWork) -> bool:
    """Take the best arc into `node`; False if there is none."""
    gain = work.gain[work.row[node]]
    best = 0
    for v in range(1, n + 1):
        if gain[v] > gain[best]:
            best = v
    work.source[node] = best
    work.entered[node] = work.target[work.row[node], best]
    work.chosen[node] = gain[best]
    return gain[best] > -np.inf


@kernel
def _join(n: int, first: int, last: int, cycle: int, work: ArborescenceWork) -> None:
    """Make the nodes path[first : last] members of a new node, `cycle`, in the row of the first."""
    row = work.row[work.path[first]]
    gain, target = work.gain[row], work.target[row]
    for k in range(first, last):
        member = work.path[k]
        work.parent[member] = cycle
        other, lost = work.row[member], work.chosen[member]
        for v in range(n + 1):
            better = work.gain[other, v] - lost
            if k == first or better > gain[v]:
                gain[v] = better
                target[v] = work.target[other, v]
    for v in range(1, n + 1):
        inside = work.parent[work.outer[v]] == cycle
        if inside:
            work.outer[v] = cycle
            gain[v] = -np.inf
    work.row[cycle] = row
    work.parent[cycle] = -1
    work.mark[cycle] = 1


@kernel
def _open_cycles(
    n: int, nodes: int, theta: Array, work: ArborescenceWork, vertex: Array
) -> tuple[float, int]:
    """Open cycles: an arc into a cycle replaces the arc of the member that it enters."""
    for cycle in range(nodes - 1, n, -1):
        member = work.entered[cycle]
        while work.parent[member] != cycle:
            member = work.parent[member]
        work.source[member] = work.source[cycle]
        work.entered[member] = work.entered[cycle]
    value, roots = 0.0, 0
    for m in range(1, n + 1):
        h = work.source[m]
        vertex[h, m - 1] = 1.0
        value += theta[h, m - 1]
        roots += h == 0
    return value, roots
