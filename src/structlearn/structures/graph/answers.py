"""The best labelling of a graph that is known, its score, a bound on all, and how it was found."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array, workspace
from structlearn.structures.base import NothingFound
from structlearn.structures.graph.bounded import ELIMINATION, BoundedGraphs, best_labelling
from structlearn.structures.graph.descent import is_closed
from structlearn.structures.graph.inference import ExactGraphs, best_by_elimination, fill_tables

#: Methods in words, by their numbers.
METHODS = ("variable elimination", "maximum flow", "message passing", "branch and bound")


class GraphAnswer(NamedTuple):
    """A labelling, its score, an upper bound of all scores, and the method by which it was found."""

    states: Array
    value: float
    bound: float
    method: str

    @property
    def exact(self) -> bool:
        """Whether no labelling is better."""
        return bool(is_closed(self.value, self.bound))

    @property
    def missing(self) -> float:
        """What may be missing, as a share of the bound."""
        return 0.0 if self.exact else (self.bound - self.value) / max(abs(self.bound), 1e-300)


def graph_answer(record: ExactGraphs | BoundedGraphs, g: int, n_nodes: int, theta: Array) -> GraphAnswer:
    """Return the best labelling of graph g that is found, and the best bound."""
    scores, shared = record.scores, np.empty(0)
    work: Any = workspace(record, (theta.size, g))
    if isinstance(record, ExactGraphs):
        fill_tables(scores, g, theta, shared, work)
        value = best_by_elimination(scores, g, work)
        return GraphAnswer(work.states[:n_nodes].copy(), value, value, METHODS[ELIMINATION])
    fill_tables(scores, g, theta, shared, work.labels)
    value, bound, method = best_labelling(record, g, False, work)
    states = work.labels.states[:n_nodes].copy()
    if record.most_branches == 0 and not is_closed(value, bound):
        fill_tables(scores, g, theta, shared, work.labels)
        bound = max(min(bound, best_labelling(record, g, True, work)[1]), value)
    return GraphAnswer(states, float(value), float(bound), METHODS[method])


def nothing_found(answer: GraphAnswer) -> NothingFound:
    """Return the error of scores for which no labelling was found."""
    return NothingFound(
        f"By {answer.method} no labelling was found that has no part with score -inf, though there may be "
        "one; use inference='exact'."
    )
