"""Segmentation: binary labels of pixels, or of the nodes of graphs, by minimum cuts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.core.sentences import Statement
from structlearn.estimators.choices import class_costs, one_of
from structlearn.estimators.files.attributes import StoredForm, count, label_array, number
from structlearn.estimators.graph_base import GraphEstimator
from structlearn.estimators.inputs.checking import (
    as_list,
    check_same_length,
    check_sample_weight,
    for_no_examples,
    label_arrays,
)
from structlearn.estimators.inputs.graphs import (
    Examples,
    Images,
    read_examples,
    squared_contrasts,
)
from structlearn.estimators.inputs.grids import edge_lengths
from structlearn.estimators.loss_choice import trained_loss
from structlearn.estimators.scikit import Rows, balanced_weights
from structlearn.estimators.training.fresh_fit import fresh_fit, of_fit
from structlearn.estimators.training.running import TrainingProblem, training_of
from structlearn.metrics import Outputs, sequence_accuracy
from structlearn.scoring import JointScoring
from structlearn.structures.cut.cut import Cuts

#: The share of edges between like labels whose learned score may be positive before we warn.
_TOLERATED = 0.05


@dataclass(kw_only=True, eq=False, repr=False)
class CutSegmenter(GraphEstimator[Cuts]):
    """Choose one of two labels for each pixel or node, where neighbours attract each other.

    Two labels on a graph: theta_i = <w, x_i> + b for each node, theta_ij = -<v, f_ij> for each edge.

    A cut edge (unlike labels at its ends) costs <v, f_ij>, so that a positive weight in v smooths. Outputs
    are those of `structlearn.structures.Cut`: prediction is one minimum cut, exact for all weights, because
    an edge whose learned score is positive counts as no edge instead of repelling (which would be NP-hard).
    Training pays for such scores between like labels; if more than 5% of these edges end with one all the
    same, a warning says how many. Edge features of at least 0 make `edge_coef_` easy to read: weights of at
    least 0 are attraction.

    `cost` may be an array (2,) or a mapping
    of weights of the true labels; normalised costs are divided by the number of nodes. `class_weight`
    multiplies the cost of missing each true label. loss="softmax" is out of reach: the partition function of
    cuts is #P-hard.

    A score sums over an image while the cost is a mean, so that weights are of the order 1/nodes:
    regularization="auto" grows with the number of nodes.

    Parameters
    ----------
    connectivity : 4 or 8
        The neighbours of a pixel. Features of diagonal edges are divided by their length.
    edge_features : "contrast" or "constant"
        Features of edges that come without: the constant 1 and exp(-||x_i - x_j||^2 / (2 s^2)), where s^2 is
        the mean of ||x_i - x_j||^2 over the edges of the training data; or the constant alone.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    edge_coef_ : ndarray of shape (n_edge_features,)
    contrast_ : float
        s^2 above; 0 where edge features are given or constant.
    regularization_ : float
        The lambda that was used, which regularization="auto" stands for.
    structure_ : None
        Every image brings its own graph.
    classes_, n_features_in_, weights_, certificate_, history_

    Examples
    --------
    >>> import numpy as np
    >>> from structlearn import CutSegmenter
    >>> mask = np.array([[0, 0, 0], [0, 1, 1], [0, 1, 1]])
    >>> image = mask[:, :, None] + 0.1
    >>> CutSegmenter(random_state=0).fit([image], [mask]).predict([image])[0].tolist()
    [[0, 0, 0], [0, 1, 1], [0, 1, 1]]
    """

    connectivity: int = 4
    edge_features: str = "contrast"

    contrast_: float = field(init=False)

    of_layout: ClassVar[tuple[str, ...]] = ("connectivity", "edge_features")
    _stored: ClassVar[StoredForm] = StoredForm(
        {
            "classes_": label_array,
            "n_features_in_": count,
            "contrast_": number,
            "_n_edge_features": count,
            "regularization_?": number,
        },
        (None,),
    )

    def fit(self, X: Images, y: Outputs, sample_weight: ArrayLike | None = None) -> CutSegmenter:
        """Train on images or graphs.

        Parameters
        ----------
        X : list of images and graphs
            An image is an array of shape (rows, columns, d). A graph is a tuple (nodes, edges) or (nodes,
            edges, edge features) of arrays of shapes (n, d), (E, 2) and (E, k).
        y : list of arrays
            Labels, of shape (rows, columns) or (n,), of two classes; `predict` answers in the same form.
        sample_weight : array-like of shape (n_examples,), optional
        """
        with fresh_fit(self):
            examples = self._examples(X)
            codes = self._label_codes(examples, y)
            weight = check_sample_weight(sample_weight, len(examples.which))
            self.n_features_in_ = examples.nodes.shape[1]
            self.contrast_ = self._mean_contrast(examples)
            structure, memory = Cuts(examples.graphs), Memory(self.memory)
            scoring = self._training_graph_scoring(examples, structure, memory)
            ends = np.cumsum(examples.n_nodes)[:-1]
            gold = structure.encode_many(np.split(codes, ends), scoring.shapes)
            options = class_costs(
                self.cost, self.class_weight, self.classes_, lambda: balanced_weights(codes, 2)
            )
            cost = structure.cost_many(gold, scoring.shapes, **options)
            training_of(self).run(TrainingProblem(structure, scoring, gold, cost, weight, memory=memory))
            self._drop_structure()
            self._warn_of_positive_edges(scoring, examples.ends, codes)
        return self

    def _label_codes(self, examples: Examples, y: Outputs) -> Array:
        """Return the labels of all nodes, end to end, as 0 and 1; sets `classes_`."""
        outputs = [np.asarray(one) for one in as_list(y, "y")]
        check_same_length(examples.shapes, outputs)
        for i, (one, shape) in enumerate(zip(outputs, examples.shapes)):
            if one.shape != shape:
                raise ValueError(f"Image {i} has labels of shape {one.shape}; they must have {shape}.")
        _, labels = label_arrays([one.ravel() for one in outputs], "image")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(f"A cut has two classes, label 0 and label 1; y has {len(self.classes_)}.")
        return codes

    def _mean_contrast(self, examples: Examples) -> float:
        kind = one_of("edge_features", self.edge_features, ("contrast", "constant"))
        if kind == "constant" or examples.edge_features is not None or not examples.n_edges.any():
            return 0.0
        return float(squared_contrasts(examples).mean())

    def _edge_rows(self, examples: Examples, nodes: Rows, memory: Memory) -> Array:
        """Return the edges' features with the other sign: a positive weight raises the price of a cut."""
        return -self._edge_features(examples).astype(nodes.dtype, copy=False)

    def _edge_features(self, examples: Examples) -> Array:
        """Return the features given, or the constant and the contrast over each edge's length."""
        if examples.edge_features is not None:
            return examples.edge_features
        columns = [np.ones(examples.n_edges.sum())]
        if of_fit(self, "edge_features") == "contrast":
            columns.append(np.exp(-squared_contrasts(examples) / (2 * (self.contrast_ or 1.0))))
        lengths = np.concatenate([edge_lengths(*one) for one in examples.edge_lists])
        rows = np.stack(columns, axis=1) / lengths[:, None]
        return rows.astype(examples.nodes.dtype)

    def _examples(self, X: Images) -> Examples:
        return read_examples(X, of_fit(self, "connectivity"))

    def _asked_structure(self, examples: Examples) -> Cuts:
        return Cuts(examples.graphs)

    def _warn_of_positive_edges(self, scoring: JointScoring, ends: Array, codes: Array) -> None:
        like = codes[ends[:, 0]] == codes[ends[:, 1]]
        bound = Cuts.threshold if trained_loss(self) == "sparsemax" else 0.0
        positive = int(np.sum(scoring.pairs.X[like] @ self.edge_coef_ > bound))
        if positive > _TOLERATED * like.sum():
            warnings.warn(
                f"{positive} of {like.sum()} training edges between like labels have a learned score above "
                f"{bound:g}: they act as if they were not there, because an edge of a cut can only attract. "
                "Give edge features of at least 0 that are large where labels agree.",
                stacklevel=3,
            )

    # ---- prediction --------------------------------------------------------------------------------

    @for_no_examples
    def predict(self, X: Images) -> list[Array]:
        """Return the best labels of each image or graph, in the shape of its pixels or nodes."""
        examples, scoring, model = self._ask_graphs(X)
        answers = model.best_parts(scoring)
        return [
            self.classes_[self._nodes(parts, examples.shapes[i]).astype(np.int64)] for i, parts in answers
        ]

    @for_no_examples
    def predict_marginals(self, X: Images) -> list[Array]:
        """Return each node's share of the second class, in [0, 1], mostly exactly 0 or 1; after sparsemax."""
        examples, scoring, model = self._ask_graphs(X)
        if model.loss != "sparsemax":
            raise AttributeError(
                Statement("{loss=} has no marginals; train with {loss=sparsemax}.", loss=model.loss)
            )
        return [self._nodes(parts, examples.shapes[i]).copy() for i, parts in model.soft_parts(scoring)]

    @for_no_examples
    def decision_function(self, X: Images) -> list[Array]:
        """Return <w, x_i> + b of each node: the evidence for the second class without the edges."""
        return super().decision_function(X)

    def score(self, X: Images, y: Outputs, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of pixels or nodes labelled right."""
        return sequence_accuracy(y, self.predict(X), sample_weight)

    def _nodes(self, parts: Array, shape: tuple[int, ...]) -> Array:
        return parts[: int(np.prod(shape))].reshape(shape)

    # ---- weights by name ---------------------------------------------------------------------------

    @property
    def _n_node_scores(self) -> int:
        return 1

    @property
    def _n_pair_weights(self) -> int:
        return self._n_edge_features

    @property
    def coef_(self) -> Array:
        """Weights of the node features, of shape (n_features,)."""
        return self.weights_[: self.row_map.n_scored]

    @property
    def intercept_(self) -> float:
        """Weight of the nodes' constant feature; zero where there is none."""
        return float(self._node_weights[-1, 0]) if self._has_constant else 0.0

    @property
    def edge_coef_(self) -> Array:
        """Weights of the edge features, of shape (n_edge_features,): positive ones smooth."""
        return self._edge_weights
