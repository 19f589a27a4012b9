"""What taggers answer: labels, probabilities and spans, each by a chain over rows of features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from structlearn.core.contract import Array
from structlearn.data import Tokens
from structlearn.estimators.confidence.calibration import Calibration, Confidence
from structlearn.estimators.inputs.allowed import Allowed
from structlearn.estimators.inputs.checking import Stacked, for_no_examples
from structlearn.estimators.inputs.spans import Span
from structlearn.estimators.scikit import check_is_fitted
from structlearn.solvers.solution import Certificate, History
from structlearn.tagging.confidence import check_exchangeable
from structlearn.tagging.featured import Labels, Sentences
from structlearn.tagging.features.resources import DerivedColumns
from structlearn.tagging.raw import PENN, TaggedToken, tag_pieces, tag_text

if TYPE_CHECKING:
    from structlearn.estimators.files.persistence import Bundle
    from structlearn.estimators.models.chains import LabelledSequence
    from structlearn.tagging.plan import Plan


class TaggerAnswers(ABC):
    """The answers of a tagger, which makes rows of sentences and has a fitted chain over these."""

    #: names of the columns of a token, the word first, and taggers that fill some of them
    columns: Any
    taggers: Any
    #: the fitted model over rows
    chain_: Any
    #: the features of words, what makes further columns of these, and how many come from arrays beside them
    features_: Any
    derived_: DerivedColumns
    n_arrays_: int

    @abstractmethod
    def rows(self, X: Sentences) -> Stacked:
        """Return the features of sentences, a row per word."""

    @abstractmethod
    def text(self, X: Sentences) -> Tokens:
        """Return sentences of words with all columns that are looked at."""

    @abstractmethod
    def word_rows(self, text: Tokens) -> Stacked:
        """Return the features of such a text alone, without columns that come from elsewhere."""

    @abstractmethod
    def bundle(self, plan: Plan | None = None) -> Bundle:
        """Return the tagger as a model file holds it.

        `plan` says which columns of a training file it looks at; without one, files have the tagger's columns
        in their order, and the label last.
        """

    @for_no_examples
    def predict(
        self, X: Sentences, allowed: Allowed | None = None, *, constraints: object = None
    ) -> list[Array]:
        """Return the best labels of each sentence; none of a sentence without words.

        `allowed` has, per sentence, None or a list with, per word, the set of labels that it may have, or
        None for any. So in all methods that have it. `constraints` are those of `structlearn.constraints`:
        what each sentence must keep, and what all must agree on.
        """
        if constraints is None:
            return self._fitted_estimator().predict(self.rows(X), allowed)
        return [one.labels for one in self.predict_with_bounds(X, allowed, constraints=constraints)]

    @for_no_examples
    def predict_with_bounds(
        self, X: Sentences, allowed: Allowed | None = None, *, constraints: object = ()
    ) -> list[LabelledSequence]:
        """Return the labels of each sentence, their score, and a bound on that of any that may be."""
        chain = self._fitted_estimator()
        if not hasattr(chain, "predict_with_bounds"):
            raise ValueError("Models of segments know no constraints; train with model='chain'.")
        return chain.predict_with_bounds(self.rows(X), allowed, constraints=constraints)

    @for_no_examples
    def predict_marginals(self, X: Sentences, allowed: Allowed | None = None) -> list[Array]:
        """Return the probabilities of the labels, of shape (length, n_classes) each."""
        return self._fitted_estimator().predict_marginals(self.rows(X), allowed)

    @for_no_examples
    def predict_kbest(
        self, X: Sentences, k: int = 5, allowed: Allowed | None = None
    ) -> list[list[tuple[Array, float]]]:
        """Return the k best label sequences of each sentence with their scores, best first."""
        return self._fitted_estimator().predict_kbest(self.rows(X), k, allowed)

    @for_no_examples
    def sample(
        self,
        X: Sentences,
        n: int = 1,
        random_state: int | np.random.Generator | None = None,
        allowed: Allowed | None = None,
    ) -> list[Array]:
        """Draw n label sequences per sentence, of shape (n, length), from the model's distribution."""
        chain = self._fitted_estimator()
        if not hasattr(chain, "sample"):
            raise ValueError("Models of segments are not sampled from; ask for the k best, or train a chain.")
        return chain.sample(self.rows(X), n, random_state, allowed)

    def score(self, X: Sentences, y: Labels) -> float:
        """Return the share of words labelled right."""
        return self._fitted_estimator().score(self.rows(X), y)

    # ---- raw text --------------------------------------------------------------------------------------

    def tag(self, text: str, tokenizer: str = PENN) -> list[list[TaggedToken]]:
        """Return the sentences of a text, each a list of `(token, label, start, end)`.

        tokenizer : "penn" (English), "marks" (any language with blanks between words) or "blanks" (text that
        is tokenised already, one sentence per line).
        """
        return tag_text(self, text, tokenizer)

    def tag_stream(self, pieces: Iterable[str], tokenizer: str = PENN) -> Iterator[list[list[TaggedToken]]]:
        """Tag a text of any length that comes in pieces; yield lists of sentences as soon as they are whole.

        Positions count from the beginning of the first piece.
        """
        return tag_pieces(self, pieces, tokenizer)

    # ---- how sure it is, and why: the methods are those of `ChainClassifier` ----------------------------

    @for_no_examples
    def predict_spans(self, X: Sentences, allowed: Allowed | None = None) -> list[list[Span]]:
        """Return (start, end, label, probability) of each span of the predicted labellings, end exclusive."""
        return self._fitted_estimator().predict_spans(self.rows(X), allowed)

    def log_probability(self, X: Sentences, y: Labels) -> Array:
        """Return the logarithm of the probability of each sentence's labelling as a whole."""
        return self._fitted_estimator().log_probability(self.rows(X), y)

    @for_no_examples
    def predict_kbest_proba(
        self, X: Sentences, k: int = 5, allowed: Allowed | None = None
    ) -> list[list[tuple[Array, float]]]:
        """Return the k best label sequences of each sentence with their probabilities, best first."""
        return self._fitted_estimator().predict_kbest_proba(self.rows(X), k, allowed)

    def reliability(self, X: Sentences, y: Labels) -> Confidence:
        """Compare how right answers are with how sure the tagger is of them, on sentences with labels."""
        return self._fitted_estimator().reliability(self.rows(X), y)

    def calibrate(self, X: Sentences, y: Labels) -> Calibration[Confidence]:
        """Choose `temperature_` by the likelihood of sentences that were not trained on."""
        return self._fitted_estimator().calibrate(self.rows(X), y)

    def conformalize(self, X: Sentences, y: Labels) -> Self:
        """Prepare `predict_sets` by sentences that were used for nothing else.

        Sentences must be exchangeable, which they are not where the labels of one depend on those around it:
        a tagger with context is refused.
        """
        check_exchangeable(self.derived_)
        self._fitted_estimator().conformalize(self.rows(X), y)
        return self

    @for_no_examples
    def predict_sets(
        self, X: Sentences, coverage: float = 0.9, *, max_size: int = 1000, allowed: Allowed | None = None
    ) -> list[list[Array] | None]:
        """Return labellings of each sentence that hold the true one with at least this probability.

        None stands for more than `max_size` of them, which exclude nothing.
        """
        return self._fitted_estimator().predict_sets(
            self.rows(X), coverage, max_size=max_size, allowed=allowed
        )

    @property
    def temperature_(self) -> float:
        """What scores are divided by in probabilities, after `calibrate`."""
        return self._fitted_estimator().temperature_

    # ---- what is known of the chain ------------------------------------------------------------------------

    @property
    def classes_(self) -> Array:
        """The labels."""
        return self._fitted_estimator().classes_

    @property
    def certificate_(self) -> Certificate:
        """How far from optimal the model is at most."""
        return self._fitted_estimator().certificate_

    @property
    def history_(self) -> History:
        """The trace of primal, dual and gap."""
        return self._fitted_estimator().history_

    def _fitted_estimator(self) -> Any:
        check_is_fitted(self, "chain_")
        return self.chain_
