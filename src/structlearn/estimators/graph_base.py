"""What estimators of graphs share, whose nodes and edges have features: labels of nodes, cuts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.estimators.base import StructuredEstimator
from structlearn.estimators.inputs.checking import for_no_examples
from structlearn.estimators.inputs.graphs import Examples, Images, check_edge_features, graph_scoring
from structlearn.estimators.loss_choice import AUTO
from structlearn.estimators.mapped import MappedRows
from structlearn.estimators.models.linear import LinearModel, model_of
from structlearn.estimators.scikit import Rows, check_is_fitted
from structlearn.estimators.training.regularization_choice import SizedTraining
from structlearn.estimators.training.running import EstimatorTraining
from structlearn.scoring import JointScoring
from structlearn.structures.cut.cut import Cuts
from structlearn.structures.graph.pairwise import PairwiseGraphs

G = TypeVar("G", bound=PairwiseGraphs | Cuts)


class AskedGraphs(NamedTuple):
    """Graphs that a fitted estimator is asked about: as they were read, scored, and the model over them."""

    examples: Examples
    scoring: JointScoring
    model: LinearModel[Any]


@dataclass(kw_only=True, eq=False, repr=False)
class GraphEstimator(MappedRows, StructuredEstimator[G]):
    """An estimator whose examples bring graphs of their own; lambda follows from their size.

    Parameters
    ----------
    regularization : float or "auto"
        lambda in P(w) = lambda/2 ||w||^2 + mean loss. "auto" is 0.01 s^2 m, where s^2 is the mean of
        ||row||^2 over the rows of features of all nodes and edges, and m is the mean number of nodes per
        example where costs are divided by it (the hinge, unless cost="count"), else 1. `regularization_`
        tells the number. Not used by the perceptron.
    """

    regularization: float | Literal["auto"] = AUTO  # type: ignore[assignment]

    classes_: Array = field(init=False)
    regularization_: float = field(init=False)
    _n_edge_features: int = field(init=False)

    trained_by: ClassVar[type[EstimatorTraining[Any]]] = SizedTraining

    # ---- what a kind of graphs says of itself ------------------------------------------------------------

    @abstractmethod
    def _examples(self, X: Images) -> Examples:
        """Read graphs and features from X."""

    @abstractmethod
    def _asked_structure(self, examples: Examples) -> G:
        """Return the structure of graphs that a fitted estimator is asked about."""

    @abstractmethod
    def _edge_rows(self, examples: Examples, nodes: Rows, memory: Memory) -> Array:
        """Return the features of all edges as they are scored; `nodes` are those of nodes, mapped."""

    @property
    @abstractmethod
    def _n_node_scores(self) -> int:
        """How many parts a node has."""

    @property
    @abstractmethod
    def _n_pair_weights(self) -> int:
        """How many weights, the last of all, are of edges."""

    # ---- training and prediction -----------------------------------------------------------------------

    def _graph_scoring(
        self, examples: Examples, nodes: Rows, structure: G, *, constant: bool, memory: Memory | None = None
    ) -> JointScoring:
        """Return the scoring of nodes, whose features may be mapped, and of edges, whose never are."""
        rows = self._edge_rows(examples, nodes, memory or Memory())
        shapes = np.stack([structure.n_parts[examples.which], examples.which], axis=1)
        sizes = _parts_each(structure)
        return graph_scoring(examples, nodes, rows, shapes, sizes, intercept=constant, memory=memory)

    def _training_graph_scoring(self, examples: Examples, structure: G, memory: Memory) -> JointScoring:
        """Return the scoring of training data, to whose nodes the row map is fitted."""
        nodes = self.fit_rows(examples.nodes, memory)
        constant = self.fit_intercept
        scoring = self._graph_scoring(examples, nodes, structure, constant=constant, memory=memory)
        self._n_edge_features = scoring.pairs.X.shape[1]
        return scoring

    def _ask_graphs(self, X: Images) -> AskedGraphs:
        check_is_fitted(self, "weights_")
        examples = self._examples(X)
        nodes = self.row_map.apply(examples.nodes)
        structure = self._asked_structure(examples)
        scoring = self._graph_scoring(examples, nodes, structure, constant=self._has_constant)
        check_edge_features(scoring, self._n_edge_features)
        return AskedGraphs(examples, scoring, model_of(self, structure))

    def _drop_structure(self) -> None:
        """Keep no structure after training: examples bring graphs of their own."""
        self.structure_ = None  # type: ignore[assignment]

    @for_no_examples
    def decision_function(self, X: Images) -> list[Array]:
        """Return the scores of each node by itself, without the edges, in the shape of the labels."""
        examples, scoring, _ = self._ask_graphs(X)
        return [
            self._nodes(scoring.scores(self.weights_, i, i + 1), shape)
            for i, shape in enumerate(examples.shapes)
        ]

    @abstractmethod
    def _nodes(self, parts: Array, shape: tuple[int, ...]) -> Array:
        """Return the parts of nodes that local parts begin with, in the shape of the labels."""

    # ---- weights by name ---------------------------------------------------------------------------------

    @property
    def _node_weights(self) -> Array:
        """Of shape (n_features, n_node_scores), and one more row for the constant where there is one."""
        return self.weights_[: self.weights_.size - self._n_pair_weights].reshape(-1, self._n_node_scores)

    @property
    def _has_constant(self) -> bool:
        return len(self._node_weights) > self.row_map.n_scored

    @property
    def _edge_weights(self) -> Array:
        return self.weights_[self.weights_.size - self._n_pair_weights :]

    def _weight_counts(self) -> set[int]:
        n_scores, others = self._n_node_scores, self._n_pair_weights
        return {(self.row_map.n_scored + constant) * n_scores + others for constant in (0, 1)}


def _parts_each(structure: PairwiseGraphs | Cuts) -> tuple[int, int]:
    """Return the number of parts of a node and that of an edge."""
    if isinstance(structure, Cuts):
        return 1, 1
    return structure.n_states, structure.table.n_parts
