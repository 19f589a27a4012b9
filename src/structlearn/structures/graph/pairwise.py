"""Graphs of any shape: a state for each node, scores for states and for pairs of states along edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array, Shape
from structlearn.core.forms import count
from structlearn.core.memory import Memory
from structlearn.core.sentences import Statement
from structlearn.structures.base import (
    SparseVertices,
    Structure,
    Weights,
    label_count,
    nothing_allowed,
    one_each,
)
from structlearn.structures.graph import projection, shared_bounds  # noqa: F401  (register operations)
from structlearn.structures.graph.answers import GraphAnswer, graph_answer, nothing_found
from structlearn.structures.graph.approximate import ApproximateMarginals, approximate_marginals
from structlearn.structures.graph.bounded import BoundedGraphs
from structlearn.structures.graph.elimination import EliminationRecord, elimination_record
from structlearn.structures.graph.inference import ExactGraphs, GraphScores, fill_tables, label_work
from structlearn.structures.graph.local import LocalGraphs, local_elimination
from structlearn.structures.graph.partition_bound import log_partition_bound
from structlearn.structures.graph.tables import POWERS, check_truncation, pair_table
from structlearn.structures.graphs import Graph, graph_record, make_graph
from structlearn.structures.registry import check_graph, stored
from structlearn.structures.registry import pairs as pairs_form
from structlearn.structures.rows import label_indices, row_costs

#: The most entries of all messages of variable elimination: 32 MB.
MOST_ENTRIES = 1 << 22
#: Up to here elimination takes milliseconds, about as long as message passing.
QUICK_ENTRIES = 1 << 18
#: Sweeps of message passing before it gives up.
MOST_SWEEPS = 200
#: The average number of visits of a node by branch and bound, for a tight bound.
MOST_VISITS = 1600
#: Subproblems of branch and bound before it gives up, with inference="exact".
MOST_BRANCHES = 10_000
#: Entries of tables and messages that it reads before it gives up: some 4e8 take a second.
MOST_READ = 1 << 31
#: Ways to the best labelling.
INFERENCES = ("auto", "exact", "relaxed")
_LOCAL = "{polytope=local}, which trains on what the bounds relax, so that the gap closes"
#: What makes bounds tighter, for each way, and for the local polytope.
_TIGHTER = {
    "auto": Statement(f"Use {{inference=exact}} for tighter bounds, or {_LOCAL}."),
    "exact": Statement(f"Use {_LOCAL}."),
    "relaxed": Statement(f"Use {{inference=exact}} for tighter bounds, or {_LOCAL}."),
    "local": Statement("A larger {regularization} makes them tighter."),
}


class PairwiseGraphs(Structure):
    """Labellings of several graphs: the structure of a data set whose examples have graphs of their own.

        <theta, z(y)> = sum_v theta_v[y_v] + sum_{e = (u, v)} theta_e[y_u, y_v],    y_v in {0, .., K - 1}

    The parts of a graph of n nodes are the n * K states, node by node, then for each edge those of its table:
    K * K pairs of states ("full"), fewer where the table is symmetric, antisymmetric or Potts (`pairs`).

    `maximize` is exact by variable elimination where the graph's tree-width is small (forests, narrow
    strips), and by a maximum flow where there are two states and neighbours attract. Elsewhere it is the best
    labelling that message passing has found, and the value of the loss comes from an upper bound of the
    maximum: so the primal value of a certificate is never too low, and its dual value, of real labellings,
    never too high. `marginals` exist where all graphs are eliminated.

    The shape of an example is (number of parts, number of its graph).

    Parameters
    ----------
    graphs : sequence of Graph
    n_states : int
    pairs : "full", "symmetric", "antisymmetric", "potts", "truncated-linear" or "truncated-quadratic"
    truncation : float
        Of truncated tables: the distance of states from which on their score is 0, at least 1.
    most_entries : int
        Messages of variable elimination may have this many entries; graphs that need more are not eliminated.
    polytope : "marginal" or "local"
        The convex hull of all labellings, or its relaxation: a distribution for each node and, with these
        margins, for each edge. `maximize` then answers with fractional points where a graph has cycles.
    inference : "auto", "exact" or "relaxed"
        What is not eliminated: message passing with bounds; these closed by branch and bound, of at most
        10,000 subproblems a labelling, which read at most 2^31 entries of tables and messages (some seconds);
        or message passing for all graphs but forests. `solve` says for one graph which method found its
        labelling, and the bound.
    allowed : list of boolean arrays of shape (nodes, n_states), optional
        Which states the nodes of each graph may have; all, unless given.
    effort : int
        Where a labelling is not known to be the best: how many times a search draws all nodes anew in order
        to find a better one (see `search`).
    memory : Memory, optional
        Where the compiled form of the graphs has room.
    """

    has_graphs = True

    def __init__(
        self,
        graphs: Sequence[Graph],
        n_states: int,
        *,
        pairs: str = "full",
        truncation: float = 1.0,
        most_entries: int = MOST_ENTRIES,
        polytope: str = "marginal",
        inference: str = "auto",
        allowed: Sequence[ArrayLike] | None = None,
        effort: int = 0,
        memory: Memory | None = None,
    ) -> None:
        self.graphs = list(graphs)
        if not count(effort):
            raise ValueError(f"effort is a number of draws of all nodes, at least 0; got {effort!r}.")
        self.effort = effort
        self.allowed = allowed
        self.memory = memory or Memory()
        self.n_states = label_count(n_states, "A graph")
        self.pairs, self.truncation = pairs, check_truncation(truncation)
        self.most_entries_eliminated = most_entries
        self.table = pair_table(pairs, self.n_states, self.truncation)
        self.signed = bool((self.table.sign < 0).any())
        self.polytope = polytope
        self.inference = inference
        self.elimination = self._elimination(most_entries)
        self.eliminated = bool(self.elimination.exact.all())
        self.exact = polytope == "marginal" or self.eliminated
        if not self.eliminated:
            self.bounded = True
            self.to_tighten = _TIGHTER[polytope if polytope == "local" else inference]
            self.no_marginals = self._why_no_marginals()

    def _elimination(self, most_entries: int) -> EliminationRecord:
        if self.polytope == "local":
            return local_elimination(self.graphs, self.n_states, self.memory)
        if self.inference not in INFERENCES:
            names = ", ".join(map(repr, INFERENCES))
            raise ValueError(f"inference is one of {names}; got {self.inference!r}.")
        if self.polytope == "marginal":
            widest = 1 if self.inference == "relaxed" else 64
            return elimination_record(self.graphs, self.n_states, most_entries, widest, self.memory)
        raise ValueError(f'polytope must be "marginal" or "local"; got {self.polytope!r}.')

    def _why_no_marginals(self) -> str:
        """Say why there are no marginals."""
        g = int(np.flatnonzero(self.elimination.exact == 0)[0])
        n_nodes, edges = self.graphs[g]
        which = (
            f" here: graph {g}, of {n_nodes} nodes and {len(edges)} edges with {self.n_states} states, has "
        )
        if self.polytope == "local" or self.inference == "relaxed":
            asked = "polytope='local'" if self.polytope == "local" else "inference='relaxed'"
            return f"{which}cycles, and with {asked} only forests do; leave it out, or use {{loss=hinge}}"
        return (
            f"{which}too large a tree-width for its partition function (tables of more than "
            f"{self.most_entries_eliminated} entries); use {{loss=hinge}}"
        )

    @property
    def method(self) -> str:
        """How the best labelling is found, in words."""
        if self.eliminated:
            return f"variable elimination (width {self.elimination.widest}): exact"
        wide = int((self.elimination.exact == 0).sum())
        if self.polytope == "local":
            return f"message passing over the local polytope for {wide} of {len(self.graphs)} graphs"
        how = "branch and bound" if self.inference == "exact" else "message passing with bounds"
        return (
            f"{how} for {wide} of {len(self.graphs)} graphs (exact where two states "
            "attract), variable elimination for the others"
        )

    def solve(self, theta: ArrayLike, shape: Shape | None = None) -> GraphAnswer:
        """Return the best labelling of one graph that is found, its score, a bound, and the method's name.

        The shape says which graph it is, where several have as many parts.
        """
        scores, found_shape = self.read_scores(theta) if shape is None else (np.asarray(theta), shape)
        record, g = self.record, found_shape[1]
        record = record.bounded if isinstance(record, LocalGraphs) else record
        found = graph_answer(record, g, int(self.n_nodes[g]), scores)
        if found.value == -np.inf:
            raise nothing_allowed("The score vector") if found.bound == -np.inf else nothing_found(found)
        return found

    def log_partition_bound(self, theta: ArrayLike) -> float:
        """Return a number that log Z, the log of the sum of exp <theta, y> over all y, does not exceed.

        Tree-reweighted: for graphs that are too wide for `marginals`; of forests it is log Z.
        """
        scores, (_, g) = self.read_scores(theta)
        tables = self.score_tables()
        work = label_work(tables)
        n, m = fill_tables(tables, g, scores, np.empty(0), work)
        return log_partition_bound(self.graphs[g], work.node[:n], work.table[:m])

    def approximate_marginals(
        self,
        theta: ArrayLike,
        method: str = "tree-reweighted",
        *,
        damping: float = 0.5,
        tol: float = 1e-6,
        most_steps: int = 1000,
    ) -> ApproximateMarginals:
        """Return marginals of one graph of any width that are exact on forests, and their log Z.

        method : "tree-reweighted", whose log Z is an upper bound, or "loopy" (belief propagation), whose log
        Z is an estimate and whose messages move by a share of 1 - damping, until none changes by more than
        tol. Both end after most_steps; `converged` says whether that was too soon.
        """
        return approximate_marginals(self, theta, method, damping, tol, most_steps)

    @property
    def has_linear_parts(self) -> bool:
        return True

    @cached_property
    def record(self) -> ExactGraphs | BoundedGraphs | LocalGraphs:
        scores = self.score_tables()
        if self.eliminated:
            return ExactGraphs(scores)
        if self.polytope == "local":
            return LocalGraphs(BoundedGraphs(scores, self._middle(), MOST_SWEEPS))
        visits = 0 if self.inference == "relaxed" else MOST_VISITS
        branches = MOST_BRANCHES if self.inference == "exact" else 0
        return BoundedGraphs(scores, self._middle(), MOST_SWEEPS, visits, branches, MOST_READ, self.effort)

    def score_tables(self) -> GraphScores:
        """Return what says how parts make tables of scores."""
        graph = graph_record(self.graphs, self.memory)
        power = POWERS.get(self.pairs, 0.0)
        shape = self.truncation**power, power
        return GraphScores(self.n_states, *self.table, graph, self.elimination, self._allowed_rows(), *shape)

    def _allowed_rows(self) -> Array:
        if self.allowed is None:
            return np.empty((0, self.n_states), dtype=np.uint8)
        rows = [np.asarray(one, dtype=bool) for one in self.allowed]
        sizes = [(graph.n_nodes, self.n_states) for graph in self.graphs]
        if [one.shape for one in rows] != sizes or not all(one.any(axis=1).all() for one in rows):
            raise ValueError("allowed must name at least one state for each node of each graph.")
        return np.concatenate(rows).astype(np.uint8)

    def _middle(self) -> Array:
        """Return for each node the first of its arcs to a later node, within its graph."""
        found, at = self.memory.empty(self.n_nodes.sum(), np.int32), 0
        for n_nodes, edges in self.graphs:
            ends = np.sort(edges, axis=1).T
            earlier, later = (np.bincount(one, minlength=n_nodes) for one in (ends[1], ends[0]))
            found[at : at + n_nodes] = np.cumsum(earlier + later) - later
            at += n_nodes
        return found

    # ---- sizes -------------------------------------------------------------------------------------

    @cached_property
    def n_nodes(self) -> Array:
        return np.array([graph.n_nodes for graph in self.graphs])

    @cached_property
    def n_edges(self) -> Array:
        return np.array([len(graph.edges) for graph in self.graphs])

    @cached_property
    def n_parts(self) -> Array:
        """The number of parts of each graph."""
        return self.n_nodes * self.n_states + self.n_edges * self.table.n_parts

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each graph."""
        return [(int(size), g) for g, size in enumerate(self.n_parts)]

    def fits(self, shape: Shape | Array) -> bool | Array:
        size, graph = shape
        known = (graph >= 0) & (graph < len(self.graphs))
        return known & (self.n_parts[np.where(known, graph, 0)] == size)

    def n_curved(self, shape: Shape | Array) -> Any:
        return self.n_nodes[shape[1]] * self.n_states

    def shape(self, theta: Array) -> Shape:
        """Return the graph with as many parts; ValueError if there is none, or another one."""
        fit = np.flatnonzero(self.n_parts == np.size(theta))
        if fit.size == 1:
            return int(np.size(theta)), int(fit[0])
        raise ValueError(
            f"{np.size(theta)} parts fit {fit.size} graphs, not one; graphs here have "
            f"{sorted(set(self.n_parts.tolist()))} parts."
        )

    def most_entries(self, shape: Shape) -> int:
        nodes, edges, k = int(self.n_nodes[shape[1]]), int(self.n_edges[shape[1]]), self.n_states
        if self.exact:
            return nodes + edges
        return nodes * k + edges * min(2 * k - 1, self.table.n_parts)  # those of a vertex of couplings

    @property
    def output_axes(self) -> tuple[int | str, ...]:
        return ()  # nodes, while scores are of nodes and edges

    # ---- outputs -----------------------------------------------------------------------------------

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return ones for the states y of the nodes, and for the pairs of states along edges."""
        which = self._graph_of(np.size(np.asarray(y)), shape)
        gold = self.encode_many([y], np.array([[self.n_parts[which], which]]))
        return gold.dense(0, int(self.n_parts[which]))

    def encode_many(self, ys: Any, shapes: Array) -> SparseVertices:
        owners, indices, values = [], [], []
        k, table = self.n_states, self.table
        for y, which in zip(ys, shapes[:, 1].tolist()):
            graph = self.graphs[which]
            states = label_indices(y, k)
            if states.size != graph.n_nodes:
                raise ValueError(
                    f"A graph of {graph.n_nodes} nodes needs one label per node; got {states.size}."
                )
            a, b = states[graph.edges[:, 0]], states[graph.edges[:, 1]]
            edge = graph.n_nodes * k + np.arange(len(graph.edges)) * table.n_parts + table.part[a, b]
            sign = table.sign[a, b]
            indices += [np.arange(graph.n_nodes) * k + states, edge[sign != 0]]
            values += [np.ones(graph.n_nodes), sign[sign != 0]]
            owners.append(graph.n_nodes + int((sign != 0).sum()))
        start = np.concatenate([[0], np.cumsum(owners)])
        return SparseVertices(start, np.concatenate(indices), np.concatenate(values))

    def _graph_of(self, n_nodes: int, shape: Shape | None) -> int:
        if shape is not None:
            return int(shape[1])
        fit = np.flatnonzero(self.n_nodes == n_nodes)
        if fit.size != 1:
            raise ValueError(f"{fit.size} graphs have {n_nodes} nodes: give the shape (parts, graph).")
        return int(fit[0])

    def decode(self, vertex: Array) -> Array:
        """Return the states of the nodes."""
        n_nodes = self.graphs[self.shape(vertex)[1]].n_nodes
        return np.argmax(vertex[: n_nodes * self.n_states].reshape(n_nodes, -1), axis=1)

    def cost(
        self, mu: Array, *, weights: Weights = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Return 1 on each wrong state, over the number of nodes where normalised; zero on edges.

        `weights` of shape (K,) by gold state or (K, K) as [gold, predicted]; `nodes` of shape (n_nodes,).
        """
        return self._cost(mu, self.shape(mu), weights, nodes, normalized)

    def cost_many(self, gold: SparseVertices, shapes: Array, **options: Any) -> Array:
        nodes = one_each(options.pop("nodes", None), len(shapes), "nodes")
        weights, normalized = options.get("weights"), options.get("normalized", True)
        costs = [
            self._cost(gold.dense(i, size), (size, which), weights, nodes[i], normalized)
            for i, (size, which) in enumerate(shapes.tolist())
        ]
        return np.concatenate(costs)

    def _cost(self, mu: Array, shape: Shape, weights: Weights, nodes: Weights, normalized: bool) -> Array:
        n_nodes = int(self.n_nodes[shape[1]])
        gold = np.argmax(mu[: n_nodes * self.n_states].reshape(n_nodes, -1), axis=1)
        costs = row_costs(gold, self.n_states, weights, nodes) / (n_nodes if normalized else 1)
        return np.concatenate([costs.ravel(), np.zeros(mu.size - costs.size)])


@stored(
    "a state for each node of a graph",
    {
        "n_nodes": count,
        "edges": pairs_form,
        "n_states": count,
        "pairs": str,
        "truncation?": float,
        "polytope?": str,
        "inference?": str,
        "effort?": count,
    },
)
class PairwiseGraph(PairwiseGraphs):
    """Labellings of one graph (see `PairwiseGraphs`, the same for several graphs, for the parts).

    Parameters
    ----------
    n_nodes : int
    edges : integer array-like of shape (E, 2)
    n_states : int
    pairs, truncation, polytope, inference, effort : as for `PairwiseGraphs`
    """

    def __init__(
        self,
        n_nodes: int,
        edges: ArrayLike,
        n_states: int,
        pairs: str = "full",
        *,
        truncation: float = 1.0,
        polytope: str = "marginal",
        inference: str = "auto",
        effort: int = 0,
    ) -> None:
        options: dict[str, Any] = {"polytope": polytope, "inference": inference, "effort": effort}
        super().__init__(
            [make_graph(n_nodes, edges)], n_states, pairs=pairs, truncation=truncation, **options
        )
        self.edges = self.graphs[0].edges

    @property
    def local_axes(self) -> tuple[int | str, ...]:
        return (int(self.n_parts[0]),)

    def arguments(self) -> dict[str, object]:
        return {
            "n_nodes": self.graphs[0].n_nodes,
            "edges": self.edges,
            "n_states": self.n_states,
            "pairs": self.pairs,
            "truncation": self.truncation,
            "polytope": self.polytope,
            "inference": self.inference,
            "effort": self.effort,
        }

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> Structure:
        check_graph(arguments["n_nodes"], arguments["edges"])
        return cls(**arguments)
