"""Graphs in one .npz file of NumPy: the nodes and edges of all of them, end to end.

    nodes           (all nodes, d)        features
    edges           (all edges, 2)        pairs of nodes, counted from 0 in each graph
    sizes           (graphs, 2)           how many nodes and edges each graph has; without it there is one
    edge_features   (all edges, k)        where edges have features
    node_types      (all nodes,)          where nodes have types
    labels          (all nodes,)          whole numbers, -1 where it is not known
    positions       (all nodes, 2)        where a drawing has the nodes: right and down

All but the first two may be missing. Features are finite. Nothing is pickled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.data.archives import read_arrays, unusable_at
from structlearn.data.scalars import LARGEST_FEATURE
from structlearn.storage.atomic import atomic_write
from structlearn.storage.errors import DataError, StrPath

if TYPE_CHECKING:
    from structlearn.core.contract import Array

#: Arrays with a row per node, and per edge.
_OF_NODES = ("nodes", "node_types", "labels", "positions")
_OF_EDGES = ("edges", "edge_features")
_AXES = {"nodes": 2, "edges": 2, "edge_features": 2, "positions": 2, "node_types": 1, "labels": 1, "sizes": 2}
_WHOLE = ("edges", "node_types", "labels", "sizes")


class GraphFile(NamedTuple):
    """What a file of graphs holds.

    X : tuples (node features, edges[, edge features[, node types]]), as `GraphClassifier` takes them
    y : labels of the nodes of each graph, or None
    positions : of the nodes of each graph, or None
    arrays : as they are in the file
    """

    X: list[tuple[Array | None, ...]]
    y: list[Array] | None
    positions: list[Array] | None
    arrays: Mapping[str, Array]


def read_graphs(path: StrPath) -> GraphFile:
    """Read the graphs of an .npz file; DataError if its arrays do not fit together."""
    arrays = read_arrays(path, _AXES)
    for name in ("nodes", "edges"):
        if name not in arrays:
            raise DataError(f"{os.fspath(path)} has no array {name}.")
    try:
        arrays = {name: _check_array(name, array) for name, array in arrays.items()}
        of_nodes, of_edges = _pieces(arrays)
    except ValueError as error:
        raise DataError(f"{os.fspath(path)} is no .npz file of graphs: {error}.") from None
    columns: list[Sequence[Array | None]] = [of_nodes["nodes"], of_edges["edges"]]
    if "edge_features" in of_edges or "node_types" in of_nodes:
        columns.append(of_edges.get("edge_features", [None] * len(columns[0])))
    if "node_types" in of_nodes:
        columns.append(of_nodes["node_types"])
    return GraphFile(list(zip(*columns)), of_nodes.get("labels"), of_nodes.get("positions"), arrays)


def _check_array(name: str, array: Array) -> Array:
    """Return an array of as many axes as it must have; those of whole numbers as such."""
    if name == "edges" and array.size == 0:
        array = array.reshape(0, 2)
    if array.ndim != _AXES[name]:
        axes = "2 axes" if _AXES[name] == 2 else "1 axis"
        raise ValueError(f"{name} must have {axes}, not {array.ndim}")
    if array.ndim == 2 and not array.shape[1]:
        raise ValueError(f"{name} has no columns")
    if name in ("edges", "sizes", "positions") and array.shape[1] != 2:
        raise ValueError(f"{name} must have 2 columns, not {array.shape[1]}")
    if name not in _WHOLE:
        return array
    with np.errstate(invalid="ignore"):
        whole = array.astype(np.int64)
    wrong = np.argwhere(whole != array)
    if wrong.size:
        raise ValueError(f"{name} must hold whole numbers, not {array[tuple(wrong[0])]} (row {wrong[0, 0]})")
    if name == "labels" and whole.min(initial=0) < -1:
        raise ValueError(f"labels must be at least 0, or -1 for unknown ones, not {whole.min()}")
    return whole


def _pieces(arrays: Mapping[str, Array]) -> tuple[dict[str, list[Array]], dict[str, list[Array]]]:
    """Return every array cut into its graphs: those of nodes, and those of edges."""
    n_nodes, n_edges = len(arrays["nodes"]), len(arrays["edges"])
    sizes = arrays.get("sizes", np.array([[n_nodes, n_edges]]))
    empty = np.flatnonzero((sizes < (1, 0)).any(axis=1))
    if not len(sizes) or empty.size:
        found = (
            "{} nodes and {} edges in graph {}".format(*sizes[empty[0]], empty[0]) if empty.size else "none"
        )
        raise ValueError(f"there must be one graph or more, each with a node or more, not {found}")
    total = sizes.sum(axis=0, dtype=object).tolist()  # which cannot overflow
    if total != [n_nodes, n_edges]:
        raise ValueError(
            f"sizes must add up to the {n_nodes} nodes and {n_edges} edges that there are, not to {total[0]} "
            f"and {total[1]}"
        )
    of_nodes, of_edges = _cut(arrays, _OF_NODES, sizes[:, 0]), _cut(arrays, _OF_EDGES, sizes[:, 1])
    _check_edges(arrays["edges"], sizes)
    for name, column in (("nodes", 0), ("edge_features", 1)):
        if name in arrays:
            _check_features(name, arrays[name], sizes[:, column])
    return of_nodes, of_edges


def _check_edges(edges: Array, sizes: Array) -> None:
    last = np.repeat(sizes[:, 0], sizes[:, 1]) - 1
    outside = (edges.min(axis=1, initial=0) < 0) | (edges.max(axis=1, initial=0) > last)
    wrong = np.flatnonzero(outside | (edges[:, 0] == edges[:, 1]))
    if wrong.size:
        graph, edge = _place(wrong[0], sizes[:, 1])
        pair = tuple(edges[wrong[0]].tolist())
        raise ValueError(
            f"edge {edge} of graph {graph} is {pair}; it must join two of the nodes 0 to {last[wrong[0]]}"
        )


def _check_features(name: str, array: Array, lengths: Array) -> None:
    at = unusable_at(array)
    if at is not None:
        raise ValueError(
            f"{name} has {array[at]:g} in row {at[0]}, column {at[1]}, of graph {_place(at[0], lengths)[0]}; "
            f"features are numbers of at most {LARGEST_FEATURE:g}"
        )


def _place(row: int, lengths: Array) -> tuple[int, int]:
    """Return the graph that a row of all belongs to, and which of its own rows it is."""
    ends = np.cumsum(lengths)
    graph = int(np.searchsorted(ends, row, side="right"))
    return graph, int(row - ends[graph] + lengths[graph])


def _cut(arrays: Mapping[str, Array], names: Sequence[str], lengths: Array) -> dict[str, list[Array]]:
    found = {}
    for name in names:
        if name in arrays:
            if len(arrays[name]) != lengths.sum():
                raise ValueError(f"{name} has {len(arrays[name])} rows; {names[0]} has {lengths.sum()}")
            found[name] = np.split(arrays[name], np.cumsum(lengths)[:-1])
    return found


def write_graphs(
    path: StrPath,
    X: Sequence[tuple[ArrayLike | None, ...]],
    y: Sequence[ArrayLike] | None = None,
    *,
    positions: Sequence[ArrayLike] | None = None,
) -> None:
    """Write graphs as `read_graphs` reads them.

    Parameters
    ----------
    path : str or path
    X : tuples (node features, edges[, edge features[, node types]])
    y : labels of the nodes, whole numbers, -1 for unknown ones
    positions : arrays of shape (nodes, 2)
    """
    columns = dict(zip(("nodes", "edges", "edge_features", "node_types"), zip(*X, strict=True)))
    columns |= {
        name: tuple(given) for name, given in (("labels", y), ("positions", positions)) if given is not None
    }
    whole = {
        name: [np.asarray(one) for one in parts] for name, parts in columns.items() if parts[0] is not None
    }
    whole["edges"] = [one.reshape(-1, 2) for one in whole["edges"]]
    sizes = [(len(nodes), len(edges)) for nodes, edges in zip(whole["nodes"], whole["edges"])]
    write_arrays(
        path, {"sizes": np.array(sizes), **{name: np.concatenate(parts) for name, parts in whole.items()}}
    )


def write_arrays(path: StrPath, arrays: Mapping[str, Array]) -> None:
    """Write an .npz file of these arrays, whole or not at all."""
    with atomic_write(os.fspath(path)) as aside, open(aside, "wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
