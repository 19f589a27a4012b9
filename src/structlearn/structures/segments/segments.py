"""Segmentations: a sequence cut into labelled segments, scored by tokens, as wholes and in pairs."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from structlearn.core.contract import (
    Array,
    Shape,
    entropy,
    log_partition,
    marginals,
    marginals_workspace,
    max_value,
    maximize,
    shared_parts,
    workspace,
)
from structlearn.core.forms import count
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.structures.base import (
    SparseVertices,
    Structure,
    Weights,
    label_count,
    nothing_allowed,
    one_each,
)
from structlearn.structures.registry import stored
from structlearn.structures.rows import node_weights, row_costs
from structlearn.structures.segments.kbest import k_best_segments
from structlearn.structures.segments.marginals import (
    segment_entropy,
    segment_log_partition,
    segment_marginals,
    segment_marginals_workspace,
    segment_probabilities,
)
from structlearn.structures.segments.sampling import sample_segments
from structlearn.structures.segments.spans import Tiles, lay_tiles, span_array
from structlearn.structures.segments.viterbi import (
    SegmentScratch,
    best_segmentation_score,
    best_segments,
    segment_scores,
)


class SegmentsRecord(NamedTuple):
    """Compiled form of `Segments`."""

    n_labels: int
    max_length: int
    gaps: bool
    start: bool
    end: bool
    whole: bool


_FORMS = {"n_labels": count, "max_length": count, "gaps": bool, "start": bool, "end": bool, "whole": bool}


@stored("segments with labels", _FORMS)
class Segments(Structure):
    """Segmentations of sequences of any length: labelled spans of at most `max_length` tokens, and gaps.

    An output is an int array of rows (start, end, label), end exclusive, in order. A token of a gap is in the
    state `n_labels`, a segment of one token. The parts of a sequence of length L, of n states: for each token
    n parts for the state that it is in, K for the label of the segment that begins with it, and K for that of
    the segment that ends with it; if asked for, M * K parts for each token, for the segments that begin
    with it, by length and label; then, *summed*, n * n transitions (from, to), M * K lengths of segments, and
    n start and n end parts if asked for.

    Parameters
    ----------
    n_labels, max_length : int
    gaps : bool
        Whether tokens may be outside of all spans.
    start, end : bool
        Whether the states of the first and of the last segment have scores of their own.
    whole : bool
        Whether each segment has a score of its own.
    """

    def __init__(
        self,
        n_labels: SupportsIndex,
        max_length: SupportsIndex,
        *,
        gaps: bool = True,
        start: bool = False,
        end: bool = False,
        whole: bool = False,
    ) -> None:
        self.n_labels = label_count(n_labels, "A segmentation")
        self.max_length = index(max_length)
        if self.max_length < 1:
            raise ValueError(f"Segments have at least 1 token; got max_length={max_length}.")
        self.gaps, self.start, self.end, self.whole = gaps, start, end, whole
        self.n_states = self.n_labels + int(gaps)
        ends = self.n_states * (int(start) + int(end))
        self.n_shared = self.n_states**2 + self.max_length * self.n_labels + ends

    @property
    def record(self) -> SegmentsRecord:
        return SegmentsRecord(self.n_labels, self.max_length, self.gaps, self.start, self.end, self.whole)

    @property
    def n_token_parts(self) -> int:
        """The number of parts of each token: in, first and last."""
        return self.n_states + 2 * self.n_labels

    @property
    def n_columns(self) -> int:
        """The number of local parts of each token."""
        return self.n_token_parts + (self.max_length * self.n_labels if self.whole else 0)

    def shape(self, theta: Array) -> Shape:
        length, rest = divmod(theta.size - self.n_shared, self.n_columns)
        if rest or length < 1:
            raise ValueError(
                f"Such segmentations have L * {self.n_columns} + {self.n_shared} parts, L >= 1; got "
                f"{theta.size}."
            )
        return length, self.n_columns

    @property
    def local_axes(self) -> tuple[int | str, ...]:
        return ("length", self.n_columns)

    @property
    def output_axes(self) -> tuple[int | str, ...]:
        return ()  # a row per segment

    @property
    def column_blocks(self) -> tuple[int, ...]:
        return (self.n_token_parts, self.n_columns - self.n_token_parts) if self.whole else ()

    def fits(self, shape: Shape | Array) -> bool | Array:
        return (shape[0] >= 1) & (shape[1] == self.n_columns)

    def most_entries(self, shape: Shape) -> int:
        length = shape[0]
        steps = min(length - 1, self.n_states**2) + min(length, self.max_length * self.n_labels)
        return (4 if self.whole else 3) * length + steps + int(self.start) + int(self.end)

    def tables(self, parts: Array) -> dict[str, Array]:
        """Return views of a part vector: token (L, n), first and last (L, K), whole (L, M, K), and shared."""
        length, _ = self.shape(parts)
        n, k = self.n_states, self.n_labels
        rows = parts[: length * self.n_token_parts].reshape(length, -1)
        local, shared = self.split(parts, (length, self.n_columns))
        tables = {"token": rows[:, :n], "first": rows[:, n : n + k], "last": rows[:, n + k :]}
        if self.whole:
            tables["whole"] = local[rows.size :].reshape(length, self.max_length, k)
        return tables | self.shared_tables(shared)

    def shared_tables(self, shared: Array) -> dict[str, Array]:
        """Return transitions (from, to), lengths (M, K), start and end, as views of the shared parts."""
        n, m = self.n_states, self.max_length * self.n_labels
        tables = {
            "transitions": shared[: n * n].reshape(n, n),
            "lengths": shared[n * n : n * n + m].reshape(-1, self.n_labels),
        }
        if self.start:
            tables["start"] = shared[n * n + m : n * n + m + n]
        if self.end:
            tables["end"] = shared[shared.size - n :]
        return tables

    # ---- outputs -------------------------------------------------------------------------------------

    def tiles(self, ys: Iterable[object], lengths: Array, noun: str = "Output") -> Tiles:
        """Return the outputs of many examples as segments and gaps; ValueError for an invalid one."""
        return lay_tiles(
            ys, lengths, n_labels=self.n_labels, max_length=self.max_length, gaps=self.gaps, noun=noun
        )

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return ones for the parts of spans `y`; without a shape, the sequence ends with the last span."""
        if shape is None:
            shape = (int(span_array(y)[:, 1].max(initial=1)), self.n_columns)
        gold = self.encode_many([y], np.array([shape]))
        return gold.dense(0, self.n_local(shape) + self.n_shared)

    def encode_many(self, ys: Iterable[object], shapes: Array) -> SparseVertices:
        n, k, columns = self.n_states, self.n_labels, self.n_token_parts
        lengths = shapes[:, 0]
        owner, first, size, label, states = self.tiles(ys, lengths)
        n_local = lengths * self.n_columns
        tokens = np.repeat(np.arange(lengths.size), lengths)
        position = np.arange(states.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        own = label < k
        spans, begin, m, kind = owner[own], first[own], size[own] - 1, label[own]
        inner = first > 0
        step = np.r_[0, label[:-1]][inner] * n + label[inner]
        entries = [
            (tokens, position * columns + states),
            (spans, begin * columns + n + kind),
            (spans, (begin + m) * columns + n + k + kind),
            (owner[inner], n_local[owner[inner]] + step),
            (spans, n_local[spans] + n * n + m * k + kind),
        ]
        if self.whole:
            place = (begin * self.max_length + m) * k + kind
            entries.append((spans, lengths[spans] * columns + place))
        if self.start:
            at = owner[~inner]
            entries.append((at, n_local[at] + n * n + self.max_length * k + label[~inner]))
        if self.end:
            last = first + size == lengths[owner]
            entries.append((owner[last], n_local[owner[last]] + self.n_shared - n + label[last]))
        owners, indices = (np.concatenate(column) for column in zip(*entries))
        return SparseVertices.gather(owners, indices, lengths.size)

    def decode(self, vertex: Array) -> Array:
        tables = self.tables(vertex)
        starts, labels = np.nonzero(tables["first"] > 0.5)
        ends = np.nonzero(tables["last"] > 0.5)[0] + 1
        return np.stack([starts, ends, labels], axis=1)

    def cost(
        self, mu: Array, *, weights: Weights = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Return 1 on each token in a wrong state, over the length where normalised; zero on other parts.

        `weights` of shape (n,) by gold state or (n, n) as [gold, predicted]; `nodes` of shape (L,).
        """
        gold = np.argmax(self.tables(mu)["token"], axis=1)
        costs = np.zeros(mu.size)
        tokens = self.tables(costs)["token"]
        tokens += row_costs(gold, self.n_states, weights, nodes) / (gold.size if normalized else 1)
        return costs

    def cost_many(self, gold: SparseVertices, shapes: Array, **options: Any) -> Array:
        lengths, columns = shapes[:, 0], self.n_token_parts
        entry = gold.index % columns
        inside = gold.index < np.repeat(lengths * columns, np.diff(gold.start))
        states = entry[inside & (entry < self.n_states)]
        scale = np.repeat(1.0 / lengths, lengths) if options.get("normalized", True) else np.ones(states.size)
        if options.get("nodes") is not None:
            pairs = zip(one_each(options["nodes"], len(shapes), "nodes"), lengths)
            scale = scale * np.concatenate([node_weights(one, length) for one, length in pairs])
        rows = np.zeros((states.size, columns))
        rows[:, : self.n_states] = row_costs(states, self.n_states, options.get("weights"), scale)
        if not self.whole:
            return rows.ravel()
        ends = np.cumsum(lengths)
        rest = np.zeros(int(lengths.max(initial=0)) * (self.n_columns - columns))
        pieces = (
            (rows[end - m : end].ravel(), rest[: m * (self.n_columns - columns)])
            for end, m in zip(ends, lengths)
        )
        return np.concatenate([piece for pair in pieces for piece in pair])

    # ---- more than the best ----------------------------------------------------------------------------

    def k_best(self, theta: Array, k: int) -> tuple[list[Array], Array]:
        """Return the k best outputs and their scores, best first; fewer where fewer are allowed."""
        theta, shape = self.read_scores(theta)
        found, best = k_best_segments(segment_scores(self.record, shape[0], *self.split(theta, shape)), k)
        return [tiles[tiles[:, 2] < self.n_labels] for tiles in found], best

    def sample(
        self, theta: Array, n: int, random_state: int | np.random.Generator | None = None
    ) -> list[Array]:
        """Draw `n` independent segmentations of p(y) ~ exp <theta, z(y)>, each as `decode` writes it."""
        theta, shape = self.read_scores(theta)
        rng = np.random.default_rng(random_state)
        found = sample_segments(self.record, shape, *self.split(theta, shape), n, rng)
        return [tiles[tiles[:, 2] < self.n_labels] for tiles in found]

    def score(self, theta: Array, y: object) -> float:
        """Return <theta, z(y)>; -inf where y is not allowed."""
        shape = self.shape(theta)
        spans = span_array(y)
        if not self.gaps and (spans[:, 1] - spans[:, 0]).sum() < shape[0]:
            return -np.inf
        gold = self.encode_many([spans], np.array([shape]))
        return float(theta[gold.index] @ gold.value)

    def log_partition(self, theta: Array) -> float:
        """Return log sum_y exp <theta, z(y)>."""
        return float(self.marginals(theta).log_partition)

    def probabilities(self, theta: Array) -> Array:
        """Return p(segment) under p(y) ~ exp <theta, y>, (L, M, K): by first token, length less 1, label."""
        theta, shape = self.read_scores(theta)
        found = segment_probabilities(self.record, shape[0], *self.split(theta, shape))
        if np.isnan(found).any():
            raise nothing_allowed("The score vector")
        return found


@implements(workspace, SegmentsRecord)
@jitable
def segments_workspace(structure: SegmentsRecord, shape: Shape) -> SegmentScratch:
    n = structure.n_labels + int(structure.gaps)
    return SegmentScratch(np.empty((shape[0], n)), np.empty((shape[0], n)), np.empty(structure.n_labels))


@implements(maximize, SegmentsRecord)
@kernel
def segments_maximize(
    structure: SegmentsRecord, shape: Shape, theta: Array, shared: Array, work: SegmentScratch, vertex: Array
) -> float:
    return best_segments(segment_scores(structure, shape[0], theta, shared), work, vertex)


@implements(max_value, SegmentsRecord)
@kernel
def segments_max_value(
    structure: SegmentsRecord, shape: Shape, theta: Array, shared: Array, work: SegmentScratch, vertex: Array
) -> float:
    return best_segmentation_score(segment_scores(structure, shape[0], theta, shared), work)


implements(marginals_workspace, SegmentsRecord)(segment_marginals_workspace)
implements(marginals, SegmentsRecord)(segment_marginals)
implements(entropy, SegmentsRecord)(segment_entropy)
implements(log_partition, SegmentsRecord)(segment_log_partition)


@implements(shared_parts, SegmentsRecord)
@jitable
def _segments_shared_parts(structure: SegmentsRecord) -> int:
    n, m = structure.n_labels + int(structure.gaps), structure.max_length * structure.n_labels
    return n * n + m + n * (int(structure.start) + int(structure.end))
