"""Taggers: sentences in, labels out."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from structlearn.estimators import ChainClassifier, SegmentTagger
from structlearn.estimators.choices import one_of
from structlearn.estimators.inputs.checking import Stacked
from structlearn.estimators.scikit import BaseEstimator, check_is_fitted
from structlearn.estimators.weights.explaining import Explanation
from structlearn.solvers.clock import counting_seconds
from structlearn.tagging.continuing import continue_tagger
from structlearn.tagging.doubts import doubt_labels
from structlearn.tagging.explaining import explain_tokens, top_features_of
from structlearn.tagging.featured import OF_SPANS, TASKS, Labels, Sentences
from structlearn.tagging.features import TextFeatures
from structlearn.tagging.models import check_model, new_model
from structlearn.tagging.pruning import drop_unused
from structlearn.tagging.small import has_indicators
from structlearn.tagging.stored import StoredTagger

if TYPE_CHECKING:
    from structlearn.estimators.weights.top_weights import TopFeatures

#: of the hinge: mistakes count the same in long sentences and in short ones
COST = "count"


@dataclass(kw_only=True, eq=False, repr=False)
class Tagger(StoredTagger, BaseEstimator):
    """Label the words of sentences: parts of speech, chunks, names.

    Text features by templates, or the user's own, then a `ChainClassifier`.

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

    # ---- why ---------------------------------------------------------------------------------------------

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
