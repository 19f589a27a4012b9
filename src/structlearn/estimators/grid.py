"""Labels for the pixels of images and the cells of volumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.estimators.graph import GraphClassifier
from structlearn.estimators.inputs.graphs import Examples, Images, read_examples
from structlearn.estimators.inputs.grids import direction_names, edge_directions
from structlearn.estimators.scikit import Rows
from structlearn.estimators.training.fresh_fit import of_fit


@dataclass(kw_only=True, eq=False, repr=False)
class GridClassifier(GraphClassifier):
    """One of K labels for each pixel of an image, or cell of a volume: graphs that are grids.

    X is a list of arrays of shape (rows, columns, d) or, of volumes, (planes, rows, columns, d).

    Parameters
    ----------
    connectivity : 4, 8 or 6
        The neighbours of a pixel, or of a cell of a volume (6).
    directional : bool
        Whether each direction (right, down, with 8 neighbours both diagonals, of volumes deep) has tables of
        its own.

    Examples
    --------
    >>> import numpy as np
    >>> from structlearn import GridClassifier
    >>> labels = np.array([[0, 0, 1], [0, 2, 1]])
    >>> image = np.eye(3)[labels]
    >>> GridClassifier(random_state=0).fit([image], [labels]).predict([image])[0].tolist()
    [[0, 0, 1], [0, 2, 1]]
    """

    connectivity: int = 4
    directional: bool = True

    of_layout: ClassVar[tuple[str, ...]] = ("pairs", "connectivity", "directional")

    def _examples(self, X: Images) -> Examples:
        return read_examples(X, of_fit(self, "connectivity"))

    def _edge_rows(self, examples: Examples, nodes: Rows, memory: Memory) -> Array:
        if examples.edge_features is not None or not of_fit(self, "directional"):
            return super()._edge_rows(examples, nodes, memory)
        ends, width = np.cumsum(examples.n_edges), len(direction_names(of_fit(self, "connectivity")))
        rows = memory.empty(ends[-1] * width, examples.nodes.dtype).reshape(-1, width)
        for end, (edges, shape) in zip(ends, examples.edge_lists):
            rows[end - len(edges) : end] = edge_directions(edges, shape, of_fit(self, "connectivity"))
        return rows

    def edge_names(self) -> list[str]:
        """Return the names of the edge features: directions, if these are the features."""
        names = direction_names(of_fit(self, "connectivity")) if of_fit(self, "directional") else []
        return names if len(names) == self._n_edge_features else super().edge_names()
