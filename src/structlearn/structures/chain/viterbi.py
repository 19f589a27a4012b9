"""Chains: a label at each position, scored one by one and in neighbouring pairs."""

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
    shared_parts,
    workspace,
)
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.core.vectors import argmax_of, max_of
from structlearn.structures.base import SparseVertices, Structure, label_count, nothing_allowed, one_each
from structlearn.structures.chain.kbest import k_best
from structlearn.structures.chain.logarithms import log_forward
from structlearn.structures.chain.marginals import (
    chain_entropy,
    chain_log_partition,
    chain_marginals,
    chain_marginals_workspace,
)
from structlearn.structures.chain.sampling import sample_backward
from structlearn.structures.registry import count, stored
from structlearn.structures.rows import encode_rows, label_indices, node_weights, row_costs
from structlearn.structures.sparsemap import register


class ChainRecord(NamedTuple):
    """Compiled form of `Chain`."""

    n_labels: int
    start: bool
    end: bool


@stored("label sequences", {"n_labels": count, "start": bool, "end": bool})
class Chain(Structure):
    """Label sequences of any length over `n_labels` labels.

    The parts of a sequence of length L: L * K unary parts (position by position), then the K * K transitions
    (from, to), *summed over positions* since they share one score, then K start and K end parts if asked for.
    The length follows from the number of parts.

    Parameters
    ----------
    n_labels : int
    start, end : bool
        Whether the first and the last label have scores of their own.
    """

    def __init__(self, n_labels: int, *, start: bool = False, end: bool = False) -> None:
        self.n_labels = label_count(n_labels, "A chain")
        self.start = start
        self.end = end
        self.n_shared = self.n_labels * (self.n_labels + int(start) + int(end))

    @property
    def n_columns(self) -> int:
        """Local parts of one position."""
        return self.n_labels

    @property
    def record(self) -> ChainRecord:
        return ChainRecord(self.n_labels, self.start, self.end)

    def shape(self, theta: Array) -> Shape:
        length, rest = divmod(theta.size - self.n_shared, self.n_labels)
        if rest or length < 1:
            raise ValueError(
                f"A chain of {self.n_labels} labels has L * {self.n_labels} + {self.n_shared} parts, "
                f"L >= 1; got {theta.size}."
            )
        return length, self.n_labels

    def fits(self, shape: Any) -> Any:
        return (shape[0] >= 1) & (shape[1] == self.n_labels)

    def most_entries(self, shape: Shape) -> int:
        length, k = shape
        return length + min(length - 1, k * k) + int(self.start) + int(self.end)

    def parts(self, unary: Any, transitions: Any, start: Any = None, end: Any = None) -> Array:
        """The part vector (scores or marginals) made of its tables: (L, K), (K, K) and (K,) each."""
        if (start is not None) != self.start or (end is not None) != self.end:
            raise ValueError("Give start and end scores exactly where the chain was made with them.")
        tables = [
            np.asarray(t, dtype=np.float64).ravel() for t in (unary, transitions, start, end) if t is not None
        ]
        return np.concatenate(tables)

    def tables(self, parts: Array) -> dict[str, Array]:
        """The named tables of a part vector: the inverse of `parts`."""
        length, k = self.shape(parts)
        local, shared = self.split(parts, (length, k))
        return {"unary": local.reshape(length, k), **self.shared_tables(shared)}

    def shared_tables(self, shared: Array) -> dict[str, Array]:
        """Transitions (from, to), start and end, as views of the shared parts."""
        k = self.n_labels
        tables = {"transitions": shared[: k * k].reshape(k, k)}
        if self.start:
            tables["start"] = shared[k * k : k * k + k]
        if self.end:
            tables["end"] = shared[shared.size - k :]
        return tables

    def k_best(self, theta: Array, k: int) -> tuple[Array, Array]:
        """The k best label sequences, (k', L), and their scores, (k',), best first.

        k' < k where fewer are allowed. `theta` is one part vector of scores, as in `maximize`.
        """
        theta, shape = self._checked(theta)
        local, shared = self.split(theta, shape)
        tables = self.shared_tables(shared)
        unary = local.reshape(shape).copy()
        unary[0] += tables.get("start", 0.0)
        unary[-1] += tables.get("end", 0.0)
        return k_best(unary, self._steps(tables, shape), k)

    @staticmethod
    def _steps(tables: dict[str, Array], shape: Shape) -> Array:
        """The transitions once for each position."""
        return np.repeat(tables["transitions"][None], shape[0], axis=0)

    def sample(self, theta: Array, n: int, random_state: int | np.random.Generator | None = None) -> Array:
        """`n` independent label sequences of p(y) ~ exp <theta, z(y)>, an (n, L) array of integers.

        `theta` is one part vector of scores, as in `marginals`; `random_state` a seed or a Generator.
        """
        theta, shape = self._checked(theta)
        local, shared = self.split(theta, shape)
        work = marginals_workspace(self.record, shape)
        if log_forward(self.record, shape[0], local, shared, work) == -np.inf:
            raise nothing_allowed("The score vector")
        steps = self._steps(self.shared_tables(shared), shape)
        return sample_backward(steps, work.ahead, n, np.random.default_rng(random_state))

    def encode(self, y: Any, shape: Shape | None = None) -> Array:
        """Unary ones and transition counts of the label sequence `y` (integers)."""
        labels = label_indices(y, self.n_labels)
        unary = encode_rows(labels, self.n_labels)
        shared = np.zeros(self.n_shared)
        tables = self.shared_tables(shared)
        np.add.at(tables["transitions"], (labels[:-1], labels[1:]), 1.0)
        if self.start:
            tables["start"][labels[0]] = 1.0
        if self.end:
            tables["end"][labels[-1]] = 1.0
        return np.concatenate([unary.ravel(), shared])

    def decode(self, vertex: Array) -> Array:
        return np.argmax(self.tables(vertex)["unary"], axis=1)

    def cost(self, mu: Array, *, weights: Any = None, nodes: Any = None, normalized: bool = True) -> Array:
        """1 on each wrong label, over the length where normalised; zero on transitions.

        `weights` of shape (K,) by gold label or (K, K) as [gold, predicted]; `nodes` of shape (L,).
        """
        gold = self.decode(mu)
        costs = row_costs(gold, self.n_labels, weights, nodes) / (gold.size if normalized else 1)
        return np.concatenate([costs.ravel(), np.zeros(self.n_shared)])

    def encode_many(self, ys: Any, shapes: Array) -> SparseVertices:
        k = self.n_labels
        lengths = shapes[:, 0]
        labels = label_indices(np.concatenate(ys), k)
        first = np.concatenate([[0], np.cumsum(lengths)])
        position = np.arange(labels.size) - np.repeat(first[:-1], lengths)
        shared = np.repeat(lengths * k, lengths)  # where an example's shared parts begin
        entries = [(np.repeat(np.arange(lengths.size), lengths), position * k + labels)]
        inner = position > 0
        transition = shared[inner] + np.r_[0, labels[:-1]][inner] * k + labels[inner]
        entries.append((entries[0][0][inner], transition))
        if self.start:
            entries.append((np.arange(lengths.size), lengths * k + k * k + labels[first[:-1]]))
        if self.end:
            entries.append((np.arange(lengths.size), lengths * k + self.n_shared - k + labels[first[1:] - 1]))
        owner, index = (np.concatenate(column) for column in zip(*entries))
        return SparseVertices.gather(owner, index, lengths.size)

    def cost_many(self, gold: SparseVertices, shapes: Array, **options: Any) -> Array:
        nodes = options.get("nodes")
        labels = self._labels(gold, shapes)
        scale = np.repeat(1.0 / shapes[:, 0], shapes[:, 0]) if options.get("normalized", True) else None
        if nodes is not None:
            pairs = zip(one_each(nodes, len(shapes), "nodes"), shapes[:, 0])
            nodes = np.concatenate([node_weights(one, length) for one, length in pairs])
            scale = nodes if scale is None else nodes * scale
        return row_costs(labels, self.n_labels, options.get("weights"), scale).ravel()

    def _labels(self, gold: SparseVertices, shapes: Array) -> Array:
        n_local = np.repeat(shapes[:, 0] * self.n_labels, np.diff(gold.start))
        return gold.index[gold.index < n_local] % self.n_labels


@implements(workspace, ChainRecord)
@jitable
def chain_workspace(structure: Any, shape: Any) -> Any:
    return np.empty((shape[0], structure.n_labels))


@kernel
def _forward(structure: Any, length: Any, theta: Any, shared: Any, best: Any) -> Any:
    """best[t, k] <- score of the best prefix that ends with label k at position t, end score included.

    The inner loops run over the next state, so that they vectorise, and take four previous states at once.
    """
    n = structure.n_labels
    unary = theta.reshape(length, n)
    step = shared[: n * n].reshape(n, n)
    for k in range(n):
        best[0, k] = unary[0, k]
    if structure.start:
        for k in range(n):
            best[0, k] += shared[n * n + k]
    for t in range(1, length):
        for k in range(n):
            best[t, k] = best[t - 1, 0] + step[0, k]
        by_four = 1 + (n - 1) // 4 * 4
        for j in range(1, by_four, 4):
            a, b, c, d = best[t - 1, j], best[t - 1, j + 1], best[t - 1, j + 2], best[t - 1, j + 3]
            for k in range(n):
                one = max(a + step[j, k], b + step[j + 1, k])
                two = max(c + step[j + 2, k], d + step[j + 3, k])
                best[t, k] = max(best[t, k], max(one, two))
        for j in range(by_four, n):
            a = best[t - 1, j]
            for k in range(n):
                best[t, k] = max(best[t, k], a + step[j, k])
        for k in range(n):
            best[t, k] += unary[t, k]
    if structure.end:
        for k in range(n):
            best[length - 1, k] += shared[shared.size - n + k]


@implements(maximize, ChainRecord)
@kernel
def viterbi(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, vertex: Any) -> Any:
    """Viterbi: the forward pass keeps no back-pointers; the way back finds each predecessor again."""
    n = structure.n_labels
    length = shape[0]
    _forward(structure, length, theta, shared, work)
    step = shared[: n * n].reshape(n, n)
    vertex[:] = 0.0
    unary = vertex[: length * n].reshape(length, n)
    transitions = vertex[length * n : length * n + n * n].reshape(n, n)
    k = argmax_of(work[length - 1])
    value = work[length - 1, k]
    if structure.end:
        vertex[vertex.size - n + k] = 1.0
    for t in range(length - 1, 0, -1):
        unary[t, k] = 1.0
        before = 0
        reached = work[t - 1, 0] + step[0, k]
        for j in range(1, n):
            through = work[t - 1, j] + step[j, k]
            before = j if through > reached else before
            reached = max(reached, through)
        transitions[before, k] += 1.0
        k = before
    unary[0, k] = 1.0
    if structure.start:
        vertex[length * n + n * n + k] = 1.0
    return value


@implements(max_value, ChainRecord)
@kernel
def chain_max_value(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, vertex: Any) -> Any:
    _forward(structure, shape[0], theta, shared, work)
    return max_of(work[shape[0] - 1])


implements(marginals_workspace, ChainRecord)(chain_marginals_workspace)
implements(marginals, ChainRecord)(chain_marginals)
implements(entropy, ChainRecord)(chain_entropy)
implements(log_partition, ChainRecord)(chain_log_partition)


@implements(shared_parts, ChainRecord)
@jitable
def _chain_shared_parts(structure: Any) -> Any:
    return structure.n_labels * (structure.n_labels + int(structure.start) + int(structure.end))


register(ChainRecord)
