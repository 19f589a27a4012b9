"""The fitted model of label sequences: a chain, weights, classes, and how sequences are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.progress import counted, show_progress
from structlearn.estimators.confidence.confident import Judged, Ranking, SpanSets
from structlearn.estimators.inputs.allowed import Allowed, Limits, allowed_table
from structlearn.estimators.inputs.checking import Tables, label_arrays
from structlearn.estimators.inputs.limits import SequenceLimits
from structlearn.estimators.inputs.sequences import SequenceReader, with_empty
from structlearn.estimators.inputs.spans import Span, SpanReading, span_reading
from structlearn.estimators.inputs.tag_dictionary import TagDictionary
from structlearn.estimators.models.candidates import CandidateAnswers
from structlearn.estimators.models.linear import LinearModel
from structlearn.estimators.scikit import Rows
from structlearn.estimators.weights.row_weights import RowWeights
from structlearn.estimators.weights.seen_weights import SeenWeights
from structlearn.metrics import Outputs
from structlearn.scoring import JointScoring, LabelScoring, RowScoring, Scoring, SeenPairs, SeenRowScoring
from structlearn.structures import Chain, ConditionedChain


class LabelledSequence(NamedTuple):
    """Labels, their score, and a bound that no labelling within the constraints exceeds.

    Where sequences must agree (`SameType`), it is the sum of the bounds that bounds the sum of the scores.
    """

    labels: Array
    value: float
    bound: float


@dataclass(frozen=True, eq=False, kw_only=True)
class ChainModel(LinearModel[Chain | ConditionedChain]):
    """Answers about sequences; an empty one has one labelling, which is empty.

    `allowed` has, per sequence, None or a list with, per token, the set of labels that it may have, or None
    for any.

    classes : (K,), the labels
    reader : from sequences to rows of features
    transition_features : columns of X that score pairs of labels; None where there are none
    seen : the labels that each feature has weights for; None where it has some for all
    dictionary : the candidate labels of keys; None where positions may have all labels
    """

    classes: Array
    reader: SequenceReader
    transition_features: Array | None = None
    seen: SeenPairs | None = None
    dictionary: TagDictionary | None = None

    # ---- weights by name -------------------------------------------------------------------------------

    @property
    def rows(self) -> RowWeights:
        """The weights, part by part."""
        structure, n_pairs = self.structure, 0
        if self.transition_features is not None:
            n_pairs = (self.transition_features.size + 1) * structure.n_labels**2
        n_scored = self.reader.row_map.n_scored
        counts = n_scored, structure.n_labels, n_pairs, structure.n_shared
        if self.seen is not None:
            return SeenWeights(self.weights, *counts, seen=self.seen)
        return RowWeights(self.weights, *counts)

    @property
    def transitions(self) -> Array:
        """Weights of the transitions, of shape (K, K): from, to."""
        if isinstance(self.structure, ConditionedChain):
            return self._pairs[-1]
        return self.structure.shared_tables(self.rows.shared_weights)["transitions"]

    @property
    def transition_feature_weights(self) -> Array:
        """Weights of features for transitions, of shape (n_transition_features, K, K)."""
        if self.transition_features is None:
            raise AttributeError("conditioned_coef_ exists only with transition_features.")
        return self._pairs[:-1]

    @property
    def _pairs(self) -> Array:
        k = len(self.classes)
        return self.rows.pairs.reshape(-1, k, k)

    def boundary(self, name: str) -> Array:
        """Return the weights of the first ("start") or the last label ("end")."""
        if isinstance(self.structure, Chain):
            tables = self.structure.shared_tables(self.rows.shared_weights)
            if name in tables:
                return tables[name]
        raise AttributeError(f"{name}_coef_ exists only where the estimator was made with {name}=True.")

    # ---- answers ---------------------------------------------------------------------------------------

    def best(self, X: Tables, allowed: Allowed | None = None) -> list[Array]:
        """Return the best label sequence of each example."""
        if self.dictionary is not None and allowed is None:
            answers, filled = self._candidate_answers(X, self.dictionary)
            return with_empty(answers.best(), filled, self.nothing)
        scoring, filled, limits = self.scoring_and_limits(X, allowed)
        return with_empty(self._decode(scoring, limits), filled, self.nothing)

    def best_within(
        self, X: Tables, constraints: object, allowed: Allowed | None = None
    ) -> list[LabelledSequence]:
        """Return the best label sequence of each example that keeps the constraints, with a bound on all."""
        limits = SequenceLimits(constraints, self.classes)
        parts, filled = self.part_scores(X, allowed)
        structure, which = self.structure, np.flatnonzero(filled)
        tables = (structure.label_and_step_scores(*structure.read_scores(one)) for one in parts)
        asked = counted(zip(which.tolist(), tables), "predicting", len(which))
        found = [
            LabelledSequence(self.classes[one.labels], one.value, one.bound) for one in limits.solve(asked)
        ]
        return with_empty(found, filled, lambda: LabelledSequence(self.nothing(), 0.0, 0.0))

    def _decode(self, scoring: Scoring, limits: Limits) -> list[Array]:
        found: list[Array] = []
        if self.transition_features is not None:
            for i, parts in self.best_parts(scoring, limits.shift):
                codes = self._codes(parts)
                limits.check(codes, i, i + 1)
                found.append(self.classes[codes])
            return found
        shift = self.total_shift(scoring, limits.shift)
        with show_progress("predicting", scoring.start[-1] // len(self.classes)) as step:

            def read(parts: Array) -> Array:
                codes = self._codes(parts)
                step.advance(len(codes))
                return codes

            read_codes = self.oracle(scoring).read(self.weights, read, shift)
        for first, last, codes in read_codes:
            limits.check(codes, first, last)
            labels, edges = self.classes[codes], scoring.start[first : last + 1] // len(self.classes)
            found += [labels[a:b] for a, b in pairwise((edges - edges[0]).tolist())]
        return found

    def _codes(self, parts: Array) -> Array:
        return np.argmax(self._unary(parts), axis=1)

    def _unary(self, parts: Array) -> Array:
        """Return the table of label parts, of shape (length, K), that local parts begin with."""
        k = len(self.classes)
        return parts[: parts.size // self.structure.n_columns * k].reshape(-1, k)

    def marginals(self, X: Tables, allowed: Allowed | None = None) -> list[Array]:
        """Return probabilities of the labels, of shape (length, K) each; sparse after sparsemax."""
        if self.dictionary is not None and allowed is None:
            answers, filled = self._candidate_answers(X, self.dictionary)
            return with_empty(answers.marginals(), filled, self._no_rows)
        scoring, filled, limits = self.scoring_and_limits(X, allowed)
        found = []
        for i, parts in self.soft_parts(scoring, limits.shift):
            found.append(self._unary(parts))
            if not found[-1].any():
                raise limits.nothing(i)
        return with_empty(found, filled, self._no_rows)

    def _no_rows(self) -> Array:
        return np.empty((0, len(self.classes)))

    def kbest(self, X: Tables, k: int = 5, allowed: Allowed | None = None) -> list[list[tuple[Array, float]]]:
        """Return the k best label sequences of each example with their scores, best first."""
        scores, filled = self.part_scores(X, allowed)
        found = (self.structure.k_best(theta, k) for theta in scores)
        best = [[(self.classes[one], float(score)) for one, score in zip(*pair)] for pair in found]
        return with_empty(best, filled, lambda: [(self.nothing(), 0.0)])

    def sample(
        self, X: Tables, n: int, rng: np.random.Generator, allowed: Allowed | None = None
    ) -> list[Array]:
        """Draw n label sequences of each example, of shape (n, length)."""
        scores, filled = self.part_scores(X, allowed)
        tempered = (theta / self.temperature for theta in scores)
        found = [self.classes[self.structure.sample(theta, n, rng)] for theta in tempered]
        return with_empty(found, filled, lambda: self.classes[np.empty((n, 0), dtype=np.int64)])

    def label_scores(self, X: Tables) -> list[Array]:
        """Return the scores of labels of each example, of shape (length, K), without the transitions."""
        scoring, filled = self.scoring(X)
        return with_empty(map(self._unary, self._local_scores(scoring)), filled, self._no_rows)

    def _local_scores(self, scoring: Scoring) -> Iterator[Array]:
        for first, last in scoring.chunks():
            theta = scoring.scores(self.weights, first, last)
            yield from np.split(theta, scoring.start[first + 1 : last] - scoring.start[first])

    def part_scores(self, X: Tables, allowed: Allowed | None = None) -> tuple[Iterator[Array], Array]:
        """Return scores of all parts of examples that are not empty, -inf for what is not allowed.

        The second is which examples are not empty.
        """
        scoring, filled, limits = self.scoring_and_limits(X, allowed)
        shared = self.rows.shared_weights

        def scores() -> Iterator[Array]:
            for i, theta in enumerate(self._local_scores(scoring)):
                parts = np.concatenate([theta + limits.of(i), shared])
                limits.check_scores(parts, i)
                yield parts

        return scores(), filled

    # ---- from sequences to scores ------------------------------------------------------------------------

    def scoring_and_limits(self, X: Tables, allowed: Allowed | None) -> tuple[Scoring, Array, Limits]:
        """Return the same as `scoring`, and what predictions are limited to."""
        rows, lengths = self.reader.rows(X)
        scoring = self._scoring_of(rows, lengths[lengths > 0])
        table = None if allowed is None else allowed_table(allowed, lengths, self.classes, "allowed")
        if self.dictionary is not None:
            known = self.dictionary.table(rows, len(self.classes))
            table = known if table is None else np.where(table.all(axis=1, keepdims=True), known, table)
        return scoring, lengths > 0, Limits(self.structure, scoring, lengths > 0, table)

    def scoring(self, X: Tables) -> tuple[Scoring, Array]:
        """Return the scoring of all sequences that are not empty, and which of them are not."""
        rows, lengths = self.reader.rows(X)
        return self._scoring_of(rows, lengths[lengths > 0]), lengths > 0

    def _scoring_of(self, rows: Rows, lengths: Array) -> Scoring:
        local = self._label_scoring(rows, lengths)
        return with_pairs(local, rows, self.structure, self.transition_features)

    def _label_scoring(self, rows: Rows, lengths: Array) -> LabelScoring:
        mapped = self.reader.row_map.apply(rows)
        return label_scoring(self.structure, mapped, lengths, self.seen, intercept=self.rows.has_constant)

    def _candidate_answers(self, X: Tables, dictionary: TagDictionary) -> tuple[CandidateAnswers, Array]:
        """Return what is asked over candidates alone, and which sequences are not empty."""
        rows, lengths = self.reader.rows(X)
        local = self._label_scoring(rows, lengths[lengths > 0])
        return CandidateAnswers(self, dictionary, local, rows), lengths > 0

    # ---- what `AnswerConfidence` asks ---------------------------------------------------------------------

    @property
    def ranking(self) -> Ranking:
        """The structure, which ranks label sequences by their scores."""
        return self.structure

    def codes_of(self, y: Outputs) -> list[Array | None]:
        """Return labels as numbers; None for a sequence that has a label unknown to the model."""
        place = {label: k for k, label in enumerate(self.classes.tolist())}
        found = ([place.get(one) for one in labels.tolist()] for labels in label_arrays(y, "sequence")[0])
        return [None if None in codes else np.array(codes, dtype=np.int64) for codes in found]

    def check_length(self, i: int, theta: Array, codes: Array) -> None:
        """Raise ValueError unless the labelling of example i is of its length."""
        length, _ = self.structure.shape(theta)
        if length != codes.size:
            raise ValueError(f"Sequence {i} has {length} rows of features but {codes.size} labels.")

    def labelling(self, output: Array) -> Array:
        """Return the labels of numbers."""
        return self.classes[output]

    def nothing(self) -> Array:
        """Return the labelling of an empty sequence."""
        return self.classes[:0]

    def spans(self, theta: Array, labelling: Array) -> list[Span]:
        """Return the spans of a labelling, with probabilities."""
        reading = self._reading
        found = reading.read(labelling.tolist())
        shares = self.structure.span_probabilities(theta, reading.rows(found), reading.labels)
        return [Span(*span, share) for span, share in zip(found, shares.tolist())]

    def judged_labels(self, y: Outputs, predicted: list[Array], tables: list[Array]) -> Judged:
        """Yield predicted labels, by their marginals."""
        for right, found, table in zip(label_arrays(y, "sequence")[0], predicted, tables):
            shares = table[np.arange(len(found)), np.searchsorted(self.classes, found)]
            yield from zip(shares.tolist(), (right == found).tolist())

    def gold_spans(self, y: Outputs) -> SpanSets:
        """Yield the spans of given labellings."""
        for labels in label_arrays(y, "sequence")[0]:
            yield set(self._reading.read(labels.tolist()))

    @property
    def _reading(self) -> SpanReading:
        return span_reading(tuple(self.classes.tolist()))


def label_scoring(
    structure: Chain | ConditionedChain, X: Rows, lengths: Array, seen: SeenPairs | None, **options: Any
) -> LabelScoring:
    """Return the scoring of labels by rows X, by weights for all labels or for those that were seen."""
    options["n_shared"] = structure.n_shared
    if seen is None:
        return RowScoring(X, lengths, structure.n_labels, **options)
    return SeenRowScoring(X, lengths, structure.n_labels, seen, **options)


def with_pairs(
    local: LabelScoring, X: Rows, structure: Chain | ConditionedChain, columns: Array | None
) -> Scoring:
    """Join the scoring of pairs to that of labels, where transitions have features, which are not mapped."""
    if columns is None:
        return local
    chosen = sparse.csr_matrix(X[:, columns]).astype(np.float64)
    chosen.sort_indices()
    pairs = RowScoring(chosen, np.diff(local.first), structure.n_labels**2, intercept=True)
    return JointScoring(local, pairs)


def column_array(given: ArrayLike | None) -> Array | None:
    """Return columns of X as an array, where there are some."""
    return None if given is None else np.asarray(given)
