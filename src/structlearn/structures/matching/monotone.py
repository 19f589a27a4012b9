"""Monotone alignments: paths through a grid, as in dynamic time warping."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array, Shape, log_partition, marginals_workspace
from structlearn.structures.base import Structure, Weights, nothing_allowed
from structlearn.structures.matching.monotone_paths import MonotoneRecord, draw_paths
from structlearn.structures.registry import stored


@stored("monotone paths through a grid", {"down": bool, "right": bool, "diagonal": bool})
class MonotoneAlignment(Structure):
    """Paths from the first to the last cell of an (m, n) grid, which never go up or left.

    The parts are the cells, an (m, n) table; an output is such a table with 1 on the cells of its path.
    `maximize` is dynamic time warping, `marginals` its soft version (forward-backward); O(m n).

    With `right=False` every row has exactly one cell, and its column stays or grows by one: a forced
    alignment of m frames to n states. The alignments of CTC are of this kind, over the labels with blanks
    between them as states, but for two liberties: they may leave out a blank between unlike labels, and
    begin and end with a blank or without.

    Parameters
    ----------
    down, right, diagonal : bool
        The moves from a cell: to the next row, the next column, or both at once.

    """

    part_ndim = 2

    def __init__(self, down: bool = True, right: bool = True, diagonal: bool = True) -> None:
        if not (down or right or diagonal):
            raise ValueError("A path needs a move; got down=False, right=False, diagonal=False.")
        self.down, self.right, self.diagonal = down, right, diagonal

    @property
    def record(self) -> MonotoneRecord:
        return MonotoneRecord(bool(self.down), bool(self.right), bool(self.diagonal))

    def shape(self, theta: Array) -> Shape:
        if np.ndim(theta) != 2 or np.size(theta) == 0:
            raise ValueError(f"An alignment needs a table of scores (m, n); got shape {np.shape(theta)}.")
        m, n = np.shape(theta)
        if not self.fits((m, n)):
            raise ValueError(f"No path of these moves leads through a grid of shape {(m, n)}.")
        return m, n

    def fits(self, shape: Shape | Array) -> bool | Array:
        m, n = shape
        fits = (m >= 1) & (n >= 1)
        if not self.right:
            fits = fits & ((m >= n) if self.diagonal else (n == 1))
        if not self.down:
            fits = fits & ((n >= m) if self.diagonal else (m == 1))
        return fits

    def most_entries(self, shape: Shape) -> int:
        return shape[0] + shape[1] - 1

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return the (m, n) table of a path: its cells are 1, all others 0."""
        mu = np.array(y, dtype=np.float64)
        m, n = self.shape(mu)
        if shape is not None and (m, n) != tuple(shape):
            raise ValueError(f"The path has the shape {(m, n)} but the scores have {tuple(shape)}.")
        if not ((mu == 0) | (mu == 1)).all():
            raise ValueError("A path is a table of 0 and 1.")
        cells = self.path(mu)
        if not len(cells) or cells[0].any() or cells[-1].tolist() != [m - 1, n - 1]:
            raise ValueError(f"A path leads from the cell (0, 0) to the last one, {(m - 1, n - 1)}.")
        moves = {(1, 0): self.down, (0, 1): self.right, (1, 1): self.diagonal}
        for here, step in zip(cells.tolist(), np.diff(cells, axis=0).tolist()):
            if not moves.get(tuple(step), False):
                raise ValueError(f"No move leads from the cell {tuple(here)} to the next one of the path.")
        return mu

    def decode(self, vertex: Array) -> Array:
        """Return the (m, n) table of the path's cells, of 0 and 1."""
        return np.rint(vertex).astype(np.int64)

    def path(self, vertex: Array) -> Array:
        """Return the cells of a path in their order, rows (i, j)."""
        return np.argwhere(np.asarray(vertex) > 0.5)

    def cost(
        self, mu: Array, *, weights: object = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Return 1 on each cell beside the path and -1 on its own, over the number of these if normalised."""
        if weights is not None or nodes is not None:
            raise ValueError("Cells of alignments all weigh the same; leave weights and nodes out.")
        mu = np.asarray(mu, dtype=np.float64)
        c = 1.0 - 2.0 * mu
        return c / mu.sum() if normalized else c

    def sample(self, theta: Array, n: int, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw `n` independent paths of p(y) ~ exp <theta, z(y)>, as tables (n, rows, columns)."""
        if n < 0:
            raise ValueError(f"The number of samples must be at least 0; got {n}.")
        theta, shape = self.read_scores(theta)
        work, flat = marginals_workspace(self.record, shape), theta.ravel()
        if log_partition(self.record, shape, flat, flat[:0], work, flat) == -np.inf:
            raise nothing_allowed("The score table")
        tables = np.empty((n, *shape), dtype=np.int64)
        uniform = np.random.default_rng(random_state).random((n, sum(shape)))
        draw_paths(self.record, shape, work.reached, uniform, tables)
        return tables
