"""Images and graphs as users pass them: node features, edges, and features of edges."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.estimators.inputs.checking import ROWS_AT_ONCE, LaidOut, as_list, stack_examples
from structlearn.estimators.inputs.grids import grid, n_axes
from structlearn.estimators.scikit import Rows
from structlearn.scoring import JointScoring, RowScoring
from structlearn.storage.packed_graphs import PackedGraphs
from structlearn.structures.graphs import Graph, make_graph

#: An image, or the nodes, the edges, and perhaps the edges' features, of a graph.
Image: TypeAlias = ArrayLike | tuple[ArrayLike, ...]
Images: TypeAlias = Sequence[Image] | Array


class Example(NamedTuple):
    """One image or graph."""

    #: (n_nodes, d)
    features: Array
    graph: Graph
    #: (E, k), where given
    edge_features: Array | None
    #: that of its labels: (rows, columns) or (n_nodes,)
    shape: tuple[int, ...]
    #: (n_nodes,), where nodes have types
    types: Array | None = None


class Examples(NamedTuple):
    """All examples, end to end."""

    nodes: Array
    graphs: list[Graph]
    #: which graph each example has
    which: Array
    #: given edge features of all examples, or none
    edge_features: Array | None
    shapes: list[tuple[int, ...]]
    #: types of the nodes of each example, or none
    types: list[Array] | None = None

    @property
    def n_nodes(self) -> Array:
        return np.array([self.graphs[g].n_nodes for g in self.which])

    @property
    def n_edges(self) -> Array:
        return np.array([len(self.graphs[g].edges) for g in self.which])

    @property
    def edge_lists(self) -> list[tuple[Array, tuple[int, ...]]]:
        """The edges of each example, and the shape of its labels."""
        return [(self.graphs[g].edges, shape) for g, shape in zip(self.which, self.shapes)]

    @property
    def ends(self) -> Array:
        """Edges of all examples, as rows of `nodes`."""
        first = np.concatenate([[0], np.cumsum(self.n_nodes)])
        return np.concatenate([self.graphs[g].edges + first[i] for i, g in enumerate(self.which)])


def read_examples(X: Images, connectivity: int) -> Examples:
    """Read a list of images, (rows, columns, d) arrays, and graphs, tuples (nodes, edges[, edge features]).

    Packed ones are not copied.
    """
    grids: dict[tuple[int, ...], Graph] = {}
    noun = "Graph" if all(isinstance(x, tuple) for x in as_list(X, "X")) else "Image"
    read = [_read_one(x, connectivity, grids, f"{noun} {i}") for i, x in enumerate(X)]
    if isinstance(X, LaidOut):
        nodes, _ = stack_examples(X, ndim=X.shapes.shape[1] + 1, noun=noun)
        given = _finite(X.edge_features, nodes.dtype) if isinstance(X, PackedGraphs) else None
    else:
        nodes, _ = stack_examples([one.features for one in read], ndim=2, noun=noun)
        given = _stack_edge_features([one.edge_features for one in read], nodes.dtype, noun)
    graphs, which = _distinct(read)
    types = _all_types([one.types for one in read])
    return Examples(nodes, graphs, which, given, [one.shape for one in read], types)


def _read_one(x: Image, connectivity: int, grids: dict[tuple[int, ...], Graph], name: str) -> Example:
    if isinstance(x, tuple):
        return _read_graph(x, name)
    if sparse.issparse(x) or np.ndim(x) != n_axes(connectivity) + 1:
        axes = (
            "(rows, columns, features)" if n_axes(connectivity) == 2 else "(planes, rows, columns, features)"
        )
        raise ValueError(
            f"{name} must be an array of shape {axes}, or a tuple (node features, edges) "
            f"of a graph; got {np.ndim(x)} axes (a grey image needs a last axis of length 1)."
        )
    pixels = np.asarray(x)
    shape = pixels.shape[:-1]
    if 0 in shape:
        raise ValueError(f"{name} is empty.")
    if shape not in grids:
        grids[shape] = grid(shape, connectivity)
    return Example(pixels.reshape(-1, pixels.shape[-1]), grids[shape], None, shape)


def _read_graph(x: tuple[ArrayLike, ...], name: str) -> Example:
    if len(x) not in (2, 3, 4):
        raise ValueError(
            f"{name} is a tuple of {len(x)}; a graph is (nodes, edges[, edge features[, node types]])."
        )
    if sparse.issparse(x[0]) or sparse.issparse(x[1]):
        raise ValueError(f"{name} has a sparse matrix; node features and edges are arrays (`.toarray()`).")
    nodes = np.asarray(x[0])
    if nodes.ndim != 2:
        raise ValueError(f"{name} must have node features of shape (nodes, features); got {nodes.shape}.")
    try:
        graph = make_graph(len(nodes), x[1], copy=False)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    features = None
    if len(x) > 2 and x[2] is not None:
        features = np.asarray(x[2])
        if features.dtype.kind not in "biuf":
            raise ValueError(f"{name} has edge features that are no numbers; got {features.dtype}.")
        features = features.astype(features.dtype if features.dtype.kind == "f" else np.float64, copy=False)
        if features.ndim != 2 or len(features) != len(graph.edges) or not features.shape[1]:
            raise ValueError(
                f"{name} has {len(graph.edges)} edges but edge features of shape {features.shape}; give one "
                "row an edge."
            )
    types = np.asarray(x[3]) if len(x) == 4 else None
    if types is not None and (types.shape != (len(nodes),) or types.dtype.kind not in "iuU"):
        raise ValueError(
            f"{name} has {len(nodes)} nodes but types of shape {types.shape} ({types.dtype}); give a whole "
            "number or a name for each."
        )
    return Example(nodes, graph, features, (len(nodes),), types)


def _all_types(types: Sequence[Array | None]) -> list[Array] | None:
    found = [one for one in types if one is not None]
    if found and len(found) < len(types):
        raise ValueError("Some graphs have node types and others have none; give them to all or none.")
    return found or None


def _distinct(examples: Sequence[Example]) -> tuple[list[Graph], Array]:
    """Return the distinct graphs, by edges and types of nodes, and the number of each example's graph."""
    numbers: dict[tuple[object, ...], int] = {}
    which = [numbers.setdefault(_key(one), len(numbers)) for one in examples]
    _, first = np.unique(which, return_index=True)
    return [examples[i].graph for i in first], np.array(which)


def _key(one: Example) -> tuple[object, ...]:
    types = None if one.types is None else tuple(one.types.tolist())
    return one.graph.n_nodes, sha256(one.graph.edges.tobytes()).digest(), types


def _stack_edge_features(given: Sequence[Array | None], dtype: DTypeLike, noun: str) -> Array | None:
    have = [one is not None for one in given]
    if not any(have):
        return None
    if not all(have):
        missing = have.index(False)
        raise ValueError(f"{noun} {missing} has no edge features but others have; give them to all or none.")
    widths = [one.shape[1] for one in given if one is not None]
    odd = np.flatnonzero(np.array(widths) != widths[0])
    if odd.size:
        raise ValueError(f"{noun} {odd[0]} has {widths[odd[0]]} edge features but {noun} 0 has {widths[0]}.")
    return _finite(np.concatenate([one for one in given if one is not None]), dtype)


def _finite(rows: Array | None, dtype: DTypeLike) -> Array | None:
    if rows is None:
        return None
    if not all(np.isfinite(rows[a : a + ROWS_AT_ONCE]).all() for a in range(0, len(rows), ROWS_AT_ONCE)):
        raise ValueError("Edge features must be finite; got NaN or infinity.")
    return rows.astype(dtype, copy=False)


def graph_scoring(
    examples: Examples,
    nodes: Rows,
    edges: Array,
    shapes: Array,
    sizes: tuple[int, int] = (1, 1),
    *,
    intercept: bool,
    memory: Memory | None = None,
) -> JointScoring:
    """Return the scoring of nodes and of edges from their rows of features.

    shapes : (n_examples, 2), as the structure counts them. sizes : parts of a node and of an edge
    """
    local = RowScoring(nodes, examples.n_nodes, sizes[0], intercept=intercept, memory=memory)
    pairs = RowScoring(edges, examples.n_edges, sizes[1], memory=memory)
    return JointScoring(local, pairs, shapes=shapes)


def check_edge_features(scoring: JointScoring, expected: int) -> None:
    given = scoring.pairs.X.shape[1]
    if given != expected:
        raise ValueError(f"X has {given} edge features, but the model was trained with {expected}.")


def squared_contrasts(examples: Examples) -> Array:
    """Return ||x_i - x_j||^2 of every edge, over the node features."""
    nodes, ends = examples.nodes.astype(np.float64, copy=False), examples.ends
    return np.square(nodes[ends[:, 0]] - nodes[ends[:, 1]]).sum(axis=1)
