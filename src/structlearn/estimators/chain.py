"""Label sequences: chain-structured SVMs and their relatives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.estimators.base import TrainingProblem
from structlearn.estimators.choices import class_costs
from structlearn.estimators.completion.completion import PartlyLabelled
from structlearn.estimators.completion.partial_labels import fit_partly, is_partial
from structlearn.estimators.confidence.confident import STORED, with_empty
from structlearn.estimators.confidence.sequences import ConfidentSequences
from structlearn.estimators.files.attributes import StoredForm, count, label_array, numbers
from structlearn.estimators.inputs.allowed import Allowed, Limits, allowed_table
from structlearn.estimators.inputs.checking import (
    Tables,
    as_list,
    check_same_length,
    check_two_classes,
    check_weights,
    for_no_examples,
    label_codes,
    stack_examples,
)
from structlearn.estimators.inputs.constraints import Constraints, check_labels, check_steps, forbidden_steps
from structlearn.estimators.inputs.layout import Pieces, gold_and_cost
from structlearn.estimators.inputs.token_features import NamedInputs
from structlearn.estimators.rows import RowEstimator
from structlearn.estimators.scikit import Rows, balanced_weights, check_is_fitted
from structlearn.estimators.weights.continued import Continued
from structlearn.estimators.weights.explaining import Explained
from structlearn.estimators.weights.sparse_penalty import SparseWeights
from structlearn.metrics import Outputs, sequence_accuracy
from structlearn.problem.oracle import Oracle
from structlearn.scoring import JointScoring, RowScoring, Scoring
from structlearn.structures import Chain, ConditionedChain

if TYPE_CHECKING:
    from structlearn.estimators.cluster import Cluster


@dataclass(kw_only=True, eq=False, repr=False)
class ChainClassifier(
    Explained,
    Continued,
    NamedInputs,
    PartlyLabelled,
    ConfidentSequences[Chain | ConditionedChain],
    SparseWeights[Chain | ConditionedChain],
    RowEstimator[Chain | ConditionedChain],
):
    """Sequence labelling over the `Chain`: theta = <w_k, x_t> for labels, one weight for each transition.

    `cost` may be an array of shape (K,), by true label, or (K, K), as [true, predicted], or a mapping
    from labels; `class_weight` multiplies the cost of missing each true label.

    Parameters
    ----------
    start, end : bool
        Whether the first and the last label of a sequence have weights of their own.
    transition_features : sequence of int, optional
        Columns of X that score, beside the label, the pair of the label before and this one: transitions
        then depend on what is observed. It takes K times as many weights for each, and K * K numbers a
        position of dual point ("sdca"; "lbfgs" and "bcfw" do without). Not with `start` and `end`.
    constraints : "bio", "bioes", "bilou" or a list of pairs (before, after), optional
        Which label may not follow which, None for the start or the end: in training, too, no other sequence
        counts (see `structlearn.estimators.inputs.constraints`).

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
    intercept_ : ndarray of shape (n_classes,)
    transition_coef_ : ndarray of shape (n_classes, n_classes), from and to
    conditioned_coef_ : ndarray of shape (n_transition_features, n_classes, n_classes), where asked for
    start_coef_, end_coef_ : ndarray of shape (n_classes,), where asked for
    features_ : TokenFeatures, where features have names
    outer_history_ : ndarray, where labels were missing: the whole objective after each convex problem
    classes_, n_features_in_, weights_, certificate_, history_

    Examples
    --------
    >>> import numpy as np
    >>> from structlearn import ChainClassifier
    >>> X = [np.eye(2)[[0, 1, 0]], np.eye(2)[[1, 0]]]  # two sequences, a row of features a position
    >>> y = [["sun", "rain", "sun"], ["rain", "sun"]]
    >>> model = ChainClassifier(random_state=0).fit(X, y)
    >>> [labels.tolist() for labels in model.predict(X)]
    [['sun', 'rain', 'sun'], ['rain', 'sun']]
    """

    start: bool = False
    end: bool = False
    transition_features: ArrayLike | None = None
    constraints: Constraints = None

    _stored: ClassVar[StoredForm] = StoredForm(
        {"classes_": label_array, "n_features_in_": count, "outer_history_?": numbers, **STORED},
        ("Chain", "ConditionedChain"),
    )
    _packed = "chain"

    def fit(
        self,
        X: Tables,
        y: Outputs,
        sample_weight: ArrayLike | None = None,
        *,
        client: Cluster | None = None,
    ) -> ChainClassifier:
        """Train on sequences: X a list of (length, d) arrays or CSR matrices, y a list of label arrays.

        Or X is a list of sequences of tokens, each a dict of features or a list of their names, as
        python-crfsuite takes them (see `TokenFeatures`); or of pairs (tokens, array) of such tokens and an
        array of shape (length, d) beside them. All other methods then take the same.
        y may hold sets of labels, or None for any, where labels are not known (hinge and softmax; see
        `structlearn.estimators.completion.partial_labels`).
        With a `distributed.Client` training runs on its cluster (see `structlearn.distributed`).
        """
        self._forget_confidence()
        former = self._remember()
        X = self._learn_features(X)
        self.__dict__.pop("outer_history_", None)
        if is_partial(y):
            if client is not None:
                raise ValueError("A cluster trains on whole labels; train on partly labelled sequences here.")
            fit_partly(self, X, y, sample_weight)
        elif client is None:
            problem = self._lay_out(X, y, sample_weight)
            self._go_on(former, self.n_features_in_)
            self._train(problem)
        else:
            from structlearn.estimators.cluster import train_on

            check_labels(self.constraints, y)
            train_on(client, self, X, y, sample_weight)
        return self

    def _lay_out(
        self, X: Tables, y: Outputs, sample_weight: ArrayLike | None, classes: Array | None = None
    ) -> TrainingProblem[Chain | ConditionedChain]:
        as_list(X, "X")  # no examples at all: X is named before y
        self.classes_, codes, lengths = label_codes(y, "sequence", classes)
        structure, scoring, weight, memory = self._scored_rows(X, lengths, sample_weight)
        check_steps(self.constraints, structure, self.classes_, codes, lengths)
        options = class_costs(
            self.cost,
            self.class_weight,
            self.classes_,
            lambda: balanced_weights(codes, len(self.classes_)),
        )
        gold, cost = gold_and_cost(structure, Pieces(codes, lengths), scoring, memory, **options)
        return TrainingProblem(structure, scoring, gold, cost, weight, penalty=self._penalty(), memory=memory)

    def _scored_rows(
        self, X: Tables, n_labels: Array, sample_weight: ArrayLike | None
    ) -> tuple[Chain | ConditionedChain, Scoring, Array | None, Memory]:
        """Structure, scoring, sample weights and memory for sequences with so many labels of `classes_`."""
        rows, shapes = stack_examples(X, ndim=2, noun="Sequence", n_jobs=self._threads())
        lengths = shapes[:, 0]
        check_same_length(X, n_labels)
        odd = np.flatnonzero(lengths != n_labels)
        if odd.size:
            i = odd[0]
            raise ValueError(f"Sequence {i} has {lengths[i]} rows of features but {n_labels[i]} labels.")
        weight = check_weights(sample_weight, len(lengths))
        check_two_classes(self.classes_)
        self.n_features_in_ = rows.shape[1]
        structure, memory = self._new_structure(), Memory(self.memory)
        local = self._training_scoring(structure, self._fit_rows(rows, memory), lengths, memory)
        return structure, self._with_pairs(local, rows, structure), weight, memory

    def _new_structure(self) -> Chain | ConditionedChain:
        forbidden = forbidden_steps(self.constraints, self.classes_)
        if self.transition_features is None:
            return Chain(len(self.classes_), start=self.start, end=self.end, forbidden=forbidden)
        if self.start or self.end:
            raise ValueError(
                "start and end do not go with transition_features; add a column that marks the first or last "
                "position to X."
            )
        columns = np.asarray(self.transition_features)
        if columns.ndim != 1 or columns.size == 0 or columns.dtype.kind not in "iu":
            raise ValueError("transition_features must be a list of column numbers of X, at least one.")
        if not 0 <= columns.min() <= columns.max() < self.n_features_in_:
            raise ValueError(
                f"transition_features must be between 0 and {self.n_features_in_ - 1}, the columns of X."
            )
        return ConditionedChain(len(self.classes_), forbidden=forbidden)

    def _with_pairs(self, local: RowScoring, X: Rows, structure: Chain | ConditionedChain) -> Scoring:
        """The scoring of labels, with that of pairs where transitions have features, which are not mapped."""
        if self.transition_features is None:
            return local
        chosen = sparse.csr_matrix(X[:, np.asarray(self.transition_features)]).astype(np.float64)
        chosen.sort_indices()
        pairs = RowScoring(chosen, np.diff(local.first), structure.n_labels**2, intercept=True)
        return JointScoring(local, pairs)

    # ---- prediction: an empty sequence has one labelling, which is empty ------------------------------

    @for_no_examples
    def predict(self, X: Tables, allowed: Allowed | None = None) -> list[Array]:
        """The best label sequence of each example; an empty one of an empty sequence.

        `allowed` has, per sequence, None or a list with, per token, the set of labels that it may have, or
        None for any: what a lexicon or a partial annotation says. So in all methods that have it.
        """
        scoring, filled, limits = self._limited(X, allowed)
        return with_empty(self._decoded(scoring, limits), filled, lambda: self.classes_[:0])

    def _decoded(self, scoring: Scoring, limits: Limits) -> list[Array]:
        structure = self.structure_
        found: list[Array] = []
        if self._n_pair_weights:
            for i, parts in self._decide(scoring, structure, limits.shift):
                codes = self._codes(parts)
                limits.check(codes, i, i + 1)
                found.append(self.classes_[codes])
            return found
        oracle = Oracle(structure.record, scoring, structure=structure, n_jobs=self._threads())
        shift = self._shifted(scoring, structure, limits.shift)
        for first, last, codes in oracle.read(self.weights_, self._codes, shift):
            limits.check(codes, first, last)
            labels, edges = self.classes_[codes], scoring.start[first : last + 1] // len(self.classes_)
            found += [labels[a:b] for a, b in pairwise((edges - edges[0]).tolist())]
        return found

    def _codes(self, parts: Array) -> Array:
        return np.argmax(self._unary(parts), axis=1)

    @for_no_examples
    def predict_marginals(self, X: Tables, allowed: Allowed | None = None) -> list[Array]:
        """Probabilities of the labels, of shape (length, n_classes) each; sparse after sparsemax."""
        scoring, filled, limits = self._limited(X, allowed)
        found = []
        for i, parts in self._soft(scoring, self.structure_, limits.shift):
            found.append(self._unary(parts))
            if not found[-1].any():
                raise limits.nothing(i)
        return with_empty(found, filled, self._no_rows)

    def _no_rows(self) -> Array:
        return np.empty((0, len(self.classes_)))

    def _unary(self, parts: Array) -> Array:
        """The table of label parts, of shape (length, n_classes), that local parts begin with."""
        k = len(self.classes_)
        return parts[: parts.size // self.structure_.n_columns * k].reshape(-1, k)

    @for_no_examples
    def predict_kbest(
        self, X: Tables, k: int = 5, allowed: Allowed | None = None
    ) -> list[list[tuple[Array, float]]]:
        """The k best label sequences of each example with their scores, best first."""
        scores, filled = self._part_scores(X, allowed)
        found = (self.structure_.k_best(theta, k) for theta in scores)
        best = [[(self.classes_[one], float(score)) for one, score in zip(*pair)] for pair in found]
        return with_empty(best, filled, lambda: [(self.classes_[:0], 0.0)])

    @for_no_examples
    def sample(
        self,
        X: Tables,
        n: int = 1,
        random_state: int | np.random.Generator | None = None,
        allowed: Allowed | None = None,
    ) -> list[Array]:
        """n label sequences of each example, of shape (n, length), from the model's distribution."""
        self._check_distribution()
        rng = np.random.default_rng(random_state)
        scores, filled = self._part_scores(X, allowed)
        tempered = (theta / self._temperature for theta in scores)
        found = [self.classes_[self.structure_.sample(theta, n, rng)] for theta in tempered]
        return with_empty(found, filled, lambda: self.classes_[np.empty((n, 0), dtype=np.int64)])

    def _local_scores(self, scoring: Scoring) -> Iterator[Array]:
        for first, last in scoring.chunks():
            theta = scoring.scores(self.weights_, first, last)
            yield from np.split(theta, scoring.start[first + 1 : last] - scoring.start[first])

    def _part_scores(self, X: Tables, allowed: Allowed | None = None) -> tuple[Iterator[Array], Array]:
        """Scores of all parts of each example that is not empty, -inf for what is not allowed."""
        scoring, filled, limits = self._limited(X, allowed)

        def scores() -> Iterator[Array]:
            for i, theta in enumerate(self._local_scores(scoring)):
                parts = np.concatenate([theta + limits.of(i), self._shared_weights])
                limits.check_scores(parts, i)
                yield parts

        return scores(), filled

    @for_no_examples
    def decision_function(self, X: Tables) -> list[Array]:
        """Label scores of each example, of shape (length, n_classes), without the transitions."""
        scoring, filled = self._scoring(X)
        return with_empty(map(self._unary, self._local_scores(scoring)), filled, self._no_rows)

    def score(self, X: Tables, y: Outputs, sample_weight: ArrayLike | None = None) -> float:
        """The share of positions labelled right."""
        return sequence_accuracy(y, self.predict(X), sample_weight)

    def _limited(self, X: Tables, allowed: Allowed | None) -> tuple[Scoring, Array, Limits]:
        """The same as `_scoring`, and what predictions are limited to."""
        scoring, filled = self._scoring(X)
        lengths = np.zeros(filled.size, dtype=np.int64)
        lengths[filled] = scoring.shapes[:, 0]
        table = None if allowed is None else allowed_table(allowed, lengths, self.classes_, "allowed")
        return scoring, filled, Limits(self.structure_, scoring, filled, table)

    def _scoring(self, X: Tables) -> tuple[Scoring, Array]:
        """The scoring of all sequences that are not empty, and which of them are not."""
        check_is_fitted(self, "weights_")
        rows, shapes = stack_examples(
            self._numbered(X), ndim=2, noun="Sequence", n_features=self.n_features_in_
        )
        lengths = shapes[:, 0]
        filled = lengths > 0
        return self._with_pairs(self._row_scoring(rows, lengths[filled]), rows, self.structure_), filled

    @property
    def transition_coef_(self) -> Array:
        """Weights of the transitions, of shape (n_classes, n_classes): from, to."""
        if isinstance(self.structure_, ConditionedChain):
            return self._pair_weights[-1]
        return self.structure_.shared_tables(self._shared_weights)["transitions"]

    @property
    def conditioned_coef_(self) -> Array:
        """Weights of features for transitions, of shape (n_transition_features, n_classes, n_classes)."""
        if not self._n_pair_weights:
            raise AttributeError("conditioned_coef_ exists only with transition_features.")
        return self._pair_weights[:-1]

    def _weight_counts(self) -> set[int]:
        if self.transition_features is not None:
            columns = np.asarray(self.transition_features)
            inside = columns.ndim == 1 and columns.size and columns.dtype.kind in "iu"
            if not inside or not 0 <= columns.min() <= columns.max() < self.n_features_in_:
                raise ValueError("parameters.transition_features must be columns of X")
            if not isinstance(self.structure_, ConditionedChain):
                raise ValueError("structure.name must be ConditionedChain, since transitions have features")
        return super()._weight_counts()

    @property
    def _n_pair_weights(self) -> int:
        """Weights of features and of the constant for transitions, the last of all weights."""
        if self.transition_features is None:
            return 0
        return (np.size(self.transition_features) + 1) * len(self.classes_) ** 2

    @property
    def _pair_weights(self) -> Array:
        k = len(self.classes_)
        return self.weights_[self.weights_.size - self._n_pair_weights :].reshape(-1, k, k)

    @property
    def start_coef_(self) -> Array:
        """Weights of the first label."""
        return self._boundary("start")

    @property
    def end_coef_(self) -> Array:
        """Weights of the last label."""
        return self._boundary("end")

    def _boundary(self, name: str) -> Array:
        if isinstance(self.structure_, Chain):
            tables = self.structure_.shared_tables(self._shared_weights)
            if name in tables:
                return tables[name]
        raise AttributeError(f"{name}_coef_ exists only where the estimator was made with {name}=True.")
