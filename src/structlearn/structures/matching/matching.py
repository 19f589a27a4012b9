"""Matchings of rows to columns: which word is the translation of which, which detection is which track."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array, Shape
from structlearn.core.forms import count
from structlearn.structures.base import SparseVertices, Structure, Weights, is_list_of, one_each
from structlearn.structures.matching.kernels import MatchingRecord
from structlearn.structures.matching.sinkhorn import edge_entropy
from structlearn.structures.registry import stored

_WEIGHTS = ("missed", "spurious", "possible")
_MASKS = "Masks of possible links"


@stored("links between two sides", {"unmatched?": bool, "capacities": [count]})
class Matching(Structure):
    """Links between m rows and n columns.

        M = {z in [0, 1]^(m x n) : row sums <= capacities[0], column sums <= capacities[1]}

    whose vertices are 0/1 tables. `maximize` is exact: an assignment algorithm for capacities (1, 1), a flow
    of least cost for others.

    Parameters
    ----------
    unmatched : bool
        True: nodes may stay without a link, so only links that raise the score are used. False: every node
        of the smaller side (every row if m = n) has at least one link; with capacities (1, 1) that is the
        rectangular assignment problem. Nodes of the larger side may stay without one.
    capacities : (int, int)
        The most links of a row, and of a column.

    Notes
    -----
    There are no exact marginals: the partition function of matchings is #P-hard. `edge_entropy` is a smooth
    prediction of another kind; `project` is exact.

    """

    part_ndim = 2
    no_marginals = (
        " (its partition function is #P-hard); use project ({loss=sparsemax}), {loss=hinge}, or edge_entropy"
    )

    threshold = 0.5

    def __init__(self, unmatched: bool = True, capacities: tuple[int, int] = (1, 1)) -> None:
        self.unmatched = unmatched
        self.capacities = capacities
        if len(capacities) != 2 or min(index(k) for k in capacities) < 1:
            raise ValueError(f"capacities must be two integers, each at least 1; got {capacities!r}.")

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> Structure:
        return cls(**{**arguments, "capacities": tuple(arguments["capacities"])})

    @property
    def record(self) -> MatchingRecord:
        row_capacity, column_capacity = self.capacities
        return MatchingRecord(bool(self.unmatched), int(row_capacity), int(column_capacity))

    def shape(self, theta: Array) -> Shape:
        if np.ndim(theta) != 2 or np.size(theta) == 0:
            raise ValueError(
                f"A matching needs a table of scores with rows and columns; got shape {np.shape(theta)}."
            )
        m, n = np.shape(theta)
        return m, n

    def most_entries(self, shape: Shape) -> int:
        m, n = shape
        return min(m * min(self.capacities[0], n), n * min(self.capacities[1], m))

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return the (m, n) table mu of the matching y.

        Parameters
        ----------
        y : array-like of shape (m, n) or (m,)
            A table of 0/1 or bool, or each row's column as an integer, -1 for none.
        shape : (int, int)
            (m, n); needed where y is a vector.

        """
        given = np.asarray(y)
        mu = _table_of_columns(given, shape) if given.ndim == 1 else np.array(given, dtype=np.float64)
        m, n = self.shape(mu)
        if shape is not None and (m, n) != tuple(shape):
            raise ValueError(f"y has shape {(m, n)} but the scores have shape {tuple(shape)}.")
        wrong = np.argwhere((mu != 0) & (mu != 1))
        if len(wrong):
            i, j = (int(k) for k in wrong[0])
            raise ValueError(f"A table of links holds 0 and 1; got y[{i}, {j}] = {given[i, j]}.")
        self._check_links(mu.sum(axis=1), "Row", self.capacities[0], not self.unmatched and m <= n)
        self._check_links(mu.sum(axis=0), "Column", self.capacities[1], not self.unmatched and m > n)
        return mu

    @staticmethod
    def _check_links(links: Array, side: str, capacity: int, linked: bool) -> None:
        over = np.flatnonzero(links > capacity)
        if len(over):
            i = over[0]
            raise ValueError(f"{side} {i} has {int(links[i])} links but its capacity is {capacity}.")
        if linked and not links.all():
            i = np.flatnonzero(links == 0)[0]
            raise ValueError(f"{side} {i} has 0 links but unmatched=False asks for at least 1.")

    def decode(self, vertex: Array) -> Array:
        """Return the (m, n) table of links, of 0 and 1."""
        return np.rint(vertex).astype(np.int64)

    def columns(self, vertex: Array) -> Array:
        """Return the column of each row, or -1; for row capacity 1."""
        if self.capacities[0] != 1:
            raise ValueError(f"A row may have {self.capacities[0]} links here; use decode.")
        links = self.decode(vertex)
        return np.where(links.any(axis=1), links.argmax(axis=1), -1)

    def cost(
        self, mu: Array, *, weights: object = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Delta(z) = <c, z - mu> with c = spurious (1 - mu) - missed mu: wrong and missed links, weighted.

        Parameters
        ----------
        mu : ndarray of shape (m, n)
            The gold matching.
        weights : mapping, optional
            "missed" and "spurious", at least 0 (1 where not given), and "possible", an (m, n) mask of links
            that cost nothing either way.
        nodes : ndarray of shape (m,), optional
            Weights of the rows.
        normalized : bool
            Divide by the number of gold links, at least 1.

        """
        mu = np.asarray(mu, dtype=np.float64)
        missed, spurious, possible = _checked_weights(weights, mu.shape)
        c = np.where(possible, 0.0, np.where(mu > 0, -missed, spurious))
        if nodes is not None:
            nodes = np.asarray(nodes, dtype=np.float64)
            if nodes.shape != mu.shape[:1] or not (nodes >= 0).all():
                raise ValueError(
                    f"nodes are {mu.shape[0]} weights of at least 0, one per row; got {nodes!r}."
                )
            c = c * nodes[:, None]
        return c / max(1.0, float(mu.sum())) if normalized else c

    def edge_entropy(self, theta: Array | Sequence[Array]) -> Array | list[Array]:
        """argmax_{z in M} <theta, z> + S(z) with the entropy S of the edges, not of matchings.

        S is a sum over edges and over nodes without a link; see `sinkhorn.py`. The
        answer is smooth in theta and inside M, but it is not the table of Gibbs marginals.

        Parameters
        ----------
        theta : ndarray of shape (m, n), or a list or a stack of them. -inf forbids an edge.

        Returns
        -------
        ndarray of the same shape (a list for a list).
        """
        if tuple(self.capacities) != (1, 1):
            raise ValueError(f"edge_entropy is for capacities (1, 1), not {self.capacities}; use project.")
        if not is_list_of(theta, 2) and np.ndim(theta) != 3:
            return edge_entropy(self.read_scores(theta)[0], unmatched=bool(self.unmatched))
        tables = [edge_entropy(self.read_scores(one)[0], unmatched=bool(self.unmatched)) for one in theta]
        return tables if is_list_of(theta, 2) else np.array(tables).reshape(np.shape(theta))

    def cost_many(self, gold: SparseVertices, shapes: Array, **options: Any) -> Array:
        """Return `cost` for many examples, end to end; `nodes` and "possible" have one entry per example."""
        weights = options.pop("weights", None)
        nodes = one_each(options.pop("nodes", None), len(shapes), "nodes")
        masks = one_each(_masks(weights), len(shapes), _MASKS)
        costs = []
        for i, (m, n) in enumerate(shapes):
            mu = gold.dense(i, m * n).reshape(m, n)
            one = weights if masks[i] is None else {**weights, "possible": masks[i]}
            costs.append(self.cost(mu, weights=one, nodes=nodes[i], **options).ravel())
        return np.concatenate(costs)

    def some_options(self, options: dict[str, Any], some: slice, n_examples: int) -> dict[str, Any]:
        options = super().some_options(options, some, n_examples)
        masks = _masks(options.get("weights"))
        if masks is None:
            return options
        own = one_each(masks, n_examples, _MASKS)[some]
        return {**options, "weights": {**options["weights"], "possible": own}}


def _masks(weights: object) -> Sequence[ArrayLike] | None:
    return weights.get("possible") if isinstance(weights, Mapping) else None


def _table_of_columns(y: Array, shape: Shape | None) -> Array:
    if shape is None:
        raise ValueError("A vector of columns does not tell how many there are: give shape=(m, n).")
    m, n = shape
    if len(y) != m:
        raise ValueError(f"y has {len(y)} entries but there are {m} rows.")
    if not np.issubdtype(y.dtype, np.integer):
        raise ValueError(f"A vector of columns holds integers; got {y.dtype}.")
    wrong = np.flatnonzero((y < -1) | (y >= n))
    if len(wrong):
        i = wrong[0]
        raise ValueError(f"A column is one of 0..{n - 1}, or -1 for none; got y[{i}] = {y[i]}.")
    mu = np.zeros((m, n))
    rows = np.flatnonzero(y >= 0)
    mu[rows, y[rows]] = 1.0
    return mu


def _checked_weights(weights: object, shape: tuple[int, ...]) -> tuple[float, float, Array]:
    """Return the weights of missed and of spurious links, and the mask of possible ones."""
    given = {} if weights is None else weights
    if not isinstance(given, Mapping):
        raise ValueError(f"weights must be a mapping with keys among {', '.join(_WEIGHTS)}; got {weights!r}.")
    unknown = sorted(str(key) for key in given if key not in _WEIGHTS)
    if unknown:
        raise ValueError(f"Unknown weights {', '.join(unknown)}; the valid keys are {', '.join(_WEIGHTS)}.")
    missed, spurious = (float(given.get(key, 1.0)) for key in ("missed", "spurious"))
    for key, weight in (("missed", missed), ("spurious", spurious)):
        if not 0 <= weight < np.inf:
            raise ValueError(
                f"The weight of {key} links must be a finite number of at least 0; got {weight}."
            )
    possible = np.asarray(given.get("possible", np.zeros(shape, bool)), dtype=bool)
    if possible.shape != shape:
        raise ValueError(f"The mask of possible links has shape {possible.shape}, not {shape}.")
    return missed, spurious, possible
