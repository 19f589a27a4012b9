"""The simplex: one of K labels. Its parts are the labels."""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log
from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import (
    Array,
    Record,
    Shape,
    entropy,
    log_partition,
    marginals,
    max_value,
    maximize,
    project,
    project_workspace,
)
from structlearn.core.forms import count
from structlearn.core.kernels import implements, leaf
from structlearn.core.vectors import max_of
from structlearn.structures.base import SparseVertices, Weights
from structlearn.structures.flat.batches import SimplexBatches
from structlearn.structures.flat.sparsemax import sparsemax
from structlearn.structures.registry import stored
from structlearn.structures.regularized import Entropic, no_workspace
from structlearn.structures.rows import LabelRow, label_indices, row_costs


class SimplexRecord(NamedTuple):
    """Compiled form of `Simplex`."""

    n_labels: int


@stored("exactly one of several labels", {"n_labels": count})
class Simplex(LabelRow):
    """M = {z >= 0, sum z = 1}: exactly one of `n_labels` labels (multiclass).

    Parameters
    ----------
    n_labels : int
    """

    noun = "A simplex"

    @property
    def record(self) -> SimplexRecord:
        return SimplexRecord(self.n_labels)

    def batches(self, record: Record) -> SimplexBatches | None:
        return SimplexBatches(self.n_labels) if isinstance(record, Entropic) else None

    def most_entries(self, shape: Shape) -> int:
        return 1

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return the unit vector of label number `y`."""
        labels = label_indices(np.atleast_1d(np.asarray(y)), self.n_labels)
        mu = np.zeros((labels.size, self.n_labels))
        mu[np.arange(labels.size), labels] = 1.0
        return mu.ravel()

    def decode(self, vertex: Array) -> int:
        return int(np.argmax(vertex))

    def k_best(self, theta: Array, k: int) -> tuple[Array, Array]:
        """Return the k labels of the largest scores, and these; fewer where others are forbidden."""
        scores, _ = self.read_scores(theta)
        order = np.argsort(-scores, kind="stable")[: min(k, int((scores > -np.inf).sum()))]
        return order, scores[order]

    def sample(self, theta: Array, n: int, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw `n` independent labels of p(y) ~ exp theta_y."""
        p = self.marginals(self.read_scores(theta)[0]).mean
        return np.random.default_rng(random_state).choice(p.size, size=n, p=p / p.sum())

    def cost(
        self, mu: Array, *, weights: Weights = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """c_k = 1 on wrong labels; `weights` of shape (K,) by gold label or (K, K) as [gold, predicted]."""
        return row_costs(np.array([self.decode(mu)]), self.n_labels, weights, nodes).ravel()

    def encode_many(self, ys: Iterable[object], shapes: Array) -> SparseVertices:
        labels = label_indices(ys, self.n_labels)
        return SparseVertices(np.arange(labels.size + 1), labels, np.ones(labels.size))

    def cost_many(self, gold: SparseVertices, shapes: Array, **options: Any) -> Array:
        """Return the cost of one row, whose count and mean are the same."""
        return row_costs(gold.index, self.n_labels, options.get("weights"), options.get("nodes")).ravel()


@implements(maximize, SimplexRecord)
@leaf
def simplex_maximize(
    structure: SimplexRecord, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    best = 0
    for k in range(theta.size):
        vertex[k] = 0.0
        if theta[k] > theta[best]:
            best = k
    vertex[best] = 1.0
    return theta[best]


@implements(max_value, SimplexRecord)
@leaf
def simplex_max_value(
    structure: SimplexRecord, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    return max_of(theta)


@implements(marginals, SimplexRecord)
@leaf
def softmax(
    structure: SimplexRecord, shape: Shape, theta: Array, shared: Array, work: object, mean: Array
) -> float:
    """mean_k = exp(theta_k - log Z), log Z = log sum_j exp theta_j."""
    top = max_of(theta)
    if top == -np.inf:
        mean[:] = 0.0
        return top
    total = 0.0
    for k in range(theta.size):
        mean[k] = exp(theta[k] - top)
        total += mean[k]
    for k in range(theta.size):
        mean[k] /= total
    return top + log(total)


@implements(entropy, SimplexRecord)
@leaf
def simplex_entropy(
    structure: SimplexRecord,
    shape: Shape,
    theta: Array,
    shared: Array,
    work: object,
    mean: Array,
    log_z: float,
) -> float:
    """H = log(1 / mean_best) + sum_k mean_k (theta_best - theta_k): no term is negative."""
    top = max_of(theta)
    best = value = 0.0
    for k in range(theta.size):
        best = max(best, mean[k])
        if mean[k] > 0.0:
            value += mean[k] * (top - theta[k])
    return min(value - log(best), log(theta.size)) if best > 0.0 else 0.0


@implements(log_partition, SimplexRecord)
@leaf
def log_sum_exp(
    structure: SimplexRecord, shape: Shape, theta: Array, shared: Array, work: object, mean: Array
) -> float:
    top = max_of(theta)
    if top == -np.inf:
        return top
    total = 0.0
    for k in range(theta.size):
        total += exp(theta[k] - top)
    return top + log(total)


implements(project_workspace, SimplexRecord)(no_workspace)


@implements(project, SimplexRecord)
@leaf
def simplex_project(
    structure: SimplexRecord, shape: Shape, theta: Array, shared: Array, work: object, point: Array
) -> float:
    return sparsemax(theta, point)
