"""Labels of graphs together with what is known of them: their score, a bound on all others, the method."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.inputs.graphs import Images
from structlearn.estimators.scikit import warn_of_convergence
from structlearn.structures.graph.answers import GraphAnswer
from structlearn.structures.graph.pairwise import MOST_BRANCHES, MOST_READ, PairwiseGraphs

if TYPE_CHECKING:
    from structlearn.estimators.graph import GraphClassifier


class LabelledGraph(NamedTuple):
    """Labels, their score, a bound that no labelling exceeds, and the method by which they were found."""

    labels: Array
    value: float
    bound: float
    method: str


def labelled_graphs(model: GraphClassifier, X: Images) -> list[LabelledGraph]:
    """The labels of each graph, with what is known of them."""
    of_states = model.classes_[model._state_classes]
    shapes, answers = _answers(model, X)
    return [
        LabelledGraph(of_states[one.states.reshape(shape)], *one[1:]) for shape, one in zip(shapes, answers)
    ]


def exact_states(model: GraphClassifier, X: Images) -> list[Array]:
    """States by branch and bound where they have to be; a warning where it has not closed the gap."""
    shapes, answers = _answers(model, X)
    return [one.states.reshape(shape) for shape, one in zip(shapes, answers)]


def _answers(model: GraphClassifier, X: Images) -> tuple[list[tuple[int, ...]], list[GraphAnswer]]:
    examples, structure, scoring = model._read(X)
    found = []
    for i, (size, graph) in enumerate(scoring.shapes.tolist()):
        theta = scoring.scores(model.weights_, i, i + 1).astype(np.float64)
        found.append(structure.solve(theta, (size, graph)))
    if structure.inference == "exact":
        _warn_of_open(structure, found, examples.which)
    return examples.shapes, found


def _warn_of_open(structure: PairwiseGraphs, answers: list[GraphAnswer], which: Array) -> None:
    """One sentence for all graphs whose labelling may not be the best, with the numbers of the worst."""
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
