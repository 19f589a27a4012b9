"""How sure a model of labellings is: probabilities of spans and of sentences; sets of labellings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.sentences import Statement
from structlearn.estimators.confidence.calibration import (
    Calibration,
    Confidence,
    Reliability,
    best_temperature,
)
from structlearn.estimators.confidence.conformal import Conformal, largest_score, outputs_above
from structlearn.estimators.files.attributes import count, numbers, positive
from structlearn.estimators.inputs.allowed import Allowed
from structlearn.estimators.inputs.checking import Tables, check_same_length
from structlearn.estimators.inputs.sequences import with_empty
from structlearn.estimators.inputs.spans import Span
from structlearn.metrics import Outputs

#: A probability, and whether what has it is right.
Judged: TypeAlias = Iterator[tuple[float, bool]]
#: Of each example, (start, end, label) of its spans.
SpanSets: TypeAlias = Iterable[set[tuple[int, int, Any]]]

#: What `conformalize` sets, and `calibrate` as well, as model files hold it.
OF_SETS = ("conformal_scores_", "n_conformal_")
STORED: dict[str, object] = {
    "temperature_?": positive,
    "conformal_scores_?": numbers,
    "n_conformal_?": count,
}


class Ranking(Protocol):
    """What is asked of a structure, about the part vector of scores of one example."""

    def k_best(self, theta: Array, k: int) -> tuple[Any, Array]:
        """Return the k best outputs and their scores, best first; fewer if there are fewer."""

    def score(self, theta: Array, y: Any) -> float:
        """Return <theta, z(y)>; -inf if y is not allowed."""

    def log_partition(self, theta: Array) -> float:
        """Return log sum_y exp <theta, z(y)>."""


class Labellings(Protocol):
    """What is asked of a fitted model of labellings."""

    @property
    def loss(self) -> str:
        """The loss that was trained."""

    @property
    def temperature(self) -> float:
        """What scores are divided by in probabilities."""

    def with_temperature(self, temperature: float) -> Self:
        """Return the same model with another temperature."""

    @property
    def ranking(self) -> Ranking:
        """What ranks labellings by their scores."""

    def best(self, X: Tables, allowed: Allowed | None = None) -> list[Any]:
        """Return the best labelling of each example."""

    def marginals(self, X: Tables, allowed: Allowed | None = None) -> list[Array]:
        """Return the probabilities of labels, one table per example."""

    def part_scores(self, X: Tables, allowed: Allowed | None = None) -> tuple[Iterator[Array], Array]:
        """Return the score vectors of examples that are not empty, and a mask of these examples."""

    def codes_of(self, y: Outputs) -> list[Any]:
        """Return labellings as the structure takes them; None for one with a label unknown to the model."""

    def check_length(self, i: int, theta: Array, codes: Any) -> None:
        """Raise ValueError unless the labelling of example i has the example's length."""

    def labelling(self, output: Any) -> Any:
        """Return a labelling of the structure in the form that users have."""

    def nothing(self) -> Any:
        """Return the labelling of an empty example."""

    def spans(self, theta: Array, labelling: Any) -> list[Span]:
        """Return the spans of a predicted labelling with their probabilities."""

    def judged_labels(self, y: Outputs, predicted: list[Any], tables: list[Array]) -> Judged:
        """Return predicted labels with their marginals, and whether they are right."""

    def gold_spans(self, y: Outputs) -> SpanSets:
        """Return the spans of labellings that were given."""


@dataclass(frozen=True, eq=False)
class AnswerConfidence:
    """How sure a model is of its answers.

    With loss="softmax" a model is a distribution over labellings, p(y | x) ~ exp(score(y) / T); the
    temperature T is 1 until `calibrate` has found another one. Other losses have sets of labellings alone.
    """

    model: Labellings

    # ---- probabilities ---------------------------------------------------------------------------------

    def spans(self, X: Tables, allowed: Allowed | None = None) -> list[list[Span]]:
        """Return the spans of the predicted labellings, with probabilities."""
        self.check_distribution()
        predicted = self.model.best(X, allowed)
        scores, filled = self._tempered_scores(X, allowed)
        labels = (one for one, there in zip(predicted, filled.tolist()) if there)
        return with_empty(map(self.model.spans, scores, labels), filled, list)

    def log_probability(self, X: Tables, y: Outputs) -> Array:
        """Return log p(y_i | x_i) of whole labellings; -inf for one with an unknown label."""
        self.check_distribution()
        return -self.nonconformity(X, y)

    def kbest_stream(
        self, X: Tables, k: int = 5, allowed: Allowed | None = None
    ) -> Iterator[list[tuple[Any, float]]]:
        """Yield the k best labellings of each example with their probabilities, best first."""
        self.check_distribution()
        scores, filled = self._tempered_scores(X, allowed)
        for there in filled.tolist():
            yield self._kbest(next(scores), k) if there else [(self.model.nothing(), 1.0)]

    def _kbest(self, theta: Array, k: int) -> list[tuple[Any, float]]:
        ranking = self.model.ranking
        outputs, scores = ranking.k_best(theta, k)
        shares = np.minimum(np.exp(scores - ranking.log_partition(theta)), 1.0)
        return [(self.model.labelling(one), share) for one, share in zip(outputs, shares.tolist())]

    def check_distribution(self) -> None:
        """Raise AttributeError unless the loss makes the model a distribution."""
        if self.model.loss != "softmax":
            raise AttributeError(
                Statement(
                    "{loss=} is no distribution over sequences; train with {loss=softmax}.",
                    loss=self.model.loss,
                )
            )

    # ---- calibration -----------------------------------------------------------------------------------

    def calibrate(self, X: Tables, y: Outputs) -> Calibration[Confidence]:
        """Find the temperature by the likelihood of data that was not trained on; say what it changes."""
        before = self.reliability(X, y)
        if before.left_out == len(X):
            raise _none_allowed()
        temperature = best_temperature(lambda one: self._at(one)._log_likelihood(X, y))
        return Calibration(temperature, before, self._at(temperature).reliability(X, y))

    def _at(self, temperature: float) -> AnswerConfidence:
        return AnswerConfidence(self.model.with_temperature(temperature))

    def _log_likelihood(self, X: Tables, y: Outputs) -> float:
        found = self.nonconformity(X, y)
        return -float(found[np.isfinite(found)].mean())

    def reliability(self, X: Tables, y: Outputs) -> Confidence:
        """Compare how right answers are with how sure the model is of them, on data with labels."""
        logs = self.log_probability(X, y)
        allowed = logs > -np.inf
        labels = self.model.judged_labels(y, self.model.best(X), self.model.marginals(X))
        spans = self._judged_spans(X, y)
        mean = float(logs[allowed].mean()) if allowed.any() else -np.inf
        return Confidence(Reliability.of(labels), Reliability.of(spans), mean, int((~allowed).sum()))

    def _judged_spans(self, X: Tables, y: Outputs) -> Judged:
        for there, found in zip(self.model.gold_spans(y), self.spans(X)):
            yield from ((span.probability, span[:3] in there) for span in found)

    # ---- conformal sets --------------------------------------------------------------------------------

    def conformal(self, X: Tables, y: Outputs) -> Conformal:
        """Return what sets with a guarantee need of data that was used for nothing else."""
        scores = self.nonconformity(X, y)
        finite = np.sort(scores[np.isfinite(scores)])
        if not finite.size:
            raise _none_allowed()
        return Conformal(finite, len(scores))

    def sets(
        self,
        X: Tables,
        known: Conformal,
        coverage: float = 0.9,
        *,
        max_size: int = 1000,
        allowed: Allowed | None = None,
    ) -> list[list[Any] | None]:
        """Return labellings of each example that hold the true one with at least this probability."""
        if max_size < 1:
            raise ValueError(f"max_size must be at least 1; got {max_size}.")
        most = largest_score(known.scores, known.n, coverage)
        scores, filled = self._tempered_scores(X)
        least = (self._top(theta) - most for theta in scores)
        kept, _ = self._tempered_scores(X, allowed)
        found = (self._set(theta, threshold, max_size) for theta, threshold in zip(kept, least))
        return with_empty(found, filled, lambda: [self.model.nothing()])

    def _set(self, theta: Array, threshold: float, max_size: int) -> list[Any] | None:
        found = outputs_above(lambda k: self.model.ranking.k_best(theta, k), threshold, max_size)
        return None if found is None else [self.model.labelling(one) for one in found]

    # ---- what these share ------------------------------------------------------------------------------

    def nonconformity(self, X: Tables, y: Outputs) -> Array:
        """Return A(theta) - <theta, z(y)> of each example: -log p(y | x), or how far y is below the best."""
        check_same_length(X, y)
        codes = self.model.codes_of(y)
        scores, filled = self._tempered_scores(X)
        for i in np.flatnonzero(~filled).tolist():
            if np.asarray(y[i]).size:
                raise ValueError(f"Sequence {i} is empty, but its labelling is not.")
        found = np.zeros(len(codes))
        for i, theta in zip(np.flatnonzero(filled).tolist(), scores):
            found[i] = self._excess(i, theta, codes[i])
        return found

    def _excess(self, i: int, theta: Array, codes: Any) -> float:
        if codes is None:
            return np.inf
        self.model.check_length(i, theta, codes)
        return max(self._top(theta) - self.model.ranking.score(theta, codes), 0.0)

    def _top(self, theta: Array) -> float:
        """Return log Z or, for a loss without probabilities, the largest score."""
        if self.model.loss == "softmax":
            return self.model.ranking.log_partition(theta)
        return float(self.model.ranking.k_best(theta, 1)[1][0])

    def _tempered_scores(self, X: Tables, allowed: Allowed | None = None) -> tuple[Iterator[Array], Array]:
        """Return scores divided by the temperature, of examples that are not empty, and a mask of these."""
        scores, filled = self.model.part_scores(X, allowed)
        divisor = self.model.temperature
        return (theta / divisor for theta in scores), filled


def _none_allowed() -> ValueError:
    return ValueError("The model allows none of the labellings in y; are these its labels?")
