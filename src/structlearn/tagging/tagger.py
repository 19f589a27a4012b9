"""Taggers: sentences in, labels out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators import ChainClassifier, SegmentTagger
from structlearn.estimators.choices import one_of
from structlearn.estimators.confidence.calibration import Calibration, Confidence
from structlearn.estimators.inputs.allowed import Allowed
from structlearn.estimators.inputs.checking import Stacked, for_no_examples
from structlearn.estimators.inputs.spans import Span
from structlearn.estimators.scikit import BaseEstimator, check_is_fitted
from structlearn.estimators.weights.explaining import Explanation
from structlearn.solvers.clock import counting_seconds
from structlearn.solvers.solution import Certificate, History
from structlearn.tagging.confidence import check_exchangeable
from structlearn.tagging.continuing import continue_tagger
from structlearn.tagging.doubts import doubt_labels
from structlearn.tagging.explaining import explain_tokens, top_features_of
from structlearn.tagging.featured import OF_SPANS, TASKS, Labels, Sentences
from structlearn.tagging.features import TextFeatures
from structlearn.tagging.models import check_model, new_model
from structlearn.tagging.pruning import drop_unused
from structlearn.tagging.raw import PENN, TaggedToken, tag_pieces, tag_text
from structlearn.tagging.small import has_indicators
from structlearn.tagging.stored import StoredTagger

if TYPE_CHECKING:
    from structlearn.estimators.models.chains import LabelledSequence
    from structlearn.estimators.weights.top_weights import TopFeatures

#: of the hinge: mistakes count the same in long sentences and in short ones
COST = "count"


@dataclass(kw_only=True, eq=False, repr=False)
class Tagger(StoredTagger, BaseEstimator):
    """Text features by templates, or the user's own, then a `ChainClassifier`.

    A token is a string (the word) or a tuple of columns, of which templates make features; or its features
    themselves, a dict or a list of strings by the conventions of python-crfsuite (see `TokenFeatures`). A
    sentence is a list of tokens, or a pair of such a list and an array beside it, such as word vectors, of
    shape (length, d): its columns are d features more.

    Attributes
    ----------
    features_ : TextFeatures or TokenFeatures
    chain_ : ChainClassifier or SegmentTagger
        The fitted model over the features' rows.
    classes_, certificate_, history_
        Those of `chain_`.

    Examples
    --------
    >>> from structlearn import Tagger
    >>> X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    >>> tagger = Tagger(random_state=0).fit(X, y)
    >>> [labels.tolist() for labels in tagger.predict([["the", "dog"]])]
    [['D', 'N']]
    """

    def fit(self, X: Sentences, y: Labels, *, client: object = None) -> Tagger:
        """Train on sentences (lists of words, tuples of `columns`, or features) and lists of labels.

        Where a label is not known there may be a set of labels, or None for any. With `client`, of a Dask
        cluster, the chain is trained there.
        """
        doubt_labels(y, spans=self.task in OF_SPANS)
        with counting_seconds():
            rows = self.prepare(X, y)
            self._indicators = has_indicators(rows)
            self.chain_.fit(rows, y, **({} if client is None else {"client": client}))
        self._drop_unused()
        return self

    def check_parameters(self) -> None:
        """Refuse parameters that `fit` would refuse, without data: ValueError or TypeError."""
        check_model(self)
        one_of("task", self.task, TASKS)
        self.new_chain().check_parameters()

    def new_chain(self, n_sentences: int = 1) -> ChainClassifier | SegmentTagger:
        """Return what a tagger with these parameters trains, before its features are known."""
        return new_model(self, self._problem(n_sentences))

    def prepare(self, X: Sentences, y: Labels) -> Stacked:
        """Learn the features of a training text, and make `chain_`, which is to be trained on the rows."""
        check_model(self)
        before: Tagger | None = getattr(self, "_before", None)
        self._before: Tagger | None = None
        if before is None and self.warm_start and hasattr(self, "chain_"):
            before = copy(self)
        rows = self._with_keys(self.fit_features(X, y))
        self.chain_ = new_model(self, self.problem_parameters(len(rows)), rows)
        if before is not None:
            continue_tagger(self.chain_, before, self.features_, self.n_arrays_)
        return rows

    def _with_keys(self, rows: Stacked) -> Stacked:
        """Return the rows with the columns of the keys of a tag dictionary, where there is to be one."""
        if self.candidates is None or not isinstance(self.features_, TextFeatures):
            return rows
        return replace(rows, key_columns=self.features_.key_columns(self.candidates))

    def continue_from(self, before: Tagger) -> Tagger:
        """Start the next `fit` at the weights of another tagger, by the names of features and labels."""
        check_is_fitted(before, "chain_")
        self._before = before
        return self

    def _drop_unused(self) -> None:
        """Forget features of templates whose weights are all zero."""
        if isinstance(self.features_, TextFeatures) and self.hash_bits is None:
            used = drop_unused(self.chain_, self.n_arrays_)
            if used is not None:
                self.features_.keep(used[: used.size - self.n_arrays_])

    def problem_parameters(self, n_sentences: int) -> dict[str, Any]:
        """Return the chain's parameters that say what is minimised, and how closely; the hinge's cost."""
        words = isinstance(self.features_, TextFeatures)
        pairs = self.features_.pair_columns(self.transitions) if words else None
        return {**self._problem(n_sentences), "transition_features": pairs}

    def _problem(self, n_sentences: int) -> dict[str, Any]:
        return {
            "regularization": 1 / n_sentences if self.regularization is None else self.regularization,
            "tol": self.tol,
            "cost": COST,
        }

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

    def top_features(self, k: int = 10) -> TopFeatures:
        """Return the k largest positive and negative weights of each label and of transitions, with names."""
        return top_features_of(self, k)

    def explain(self, tokens: Sequence[object]) -> list[Explanation]:
        """Explain the label of each token of one sentence (see `structlearn.estimators.weights.explaining`).

        >>> tagger.explain(["the", "dog"])[1].contributions[:2]  # doctest: +SKIP
        [Contribution(name='word=dog', amount=0.91), Contribution(name='D -> N', amount=0.62)]
        """
        (found,) = explain_tokens(self, [tokens])  # type: ignore[list-item]
        return found

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
