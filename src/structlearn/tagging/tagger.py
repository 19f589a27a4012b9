"""Taggers: sentences in, labels out."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.inputs.allowed import Allowed
from structlearn.estimators.inputs.checking import for_no_examples
from structlearn.estimators.scikit import check_is_fitted
from structlearn.solvers.solution import Certificate, History
from structlearn.tagging.confidence import ConfidentTagger
from structlearn.tagging.continuing import continue_tagger
from structlearn.tagging.doubts import doubt_labels
from structlearn.tagging.explaining import ExplainedTagger
from structlearn.tagging.featured import OF_SPANS, Labels, Sentences
from structlearn.tagging.features import TextFeatures
from structlearn.tagging.models import check_model, new_model
from structlearn.tagging.pruning import drop_unused
from structlearn.tagging.raw import RawText
from structlearn.tagging.stored import StoredTagger

#: of the hinge: mistakes count the same in long sentences and in short ones
COST = "count"


@dataclass(kw_only=True, eq=False, repr=False)
class Tagger(StoredTagger, RawText, ConfidentTagger, ExplainedTagger):
    """Text features by templates, or the user's own, then a `ChainClassifier`.

    A token is a string (the word) or a tuple of columns, of which templates make features; or its features
    themselves, a dict or a list of strings by the conventions of python-crfsuite (see `TokenFeatures`). A
    sentence is a list of tokens, or a pair of such a list and an array beside it, such as word vectors, of
    shape (length, d): its columns are d features more.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns of a token, the word first: ("word", "pos") for sentences of (word, tag) pairs.
    templates : str, list or None
        See `structlearn.tagging.features.templates`; `default_templates(columns)` unless given.
    task : {"tag", "chunk", "ner"}
        "ner" (names) has default templates and usual labels of its own.
    model : {"chain", "segments"}
        "segments" scores whole spans, which labels mark as O, B-type, I-type ... (see `SegmentClassifier`);
        answers are IOB2. transitions, constraints, penalty and warm_start go with chains.
    lexicons : dict, optional
        Lists of phrases, or files of a phrase a line, by names: columns that say where the phrases are.
    span_lexicon : bool
        Whether phrases that are spans of the training text are a lexicon, too, the column ``spans``.
    clusters, vectors : path, optional
        Files of word clusters (``bits word count`` or ``word cluster``) and of word vectors, of which
        clusters are made: the columns ``cluster`` and ``vector``.
    usual : str, list or None
        Templates whose values' usual labels in the training text become the columns ``usual1``, ``usual2``
        ...; "" for none, those of the task unless these or `templates` are given.
    context : int, optional
        Sentences to either side in which the same word is looked for: what a first pass says of it there
        becomes the columns ``nearby`` and ``within`` (see `structlearn.tagging.features.context`), so that
        labels depend on the other sentences of a call, in their order. 0 for none; 20 for "ner" unless
        `templates` are given. Fewer than 60 sentences with labels teach none.
    transitions : str, list or None
        Templates whose features score pairs of neighbouring labels, too, so that transitions depend on what
        is seen. Each feature takes K * K weights.
    min_count : int
        Features that occur less often in the training text are left out.
    hash_bits : int, optional
        Number features by hashing instead of a vocabulary.
    keep_names : bool, optional
        Whether features that come by name keep their names; below a million unless given.
    loss : {"auto", "softmax", "hinge", "sparsemax", "perceptron"}
        "softmax" is the conditional random field, which "auto" stands for unless `chain_options` have a cost,
        or a solver of another loss alone. `chain_.loss_` tells which it was.
    regularization : float, optional
        lambda; 1 over the number of sentences unless given.
    penalty : {"l2", "elasticnet", "l1"}
    l1_ratio : float
        As in `ChainClassifier`: the last two penalties leave few weights.
    tol : float
        Training ends when the duality gap is at most this (the loss is that of a whole sentence).
    constraints : "bio", "bioes", "bilou" or a list of pairs (before, after), optional
        Which label may not follow which, as in `ChainClassifier`.
    n_jobs, random_state, verbose : int, optional
        As in `ChainClassifier`.
    taggers : dict of str to Tagger, optional
        Fitted taggers of words that fill columns beside the word, in training and in predictions: sentences
        come without these columns (what a file has there is not looked at), and raw text can be tagged.
    warm_start : bool
        Whether another `fit`, also on other sentences and labels, starts from the weights before, by the
        names of features and labels. Certificate and optimum are those of the new data alone.
    chain_options : dict, optional
        Other parameters of `ChainClassifier`: solver, max_passes, start, end, cost ("count" unless given) ...

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

    def fit(self, X: Sentences, y: Labels) -> Tagger:
        """Train on sentences (lists of words, tuples of `columns`, or features) and lists of labels.

        Where a label is not known there may be a set of labels, or None for any.
        """
        check_model(self)
        doubt_labels(y, spans=self.task in OF_SPANS)
        before = copy(self) if self.warm_start and hasattr(self, "chain_") else None
        rows = self.fit_features(X, y)
        self.chain_ = new_model(self, self.problem_parameters(len(rows)), rows)
        if before is not None:
            continue_tagger(self.chain_, before, self.features_, self.n_arrays_)
        self.chain_.fit(rows, y)
        if isinstance(self.features_, TextFeatures) and self.hash_bits is None:
            used = drop_unused(self.chain_, self.n_arrays_)
            if used is not None:
                self.features_.keep(used[: used.size - self.n_arrays_])
        return self

    def problem_parameters(self, n_sentences: int) -> dict[str, Any]:
        """Parameters of the chain that say what is minimised, and how closely; the cost of the hinge."""
        pairs = None if self.transitions is None else self.features_.columns_of(self.transitions)
        return {
            "regularization": 1 / n_sentences if self.regularization is None else self.regularization,
            "tol": self.tol,
            "cost": COST,
            "transition_features": pairs,
        }

    @for_no_examples
    def predict(self, X: Sentences, allowed: Allowed | None = None) -> list[Array]:
        """The best labels of each sentence; none of a sentence without words.

        `allowed` has, per sentence, None or a list with, per word, the set of labels that it may have, or
        None for any. So in all methods that have it.
        """
        return self._asked().predict(self.rows(X), allowed)

    @for_no_examples
    def predict_marginals(self, X: Sentences, allowed: Allowed | None = None) -> list[Array]:
        """Probabilities of the labels, of shape (length, n_classes) each."""
        return self._asked().predict_marginals(self.rows(X), allowed)

    @for_no_examples
    def predict_kbest(
        self, X: Sentences, k: int = 5, allowed: Allowed | None = None
    ) -> list[list[tuple[Array, float]]]:
        """The k best label sequences of each sentence with their scores, best first."""
        return self._asked().predict_kbest(self.rows(X), k, allowed)

    @for_no_examples
    def sample(
        self,
        X: Sentences,
        n: int = 1,
        random_state: int | np.random.Generator | None = None,
        allowed: Allowed | None = None,
    ) -> list[Array]:
        """n label sequences of each sentence, of shape (n, length), from the model's distribution."""
        chain = self._asked()
        if not hasattr(chain, "sample"):
            raise ValueError("Models of segments are not sampled from; ask for the k best, or train a chain.")
        return chain.sample(self.rows(X), n, random_state, allowed)

    def score(self, X: Sentences, y: Labels) -> float:
        """The share of words labelled right."""
        return self._asked().score(self.rows(X), y)

    @property
    def classes_(self) -> Array:
        """The labels."""
        return self._asked().classes_

    @property
    def certificate_(self) -> Certificate:
        """How far from optimal the model is at most."""
        return self._asked().certificate_

    @property
    def history_(self) -> History:
        """The trace of primal, dual and gap."""
        return self._asked().history_

    def _asked(self) -> Any:
        check_is_fitted(self, "chain_")
        return self.chain_
