"""Tours: the shortest way through all nodes and back."""

from __future__ import annotations

from functools import cached_property
from operator import index
from typing import NamedTuple, SupportsIndex

import numpy as np

from structlearn.core.contract import Array, Shape, max_value, maximize, workspace
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.structures.decisions.decision import Decisions
from structlearn.structures.decisions.tour_search import TourWork, shortest_tour, tour_work
from structlearn.structures.instances import of_instances
from structlearn.structures.registry import count, stored

#: Nodes up to which tours are searched for.
MOST_NODES = 20


class Nodes(NamedTuple):
    """One instance: how many nodes there are."""

    n_nodes: int

    @property
    def n_parts(self) -> int:
        return self.n_nodes * (self.n_nodes - 1) // 2

    @property
    def most_chosen(self) -> int:
        return self.n_nodes


@of_instances
class TourRecord(NamedTuple):
    """The compiled form of `Tour`."""

    n_nodes: Array
    #: 1 where a search was given up
    failed: Array


@stored("tours through all nodes", {"n_nodes": count})
class Tour(Decisions):
    """Tours through all nodes of a complete undirected graph: z_e = 1 where the tour uses edge e.

    Exact, by branch and bound with the 1-trees of Held and Karp (1971). Scores may have any sign.

    Parameters
    ----------
    n_nodes : int
        From 3 to 20. The parts are the edges (i, j), i < j, in the order of `numpy.triu_indices(n_nodes, 1)`.
    """

    def __init__(self, n_nodes: SupportsIndex) -> None:
        self.n_nodes = index(n_nodes)
        if self.n_nodes < 3:
            raise ValueError(f"A tour needs at least 3 nodes; got {self.n_nodes}.")
        if self.n_nodes > MOST_NODES:
            raise ValueError(
                f"Tour takes at most {MOST_NODES} nodes; got {self.n_nodes}. For more, write the tours as a "
                "structlearn.structures.Program, with mip_gap or time_limit, or give an oracle of your own."
            )
        self.instances = (Nodes(self.n_nodes),)

    @property
    def edges(self) -> Array:
        """The two nodes of each part."""
        return np.stack(np.triu_indices(self.n_nodes, 1), axis=1)

    @cached_property
    def instance_record(self) -> TourRecord:
        return TourRecord(np.array([one.n_nodes for one in self.instances]), np.zeros(1, dtype=np.int64))

    @property
    def content(self) -> tuple[object, ...]:
        return self.instance_record.n_nodes, *self.masks

    def raise_failure(self) -> None:
        super().raise_failure()
        if self.instance_record.failed[0]:
            self.instance_record.failed[0] = 0
            raise ValueError(
                "Branch and bound found no best tour in two million steps; use "
                "structlearn.structures.Program, whose solver may stop earlier with a bound."
            )


# ---- compiled answers ------------------------------------------------------------------------------


@implements(workspace, TourRecord)
@jitable
def tour_workspace(structure: TourRecord, shape: Shape) -> TourWork:
    return tour_work(structure.n_nodes.max())


@implements(max_value, TourRecord)
@implements(maximize, TourRecord)
@kernel
def tour_maximize(
    structure: TourRecord, shape: Shape, theta: Array, shared: Array, work: TourWork, vertex: Array
) -> float:
    n = structure.n_nodes[shape[1]]
    if not shortest_tour(n, theta, work):
        structure.failed[0] = 1
        return -np.inf
    for e in range(vertex.size):
        vertex[e] = 0.0
    value = 0.0
    for k in range(n):
        i, j = work.best[k], work.best[k + 1 if k + 1 < n else 0]
        low, high = min(i, j), max(i, j)
        e = low * n - low * (low + 1) // 2 + high - low - 1
        vertex[e] = 1.0
        value += theta[e]
    return value
