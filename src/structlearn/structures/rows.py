"""Rows of labels: what structures of one row share, and the costs of `Simplex` and `Chain` (many rows)."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array, Shape
from structlearn.structures.base import Structure, Weights, label_count


class LabelRow(Structure):
    """Outputs whose local parts are one row: a part per label."""

    #: What to call it in errors.
    noun: str

    def __init__(self, n_labels: int) -> None:
        self.n_labels = label_count(n_labels, self.noun)

    def shape(self, theta: Array) -> Shape:
        if theta.size != self.n_labels:
            raise ValueError(
                f"{self.noun} of {self.n_labels} labels has {self.n_labels} parts; got {theta.size}."
            )
        return 1, self.n_labels

    @property
    def local_axes(self) -> tuple[int | str, ...]:
        return (self.n_labels,)

    def fits(self, shape: Shape | Array) -> bool | Array:
        return (shape[0] == 1) & (shape[1] == self.n_labels)


def label_indices(y: object, n_labels: int) -> Array:
    """Return `y` as label numbers in 0 .. n_labels - 1; ValueError if it is anything else."""
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"Labels of one output form a vector of at least one; got shape {labels.shape}.")
    if not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"Labels of a part vector must be integers; got {labels.dtype}.")
    if labels.min() < 0 or labels.max() >= n_labels:
        outside = labels[(labels < 0) | (labels >= n_labels)][0]
        raise ValueError(f"Label {outside} is outside 0 .. {n_labels - 1}.")
    return labels.astype(np.int64)


def row_costs(gold: Array, n_labels: int, weights: Weights = None, nodes: Weights = None) -> Array:
    """Return costs of shape (rows, n_labels): weights[gold, k] on row's label k, times the row's weight.

    `weights` is None (Hamming: 1 on every wrong label), of shape (n_labels,) (the price of missing each gold
    label) or of shape (n_labels, n_labels) as [gold, predicted], with a zero diagonal.
    """
    costs = cost_table(weights, n_labels)[gold]
    if nodes is not None:
        costs *= node_weights(nodes, gold.size)[:, None]
    return costs


def node_weights(given: Weights, size: int) -> Array:
    """Return weights of the rows, one each; ValueError if they are not."""
    nodes = np.ravel(np.asarray(given, dtype=np.float64))
    if nodes.size != size:
        raise ValueError(f"There must be one node weight per row; got {nodes.size} for {size} rows.")
    if not np.isfinite(nodes).all() or nodes.min() < 0:
        raise ValueError("Node weights must be finite and at least 0.")
    return nodes


def cost_table(given: Weights, n_labels: int) -> Array:
    """Return the (gold, predicted) table that weights stand for; ValueError if they stand for none."""
    wrong = 1.0 - np.eye(n_labels)
    if given is None:
        return wrong
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape not in {(n_labels,), (n_labels, n_labels)}:
        raise ValueError(
            f"Cost weights must have the shape ({n_labels},), by gold label, or ({n_labels}, {n_labels}), "
            f"as [gold, predicted]; got {weights.shape}."
        )
    if not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError("Cost weights must be finite and at least 0.")
    if weights.ndim == 1:
        return wrong * weights[:, None]
    if np.diag(weights).any():
        raise ValueError("A right label costs nothing: the diagonal of the cost table must be zero.")
    return weights.copy()
