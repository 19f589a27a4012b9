"""Segment models that read and write tags, B-type and I-type: in place of a chain of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.estimators.completion.partial_labels import is_partial
from structlearn.estimators.confidence.confident import STORED, Judged, with_empty
from structlearn.estimators.files.attributes import StoredForm, count, label_array
from structlearn.estimators.inputs.allowed import Allowed
from structlearn.estimators.inputs.checking import Tables, for_no_examples, label_arrays
from structlearn.estimators.inputs.spans import OUTSIDE, Span, spans, tag_type
from structlearn.estimators.inputs.token_arrays import tokens_of
from structlearn.estimators.segments import SegmentClassifier, coded_spans
from structlearn.metrics import Outputs, sequence_accuracy
from structlearn.structures import Segments


def span_types(tags: Any) -> list[str]:
    """The types of spans that tags mark, sorted."""
    return sorted({tag_type(str(tag)) for tag in tags if str(tag) != OUTSIDE})


class TagRanking:
    """The outputs of `Segments` as numbers of tags: of the type k 2 k + 1 begins, 2 k + 2 goes on, 0 is O."""

    def __init__(self, structure: Segments) -> None:
        self.structure = structure

    def tags(self, output: Array, length: int) -> Array:
        """The tags of spans."""
        found = np.zeros(length, dtype=np.int64)
        for start, end, k in output.tolist():
            found[start:end] = 2 * k + 2
            found[start] -= 1
        return found

    def spans(self, tags: Array) -> Array:
        """The spans of tags; one goes on with its type only, as conlleval reads it."""
        kind = (tags - 1) // 2
        inside = tags > 0
        before = np.r_[-1, kind[:-1]]
        begins = inside & ((tags % 2 == 1) | (kind != before))
        starts = np.flatnonzero(begins)
        stops = np.flatnonzero(begins | ~inside)
        ends = np.r_[stops, tags.size][np.searchsorted(stops, starts, side="right")]
        return np.stack([starts, ends, kind[starts]], axis=1)

    def k_best(self, theta: Array, k: int) -> tuple[list[Array], Array]:
        """The k best tag sequences and their scores."""
        length, _ = self.structure.shape(theta)
        found, scores = self.structure.k_best(theta, k)
        return [self.tags(one, length) for one in found], scores

    def score(self, theta: Array, y: Array) -> float:
        """<theta, z(y)>; -inf where a span is too long."""
        output = self.spans(y)
        if (output[:, 1] - output[:, 0]).max(initial=0) > self.structure.max_length:
            return -np.inf
        return self.structure.score(theta, output)

    def log_partition(self, theta: Array) -> float:
        """log sum_y exp <theta, z(y)>."""
        return self.structure.log_partition(theta)


@dataclass(kw_only=True, eq=False, repr=False)
class SegmentTagger(SegmentClassifier):
    """A `SegmentClassifier` of spans that tags mark: y and all answers are tags, as of a `ChainClassifier`.

    Tags of IOB1, IOB2, IOBES and BILOU are read; those of answers are O, B-type and I-type (IOB2).
    """

    _stored: ClassVar[StoredForm] = StoredForm(
        {"classes_": label_array, "n_features_in_": count, **STORED},
        ("Segments",),
        lambda classes: len(span_types(classes)),
    )

    def fit(self, X: Tables, y: Outputs, sample_weight: ArrayLike | None = None) -> SegmentTagger:
        """Train on sentences: X as for `ChainClassifier`, y a list of arrays of tags."""
        if is_partial(y):
            raise ValueError("Partly labelled sentences go with chains; give segments all labels.")
        self._forget_confidence()
        marked = [[(a, b, kind) for kind, a, b in spans(map(str, tags))] for tags in _tags(y)]
        types, codes = coded_spans(marked)
        names = [f"-{kind}" if kind else "" for kind in types.tolist()]
        self.classes_ = np.array([OUTSIDE, *(f"{mark}{name}" for name in names for mark in "BI")])
        self._check_lengths(X, y)
        self._train(self._lay_out(X, codes, sample_weight))
        return self

    def _check_lengths(self, X: Any, y: Outputs) -> None:
        given = X.lengths if hasattr(X, "lengths") else map(_length, map(tokens_of, X))
        for i, (length, tags) in enumerate(zip(given, _tags(y))):
            if length != len(tags):
                raise ValueError(f"Sentence {i} has {length} rows of features but {len(tags)} labels.")

    @property
    def _span_labels(self) -> Array:
        return np.array(span_types(self.classes_))

    @property
    def _ranking(self) -> TagRanking:
        return TagRanking(self.structure_)

    @for_no_examples
    def predict(self, X: Tables, allowed: Allowed | None = None) -> list[Array]:
        """The tags of the best segmentation of each sentence."""
        scoring, filled = self._scoring(X, allowed)
        found = (
            self._ranking.tags(self._read(parts), parts.size // self.structure_.n_columns)
            for _, parts in self._decide(scoring, self.structure_)
        )
        return with_empty(map(self._labelling, found), filled, self._nothing)

    @for_no_examples
    def predict_marginals(self, X: Tables, allowed: Allowed | None = None) -> list[Array]:
        """Probabilities of the tags, of shape (length, n_classes): exact, since a B begins a span."""
        scoring, filled = self._scoring(X, allowed)
        found = (self._tag_shares(parts) for _, parts in self._soft(scoring, self.structure_))
        return with_empty(found, filled, lambda: np.empty((0, len(self.classes_))))

    def _tag_shares(self, parts: Array) -> Array:
        rows, n, k = self._token_rows(parts), self.structure_.n_states, self.structure_.n_labels
        table = np.zeros((len(rows), 2 * k + 1))
        table[:, 1::2] = rows[:, n : n + k]
        table[:, 2::2] = np.maximum(rows[:, :k] - rows[:, n : n + k], 0.0)
        if n > k:
            table[:, 0] = rows[:, k]
        return table

    def score(self, X: Tables, y: Outputs, sample_weight: ArrayLike | None = None) -> float:
        """The share of tokens tagged right."""
        return sequence_accuracy(y, self.predict(X), sample_weight)

    def _codes_of(self, y: Outputs) -> list[Any]:
        place = {kind: k for k, kind in enumerate(self._span_labels.tolist())}
        found: list[Any] = []
        for tags in _tags(y):
            marked = [(a, b, place.get(kind)) for kind, a, b in spans(map(str, tags))]
            known = all(k is not None for _, _, k in marked)
            rows = np.array(marked if known else [], dtype=np.int64).reshape(-1, 3)
            found.append(self._ranking.tags(rows, len(tags)) if known else None)
        return found

    def _check_length(self, i: int, theta: Array, codes: Array) -> None:
        length, _ = self.structure_.shape(theta)
        if length != codes.size:
            raise ValueError(f"Sentence {i} has {length} rows of features but {codes.size} labels.")

    def _labelling(self, output: Array) -> Array:
        return self.classes_[output]

    def _nothing(self) -> Array:
        return self.classes_[:0]

    def _spans(self, theta: Array, labelling: Array) -> list[Span]:
        marked = [(a, b, kind) for kind, a, b in spans(labelling.tolist())]
        return super()._spans(theta, marked)

    def _judged_labels(self, X: Tables, y: Outputs) -> Judged:
        place = {tag: k for k, tag in enumerate(self.classes_.tolist())}
        for right, found, table in zip(_tags(y), self.predict(X), self.predict_marginals(X)):
            shares = table[np.arange(len(found)), [place[tag] for tag in found.tolist()]]
            yield from zip(shares.tolist(), (right == found).tolist())

    def _judged_spans(self, X: Tables, y: Outputs) -> Judged:
        for right, found in zip(_tags(y), self.predict_spans(X)):
            there = {(a, b, kind) for kind, a, b in spans(map(str, right))}
            yield from ((span.probability, span[:3] in there) for span in found)


def _length(tokens: Any) -> int:
    return tokens.shape[0] if hasattr(tokens, "shape") else len(tokens)


def _tags(y: Outputs) -> list[Array]:
    return label_arrays(y, "sentence")[0]
