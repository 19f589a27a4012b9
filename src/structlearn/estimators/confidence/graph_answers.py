"""Labels of graphs together with what is known of them: their score, a bound on all others, the method."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.scikit import warn_of_convergence
from structlearn.structures.graph.answers import GraphAnswer
from structlearn.structures.graph.pairwise import MOST_BRANCHES, MOST_READ, PairwiseGraphs

if TYPE_CHECKING:
    from structlearn.estimators.graph_base import AskedGraphs


class LabelledGraph(NamedTuple):
    """Labels, their score, a bound that no labelling exceeds, and the method by which they were found."""

    labels: Array
    value: float
    bound: float
    method: str


def labelled_graphs(asked: AskedGraphs, of_states: Array) -> list[LabelledGraph]:
    """Return the labels of each graph, with what is known of them; `of_states` has the labels of states."""
    return [
        LabelledGraph(of_states[one.states.reshape(shape)], *one[1:])
        for shape, one in zip(asked.examples.shapes, _answers(asked))
    ]


def exact_states(asked: AskedGraphs) -> list[Array]:
    """Find states by branch and bound where they have to be; warn where it has not closed the gap."""
    return [one.states.reshape(shape) for shape, one in zip(asked.examples.shapes, _answers(asked))]


def _answers(asked: AskedGraphs) -> list[GraphAnswer]:
    examples, scoring, model = asked
    found = []
    for i, (size, graph) in enumerate(scoring.shapes.tolist()):
        theta = scoring.scores(model.weights, i, i + 1).astype(np.float64)
        found.append(model.structure.solve(theta, (size, graph)))
    if model.structure.inference == "exact":
        _warn_of_open(model.structure, found, examples.which)
    return found


def _warn_of_open(structure: PairwiseGraphs, answers: list[GraphAnswer], which: Array) -> None:
    """Warn once of all graphs whose labelling may not be the best, with the numbers of the worst."""
    left = [i for i, one in enumerate(answers) if not one.exact]
    if left:
        worst = max(left, key=lambda i: answers[i].missing)
        graph, answer = structure.graphs[which[worst]], answers[worst]
        warn_of_convergence(
            f"{len(left)} of {len(answers)} graphs were not solved exactly. Graph {worst} has "
            f"{graph.n_nodes} nodes, {len(graph.edges)} edges and {structure.n_states} states: variable "
            f"elimination would need more than {structure.most_entries_eliminated} entries, and branch "
            f"and bound has not ended within its budget ({MOST_BRANCHES} subproblems, or {MOST_READ:.1e} "
            "entries of tables and messages that it reads). Its labelling has the score "
            f"{answer.value:.6g}, none has more than {answer.bound:.6g} ({answer.missing:.2%} missing).",
            stacklevel=5,
        )
