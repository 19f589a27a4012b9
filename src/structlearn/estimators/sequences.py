"""What estimators of sequences share: how they read them, and how sure they are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from structlearn.core.contract import Array
from structlearn.estimators.base import StructuredEstimator
from structlearn.estimators.confidence.calibration import Calibration, Confidence
from structlearn.estimators.confidence.confident import OF_SETS, AnswerConfidence
from structlearn.estimators.confidence.conformal import Conformal
from structlearn.estimators.inputs.allowed import Allowed
from structlearn.estimators.inputs.checking import Tables, for_no_examples
from structlearn.estimators.inputs.sequences import SequenceReader, learn_features
from structlearn.estimators.inputs.spans import Span
from structlearn.estimators.inputs.token_features import TokenFeatures
from structlearn.estimators.loss_choice import WITH_MARGINALS
from structlearn.estimators.mapped import MappedRows
from structlearn.estimators.training.fresh_fit import forget_attributes
from structlearn.metrics import Outputs
from structlearn.structures import Chain, ConditionedChain, Segments

L = TypeVar("L", bound=Chain | ConditionedChain | Segments)


@dataclass(kw_only=True, eq=False, repr=False)
class SequenceEstimator(MappedRows, StructuredEstimator[L]):
    """An estimator of labellings of sequences.

    Attributes
    ----------
    model_ : the fitted model
    temperature_ : float, after `calibrate`
    conformal_scores_, n_conformal_ : after `conformalize`
    """

    classes_: Array = field(init=False)
    #: where features have names
    features_: TokenFeatures = field(init=False)
    temperature_: float = field(init=False)
    conformal_scores_: Array = field(init=False)
    n_conformal_: int = field(init=False)

    @property
    @abstractmethod
    def model_(self) -> Any:
        """The fitted model, which does not change: its methods answer what those of the estimator do."""

    @property
    def usual_losses(self) -> tuple[str, ...]:
        return WITH_MARGINALS

    def _learn_features(self, X: Tables) -> Tables:
        """Return training data with named features numbered; their names are kept."""
        rows, features = learn_features(X)
        if features is not None:
            self.features_ = features
        return rows

    def _reader(self, noun: str) -> SequenceReader:
        return SequenceReader(self.row_map, getattr(self, "features_", None), noun)

    # ---- weights by name ---------------------------------------------------------------------------------

    @property
    def coef_(self) -> Array:
        """Weights of the features, of shape (n_labels, n_features)."""
        return self.model_.rows.coef

    @property
    def intercept_(self) -> Array:
        """Weights of the constant feature, of shape (n_labels,); zero where there is none."""
        return self.model_.rows.intercept

    @property
    def transition_coef_(self) -> Array:
        """Weights of the transitions, of shape (n_states, n_states): from, to."""
        return self.model_.transitions

    # ---- how sure it is ----------------------------------------------------------------------------------

    @for_no_examples
    def predict_spans(self, X: Tables, allowed: Allowed | None = None) -> list[list[Span]]:
        """Return (start, end, label, probability) of each span of the predicted labellings, end exclusive.

        The probability is that of all labellings in which exactly this span is: it begins and ends there.
        Labels O, B-type, I-type ... are read as tags, by IOB1, IOB2, IOBES and BILOU, and the type
        is the span's label; of other labels each run of equal ones is a span, but for the label "O".
        Where `allowed` limits labels, as in `predict`, it is the probability given that they are right.
        """
        return AnswerConfidence(self.model_).spans(X, allowed)

    def log_probability(self, X: Tables, y: Outputs) -> Array:
        """Return log p(y_i | x_i) of whole labellings; -inf for one with a label unknown to the model."""
        return AnswerConfidence(self.model_).log_probability(X, y)

    @for_no_examples
    def predict_kbest_proba(
        self, X: Tables, k: int = 5, allowed: Allowed | None = None
    ) -> list[list[tuple[Any, float]]]:
        """Return the k best labellings of each example with their probabilities, best first.

        Probabilities are those among the labellings that `allowed` allows.
        """
        return list(self.kbest_proba_stream(X, k, allowed))

    def kbest_proba_stream(
        self, X: Tables, k: int = 5, allowed: Allowed | None = None
    ) -> Iterator[list[tuple[Any, float]]]:
        """Yield the k best labellings of one example at a time: a large k then takes the memory of one."""
        yield from AnswerConfidence(self.model_).kbest_stream(X, k, allowed)

    def calibrate(self, X: Tables, y: Outputs) -> Calibration[Confidence]:
        """Choose the temperature by the likelihood of data that was not trained on; say what it changes.

        All probabilities are those of the scores over `temperature_` from now on; predictions stay. What
        `conformalize` has set is forgotten, since it is about other probabilities.
        """
        found = AnswerConfidence(self.model_).calibrate(X, y)
        forget_attributes(self, *OF_SETS)
        self.temperature_ = found.temperature
        return found

    def reliability(self, X: Tables, y: Outputs) -> Confidence:
        """Compare how right answers are with how sure the model is of them, on data with labels."""
        return AnswerConfidence(self.model_).reliability(X, y)

    def conformalize(self, X: Tables, y: Outputs) -> Self:
        """Prepare `predict_sets` by data that was used for nothing else, neither training nor calibration.

        Of each example it keeps by how much the true labelling does not conform: -log p(y | x) or, where the
        loss has no probabilities, by how much the best labelling's score exceeds its score.
        """
        self.conformal_scores_, self.n_conformal_ = AnswerConfidence(self.model_).conformal(X, y)
        return self

    @for_no_examples
    def predict_sets(
        self, X: Tables, coverage: float = 0.9, *, max_size: int = 1000, allowed: Allowed | None = None
    ) -> list[list[Any] | None]:
        """Return labellings of each example that hold the true one with at least this probability.

        The probability is over examples, those of `conformalize` included, that are exchangeable with these;
        it is guaranteed whatever the model is worth, but not for a single example. No set is empty, and its
        best labelling comes first. None stands for a set of more than `max_size` labellings, which excludes
        nothing: it counts as one that holds the true labelling. Of these sets, `allowed` keeps the labellings
        that it allows: the probability stands where the true one is among them.
        """
        if not hasattr(self, "conformal_scores_"):
            raise ValueError(
                "There are no sets yet: call conformalize with data that was used for nothing else."
            )
        known = Conformal(self.conformal_scores_, self.n_conformal_)
        return AnswerConfidence(self.model_).sets(X, known, coverage, max_size=max_size, allowed=allowed)
