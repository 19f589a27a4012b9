"""Vertices of many examples: whether they fit their examples, and some of them as dense vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structlearn.core.contract import Array
from structlearn.structures.base import SparseVertices


def vertices_fit(vertices: SparseVertices, sizes: Array, ranges: Sequence[tuple[int, int]]) -> bool:
    """Return whether vertices have only parts of their examples: compiled code relies on it.

    sizes : the number of parts of each example
    ranges : examples to look at together
    """
    start, index = vertices.start, vertices.index
    if start.size != sizes.size + 1 or not start[-1] == index.size == vertices.value.size:
        return False
    for first, last in ranges:
        some = index[start[first] : start[last]]
        most = np.repeat(sizes[first:last], np.diff(start[first : last + 1]))
        if ((some < 0) | (some >= most)).any():
            return False
    return True


def dense_blocks(vertices: SparseVertices, point_start: Array, first: int, last: int) -> Array:
    """Return the part vectors of examples first .. last - 1, end to end as `point_start` has them."""
    start = point_start[first : last + 1] - point_start[first]
    entries = slice(vertices.start[first], vertices.start[last])
    found = np.zeros(start[-1])
    begins = np.repeat(start[:-1], np.diff(vertices.start[first : last + 1]))
    found[begins + vertices.index[entries]] = vertices.value[entries]
    return found
