"""The fitted model of labelled spans: segments, weights, labels, and how sentences are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.estimators.confidence.confident import Judged, Ranking, SpanSets
from structlearn.estimators.inputs.allowed import Allowed
from structlearn.estimators.inputs.checking import Tables, as_list
from structlearn.estimators.inputs.segment_features import SegmentFeatures, rows_of_segments
from structlearn.estimators.inputs.segment_spans import checked_spans
from structlearn.estimators.inputs.sequences import SequenceReader, with_empty
from structlearn.estimators.inputs.spans import Span
from structlearn.estimators.models.linear import LinearModel
from structlearn.estimators.scikit import Rows
from structlearn.estimators.weights.row_weights import RowWeights
from structlearn.metrics import Outputs
from structlearn.scoring import JointScoring, RowScoring, Scoring
from structlearn.structures import Segments


@dataclass(frozen=True, eq=False, kw_only=True)
class SegmentModel(LinearModel[Segments]):
    """Answers about sentences; an empty one has no spans.

    labels : (K,), those of spans
    reader : from sentences to rows of features
    segment_features, segment_bits : what features whole segments have, where they have some
    """

    labels: Array
    reader: SequenceReader
    segment_features: SegmentFeatures | str | None = None
    segment_bits: int = 18

    # ---- weights by name -------------------------------------------------------------------------------

    @property
    def rows(self) -> RowWeights:
        """The weights, part by part."""
        structure = self.structure
        n_pairs = structure.n_labels << self.segment_bits if structure.whole else 0
        n_scored = self.reader.row_map.n_scored
        return RowWeights(self.weights, n_scored, structure.n_token_parts, n_pairs, structure.n_shared)

    @property
    def transitions(self) -> Array:
        """Weights of neighbouring spans and gaps, of shape (n_states, n_states): from, to."""
        return self.structure.shared_tables(self.rows.shared_weights)["transitions"]

    @property
    def lengths(self) -> Array:
        """Weights of lengths, of shape (max_length, K)."""
        return self.structure.shared_tables(self.rows.shared_weights)["lengths"]

    # ---- answers ---------------------------------------------------------------------------------------

    def best(self, X: Tables, allowed: Allowed | None = None) -> list[Any]:
        """Return the best segmentation of each sentence."""
        scoring, filled = self.scoring(X, allowed)
        found = (self.output_of(parts) for _, parts in self.best_parts(scoring))
        return with_empty(map(self.labelling, found), filled, self.nothing)

    def output_of(self, parts: Array) -> Array:
        """Return what local parts stand for, as the ranking has it: rows (start, end, label)."""
        n, k = self.structure.n_states, self.structure.n_labels
        rows = self.token_rows(parts)
        starts, labels = np.nonzero(rows[:, n : n + k] > 0.5)
        return np.stack([starts, np.nonzero(rows[:, n + k :] > 0.5)[0] + 1, labels], axis=1)

    def token_rows(self, parts: Array) -> Array:
        """Return the local parts of tokens, a row per token."""
        structure = self.structure
        length = parts.size // structure.n_columns
        return parts[: length * structure.n_token_parts].reshape(length, -1)

    def marginals(self, X: Tables, allowed: Allowed | None = None) -> list[Array]:
        """Return probabilities that tokens are in a span of each label and, where there are gaps, in none."""
        scoring, filled = self.scoring(X, allowed)
        found = (self.shares_of(parts) for _, parts in self.soft_parts(scoring))
        return with_empty(found, filled, lambda: np.empty((0, self.n_shares)))

    @property
    def n_shares(self) -> int:
        """Columns of a table of marginals."""
        return self.structure.n_states

    def shares_of(self, parts: Array) -> Array:
        """Return the table of marginals of local parts."""
        return self.token_rows(parts)[:, : self.structure.n_states]

    def kbest(self, X: Tables, k: int = 5, allowed: Allowed | None = None) -> list[list[tuple[Any, float]]]:
        """Return the k best segmentations of each sentence with their scores, best first."""
        scores, filled = self.part_scores(X, allowed)
        found = (self.ranking.k_best(theta, k) for theta in scores)
        best = [[(self.labelling(one), float(score)) for one, score in zip(*pair)] for pair in found]
        return with_empty(best, filled, lambda: [(self.nothing(), 0.0)])

    def part_scores(self, X: Tables, allowed: Allowed | None = None) -> tuple[Iterator[Array], Array]:
        """Return scores of all parts of sentences that are not empty, and which of them are not."""
        scoring, filled = self.scoring(X, allowed)
        shared = self.rows.shared_weights

        def scores() -> Iterator[Array]:
            for i in range(scoring.n_examples):
                yield np.concatenate([scoring.scores(self.weights, i, i + 1), shared])

        return scores(), filled

    def scoring(self, X: Tables, allowed: Allowed | None = None) -> tuple[Scoring, Array]:
        """Return the scoring of all sentences that are not empty, and which of them are not."""
        if allowed is not None:
            raise ValueError("allowed goes with chains; a model of segments takes none.")
        rows, lengths = self.reader.rows(X)
        local = token_scoring(
            self.structure, self.reader.row_map.apply(rows), lengths[lengths > 0], self.rows.has_constant
        )
        return with_segments(local, X, self.structure, self.segment_features, self.segment_bits), lengths > 0

    # ---- what `AnswerConfidence` asks ---------------------------------------------------------------------

    @property
    def ranking(self) -> Ranking:
        """What ranks segmentations by their scores."""
        return self.structure

    @property
    def _label_places(self) -> dict[Any, int]:
        return {label: k for k, label in enumerate(self.labels.tolist())}

    def codes_of(self, y: Outputs) -> list[Any]:
        """Return labels as numbers; None if a label or a length is unknown to the model."""
        place, found = self._label_places, []
        for i, spans in enumerate(as_list(y, "y")):
            rows = [(a, b, place.get(label)) for a, b, label in checked_spans(spans, i)]
            known = all(k is not None and b - a <= self.structure.max_length for a, b, k in rows)
            found.append(np.array(rows, dtype=np.int64).reshape(-1, 3) if known else None)
        return found

    def check_length(self, i: int, theta: Array, codes: Any) -> None:
        """Raise ValueError if a span ends behind the tokens of sentence i."""
        length, _ = self.structure.shape(theta)
        if codes[:, 1].max(initial=0) > length:
            raise ValueError(f"Sentence {i} has {length} tokens, but a span that ends behind them.")

    def labelling(self, output: Any) -> Any:
        """Return the spans of numbers."""
        labels = self.labels.tolist()
        return [(start, end, labels[k]) for start, end, k in output.tolist()]

    def nothing(self) -> Any:
        """Return the labelling of an empty sentence."""
        return []

    def spans(self, theta: Array, labelling: Any) -> list[Span]:
        """Return the spans of a labelling, with probabilities."""
        place = self._label_places
        shares = self.structure.probabilities(theta)
        return [Span(a, b, label, float(shares[a, b - a - 1, place[label]])) for a, b, label in labelling]

    def judged_labels(self, y: Outputs, predicted: list[Any], tables: list[Array]) -> Judged:
        """Yield the predicted states of tokens, by their marginals."""
        for right, found, table in zip(self._states(y, tables), self._states(predicted, tables), tables):
            yield from zip(table[np.arange(len(table)), found].tolist(), (right == found).tolist())

    def _states(self, y: Outputs, tables: list[Array]) -> list[Array]:
        """Return the state of each token; -1 in a span whose label is unknown."""
        place, found = self._label_places, []
        for spans, table in zip(y, tables):
            states = np.full(len(table), len(place))
            for start, end, label in spans:
                states[start:end] = place.get(label, -1)
            found.append(states)
        return found

    def gold_spans(self, y: Outputs) -> SpanSets:
        """Yield the spans of given segmentations."""
        for spans in as_list(y, "y"):
            yield set(map(tuple, spans))


def token_scoring(
    structure: Segments, rows: Rows, lengths: Array, constant: bool, memory: Memory | None = None
) -> RowScoring:
    """Score the tokens of sentences; in training with `memory`."""
    of_training: dict[str, Any] = (
        {} if memory is None else {"sparsify": memory.limit is None, "memory": memory}
    )
    return RowScoring(
        rows,
        lengths,
        structure.n_token_parts,
        n_shared=0 if structure.whole else structure.n_shared,
        intercept=constant,
        **of_training,
    )


def with_segments(
    local: RowScoring, X: Tables, structure: Segments, features: SegmentFeatures | str | None, bits: int
) -> Scoring:
    """Join the scoring of whole segments to that of tokens, where segments have features."""
    if not structure.whole:
        return local
    if features is None:
        raise ValueError(
            "The model was trained with segment_features, which model files do not hold: give the same "
            "function by set_params(segment_features=...)."
        )
    most = structure.max_length
    rows = rows_of_segments(X, features, most, bits)
    lengths = np.diff(local.first) * most
    segments = RowScoring(rows, lengths, structure.n_labels, n_shared=structure.n_shared)
    return JointScoring(local, segments, each=most)
