"""Chains whose transitions have scores of their own at each position."""

from __future__ import annotations

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
    project,
    project_workspace,
    workspace,
)
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.core.vectors import argmax_of, max_of, sum_of, sum_of_exp
from structlearn.structures.base import SparseVertices, Structure, label_count, nothing_allowed, one_each
from structlearn.structures.chain.kbest import k_best
from structlearn.structures.chain.logarithms import LOWEST, normalize
from structlearn.structures.chain.marginals import exponential
from structlearn.structures.chain.sampling import sample_backward
from structlearn.structures.registry import count, stored
from structlearn.structures.regularized import clipped
from structlearn.structures.rows import encode_rows, label_indices, node_weights, row_costs
from structlearn.structures.sparsemap import MOST_ATOMS, ActiveSet, active_set_project, make_atoms


class ConditionedRecord(NamedTuple):
    """Compiled form of `ConditionedChain`."""

    n_labels: int


@stored("label sequences whose transitions are scored where they happen", {"n_labels": count})
class ConditionedChain(Structure):
    """Label sequences of any length over `n_labels` labels, each transition scored where it happens.

    The parts of a sequence of length L: L * K unary parts, position by position, then L tables of K * K
    transitions (from, to); table t is that of the step from t - 1 to t, and table 0 is never used. As in
    `Chain`, the squared norm of `project` covers the unary parts only.

    Parameters
    ----------
    n_labels : int
    """

    def __init__(self, n_labels: int) -> None:
        self.n_labels = label_count(n_labels, "A chain")

    @property
    def has_linear_parts(self) -> bool:
        return True

    @property
    def n_columns(self) -> int:
        """Parts of one position."""
        return self.n_labels * (self.n_labels + 1)

    @property
    def record(self) -> ConditionedRecord:
        return ConditionedRecord(self.n_labels)

    def shape(self, theta: Array) -> Shape:
        length, rest = divmod(theta.size, self.n_columns)
        if rest or length < 1:
            raise ValueError(
                f"A conditioned chain of {self.n_labels} labels has L * {self.n_columns} parts, L >= 1; got "
                f"{theta.size}."
            )
        return length, self.n_columns

    def fits(self, shape: Any) -> Any:
        return (shape[0] >= 1) & (shape[1] == self.n_columns)

    def n_curved(self, shape: Any) -> Any:
        return shape[0] * self.n_labels

    def most_entries(self, shape: Shape) -> int:
        return 2 * shape[0] - 1

    def tables(self, parts: Array) -> tuple[Array, Array]:
        """Unary parts (L, K) and transitions (L, K, K) of a part vector, as views."""
        length, k = parts.size // self.n_columns, self.n_labels
        return parts[: length * k].reshape(length, k), parts[length * k :].reshape(length, k, k)

    def encode(self, y: Any, shape: Shape | None = None) -> Array:
        """Ones for the labels and for the steps between them."""
        labels = label_indices(y, self.n_labels)
        mu = np.zeros(labels.size * self.n_columns)
        unary, steps = self.tables(mu)
        unary[:] = encode_rows(labels, self.n_labels)
        steps[np.arange(1, labels.size), labels[:-1], labels[1:]] = 1.0
        return mu

    def decode(self, vertex: Array) -> Array:
        return np.argmax(self.tables(vertex)[0], axis=1)

    def cost(self, mu: Array, *, weights: Any = None, nodes: Any = None, normalized: bool = True) -> Array:
        """1 on each wrong label, over the length where normalised; zero on transitions. As `Chain.cost`."""
        gold = self.decode(mu)
        costs = np.zeros(mu.size)
        scale = gold.size if normalized else 1
        self.tables(costs)[0][:] = row_costs(gold, self.n_labels, weights, nodes) / scale
        return costs

    def encode_many(self, ys: Any, shapes: Array) -> SparseVertices:
        k = self.n_labels
        lengths = shapes[:, 0]
        labels = np.concatenate([label_indices(y, k) for y in ys])
        owner = np.repeat(np.arange(lengths.size), lengths)
        position = np.arange(labels.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        inner = position > 0
        step = np.r_[0, labels[:-1]][inner] * k + labels[inner]
        pairs = lengths[owner][inner] * k + position[inner] * k * k + step
        index = np.concatenate([position * k + labels, pairs])
        return SparseVertices.gather(np.concatenate([owner, owner[inner]]), index, lengths.size)

    def cost_many(self, gold: SparseVertices, shapes: Array, **options: Any) -> Array:
        nodes = options.pop("nodes", None)
        if nodes is not None:
            pairs = zip(one_each(nodes, len(shapes), "nodes"), shapes[:, 0])
            nodes = [node_weights(one, length) for one, length in pairs]
        return super().cost_many(gold, shapes, nodes=nodes, **options)

    def k_best(self, theta: Array, k: int) -> tuple[Array, Array]:
        """The k best label sequences, (k', L), and their scores, (k',), best first."""
        theta, _ = self._checked(theta)
        return k_best(*self.tables(theta), k)

    def sample(self, theta: Array, n: int, random_state: int | np.random.Generator | None = None) -> Array:
        """`n` independent label sequences of p(y) ~ exp <theta, z(y)>, an (n, L) array of integers."""
        theta, shape = self._checked(theta)
        work = marginals_workspace(self.record, shape)
        if _log_forward(self.record, shape[0], theta, work) == -np.inf:
            raise nothing_allowed("The score vector")
        return sample_backward(self.tables(theta)[1], work.ahead, n, np.random.default_rng(random_state))


@implements(workspace, ConditionedRecord)
@jitable
def conditioned_workspace(structure: Any, shape: Any) -> Any:
    return np.empty((shape[0], structure.n_labels))


@kernel
def _forward(n: Any, length: Any, labels: Any, pairs: Any, best: Any) -> Any:
    """best[t, k] <- score of the best prefix that ends with label k at position t."""
    unary = labels.reshape(length, n)
    steps = pairs.reshape(length, n, n)
    for k in range(n):
        best[0, k] = unary[0, k]
    for t in range(1, length):
        step = steps[t]
        for k in range(n):
            best[t, k] = best[t - 1, 0] + step[0, k]
        for j in range(1, n):
            a = best[t - 1, j]
            for k in range(n):
                best[t, k] = max(best[t, k], a + step[j, k])
        for k in range(n):
            best[t, k] += unary[t, k]


@kernel
def _viterbi(n: Any, length: Any, labels: Any, pairs: Any, work: Any, vertex: Any) -> Any:
    """Viterbi; the way back finds each predecessor again."""
    _forward(n, length, labels, pairs, work)
    steps = pairs.reshape(length, n, n)
    vertex[:] = 0.0
    k = argmax_of(work[length - 1])
    value = work[length - 1, k]
    for t in range(length - 1, 0, -1):
        vertex[t * n + k] = 1.0
        before = 0
        reached = work[t - 1, 0] + steps[t, 0, k]
        for j in range(1, n):
            through = work[t - 1, j] + steps[t, j, k]
            before = j if through > reached else before
            reached = max(reached, through)
        vertex[length * n + (t * n + before) * n + k] = 1.0
        k = before
    vertex[k] = 1.0
    return value


@implements(maximize, ConditionedRecord)
@kernel
def conditioned_viterbi(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, vertex: Any) -> Any:
    cut = shape[0] * structure.n_labels
    return _viterbi(structure.n_labels, shape[0], theta[:cut], theta[cut:], work, vertex)


@implements(max_value, ConditionedRecord)
@kernel
def conditioned_max_value(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, vertex: Any) -> Any:
    cut = shape[0] * structure.n_labels
    _forward(structure.n_labels, shape[0], theta[:cut], theta[cut:], work)
    return max_of(work[shape[0] - 1])


# ---- projection ------------------------------------------------------------------------------------


class SharedPairs(NamedTuple):
    """The same chains with their pairs as shared parts: what a projection leaves out of the norm."""

    n_labels: int


@implements(maximize, SharedPairs)
@kernel
def shared_pairs_viterbi(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, vertex: Any) -> Any:
    return _viterbi(structure.n_labels, shape[0], theta, shared, work, vertex)


@implements(project_workspace, ConditionedRecord)
@jitable
def conditioned_project_workspace(structure: Any, shape: Any) -> Any:
    n_labels = shape[0] * structure.n_labels
    atoms = make_atoms(min(n_labels + 2, MOST_ATOMS), shape[0] * shape[1])
    return ActiveSet(atoms, np.empty(n_labels), np.empty(n_labels), workspace(structure, shape))


@implements(project, ConditionedRecord)
@kernel
def conditioned_project(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, point: Any) -> Any:
    cut = shape[0] * structure.n_labels
    inner = SharedPairs(structure.n_labels)
    return active_set_project(inner, shape, theta[:cut], theta[cut:], work, point)


# ---- marginals -------------------------------------------------------------------------------------


class ConditionedScratch(NamedTuple):
    """Scratch memory of forward-backward, in logarithms: what `_log_forward` leaves, and one position.

    found : (1,) the entropy, which the way back adds up.
    """

    ahead: Array
    largest: Array
    total: Array
    row: Array
    found: Array


@implements(marginals_workspace, ConditionedRecord)
@jitable
def conditioned_marginals_workspace(structure: Any, shape: Any) -> Any:
    size = (shape[0], structure.n_labels)
    row = np.empty(structure.n_labels)
    return ConditionedScratch(np.empty(size), np.empty(size), np.empty(size), row, np.zeros(1))


@kernel
def _log_forward(structure: Any, length: Any, theta: Any, work: Any) -> Any:
    """ahead_t[k] <- unary_t[k] + log sum_j exp(ahead_(t-1)[j] + step_t[j, k]), less its largest; log Z.

    Leaves in `largest` the largest exponent of each sum (0 where all are -inf), and in `total` the sum of the
    exponentials relative to it.
    """
    n = structure.n_labels
    ahead, largest, total = work.ahead, work.largest, work.total
    steps = theta[length * n :].reshape(length, n, n)
    log_z = 0.0
    for t in range(length):
        for k in range(n):
            ahead[t, k] = theta[t * n + k]
        if t > 0:
            for k in range(n):
                largest[t, k] = -np.inf
                total[t, k] = 0.0
            for j in range(n):
                for k in range(n):
                    largest[t, k] = max(largest[t, k], ahead[t - 1, j] + steps[t, j, k])
            for k in range(n):
                largest[t, k] = largest[t, k] if largest[t, k] > -np.inf else 0.0
            for j in range(n):
                for k in range(n):
                    total[t, k] += exponential(ahead[t - 1, j] + steps[t, j, k] - largest[t, k])
            for k in range(n):
                ahead[t, k] += largest[t, k] + np.log(total[t, k])
        best = max_of(ahead[t])
        if best == -np.inf:
            return best
        log_z += best
        for k in range(n):
            ahead[t, k] -= best
    return log_z + np.log(sum_of_exp(ahead[length - 1]))


@implements(marginals, ConditionedRecord)
@kernel
def conditioned_marginals(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, mean: Any) -> Any:
    """p(y_(t-1) = j, y_t = k) = p_t(k) p(j | k): backward smoothing, so large scores cost no accuracy.

    Leaves the entropy in `found`, by the chain rule (see `chain_logarithms`).
    """
    n, length = structure.n_labels, shape[0]
    value = _log_forward(structure, length, theta, work)
    mean[:] = 0.0
    if value == -np.inf:
        return value
    ahead, largest, total, row = work.ahead, work.largest, work.total, work.row
    steps = theta[length * n :].reshape(length, n, n)
    local = mean[: length * n].reshape(length, n)
    pairs = mean[length * n :].reshape(length, n, n)
    for k in range(n):
        local[length - 1, k] = np.exp(ahead[length - 1, k])
    found = np.log(sum_of(local[length - 1]))
    normalize(local[length - 1])
    for k in range(n):
        found -= max(ahead[length - 1, k], LOWEST) * local[length - 1, k]
    for t in range(length - 1, 0, -1):
        for k in range(n):
            row[k] = local[t, k] / total[t, k] if local[t, k] > 0.0 else 0.0
            found += local[t, k] * np.log(total[t, k]) if local[t, k] > 0.0 else 0.0
        for j in range(n):
            through = 0.0
            for k in range(n):
                below = ahead[t - 1, j] + steps[t, j, k] - largest[t, k]
                pair = row[k] * exponential(below)
                found -= max(below, LOWEST) * pair
                pairs[t, j, k] = min(pair, 1.0)
                through += pair
            local[t - 1, j] = through
        normalize(local[t - 1])
    work.found[0] = found
    return value


@implements(entropy, ConditionedRecord)
@kernel
def conditioned_entropy(
    structure: Any, shape: Any, theta: Any, shared: Any, work: Any, mean: Any, log_z: Any
) -> Any:
    return clipped(work.found[0], shape[0] * np.log(structure.n_labels))


@implements(log_partition, ConditionedRecord)
@kernel
def conditioned_log_partition(
    structure: Any, shape: Any, theta: Any, shared: Any, work: Any, mean: Any
) -> Any:
    return _log_forward(structure, shape[0], theta, work)
