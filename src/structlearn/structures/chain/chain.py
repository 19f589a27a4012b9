"""Chains: a label at each position, scored one by one and in neighbouring pairs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import (
    Array,
    Record,
    Shape,
    entropy,
    face_size,
    find_face,
    log_partition,
    marginals,
    marginals_workspace,
    max_value,
    maximize,
    project,
    project_derivative,
    project_workspace,
    shared_parts,
    workspace,
)
from structlearn.core.forms import count
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.core.vectors import assign
from structlearn.structures.base import SparseVertices, one_each
from structlearn.structures.chain.batches import MANY_LABELS, ChainBatches
from structlearn.structures.chain.forbidden import Pairs, forbidden_pairs
from structlearn.structures.chain.marginals import (
    chain_entropy,
    chain_log_partition,
    chain_marginals,
    chain_marginals_workspace,
    chain_scores,
)
from structlearn.structures.chain.projection import (
    SequenceProjectionScratch,
    mix_few_sequences,
    mix_many_sequences,
    sequence_projection_scratch,
)
from structlearn.structures.chain.sequence_faces import (
    find_sequence_face,
    move_sequences,
    sequence_face_size,
)
from structlearn.structures.chain.sequences import LabelSequences
from structlearn.structures.chain.viterbi import best_path, best_score
from structlearn.structures.registry import stored
from structlearn.structures.regularized import Entropic
from structlearn.structures.rows import node_weights, row_costs
from structlearn.structures.sparsemap import active_set_workspace


class ChainRecord(NamedTuple):
    """Compiled form of `Chain`."""

    n_labels: int
    start: bool
    end: bool
    mask: Array


class PathScratch(NamedTuple):
    """Scratch memory of Viterbi's algorithm: best prefixes (L, K); masked scores, if any are forbidden."""

    best: Array
    masked: Array


@stored("label sequences", {"n_labels": count, "start": bool, "end": bool, "forbidden?": forbidden_pairs})
class Chain(LabelSequences):
    """Label sequences of any length over `n_labels` labels.

    The parts of a sequence of length L: L * K unary parts (position by position), then the K * K transitions
    (from, to), *summed over positions* since they share one score, then K start and K end parts if asked for.
    The length follows from the number of parts.

    Parameters
    ----------
    n_labels : int
    start, end : bool
        Whether the first and the last label have scores of their own.
    forbidden : pairs of labels, optional
        Steps (before, after) that no sequence makes; None before or after is the start or the end.
    """

    def __init__(
        self, n_labels: int, *, start: bool = False, end: bool = False, forbidden: Pairs | None = None
    ) -> None:
        super().__init__(n_labels, forbidden)
        self.start = start
        self.end = end
        self.n_shared = self.n_labels * (self.n_labels + int(start) + int(end))

    @property
    def record(self) -> ChainRecord:
        return ChainRecord(self.n_labels, self.start, self.end, self.mask)

    def batches(self, record: Record) -> ChainBatches | None:
        many = self.n_labels >= MANY_LABELS and self.forbidden is None
        return ChainBatches(self) if many and isinstance(record, Entropic) else None

    def shape(self, theta: Array) -> Shape:
        length, rest = divmod(theta.size - self.n_shared, self.n_labels)
        if rest or length < 1:
            raise ValueError(
                f"A chain of {self.n_labels} labels has L * {self.n_labels} + {self.n_shared} parts, "
                f"L >= 1; got {theta.size}."
            )
        return length, self.n_labels

    @property
    def shared_shapes(self) -> tuple[tuple[int, ...], ...]:
        table = () if self.start or self.end else ((self.n_labels, self.n_labels),)
        return (*table, (self.n_shared,))

    def most_entries(self, shape: Shape) -> int:
        length, k = shape
        return length + min(length - 1, k * k) + int(self.start) + int(self.end)

    def parts(
        self,
        unary: ArrayLike,
        transitions: ArrayLike,
        start: ArrayLike | None = None,
        end: ArrayLike | None = None,
    ) -> Array:
        """Make the part vector (scores or marginals) of its tables: (L, K), (K, K) and (K,) each."""
        if (start is not None) != self.start or (end is not None) != self.end:
            raise ValueError("Give start and end scores exactly where the chain was made with them.")
        given = {"transitions": transitions, "start": start, "end": end}
        tables = {name: np.asarray(one, dtype=np.float64) for name, one in given.items() if one is not None}
        return np.concatenate([np.asarray(unary, dtype=np.float64).ravel(), self.shared_from(tables)])

    def tables(self, parts: Array) -> dict[str, Array]:
        """Return the named tables of a part vector: the inverse of `parts`."""
        length, k = self.shape(parts)
        local, shared = self.split(parts, (length, k))
        return {"unary": local.reshape(length, k), **self.shared_tables(shared)}

    def shared_tables(self, shared: Array) -> dict[str, Array]:
        """Return transitions (from, to), start and end, as views of the shared parts."""
        k = self.n_labels
        tables = {"transitions": shared[: k * k].reshape(k, k)}
        if self.start:
            tables["start"] = shared[k * k : k * k + k]
        if self.end:
            tables["end"] = shared[shared.size - k :]
        return tables

    def shared_from(self, tables: dict[str, Array]) -> Array:
        """Return the shared parts of such tables: the inverse of `shared_tables`."""
        return np.concatenate([table.ravel() for table in tables.values()])

    def label_and_step_scores(self, theta: Array, shape: Shape) -> tuple[Array, Array]:
        tables = self.tables(theta)
        unary = tables["unary"].copy()
        unary[0] += tables.get("start", 0.0)
        unary[-1] += tables.get("end", 0.0)
        return self._mask_forbidden(unary, np.repeat(tables["transitions"][None], shape[0], axis=0))

    def cost_many(self, gold: SparseVertices, shapes: Array, **options: Any) -> Array:
        lengths = shapes[:, 0]
        n_local = np.repeat(lengths * self.n_labels, np.diff(gold.start))
        labels = gold.index[gold.index < n_local] % self.n_labels
        scale = np.repeat(1.0 / lengths, lengths) if options.get("normalized", True) else None
        nodes = options.get("nodes")
        if nodes is not None:
            pairs = zip(one_each(nodes, len(shapes), "nodes"), lengths)
            own = np.concatenate([node_weights(one, length) for one, length in pairs])
            scale = own if scale is None else own * scale
        return row_costs(labels, self.n_labels, options.get("weights"), scale).ravel()


@implements(workspace, ChainRecord)
@jitable
def chain_workspace(structure: ChainRecord, shape: Shape) -> PathScratch:
    return PathScratch(np.empty((shape[0], structure.n_labels)), np.empty(structure.mask.size))


@implements(maximize, ChainRecord)
@kernel
def viterbi(
    structure: ChainRecord, shape: Shape, theta: Array, shared: Array, work: PathScratch, vertex: Array
) -> float:
    scores = chain_scores(structure, shape[0], theta, shared, work.masked)
    value, first, last = best_path(scores, work.best, vertex)
    n = structure.n_labels
    if structure.start:
        vertex[(shape[0] + n) * n + first] = 1.0
    if structure.end:
        vertex[vertex.size - n + last] = 1.0
    return value


@implements(max_value, ChainRecord)
@kernel
def chain_max_value(
    structure: ChainRecord, shape: Shape, theta: Array, shared: Array, work: PathScratch, vertex: Array
) -> float:
    return best_score(chain_scores(structure, shape[0], theta, shared, work.masked), work.best)


implements(marginals_workspace, ChainRecord)(chain_marginals_workspace)
implements(marginals, ChainRecord)(chain_marginals)
implements(entropy, ChainRecord)(chain_entropy)
implements(log_partition, ChainRecord)(chain_log_partition)


@implements(shared_parts, ChainRecord)
@jitable
def _chain_shared_parts(structure: ChainRecord) -> int:
    return structure.n_labels * (structure.n_labels + int(structure.start) + int(structure.end))


@implements(project_workspace, ChainRecord)
@jitable
def chain_project_workspace(structure: ChainRecord, shape: Shape) -> SequenceProjectionScratch[object]:
    return sequence_projection_scratch(active_set_workspace(structure, shape), shape[0], structure.n_labels)


@implements(project, ChainRecord)
@kernel
def chain_project(
    structure: ChainRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: SequenceProjectionScratch[PathScratch],
    point: Array,
) -> float:
    value, missing = mix_few_sequences(structure, shape, theta, shared, work, point)
    if missing > 0.0:
        scores = chain_scores(structure, shape[0], theta, shared, work.active.oracle.masked)
        value = mix_many_sequences(structure, shape, theta, shared, scores, work, missing, point)
        _copy_ends(structure, theta.size, point)
    return value


implements(face_size, ChainRecord)(sequence_face_size)


@implements(find_face, ChainRecord)
@kernel
def chain_face(
    structure: ChainRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: SequenceProjectionScratch[PathScratch],
    face: Array,
) -> None:
    scores = chain_scores(structure, shape[0], theta, shared, work.active.oracle.masked)
    find_sequence_face(scores, work, face)


@implements(project_derivative, ChainRecord)
@kernel
def chain_project_derivative(
    structure: ChainRecord,
    shape: Shape,
    v: Array,
    shared: Array,
    work: SequenceProjectionScratch[PathScratch],
    face: Array,
    moved: Array,
) -> None:
    scores = chain_scores(structure, shape[0], v, shared, work.active.oracle.masked)
    move_sequences(scores, work, face, moved)
    _copy_ends(structure, v.size, moved)


@kernel
def _copy_ends(structure: ChainRecord, n_local: int, parts: Array) -> None:
    """Copy the parts of the first and of the last label to those of start and end."""
    n = structure.n_labels
    if structure.start:
        assign(parts[n_local + n * n :], parts[:n])
    if structure.end:
        assign(parts[parts.size - n :], parts[n_local - n : n_local])
