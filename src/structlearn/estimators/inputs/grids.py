"""Pixels of images, and cells of volumes, as graphs: neighbours, and the directions of edges."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.structures.graphs import Graph, grid_graph

#: Steps to neighbours, each pair once, by the number of neighbours; and what they are called.
_STEPS = {
    4: ((0, 1), (1, 0)),
    8: ((0, 1), (1, 0), (1, 1), (1, -1)),
    6: ((0, 0, 1), (0, 1, 0), (1, 0, 0)),
}
_NAMES = {4: ("right", "down"), 8: ("right", "down", "down right", "down left"), 6: ("right", "down", "deep")}


def n_axes(connectivity: int) -> int:
    """Return the number of axes of positions: 2 for images, 3 for volumes; ValueError for other numbers."""
    if connectivity not in _STEPS:
        raise ValueError(f"connectivity is 4 or 8, for images, or 6, for volumes; got {connectivity!r}.")
    return len(_STEPS[connectivity][0])


def direction_names(connectivity: int) -> list[str]:
    """Return the names of the edges' directions, in order."""
    return list(_NAMES[connectivity])


def grid(shape: tuple[int, ...], connectivity: int) -> Graph:
    """Return the cells, row by row and plane by plane, each joined with its neighbours."""
    if len(shape) == 2:
        return grid_graph(*shape, connectivity)
    cell = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    pairs = []
    for axis in (2, 1, 0):  # right, down, deep
        apart = np.moveaxis(cell, axis, 0)
        ends = np.moveaxis(apart[:-1], 0, axis), np.moveaxis(apart[1:], 0, axis)
        pairs.append(np.stack([one.ravel() for one in ends], axis=1))
    return Graph(cell.size, np.concatenate(pairs))


def edge_directions(edges: Array, shape: tuple[int, ...], connectivity: int) -> Array:
    """Return one-hot rows of the directions of a grid's edges; edges of another graph all have the first."""
    if len(shape) == 1:
        return np.eye(1, len(_STEPS[connectivity]))[np.zeros(len(edges), dtype=int)]
    return (_steps(edges, shape)[:, None] == np.array(_STEPS[connectivity])).all(axis=2).astype(np.float64)


def edge_lengths(edges: Array, shape: tuple[int, ...]) -> Array:
    """Return the length of each edge: 1, and sqrt 2 for the diagonals of a grid."""
    return np.ones(len(edges)) if len(shape) == 1 else np.linalg.norm(_steps(edges, shape), axis=1)


def _steps(edges: Array, shape: tuple[int, ...]) -> Array:
    """Return how far each edge leads along each axis."""
    here, there = (np.stack(np.unravel_index(end, shape), axis=1) for end in edges.T)
    return there - here
