"""The cube: K independent yes/no labels. Its parts are the labels that are on."""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log, log1p
from typing import NamedTuple

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
from structlearn.structures.base import SparseVertices, Weights
from structlearn.structures.flat.batches import CubeBatches
from structlearn.structures.flat.switches import encode_switches, switch_costs
from structlearn.structures.registry import stored
from structlearn.structures.regularized import Entropic, no_workspace
from structlearn.structures.rows import LabelRow


class CubeRecord(NamedTuple):
    """Compiled form of `Cube`."""

    n_labels: int


@stored("labels that are on or off, independently", {"n_labels": count})
class Cube(LabelRow):
    """M = [0, 1]^K: each of `n_labels` labels is on or off, independently.

    Parameters
    ----------
    n_labels : int
    """

    noun = "A cube"
    threshold = 0.5

    @property
    def record(self) -> CubeRecord:
        return CubeRecord(self.n_labels)

    def batches(self, record: Record) -> CubeBatches | None:
        return CubeBatches(self.n_labels) if isinstance(record, Entropic) else None

    def sample(self, theta: Array, n: int, random_state: int | np.random.Generator | None = None) -> Array:
        """Draw `n` independent vectors of switches, (n, K), of p(y) ~ exp <theta, y>."""
        p = self.marginals(self.read_scores(theta)[0]).mean
        return (np.random.default_rng(random_state).random((n, p.size)) < p).astype(np.int64)

    def encode(self, y: object, shape: Shape | None = None) -> Array:
        """Return the 0/1 vector `y` itself, checked."""
        return encode_switches(y, self.n_labels)

    def encode_many(self, ys: Iterable[object], shapes: Array) -> SparseVertices:
        if not isinstance(ys, np.ndarray):
            return super().encode_many(ys, shapes)
        on = encode_switches(ys, len(shapes), self.n_labels)
        if self.n_labels == 1:
            start = np.concatenate([[0], np.cumsum(on.ravel() != 0)])
            return SparseVertices(start, np.zeros(start[-1], dtype=np.int64), np.ones(start[-1]))
        example, index = np.nonzero(on)
        start = np.concatenate([[0], np.cumsum(np.bincount(example, minlength=len(shapes)))])
        return SparseVertices(start, index, np.ones(index.size))

    def decode(self, vertex: Array) -> Array:
        return (vertex > 0.5).astype(np.int64)

    def cost(
        self, mu: Array, *, weights: Weights = None, nodes: Weights = None, normalized: bool = True
    ) -> Array:
        """Return +1 on labels that are off, -1 on labels that are on; over K where normalised."""
        return switch_costs(mu, weights, nodes, normalized)


@implements(maximize, CubeRecord)
@leaf
def cube_maximize(
    structure: CubeRecord, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    value = 0.0
    for k in range(theta.size):
        on = theta[k] > 0.0
        vertex[k] = 1.0 if on else 0.0
        value += theta[k] if on else 0.0
    return value


@implements(max_value, CubeRecord)
@leaf
def cube_max_value(
    structure: CubeRecord, shape: Shape, theta: Array, shared: Array, work: object, vertex: Array
) -> float:
    value = 0.0
    for k in range(theta.size):
        value += max(theta[k], 0.0)
    return value


@implements(marginals, CubeRecord)
@leaf
def sigmoid(
    structure: CubeRecord, shape: Shape, theta: Array, shared: Array, work: object, mean: Array
) -> float:
    """mean_k = 1/(1 + exp -theta_k), log Z = sum_k log(1 + exp theta_k)."""
    value = 0.0
    for k in range(theta.size):
        small = exp(-abs(theta[k]))
        mean[k] = (1.0 if theta[k] >= 0.0 else small) / (1.0 + small)
        value += max(theta[k], 0.0) + log1p(small)
    return value


@implements(entropy, CubeRecord)
@leaf
def cube_entropy(
    structure: CubeRecord, shape: Shape, theta: Array, shared: Array, work: object, mean: Array, log_z: float
) -> float:
    """H = sum_k log(1 + exp -|theta_k|) + |theta_k| / (1 + exp |theta_k|): no term is negative."""
    value = 0.0
    for k in range(theta.size):
        small = exp(-abs(theta[k]))
        if small > 0.0:
            value += log1p(small) + abs(theta[k]) * small / (1.0 + small)
    return min(value, theta.size * log(2.0))


@implements(log_partition, CubeRecord)
@leaf
def softplus(
    structure: CubeRecord, shape: Shape, theta: Array, shared: Array, work: object, mean: Array
) -> float:
    value = 0.0
    for k in range(theta.size):
        value += max(theta[k], 0.0) + log1p(exp(-abs(theta[k])))
    return value


implements(project_workspace, CubeRecord)(no_workspace)


@implements(project, CubeRecord)
@leaf
def clip(
    structure: CubeRecord, shape: Shape, theta: Array, shared: Array, work: object, point: Array
) -> float:
    """point_k = min(max(theta_k, 0), 1)."""
    value = 0.0
    for k in range(theta.size):
        point[k] = min(max(theta[k], 0.0), 1.0)
        # Where the point is 0 its part adds nothing, even if the score is -inf.
        value += point[k] * (max(theta[k], 0.0) - 0.5 * point[k])
    return value
