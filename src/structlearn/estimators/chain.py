"""Label sequences: chain-structured SVMs and their relatives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.estimators.completion.partial_labels import fit_partly, is_partial
from structlearn.estimators.confidence.confident import STORED, AnswerConfidence
from structlearn.estimators.files.attributes import StoredForm, codes, count, label_array, numbers
from structlearn.estimators.inputs.allowed import Allowed
from structlearn.estimators.inputs.checking import Tables, for_no_examples
from structlearn.estimators.inputs.constraints import Constraints, check_labels
from structlearn.estimators.inputs.tag_dictionary import dictionary_of, refuse_candidates
from structlearn.estimators.models.chains import ChainModel, LabelledSequence, column_array
from structlearn.estimators.models.linear import facts_of
from structlearn.estimators.scikit import check_is_fitted
from structlearn.estimators.sequences import SequenceEstimator
from structlearn.estimators.training.chain_layout import lay_out_sequences
from structlearn.estimators.training.fresh_fit import fresh_fit, of_fit
from structlearn.estimators.training.running import EstimatorTraining, TrainingProblem, training_of
from structlearn.estimators.weights.continued import ContinuedTraining, Former, Start, go_on, remember
from structlearn.estimators.weights.explaining import Explanation, explanations
from structlearn.estimators.weights.seen_choice import AUTO, refuse_seen, seen_in
from structlearn.estimators.weights.step_choice import refuse_seen_steps
from structlearn.metrics import Outputs, sequence_accuracy
from structlearn.structures import Chain, ConditionedChain

if TYPE_CHECKING:
    from structlearn.estimators.training.cluster import Cluster
    from structlearn.estimators.weights.top_weights import TopFeatures


@dataclass(kw_only=True, eq=False, repr=False)
class ChainClassifier(SequenceEstimator[Chain | ConditionedChain]):
    """Label each element of a sequence, with weights for neighbouring labels.

    Sequence labelling over the `Chain`: theta = <w_k, x_t> for labels, one weight for each transition.

    `cost` may be an array of shape (K,), by true label, or (K, K), as [true, predicted], or a mapping
    from labels; `class_weight` multiplies the cost of missing each true label.

    Parameters
    ----------
    start, end : bool
        Whether the first and the last label of a sequence have weights of their own.
    penalty : {"l2", "l1", "elasticnet"}
        R(w), with lambda = `regularization`:

        - "l2": lambda/2 ||w||^2
        - "l1": lambda ||w||_1, for smooth losses
        - "elasticnet": lambda (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2)
    l1_ratio : float
        Of the elastic net: from 0, which is "l2", to less than 1.
    features : {"auto", "all", "seen"}
        Which labels a feature has weights for: all, or those that it was seen with in the training data, as
        in CRFsuite. "auto" takes the latter where a table of features times labels would be large and
        mostly unseen: more than 17 million numbers, and 8 times as many as were seen.
    transitions : {"auto", "all", "seen", "seen-only"}
        Which steps from label to label have weights: all, or those that occur in the training data. Other
        steps then score 0 ("seen") or are never made ("seen-only"), and a position takes time in proportion
        to the labels and the steps seen, not to K * K. "auto" takes "seen" where there are more than 256
        labels and at most an eighth of all steps occurs. Not with start, end, constraints and
        transition_features.
    transition_features : sequence of int, optional
        Columns of X that score, beside the label, the pair of the label before and this one: transitions
        then depend on what is observed. It takes K times as many weights for each, and K * K numbers a
        position of dual point ("sdca"; "lbfgs" and "bcfw" do without). Not with `start` and `end`.
    constraints : "bio", "bioes", "bilou" or a list of pairs (before, after), optional
        Which label may not follow which, None for the start or the end: in training, too, no other sequence
        counts (see `structlearn.estimators.inputs.constraints`).
    candidates : str, optional
        The name of a feature, such as "word" where tokens have features such as "word=dog": its values are
        the keys of a tag dictionary. A value that occurs at least `candidate_min_count` times in the training
        data has the labels that it was seen with, and no others; all other positions have the labels that
        occur with rarer values (the open class). Training and predictions are exact over these candidates,
        and take less time and memory where there are many labels. Not with arrays, start, end, constraints
        and transition_features. In predictions, `allowed` labels of a token replace its candidates.
    candidate_min_count : int
        How often a value must occur to have candidates of its own.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features); a CSR matrix where only seen pairs have weights
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
    penalty: str = "l2"
    l1_ratio: float = 0.5
    features: str = AUTO
    transitions: str = AUTO
    transition_features: ArrayLike | None = None
    constraints: Constraints = None
    candidates: str | None = None
    candidate_min_count: int = 5

    #: where labels were missing: F after each convex problem
    outer_history_: Array = field(init=False)
    #: where only pairs that were seen have weights: where those of each feature begin, and their labels
    pair_starts_: Array = field(init=False)
    pair_labels_: Array = field(init=False)
    #: where there is a tag dictionary: the columns of its keys, and the sets of labels (see `TagDictionary`)
    candidate_columns_: Array = field(init=False)
    candidate_starts_: Array = field(init=False)
    candidate_labels_: Array = field(init=False)
    #: what the next fit starts at
    _start: Start = field(init=False)

    trained_by: ClassVar[type[EstimatorTraining[Any]]] = ContinuedTraining
    of_layout: ClassVar[tuple[str, ...]] = ("transition_features",)
    _stored: ClassVar[StoredForm] = StoredForm(
        {
            "classes_": label_array,
            "n_features_in_": count,
            "outer_history_?": numbers,
            "pair_starts_?": codes,
            "pair_labels_?": codes,
            "candidate_columns_?": codes,
            "candidate_starts_?": codes,
            "candidate_labels_?": codes,
            **STORED,
        },
        ("Chain", "ConditionedChain", "SparseChain"),
        counts=(
            *("pair_starts_", "pair_labels_"),
            *("candidate_columns_", "candidate_starts_", "candidate_labels_"),
        ),
    )
    packed_as = "chain"

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
        former = remember(self)
        with fresh_fit(self):
            X = self._learn_features(X)
            if is_partial(y):
                if client is not None:
                    raise ValueError(
                        "A cluster trains on whole labels; train on partly labelled sequences here."
                    )
                fit_partly(self, X, y, sample_weight)
            elif client is None:
                problem = self.lay_out(X, y, sample_weight)
                go_on(self, former)
                training_of(self).run(problem)
            else:
                from structlearn.estimators.training.cluster import train_on

                check_labels(self.constraints, y)
                refuse_seen(self, "a cluster")
                refuse_seen_steps(self, "a cluster")
                refuse_candidates(self, "a cluster")
                train_on(client, self, X, y, sample_weight)
        return self

    def lay_out(
        self, X: Tables, y: Outputs, sample_weight: ArrayLike | None, classes: Array | None = None
    ) -> TrainingProblem[Chain | ConditionedChain]:
        """Make a training problem of sequences whose labels are all known; set `classes_`."""
        return lay_out_sequences(self, X, y, sample_weight, classes)

    @property
    def model_(self) -> ChainModel:
        """The fitted model, which does not change: its methods answer what those of the estimator do."""
        check_is_fitted(self, "weights_")
        return self._model()

    def _model(self) -> ChainModel:
        columns = column_array(of_fit(self, "transition_features"))
        return ChainModel(
            structure=self.structure_,
            classes=self.classes_,
            reader=self._reader("Sequence"),
            transition_features=columns,
            seen=seen_in(self),
            dictionary=dictionary_of(self),
            **facts_of(self),
        )

    def continue_from(self, former: ChainClassifier, places: Array) -> None:
        """Start the next `fit` at the weights of another model; `places` has each column's place there."""
        if not hasattr(former, "row_transformer_"):
            self._start = Start(Former.of(former), places)

    # ---- prediction: an empty sequence has one labelling, which is empty ------------------------------

    @for_no_examples
    def predict(
        self, X: Tables, allowed: Allowed | None = None, *, constraints: object = None
    ) -> list[Array]:
        """Return the best label sequence of each example; an empty sequence gets an empty one.

        `allowed` has, per sequence, None or a list with, per token, the set of labels that it may have, or
        None for any: what a lexicon or a partial annotation says. So in all methods that have it.

        `constraints` is a list of what each sequence must keep, such as `AtMost(1, "title")` of
        `structlearn.constraints`; those of the estimator hold anyway.
        """
        if constraints is None:
            return self.model_.best(X, allowed)
        return [one.labels for one in self.model_.best_within(X, constraints, allowed)]

    @for_no_examples
    def predict_with_bounds(
        self, X: Tables, allowed: Allowed | None = None, *, constraints: object = ()
    ) -> list[LabelledSequence]:
        """Return the labels of each example, their score, and a bound on the score of any that may be.

        Labels are the best that keep the constraints where the bound is their score, which is so nearly
        always.
        """
        return self.model_.best_within(X, constraints, allowed)

    @for_no_examples
    def predict_marginals(self, X: Tables, allowed: Allowed | None = None) -> list[Array]:
        """Return the labels' probabilities, of shape (length, n_classes) each; sparse after sparsemax."""
        return self.model_.marginals(X, allowed)

    @for_no_examples
    def predict_kbest(
        self, X: Tables, k: int = 5, allowed: Allowed | None = None
    ) -> list[list[tuple[Array, float]]]:
        """Return the k best label sequences of each example with their scores, best first."""
        return self.model_.kbest(X, k, allowed)

    @for_no_examples
    def sample(
        self,
        X: Tables,
        n: int = 1,
        random_state: int | np.random.Generator | None = None,
        allowed: Allowed | None = None,
    ) -> list[Array]:
        """Draw n label sequences per example, of shape (n, length), from the model's distribution."""
        model = self.model_
        AnswerConfidence(model).check_distribution()
        return model.sample(X, n, np.random.default_rng(random_state), allowed)

    @for_no_examples
    def decision_function(self, X: Tables) -> list[Array]:
        """Label scores of each example, of shape (length, n_classes), without the transitions."""
        return self.model_.label_scores(X)

    def score(self, X: Tables, y: Outputs, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of positions labelled right."""
        return sequence_accuracy(y, self.predict(X), sample_weight)

    # ---- why -------------------------------------------------------------------------------------------

    def top_features(self, k: int = 10) -> TopFeatures:
        """Return the k largest positive and negative weights of each label and of transitions, with names."""
        from structlearn.estimators.weights.top_weights import top_features

        check_is_fitted(self, "weights_")
        return top_features(self, k)

    def explain(self, tokens: object) -> list[Explanation]:
        """Explain why each token of one sequence has its label (see `Explanation`)."""
        (found,) = explanations(self, [tokens])
        return found

    # ---- weights by name -------------------------------------------------------------------------------

    @property
    def conditioned_coef_(self) -> Array:
        """Weights of features for transitions, of shape (n_transition_features, n_classes, n_classes)."""
        return self.model_.transition_feature_weights

    @property
    def start_coef_(self) -> Array:
        """Weights of the first label."""
        return self.model_.boundary("start")

    @property
    def end_coef_(self) -> Array:
        """Weights of the last label."""
        return self.model_.boundary("end")

    def _weight_counts(self) -> set[int]:
        columns = column_array(self.transition_features)
        if columns is not None:
            inside = columns.ndim == 1 and columns.size and columns.dtype.kind in "iu"
            if not inside or not 0 <= columns.min() <= columns.max() < self.n_features_in_:
                raise ValueError("parameters.transition_features must be columns of X")
            if not isinstance(self.structure_, ConditionedChain):
                raise ValueError("structure.name must be ConditionedChain, since transitions have features")
        model = self._model()
        if model.seen is not None:
            model.seen.check(self.row_map.n_scored, len(self.classes_))
        if model.dictionary is not None:
            model.dictionary.check(self.n_features_in_, len(self.classes_))
        return model.rows.sizes
