"""Chains with scores for listed steps only: for many labels, between which few steps are made."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

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
    shared_parts,
    workspace,
)
from structlearn.core.forms import count
from structlearn.core.kernels import implements, jitable, kernel
from structlearn.structures.base import SparseVertices
from structlearn.structures.chain.chain import Chain
from structlearn.structures.chain.sparse_marginals import (
    CANCELLED,
    sparse_entropy,
    sparse_log_partition,
    sparse_marginals,
    sparse_marginals_workspace,
)
from structlearn.structures.chain.sparse_viterbi import (
    SparsePathScratch,
    SparseRecord,
    sparse_path,
    sparse_value,
)
from structlearn.structures.registry import pairs, stored


@stored("label sequences with scores of listed steps", {"n_labels": count, "steps": pairs, "free": bool})
class SparseChain(Chain):
    """Label sequences of any length over `n_labels` labels, with scores for some steps.

    The parts of a sequence of length L: L * K unary parts (position by position), then one for each listed
    step (from, to), *summed over positions*. Other steps have no parts: they score zero, or are forbidden.
    Viterbi and forward-backward take O(K + listed steps) per position, not K^2.

    Parameters
    ----------
    n_labels : int
    steps : array of shape (m, 2)
        The steps (before, after) that have scores; each once.
    free : bool
        Whether the other steps may be made.
    """

    accuracy = CANCELLED

    def __init__(self, n_labels: int, steps: ArrayLike, *, free: bool = True) -> None:
        super().__init__(n_labels)
        self.free = bool(free)
        given = np.asarray(steps)
        if given.shape[1:] != (2,) or (given.size and given.dtype.kind not in "iu"):
            raise ValueError("Steps must be an array of pairs (before, after) of numbers of labels.")
        if given.size and not 0 <= given.min() <= given.max() < self.n_labels:
            raise ValueError(f"Steps must be of labels 0 .. {self.n_labels - 1}.")
        codes = np.unique(given[:, 0].astype(np.int64) * self.n_labels + given[:, 1])
        if codes.size < len(given):
            raise ValueError("Each step must be listed once.")
        #: (m,) the place of each listed step in a table of K * K, in order
        self.codes = codes
        self.n_shared = codes.size
        self._record = self._compiled_form()
        if not self.free:
            self._forbid_others()

    def _forbid_others(self) -> None:
        """Have everything that asks for forbidden steps know them."""
        k = self.n_labels
        self.forbidden = np.stack(np.divmod(np.setdiff1d(np.arange(k * k), self.codes), k), axis=1)
        self.mask = np.zeros(k * (k + 2))
        self.mask[: k * k] = -np.inf
        self.mask[self.codes] = 0.0

    @property
    def steps(self) -> Array:
        """The listed steps, (m, 2), in order."""
        return np.stack(np.divmod(self.codes, self.n_labels), axis=1)

    @property
    def record(self) -> SparseRecord:  # type: ignore[override]
        return self._record

    def _compiled_form(self) -> SparseRecord:
        before, after = np.divmod(self.codes, self.n_labels)
        edge, labels = np.argsort(after, kind="stable"), np.arange(self.n_labels + 1)
        return SparseRecord(
            self.n_labels,
            np.searchsorted(before, labels),
            before,
            after,
            np.searchsorted(after[edge], labels),
            edge,
            self.free,
        )

    def arguments(self) -> dict[str, object]:
        return {"n_labels": self.n_labels, "steps": self.steps, "free": self.free}

    def batches(self, record: Record) -> None:
        return None

    @property
    def shared_shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((self.n_shared,),)

    def most_entries(self, shape: Shape) -> int:
        return shape[0] + min(shape[0] - 1, self.n_shared)

    def shared_tables(self, shared: Array) -> dict[str, Array]:
        """Return a table of all transitions (from, to), a copy; those that are not listed are zero."""
        table = np.zeros((self.n_labels, self.n_labels))
        table.ravel()[self.codes] = shared
        return {"transitions": table}

    def shared_from(self, tables: dict[str, Array]) -> Array:
        return tables["transitions"].ravel()[self.codes]

    def encode_many(self, ys: object, shapes: Array) -> SparseVertices:
        """Return the vertices of a chain with all transitions, without those that are not listed."""
        start, index, value = super().encode_many(ys, shapes)  # type: ignore[arg-type]
        owner = np.repeat(np.arange(len(shapes)), np.diff(start))
        n_local = shapes[owner, 0] * self.n_labels
        step = np.searchsorted(self.codes, index - n_local)
        listed = (index >= n_local) & (step < self.n_shared)
        listed[listed] = self.codes[step[listed]] == (index - n_local)[listed]
        kept = listed | (index < n_local)
        found = np.where(listed, n_local + step, index)[kept]
        edges = np.concatenate([[0], np.cumsum(np.bincount(owner[kept], minlength=len(shapes)))])
        return SparseVertices(edges, found, value[kept])


@implements(workspace, SparseRecord)
@jitable
def sparse_workspace(record: SparseRecord, shape: Shape) -> SparsePathScratch:
    n = record.n_labels
    return SparsePathScratch(
        np.empty((shape[0], n)),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
    )


@implements(maximize, SparseRecord)
@kernel
def sparse_viterbi(
    record: SparseRecord, shape: Shape, theta: Array, shared: Array, work: SparsePathScratch, vertex: Array
) -> float:
    return sparse_path(record, shape[0], theta, shared, work, vertex)


@implements(max_value, SparseRecord)
@kernel
def sparse_max_value(
    record: SparseRecord, shape: Shape, theta: Array, shared: Array, work: SparsePathScratch, vertex: Array
) -> float:
    return sparse_value(record, shape[0], theta, shared, work)


implements(marginals_workspace, SparseRecord)(sparse_marginals_workspace)
implements(marginals, SparseRecord)(sparse_marginals)
implements(entropy, SparseRecord)(sparse_entropy)
implements(log_partition, SparseRecord)(sparse_log_partition)


@implements(shared_parts, SparseRecord)
@jitable
def _sparse_shared_parts(record: SparseRecord) -> int:
    return record.after.size
