"""Better labellings of one graph from one that is given, and from beliefs, by searches that stay near it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from structlearn.core.contract import Array, workspace
from structlearn.core.kernels import kernel
from structlearn.core.vectors import assign
from structlearn.structures.graph.bounded import BoundedGraphs, lift_forbidden, node_arcs
from structlearn.structures.graph.inference import fill_tables
from structlearn.structures.graph.messages import improve, value_of
from structlearn.structures.graph.search import search

if TYPE_CHECKING:
    from structlearn.structures.graph.pairwise import PairwiseGraph

#: First temperatures of searches that take turns, as shares of the usual one: of two states most of them stay
#: near, which was better on random grids; of more, half begin hot, which was better on complete graphs.
_OF_TWO, _OF_MORE = (0.02, 1.0, 0.04, 0.01), (0.02, 1.0, 0.04, 1.0)


def heats(n_states: int) -> tuple[float, ...]:
    """Return the first temperatures for so many states."""
    return _OF_TWO if n_states <= 2 else _OF_MORE


def polish(
    graph: PairwiseGraph, theta: Array, states: Array, bound: float, effort: int, heat: float
) -> tuple[Array, float]:
    """Return a labelling that is no worse than `states`, and its score; `effort` as in `PairwiseGraph`.

    Of graphs that are not eliminated.
    """
    record = cast(BoundedGraphs, graph.record)
    work: Any = workspace(record._replace(effort=max(effort, 1)), (theta.size, 0))
    value = _polish(record, theta, states, bound, effort, heat, work)
    return work.best[: states.size].copy(), float(value)


@kernel
def _polish(
    record: BoundedGraphs, theta: Array, states: Array, bound: float, effort: int, heat: float, work: Any
) -> float:
    labels, n = work.labels, states.size
    fill_tables(record.scores, 0, theta, theta[:0], labels)
    arcs = node_arcs(record, 0)
    lift_forbidden(arcs, labels)
    assign(work.best[:n], states)
    improve(arcs, labels.node, labels.table, work.messages, work.branches.state, work.best)
    value = value_of(arcs, labels.node, labels.table, work.best)
    if effort > 0:
        value = search(arcs, labels.node, labels.table, value, bound, effort, work.best, work.search, heat)
    return value
