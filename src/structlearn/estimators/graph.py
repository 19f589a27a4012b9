"""Labels for the nodes of graphs of any shape, and for the pixels of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.estimators.choices import class_costs
from structlearn.estimators.completion.graph_states import (
    LatentStates,
    NodeTypes,
    classes_of_states,
    known_pairs,
    labels_of,
    typed_states,
    types_at,
    weights_of_nodes,
)
from structlearn.estimators.completion.graphs import NodeLabels, fit_open_nodes
from structlearn.estimators.completion.partial_labels import balanced_known
from structlearn.estimators.confidence.graph_answers import LabelledGraph, exact_states, labelled_graphs
from structlearn.estimators.files.attributes import StoredForm, codes, count, label_array, number, numbers
from structlearn.estimators.graph_base import GraphEstimator
from structlearn.estimators.inputs.checking import as_list, check_sample_weight, for_no_examples
from structlearn.estimators.inputs.graphs import Examples, Images, read_examples
from structlearn.estimators.inputs.layout import Pieces, gold_and_cost
from structlearn.estimators.inputs.networks import Attributes, Network, network_arrays, network_labels
from structlearn.estimators.loss_choice import WITH_DEAR_MARGINALS, trained_loss
from structlearn.estimators.scikit import Rows
from structlearn.estimators.training.fresh_fit import fresh_fit, of_fit
from structlearn.estimators.training.running import TrainingProblem, training_of
from structlearn.estimators.training.truncation import fit_best_truncation, truncation_of
from structlearn.metrics import Outputs, sequence_accuracy
from structlearn.storage.packed_graphs import PackedGraphs
from structlearn.structures.graph.pairwise import MOST_ENTRIES, QUICK_ENTRIES, PairwiseGraphs
from structlearn.structures.graph.tables import PairTable, pair_table

Self = TypeVar("Self", bound="GraphClassifier")


@dataclass(kw_only=True, eq=False, repr=False)
class GraphClassifier(GraphEstimator[PairwiseGraphs]):
    """One of K labels for each node of a graph: theta_v = W x_v for nodes, theta_e = sum_f f_e V_f for edges.

    Every feature f of an edge has a table V_f of K x K weights, for the labels of its two ends, in the order
    in which the edge names them. Each example brings its own graph, of any shape.

    Prediction is exact where the tree-width of a graph is small (forests, narrow strips: variable
    elimination) and for two labels that attract (maximum flow). Elsewhere it is the best labelling that
    message passing finds, which also gives a bound on all others: `certificate_.primal` is computed with such
    bounds and `dual` with real labellings, so that the gap is true, though it may not close. `inference_`
    says which way was taken in training.

    Labels may be unknown, and a class may have several latent states, which are learned: then training is a
    sequence of convex problems, each with a certificate (see `structlearn.estimators.completion.completion`).

    `cost` may be an array of shape (K,),
    by true label, or (K, K), as [true, predicted], or a mapping from labels. loss="softmax"
    needs graphs of small tree-width.

    Parameters
    ----------
    pairs : "full", "symmetric", "antisymmetric", "potts", "truncated-linear" or "truncated-quadratic"
        The tables of weights: one for each pair of labels; the same whichever end has which label; of the
        other sign where the ends are swapped, and zero for like labels; one weight for like labels alone; one
        weight that falls to zero with the distance of labels in their order, or its square.
    truncation : float or sequence of float
        The distance from which on a truncated weight is zero; of several, that of the least objective.
    latent_states : int or mapping from labels to int, optional
        How many states each class has (one, unless given). Weights belong to states, the label of a node is
        the class of its best state. loss="hinge" or "softmax".
    polytope : "marginal" or "local"
        What the loss maximises over in training: all labellings, or their relaxation, whose certificate
        closes where the other may not (`certificate_.exact` is then False). Answers are labellings anyway.
    node_attributes, edge_attributes : str or sequence of str, optional
        Of networkx graphs: which attributes are features, numbers or vectors, put beside each other. Nodes
        are in the order of `graph.nodes`; y may be the name of the attribute that has the labels.
    inference : "auto", "exact" or "relaxed"
        Where a graph is too wide to be solved otherwise: message passing with bounds; branch and bound, of at
        most 10,000 subproblems and some seconds, with a warning where that was too little; or message passing
        for all graphs but forests. `predict_with_bounds` names the method of each answer.
    effort : int
        How hard predictions are searched for where the best labelling is not known: as many times all nodes
        are drawn anew. Training does without.

    Attributes
    ----------
    coef_ : ndarray of shape (n_states, n_features); a state is a class, unless there are latent states
    intercept_ : ndarray of shape (n_states,)
    edge_coef_ : ndarray of shape (n_edge_features, n_states, n_states), states of both ends
    state_classes_ : ndarray of shape (n_states,), the class of each state, as a position in `classes_`
    types_, state_types_ : ndarrays, where nodes have types: these, and that of each state, as a position
    outer_history_ : ndarray, where labels or states were missing: the whole objective after each convex
        problem
    inference_ : str
    truncation_ : float, of truncated tables
    regularization_ : float, the lambda that was used, which regularization="auto" stands for
    structure_ : None
        Every example brings its own graph.
    classes_, n_features_in_, weights_, certificate_, history_

    Examples
    --------
    >>> import numpy as np
    >>> from structlearn import GraphClassifier
    >>> ring = np.array([[0, 1], [1, 2], [2, 0]])
    >>> X = [(np.eye(2)[[0, 0, 1]], ring), (np.eye(2)[[1, 1, 1]], ring)]  # features of nodes, edges
    >>> model = GraphClassifier(random_state=0).fit(X, [["a", "a", "b"], ["b", "b", "b"]])
    >>> model.predict(X)[0].tolist()
    ['a', 'a', 'b']
    """

    pairs: str = "full"
    truncation: float | tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)
    latent_states: LatentStates = None
    polytope: str = "marginal"
    node_attributes: Attributes = None
    edge_attributes: Attributes = None
    inference: str = "auto"
    effort: int = 0

    state_classes_: Array = field(init=False)
    types_: Array = field(init=False)
    state_types_: Array = field(init=False)
    outer_history_: Array = field(init=False)
    inference_: str = field(init=False)
    truncation_: float = field(init=False)

    of_layout: ClassVar[tuple[str, ...]] = ("pairs", "node_attributes", "edge_attributes")
    _stored: ClassVar[StoredForm] = StoredForm(
        {
            "classes_": label_array,
            "n_features_in_": count,
            "_n_edge_features": count,
            "inference_": str,
            "state_classes_?": codes,
            "types_?": label_array,
            "state_types_?": codes,
            "outer_history_?": numbers,
            "regularization_?": number,
            "truncation_?": number,
        },
        (None,),
    )

    @property
    def usual_losses(self) -> tuple[str, ...]:
        return WITH_DEAR_MARGINALS

    def fit(
        self: Self,
        X: Images,
        y: Outputs,
        sample_weight: ArrayLike | None = None,
        *,
        node_weights: Sequence[ArrayLike] | None = None,
    ) -> Self:
        """Train on graphs.

        Parameters
        ----------
        X : list of graphs
            Tuples (node features, edges) or (node features, edges, edge features) of arrays of shapes (n, d),
            (E, 2) and (E, k). An edge is a pair of nodes, counted from 0; one that is given twice counts
            twice. Edges without features (or with None) have the constant 1. A fourth array has the type of
            each node, a whole number or a name: each type has states of its own. Or networkx graphs (see
            `node_attributes`).
        y : list of arrays of labels, of shape (n,); `predict` answers in the same form
            -1 or None stands for a label that is not known (hinge and softmax).
        sample_weight : array-like of shape (n_examples,), optional
        node_weights : list of arrays of the shapes of y, optional
            What an error at each node costs, times its `cost`; 1 unless given.
        """
        truncation = truncation_of(self)
        if truncation is None:
            fit_best_truncation(self, (X, y, sample_weight), {"node_weights": node_weights})
            return self
        with fresh_fit(self):
            self.truncation_ = truncation
            self.loss_ = self.chosen_loss().name  # which decides about inference
            examples = self._examples(X)
            self.classes_, codes = labels_of(examples, network_labels(X, y) if isinstance(y, str) else y)
            self.state_classes_ = classes_of_states(self.latent_states, self.classes_, codes)
            types = self._set_types(examples, codes)
            weight = check_sample_weight(sample_weight, len(examples.which))
            self.n_features_in_ = examples.nodes.shape[1]
            memory = Memory(self.memory)
            structure = self._graph_structure(examples, self.polytope, memory)
            scoring = self._training_graph_scoring(examples, structure, memory)
            n = len(self.classes_)
            options = class_costs(
                self.cost, self.class_weight, self.classes_, lambda: balanced_known(codes[codes >= 0], n)
            )
            options["nodes"] = weights_of_nodes(examples, node_weights)
            labels = NodeLabels(self.classes_, codes, examples.n_nodes, self.state_classes_, types)
            if labels.are_states:
                gold, cost = gold_and_cost(
                    structure, Pieces(codes, examples.n_nodes), scoring, memory, **options
                )
                training_of(self).run(TrainingProblem(structure, scoring, gold, cost, weight, memory=memory))
            else:
                laid = labels.lay_out(structure, scoring, options, memory)._replace(sample_weight=weight)
                fit_open_nodes(self, laid, labels, examples.nodes)
            self.inference_ = structure.method
            self._drop_structure()
        return self

    def _set_types(self, examples: Examples, codes: Array) -> NodeTypes | None:
        """Set the types of nodes and their states, and return them; None if nodes have no types."""
        if examples.types is None:
            return None
        self.state_classes_, types = typed_states(examples.types, codes, self.state_classes_)
        self.types_, self.state_types_ = types.types, types.states
        return types

    def _allowed_states(self, examples: Examples) -> list[Array] | None:
        """Return the states that the nodes of each distinct graph may have, if nodes have types."""
        if "types_" not in vars(self):
            return None
        table = types_at(examples.types, self.types_, self.state_types_).table
        each = np.split(table, np.cumsum(examples.n_nodes)[:-1])
        _, first = np.unique(examples.which, return_index=True)
        return [each[i] for i in first]

    def _examples(self, X: Images) -> Examples:
        if isinstance(X, PackedGraphs):
            return read_examples(X, 4)
        return read_examples([self._as_tuple(one, i) for i, one in enumerate(as_list(X, "X"))], 4)

    def _as_tuple(self, one: object, i: int) -> tuple[ArrayLike, ...]:
        if isinstance(one, Network):
            attributes = of_fit(self, "node_attributes"), of_fit(self, "edge_attributes")
            return network_arrays(one, *attributes, f"Graph {i}")
        if not isinstance(one, tuple):
            raise ValueError(
                f"Example {i} must be a tuple (node features, edges[, edge features]), or a networkx graph; "
                f"got {type(one).__name__} (GridClassifier takes images)."
            )
        return one

    def _edge_rows(self, examples: Examples, nodes: Rows, memory: Memory) -> Array:
        """Return the features of all edges: those given, or a constant."""
        if examples.edge_features is not None:
            return examples.edge_features
        rows = memory.empty(examples.n_edges.sum(), examples.nodes.dtype)
        rows[:] = 1.0
        return rows[:, None]

    def _graph_structure(
        self,
        examples: Examples,
        polytope: str = "marginal",
        memory: Memory | None = None,
        effort: int = 0,
    ) -> PairwiseGraphs:
        """Return the structure of these graphs.

        For marginals, graphs are eliminated as long as memory allows; else only where that is about as quick.
        """
        quick = trained_loss(self) in ("hinge", "perceptron") and self.inference != "exact"
        return PairwiseGraphs(
            examples.graphs,
            self._n_node_scores,
            pairs=of_fit(self, "pairs"),
            truncation=self._truncation,
            most_entries=QUICK_ENTRIES if quick else MOST_ENTRIES,
            polytope=polytope,
            inference=self.inference,
            allowed=self._allowed_states(examples),
            effort=effort,
            memory=memory,
        )

    def _asked_structure(self, examples: Examples) -> PairwiseGraphs:
        return self._graph_structure(examples, effort=self.effort)

    # ---- prediction --------------------------------------------------------------------------------

    @for_no_examples
    def predict(self, X: Images) -> list[Array]:
        """Return the best labels found for each graph."""
        found = self.predict_states(X)
        of_states = self.classes_[self._state_classes]
        return [of_states[states] for states in found]

    @for_no_examples
    def predict_states(self, X: Images) -> list[Array]:
        """Return the numbers of the states behind the best labels; `state_classes_` has their classes."""
        if self.inference == "exact":
            return exact_states(self._ask_graphs(X))
        examples, scoring, model = self._ask_graphs(X)
        answers = model.best_parts(scoring)
        return [self._nodes(parts, examples.shapes[i]).argmax(axis=-1) for i, parts in answers]

    @for_no_examples
    def predict_with_bounds(self, X: Images) -> list[LabelledGraph]:
        """Return the labels of each graph, their score, a bound on any score, and the method that found them.

        Labels are the best where the bound is their score.
        """
        return labelled_graphs(self._ask_graphs(X), self.classes_[self._state_classes])

    @for_no_examples
    def predict_marginals(self, X: Images) -> list[Array]:
        """Return the probabilities of nodes' labels, of shape (n, n_classes); after softmax or sparsemax."""
        examples, scoring, model = self._ask_graphs(X)
        answers = model.soft_parts(scoring)
        first = np.searchsorted(self._state_classes, np.arange(len(self.classes_)))
        return [
            np.add.reduceat(self._nodes(parts, examples.shapes[i]), first, axis=-1) for i, parts in answers
        ]

    @for_no_examples
    def decision_function(self, X: Images) -> list[Array]:
        """Return W x_v + b of each node, of shape (n, n_states), without the edges."""
        return super().decision_function(X)

    def score(self, X: Images, y: Outputs, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of nodes labelled right among those whose labels are known."""
        known = network_labels(X, y) if isinstance(y, str) else y
        return sequence_accuracy(*known_pairs(known, self.predict(X)), sample_weight)

    def _nodes(self, parts: Array, shape: tuple[int, ...]) -> Array:
        """Return the table of state parts that local parts begin with, in the shape of the labels."""
        return parts[: int(np.prod(shape)) * self._n_node_scores].reshape(*shape, -1)

    # ---- weights by name ---------------------------------------------------------------------------

    @property
    def _state_classes(self) -> Array:
        """Files of earlier versions have none: there a state is a class."""
        return vars(self).get("state_classes_", np.arange(len(self.classes_)))

    def state_names(self, labels: Sequence[object] | None = None) -> list[str]:
        """Return the label of each state, numbered if it has several: "sky", "sea 0", "sea 1"."""
        classes = self._state_classes
        names = self.classes_.tolist() if labels is None else labels
        own = np.arange(len(classes)) - np.searchsorted(classes, classes)
        counts = np.bincount(classes)
        found = [f"{names[k]} {i}" if counts[k] > 1 else f"{names[k]}" for k, i in zip(classes, own)]
        if "types_" not in vars(self):
            return found
        return [f"{name} of type {self.types_[t]}" for name, t in zip(found, self.state_types_)]

    def edge_names(self) -> list[str]:
        """Return the names of the edge features."""
        return [f"edge feature {f}" for f in range(self._n_edge_features)]

    @property
    def _n_node_scores(self) -> int:
        return len(self._state_classes)

    def _weight_counts(self) -> set[int]:
        classes = self._state_classes
        if np.unique(classes).tolist() != list(range(len(self.classes_))) or (np.diff(classes) < 0).any():
            raise ValueError("state_classes_ must name each class, in their order")
        if ("types_" in vars(self)) != ("state_types_" in vars(self)):
            raise ValueError("types_ and state_types_ go together")
        if "types_" in vars(self) and (
            self.state_types_.shape != classes.shape
            or np.unique(self.state_types_).tolist() != list(range(len(self.types_)))
        ):
            raise ValueError("state_types_ must name the type of each state")
        return super()._weight_counts()

    @property
    def _truncation(self) -> float:
        return vars(self).get("truncation_", 1.0)  # files of earlier versions have none

    @property
    def _pair_table(self) -> PairTable:
        return pair_table(of_fit(self, "pairs"), self._n_node_scores, self._truncation)

    @property
    def _n_pair_weights(self) -> int:
        return self._n_edge_features * self._pair_table.n_parts

    @property
    def coef_(self) -> Array:
        """Weights of the node features, of shape (n_states, n_features)."""
        return self._node_weights[: self.row_map.n_scored].T

    @property
    def intercept_(self) -> Array:
        """Weights of the nodes' constant feature; zeros where there is none."""
        rest = self._node_weights[self.row_map.n_scored :]
        return rest[0] if len(rest) else np.zeros(self._n_node_scores)

    @property
    def edge_coef_(self) -> Array:
        """Tables of weights of the edge features, of shape (n_edge_features, n_states, n_states)."""
        table = self._pair_table
        return table.sign * self._edge_weights.reshape(-1, table.n_parts)[:, table.part]
