"""Sets of labels with pairwise terms: which labels are on, and how pairs of labels go together."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array, Shape
from structlearn.core.forms import count
from structlearn.core.sentences import ParameterError
from structlearn.structures.base import Weights
from structlearn.structures.erased import Record
from structlearn.structures.flat.switches import encode_switches, switch_costs
from structlearn.structures.labels.enumeration import enumeration_record
from structlearn.structures.labels.label_tree import chow_liu, edges_form_forest, tree_record
from structlearn.structures.labels.roof import roof_record
from structlearn.structures.labels.set_search import SearchedSets
from structlearn.structures.registry import check_graph, pairs, stored
from structlearn.structures.rows import LabelRow

MOST_LABELS_ENUMERATED = 15

_NO_MARGINALS = (
    " (its labels are too many to enumerate and the graph is no forest; use {edges=tree}, or {loss=hinge})"
)


@stored("sets of labels, of which pairs have scores", {"n_labels": count, "edges": pairs})
class LabelGraph(LabelRow):
    """<theta, z(y)> = sum_k theta_k y_k + sum_{e = (a, b)} theta_e[y_a, y_b],   y in {0, 1}^K.

    A part vector has K + 4 E entries: the K labels (one where the label is on), which are local, then for
    each edge (a, b) its table (y_a, y_b) = 00, 01, 10, 11 (one at the pair's state), which is shared.

    `maximize` is exact where the edges form a forest (max-product dynamic programming, linear time) and where
    there are at most 15 labels (all 2^K labellings are scored). Otherwise it is that over the local polytope,
    which contains M, by a maximum flow: its vertices may be fractional (entries 0, 1/2 and 1), its maximum
    is never below the exact one, and equals it for attractive pairs (t00 + t11 >= t01 + t10 for every table).
    `structure.exact` is then False, and so is `certificate_.exact` of a model trained with it; `labellings`
    answers with label sets. `marginals` are exact in the first two cases (sum-product; all labellings are
    summed) and missing in the third.

    Parameters
    ----------
    n_labels : int
        K, at least 1.
    edges : "all", "tree" or an integer array-like of shape (E, 2)
        The pairs of labels with a table: every pair, the path 0 - 1 - 2 - ..., or those given, in the order
        and orientation given. `LabelGraph.tree(Y)` learns a tree from data.

    """

    noun = "A label graph"
    threshold = 0.5

    def __init__(self, n_labels: int, edges: str | ArrayLike = "all") -> None:
        super().__init__(n_labels)
        self.edges = _checked_edges(self.n_labels, edges)
        self.n_shared = 4 * len(self.edges)
        self.forest = edges_form_forest(self.n_labels, self.edges)
        self.exact = self.forest or self.n_labels <= MOST_LABELS_ENUMERATED
        if not self.exact:
            self.no_marginals = _NO_MARGINALS

    @classmethod
    def from_arguments(cls, arguments: dict[str, Any]) -> LabelGraph:
        check_graph(arguments["n_labels"], arguments["edges"])
        return cls(**arguments)

    @classmethod
    def tree(cls, Y: ArrayLike) -> LabelGraph:
        """Return the graph argmax_T sum_{(a, b) in T} I(Y_a; Y_b) over spanning trees T (Chow and Liu 1968).

        `Y` is an (n, K) array of zeros and ones, a row per output; I is the empirical mutual information.
        Equal trees are told apart by their edges' order, so the answer depends on nothing but `Y`.
        """
        Y = np.asarray(Y)
        if Y.ndim != 2 or Y.size == 0:
            raise ValueError(f"A tree is learnt from an (n, K) matrix of labels; got the shape {Y.shape}.")
        if not np.isin(Y, (0, 1)).all():
            raise ValueError("A tree is learnt from labels that are 0 or 1; got other values.")
        return cls(Y.shape[1], chow_liu(Y))

    @property
    def accuracy(self) -> float:  # type: ignore[override]
        """The error of a flow, whose capacities are rounded at each of its steps."""
        return 0.0 if self.exact else 1e-12

    @cached_property
    def record(self) -> Record:
        if self.forest:
            return tree_record(self.n_labels, self.edges)
        if self.exact:
            return enumeration_record(self.n_labels, self.edges)
        return roof_record(self.n_labels, self.edges)

    @cached_property
    def labellings(self) -> LabelGraph:
        """The same where `maximize` is exact; else one that answers with the best label set it finds."""
        return self if self.exact else LabelSearch(self.n_labels, self.edges)

    @property
    def content(self) -> tuple[object, ...]:
        return (self.n_labels, self.edges)

    def shape(self, theta: Array) -> Shape:
        n_parts = self.n_labels + self.n_shared
        if np.size(theta) != n_parts:
            raise ValueError(
                f"A graph of {self.n_labels} labels and {len(self.edges)} edges has {n_parts} parts "
                f"(labels + 4 * edges); got {np.size(theta)}."
            )
        return 1, self.n_labels

    @property
    def shared_shapes(self) -> tuple[tuple[int, ...], ...]:
        edges = len(self.edges)
        return ((edges, 2, 2), (edges, 4), (self.n_shared,)) if edges else ()

    def most_entries(self, shape: Shape) -> int:
        return self.n_labels + len(self.edges) * (1 if self.exact else 4)

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return (y_1, ..., y_K), then for each edge (a, b) its table with a one at (y_a, y_b).

        `y` is a 0/1 vector of length K. Every output has the shape (1, K), so `shape` says nothing new.
        """
        on = encode_switches(y, self.n_labels)
        tables = np.zeros((len(self.edges), 4))
        state = (2 * on[self.edges[:, 0]] + on[self.edges[:, 1]]).astype(np.int64)
        tables[np.arange(len(self.edges)), state] = 1.0
        return np.concatenate((on, tables.ravel()))

    def decode(self, vertex: Array) -> Array:
        """Return y_k = [z_k > 1/2]: the labels that are on, as a (K,) array of integers."""
        self.shape(vertex)
        return (vertex[: self.n_labels] > 0.5).astype(np.int64)

    def cost(
        self, mu: Array, *, weights: Weights = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """c_k = a_k (1 - 2 mu_k) on the labels, 0 on the tables: <c, z - mu> = sum_k a_k |z_k - mu_k|.

        a is the product of `weights` and `nodes` (both (K,), at least 0, default ones), over K where
        `normalized`.
        """
        self.shape(mu)
        labels = switch_costs(mu[: self.n_labels], weights, nodes, normalized)
        return np.concatenate((labels, np.zeros(self.n_shared)))


class LabelSearch(LabelGraph):
    """A label graph with too many labels to enumerate, of which `maximize` answers with a label set.

    It is the best that was found (see `set_search`), and `max_value` the bound of the local polytope: so the
    primal value of a certificate is never too low, and its dual value, of label sets, never too high.
    """

    def __init__(self, n_labels: int, edges: str | ArrayLike = "all") -> None:
        super().__init__(n_labels, edges)
        self.bounded = not self.exact
        self.exact = True

    @cached_property
    def record(self) -> Record:
        return SearchedSets(roof_record(self.n_labels, self.edges)) if self.bounded else super().record


def _checked_edges(n_labels: int, edges: str | ArrayLike) -> Array:
    """Return the edges as a read-only (E, 2) array: the compiled forms are made from it once."""
    if isinstance(edges, str):
        pairs = _named_edges(n_labels, edges)
    else:
        pairs = _given_edges(n_labels, np.asarray(edges))
    pairs.flags.writeable = False
    return pairs


def _named_edges(n_labels: int, name: str) -> Array:
    if name == "all":
        return np.stack(np.triu_indices(n_labels, k=1), axis=1)
    if name == "tree":
        return np.stack((np.arange(n_labels - 1), np.arange(1, n_labels)), axis=1)
    raise ParameterError(
        '{edges} must be "all", "tree" or an (E, 2) array of label pairs; got {name}.', name=repr(name)
    )


def _given_edges(n_labels: int, edges: Array) -> Array:
    if edges.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"Edges must be an (E, 2) array of label pairs; got the shape {edges.shape}.")
    if not np.issubdtype(edges.dtype, np.integer):
        raise ValueError(f"Edges must be pairs of integers; got the type {edges.dtype}.")
    if edges.min() < 0 or edges.max() >= n_labels:
        raise ValueError(f"Edges must join labels 0 to {n_labels - 1}; got {edges.min()} to {edges.max()}.")
    pairs = np.array(edges, dtype=np.int64, order="C")
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise ValueError("An edge joins two different labels; got a label joined to itself.")
    if len(np.unique(np.sort(pairs, axis=1), axis=0)) < len(pairs):
        raise ValueError("Two labels are joined at most once; got a pair twice, in one or both directions.")
    return pairs
