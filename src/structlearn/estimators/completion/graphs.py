"""Graphs whose labels, or latent states, are to be completed: what `completion` needs of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.core.sentences import ParameterError
from structlearn.core.wording import quote
from structlearn.estimators.completion.completion import (
    Choices,
    PartialProblem,
    check_partial,
    fit_completions,
    no_gold,
)
from structlearn.estimators.completion.graph_states import NodeTypes
from structlearn.estimators.inputs.allowed import local_places, shift_of
from structlearn.estimators.scikit import cluster_centres, drawn_seed
from structlearn.estimators.training.running import TrainingProblem, training_of
from structlearn.scoring import Scoring
from structlearn.structures.graph.pairwise import PairwiseGraphs
from structlearn.structures.rows import cost_table

if TYPE_CHECKING:
    from structlearn.estimators.graph import GraphClassifier


class NodeLabels(NamedTuple):
    """What is known of the states of all nodes, end to end.

    classes : (n_classes,), labels
    codes : (n_nodes,), the class of each node; -1 where it is not known
    lengths : (n_graphs,), nodes of each graph
    states : (n_states,), the class of each state
    types : where nodes have types, each with states of its own
    """

    classes: Array
    codes: Array
    lengths: Array
    states: Array
    types: NodeTypes | None = None

    @property
    def are_states(self) -> bool:
        """Whether all labels are known, and a state is a class."""
        plain = self.types is None and len(np.unique(self.states)) == len(self.states)
        return plain and bool((self.codes >= 0).all())

    @property
    def choices(self) -> Choices:
        """Which states each node may have."""
        table = (self.codes[:, None] == self.states) | (self.codes < 0)[:, None]
        if self.types is not None:
            table &= self.types.table
        return Choices(np.arange(len(self.states)), table, self.lengths)

    def lay_out(
        self, structure: PairwiseGraphs, scoring: Scoring, options: Mapping[str, Any], memory: Memory
    ) -> TrainingProblem[PairwiseGraphs]:
        """Return the training problem with its costs; its gold vertices are still to be found."""
        by_class = cost_table(options.get("weights"), len(self.classes))
        costs = np.where(self.codes[:, None] < 0, 0.0, by_class[self.codes])[:, self.states]
        if options.get("normalized", True):
            costs /= np.repeat(self.lengths, self.lengths)[:, None]
        if options.get("nodes") is not None:
            costs *= np.concatenate(options["nodes"])[:, None]
        cost = memory.zeros(scoring.start[-1])
        cost[local_places(costs.shape, scoring, self.lengths)] = costs
        return TrainingProblem(structure, scoring, no_gold(len(self.lengths)), cost, memory=memory)


def fit_open_nodes(
    estimator: GraphClassifier, laid: TrainingProblem[PairwiseGraphs], labels: NodeLabels, rows: Array
) -> None:
    """Train where labels or states are missing, which the nearest centres of k-means complete at first."""
    choices, shapes = labels.choices, laid.scoring.shapes
    if not choices.is_open.any():
        training_of(estimator).run(laid._replace(gold=laid.structure.encode_many(choices.labels, shapes)))
        return
    latent = estimator.latent_states is not None
    check_partial(estimator, "latent states" if latent else "partly labelled graphs")
    missing = "latent states" if latent else "labels"
    problem = PartialProblem(laid, choices, shift_of(choices.table, laid.scoring, labels.lengths), missing)
    seed = drawn_seed(estimator.random_state)
    first = nearest_states(labels, choices.table, rows, seed)
    gold = laid.structure.encode_many(np.split(first, np.cumsum(labels.lengths)[:-1]), shapes)
    fit_completions(estimator, problem, laid._replace(gold=gold))


def _groups(labels: NodeLabels) -> Iterator[tuple[int, object, Array | bool, Array]]:
    """Yield number and label of each class, per type of nodes: which nodes have it, and their states."""
    kinds, own = (
        (np.zeros(1, int),) * 2 if labels.types is None else (labels.types.kinds, labels.types.states)
    )
    for k, label in enumerate(labels.classes):
        for kind in np.unique(own):
            wanted = np.flatnonzero((labels.states == k) & (own == kind))
            if wanted.size:
                yield k, label, kinds == kind, wanted


def nearest_states(labels: NodeLabels, table: Array, rows: Array, seed: int) -> Array:
    """Return a first state per node: the one with the nearest centre among those that it may have.

    The centres of a class's states are those of k-means on the features of its nodes, scaled.
    """
    scale = rows.std(axis=0)
    rows = rows / np.where(scale > 0, scale, 1.0)
    centres = np.empty((labels.states.size, rows.shape[1]))
    for k, label, here, wanted in _groups(labels):
        own = rows[(labels.codes == k) & here]
        n_different = len(np.unique(own, axis=0))
        if n_different < wanted.size:
            raise ParameterError(
                "The nodes of class {label} have {n_different} different rows of features, but "
                "{latent_states} asks for {size} states of it.",
                label=quote(label),
                n_different=n_different,
                size=wanted.size,
            )
        centres[wanted] = cluster_centres(own, wanted.size, seed)
    distances = np.square(centres).sum(axis=1) - 2 * rows @ centres.T
    return np.where(table, distances, np.inf).argmin(axis=1)
