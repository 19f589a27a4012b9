"""Graphs of networkx as arrays: features and labels by the names of attributes.

Nothing of networkx is imported: whatever has nodes and edges with data, as its graphs do, can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.wording import quote

#: Names of attributes: one, or several that are put beside each other.
Attributes: TypeAlias = str | Sequence[str] | None


@runtime_checkable
class Network(Protocol):
    """A graph of networkx."""

    @property
    def nodes(self) -> Any: ...

    @property
    def edges(self) -> Any: ...

    def is_directed(self) -> bool: ...


def network_arrays(graph: Network, nodes: Attributes, edges: Attributes, name: str) -> tuple[Array, ...]:
    """Return node features, edges and, if attributes of edges are named, edge features.

    Nodes are in the order of `graph.nodes`, edges as `graph.edges` names their ends.
    """
    if not nodes:
        raise ValueError(
            f"{name} is a networkx graph: say which attributes of nodes are features, node_attributes=."
        )
    place = {node: v for v, node in enumerate(graph.nodes)}
    features = _rows(((f"node {quote(node)}", data) for node, data in graph.nodes(data=True)), nodes, name)
    linked = list(graph.edges(data=True))
    ends = np.array([(place[a], place[b]) for a, b, _ in linked], dtype=np.int64).reshape(-1, 2)
    if not edges:
        return features, ends
    told = ((f"edge {quote(a)} - {quote(b)}", data) for a, b, data in linked)
    found = _rows(told, edges, name)
    return features, ends, found


def _rows(items: Iterable[tuple[str, Any]], attributes: str | Sequence[str], name: str) -> Array:
    """Return one row of numbers each: its attributes, numbers or vectors, side by side."""
    names = [attributes] if isinstance(attributes, str) else list(attributes)
    rows = []
    for what, data in items:
        missing = [one for one in names if one not in data]
        if missing:
            raise ValueError(f"{name}: {what} has no attribute {quote(missing[0])}.")
        rows.append(np.concatenate([np.ravel(np.asarray(data[one], dtype=np.float64)) for one in names]))
    if len({row.size for row in rows}) > 1:
        raise ValueError(f"{name}: attributes {', '.join(map(quote, names))} are not of one length.")
    return np.array(rows).reshape(len(rows), -1)


def network_labels(graphs: Iterable[object], attribute: str) -> list[Array]:
    """Return the labels of the nodes of each graph, from an attribute; None for a node that lacks it."""
    found = []
    for i, graph in enumerate(graphs):
        if not isinstance(graph, Network):
            raise ValueError(f"y={attribute!r} names an attribute of networkx graphs; Example {i} is none.")
        labels = np.empty(len(graph.nodes), dtype=object)
        labels[:] = [data.get(attribute) for _, data in graph.nodes(data=True)]
        found.append(labels)
    return found
