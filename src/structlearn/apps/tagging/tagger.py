"""Taggers: sentences in, labels out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from structlearn.apps.tagging.confidence import ConfidentTagger
from structlearn.apps.tagging.continuing import continue_tagger
from structlearn.apps.tagging.explaining import ExplainedTagger, stored_strings, take_strings
from structlearn.apps.tagging.pipeline import Taggers, check_taggers, taggers_of, with_predictions
from structlearn.apps.tagging.plan import Plan
from structlearn.apps.tagging.pruning import drop_unused
from structlearn.apps.tagging.raw import RawText
from structlearn.apps.text import (
    Templates,
    TextFeatures,
    default_templates,
    default_usual,
    parse_templates,
)
from structlearn.apps.text.lexicon import LexiconSource
from structlearn.apps.text.resources import DerivedColumns, Resources, derived_names
from structlearn.core.contract import Array
from structlearn.data import Tokens
from structlearn.estimators import ChainClassifier
from structlearn.estimators.allowed import Allowed
from structlearn.estimators.choices import one_of
from structlearn.estimators.constraints import Constraints
from structlearn.estimators.inputs import Stacked, for_no_examples
from structlearn.estimators.persistence import Bundle, load_bundle, save_bundle
from structlearn.estimators.scikit import BaseEstimator, check_is_fitted
from structlearn.estimators.token_features import TokenFeatures, TokenForm, is_named
from structlearn.solvers.solution import Certificate, History
from structlearn.storage.model_file import damaged
from structlearn.storage.schema import check_form

TASKS = ("tag", "chunk", "ner")
#: the name of the vocabulary in a model file
FEATURES = "features"
TOL = 0.01
#: of the hinge: mistakes count the same in long sentences and in short ones
COST = "count"
_NOTES = {"templates": str, "min_count": int, "hash_bits": int | None, "transitions?": str | None}

#: what `structlearn predict` reads for features that have names
CRFSUITE = "CRFsuite"

#: Lists of words, of tuples of the columns, or of tokens' features by name.
Sentences = Tokens | Sequence[Sequence[str | tuple[str, ...] | TokenForm]]
Labels = Sequence[ArrayLike | Sequence[object]]
RandomState = int | np.random.RandomState | None


@dataclass(kw_only=True, eq=False, repr=False)
class Tagger(RawText, ConfidentTagger, ExplainedTagger, BaseEstimator):
    """Text features by templates, or the user's own, then a `ChainClassifier`.

    A token is a string (the word) or a tuple of columns, of which templates make features; or its features
    themselves, a dict or a list of strings by the conventions of python-crfsuite (see `TokenFeatures`).

    Parameters
    ----------
    columns : sequence of str
        Names of the columns of a token, the word first: ("word", "pos") for sentences of (word, tag) pairs.
    templates : str, list or None
        See `structlearn.apps.text.templates`; `default_templates(columns)` unless given.
    task : {"tag", "chunk", "ner"}
        "ner" (names) has default templates and usual labels of its own.
    lexicons : dict, optional
        Lists of phrases, or files of a phrase a line, by names: columns that say where the phrases are.
    clusters, vectors : path, optional
        Files of word clusters (``bits word count`` or ``word cluster``) and of word vectors, of which
        clusters are made: the columns ``cluster`` and ``vector``.
    usual : str, list or None
        Templates whose values' usual labels in the training text become the columns ``usual1``, ``usual2``
        ...; "" for none, those of the task unless these or `templates` are given.
    transitions : str, list or None
        Templates whose features score pairs of neighbouring labels, too, so that transitions depend on what
        is seen. Each feature takes K * K weights.
    min_count : int
        Features that occur less often in the training text are left out.
    hash_bits : int, optional
        Number features by hashing instead of a vocabulary.
    keep_names : bool, optional
        Whether features that come by name keep their names; below a million unless given.
    loss : {"softmax", "hinge", "sparsemax", "perceptron"}
        "softmax" is the conditional random field.
    regularization : float, optional
        lambda; 1 over the number of sentences unless given.
    penalty : {"l2", "elasticnet", "l1"}
    l1_ratio : float
        As in `ChainClassifier`: the last two penalties leave few weights.
    tol : float
        Training ends when the duality gap is at most this (the loss is that of a whole sentence).
    constraints : "bio", "bioes", "bilou" or a list of pairs (before, after), optional
        Which label may not follow which, as in `ChainClassifier`.
    n_jobs, random_state, verbose
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
    chain_ : ChainClassifier
        The fitted model over the features' rows.
    classes_, certificate_, history_
        Those of `chain_`.
    """

    columns: Sequence[str] = ("word",)
    templates: Templates | None = None
    transitions: Templates | None = None
    min_count: int = 1
    hash_bits: int | None = None
    task: str = "tag"
    lexicons: Mapping[str, LexiconSource] | None = None
    clusters: str | Path | None = None
    vectors: str | Path | None = None
    usual: Templates | None = None
    keep_names: bool | None = None
    loss: str = "softmax"
    regularization: float | None = None
    penalty: str = "l2"
    l1_ratio: float = 0.5
    tol: float = TOL
    constraints: Constraints = None
    n_jobs: int | None = 1
    random_state: RandomState = None
    verbose: int = 0
    chain_options: dict[str, Any] | None = None
    taggers: Taggers | None = None
    warm_start: bool = False

    def fit(self, X: Sentences, y: Labels) -> Tagger:
        """Train on sentences (lists of words, tuples of `columns`, or features) and lists of labels.

        Where a label is not known there may be a set of labels, or None for any.
        """
        before = copy(self) if self.warm_start and hasattr(self, "chain_") else None
        rows = self.fit_features(X, y)
        others = {name: value for name, value in (self.chain_options or {}).items() if name != "cost"}
        self.chain_ = ChainClassifier(
            **self.problem_parameters(len(rows)),
            constraints=self.constraints,
            penalty=self.penalty,
            l1_ratio=self.l1_ratio,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
            **others,
        )
        if before is not None:
            continue_tagger(self.chain_, before, self.features_)
        self.chain_.fit(rows, y)
        if isinstance(self.features_, TextFeatures) and self.hash_bits is None:
            used = drop_unused(self.chain_)
            if used is not None:
                self.features_.keep(used)
        return self

    def fit_features(self, X: Sentences, y: Labels | None = None) -> Stacked:
        """Learn the features of sentences, and make the rows of them that the chain is trained on.

        Usual labels are learnt from y.
        """
        if is_named(X):
            return self._fit_named(X)
        if self.keep_names:
            raise ValueError(
                "keep_names goes with features that come by name; those of templates have names without it, "
                "unless hash_bits is given."
            )
        one_of("task", self.task, TASKS)
        templates = parse_templates(self.templates or default_templates(self.columns, self.task))
        if self.transitions is not None:
            templates = parse_templates([*templates, *parse_templates(self.transitions)])
        resources = self.resources()
        resources.check(self.columns)
        tokens, self.derived_ = resources.learn(self._tokens(X), y)
        templates = self.derived_.completed(templates)
        self.features_: Any = TextFeatures(templates, self.min_count, self.hash_bits).fit(tokens)
        return self.derived_.stacked(self.features_.transform(tokens), tokens, training=True)

    def resources(self) -> Resources:
        """Which columns are to be derived, by the parameters or by the task."""
        word = "word" if "word" in self.columns else self.columns[0]
        of_task = default_usual(word, self.task) if self.templates is None else None
        usual = of_task if self.usual is None else self.usual
        return Resources(self.lexicons or {}, self.clusters, self.vectors, usual, word)

    def _fit_named(self, X: Sequence[Sequence[TokenForm]]) -> Stacked:
        of_words = (self.templates, self.transitions, self.lexicons, self.clusters, self.vectors, self.usual)
        if len(self.columns) > 1 or any(given is not None for given in of_words):
            raise ValueError(
                "Tokens that are dicts or lists are features, which columns, templates, transitions, "
                "lexicons, clusters, vectors and usual do not go with; write a token of several columns as "
                "a tuple."
            )
        self.features_ = TokenFeatures(self.min_count, self.hash_bits, self.keep_names)
        return self.features_.fit_transform(X)

    def problem_parameters(self, n_sentences: int) -> dict[str, Any]:
        """Parameters of the chain that say what is minimised, and how closely."""
        pairs = None if self.transitions is None else self.features_.columns_of(self.transitions)
        return {
            "loss": self.loss,
            "regularization": 1 / n_sentences if self.regularization is None else self.regularization,
            "tol": self.tol,
            "cost": (self.chain_options or {}).get("cost", COST),
            "transition_features": pairs,
        }

    def rows(self, X: Sentences) -> Stacked:
        """The features of sentences, a row per word."""
        if isinstance(self.features_, TokenFeatures):
            if isinstance(X, Tokens):
                raise ValueError("The tagger was trained on features by name; give dicts or lists of names.")
            return self.features_.transform(X)
        tokens = self.derived_.add(self._tokens(X))
        return self.derived_.stacked(self.features_.transform(tokens), tokens)

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
        return self._asked().sample(self.rows(X), n, random_state, allowed)

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

    def save(self, path: str | Path) -> None:
        """Write the tagger as one safetensors file, which `structlearn predict` reads, too."""
        save_bundle(self.bundle(), path)

    def bundle(self) -> Bundle:
        """The tagger as a model file holds it."""
        chain = self._asked()
        if isinstance(self.features_, TokenFeatures):
            return Bundle(chain, {"task": "tag", **named_notes()})
        *names, label = map(str, range(len(self._given) + 1))
        templates = " ".join(map(str, self.features_.templates))
        inner = self.taggers or {}
        derived = derived_names(self.derived_.notes())
        plan = Plan((*names, label), label, dict(zip(self._given, names)), templates, tuple(inner), *derived)
        extra = self.transitions
        transitions = None if extra is None else " ".join(map(str, parse_templates(extra)))
        notes = {"task": self.task, **self.notes(plan, transitions)}
        kept = {name: one.bundle() for name, one in inner.items()}
        return Bundle(chain, notes, self.derived_.texts(), self.arrays(), bundled=kept)

    def notes(self, plan: Plan, transitions: str | None) -> dict[str, object]:
        """What a model file says of the words and their features; and that a `Tagger` can read it."""
        numbered = {"min_count": self.features_.min_count, "hash_bits": self.features_.hash_bits}
        told = {"templates": " ".join(map(str, self.features_.templates)), **self.derived_.notes()}
        return {**plan.as_notes(), "application": "Tagger", **numbered, "transitions": transitions, **told}

    def arrays(self) -> dict[str, Array]:
        """The vocabulary and the derived columns, and the strings that names of features are made of."""
        return {
            FEATURES: self.features_.keys_,
            **stored_strings(self.features_),
            **self.derived_.arrays(),
        }

    @classmethod
    def load(cls, path: str | Path) -> Tagger:
        """Read a tagger that `save` or `structlearn train tag | chunk | ner` wrote."""
        bundle = load_bundle(path)
        if FEATURES not in bundle.arrays and not is_of_names(bundle):
            raise ValueError(f"{path} holds no tagger of words; use structlearn.load.")
        try:
            return cls.of(bundle)
        except ValueError as error:
            raise damaged(path, error) from None

    @classmethod
    def of(cls, bundle: Bundle) -> Tagger:
        """The tagger of a model file; ValueError if its notes are of none. A chain may be missing."""
        chain = bundle.estimator
        words: dict[str, Any] = {}
        derived = DerivedColumns()
        features: TextFeatures | TokenFeatures
        if is_of_names(bundle):
            features, words["keep_names"] = chain.features_, chain.features_.keep_names
        else:
            plan, features = Plan.from_notes(bundle.notes), _features_of(bundle)
            words |= {"columns": plan.columns, "templates": bundle.notes["templates"]}
            words |= {"transitions": bundle.notes.get("transitions"), "task": bundle.notes.get("task", "tag")}
            words["taggers"] = taggers_of(bundle, cls, plan.bundled) or None
            derived = DerivedColumns.from_stored(bundle)
            words |= derived.parameters()
        names = ("loss", "regularization", "penalty", "l1_ratio", "tol", "constraints")
        shared = names if chain is not None else ()
        self = cls(
            **words,
            min_count=features.min_count,
            hash_bits=features.hash_bits,
            **{name: getattr(chain, name) for name in shared if hasattr(chain, name)},
        )
        self.features_ = features
        self.derived_ = derived
        if chain is not None:
            self.chain_ = chain
        return self

    def _tokens(self, X: Sentences) -> Tokens:
        inside = self.taggers or {}
        check_taggers(inside, tuple(self.columns))
        tokens = X if isinstance(X, Tokens) else Tokens.from_sentences(X, self._given)
        return with_predictions(tokens, inside, self.columns[0]) if inside else tokens

    @property
    def _given(self) -> list[str]:
        """The columns that no tagger fills."""
        return [name for name in self.columns if name not in (self.taggers or {})]

    def _asked(self) -> ChainClassifier:
        check_is_fitted(self, "chain_")
        return self.chain_


def named_notes() -> dict[str, object]:
    """What a model file says of features that have names, which the chain itself keeps."""
    return {"format": CRFSUITE, "application": "Tagger"}


def is_of_names(bundle: Bundle) -> bool:
    """Whether a model file is that of a tagger whose features have names."""
    return bundle.notes.get("format") == CRFSUITE and hasattr(bundle.estimator, "features_")


def _features_of(bundle: Bundle) -> TextFeatures:
    """The features of a model file; ValueError if they are not those of its weights."""
    notes, keys = bundle.notes, bundle.arrays[FEATURES]
    check_form(notes, _NOTES, "notes")
    if keys.ndim != 1 or keys.dtype != np.uint64:
        raise ValueError("its features are no vector of keys")
    features = TextFeatures(notes["templates"], notes["min_count"], notes["hash_bits"]).with_keys(keys)
    if bundle.estimator is not None and features.n_features != bundle.estimator.n_features_in_:
        raise ValueError(f"it has {features.n_features} features, not {bundle.estimator.n_features_in_}")
    take_strings(features, bundle.arrays)
    return features
