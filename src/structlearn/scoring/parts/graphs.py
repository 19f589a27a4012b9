"""Features of nodes and of edges: theta = (X w + constant, -F v).

Serves cuts. The weights are w, one a node feature, the constant's where there is one, then v, one an edge
feature. The sign makes a positive weight of an edge feature an attraction: it raises the price of a cut.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array, add_pullback, score
from structlearn.core.kernels import implements, leaf
from structlearn.scoring.base import Scoring, contiguous, starts_of
from structlearn.scoring.defaults import by_pullback
from structlearn.scoring.parts.parts import add_rows, plus_dot, score_rows


class GraphRows(NamedTuple):
    """Compiled form: example i has the rows nodes[i]:nodes[i + 1] of X, and edges[i]:edges[i + 1] of F."""

    X: Array
    F: Array
    nodes: Array
    edges: Array
    n_weights: int
    n_shared: int
    intercept: bool


class GraphScoring(Scoring):
    """theta_i = (X_i w + constant, -F_i v), all parts local.

    Parameters
    ----------
    X : ndarray of shape (all examples' nodes, d), float32 or float64
    F : ndarray of shape (all examples' edges, k), of the same type
    n_nodes, n_edges : int arrays of shape (n_examples,)
    shapes : int array of shape (n_examples, 2)
        As the structure counts them.
    intercept : bool
        Whether every node has one more feature, the constant 1.
    """

    def __init__(
        self, X: Array, F: Array, n_nodes: Array, n_edges: Array, shapes: Array, *, intercept: bool = False
    ) -> None:
        self.X, self.F = contiguous(X), contiguous(F)
        self.nodes, self.edges = starts_of(n_nodes, len(X)), starts_of(n_edges, len(F))
        self.start = self.nodes + self.edges
        self.shapes = np.asarray(shapes, dtype=np.int64)
        self.intercept = intercept
        self.n_weights = X.shape[1] + intercept + F.shape[1]

    @property
    def record(self) -> GraphRows:
        return GraphRows(self.X, self.F, self.nodes, self.edges, self.n_weights, 0, bool(self.intercept))

    def _part_norms(self, first: int, last: int) -> Array:
        norms = []
        for i in range(first, last):
            X = self.X[self.nodes[i] : self.nodes[i + 1]].astype(np.float64, copy=False)
            F = self.F[self.edges[i] : self.edges[i + 1]].astype(np.float64, copy=False)
            norms += [np.sqrt(np.sum(X * X, axis=1) + self.intercept), np.sqrt(np.sum(F * F, axis=1))]
        return np.concatenate(norms)


by_pullback(GraphRows)


@implements(score, GraphRows)
@leaf
def graph_score(scoring: Any, i: Any, w: Any, work: Any, theta: Any) -> None:
    n = scoring.nodes[i + 1] - scoring.nodes[i]
    score_rows(scoring.X, scoring.nodes[i], scoring.nodes[i + 1], w, scoring.intercept, theta)
    weights = w[w.size - scoring.F.shape[1] :]
    for r in range(scoring.edges[i + 1] - scoring.edges[i]):
        theta[n + r] = 0.0 - plus_dot(0.0, scoring.F[scoring.edges[i] + r], weights)


@implements(add_pullback, GraphRows)
@leaf
def graph_add_pullback(scoring: Any, i: Any, delta: Any, scale: Any, w: Any, work: Any) -> None:
    n = scoring.nodes[i + 1] - scoring.nodes[i]
    add_rows(scoring.X, scoring.nodes[i], scoring.nodes[i + 1], delta, scale, scoring.intercept, w)
    weights = w[w.size - scoring.F.shape[1] :]
    add_rows(scoring.F, scoring.edges[i], scoring.edges[i + 1], delta[n:], -scale, False, weights)
