"""Gold outputs of a padded batch: their parts, their costs and Omega(mu), without a call per example.

`encode` of the structure is asked one by one where there is no rule for a structure or for a way to write
outputs, and where a rule finds that one of them is wrong: then it says what is wrong with which example.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel
from structlearn.problem.batch_kernels import BatchGold
from structlearn.problem.losses import FenchelYoungLoss
from structlearn.problem.padded_tables import label_sets, label_spans, paths_of_cells, tables_of_links
from structlearn.structures import (
    Chain,
    ConditionedChain,
    ConstituencyTree,
    Cube,
    LabelGraph,
    Matching,
    MonotoneAlignment,
    NonProjectiveTree,
    ProjectiveTree,
    Segments,
    Simplex,
)
from structlearn.structures.base import SparseVertices, Structure

#: Gold vertices of outputs in one array, given the shape of each example; None if `encode` must be asked.
Rule = Callable[[Any, Array, Array], SparseVertices | None]
NO_COST = np.empty(0)


class Target(NamedTuple):
    """What a loss must know of the outputs of a batch: mu and costs, and Omega(mu)."""

    gold: BatchGold
    omega: Array


def no_target(n_examples: int) -> Target:
    """Return the target where there are no outputs: mu = 0."""
    none, start = np.empty(0), np.zeros(n_examples + 1, dtype=np.int64)
    vertices = SparseVertices(start, np.empty(0, dtype=np.int64), none)
    return Target(BatchGold(vertices, NO_COST, start), np.zeros(n_examples))


def padded_target(loss: FenchelYoungLoss, y: Array, shapes: Array) -> Target | None:
    """Return what the loss must know of outputs in one array (batch, ...); None where there is no rule."""
    structure = loss.structure
    rule = _RULES.get(type(structure))
    gold = None if rule is None or not len(y) else rule(structure, y, shapes)
    return None if gold is None else _target_of(loss, gold, shapes)


def listed_target(loss: FenchelYoungLoss, ys: list[Any], shapes: Array) -> Target | None:
    """Return the same for a list of outputs; None where the structure does not take them at once."""
    if not ys or not isinstance(loss.structure, _ENCODE_LISTS) or any(np.ndim(y) == 1 and len(y) for y in ys):
        return None
    return _target_of(loss, loss.structure.encode_many(ys, shapes), shapes)


def _target_of(loss: FenchelYoungLoss, gold: SparseVertices, shapes: Array) -> Target:
    structure = loss.structure
    n_local = np.asarray(structure.n_local(shapes.T))
    omega = loss.regularizer.of_gold(gold, structure.n_curved(shapes.T))
    cost = NO_COST if loss.cost is None else structure.cost_many(gold, shapes, **loss.cost_options())
    return Target(BatchGold(gold, cost, np.cumsum(n_local) - n_local), omega)


def single_targets(
    loss: FenchelYoungLoss, outputs: list[Any], parts: list[tuple[int, ...]], n_local: Array
) -> Target:
    """Ask the structure for each output in turn; `parts` are the shapes of their part vectors."""
    found = []
    for b, (y, shape) in enumerate(zip(outputs, parts)):
        try:
            found.append(loss.target(np.broadcast_to(0.0, shape), y))
        except ValueError as error:
            raise ValueError(f"Output {b} does not fit its scores: {error}") from error
    mus = [one.mu.ravel() for one in found]
    index = [np.flatnonzero(mu) for mu in mus]
    start = np.concatenate([[0], np.cumsum([one.size for one in index])]).astype(np.int64)
    value = np.concatenate([NO_COST, *(mu[k] for mu, k in zip(mus, index))])
    vertices = SparseVertices(start, np.concatenate([np.empty(0, dtype=np.int64), *index]), value)
    cost = NO_COST
    if loss.cost is not None:
        cost = np.concatenate([NO_COST, *(np.ravel(one.cost)[:n] for one, n in zip(found, n_local))])
    omega = np.array([one.omega for one in found])
    return Target(BatchGold(vertices, cost, np.cumsum(n_local) - n_local), omega)


# ---- rules ----------------------------------------------------------------------------------------------


def _label_of_each(structure: Simplex, y: Array, shapes: Array) -> SparseVertices | None:
    if y.ndim != 1 or y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= structure.n_labels:
        return None
    return structure.encode_many(y, shapes)


def _switches(structure: Cube, y: Array, shapes: Array) -> SparseVertices | None:
    """Take indicators; mixtures have an Omega of their own."""
    if y.shape != (len(shapes), structure.n_labels) or not ((y == 0) | (y == 1)).all():
        return None
    return structure.encode_many(y, shapes)


def _label_sequences(structure: Chain | ConditionedChain, y: Array, shapes: Array) -> SparseVertices | None:
    if y.ndim != 2 or y.dtype.kind not in "iu" or y.shape[1] != shapes[:, 0].max():
        return None
    lengths = np.ascontiguousarray(shapes[:, 0])
    ends = int(structure.start) + int(structure.end)
    start = np.concatenate([[0], np.cumsum(2 * lengths - 1 + ends)])
    index, k = np.empty(start[-1], dtype=np.int64), structure.n_labels
    labels = np.ascontiguousarray(y, dtype=np.int64)
    steps = (structure.n_shared, structure.conditioned, structure.start, structure.end)
    if not _write_sequences(labels, lengths, k, steps, start, index):
        return None
    if structure.forbidden is not None:
        within = np.arange(y.shape[1]) < lengths[:, None]
        if structure.broken(labels[within], lengths).any():
            return None
    return SparseVertices(start, index, np.ones(index.size))


@kernel
def _write_sequences(
    labels: Array,
    lengths: Array,
    k: int,
    steps: tuple[int, bool, bool, bool],
    start: Array,
    index: Array,
) -> bool:
    """index <- the labels' parts, then the steps' and the ends'; return whether all labels are in 0 .. k - 1.

    steps : number of shared parts; whether each step has a table of its own; start; end
    """
    n_shared, conditioned, has_start, has_end = steps
    for b in range(lengths.size):
        n, at = lengths[b], start[b]
        for t in range(n):
            if labels[b, t] < 0 or labels[b, t] >= k:
                return False
            index[at + t] = t * k + labels[b, t]
        for t in range(1, n):
            table = t * k * k if conditioned else 0
            index[at + n + t - 1] = n * k + table + labels[b, t - 1] * k + labels[b, t]
        if has_start:
            index[at + 2 * n - 1] = n * k + k * k + labels[b, 0]
        if has_end:
            index[start[b + 1] - 1] = n * k + n_shared - k + labels[b, n - 1]
    return True


def _heads(structure: NonProjectiveTree | ProjectiveTree, y: Array, shapes: Array) -> SparseVertices | None:
    if y.ndim != 2 or y.dtype.kind not in "iu" or y.shape[1] != shapes[:, 1].max():
        return None
    words = np.ascontiguousarray(shapes[:, 1])
    heads = np.ascontiguousarray(y, dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(words)])
    index = np.empty(start[-1], dtype=np.int64)
    projective = isinstance(structure, ProjectiveTree)
    room = np.empty(int(words.max()) + 1, dtype=np.int64)
    if not _write_heads(heads, words, structure.single_root, projective, room, start, index):
        return None
    return SparseVertices(start, index, np.ones(index.size))


@kernel
def _write_heads(
    heads: Array, words: Array, single_root: bool, projective: bool, state: Array, start: Array, index: Array
) -> bool:
    """index <- the arcs of heads; return whether all of them are trees of this kind."""
    for b in range(words.size):
        n, roots = words[b], 0
        for m in range(n):
            if heads[b, m] < 0 or heads[b, m] > n:
                return False
            roots += heads[b, m] == 0
            index[start[b] + m] = heads[b, m] * n + m
        if single_root and roots > 1:
            return False
        if not _reaches_root(heads[b], n, state) or (projective and _crosses(heads[b], n)):
            return False
    return True


@kernel
def _reaches_root(heads: Array, n: int, state: Array) -> bool:
    """Return whether every word is below the root. state : the word from which a word was seen first."""
    for word in range(n + 1):
        state[word] = 0
    for word in range(1, n + 1):
        at = word
        while at != 0 and state[at] == 0:
            state[at] = word
            at = heads[at - 1]
        if at != 0 and state[at] == word:
            return False
    return True


@kernel
def _crosses(heads: Array, n: int) -> bool:
    """Return whether two arcs cross."""
    for m in range(1, n + 1):
        low, high = min(heads[m - 1], m), max(heads[m - 1], m)
        for other in range(m + 1, n + 1):
            begin, end = min(heads[other - 1], other), max(heads[other - 1], other)
            if low < begin < high < end or begin < low < end < high:
                return True
    return False


_RULES: dict[type[Structure], Rule] = {
    Simplex: _label_of_each,
    Cube: _switches,
    Chain: _label_sequences,
    ConditionedChain: _label_sequences,
    NonProjectiveTree: _heads,
    ProjectiveTree: _heads,
    LabelGraph: label_sets,
    Matching: tables_of_links,
    MonotoneAlignment: paths_of_cells,
    ConstituencyTree: label_spans,
}
#: Structures that encode a list of outputs at once, and say themselves what is wrong with which.
_ENCODE_LISTS = (Segments,)
