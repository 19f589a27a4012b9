"""How sure an estimator of label sequences is: what `Confident` must know of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.confidence.confident import Confident, Judged
from structlearn.estimators.inputs.allowed import Allowed
from structlearn.estimators.inputs.checking import Tables, label_arrays
from structlearn.estimators.inputs.spans import Span, SpanReading, span_reading
from structlearn.metrics import Outputs
from structlearn.structures.chain.sequences import LabelSequences

L = TypeVar("L", bound=LabelSequences)


class ConfidentSequences(Confident[L]):
    """A label for each token."""

    classes_: Array

    @abstractmethod
    def predict_marginals(self, X: Tables, allowed: Allowed | None = None) -> list[Array]:
        """Probabilities of the labels, of shape (length, n_classes) each."""

    def _codes_of(self, y: Outputs) -> list[Array | None]:
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        found = ([place.get(one) for one in labels.tolist()] for labels in label_arrays(y, "sequence")[0])
        return [None if None in codes else np.array(codes, dtype=np.int64) for codes in found]

    def _check_length(self, i: int, theta: Array, codes: Array) -> None:
        length, _ = self.structure_.shape(theta)
        if length != codes.size:
            raise ValueError(f"Sequence {i} has {length} rows of features but {codes.size} labels.")

    def _labelling(self, output: Array) -> Array:
        return self.classes_[output]

    def _nothing(self) -> Array:
        return self.classes_[:0]

    def _spans(self, theta: Array, labelling: Array) -> list[Span]:
        reading = self._reading
        found = reading.read(labelling.tolist())
        shares = self.structure_.span_probabilities(theta, reading.rows(found), reading.labels)
        return [Span(*span, share) for span, share in zip(found, shares.tolist())]

    def _judged_labels(self, X: Tables, y: Outputs) -> Judged:
        gold = label_arrays(y, "sequence")[0]
        for right, found, table in zip(gold, self.predict(X), self.predict_marginals(X)):
            shares = table[np.arange(len(found)), np.searchsorted(self.classes_, found)]
            yield from zip(shares.tolist(), (right == found).tolist())

    def _judged_spans(self, X: Tables, y: Outputs) -> Judged:
        for right, found in zip(label_arrays(y, "sequence")[0], self.predict_spans(X)):
            there = set(self._reading.read(right.tolist()))
            yield from ((span.probability, span[:3] in there) for span in found)

    @property
    def _reading(self) -> SpanReading:
        return span_reading(tuple(self.classes_.tolist()))
