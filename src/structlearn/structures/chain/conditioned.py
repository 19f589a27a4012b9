"""Chains whose transitions have scores of their own at each position."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import (
    Array,
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
    workspace,
)
from structlearn.core.forms import count
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.structures.chain.forbidden import forbidden_pairs
from structlearn.structures.chain.logarithms import log_backward, log_forward
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
from structlearn.structures.chain.viterbi import SequenceScores, best_path, best_score
from structlearn.structures.registry import stored
from structlearn.structures.regularized import clip_entropy
from structlearn.structures.sparsemap import sparsemap_scratch


class ConditionedRecord(NamedTuple):
    """Compiled form of `ConditionedChain`."""

    n_labels: int
    mask: Array


class ConditionedPathScratch(NamedTuple):
    """Scratch memory of Viterbi's algorithm: best prefixes (L, K); masked steps, if any are forbidden."""

    best: Array
    masked: Array


@stored(
    "label sequences whose transitions are scored where they happen",
    {"n_labels": count, "forbidden?": forbidden_pairs},
)
class ConditionedChain(LabelSequences):
    """Label sequences of any length over `n_labels` labels, each transition scored where it happens.

    The parts of a sequence of length L: L * K unary parts, position by position, then L tables of K * K
    transitions (from, to); table t is that of the step from t - 1 to t, and table 0 is never used. As in
    `Chain`, the squared norm of `project` covers the unary parts only.

    Parameters
    ----------
    n_labels : int
    forbidden : pairs of labels, optional
        Steps (before, after) that no sequence makes; None before or after is the start or the end.
    """

    conditioned = True

    @property
    def has_linear_parts(self) -> bool:
        return True

    @property
    def record(self) -> ConditionedRecord:
        return ConditionedRecord(self.n_labels, self.mask)

    def shape(self, theta: Array) -> Shape:
        length, rest = divmod(theta.size, self.n_columns)
        if rest or length < 1:
            raise ValueError(
                f"A conditioned chain of {self.n_labels} labels has L * {self.n_columns} parts, L >= 1; got "
                f"{theta.size}."
            )
        return length, self.n_columns

    @property
    def column_blocks(self) -> tuple[int, ...]:
        return (self.n_labels, self.n_labels**2)

    def n_curved(self, shape: Shape | Array) -> Any:
        return shape[0] * self.n_labels

    def most_entries(self, shape: Shape) -> int:
        return 2 * shape[0] - 1

    def tables(self, parts: Array) -> tuple[Array, Array]:
        """Return unary parts (L, K) and transitions (L, K, K) of a part vector, as views."""
        length, k = parts.size // self.n_columns, self.n_labels
        return parts[: length * k].reshape(length, k), parts[length * k :].reshape(length, k, k)

    def label_and_step_scores(self, theta: Array, shape: Shape) -> tuple[Array, Array]:
        return self._mask_forbidden(*self.tables(theta))


@implements(workspace, ConditionedRecord)
@jitable
def conditioned_workspace(structure: ConditionedRecord, shape: Shape) -> ConditionedPathScratch:
    masked = _masked_steps(structure, shape)
    return ConditionedPathScratch(np.empty((shape[0], structure.n_labels)), masked)


@jitable
def _masked_steps(structure: ConditionedRecord, shape: Shape) -> Array:
    """Allocate room for the scores of all steps, where some are forbidden."""
    return np.empty(shape[0] * structure.n_labels**2 if structure.mask.size > 0 else 0)


@kernel
def _scores(
    structure: ConditionedRecord, length: int, theta: Array, shared: Array, room: Array
) -> SequenceScores:
    """Return the scores as tables. Those of steps are the rest of `theta` or, in a projection, shared."""
    n, mask = structure.n_labels, structure.mask
    n_unary = length * n
    steps = theta[n_unary:] if theta.size > n_unary else shared
    none = theta[:0]
    if mask.size > 0:
        for t in range(1, length):
            for i in range(n * n):
                room[t * n * n + i] = steps[t * n * n + i] + mask[i]
        masked = room[: length * n * n].reshape(length, n, n)
        return SequenceScores(
            theta[:n_unary].reshape(length, n), masked, mask[n * n : n * n + n], mask[n * n + n :]
        )
    return SequenceScores(theta[:n_unary].reshape(length, n), steps.reshape(length, n, n), none, none)


@implements(maximize, ConditionedRecord)
@kernel
def conditioned_viterbi(
    structure: ConditionedRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: ConditionedPathScratch,
    vertex: Array,
) -> float:
    return best_path(_scores(structure, shape[0], theta, shared, work.masked), work.best, vertex)[0]


@implements(max_value, ConditionedRecord)
@kernel
def conditioned_max_value(
    structure: ConditionedRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: ConditionedPathScratch,
    vertex: Array,
) -> float:
    return best_score(_scores(structure, shape[0], theta, shared, work.masked), work.best)


@implements(project_workspace, ConditionedRecord)
@jitable
def conditioned_project_workspace(
    structure: ConditionedRecord, shape: Shape
) -> SequenceProjectionScratch[object]:
    n = structure.n_labels
    active = sparsemap_scratch(shape[0] * n, shape[0] * shape[1], workspace(structure, shape))
    return sequence_projection_scratch(active, shape[0], n)


@implements(project, ConditionedRecord)
@kernel
def conditioned_project(
    structure: ConditionedRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: SequenceProjectionScratch[ConditionedPathScratch],
    point: Array,
) -> float:
    """Project with a norm that leaves the steps out, as it does shared parts."""
    n_unary = shape[0] * structure.n_labels
    unary, steps = theta[:n_unary], theta[n_unary:]
    value, missing = mix_few_sequences(structure, shape, unary, steps, work, point)
    if missing > 0.0:
        scores = _scores(structure, shape[0], unary, steps, work.active.oracle.masked)
        value = mix_many_sequences(structure, shape, unary, steps, scores, work, missing, point)
    return value


implements(face_size, ConditionedRecord)(sequence_face_size)


@implements(find_face, ConditionedRecord)
@kernel
def conditioned_face(
    structure: ConditionedRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: SequenceProjectionScratch[ConditionedPathScratch],
    face: Array,
) -> None:
    n_unary = shape[0] * structure.n_labels
    unary, steps = theta[:n_unary], theta[n_unary:]
    find_sequence_face(_scores(structure, shape[0], unary, steps, work.active.oracle.masked), work, face)


@implements(project_derivative, ConditionedRecord)
@kernel
def conditioned_project_derivative(
    structure: ConditionedRecord,
    shape: Shape,
    v: Array,
    shared: Array,
    work: SequenceProjectionScratch[ConditionedPathScratch],
    face: Array,
    moved: Array,
) -> None:
    n_unary = shape[0] * structure.n_labels
    unary, steps = v[:n_unary], v[n_unary:]
    scores = _scores(structure, shape[0], unary, steps, work.active.oracle.masked)
    move_sequences(scores, work, face, moved)


# ---- marginals -------------------------------------------------------------------------------------


class ConditionedScratch(NamedTuple):
    """Scratch memory of forward-backward, in logarithms: what `log_forward` leaves, and one position.

    found : (1,) the entropy, which the way back adds up. masked : steps, if any are forbidden.
    """

    ahead: Array
    largest: Array
    total: Array
    row: Array
    found: Array
    masked: Array


@implements(marginals_workspace, ConditionedRecord)
@jitable
def conditioned_marginals_workspace(structure: ConditionedRecord, shape: Shape) -> ConditionedScratch:
    size = (shape[0], structure.n_labels)
    row, masked = np.empty(structure.n_labels), _masked_steps(structure, shape)
    return ConditionedScratch(np.empty(size), np.empty(size), np.empty(size), row, np.zeros(1), masked)


@implements(log_partition, ConditionedRecord)
@kernel
def conditioned_log_partition(
    structure: ConditionedRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: ConditionedScratch,
    mean: Array,
) -> float:
    scores = _scores(structure, shape[0], theta, shared, work.masked)
    return log_forward(scores, work.ahead, work.largest, work.total)


@implements(marginals, ConditionedRecord)
@kernel
def conditioned_marginals(
    structure: ConditionedRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: ConditionedScratch,
    mean: Array,
) -> float:
    scores = _scores(structure, shape[0], theta, shared, work.masked)
    value = log_forward(scores, work.ahead, work.largest, work.total)
    if value == -np.inf:
        mean[:] = 0.0
        return value
    length, n = scores.unary.shape
    local = mean[: length * n].reshape(length, n)
    pairs = mean[length * n :].reshape(length, n, n)
    work.found[0] = log_backward(scores.steps, work.ahead, work.largest, work.total, work.row, local, pairs)
    return value


@implements(entropy, ConditionedRecord)
@kernel
def conditioned_entropy(
    structure: ConditionedRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: ConditionedScratch,
    mean: Array,
    log_z: float,
) -> float:
    return clip_entropy(work.found[0], shape[0] * np.log(structure.n_labels))
