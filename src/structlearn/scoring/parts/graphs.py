"""Features of nodes and of edges: theta = (X w + constant, -F v).

Serves cuts. The weights are w, one a node feature, the constant's where there is one, then v, one an edge
feature. The sign makes a positive weight of an edge feature an attraction: it raises the price of a cut.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array, add_pullback, gram, score, scoring_workspace, squared_norm
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.scoring.base import Scoring, starts_of


class GraphRows(NamedTuple):
    """Compiled form: example i has the rows nodes[i]:nodes[i + 1] of X, and edges[i]:edges[i + 1] of F."""

    X: Array
    F: Array
    nodes: Array
    edges: Array
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

    n_shared = 0

    def __init__(
        self, X: Array, F: Array, n_nodes: Array, n_edges: Array, shapes: Array, *, intercept: bool = False
    ) -> None:
        self.X, self.F = X, F
        self.nodes, self.edges = starts_of(n_nodes, len(X)), starts_of(n_edges, len(F))
        self.start = self.nodes + self.edges
        self.shapes = np.asarray(shapes, dtype=np.int64)
        self.intercept = intercept
        self.n_weights = X.shape[1] + intercept + F.shape[1]

    @property
    def record(self) -> GraphRows:
        return GraphRows(self.X, self.F, self.nodes, self.edges, 0, bool(self.intercept))

    def _part_norms(self, first: int, last: int) -> Array:
        norms = []
        for i in range(first, last):
            X = self.X[self.nodes[i] : self.nodes[i + 1]].astype(np.float64, copy=False)
            F = self.F[self.edges[i] : self.edges[i + 1]].astype(np.float64, copy=False)
            norms += [np.sqrt(np.sum(X * X, axis=1) + self.intercept), np.sqrt(np.sum(F * F, axis=1))]
        return np.concatenate(norms)


@implements(scoring_workspace, GraphRows)
@jitable
def graph_workspace(scoring: Any) -> Any:
    """Phi_i^T delta while its norm is taken."""
    return np.empty(scoring.X.shape[1] + int(scoring.intercept) + scoring.F.shape[1])


@implements(score, GraphRows)
@kernel
def graph_score(scoring: Any, i: Any, w: Any, work: Any, theta: Any) -> None:
    d, n = scoring.X.shape[1], scoring.nodes[i + 1] - scoring.nodes[i]
    constant = w[d] if scoring.intercept else 0.0
    for r in range(n):
        row = scoring.X[scoring.nodes[i] + r]
        total = constant
        for j in range(d):
            total += row[j] * w[j]
        theta[r] = total
    k = scoring.F.shape[1]
    weights = w[w.size - k :]
    for r in range(scoring.edges[i + 1] - scoring.edges[i]):
        row = scoring.F[scoring.edges[i] + r]
        total = 0.0
        for j in range(k):
            total -= row[j] * weights[j]
        theta[n + r] = total


@implements(add_pullback, GraphRows)
@kernel
def graph_add_pullback(scoring: Any, i: Any, delta: Any, scale: Any, w: Any, work: Any) -> None:
    d, n = scoring.X.shape[1], scoring.nodes[i + 1] - scoring.nodes[i]
    for r in range(n):
        if delta[r] != 0.0:
            change = scale * delta[r]
            row = scoring.X[scoring.nodes[i] + r]
            for j in range(d):
                w[j] += change * row[j]
            if scoring.intercept:
                w[d] += change
    k = scoring.F.shape[1]
    weights = w[w.size - k :]
    for r in range(scoring.edges[i + 1] - scoring.edges[i]):
        if delta[n + r] != 0.0:
            change = scale * delta[n + r]
            row = scoring.F[scoring.edges[i] + r]
            for j in range(k):
                weights[j] -= change * row[j]


@implements(squared_norm, GraphRows)
@kernel
def graph_squared_norm(scoring: Any, i: Any, delta: Any, work: Any) -> Any:
    work[:] = 0.0
    graph_add_pullback(scoring, i, delta, 1.0, work, work)
    total = 0.0
    for j in range(work.size):
        total += work[j] * work[j]
    return total


@implements(gram, GraphRows)
@kernel
def graph_gram(scoring: Any, i: Any, delta: Any, wanted: Any, work: Any, out: Any) -> None:
    work[:] = 0.0
    graph_add_pullback(scoring, i, delta, 1.0, work, work)
    graph_score(scoring, i, work, work, out)
