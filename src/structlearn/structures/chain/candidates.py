"""Chains whose positions have candidate labels: sequences of other labels are not outputs at all."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

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
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.structures.base import SparseVertices, Structure, Weights, one_each
from structlearn.structures.chain.candidate_marginals import (
    candidate_entropy,
    candidate_log_partition,
    candidate_marginals,
    candidate_marginals_workspace,
)
from structlearn.structures.chain.candidate_viterbi import (
    CandidatePathScratch,
    CandidateRecord,
    candidate_path,
    candidate_value,
    step_scratch,
)
from structlearn.structures.chain.chain import Chain
from structlearn.structures.chain.sparse import SparseChain
from structlearn.structures.instances import of_instances
from structlearn.structures.rows import cost_table, label_indices, node_weights

of_instances(CandidateRecord)


class Candidates(NamedTuple):
    """The labels that the positions of some sequences, end to end, may have.

    lengths : (n,) the numbers of positions of the sequences, none of which is empty
    first : (n_positions + 1,) where the candidates of each position begin
    label : (n_parts,) the candidates, in increasing order at each position, which has at least one
    """

    lengths: Array
    first: Array
    label: Array

    @property
    def rows(self) -> Array:
        """Where the positions of each sequence begin, and where the last one ends."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    @property
    def start(self) -> Array:
        """Where the candidates of each sequence begin, and where the last ones end."""
        return self.first[self.rows]

    @property
    def owner(self) -> Array:
        """The position of each candidate, counted over all sequences."""
        return np.repeat(np.arange(self.first.size - 1), np.diff(self.first))


class CandidateChain(Structure):
    """Label sequences of a chain that have, at each position, one of its candidates.

    The parts of a sequence: one for each candidate, position by position, then the steps of the chain (all,
    or those that are listed), summed over positions. A shape is (number of candidates, number of the
    sequence).

    Parameters
    ----------
    chain : Chain or SparseChain
        Without scores of the first and the last label, and without forbidden steps.
    candidates : Candidates
    """

    has_graphs = True

    def __init__(self, chain: Chain, candidates: Candidates) -> None:
        if chain.start or chain.end or (type(chain) is Chain and chain.forbidden is not None):
            raise ValueError("Candidates go with chains without start, end and forbidden steps.")
        sizes = np.diff(candidates.first)
        if candidates.lengths.min(initial=1) < 1 or sizes.min(initial=1) < 1:
            raise ValueError("Every sequence needs a position, and every position a candidate.")
        self.chain, self.candidates = chain, candidates
        self.n_labels, self.n_shared = chain.n_labels, chain.n_shared
        self.accuracy = chain.accuracy
        self.n_parts = np.diff(candidates.start)

    @cached_property
    def listed(self) -> SparseChain:
        """The chain, as one of listed steps, which may be all."""
        if isinstance(self.chain, SparseChain):
            return self.chain
        k = self.n_labels
        return SparseChain(k, np.stack(np.divmod(np.arange(k * k), k), axis=1), free=False)

    @cached_property
    def record(self) -> CandidateRecord:
        lengths, first, label = self.candidates
        return CandidateRecord(
            self.listed.record,
            self.candidates.rows,
            first.astype(np.int64),
            label.astype(np.int64),
            int(self.n_parts.max(initial=1)),
            int(lengths.max(initial=1)),
            int(np.diff(first).max(initial=1)),
        )

    @property
    def shapes(self) -> Array:
        """The shape of each sequence."""
        return np.stack([self.n_parts, np.arange(self.n_parts.size)], axis=1)

    def fits(self, shape: Shape | Array) -> bool | Array:
        size, example = shape
        known = (example >= 0) & (example < self.n_parts.size)
        return known & (self.n_parts[np.where(known, example, 0)] == size)

    def shape(self, theta: Array) -> Shape:
        """Return the sequence with as many parts; ValueError if there is none, or another one."""
        size = int(np.size(theta)) - self.n_shared
        fit = np.flatnonzero(self.n_parts == size)
        if fit.size != 1:
            raise ValueError(f"{np.size(theta)} parts fit {fit.size} sequences with candidates, not one.")
        return size, int(fit[0])

    def most_entries(self, shape: Shape) -> int:
        length = int(self.candidates.lengths[shape[1]])
        return length + min(length - 1, self.n_shared)

    def most_entries_many(self, shapes: Array) -> Array:
        lengths = self.candidates.lengths[shapes[:, 1]]
        return lengths + np.minimum(lengths - 1, self.n_shared)

    # ---- outputs and costs -------------------------------------------------------------------------------

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return ones for the labels of the sequence `y` (integers), and how often each step is made."""
        size, example = self._sequence_of(y) if shape is None else shape
        gold = self.encode_many([y], np.array([[size, example]]))
        return gold.dense(0, size + self.n_shared)

    def _sequence_of(self, y: object) -> Shape:
        fit = np.flatnonzero(self.candidates.lengths == np.size(y))  # type: ignore[arg-type]
        if fit.size != 1:
            raise ValueError(f"{np.size(y)} labels fit {fit.size} sequences, not one; give the shape.")  # type: ignore[arg-type]
        return int(self.n_parts[fit[0]]), int(fit[0])

    def encode_many(self, ys: Iterable[object], shapes: Array) -> SparseVertices:
        k, examples = self.n_labels, shapes[:, 1]
        pieces = [label_indices(y, k) for y in ys]
        lengths = np.array([one.size for one in pieces])
        if not np.array_equal(lengths, self.candidates.lengths[examples]):
            raise ValueError("Each sequence must have one label per position.")
        labels, owner = np.concatenate(pieces), np.repeat(np.arange(lengths.size), lengths)
        at = np.arange(labels.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        part = self._parts_of(self.candidates.rows[examples][owner] + at, labels)
        part -= self.candidates.start[examples][owner]
        inner = at > 0
        step = np.r_[0, labels[:-1]][inner] * k + labels[inner]
        codes = self.listed.codes
        place = np.minimum(np.searchsorted(codes, step), max(codes.size - 1, 0))
        known = codes[place] == step if codes.size else np.zeros(step.size, dtype=bool)
        if not self.listed.free and not known.all():
            raise ValueError("An output makes a forbidden step, so it is not an output of the structure.")
        stepped = owner[inner][known]
        owners = np.concatenate([owner, stepped])
        return SparseVertices.gather(
            owners, np.concatenate([part, shapes[stepped, 0] + place[known]]), lengths.size
        )

    def _parts_of(self, positions: Array, labels: Array) -> Array:
        """Return the parts of labels, counted over all sequences; ValueError for one that is no candidate."""
        wanted = positions * self.n_labels + labels
        found = np.minimum(np.searchsorted(self._codes, wanted), self._codes.size - 1)
        if (self._codes[found] != wanted).any():
            raise ValueError("A label is not among the candidates of its position.")
        return found

    @cached_property
    def _codes(self) -> Array:
        """Positions and labels of all parts, as increasing numbers."""
        return self.candidates.owner * self.n_labels + self.candidates.label.astype(np.int64)

    def decode(self, vertex: Array) -> Array:
        _, example = self.shape(vertex)
        rows, first, label = self.candidates.rows, self.candidates.first, self.candidates.label
        edges = first[rows[example] : rows[example + 1] + 1]
        best = [a + int(np.argmax(vertex[a - edges[0] : b - edges[0]])) for a, b in pairwise(edges.tolist())]
        return label[best].astype(np.int64)

    def cost(
        self, mu: Array, *, weights: Weights = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Return the costs of `Chain`, of candidates alone."""
        shape = self.shape(mu)
        index = np.flatnonzero(mu)
        gold = SparseVertices(np.array([0, index.size]), index, mu[index])
        own = None if nodes is None else [nodes]
        found = self.cost_many(gold, np.array([shape]), weights=weights, nodes=own, normalized=normalized)
        return np.concatenate([found, np.zeros(self.n_shared)])

    def cost_many(self, gold: SparseVertices, shapes: Array, **options: Any) -> Array:
        rows, first, label = self.candidates.rows, self.candidates.first, self.candidates.label
        table, found = cost_table(options.get("weights"), self.n_labels), []
        nodes = one_each(options.get("nodes"), len(shapes), "nodes")
        for i, (size, example) in enumerate(shapes.tolist()):
            a, b = rows[example], rows[example + 1]
            index = gold.index[gold.start[i] : gold.start[i + 1]]
            right = label[first[a] + index[index < size]]
            own = label[first[a] : first[b]]
            scale = 1.0 / (b - a) if options.get("normalized", True) else 1.0
            position = np.repeat(np.arange(b - a), np.diff(first[a : b + 1]))
            weight = scale if nodes[i] is None else scale * node_weights(nodes[i], b - a)[position]
            found.append(table[right[position], own] * weight)
        return np.concatenate(found)


@implements(workspace, CandidateRecord)
@jitable
def candidate_workspace(record: CandidateRecord, shape: Shape) -> CandidatePathScratch:
    return CandidatePathScratch(
        np.empty(record.largest),
        np.empty(record.most),
        np.empty(record.most, dtype=np.int64),
        step_scratch(record),
    )


@implements(maximize, CandidateRecord)
@kernel
def candidate_viterbi(
    record: CandidateRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: CandidatePathScratch,
    vertex: Array,
) -> float:
    return candidate_path(record, shape[1], theta, shared, work, vertex)


@implements(max_value, CandidateRecord)
@kernel
def candidate_max_value(
    record: CandidateRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: CandidatePathScratch,
    vertex: Array,
) -> float:
    return candidate_value(record, shape[1], theta, shared, work)


implements(marginals_workspace, CandidateRecord)(candidate_marginals_workspace)
implements(marginals, CandidateRecord)(candidate_marginals)
implements(entropy, CandidateRecord)(candidate_entropy)
implements(log_partition, CandidateRecord)(candidate_log_partition)


@implements(shared_parts, CandidateRecord)
@jitable
def _candidate_shared_parts(record: CandidateRecord) -> int:
    return record.steps.after.size
