"""Sentences as rows of features: by templates, or the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.sentences import ParameterError
from structlearn.data import Tokens
from structlearn.estimators.choices import one_of
from structlearn.estimators.inputs.checking import Stacked
from structlearn.estimators.inputs.token_arrays import TokenArrays, without_arrays
from structlearn.estimators.inputs.token_features import NamedRows, TokenFeatures
from structlearn.estimators.inputs.token_reading import TokenForm, is_named
from structlearn.tagging.features import Template, TextFeatures, default_templates, parse_templates
from structlearn.tagging.features.context import first_features
from structlearn.tagging.features.resources import OF_WORDS, DerivedColumns, Resources
from structlearn.tagging.parameters import TaggerParameters
from structlearn.tagging.patterns.features import check_pattern_columns, features_of, has_patterns
from structlearn.tagging.patterns.reading import Pattern
from structlearn.tagging.pipeline import check_taggers, with_predictions

#: tasks whose labels mark spans, and all of them
OF_SPANS = ("chunk", "ner")
TASKS = ("tag", *OF_SPANS)

Sentence = Sequence[str | tuple[str, ...] | TokenForm]
#: Lists of words, of tuples of the columns, or of tokens' features by name; or pairs of such and an array.
Sentences = Tokens | Sequence[Sentence | tuple[Sentence, Array]]
Labels = Sequence[ArrayLike | Sequence[object]]


class FeaturedWords(TaggerParameters):
    """What is made of sentences, by the parameters and by what is learnt of a training text."""

    features_: Any
    derived_: DerivedColumns
    #: columns of arrays beside words
    n_arrays_: int

    def fit_features(self, X: Sentences, y: Labels | None = None) -> Stacked:
        """Learn the features of sentences, and make the rows of them that the chain is trained on.

        Usual labels are learnt from y.
        """
        if isinstance(X, NamedRows) or is_named(X):
            return self._fit_named(X)
        arrays = TokenArrays.of(X)
        tokens, templates = self.learn_text(X, y)
        self.features_ = features_of(templates, self.min_count, self.hash_bits, self.keep_names).fit(tokens)
        self.n_arrays_ = arrays.n_columns
        rows = self.derived_.stack(self.features_.transform(tokens), tokens, training=True)
        return arrays.beside(rows)

    def learn_text(self, X: Sentences, y: Labels | None) -> tuple[Tokens, tuple[Template | Pattern, ...]]:
        """Return a training text with derived columns that do not see the labels beside them; templates."""
        templates = parse_templates(self.templates or default_templates(self.columns, self.task))
        if self.keep_names and not has_patterns(templates):
            raise ParameterError(
                "{keep_names} goes with features that come by name; those of templates have names without "
                "it, unless {hash_bits} is given."
            )
        one_of("task", self.task, TASKS)
        self._check_patterns(templates)
        if self.transitions is not None:
            templates = parse_templates([*templates, *parse_templates(self.transitions)])
        resources = self.resources()
        resources.check(self.columns)
        tokens, derived = resources.learn(self._tokens(X), y)
        own = [one for one in templates if isinstance(one, Template)]
        first = self._first_features(derived.complete_templates(own)) if own else None
        tokens, self.derived_ = resources.with_context(tokens, y, derived, first)
        return tokens, self.derived_.complete_templates(own) if own else templates

    def _first_features(self, templates: Sequence[Template]) -> TextFeatures:
        return first_features(templates, self.min_count, self.hash_bits)

    def _check_patterns(self, templates: Sequence[object]) -> None:
        """Refuse patterns of CRF++ and Wapiti that look at missing columns or stand beside derived ones."""
        patterns = [one for one in templates if isinstance(one, Pattern)]
        check_pattern_columns(patterns, self.columns)
        others = [name for name in ("transitions", "taggers", *OF_WORDS) if getattr(self, name)]
        if patterns and others:
            raise ParameterError(
                f"{{{others[0]}}} goes with templates such as word[-1], not with patterns of CRF++ or Wapiti."
            )

    def resources(self) -> Resources:
        """Tell which columns are to be derived, by the parameters or by the task."""
        return Resources(self)

    def _fit_named(self, X: NamedRows | Sequence[Sequence[TokenForm]]) -> Stacked:
        about_words = ("templates", "transitions", *OF_WORDS)
        given = [name for name in about_words if getattr(self, name) not in (None, False)]
        if len(self.columns) > 1 or given:
            raise ValueError(
                "Tokens that are dicts or lists are features, which do not go with columns, "
                f"{', '.join(about_words)}; write a token of several columns as a tuple."
            )
        self.n_arrays_ = 0
        if isinstance(X, NamedRows):
            self.features_ = X.features
            return X
        self.features_ = TokenFeatures(self.min_count, self.hash_bits, self.keep_names)
        return self.features_.fit_transform(X)

    def rows(self, X: Sentences) -> Stacked:
        """Return the features of sentences, a row per word."""
        if isinstance(self.features_, TokenFeatures):
            if isinstance(X, Tokens):
                raise ValueError("The tagger was trained on features by name; give dicts or lists of names.")
            return self.features_.transform(X)
        arrays = TokenArrays.of(X)
        arrays.check(self.n_arrays_)
        return arrays.beside(self.word_rows(self.text(X)))

    def word_rows(self, text: Tokens) -> Stacked:
        """Return the features of a text with all its columns, without those of arrays beside the words."""
        return self.derived_.stack(self.features_.transform(text), text)

    def text(self, X: Sentences) -> Tokens:
        """Return sentences of words with all columns that templates look at."""
        return self.derived_.add(self._tokens(X))

    def _tokens(self, X: Sentences) -> Tokens:
        inside = self.taggers or {}
        check_taggers(inside, tuple(self.columns))
        tokens = X if isinstance(X, Tokens) else Tokens.from_sentences(without_arrays(X), self._given_columns)
        return with_predictions(tokens, inside, self.columns[0]) if inside else tokens

    @property
    def _given_columns(self) -> list[str]:
        """The columns that no tagger fills."""
        return [name for name in self.columns if name not in (self.taggers or {})]
