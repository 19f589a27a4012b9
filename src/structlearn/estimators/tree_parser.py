"""Dependency parsing: the best tree over arcs with features hashed on the fly, then labels of its arcs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.sentences import ParameterError, Statement
from structlearn.estimators.advice.learned import inner_fits
from structlearn.estimators.base import StructuredEstimator
from structlearn.estimators.choices import Weights, cost_options
from structlearn.estimators.files.attributes import StoredForm, check_shape, codes, labels_if_any, numbers
from structlearn.estimators.inputs.checking import (
    as_list,
    check_same_length,
    check_sample_weight,
    for_no_examples,
)
from structlearn.estimators.inputs.tokens import (
    DEFAULT_TEMPLATES,
    Sentences,
    frequent,
    token_codes,
    without_rare,
)
from structlearn.estimators.loss_choice import WITH_DEAR_MARGINALS, trained_loss
from structlearn.estimators.models.linear import model_of
from structlearn.estimators.multiclass import MulticlassClassifier
from structlearn.estimators.scikit import check_is_fitted
from structlearn.estimators.training.fresh_fit import fresh_fit, of_fit
from structlearn.estimators.training.running import TrainingProblem, training_of
from structlearn.metrics import sequence_accuracy
from structlearn.scoring import ArcScoring
from structlearn.scoring.arcs.templates import columns_of_templates, compile_templates
from structlearn.structures import NonProjectiveTree, ProjectiveTree
from structlearn.structures.tree.trees import crossing_arcs


class Parse(NamedTuple):
    """A labelled tree: the head of each word, 0 for the root, and the name of its relation to it."""

    heads: Array
    labels: Array


#: Heads, or pairs of heads and labels.
Trees: TypeAlias = Sequence[ArrayLike | tuple[ArrayLike, ArrayLike]]


@dataclass(kw_only=True, eq=False, repr=False)
class TreeParser(StructuredEstimator[ProjectiveTree | NonProjectiveTree]):
    """Draw a dependency tree over each sentence.

    Dependency trees over arcs: theta[h, m] = sum of the weights of the arc's hashed features.

    Features are made by templates (see
    `structlearn.scoring.arcs.templates`) and computed when they are needed: memory holds the words and the
    weights. Where trees have labels, a multiclass classifier with the same templates and loss learns them
    from the gold arcs; `certificate_` is that of the trees, `label_certificate_` that of the labels.
    There is no intercept: the empty template counts arcs by direction and length. There is no
    `row_transformer` either: hashed features are made and forgotten arc by arc, not rows to fit one to.

    Losses count words: cost="count" unless given, since dividing by the length makes arcs of long sentences
    count little. So a gap of 0.2, where training ends, is a fifth of a wrong head a sentence.

    Parameters
    ----------
    projective : bool
        Whether arcs may not cross. Gold trees with crossing arcs are then replaced in training by the
        projective tree that keeps most arcs, and a warning says how many.
    single_root : bool
        Whether exactly one word depends on the root.
    columns : sequence of str
        Names of the strings of a token.
    templates : sequence of str, optional
        `structlearn.estimators.inputs.tokens.DEFAULT_TEMPLATES` unless given.
    min_count : int
        Strings that occur less often in a column of the training data are all treated as one, like new ones.
    bits : int
        Arcs have 2^bits weights.
    label_bits : int
        Labels have 2^label_bits weights each.
    label_regularization, label_tol : float
        lambda of the labels, and the gap at which their training ends.

    Attributes
    ----------
    templates_ : list of str
    known_ : ndarray
        Which strings are not rare.
    labels_ : ndarray of str, or None where trees have none
    label_weights_ : ndarray of shape (2^label_bits, n_labels)
    label_certificate_, weights_, certificate_, history_

    Examples
    --------
    >>> from structlearn import TreeParser
    >>> words = [["the DET DT", "cat NOUN NN", "runs VERB VBZ"], ["dogs NOUN NNS", "run VERB VBP"]]
    >>> X = [[word.split() for word in sentence] for sentence in words]
    >>> parser = TreeParser(random_state=0).fit(X, [[2, 3, 0], [2, 0]])  # heads, 0 is the root
    >>> parser.predict(X)[0].tolist()
    [2, 3, 0]
    """

    tol: float = 0.2
    cost: Weights = "count"
    projective: bool = True
    single_root: bool = True
    columns: Sequence[str] = ("form", "upos", "xpos")
    templates: Sequence[str] | None = None
    min_count: int = 2
    bits: int = 22
    label_bits: int = 17
    label_regularization: float = 1e-5
    label_tol: float = 0.01

    of_layout: ClassVar[tuple[str, ...]] = ("bits", "label_bits", "columns")
    _stored: ClassVar[StoredForm] = StoredForm(
        {"templates_": list[str], "known_": codes, "labels_": labels_if_any, "label_weights_?": numbers},
        ("ProjectiveTree", "NonProjectiveTree"),
    )

    @property
    def usual_losses(self) -> tuple[str, ...]:
        return WITH_DEAR_MARGINALS

    def fit(self, X: Sentences, y: Trees, sample_weight: ArrayLike | None = None) -> TreeParser:
        """Train on sentences.

        Parameters
        ----------
        X : list of sentences
            A sentence is a list of tokens, a token a list of strings, one for each of `columns`.
        y : list of trees
            The heads of each sentence's words, 0 for the root; or pairs (heads, labels).
        sample_weight : array-like of shape (n_sentences,), optional
        """
        with fresh_fit(self):
            if self.class_weight is not None:
                raise ValueError("TreeParser has no classes to weigh; use cost or sample_weight.")
            self.templates_ = list(DEFAULT_TEMPLATES if self.templates is None else self.templates)
            self.known_: Array | None = None
            scoring = self._arc_scoring(X, self.bits)
            heads, labels = read_trees(y)
            check_same_length(X, heads)
            weight = check_sample_weight(sample_weight, len(heads))
            structure = (ProjectiveTree if self.projective else NonProjectiveTree)(self.single_root)
            near = self._fitting(structure, heads, scoring.shapes)
            gold = structure.encode_many(near, scoring.shapes)
            cost = structure.cost_many(gold, scoring.shapes, **cost_options(self.cost))
            training_of(self).run(TrainingProblem(structure, scoring, gold, cost, weight))
            self._fit_labels(X, heads, labels, weight)
        return self

    def _fitting(
        self, structure: ProjectiveTree | NonProjectiveTree, heads: list[Array], shapes: Array
    ) -> list[Array]:
        """Return the gold trees, made projective if needed; ValueError names a sentence without one."""
        free = NonProjectiveTree(self.single_root)
        near, moved, lost = [], 0, 0
        for i, (one, shape) in enumerate(zip(heads, shapes)):
            try:
                free.encode(one, (int(shape[0]), int(shape[1])))
            except ValueError as error:
                raise ParameterError("Sentence {i}: {why}", i=i, why=error.args[0]) from None
            if isinstance(structure, ProjectiveTree) and crossing_arcs(one) is not None:
                kept = structure.nearest_tree(one)
                moved, lost = moved + 1, lost + int((kept != one).sum())
                one = kept
            near.append(one)
        if moved:
            told = (
                f"{moved} of {len(heads)} trees have crossing arcs; training takes the projective trees "
                f"nearest to them, which move {lost} of {shapes[:, 1].sum()} arcs."
            )
            advice = Statement("{told} Use {projective=False} to train on all arcs.", told=told)
            warnings.warn(UserWarning(advice), stacklevel=3)
        return near

    def _fit_labels(
        self, X: Sentences, heads: list[Array], labels: list[Array] | None, weight: Array | None
    ) -> None:
        self.labels_: Array | None = None
        if labels is None:
            return
        names = np.concatenate(labels)
        self.labels_ = np.unique(names)
        if len(self.labels_) == 1:
            self.label_weights_ = np.zeros((1 << self.label_bits, 1))
            return
        classifier = MulticlassClassifier(
            loss=trained_loss(self),
            regularization=self.label_regularization,
            tol=self.label_tol,
            max_passes=self.max_passes,
            max_seconds=self.max_seconds,
            fit_intercept=False,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
        )
        rows = self._arc_scoring(X, self.label_bits).features_of(np.concatenate(heads))
        of_words = None if weight is None else np.repeat(weight, [len(one) for one in heads])
        with inner_fits():
            classifier.fit(rows, names, of_words)
        self.label_weights_ = np.ascontiguousarray(classifier.coef_.T)
        self.label_certificate_ = classifier.certificate_.as_dict()

    def _arc_scoring(self, X: Sentences, bits: int) -> ArcScoring:
        for name, value in (("bits", self.bits), ("label_bits", self.label_bits)):
            if not isinstance(value, int | np.integer) or not 4 <= value <= 30:
                raise ValueError(f"{name} must be an integer from 4 to 30; got {value!r}.")
        wanted = columns_of_templates(self.templates_)
        codes, lengths = token_codes(X, of_fit(self, "columns"), wanted)
        if self.known_ is None:
            self.known_ = frequent(codes, self.min_count)
        codes = without_rare(codes, self.known_)
        return ArcScoring(codes, lengths, compile_templates(self.templates_, wanted), bits)

    def _weight_counts(self) -> set[int]:
        if not all(4 <= number <= 30 for number in (self.bits, self.label_bits)):
            raise ValueError("parameters.bits and label_bits must be from 4 to 30")
        return {1 << self.bits}

    def _check_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        if self.labels_ is not None:
            check_shape(shapes, "label_weights_", (1 << self.label_bits, len(self.labels_)))

    # ---- prediction --------------------------------------------------------------------------------

    @for_no_examples
    def predict(self, X: Sentences) -> list[Array] | list[Parse]:
        """Return the best tree of each sentence: heads or, after training with labels, a `Parse`."""
        check_is_fitted(self, "weights_")
        answers = model_of(self).best_parts(self._arc_scoring(X, of_fit(self, "bits")))
        heads = [np.argmax(parts.reshape(-1, _length(parts)), axis=0) for _, parts in answers]
        return self._add_labels(X, heads)

    def _add_labels(self, X: Sentences, heads: list[Array]) -> list[Array] | list[Parse]:
        if self.labels_ is None:
            return heads
        rows = self._arc_scoring(X, of_fit(self, "label_bits")).features_of(np.concatenate(heads))
        best = self.labels_[np.argmax(rows @ self.label_weights_, axis=1)]
        ends = np.cumsum([len(one) for one in heads])[:-1]
        return [Parse(one, names) for one, names in zip(heads, np.split(best, ends))]

    @for_no_examples
    def predict_marginals(self, X: Sentences) -> list[Array]:
        """Return arcs' probabilities, of shape (words + 1, words) each: [h, m - 1], h = 0 for the root."""
        check_is_fitted(self, "weights_")
        scoring = self._arc_scoring(X, of_fit(self, "bits"))
        return [parts.reshape(-1, _length(parts)).copy() for _, parts in model_of(self).soft_parts(scoring)]

    @for_no_examples
    def predict_kbest(self, X: Sentences, k: int = 5) -> list[list[tuple[Array | Parse, float]]]:
        """Return the k best trees of each sentence with the scores of their arcs, best first."""
        found = []
        for sentence, theta in zip(X, self.decision_function(X)):
            heads, scores = self.structure_.k_best(theta, k)
            trees: Sequence[Array | Parse] = self._add_labels([sentence] * len(heads), list(heads))
            found.append(list(zip(trees, scores.tolist())))
        return found

    @for_no_examples
    def sample(
        self, X: Sentences, n: int = 1, random_state: int | np.random.Generator | None = None
    ) -> list[Array]:
        """Draw n trees per sentence, of shape (n, words), from the model's distribution."""
        if trained_loss(self) != "softmax":
            raise AttributeError(
                Statement(
                    "{loss=} is no distribution over trees; train with {loss=softmax}.",
                    loss=trained_loss(self),
                )
            )
        rng = np.random.default_rng(random_state)
        return [self.structure_.sample(theta, n, rng) for theta in self.decision_function(X)]

    def decision_function(self, X: Sentences) -> Iterator[Array]:
        """Yield the scores of the arcs of each sentence, of shape (words + 1, words)."""
        check_is_fitted(self, "weights_")
        if not len(X):
            return
        scoring = self._arc_scoring(X, of_fit(self, "bits"))
        for i, (rows, columns) in enumerate(scoring.shapes):
            yield scoring.scores(self.weights_, i, i + 1).reshape(rows, columns)

    def score(self, X: Sentences, y: Trees, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of words with the right head."""
        predicted = [getattr(one, "heads", one) for one in self.predict(X)]
        return sequence_accuracy(read_trees(y)[0], predicted, sample_weight)


def _length(parts: Array) -> int:
    """Return the number of words of a sentence with this many arcs."""
    return int((parts.size + 0.25) ** 0.5)


def read_trees(y: Trees) -> tuple[list[Array], list[Array] | None]:
    """Return the heads of trees and, if all have them, the labels."""
    trees = as_list(y, "y")
    labelled = [len(one) == 2 and np.ndim(one[0]) == 1 for one in trees]
    if not any(labelled):
        return [np.asarray(one) for one in trees], None
    if not all(labelled):
        raise ValueError(f"Tree {labelled.index(False)} has no labels but others have.")
    for i, (heads, labels) in enumerate(trees):
        if len(heads) != len(labels):
            raise ValueError(f"Tree {i} has {len(heads)} heads but {len(labels)} labels.")
    return [np.asarray(heads) for heads, _ in trees], [np.asarray(labels) for _, labels in trees]
