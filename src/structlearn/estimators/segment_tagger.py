"""Segment models that read and write tags, B-type and I-type: in place of a chain of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.estimators.completion.partial_labels import is_partial
from structlearn.estimators.confidence.confident import STORED
from structlearn.estimators.files.attributes import StoredForm, count, label_array
from structlearn.estimators.inputs.allowed import Allowed
from structlearn.estimators.inputs.checking import Tables, for_no_examples
from structlearn.estimators.inputs.segment_spans import coded_spans
from structlearn.estimators.inputs.spans import OUTSIDE, spans
from structlearn.estimators.inputs.token_arrays import tokens_of
from structlearn.estimators.models.tags import TagModel, span_types, tag_arrays
from structlearn.estimators.segments import SegmentClassifier
from structlearn.estimators.training.fresh_fit import fresh_fit
from structlearn.estimators.training.running import training_of
from structlearn.metrics import Outputs, sequence_accuracy


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
        with fresh_fit(self):
            marked = [[(a, b, kind) for kind, a, b in spans(map(str, tags))] for tags in tag_arrays(y)]
            types, codes = coded_spans(marked)
            names = [f"-{kind}" if kind else "" for kind in types.tolist()]
            self.classes_ = np.array([OUTSIDE, *(f"{mark}{name}" for name in names for mark in "BI")])
            self._check_lengths(X, y)
            training_of(self).run(self._span_problem(X, types, codes, sample_weight))
        return self

    def _check_lengths(self, X: Any, y: Outputs) -> None:
        given = X.lengths if hasattr(X, "lengths") else map(_length, map(tokens_of, X))
        for i, (length, tags) in enumerate(zip(given, tag_arrays(y))):
            if length != len(tags):
                raise ValueError(f"Sentence {i} has {length} rows of features but {len(tags)} labels.")

    def _model(self) -> TagModel:
        labels = np.array(span_types(self.classes_))
        return TagModel(labels=labels, tags=self.classes_, **self._model_facts())

    @for_no_examples
    def predict(self, X: Tables, allowed: Allowed | None = None) -> list[Array]:
        """Return the tags of the best segmentation of each sentence."""
        return self.model_.best(X, allowed)

    @for_no_examples
    def predict_marginals(self, X: Tables, allowed: Allowed | None = None) -> list[Array]:
        """Return the tags' probabilities, of shape (length, n_classes): exact, since a B begins a span."""
        return self.model_.marginals(X, allowed)

    def score(self, X: Tables, y: Outputs, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of tokens tagged right."""
        return sequence_accuracy(y, self.predict(X), sample_weight)


def _length(tokens: Any) -> int:
    return tokens.shape[0] if hasattr(tokens, "shape") else len(tokens)
