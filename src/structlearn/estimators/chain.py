"""Label sequences: chain-structured SVMs and their relatives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from structlearn.contract import Array
from structlearn.estimators.base import RowWeights, StructuredEstimator, Task
from structlearn.estimators.choices import class_weights, cost_options
from structlearn.estimators.inputs import (
    check_feature_count,
    check_same_length,
    check_weights,
    label_codes,
    stack_examples,
)
from structlearn.estimators.layout import Pieces, gold_and_cost
from structlearn.metrics import sequence_accuracy
from structlearn.scoring import RowScoring
from structlearn.structures import Chain


@dataclass(kw_only=True, eq=False, repr=False)
class ChainClassifier(RowWeights, StructuredEstimator):
    """Sequence labelling over the `Chain`: theta = <w_k, x_t> for labels, one weight for each transition.

    The parameters are those of `StructuredEstimator`, and two more. `cost` may be an array of shape (K,), by
    true label, or (K, K), as [true, predicted], or a mapping from labels; `class_weight` multiplies the cost
    of missing each true label.

    Parameters
    ----------
    start, end : bool
        Whether the first and the last label of a sequence have weights of their own.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
    intercept_ : ndarray of shape (n_classes,)
    transition_coef_ : ndarray of shape (n_classes, n_classes), from and to
    start_coef_, end_coef_ : ndarray of shape (n_classes,), where asked for
    classes_, n_features_in_, weights_, certificate_, history_
    """

    start: bool = False
    end: bool = False

    _packed = "chain"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, client: Any = None) -> ChainClassifier:
        """Train on sequences: X a list of (length, d) arrays or CSR matrices, y a list of label arrays.

        With a `distributed.Client` training runs on its cluster (see `structlearn.distributed`).
        """
        self._fit(X, y, sample_weight, client)
        return self

    def _lay_out(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Task:
        rows, shapes = stack_examples(X, ndim=2, noun="Sequence")
        lengths = shapes[:, 0]
        self.classes_, codes, n_labels = label_codes(y, "sequence", classes)
        check_same_length(X, y)
        odd = np.flatnonzero(lengths != n_labels)
        if odd.size:
            i = odd[0]
            raise ValueError(f"Sequence {i} has {lengths[i]} rows of features but {n_labels[i]} labels.")
        weight = check_weights(sample_weight, len(lengths))
        if len(self.classes_) < 2:
            raise ValueError(f"y has only one class, {self.classes_[0]}; a classifier needs at least two.")
        self.n_features_in_ = rows.shape[1]
        structure = Chain(len(self.classes_), start=self.start, end=self.end)
        memory = self._memory()
        scoring = RowScoring(
            rows,
            lengths,
            structure.n_labels,
            n_shared=structure.n_shared,
            intercept=self.fit_intercept,
            sparsify=memory.limit is None,
            memory=memory,
        )
        outputs = Pieces(codes, lengths)
        gold, cost = gold_and_cost(structure, outputs, scoring, memory, **self._cost_options(codes))
        return Task(structure, scoring, gold, cost, weight, memory=memory)

    def _cost_options(self, codes: Array) -> dict[str, Any]:
        options = cost_options(self.cost, self.classes_)
        if self.class_weight is None:
            return options
        by_class = class_weights(
            self.class_weight,
            self.classes_,
            lambda: compute_class_weight("balanced", classes=np.arange(len(self.classes_)), y=codes),
        )
        weights = np.asarray(options.get("weights", np.ones(len(by_class))))
        return {**options, "weights": weights * (by_class if weights.ndim == 1 else by_class[:, None])}

    def predict(self, X: Any) -> list[Array]:
        """The best label sequence of each example."""
        scoring = self._scoring(X)
        k = len(self.classes_)
        answers = self._decide(scoring)
        return [self.classes_[np.argmax(parts.reshape(-1, k), axis=1)] for _, parts in answers]

    def predict_marginals(self, X: Any) -> list[Array]:
        """Probabilities of the labels, of shape (length, n_classes) each; sparse after sparsemax."""
        scoring = self._scoring(X)
        return [parts.reshape(-1, len(self.classes_)) for _, parts in self._soft(scoring)]

    def predict_kbest(self, X: Any, k: int = 5) -> list[list[tuple[Array, float]]]:
        """The k best label sequences of each example with their scores, best first."""
        found = (self.structure_.k_best(theta, k) for theta in self._part_scores(X))
        return [[(self.classes_[one], float(score)) for one, score in zip(*pair)] for pair in found]

    def sample(self, X: Any, n: int = 1, random_state: Any = None) -> list[Array]:
        """n label sequences of each example, of shape (n, length), from the model's distribution."""
        if self.loss != "softmax":
            raise AttributeError(
                f"loss={self.loss!r} is no distribution over sequences; train with loss='softmax'."
            )
        rng = np.random.default_rng(random_state)
        return [self.classes_[self.structure_.sample(theta, n, rng)] for theta in self._part_scores(X)]

    def _part_scores(self, X: Any) -> Iterator[Array]:
        scoring = self._scoring(X)
        for i in range(scoring.n_examples):
            yield np.concatenate([scoring.scores(self.weights_, i, i + 1), self._shared_weights])

    def decision_function(self, X: Any) -> list[Array]:
        """Label scores of each example, of shape (length, n_classes), without the transitions."""
        scoring = self._scoring(X)
        scores = scoring.scores(self.weights_, 0, scoring.n_examples).reshape(-1, len(self.classes_))
        return np.split(scores, scoring.first[1:-1])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of positions labelled right."""
        return sequence_accuracy(y, self.predict(X), sample_weight)

    def _scoring(self, X: Any) -> RowScoring:
        check_is_fitted(self, "weights_")
        rows, shapes = stack_examples(X, ndim=2, noun="Sequence")
        check_feature_count(rows.shape[1], self.n_features_in_, type(self).__name__)
        return self._row_scoring(rows, shapes[:, 0])

    @property
    def transition_coef_(self) -> Array:
        """Weights of the transitions, of shape (n_classes, n_classes): from, to."""
        return self.structure_.shared_tables(self._shared_weights)["transitions"]

    @property
    def start_coef_(self) -> Array:
        """Weights of the first label."""
        return self._boundary("start")

    @property
    def end_coef_(self) -> Array:
        """Weights of the last label."""
        return self._boundary("end")

    def _boundary(self, name: str) -> Array:
        tables = self.structure_.shared_tables(self._shared_weights)
        if name not in tables:
            raise AttributeError(f"{name}_coef_ exists only where the estimator was made with {name}=True.")
        return tables[name]
