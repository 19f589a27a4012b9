"""The fitted model of labelled spans whose answers are tags, B-type and I-type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.confidence.confident import Judged, SpanSets
from structlearn.estimators.inputs.checking import label_arrays
from structlearn.estimators.inputs.spans import OUTSIDE, Span, spans, tag_type
from structlearn.estimators.models.segments import SegmentModel
from structlearn.metrics import Outputs
from structlearn.structures import Segments


def span_types(tags: Any) -> list[str]:
    """Return the types of spans that tags mark, sorted."""
    return sorted({tag_type(str(tag)) for tag in tags if str(tag) != OUTSIDE})


class TagRanking:
    """The outputs of `Segments` as numbers of tags: of the type k 2 k + 1 begins, 2 k + 2 goes on, 0 is O."""

    def __init__(self, structure: Segments) -> None:
        self.structure = structure

    def tags(self, output: Array, length: int) -> Array:
        """Return the tags of spans."""
        found = np.zeros(length, dtype=np.int64)
        for start, end, k in output.tolist():
            found[start:end] = 2 * k + 2
            found[start] -= 1
        return found

    def spans(self, tags: Array) -> Array:
        """Return the spans of tags; a span goes on only with its own type, as conlleval reads it."""
        kind = (tags - 1) // 2
        inside = tags > 0
        before = np.r_[-1, kind[:-1]]
        begins = inside & ((tags % 2 == 1) | (kind != before))
        starts = np.flatnonzero(begins)
        stops = np.flatnonzero(begins | ~inside)
        ends = np.r_[stops, tags.size][np.searchsorted(stops, starts, side="right")]
        return np.stack([starts, ends, kind[starts]], axis=1)

    def k_best(self, theta: Array, k: int) -> tuple[list[Array], Array]:
        """Return the k best tag sequences and their scores."""
        length, _ = self.structure.shape(theta)
        found, scores = self.structure.k_best(theta, k)
        return [self.tags(one, length) for one in found], scores

    def score(self, theta: Array, y: Array) -> float:
        """Return <theta, z(y)>; -inf if a span is too long."""
        output = self.spans(y)
        if (output[:, 1] - output[:, 0]).max(initial=0) > self.structure.max_length:
            return -np.inf
        return self.structure.score(theta, output)

    def log_partition(self, theta: Array) -> float:
        """Return log sum_y exp <theta, z(y)>."""
        return self.structure.log_partition(theta)


@dataclass(frozen=True, eq=False, kw_only=True)
class TagModel(SegmentModel):
    """Answers about sentences, in tags.

    tags : (2 K + 1,), O and two tags per label of spans
    """

    tags: Array

    @property
    def ranking(self) -> TagRanking:
        """What ranks tag sequences by their scores."""
        return TagRanking(self.structure)

    def output_of(self, parts: Array) -> Array:
        """Return the numbers of the tags that local parts stand for."""
        return self.ranking.tags(super().output_of(parts), parts.size // self.structure.n_columns)

    @property
    def n_shares(self) -> int:
        """Columns of a table of marginals."""
        return len(self.tags)

    def shares_of(self, parts: Array) -> Array:
        """Return probabilities of the tags: exact, since a B begins a span."""
        rows, n, k = self.token_rows(parts), self.structure.n_states, self.structure.n_labels
        table = np.zeros((len(rows), 2 * k + 1))
        table[:, 1::2] = rows[:, n : n + k]
        table[:, 2::2] = np.maximum(rows[:, :k] - rows[:, n : n + k], 0.0)
        if n > k:
            table[:, 0] = rows[:, k]
        return table

    def codes_of(self, y: Outputs) -> list[Any]:
        """Return tags as numbers; None for a sentence that has a label unknown to the model."""
        place = {kind: k for k, kind in enumerate(self.labels.tolist())}
        found: list[Any] = []
        for tags in tag_arrays(y):
            marked = [(a, b, place.get(kind)) for kind, a, b in spans(map(str, tags))]
            known = all(k is not None for _, _, k in marked)
            rows = np.array(marked if known else [], dtype=np.int64).reshape(-1, 3)
            found.append(self.ranking.tags(rows, len(tags)) if known else None)
        return found

    def check_length(self, i: int, theta: Array, codes: Array) -> None:
        """Raise ValueError unless the tags of sentence i are of its length."""
        length, _ = self.structure.shape(theta)
        if length != codes.size:
            raise ValueError(f"Sentence {i} has {length} rows of features but {codes.size} labels.")

    def labelling(self, output: Array) -> Array:
        """Return the tags of numbers."""
        return self.tags[output]

    def nothing(self) -> Array:
        """Return the tags of an empty sentence."""
        return self.tags[:0]

    def spans(self, theta: Array, labelling: Array) -> list[Span]:
        """Return the spans that tags mark, with probabilities."""
        marked = [(a, b, kind) for kind, a, b in spans(labelling.tolist())]
        return super().spans(theta, marked)

    def judged_labels(self, y: Outputs, predicted: list[Array], tables: list[Array]) -> Judged:
        """Yield predicted tags, by their marginals."""
        place = {tag: k for k, tag in enumerate(self.tags.tolist())}
        for right, found, table in zip(tag_arrays(y), predicted, tables):
            shares = table[np.arange(len(found)), [place[tag] for tag in found.tolist()]]
            yield from zip(shares.tolist(), (right == found).tolist())

    def gold_spans(self, y: Outputs) -> SpanSets:
        """Yield the spans that given tags mark."""
        for tags in tag_arrays(y):
            yield {(a, b, kind) for kind, a, b in spans(map(str, tags))}


def tag_arrays(y: Outputs) -> list[Array]:
    """Return the tags of each sentence as an array."""
    return label_arrays(y, "sentence")[0]
