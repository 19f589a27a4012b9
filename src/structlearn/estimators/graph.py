"""Labels for the nodes of graphs of any shape, and for the pixels of images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.estimators.base import StructuredEstimator, TrainingProblem
from structlearn.estimators.choices import class_costs
from structlearn.estimators.forms import StoredForm, count, label_array
from structlearn.estimators.graphs import Examples, Images, edge_directions, read_examples
from structlearn.estimators.inputs import (
    as_list,
    check_same_length,
    check_two_classes,
    check_weights,
    for_no_examples,
    label_arrays,
)
from structlearn.estimators.layout import Pieces, gold_and_cost
from structlearn.estimators.mapped import MappedRows
from structlearn.estimators.scikit import Rows, balanced_weights, check_is_fitted
from structlearn.metrics import Outputs, sequence_accuracy
from structlearn.scoring import JointScoring, RowScoring
from structlearn.structures.graph.pairwise import MOST_ENTRIES, QUICK_ENTRIES, PairwiseGraphs
from structlearn.structures.graph.tables import pair_table

Self = TypeVar("Self", bound="GraphClassifier")


@dataclass(kw_only=True, eq=False, repr=False)
class GraphClassifier(MappedRows, StructuredEstimator[PairwiseGraphs]):
    """One of K labels for each node of a graph: theta_v = W x_v for nodes, theta_e = sum_f f_e V_f for edges.

    Every feature f of an edge has a table V_f of K x K weights, for the labels of its two ends, in the order
    in which the edge names them. Each example brings its own graph, of any shape.

    Prediction is exact where the tree-width of a graph is small (forests, narrow strips: variable
    elimination) and for two labels that attract (maximum flow). Elsewhere it is the best labelling that
    message passing finds, which also gives a bound on all others: `certificate_.primal` is computed with such
    bounds and `dual` with real labellings, so that the gap is true, though it may not close. `inference_`
    says which way was taken in training.

    The parameters are those of `StructuredEstimator`, and one more. `cost` may be an array of shape (K,), by
    true label, or (K, K), as [true, predicted], or a mapping from labels. loss="softmax" and "sparsemax" need
    graphs of small tree-width.

    Parameters
    ----------
    pairs : "full", "symmetric", "antisymmetric" or "potts"
        The tables of weights: one for each pair of labels; the same whichever end has which label; of the
        other sign where the ends are swapped, and zero for like labels; one weight for like labels alone.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
    intercept_ : ndarray of shape (n_classes,)
    edge_coef_ : ndarray of shape (n_edge_features, n_classes, n_classes), labels of both ends
    inference_ : str
    structure_ : None
        Every example brings its own graph.
    classes_, n_features_in_, weights_, certificate_, history_
    """

    pairs: str = "full"

    _stored: ClassVar[StoredForm] = StoredForm(
        {"classes_": label_array, "n_features_in_": count, "_n_edge_features": count, "inference_": str},
        (None,),
    )

    def fit(self: Self, X: Images, y: Outputs, sample_weight: ArrayLike | None = None) -> Self:
        """Train on graphs.

        Parameters
        ----------
        X : list of graphs
            Tuples (node features, edges) or (node features, edges, edge features) of arrays of shapes (n, d),
            (E, 2) and (E, k). An edge is a pair of nodes, counted from 0; one that is given twice counts
            twice. Edges without features have the constant 1.
        y : list of arrays of labels, of shape (n,); `predict` answers in the same form
        sample_weight : array-like of shape (n_examples,), optional
        """
        examples = self._examples(X)
        codes = self._codes(examples, y)
        weight = check_weights(sample_weight, len(examples.which))
        self.n_features_in_ = examples.nodes.shape[1]
        structure, memory = self._structure_of(examples), Memory(self.memory)
        scoring = self._scoring(examples, self._fit_rows(examples.nodes, memory), structure)
        self._n_edge_features = scoring.pairs.X.shape[1]
        options = class_costs(
            self.cost,
            self.class_weight,
            self.classes_,
            lambda: balanced_weights(codes, len(self.classes_)),
        )
        outputs = Pieces(codes, examples.n_nodes)
        gold, cost = gold_and_cost(structure, outputs, scoring, memory, **options)
        self._train(TrainingProblem(structure, scoring, gold, cost, weight, memory=memory))
        self.inference_ = structure.method
        self.structure_ = None  # type: ignore[assignment]
        return self

    def _examples(self, X: Images) -> Examples:
        X = as_list(X, "X")
        for i, one in enumerate(X):
            if not isinstance(one, tuple):
                raise ValueError(
                    f"Example {i} must be a tuple (node features, edges[, edge features]); got "
                    f"{type(one).__name__} (GridClassifier takes images)."
                )
        return read_examples(X, 4)

    def _edge_rows(self, examples: Examples) -> Array:
        """Features of all edges: those given, or the constant."""
        if examples.edge_features is not None:
            return examples.edge_features
        return np.ones((examples.n_edges.sum(), 1), dtype=examples.nodes.dtype)

    def _codes(self, examples: Examples, y: Outputs) -> Array:
        """Labels of all nodes, end to end, by number; sets `classes_`."""
        outputs = [np.asarray(one) for one in as_list(y, "y")]
        check_same_length(examples.shapes, outputs)
        for i, (one, shape) in enumerate(zip(outputs, examples.shapes)):
            if one.shape != shape:
                raise ValueError(f"Example {i} has labels of shape {one.shape}; they must have {shape}.")
        _, labels = label_arrays([one.ravel() for one in outputs], "graph")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        check_two_classes(self.classes_)
        return codes

    def _structure_of(self, examples: Examples) -> PairwiseGraphs:
        """With marginals, graphs are eliminated as long as memory allows; else where it is about as quick."""
        most = QUICK_ENTRIES if self.loss in ("hinge", "perceptron") else MOST_ENTRIES
        return PairwiseGraphs(examples.graphs, len(self.classes_), pairs=self.pairs, most_entries=most)

    def _scoring(self, examples: Examples, nodes: Rows, structure: PairwiseGraphs) -> JointScoring:
        """That of nodes, whose features may be mapped, and of edges, whose features never are."""
        local = RowScoring(nodes, examples.n_nodes, structure.n_states, intercept=self.fit_intercept)
        rows = self._edge_rows(examples)
        pairs = RowScoring(rows, examples.n_edges, structure.table.n_parts)
        shapes = np.stack([structure.n_parts[examples.which], examples.which], axis=1)
        return JointScoring(local, pairs, shapes=shapes)

    # ---- prediction --------------------------------------------------------------------------------

    @for_no_examples
    def predict(self, X: Images) -> list[Array]:
        """The best labels of each graph that were found."""
        examples, structure, scoring = self._read(X)
        answers = self._decide(scoring, structure)
        return [self.classes_[self._nodes(parts, examples.shapes[i]).argmax(axis=-1)] for i, parts in answers]

    @for_no_examples
    def predict_marginals(self, X: Images) -> list[Array]:
        """Probabilities of the labels of each node, of shape (n, n_classes); after softmax or sparsemax."""
        examples, structure, scoring = self._read(X)
        answers = self._soft(scoring, structure)
        return [self._nodes(parts, examples.shapes[i]).copy() for i, parts in answers]

    @for_no_examples
    def decision_function(self, X: Images) -> list[Array]:
        """W x_v + b of each node, of shape (n, n_classes), without the edges."""
        examples, _, scoring = self._read(X)
        return [
            self._nodes(scoring.scores(self.weights_, i, i + 1), shape)
            for i, shape in enumerate(examples.shapes)
        ]

    def score(self, X: Images, y: Outputs, sample_weight: ArrayLike | None = None) -> float:
        """The share of nodes labelled right."""
        return sequence_accuracy(y, self.predict(X), sample_weight)

    def _read(self, X: Images) -> tuple[Examples, PairwiseGraphs, JointScoring]:
        check_is_fitted(self, "weights_")
        examples = self._examples(X)
        nodes = self._map_rows(examples.nodes)
        structure = self._structure_of(examples)
        scoring = self._scoring(examples, nodes, structure)
        given = scoring.pairs.X.shape[1]
        if given != self._n_edge_features:
            raise ValueError(
                f"X has {given} edge features, but the model was trained with {self._n_edge_features}."
            )
        return examples, structure, scoring

    def _nodes(self, parts: Array, shape: tuple[int, ...]) -> Array:
        """The table of label parts that local parts begin with, in the shape of the labels."""
        k = len(self.classes_)
        return parts[: int(np.prod(shape)) * k].reshape(*shape, k)

    # ---- weights by name ---------------------------------------------------------------------------

    def _weight_counts(self) -> set[int]:
        k = len(self.classes_)
        edges = self._n_edge_features * pair_table(self.pairs, k).n_parts
        return {(self._n_row_features + intercept) * k + edges for intercept in (0, 1)}

    @property
    def _node_weights(self) -> Array:
        """Of shape (n_features, n_classes), and one more row for the constant where there is one."""
        k = len(self.classes_)
        return self.weights_[: self.weights_.size - self._n_pair_weights].reshape(-1, k)

    @property
    def _n_pair_weights(self) -> int:
        return self._n_edge_features * pair_table(self.pairs, len(self.classes_)).n_parts

    @property
    def coef_(self) -> Array:
        """Weights of the node features, of shape (n_classes, n_features)."""
        return self._node_weights[: self._n_row_features].T

    @property
    def intercept_(self) -> Array:
        """Weights of the nodes' constant feature; zeros where there is none."""
        rest = self._node_weights[self._n_row_features :]
        return rest[0] if len(rest) else np.zeros(len(self.classes_))

    @property
    def edge_coef_(self) -> Array:
        """Tables of weights of the edge features, of shape (n_edge_features, n_classes, n_classes)."""
        table = pair_table(self.pairs, len(self.classes_))
        weights = self.weights_[self.weights_.size - self._n_pair_weights :].reshape(-1, table.n_parts)
        return table.sign * weights[:, table.index]


@dataclass(kw_only=True, eq=False, repr=False)
class GridClassifier(GraphClassifier):
    """One of K labels for each pixel of an image: a `GraphClassifier` whose graphs are grids.

    Parameters
    ----------
    connectivity : 4 or 8
        The neighbours of a pixel.
    directional : bool
        Whether each direction (right, down, and with 8 neighbours both diagonals) has tables of its own.
    """

    connectivity: int = 4
    directional: bool = True

    def _examples(self, X: Images) -> Examples:
        return read_examples(X, self.connectivity)

    def _edge_rows(self, examples: Examples) -> Array:
        if examples.edge_features is not None or not self.directional:
            return super()._edge_rows(examples)
        return edge_directions(examples, self.connectivity).astype(examples.nodes.dtype)
