"""Trees whose arcs have labels: every label that an arc could have is a part of its own.

Given the arc, labels are free. So the best label of each arc comes first, and then the best tree; with
log-sum-exp for max the same gives log Z, and the marginal of a label is its share of the arc's.
"""

from __future__ import annotations

from math import exp, log
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
    workspace,
)
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.core.vectors import argmax_of, max_of
from structlearn.structures.base import Structure, label_count
from structlearn.structures.registry import count, stored
from structlearn.structures.sparsemap import register
from structlearn.structures.tree.kbest import k_best
from structlearn.structures.tree.trees import Tree


class LabelledTreeRecord(NamedTuple):
    """Compiled form of `LabelledTree`."""

    inner: Any
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

    def fits(self, shape: Any) -> Any:
        n = shape[1] // self.n_labels
        return (shape[1] == n * self.n_labels) & self.inner.fits((shape[0], n))

    def most_entries(self, shape: Shape) -> int:
        return shape[0] - 1

    def encode(self, y: Any, shape: Shape | None = None) -> Array:
        """The table of the heads y[:, 0] and labels y[:, 1]."""
        y = np.asarray(y)
        if y.ndim != 2 or y.shape[1] != 2 or not np.issubdtype(y.dtype, np.integer):
            raise ValueError("A labelled tree is an (n, 2) array of integers, heads and labels.")
        if ((y[:, 1] < 0) | (y[:, 1] >= self.n_labels)).any():
            raise ValueError(f"Labels of arcs are in 0 .. {self.n_labels - 1}.")
        within = None if shape is None else (shape[0], shape[1] // self.n_labels)
        arcs = self.inner.encode(y[:, 0], within)
        mu = np.zeros((*arcs.shape, self.n_labels))
        mu[y[:, 0], np.arange(len(y)), y[:, 1]] = 1.0
        return mu

    def decode(self, vertex: Array) -> Array:
        return self._outputs(np.argmax(self.by_choice(vertex), axis=0))

    def cost(self, mu: Array, *, weights: Any = None, nodes: Any = None, normalized: bool = True) -> Array:
        """1 on each wrong arc or label, over the number of words where normalised."""
        table = self._table(np.asarray(mu, dtype=np.float64))
        by_word = self.inner.cost(table.sum(axis=2), weights=weights, nodes=nodes, normalized=normalized)
        most = by_word.max(axis=0)  # what missing the arc costs each word
        return (1.0 - table) * most[None, :, None]

    def by_choice(self, parts: Array) -> Array:
        """Parts as a table (choices of a word, words): a choice is head * n_labels + label."""
        table = self._table(parts)
        return table.transpose(0, 2, 1).reshape(-1, table.shape[1])

    def from_choices(self, table: Array) -> Array:
        """The inverse of `by_choice`."""
        n = table.shape[1]
        return np.ascontiguousarray(table.reshape(n + 1, self.n_labels, n).transpose(0, 2, 1))

    def _table(self, parts: Array) -> Array:
        n = int((parts.size / self.n_labels + 0.25) ** 0.5)
        return parts.reshape(n + 1, n, self.n_labels)

    def k_best(self, theta: Array, k: int) -> tuple[Array, Array]:
        """The k best labelled trees, (k', n, 2), and their scores, best first."""
        choices, scores = k_best(self, theta, k)
        return self._outputs(choices), scores

    def _outputs(self, choices: Array) -> Array:
        return np.stack(np.divmod(choices, self.n_labels), axis=-1)

    def sample(self, theta: Array, n: int, random_state: int | np.random.Generator | None = None) -> Array:
        """`n` independent labelled trees of p(y) ~ exp <theta, z(y)>, an (n, words, 2) array."""
        theta, _ = self._checked(theta)
        rng = np.random.default_rng(random_state)
        heads = self.inner.sample(np.logaddexp.reduce(theta, axis=2), n, rng)
        scores = theta[heads, np.arange(heads.shape[1])]
        noise = rng.gumbel(size=scores.shape)  # the argmax of noisy scores is a sample
        return np.stack([heads, np.argmax(scores + noise, axis=-1)], axis=-1)


class LabelledWork(NamedTuple):
    """Scratch memory: the inner structure's, and its scores and answer."""

    inner: Any
    arcs: Array
    answer: Array


@jitable
def _words(structure: Any, shape: Any) -> Any:
    return (shape[0], shape[1] // structure.n_labels)


@implements(workspace, LabelledTreeRecord)
@jitable
def labelled_workspace(structure: Any, shape: Any) -> Any:
    inner = _words(structure, shape)
    arcs = np.empty((2, inner[0] * inner[1]))
    return LabelledWork(workspace(structure.inner, inner), arcs[0], arcs[1])


@implements(max_value, LabelledTreeRecord)
@implements(maximize, LabelledTreeRecord)
@kernel
def labelled_maximize(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, vertex: Any) -> Any:
    inner, k = _words(structure, shape), structure.n_labels
    n_arcs = inner[0] * inner[1]
    arcs, tree = work.arcs[:n_arcs], work.answer[:n_arcs]
    for a in range(n_arcs):
        arcs[a] = max_of(theta[a * k : (a + 1) * k])
    value = maximize(structure.inner, inner, arcs, shared, work.inner, tree)
    for a in range(n_arcs):
        vertex[a * k : (a + 1) * k] = 0.0
        if tree[a] != 0.0:
            vertex[a * k + argmax_of(theta[a * k : (a + 1) * k])] = 1.0
    return value


@implements(marginals_workspace, LabelledTreeRecord)
@jitable
def labelled_marginals_workspace(structure: Any, shape: Any) -> Any:
    inner = _words(structure, shape)
    arcs = np.empty((2, inner[0] * inner[1]))
    return LabelledWork(marginals_workspace(structure.inner, inner), arcs[0], arcs[1])


@kernel
def _sum_labels(theta: Any, k: Any, arcs: Any) -> None:
    """arcs[a] <- log sum_k exp theta[a, k]."""
    for a in range(arcs.size):
        top = max_of(theta[a * k : (a + 1) * k])
        total = 0.0
        if top > -np.inf:
            for j in range(a * k, (a + 1) * k):
                total += exp(theta[j] - top)
            top += log(total)
        arcs[a] = top


@implements(log_partition, LabelledTreeRecord)
@kernel
def labelled_log_partition(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, mean: Any) -> Any:
    inner = _words(structure, shape)
    n_arcs = inner[0] * inner[1]
    arcs, shares = work.arcs[:n_arcs], work.answer[:n_arcs]
    _sum_labels(theta, structure.n_labels, arcs)
    return log_partition(structure.inner, inner, arcs, shared, work.inner, shares)


@implements(marginals, LabelledTreeRecord)
@kernel
def labelled_marginals(structure: Any, shape: Any, theta: Any, shared: Any, work: Any, mean: Any) -> Any:
    inner, k = _words(structure, shape), structure.n_labels
    n_arcs = inner[0] * inner[1]
    arcs, shares = work.arcs[:n_arcs], work.answer[:n_arcs]
    _sum_labels(theta, k, arcs)
    total = marginals(structure.inner, inner, arcs, shared, work.inner, shares)
    for a in range(n_arcs):
        for j in range(a * k, (a + 1) * k):
            mean[j] = shares[a] * exp(theta[j] - arcs[a]) if shares[a] > 0.0 else 0.0
    return total


@implements(entropy, LabelledTreeRecord)
@kernel
def labelled_entropy(
    structure: Any, shape: Any, theta: Any, shared: Any, work: Any, mean: Any, log_z: Any
) -> Any:
    """H(tree) + sum over arcs of p(arc) H(label | arc)."""
    inner, k = _words(structure, shape), structure.n_labels
    n_arcs = inner[0] * inner[1]
    arcs, shares = work.arcs[:n_arcs], work.answer[:n_arcs]
    value = entropy(structure.inner, inner, arcs, shared, work.inner, shares, log_z)
    for j in range(n_arcs * k):
        if mean[j] > 0.0:
            value += mean[j] * max(arcs[j // k] - theta[j], 0.0)
    return min(value, inner[1] * log(inner[0] * k))


register(LabelledTreeRecord)
