"""How sure a tagger is: what its chain says of sentences (see `estimators.confidence`)."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

from structlearn.core.contract import Array
from structlearn.estimators.confidence.calibration import Calibration, Confidence
from structlearn.estimators.inputs.allowed import Allowed
from structlearn.estimators.inputs.checking import Stacked, for_no_examples
from structlearn.estimators.inputs.spans import Span

if TYPE_CHECKING:
    from structlearn.tagging.featured import Labels, Sentences
    from structlearn.tagging.features.resources import DerivedColumns

#: What is said of sets with a guarantee of taggers with context.
NO_SETS = (
    "Sets with a guarantee need sentences whose labels do not depend on one another, but this tagger looks "
    "at those around a sentence: train it with context=0 (--context 0)."
)


class ConfidentTagger:
    """A tagger that says how sure it is; the methods are those of `ChainClassifier`."""

    derived_: DerivedColumns

    @abstractmethod
    def rows(self, X: Sentences) -> Stacked:
        """Return the features of sentences, a row per word."""

    @abstractmethod
    def _asked(self) -> Any:
        """Return the fitted estimator."""

    @for_no_examples
    def predict_spans(self, X: Sentences, allowed: Allowed | None = None) -> list[list[Span]]:
        """(start, end, label, probability) of each span of the predicted labellings, end exclusive."""
        return self._asked().predict_spans(self.rows(X), allowed)

    def log_probability(self, X: Sentences, y: Labels) -> Array:
        """Return the logarithm of the probability of each sentence's labelling as a whole."""
        return self._asked().log_probability(self.rows(X), y)

    @for_no_examples
    def predict_kbest_proba(
        self, X: Sentences, k: int = 5, allowed: Allowed | None = None
    ) -> list[list[tuple[Array, float]]]:
        """Return the k best label sequences of each sentence with their probabilities, best first."""
        return self._asked().predict_kbest_proba(self.rows(X), k, allowed)

    def reliability(self, X: Sentences, y: Labels) -> Confidence:
        """How right answers are beside how sure the tagger is of them, on sentences with labels."""
        return self._asked().reliability(self.rows(X), y)

    def calibrate(self, X: Sentences, y: Labels) -> Calibration:
        """Choose `temperature_` by the likelihood of sentences that were not trained on."""
        return self._asked().calibrate(self.rows(X), y)

    def conformalize(self, X: Sentences, y: Labels) -> Self:
        """Prepare `predict_sets` by sentences that were used for nothing else.

        Sentences must be exchangeable, which they are not where the labels of one depend on those around it:
        a tagger with context is refused.
        """
        if self.derived_.context:
            raise ValueError(NO_SETS)
        self._asked().conformalize(self.rows(X), y)
        return self

    @for_no_examples
    def predict_sets(
        self, X: Sentences, coverage: float = 0.9, *, max_size: int = 1000, allowed: Allowed | None = None
    ) -> list[list[Array] | None]:
        """Labellings of each sentence that hold the true one with at least this probability.

        None stands for more than `max_size` of them, which exclude nothing.
        """
        return self._asked().predict_sets(self.rows(X), coverage, max_size=max_size, allowed=allowed)

    @property
    def temperature_(self) -> float:
        """What scores are divided by in probabilities, after `calibrate`."""
        return self._asked().temperature_
