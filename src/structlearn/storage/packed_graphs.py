"""Packed graphs: examples and labels of nodes, as `GraphClassifier` and `GridClassifier` take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structlearn.storage.lazy_list import LazyList

#: The code of a label that is not known.
UNKNOWN = -1


class PackedGraphs(LazyList[tuple]):
    """Graphs, as tuples (node features, edges[, edge features[, node types]]).

    Attributes
    ----------
    rows : ndarray of shape (all nodes, d)
    starts, edge_starts : ndarrays of shape (n + 1,)
    edges : ndarray of shape (all edges, 2), pairs of nodes, counted in each graph
    edge_features : ndarray of shape (all edges, k), or None
    types, type_names : ndarrays, positions in the names of types; or None
    """

    def __init__(
        self,
        rows: np.ndarray,
        starts: np.ndarray,
        edges: np.ndarray,
        edge_starts: np.ndarray,
        *,
        edge_features: np.ndarray | None = None,
        types: np.ndarray | None = None,
        type_names: np.ndarray | None = None,
    ) -> None:
        self.rows, self.starts = rows, starts
        self.edges, self.edge_starts = edges, edge_starts
        self.edge_features = edge_features
        self.types, self.type_names = types, type_names

    @property
    def shapes(self) -> np.ndarray:
        """The numbers of nodes of the graphs, (n, 1)."""
        return np.diff(self.starts)[:, None]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def _item(self, i: int) -> tuple:
        nodes = slice(self.starts[i], self.starts[i + 1])
        edges = slice(self.edge_starts[i], self.edge_starts[i + 1])
        found = (self.rows[nodes], self.edges[edges])
        features = None if self.edge_features is None else self.edge_features[edges]
        if self.types is None or self.type_names is None:
            return found if features is None else (*found, features)
        return (*found, features, self.type_names[self.types[nodes]])


class PackedNodeLabels(LazyList[np.ndarray]):
    """Labels of nodes, or pixels, as positions in the sorted `classes`; -1 where it is not known.

    Items have the shapes of the nodes, and -1 or, beside names, None for what is not known.
    """

    def __init__(
        self, codes: np.ndarray, starts: np.ndarray, classes: np.ndarray, shapes: np.ndarray
    ) -> None:
        self.codes, self.starts, self.classes, self.shapes = codes, starts, classes, shapes

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.shapes)

    def _item(self, i: int) -> np.ndarray:
        codes = self.codes[self.starts[i] : self.starts[i + 1]].reshape(self.shapes[i])
        labels = self.classes[codes]
        if (codes >= 0).all():
            return labels
        if labels.dtype.kind == "U":
            labels = labels.astype(object)
            labels[codes < 0] = None
            return labels
        return np.where(codes < 0, UNKNOWN, labels)


# ---- packing -----------------------------------------------------------------------------------------


class GraphBatch(NamedTuple):
    """Some graphs, end to end; types as they are named."""

    nodes: np.ndarray
    n_nodes: np.ndarray
    edges: np.ndarray
    n_edges: np.ndarray
    edge_features: np.ndarray | None
    types: np.ndarray | None


def graph_batch(X: Sequence[tuple]) -> GraphBatch:
    """Return the arrays of graphs as `fit` takes them; ValueError where they do not fit together."""
    found = [_columns(one, i) for i, one in enumerate(X)]
    nodes, edges, features, types = zip(*found)
    return GraphBatch(
        np.concatenate(nodes),
        np.array([len(one) for one in nodes]),
        np.concatenate(edges),
        np.array([len(one) for one in edges]),
        _of_all(features, "edge features"),
        _of_all(types, "node types"),
    )


def _columns(one: tuple, i: int) -> tuple[Any, Any, Any, Any]:
    if not isinstance(one, tuple) or len(one) not in (2, 3, 4):
        raise ValueError(
            f"Graph {i} of a batch is not a tuple (nodes, edges[, edge features[, node types]])."
        )
    nodes, edges, features, types = (*one, None, None)[:4]
    nodes, edges = np.asarray(nodes), np.asarray(edges)
    edges = edges.reshape(-1, 2) if not edges.size else edges
    if nodes.ndim != 2 or not len(nodes) or edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(
            f"Graph {i} of a batch has node features of shape {nodes.shape} and edges of {edges.shape}; they "
            "must be (nodes, features) and (edges, 2)."
        )
    if edges.size and edges.dtype.kind not in "iu":
        raise ValueError(f"Graph {i} of a batch: edges are pairs of integers; got {edges.dtype}.")
    check_edges(edges, np.full(len(edges), len(nodes)), f"graph {i} of a batch")
    for name, rows, size, axes in (
        ("edge features", features, len(edges), 2),
        ("node types", types, len(nodes), 1),
    ):
        if rows is not None and (np.ndim(rows) != axes or len(rows) != size):
            raise ValueError(f"Graph {i} of a batch has {name} of shape {np.shape(rows)}; give {size} rows.")
    return nodes, edges.astype(np.int32), features, types


def check_edges(edges: np.ndarray, n_nodes: np.ndarray, where: str) -> None:
    """Raise a ValueError for an edge that leaves its graph of `n_nodes`, or joins a node with itself."""
    wrong = np.flatnonzero((edges < 0).any(axis=1) | (edges >= n_nodes[:, None]).any(axis=1))
    if wrong.size:
        pair = tuple(edges[wrong[0]].tolist())
        raise ValueError(
            f"edge {pair} of {where} leaves the graph: its nodes are 0 .. {n_nodes[wrong[0]] - 1}"
        )
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if loops.size:
        raise ValueError(f"edge {loops[0]} of {where} joins node {edges[loops[0], 0]} with itself")


def _of_all(parts: Sequence[np.ndarray | None], name: str) -> np.ndarray | None:
    given = [np.asarray(one) for one in parts if one is not None]
    if given and len(given) < len(parts):
        raise ValueError(f"Some graphs have {name} and others have none; give them to all or none.")
    return np.concatenate(given) if given else None


def is_known(labels: np.ndarray) -> np.ndarray:
    """Return which labels are neither -1 nor None."""
    if labels.dtype == object:
        return np.array([one is not None and one != UNKNOWN for one in labels], dtype=bool)
    return labels != UNKNOWN if labels.dtype.kind in "if" else np.ones(labels.shape, dtype=bool)
