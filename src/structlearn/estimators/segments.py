"""Labelled spans of sequences: semi-Markov models."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.estimators.choices import cost_options
from structlearn.estimators.confidence.confident import STORED
from structlearn.estimators.files.attributes import StoredForm, count, label_array
from structlearn.estimators.inputs.allowed import Allowed
from structlearn.estimators.inputs.checking import (
    Tables,
    check_same_length,
    check_sample_weight,
    for_no_examples,
    stack_examples,
)
from structlearn.estimators.inputs.layout import gold_and_cost
from structlearn.estimators.inputs.segment_features import SegmentFeatures
from structlearn.estimators.inputs.segment_spans import coded_spans
from structlearn.estimators.models.linear import facts_of
from structlearn.estimators.models.segments import SegmentModel, token_scoring, with_segments
from structlearn.estimators.scikit import check_is_fitted
from structlearn.estimators.sequences import SequenceEstimator
from structlearn.estimators.training.fresh_fit import fresh_fit, of_fit
from structlearn.estimators.training.running import TrainingProblem, training_of
from structlearn.metrics import LabelScores, Outputs
from structlearn.structures import Segments


@dataclass(kw_only=True, eq=False, repr=False)
class SegmentClassifier(SequenceEstimator[Segments]):
    """Find labelled spans in a sequence.

    Spans over `Segments`: features of the tokens of a span are summed, those at its edges count again.

    The score of a span of the label k is the sum of <w_k, x_t> over its tokens, <b_k, x_t> of the first one,
    <e_k, x_t> of the last one, and a weight for its length; neighbouring spans have weights for their labels.
    Tokens outside of all spans are in a state of their own. The cost counts tokens in the wrong state.

    `class_weight` is not used, and `cost`
    is "hamming", "count", or an array by state, of shape (n,) or (n, n) as [true, predicted], the last state
    that of gaps, where there are any.

    Parameters
    ----------
    max_length : int, optional
        Most tokens of a span; as many as the longest one of the training data has, unless given.
    start, end : bool
        Whether the first and the last span (or gap) of a sentence have weights of their own.
    segment_features : callable or "text", optional
        `segment_features(sentence, start, end)`, with the tokens of a sentence as X has them, gives the names
        of features of the whole segment (a phrase, its shape, whether a lexicon has it), or a dict as tokens
        may be. Model files do not hold it: after `load`, set it again by `set_params`. "text" are those that
        `Tagger(model="segments")` brings, which model files do hold.
    segment_bits : int
        Number of bits of the hash of its name by which a feature of segments is numbered.

    Attributes
    ----------
    coef_ : ndarray of shape (n_states + 2 n_classes, n_features)
        Of tokens in each state, of first tokens, and of last tokens.
    transition_coef_ : ndarray of shape (n_states, n_states), from and to
    length_coef_ : ndarray of shape (max_length, n_classes)
    classes_, n_features_in_, weights_, certificate_, history_

    Examples
    --------
    >>> import numpy as np
    >>> from structlearn import SegmentClassifier
    >>> X = [np.eye(2)[[0, 1, 1]], np.eye(2)[[1, 0, 0]]]
    >>> model = SegmentClassifier(random_state=0).fit(X, [[(1, 3, "name")], [(0, 1, "name")]])
    >>> model.predict(X[:1])
    [[(1, 3, 'name')]]
    """

    max_length: int | None = None
    start: bool = False
    end: bool = False
    segment_features: SegmentFeatures | str | None = None
    segment_bits: int = 18

    of_layout: ClassVar[tuple[str, ...]] = ("segment_bits",)
    _stored: ClassVar[StoredForm] = StoredForm(
        {"classes_": label_array, "n_features_in_": count, **STORED}, ("Segments",)
    )

    def fit(self, X: Tables, y: Outputs, sample_weight: ArrayLike | None = None) -> SegmentClassifier:
        """Train on sentences: X as for `ChainClassifier`, y a list of lists of (start, end, label)."""
        with fresh_fit(self):
            self.classes_, codes = coded_spans(y)
            problem = self._span_problem(X, self.classes_, codes, sample_weight)
            training_of(self).run(problem)
        return self

    def _span_problem(
        self, X: Tables, labels: Array, codes: list[Array], sample_weight: ArrayLike | None
    ) -> TrainingProblem[Segments]:
        """Make a training problem of spans whose labels are numbered."""
        rows, shapes = stack_examples(self._learn_features(X), ndim=2, noun="Sentence")
        lengths = shapes[:, 0]
        check_same_length(lengths, codes)
        weight = check_sample_weight(sample_weight, len(lengths))
        self.n_features_in_ = rows.shape[1]
        structure, memory = self._new_structure(len(labels), codes, lengths), Memory(self.memory)
        structure.tiles(codes, lengths, "Sentence")
        local = token_scoring(
            structure, self.fit_rows(rows, memory), lengths, self.fit_intercept, memory=memory
        )
        scoring = with_segments(local, X, structure, self.segment_features, self.segment_bits)
        gold, cost = gold_and_cost(structure, codes, scoring, memory, **cost_options(self.cost))
        return TrainingProblem(structure, scoring, gold, cost, weight, memory=memory)

    def _new_structure(self, n_labels: int, codes: list[Array], lengths: Array) -> Segments:
        sizes = [one[:, 1] - one[:, 0] for one in codes]
        longest = max((int(one.max(initial=1)) for one in sizes), default=1)
        most = longest if self.max_length is None else self.max_length
        if self.max_length is not None and (not isinstance(most, Integral) or most < 1):
            raise ValueError(f"max_length must be a number of tokens, at least 1; got {most!r}.")
        gaps = any(one.sum() < length for one, length in zip(sizes, lengths.tolist()))
        whole = self.segment_features is not None
        own = {"gaps": gaps, "start": self.start, "end": self.end, "whole": whole}
        return Segments(n_labels, min(int(most), int(lengths.max())), **own)

    @property
    def model_(self) -> SegmentModel:
        """The fitted model, which does not change: its methods answer what those of the estimator do."""
        check_is_fitted(self, "weights_")
        return self._model()

    def _model(self) -> SegmentModel:
        return SegmentModel(labels=self.classes_, **self._model_facts())

    def _model_facts(self) -> dict[str, Any]:
        """Return what a model takes from the estimator, except for labels."""
        return {
            "structure": self.structure_,
            "reader": self._reader("Sentence"),
            "segment_features": self.segment_features,
            "segment_bits": of_fit(self, "segment_bits"),
            **facts_of(self),
        }

    # ---- prediction: an empty sentence has no spans ----------------------------------------------------

    @for_no_examples
    def predict(self, X: Tables, allowed: Allowed | None = None) -> list[Any]:
        """Return the spans of the best segmentation of each sentence, a list of (start, end, label).

        `allowed` goes with chains: it is refused, here and in the other methods.
        """
        return self.model_.best(X, allowed)

    @for_no_examples
    def predict_marginals(self, X: Tables, allowed: Allowed | None = None) -> list[Array]:
        """Return the probabilities that tokens are in a span of each label and, if there are gaps, in none.

        Of shape (length, n_classes), or one more for gaps; sparse after sparsemax.
        """
        return self.model_.marginals(X, allowed)

    @for_no_examples
    def predict_kbest(
        self, X: Tables, k: int = 5, allowed: Allowed | None = None
    ) -> list[list[tuple[Any, float]]]:
        """Return the k best segmentations of each sentence with their scores, best first."""
        return self.model_.kbest(X, k, allowed)

    def score(self, X: Tables, y: Outputs, sample_weight: ArrayLike | None = None) -> float:
        """Return F1 of spans: a span is right if its start, end and label are."""
        check_same_length(X, y)
        weight = check_sample_weight(sample_weight, len(y))
        counts = np.zeros(3)
        for i, (right, found) in enumerate(zip(y, self.predict(X))):
            a, b = set(map(tuple, right)), set(found)
            counts += np.array([len(a & b), len(b), len(a)]) * (1.0 if weight is None else weight[i])
        return float(LabelScores(*counts).f1)

    # ---- weights -----------------------------------------------------------------------------------------

    @property
    def length_coef_(self) -> Array:
        """Weights of lengths, of shape (max_length, n_classes)."""
        return self.model_.lengths

    def _weight_counts(self) -> set[int]:
        return self._model().rows.sizes
