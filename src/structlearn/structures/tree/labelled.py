"""Trees whose arcs have labels: every label that an arc could have is a part of its own.

Given the arc, labels are free. So the best label of each arc comes first, and then the best tree; with
log-sum-exp for max the same gives log Z, and the marginal of a label is its share of the arc's.
"""

from __future__ import annotations

from math import exp, log
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import (
    Array,
    Record,
    Shape,
    entropy,
    log_partition,
    marginals,
    marginals_workspace,
    max_value,
    maximize,
    workspace,
)
from structlearn.core.forms import count
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.core.vectors import argmax_of, log_sum, max_of
from structlearn.structures.base import Structure, Weights, label_count
from structlearn.structures.registry import stored
from structlearn.structures.tree.kbest import k_best_trees
from structlearn.structures.tree.trees import Tree


class LabelledTreeRecord(NamedTuple):
    """Compiled form of `LabelledTree`."""

    inner: Record
    n_labels: int


@stored("trees with a label on each arc", {"inner": Structure, "n_labels": count})
class LabelledTree(Structure):
    """The trees of `inner`, with one of `n_labels` labels on each arc.

    The parts are an (n + 1, n, n_labels) table: entry [h, m - 1, k] is the arc from h to m with label k. An
    output is an (n, 2) array, the head and the label of each word.

    Parameters
    ----------
    inner : ProjectiveTree or NonProjectiveTree
    n_labels : int
    """

    part_ndim = 3
    beyond_length = (1, 0)

    def __init__(self, inner: Tree, n_labels: int) -> None:
        self.inner = inner
        self.n_labels = label_count(n_labels, "An arc")

    @property
    def record(self) -> LabelledTreeRecord:
        return LabelledTreeRecord(self.inner.record, int(self.n_labels))

    def shape(self, theta: Array) -> Shape:
        found = np.shape(theta)
        if len(found) != 3 or found[2] != self.n_labels:
            raise ValueError(f"Labelled arcs are an (n + 1, n, {self.n_labels}) table; got shape {found}.")
        rows, n = self.inner.shape(theta[:, :, 0])
        return rows, n * self.n_labels

    @property
    def local_axes(self) -> tuple[int | str, ...]:
        return (*self.inner.local_axes, self.n_labels)

    @property
    def output_axes(self) -> tuple[int | str, ...]:
        return self.inner.output_axes

    def fits(self, shape: Shape | Array) -> bool | Array:
        n = shape[1] // self.n_labels
        return (shape[1] == n * self.n_labels) & self.inner.fits((shape[0], n))

    def most_entries(self, shape: Shape) -> int:
        return shape[0] - 1

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return the table of the heads y[:, 0] and labels y[:, 1]."""
        given = np.asarray(y)
        if given.ndim != 2 or given.shape[1] != 2 or not np.issubdtype(given.dtype, np.integer):
            raise ValueError("A labelled tree must be an (n, 2) array of integers, heads and labels.")
        heads, labels = given.T
        if ((labels < 0) | (labels >= self.n_labels)).any():
            raise ValueError(f"Labels of arcs must be in 0 .. {self.n_labels - 1}.")
        arcs = self.inner.encode(heads, None if shape is None else _words(self, shape))
        mu = np.zeros((*arcs.shape, self.n_labels))
        mu[heads, np.arange(len(heads)), labels] = 1.0
        return mu

    def decode(self, vertex: Array) -> Array:
        return self._outputs(np.argmax(self.by_choice(vertex), axis=0))

    def cost(
        self, mu: Array, *, weights: object = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Return 1 on each wrong arc or label, over the number of words where normalised."""
        table = self._table(np.asarray(mu, dtype=np.float64))
        by_word = self.inner.cost(table.sum(axis=2), weights=weights, nodes=nodes, normalized=normalized)
        most = by_word.max(axis=0)  # what missing the arc costs each word
        return (1.0 - table) * most[None, :, None]

    def by_choice(self, parts: Array) -> Array:
        """Return parts as a table (choices of a word, words): a choice is head * n_labels + label."""
        table = self._table(parts)
        return table.transpose(0, 2, 1).reshape(-1, table.shape[1])

    def from_choices(self, table: Array) -> Array:
        """Invert `by_choice`."""
        n = table.shape[1]
        return np.ascontiguousarray(table.reshape(n + 1, self.n_labels, n).transpose(0, 2, 1))

    def _table(self, parts: Array) -> Array:
        n = int((parts.size / self.n_labels + 0.25) ** 0.5)
        return parts.reshape(n + 1, n, self.n_labels)

    def k_best(self, theta: Array, k: int) -> tuple[Array, Array]:
        """Return the k best labelled trees, (k', n, 2), and their scores, best first."""
        choices, scores = k_best_trees(self, theta, k)
        return self._outputs(choices), scores

    def _outputs(self, choices: Array) -> Array:
        return np.stack(np.divmod(choices, self.n_labels), axis=-1)

    def sample(self, theta: Array, n: int, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw `n` independent labelled trees of p(y) ~ exp <theta, z(y)>, an (n, words, 2) array."""
        theta, _ = self.read_scores(theta)
        rng = np.random.default_rng(random_state)
        heads = self.inner.sample(np.logaddexp.reduce(theta, axis=2), n, rng)
        scores = theta[heads, np.arange(heads.shape[1])]
        noise = rng.gumbel(size=scores.shape)  # the argmax of noisy scores is a sample
        return np.stack([heads, np.argmax(scores + noise, axis=-1)], axis=-1)


class LabelledWork(NamedTuple):
    """Scratch memory: the inner structure's, and its scores and answer."""

    inner: object
    arcs: Array
    answer: Array


@jitable
def _words(structure: LabelledTree | LabelledTreeRecord, shape: Shape) -> tuple[int, int]:
    """Return the shape of the inner structure."""
    return (shape[0], shape[1] // structure.n_labels)


@implements(workspace, LabelledTreeRecord)
@jitable
def labelled_workspace(structure: LabelledTreeRecord, shape: Shape) -> LabelledWork:
    arcs = np.empty((2, shape[0] * shape[1] // structure.n_labels))
    return LabelledWork(workspace(structure.inner, _words(structure, shape)), arcs[0], arcs[1])


@implements(marginals_workspace, LabelledTreeRecord)
@jitable
def labelled_marginals_workspace(structure: LabelledTreeRecord, shape: Shape) -> LabelledWork:
    arcs = np.empty((2, shape[0] * shape[1] // structure.n_labels))
    return LabelledWork(marginals_workspace(structure.inner, _words(structure, shape)), arcs[0], arcs[1])


@kernel
def _arcs(
    structure: LabelledTreeRecord, shape: Shape, work: LabelledWork
) -> tuple[tuple[int, int], Array, Array]:
    """Return the inner shape, and the inner scores and answer of its arcs."""
    rows, n = _words(structure, shape)
    return (rows, n), work.arcs[: rows * n], work.answer[: rows * n]


@implements(max_value, LabelledTreeRecord)
@implements(maximize, LabelledTreeRecord)
@kernel
def labelled_maximize(
    structure: LabelledTreeRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: LabelledWork,
    vertex: Array,
) -> float:
    k = structure.n_labels
    inner, arcs, tree = _arcs(structure, shape, work)
    for a in range(arcs.size):
        arcs[a] = max_of(theta[a * k : (a + 1) * k])
    value = maximize(structure.inner, inner, arcs, shared, work.inner, tree)
    for a in range(arcs.size):
        vertex[a * k : (a + 1) * k] = 0.0
        if tree[a] != 0.0:
            vertex[a * k + argmax_of(theta[a * k : (a + 1) * k])] = 1.0
    return value


@kernel
def _sum_labels(theta: Array, k: int, arcs: Array) -> None:
    """arcs[a] <- log sum_k exp theta[a, k]."""
    for a in range(arcs.size):
        arcs[a] = log_sum(theta[a * k : (a + 1) * k])


@implements(log_partition, LabelledTreeRecord)
@kernel
def labelled_log_partition(
    structure: LabelledTreeRecord, shape: Shape, theta: Array, shared: Array, work: LabelledWork, mean: Array
) -> float:
    inner, arcs, shares = _arcs(structure, shape, work)
    _sum_labels(theta, structure.n_labels, arcs)
    return log_partition(structure.inner, inner, arcs, shared, work.inner, shares)


@implements(marginals, LabelledTreeRecord)
@kernel
def labelled_marginals(
    structure: LabelledTreeRecord, shape: Shape, theta: Array, shared: Array, work: LabelledWork, mean: Array
) -> float:
    k = structure.n_labels
    inner, arcs, shares = _arcs(structure, shape, work)
    _sum_labels(theta, k, arcs)
    total = marginals(structure.inner, inner, arcs, shared, work.inner, shares)
    for a in range(arcs.size):
        for j in range(a * k, (a + 1) * k):
            mean[j] = shares[a] * exp(theta[j] - arcs[a]) if shares[a] > 0.0 else 0.0
    return total


@implements(entropy, LabelledTreeRecord)
@kernel
def labelled_entropy(
    structure: LabelledTreeRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: LabelledWork,
    mean: Array,
    log_z: float,
) -> float:
    """H(tree) + sum over arcs of p(arc) H(label | arc)."""
    k = structure.n_labels
    inner, arcs, shares = _arcs(structure, shape, work)
    value = entropy(structure.inner, inner, arcs, shared, work.inner, shares, log_z)
    for j in range(arcs.size * k):
        if mean[j] > 0.0:
            value += mean[j] * max(arcs[j // k] - theta[j], 0.0)
    return min(value, inner[1] * log(inner[0] * k))
