"""Gold vertices of padded outputs that are tables: links, paths, label sets, spans with labels.

Each returns None for what is not an output, so that `encode` is asked and says what is wrong.
"""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.structures import ConstituencyTree, LabelGraph, Matching, MonotoneAlignment
from structlearn.structures.base import SparseVertices


def tables_of_links(structure: Matching, y: Array, shapes: Array) -> SparseVertices | None:
    """y : (batch, m, n) of 0 and 1, padded as scores are."""
    table = _inside(y, shapes)
    if table is None:
        return None
    rows, columns = table.sum(axis=2), table.sum(axis=1)
    if (rows > structure.capacities[0]).any() or (columns > structure.capacities[1]).any():
        return None
    if not structure.unmatched:
        m, n = shapes.T
        linked = np.where(m <= n, (rows > 0).sum(axis=1) - m, (columns > 0).sum(axis=1) - n)
        if linked.any():
            return None
    return _cells(table, shapes)


def paths_of_cells(structure: MonotoneAlignment, y: Array, shapes: Array) -> SparseVertices | None:
    """y : (batch, m, n) of 0 and 1, padded as scores are."""
    table = _inside(y, shapes)
    if table is None or not _are_paths(table, shapes, structure.down, structure.right, structure.diagonal):
        return None
    return _cells(table, shapes)


def label_sets(structure: LabelGraph, y: Array, shapes: Array) -> SparseVertices | None:
    """y : (batch, K) of 0 and 1."""
    n_labels, edges = structure.n_labels, np.asarray(structure.edges).reshape(-1, 2)
    if y.shape != (len(shapes), n_labels) or not ((y == 0) | (y == 1)).all():
        return None
    on = y.astype(np.int64)
    owner, label = np.nonzero(on)
    pairs = n_labels + 4 * np.arange(len(edges)) + 2 * on[:, edges[:, 0]] + on[:, edges[:, 1]]
    every = np.repeat(np.arange(len(y)), len(edges))
    return SparseVertices.gather(np.r_[owner, every], np.r_[label, pairs.ravel()], len(y))


def label_spans(structure: ConstituencyTree, y: Array, shapes: Array) -> SparseVertices | None:
    """y : (batch, 2 n - 1, 3), rows (begin, end, label); the first 2 n - 1 of each example count."""
    words = np.rint(np.sqrt(shapes[:, 0])).astype(np.int64)
    if y.ndim != 3 or y.shape[2] != 3 or y.dtype.kind not in "iu" or y.shape[1] < 2 * words.max() - 1:
        return None
    start = np.concatenate([[0], np.cumsum(2 * words - 1)])
    index = np.empty(start[-1], dtype=np.int64)
    spans = np.ascontiguousarray(y, dtype=np.int64)
    if not _write_spans(spans, words, structure.n_labels, start, index):
        return None
    return SparseVertices(start, index, np.ones(index.size))


def _inside(y: Array, shapes: Array) -> Array | None:
    """Return tables with zeros where they are padded; None where they hold more than 0 and 1."""
    if y.ndim != 3 or (np.array(y.shape[1:]) < shapes.max(axis=0)).any() or y.dtype.kind not in "biuf":
        return None
    rows, columns = (np.arange(size) < own[:, None] for size, own in zip(y.shape[1:], shapes.T))
    table = np.where(rows[:, :, None] & columns[:, None, :], y, 0)
    return table.astype(np.int64) if ((table == 0) | (table == 1)).all() else None


def _cells(table: Array, shapes: Array) -> SparseVertices:
    owner, i, j = np.nonzero(table)
    start = np.searchsorted(owner, np.arange(len(table) + 1))
    return SparseVertices(start, i * shapes[owner, 1] + j, np.ones(owner.size))


@kernel
def _are_paths(table: Array, shapes: Array, down: bool, right: bool, diagonal: bool) -> bool:
    """Follow each path from its first cell: by the one neighbour that is on, until all cells are seen."""
    for b in range(table.shape[0]):
        m, n = shapes[b, 0], shapes[b, 1]
        i = j = 0
        left = 0
        for row in range(m):
            for column in range(n):
                left += table[b, row, column]
        if table[b, 0, 0] != 1:
            return False
        while i < m - 1 or j < n - 1:
            left -= 1
            if down and i < m - 1 and table[b, i + 1, j] == 1:
                i += 1
            elif right and j < n - 1 and table[b, i, j + 1] == 1:
                j += 1
            elif diagonal and i < m - 1 and j < n - 1 and table[b, i + 1, j + 1] == 1:
                i, j = i + 1, j + 1
            else:
                return False
        if left != 1:
            return False
    return True


@kernel
def _write_spans(spans: Array, words: Array, n_labels: int, start: Array, index: Array) -> bool:
    """index <- the parts of spans; return whether all are trees.

    2 n - 1 different spans of n words of which no two cross are those of a binary tree: there are no more.
    """
    for b in range(words.size):
        n = words[b]
        for s in range(2 * n - 1):
            begin, end, label = spans[b, s, 0], spans[b, s, 1], spans[b, s, 2]
            if begin < 0 or end <= begin or end > n or label < 0 or label >= n_labels:
                return False
            for other in range(s):
                first, last = spans[b, other, 0], spans[b, other, 1]
                if (
                    (first == begin and last == end)
                    or begin < first < end < last
                    or first < begin < last < end
                ):
                    return False
            index[start[b] + s] = (begin * n + end - 1) * n_labels + label
    return True
