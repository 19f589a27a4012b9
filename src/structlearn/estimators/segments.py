"""Labelled spans of sequences: semi-Markov models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.estimators.base import TrainingProblem
from structlearn.estimators.choices import cost_options
from structlearn.estimators.confidence.confident import STORED, Confident, Judged, with_empty
from structlearn.estimators.files.attributes import StoredForm, count, label_array
from structlearn.estimators.inputs.allowed import Allowed
from structlearn.estimators.inputs.checking import (
    Tables,
    as_list,
    check_same_length,
    check_weights,
    for_no_examples,
    stack_examples,
)
from structlearn.estimators.inputs.layout import gold_and_cost
from structlearn.estimators.inputs.segment_features import rows_of_segments
from structlearn.estimators.inputs.spans import Span
from structlearn.estimators.inputs.token_features import NamedInputs
from structlearn.estimators.rows import RowEstimator
from structlearn.estimators.scikit import check_is_fitted
from structlearn.metrics import LabelScores, Outputs
from structlearn.scoring import JointScoring, RowScoring, Scoring
from structlearn.structures import Segments

#: (start, end, label), the end not included.
LabelledSpan: TypeAlias = tuple[int, int, Any]
#: Names, or names with weights, of the features of a segment of a sentence: from X[i], start and end.
SegmentFeatures: TypeAlias = Callable[[Any, int, int], Mapping[str, object] | Collection[str]]


@dataclass(kw_only=True, eq=False, repr=False)
class SegmentClassifier(NamedInputs, Confident[Segments], RowEstimator[Segments]):
    """Spans over `Segments`: features of the tokens of a span are summed, those at its edges count again.

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
        Features of segments are numbered by so many bits of a hash of their names.

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

    _stored: ClassVar[StoredForm] = StoredForm(
        {"classes_": label_array, "n_features_in_": count, **STORED}, ("Segments",)
    )

    def fit(self, X: Tables, y: Outputs, sample_weight: ArrayLike | None = None) -> SegmentClassifier:
        """Train on sentences: X as for `ChainClassifier`, y a list of lists of (start, end, label)."""
        self._forget_confidence()
        self.classes_, codes = coded_spans(y)
        self._train(self._lay_out(X, codes, sample_weight))
        return self

    def _lay_out(
        self, X: Tables, codes: list[Array], sample_weight: ArrayLike | None
    ) -> TrainingProblem[Segments]:
        rows, shapes = stack_examples(self._learn_features(X), ndim=2, noun="Sentence")
        lengths = shapes[:, 0]
        check_same_length(lengths, codes)
        weight = check_weights(sample_weight, len(lengths))
        self.n_features_in_ = rows.shape[1]
        structure, memory = self._new_structure(codes, lengths), Memory(self.memory)
        structure.tiles(codes, lengths, "Sentence")
        local = RowScoring(
            self._fit_rows(rows, memory),
            lengths,
            structure.n_token_parts,
            n_shared=0 if structure.whole else structure.n_shared,
            intercept=self.fit_intercept,
            sparsify=memory.limit is None,
            memory=memory,
        )
        scoring = self._with_segments(local, X, structure)
        gold, cost = gold_and_cost(structure, codes, scoring, memory, **cost_options(self.cost))
        return TrainingProblem(structure, scoring, gold, cost, weight, memory=memory)

    def _new_structure(self, codes: list[Array], lengths: Array) -> Segments:
        sizes = [one[:, 1] - one[:, 0] for one in codes]
        longest = max((int(one.max(initial=1)) for one in sizes), default=1)
        most = longest if self.max_length is None else self.max_length
        if self.max_length is not None and (not isinstance(most, Integral) or most < 1):
            raise ValueError(f"max_length must be a number of tokens, at least 1; got {most!r}.")
        gaps = any(one.sum() < length for one, length in zip(sizes, lengths.tolist()))
        whole = self.segment_features is not None
        own = {"gaps": gaps, "start": self.start, "end": self.end, "whole": whole}
        return Segments(len(self._span_labels), min(int(most), int(lengths.max())), **own)

    def _with_segments(self, local: RowScoring, X: Tables, structure: Segments) -> Scoring:
        """The scoring of tokens, with that of whole segments where these have features."""
        if not structure.whole:
            return local
        if self.segment_features is None:
            raise ValueError(
                "The model was trained with segment_features, which model files do not hold: give the same "
                "function by set_params(segment_features=...)."
            )
        most = structure.max_length
        rows = rows_of_segments(X, self.segment_features, most, self.segment_bits)
        lengths = np.diff(local.first) * most
        segments = RowScoring(rows, lengths, structure.n_labels, n_shared=structure.n_shared)
        return JointScoring(local, segments, each=most)

    @property
    def _span_labels(self) -> Array:
        """The labels of spans, by number."""
        return self.classes_

    # ---- prediction: an empty sentence has no spans ----------------------------------------------------

    @for_no_examples
    def predict(self, X: Tables, allowed: Allowed | None = None) -> list[Any]:
        """The spans of the best segmentation of each sentence, a list of (start, end, label).

        `allowed` goes with chains: it is refused, here and in the other methods.
        """
        scoring, filled = self._scoring(X, allowed)
        found = (self._read(parts) for _, parts in self._decide(scoring, self.structure_))
        return with_empty(map(self._labelling, found), filled, self._nothing)

    def _read(self, parts: Array) -> Array:
        """The spans of local parts, as the structure has them."""
        n, k = self.structure_.n_states, self.structure_.n_labels
        rows = self._token_rows(parts)
        starts, labels = np.nonzero(rows[:, n : n + k] > 0.5)
        return np.stack([starts, np.nonzero(rows[:, n + k :] > 0.5)[0] + 1, labels], axis=1)

    def _token_rows(self, parts: Array) -> Array:
        structure = self.structure_
        length = parts.size // structure.n_columns
        return parts[: length * structure.n_token_parts].reshape(length, -1)

    @for_no_examples
    def predict_marginals(self, X: Tables, allowed: Allowed | None = None) -> list[Array]:
        """Probabilities that tokens are in a span of each label and, where there are gaps, in none.

        Of shape (length, n_classes), or one more for gaps; sparse after sparsemax.
        """
        scoring, filled = self._scoring(X, allowed)
        n = self.structure_.n_states
        found = (self._token_rows(parts)[:, :n] for _, parts in self._soft(scoring, self.structure_))
        return with_empty(found, filled, lambda: np.empty((0, n)))

    @for_no_examples
    def predict_kbest(
        self, X: Tables, k: int = 5, allowed: Allowed | None = None
    ) -> list[list[tuple[Any, float]]]:
        """The k best segmentations of each sentence with their scores, best first."""
        scores, filled = self._part_scores(X, allowed)
        found = (self._ranking.k_best(theta, k) for theta in scores)
        best = [[(self._labelling(one), float(score)) for one, score in zip(*pair)] for pair in found]
        return with_empty(best, filled, lambda: [(self._nothing(), 0.0)])

    def score(self, X: Tables, y: Outputs, sample_weight: ArrayLike | None = None) -> float:
        """F1 of spans: one is right if its start, end and label are."""
        check_same_length(X, y)
        weight = check_weights(sample_weight, len(y))
        counts = np.zeros(3)
        for i, (right, found) in enumerate(zip(y, self.predict(X))):
            a, b = set(map(tuple, right)), set(found)
            counts += np.array([len(a & b), len(b), len(a)]) * (1.0 if weight is None else weight[i])
        return float(LabelScores(*counts).f1)

    def _scoring(self, X: Tables, allowed: Allowed | None = None) -> tuple[Scoring, Array]:
        """The scoring of all sentences that are not empty, and which of them are not."""
        if allowed is not None:
            raise ValueError("allowed goes with chains; a model of segments takes none.")
        check_is_fitted(self, "weights_")
        numbered, d = self._numbered(X), self.n_features_in_
        rows, shapes = stack_examples(numbered, ndim=2, noun="Sentence", n_features=d)
        lengths, structure = shapes[:, 0], self.structure_
        local = RowScoring(
            self._map_rows(rows),
            lengths[lengths > 0],
            structure.n_token_parts,
            n_shared=0 if structure.whole else structure.n_shared,
            intercept=len(self._label_weights) > self._n_row_features,
        )
        return self._with_segments(local, X, structure), lengths > 0

    def _part_scores(self, X: Tables, allowed: Allowed | None = None) -> tuple[Iterator[Array], Array]:
        scoring, filled = self._scoring(X, allowed)

        def scores() -> Iterator[Array]:
            for i in range(scoring.n_examples):
                yield np.concatenate([scoring.scores(self.weights_, i, i + 1), self._shared_weights])

        return scores(), filled

    # ---- what `Confident` asks -------------------------------------------------------------------------

    def _codes_of(self, y: Outputs) -> list[Any]:
        place = {label: k for k, label in enumerate(self._span_labels.tolist())}
        found: list[Any] = []
        for i, spans in enumerate(as_list(y, "y")):
            rows = [(a, b, place.get(label)) for a, b, label in checked_spans(spans, i)]
            known = all(k is not None and b - a <= self.structure_.max_length for a, b, k in rows)
            found.append(np.array(rows, dtype=np.int64).reshape(-1, 3) if known else None)
        return found

    def _check_length(self, i: int, theta: Array, codes: Any) -> None:
        length, _ = self.structure_.shape(theta)
        if codes[:, 1].max(initial=0) > length:
            raise ValueError(f"Sentence {i} has {length} tokens, but a span that ends behind them.")

    def _labelling(self, output: Any) -> Any:
        labels = self._span_labels.tolist()
        return [(start, end, labels[k]) for start, end, k in output.tolist()]

    def _nothing(self) -> Any:
        return []

    def _spans(self, theta: Array, labelling: Any) -> list[Span]:
        place = {label: k for k, label in enumerate(self._span_labels.tolist())}
        shares = self.structure_.probabilities(theta)
        return [Span(a, b, label, float(shares[a, b - a - 1, place[label]])) for a, b, label in labelling]

    def _judged_labels(self, X: Tables, y: Outputs) -> Judged:
        tables = self.predict_marginals(X)
        for right, found, table in zip(
            self._states(y, tables), self._states(self.predict(X), tables), tables
        ):
            yield from zip(table[np.arange(len(table)), found].tolist(), (right == found).tolist())

    def _states(self, y: Outputs, tables: list[Array]) -> list[Array]:
        """The state of each token; -1 in a span whose label is not known."""
        place = {label: k for k, label in enumerate(self._span_labels.tolist())}
        found = []
        for spans, table in zip(y, tables):
            states = np.full(len(table), len(place))
            for start, end, label in spans:
                states[start:end] = place.get(label, -1)
            found.append(states)
        return found

    def _judged_spans(self, X: Tables, y: Outputs) -> Judged:
        for right, found in zip(y, self.predict_spans(X)):
            there = set(map(tuple, right))
            yield from ((span.probability, span[:3] in there) for span in found)

    # ---- weights -----------------------------------------------------------------------------------------

    def _n_row_scores(self, structure: Segments) -> int:
        return structure.n_token_parts

    @property
    def _n_pair_weights(self) -> int:
        """Those of the features of whole segments."""
        structure = self.structure_
        return structure.n_labels << self.segment_bits if structure.whole else 0

    @property
    def transition_coef_(self) -> Array:
        """Weights of neighbouring spans and gaps, of shape (n_states, n_states): from, to."""
        return self.structure_.shared_tables(self._shared_weights)["transitions"]

    @property
    def length_coef_(self) -> Array:
        """Weights of lengths, of shape (max_length, n_classes)."""
        return self.structure_.shared_tables(self._shared_weights)["lengths"]


def coded_spans(y: Outputs) -> tuple[Array, list[Array]]:
    """Sorted labels, and each sentence's spans as rows (start, end, number of the label)."""
    checked = [checked_spans(spans, i) for i, spans in enumerate(as_list(y, "y"))]
    labels = [label for spans in checked for _, _, label in spans]
    if not labels:
        raise ValueError("y has no span at all: at least one is needed to learn from.")
    if len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError("y mixes strings and numbers as labels; use one of the two.")
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    edges = np.cumsum([0, *map(len, checked)]).tolist()
    tables = []
    for spans, first in zip(checked, edges):
        own = codes[first : first + len(spans)]
        rows = [(a, b, k) for (a, b, _), k in zip(spans, own.tolist())]
        tables.append(np.array(rows, dtype=np.int64).reshape(-1, 3))
    return classes, tables


def checked_spans(spans: Any, i: int) -> Sequence[LabelledSpan]:
    """The spans of sentence i; ValueError for what is no triple."""
    if isinstance(spans, str) or not hasattr(spans, "__len__"):
        raise ValueError(f"The spans of sentence {i} must be a list of (start, end, label).")
    for span in spans:
        right = not isinstance(span, str) and hasattr(span, "__len__") and len(span) == 3
        if not right or not all(isinstance(place, Integral) for place in span[:2]):
            raise ValueError(
                f"Sentence {i} has the span {span!r}; a span is (start, end, label), the first two integers."
            )
        if isinstance(span[2], float) and not float(span[2]).is_integer():
            raise ValueError(f"Sentence {i} has the label {span[2]!r}; labels are integers or strings.")
        if span[2] is None:
            raise ValueError(f"Sentence {i} has a span without a label, {span!r}; leave gaps out.")
    return spans
