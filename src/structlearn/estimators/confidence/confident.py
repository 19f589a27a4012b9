"""How sure an estimator of labellings is: probabilities of spans and of sentences; sets of labellings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, Self, TypeVar, cast

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.sentences import Sentence
from structlearn.estimators.base import StructuredEstimator
from structlearn.estimators.confidence.calibration import (
    Calibration,
    Confidence,
    Reliability,
    best_temperature,
)
from structlearn.estimators.confidence.conformal import largest_score, outputs_above
from structlearn.estimators.files.attributes import count, numbers, positive
from structlearn.estimators.inputs.allowed import Allowed
from structlearn.estimators.inputs.checking import Tables, check_same_length, for_no_examples
from structlearn.estimators.inputs.spans import Span
from structlearn.estimators.loss_choice import WITH_MARGINALS
from structlearn.metrics import Outputs
from structlearn.structures import Structure

T = TypeVar("T")
S = TypeVar("S", bound=Structure)
#: A probability, and whether what has it is right.
Judged = Iterator[tuple[float, bool]]

#: What `calibrate` and `conformalize` set, as model files hold it.
STORED: dict[str, object] = {
    "temperature_?": positive,
    "conformal_scores_?": numbers,
    "n_conformal_?": count,
}


class Ranking(Protocol):
    """What is asked of a structure, about the part vector of scores of one example."""

    def k_best(self, theta: Array, k: int) -> tuple[Any, Array]:
        """The k best outputs and their scores, best first; fewer where there are fewer."""

    def score(self, theta: Array, y: Any) -> float:
        """<theta, z(y)>; -inf where y is not allowed."""

    def log_partition(self, theta: Array) -> float:
        """log sum_y exp <theta, z(y)>."""


class Confident(StructuredEstimator[S]):
    """An estimator of labellings that says how sure it is.

    With loss="softmax" it is a distribution over labellings, p(y | x) ~ exp(score(y) / T); the temperature T
    is 1 until `calibrate` has found another one. Other losses have `conformalize` and `predict_sets` alone.

    Attributes
    ----------
    temperature_ : float, after `calibrate`
    conformal_scores_, n_conformal_ : after `conformalize`
    """

    temperature_: float
    conformal_scores_: Array
    n_conformal_: int

    @property
    def _auto_losses(self) -> tuple[str, ...]:
        return WITH_MARGINALS

    # ---- what a kind of labellings says of itself ------------------------------------------------------

    @abstractmethod
    def predict(self, X: Tables, allowed: Allowed | None = None) -> list[Any]:
        """The best labelling of each example."""

    @abstractmethod
    def _part_scores(self, X: Tables, allowed: Allowed | None = None) -> tuple[Iterator[Array], Array]:
        """Part vectors of the scores of examples that are not empty, and which of them are not."""

    @abstractmethod
    def _codes_of(self, y: Outputs) -> list[Any]:
        """Labellings as the structure takes them; None for one that has a label unknown to the model."""

    @abstractmethod
    def _check_length(self, i: int, theta: Array, codes: Any) -> None:
        """ValueError unless the labelling of example i is of its length."""

    @abstractmethod
    def _labelling(self, output: Any) -> Any:
        """A labelling of the structure's as a user has it."""

    @abstractmethod
    def _nothing(self) -> Any:
        """The labelling of an empty example."""

    @abstractmethod
    def _spans(self, theta: Array, labelling: Any) -> list[Span]:
        """The spans of a predicted labelling, with probabilities."""

    @abstractmethod
    def _judged_labels(self, X: Tables, y: Outputs) -> Judged:
        """Predicted labels, by their marginals."""

    @abstractmethod
    def _judged_spans(self, X: Tables, y: Outputs) -> Judged:
        """Predicted spans."""

    # ---- probabilities ---------------------------------------------------------------------------------

    @for_no_examples
    def predict_spans(self, X: Tables, allowed: Allowed | None = None) -> list[list[Span]]:
        """(start, end, label, probability) of each span of the predicted labellings, end exclusive.

        The probability is that of all labellings in which exactly this span is: it begins and ends there.
        Labels O, B-type, I-type ... are read as tags, by IOB1, IOB2, IOBES and BILOU, and the type
        is the span's label; of other labels each run of equal ones is a span, but for the label "O".
        Where `allowed` limits labels, as in `predict`, it is the probability given that they are right.
        """
        self._check_distribution()
        predicted = self.predict(X, allowed)
        scores, filled = self._tempered(X, allowed=allowed)
        labels = (one for one, there in zip(predicted, filled.tolist()) if there)
        return with_empty(map(self._spans, scores, labels), filled, list)

    def log_probability(self, X: Tables, y: Outputs) -> Array:
        """log p(y_i | x_i) of whole labellings; -inf for one with a label that the model does not know."""
        self._check_distribution()
        return -self._nonconformity(X, y)

    @for_no_examples
    def predict_kbest_proba(
        self, X: Tables, k: int = 5, allowed: Allowed | None = None
    ) -> list[list[tuple[Any, float]]]:
        """The k best labellings of each example with their probabilities, best first.

        Probabilities are those among the labellings that `allowed` allows.
        """
        return list(self.kbest_proba_stream(X, k, allowed))

    def kbest_proba_stream(
        self, X: Tables, k: int = 5, allowed: Allowed | None = None
    ) -> Iterator[list[tuple[Any, float]]]:
        """The same, one example after the other: a large k then takes the memory of one."""
        self._check_distribution()
        scores, filled = self._tempered(X, allowed=allowed)
        for there in filled.tolist():
            yield self._kbest_proba(next(scores), k) if there else [(self._nothing(), 1.0)]

    def _kbest_proba(self, theta: Array, k: int) -> list[tuple[Any, float]]:
        outputs, scores = self._ranking.k_best(theta, k)
        shares = np.minimum(np.exp(scores - self._ranking.log_partition(theta)), 1.0)
        return [(self._labelling(one), share) for one, share in zip(outputs, shares.tolist())]

    def _check_distribution(self) -> None:
        if self._loss != "softmax":
            raise AttributeError(
                Sentence(
                    "{loss=} is no distribution over sequences; train with {loss=softmax}.", loss=self._loss
                )
            )

    # ---- calibration -----------------------------------------------------------------------------------

    def calibrate(self, X: Tables, y: Outputs) -> Calibration:
        """Choose the temperature by the likelihood of data that was not trained on; say what it changes.

        All probabilities are those of the scores over `temperature_` from now on; predictions stay. What
        `conformalize` has set is forgotten, since it is about other probabilities.
        """
        before = self.reliability(X, y)
        if before.left_out == len(X):
            raise _none_allowed()
        temperature = best_temperature(lambda one: self._log_likelihood(X, y, one))
        self._forget_confidence()
        self.temperature_ = temperature
        return Calibration(temperature, before, self.reliability(X, y))

    def _log_likelihood(self, X: Tables, y: Outputs, temperature: float) -> float:
        found = self._nonconformity(X, y, temperature)
        return -float(found[np.isfinite(found)].mean())

    def reliability(self, X: Tables, y: Outputs) -> Confidence:
        """How right answers are beside how sure the model is of them, on data with labels."""
        logs = self.log_probability(X, y)
        allowed = logs > -np.inf
        labels, spans = self._judged_labels(X, y), self._judged_spans(X, y)
        mean = float(logs[allowed].mean()) if allowed.any() else -np.inf
        return Confidence(Reliability.of(labels), Reliability.of(spans), mean, int((~allowed).sum()))

    # ---- conformal sets --------------------------------------------------------------------------------

    def conformalize(self, X: Tables, y: Outputs) -> Self:
        """Prepare `predict_sets` by data that was used for nothing else, neither training nor calibration.

        Of each example it keeps by how much the true labelling does not conform: -log p(y | x) or, where the
        loss has no probabilities, by how much the best labelling's score exceeds its score.
        """
        scores = self._nonconformity(X, y)
        finite = np.sort(scores[np.isfinite(scores)])
        if not finite.size:
            raise _none_allowed()
        self.conformal_scores_, self.n_conformal_ = finite, len(scores)
        return self

    @for_no_examples
    def predict_sets(
        self, X: Tables, coverage: float = 0.9, *, max_size: int = 1000, allowed: Allowed | None = None
    ) -> list[list[Any] | None]:
        """Labellings of each example that hold the true one with at least this probability.

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
        if max_size < 1:
            raise ValueError(f"max_size must be at least 1; got {max_size}.")
        most = largest_score(self.conformal_scores_, self.n_conformal_, coverage)
        scores, filled = self._tempered(X)
        least = (self._top(theta) - most for theta in scores)
        kept, _ = self._tempered(X, allowed=allowed)
        found = (self._set(theta, threshold, max_size) for theta, threshold in zip(kept, least))
        return with_empty(found, filled, lambda: [self._nothing()])

    def _set(self, theta: Array, threshold: float, max_size: int) -> list[Any] | None:
        found = outputs_above(lambda k: self._ranking.k_best(theta, k), threshold, max_size)
        return None if found is None else [self._labelling(one) for one in found]

    # ---- what these share ------------------------------------------------------------------------------

    def _nonconformity(self, X: Tables, y: Outputs, temperature: float | None = None) -> Array:
        """A(theta) - <theta, z(y)> of each example: -log p(y | x), or by how much y is below the best."""
        check_same_length(X, y)
        codes = self._codes_of(y)
        scores, filled = self._tempered(X, temperature)
        for i in np.flatnonzero(~filled).tolist():
            if np.size(y[i]):  # type: ignore[arg-type]
                raise ValueError(f"Sequence {i} is empty, but its labelling is not.")
        found = np.zeros(len(codes))
        for i, theta in zip(np.flatnonzero(filled).tolist(), scores):
            found[i] = self._excess(i, theta, codes[i])
        return found

    def _excess(self, i: int, theta: Array, codes: Any) -> float:
        if codes is None:
            return np.inf
        self._check_length(i, theta, codes)
        return max(self._top(theta) - self._ranking.score(theta, codes), 0.0)

    def _top(self, theta: Array) -> float:
        """log Z or, of a loss without probabilities, the largest score."""
        if self._loss == "softmax":
            return self._ranking.log_partition(theta)
        return float(self._ranking.k_best(theta, 1)[1][0])

    def _tempered(
        self, X: Tables, temperature: float | None = None, allowed: Allowed | None = None
    ) -> tuple[Iterator[Array], Array]:
        """Scores over the temperature, of examples that are not empty, and which of them are not."""
        scores, filled = self._part_scores(X, allowed)
        divisor = self._temperature if temperature is None else temperature
        return (theta / divisor for theta in scores), filled

    @property
    def _ranking(self) -> Ranking:
        return cast(Ranking, self.structure_)

    @property
    def _temperature(self) -> float:
        return getattr(self, "temperature_", 1.0)

    @property
    def _soft_weights(self) -> Array:
        return self.weights_ if self._temperature == 1.0 else self.weights_ / self._temperature

    def _forget_confidence(self) -> None:
        """What is true of the model as it was is not of the next one."""
        for name in STORED:
            self.__dict__.pop(name.removesuffix("?"), None)


def _none_allowed() -> ValueError:
    return ValueError("The model allows none of the labellings in y; are these its labels?")


def with_empty(found: Iterable[T], filled: Array, nothing: Callable[[], T]) -> list[T]:
    """The answers for examples that are not empty, in their places, and `nothing` for those that are."""
    answers = iter(found)
    return [next(answers) if one else nothing() for one in filled.tolist()]
