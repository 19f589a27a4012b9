"""Matchings of rows to columns: which word is the translation of which, which detection is which track."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array, Shape, max_value, maximize, project, project_workspace, workspace
from structlearn.core.forms import count
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.structures.base import SparseVertices, Structure, Weights, is_list_of, one_each
from structlearn.structures.matching.assignment import AssignmentWork, assignment_work, solve_assignment
from structlearn.structures.matching.flow import FlowWork, flow, flow_work
from structlearn.structures.matching.projection import ProjectionWork, project_matching, projection_work
from structlearn.structures.matching.sinkhorn import edge_entropy
from structlearn.structures.registry import stored

# A projection starts at the prices of the linear program where scores are above this. A flow is slower.
_LARGE, _LARGE_FOR_FLOW = 8.0, 1e3
# Above this the answer is often a vertex v: prices of the scores theta - 1.5 v prove that at once.
_HUGE, _HANDICAP = 100.0, 1.5

_WEIGHTS = ("missed", "spurious", "possible")
_MASKS = "Masks of possible links"


class MatchingRecord(NamedTuple):
    """The compiled form of `Matching`."""

    unmatched: bool
    row_capacity: int
    column_capacity: int


class MatchingWork(NamedTuple):
    """Scratch memory: the scores with the smaller side as rows, and that of the algorithm in use."""

    transposed: Array
    assignment: AssignmentWork
    flow: FlowWork


@implements(workspace, MatchingRecord)
@jitable
def matching_workspace(structure: MatchingRecord, shape: Shape) -> MatchingWork:
    m, n = shape
    size = (min(m, n), max(m, n))
    simple = structure.row_capacity == 1 and structure.column_capacity == 1
    rows, columns = size if simple else (0, 0)
    assignment = assignment_work(rows, columns)
    rows, columns = (0, 0) if simple else size
    return MatchingWork(np.empty(m * n), assignment, flow_work(rows, columns))


class _Sides(NamedTuple):
    """A problem with the smaller side as rows: entry (i, j) is at i * row_step + j * column_step."""

    m: int
    n: int
    row_capacity: int
    column_capacity: int
    unmatched: bool
    row_step: int
    column_step: int


@kernel
def _smaller_first(
    structure: MatchingRecord, shape: Shape, theta: Array, transposed: Array
) -> tuple[_Sides, Array]:
    """Return the problem with its smaller side first, and its scores."""
    m, n = shape
    a, b = structure.row_capacity, structure.column_capacity
    if m <= n:
        return _Sides(m, n, a, b, structure.unmatched, n, 1), theta
    for i in range(m):
        for j in range(n):
            transposed[j * m + i] = theta[i * n + j]
    return _Sides(n, m, b, a, structure.unmatched, 1, n), transposed


@kernel
def _link(scores: Array, sides: _Sides, work: MatchingWork) -> float:
    """Find the best links; returns their score."""
    m, n, a, b, unmatched = sides.m, sides.n, sides.row_capacity, sides.column_capacity, sides.unmatched
    if a == 1 and b == 1:
        return solve_assignment(scores, m, n, 0.0 if unmatched else -np.inf, work.assignment)
    return flow(scores, m, n, a, b, unmatched, work.flow)


@kernel
def _add_links(
    sides: _Sides, row_step: int, column_step: int, work: MatchingWork, change: float, table: Array
) -> None:
    """Add `change` to the entries of a table that `_link` has linked."""
    for i in range(sides.m):
        if sides.row_capacity == 1 and sides.column_capacity == 1:
            j = work.assignment.column[i]
            if j >= 0:
                table[i * row_step + j * column_step] += change
        else:
            for j in range(sides.n):
                if work.flow.linked[i * sides.n + j]:
                    table[i * row_step + j * column_step] += change


@implements(max_value, MatchingRecord)
@implements(maximize, MatchingRecord)
@kernel
def matching_maximize(
    structure: MatchingRecord, shape: Shape, theta: Array, shared: Array, work: MatchingWork, vertex: Array
) -> float:
    sides, scores = _smaller_first(structure, shape, theta, work.transposed)
    value = _link(scores, sides, work)
    vertex[:] = 0.0
    if value > -np.inf:
        _add_links(sides, sides.row_step, sides.column_step, work, 1.0, vertex)
    return value


class MatchingNearestWork(NamedTuple):
    """Scratch memory of a projection, and of the linear program that it may start from."""

    prices: Array  # of the columns
    program: MatchingWork
    projection: ProjectionWork


@implements(project_workspace, MatchingRecord)
@jitable
def matching_project_workspace(structure: MatchingRecord, shape: Shape) -> MatchingNearestWork:
    rows, columns = min(shape), max(shape)
    program = matching_workspace(structure, shape)
    return MatchingNearestWork(np.empty(columns), program, projection_work(rows, columns))


@implements(project, MatchingRecord)
@kernel
def matching_project(
    structure: MatchingRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: MatchingNearestWork,
    point: Array,
) -> float:
    sides, scores = _smaller_first(structure, shape, theta, work.program.transposed)
    point[:] = 0.0
    if not _start_prices(scores, sides, work):
        return -np.inf
    limits = (0 if structure.unmatched else 1, sides.row_capacity, sides.column_capacity)
    answer = work.projection
    project_matching(scores, sides.m, sides.n, limits, work.prices, answer)
    value = 0.0
    for i in range(sides.m):
        for e in range(answer.start[i], answer.start[i + 1]):
            j, z = answer.column[e], answer.value[e]
            point[i * sides.row_step + j * sides.column_step] = z
            value += z * (scores[i * sides.n + j] - 0.5 * z)
    return value


@kernel
def _start_prices(scores: Array, sides: _Sides, work: MatchingNearestWork) -> bool:
    """Set prices of the columns from which a projection starts; return False if no point is allowed."""
    m, n = sides.m, sides.n
    largest, masked = 0.0, False
    for e in range(m * n):
        masked = masked or scores[e] == -np.inf
        largest = max(largest, scores[e])
        if not sides.unmatched and scores[e] > -np.inf:
            largest = max(largest, -scores[e])
    work.prices[:n] = 0.0
    simple = sides.row_capacity == 1 and sides.column_capacity == 1
    if largest <= (_LARGE if simple else _LARGE_FOR_FLOW) and (sides.unmatched or not masked):
        return True
    handicapped = work.projection.gain
    for e in range(m * n):
        handicapped[e] = scores[e]
    for _ in range(2 if largest > _HUGE else 1):
        if _link(handicapped, sides, work.program) == -np.inf:
            return False
        _add_links(sides, n, 1, work.program, -_HANDICAP, handicapped)
    for j in range(n):
        price = work.program.assignment.prices[j] if simple else work.program.flow.dual[m + j]
        work.prices[j] = max(0.0, price)
    return True


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
