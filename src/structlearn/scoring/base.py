"""The base of all scorings: theta = Phi w for each example, and the adjoint of that map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.erased import Erased
from structlearn.core.rounding import largest_of_ranges
from structlearn.scoring.erased import ErasedScoring, ScoringRecord, erase_scoring
from structlearn.scoring.ranges import pullback_range, score_range

#: Parts of the examples that are scored, encoded or pulled back at a time.
PARTS_AT_ONCE = 1 << 17


class Scoring(ABC):
    """The linear map Phi of a data set. Knows features and weights, never the polytope.

    The last `n_shared` weights are the scores of the shared parts themselves. Solvers that go block by block
    ask `record` (see `structlearn.core.contract`); solvers that take all examples at once call `scores` and
    `pullback` on ranges of examples.
    """

    #: Whether Phi_i Phi_i^T is a multiple of the identity, of one size, for every example
    isotropic: bool = False
    n_weights: int
    n_shared: int = 0
    #: (n_examples, 2): rows and columns of each example's local parts
    shapes: Array
    #: (n_examples + 1,): where each example's local parts begin
    start: Array

    @property
    @abstractmethod
    def record(self) -> ScoringRecord:
        """The NamedTuple that answers the operations of `structlearn.core.contract`."""

    @property
    def _bare_record(self) -> ScoringRecord:
        """The record where it need only score and pull back."""
        return self.record

    def for_pass(self, function: Callable[..., object]) -> ErasedScoring:
        """Return the record behind addresses, for a call of the kernel `function` in this thread."""
        return self._erased.record(function)

    @cached_property
    def _erased(self) -> Erased[ErasedScoring]:
        return Erased(partial(erase_scoring, self.record))

    @cached_property
    def _bare_erased(self) -> Erased[ErasedScoring]:
        return Erased(partial(erase_scoring, self._bare_record))

    def scores(self, w: Array, first: int, last: int) -> Array:
        """Return the local parts of Phi_i w for examples first .. last - 1, end to end."""
        self._check(w, first, last)
        return self._scores(w, first, last)

    def pullback(self, delta: Array, first: int, last: int, out: Array) -> None:
        """out <- out + sum_i Phi_i^T delta_i over local parts of examples first .. last - 1 (end to end)."""
        self._check(out, first, last)
        size = self.start[last] - self.start[first]
        if delta.shape != (size,):
            raise ValueError(f"Examples {first} to {last - 1} have {size} local parts; got {delta.size}.")
        self._pullback(delta, first, last, out)

    def part_norms(self, first: int, last: int) -> Array:
        """Return ||Phi_i^T e_j|| of the local parts j of examples first .. last - 1. Shared parts have 1."""
        self._check(None, first, last)
        return self._part_norms(first, last)

    def largest_norms(self, first: int, last: int) -> Array:
        """Return the largest of `part_norms` of each of these examples; 0 of those without local parts."""
        return largest_of_ranges(self.part_norms(first, last), self.start[first : last + 1])

    def _scores(self, w: Array, first: int, last: int) -> Array:
        theta = np.empty(self.start[last] - self.start[first])
        score_range(self._bare_erased.record(score_range), self.start, first, last, w, theta)
        return theta

    def _pullback(self, delta: Array, first: int, last: int, out: Array) -> None:
        record = self._bare_erased.record(pullback_range)
        pullback_range(record, self.start, first, last, np.ascontiguousarray(delta, dtype=np.float64), out)

    @abstractmethod
    def _part_norms(self, first: int, last: int) -> Array:
        """Implement `part_norms`."""

    def _check(self, w: Array | None, first: int, last: int) -> None:
        """Raise a ValueError for weights, or a range of examples, that compiled code would read beyond."""
        if w is not None and w.shape != (self.n_weights,):
            raise ValueError(f"These features have {self.n_weights} weights; got the shape {w.shape}.")
        if not 0 <= first <= last <= self.n_examples:
            raise ValueError(f"There are {self.n_examples} examples; got the range {first} to {last}.")

    @property
    def n_terms(self) -> int:
        """The most products that the score of a local part adds up."""
        return self.n_weights

    @property
    def n_examples(self) -> int:
        return len(self.shapes)

    def shared(self, w: Array) -> Array:
        """Return the shared parts' weights, as a view."""
        return w[self.n_weights - self.n_shared :]

    def chunks(self, parts_at_once: int | None = None) -> list[tuple[int, int]]:
        """Return ranges of examples of about `parts_at_once` parts each, to be scored at a time."""
        known = self._chunks
        size = parts_at_once or PARTS_AT_ONCE
        if size not in known:
            ends = np.searchsorted(self.start, np.arange(0, self.start[-1], size), side="left")
            edges = np.unique(np.concatenate([[0], ends, [self.n_examples]]))
            known[size] = [(int(a), int(b)) for a, b in pairwise(edges)]
        return known[size]

    @cached_property
    def _chunks(self) -> dict[int, list[tuple[int, int]]]:
        """The ranges that were asked for before, by their size."""
        return {}


def contiguous(array: Array) -> Array:
    """Return the array itself or, if it is not in C order, a copy: else each thread would make its own."""
    return np.asanyarray(array, order="C")


def starts(sizes: ArrayLike) -> Array:
    """Return where each of some ranges begins, end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def starts_of(lengths: ArrayLike, n_rows: int) -> Array:
    """Return where each example begins among `n_rows`, (n_examples + 1,); ValueError if they do not fit."""
    lengths = np.asarray(lengths, dtype=np.int64)
    found = starts(lengths)
    if (lengths < 0).any() or found[-1] != n_rows:
        raise ValueError(f"The lengths of the examples add up to {found[-1]}, but there are {n_rows} rows.")
    return found


def check_csr(X: sparse.csr_matrix) -> None:
    """Raise a ValueError unless the arrays of a CSR matrix belong together; nobody checks them later."""
    starts, columns = X.indptr, X.indices
    outside = columns.size and not 0 <= columns.min() <= columns.max() < X.shape[1]
    fits = starts.size == X.shape[0] + 1 and starts[0] == 0 and starts[-1] <= min(columns.size, X.data.size)
    if outside or not fits or (starts[1:] < starts[:-1]).any():
        raise ValueError(
            "The sparse matrix is damaged: its column numbers or its row pointers are out of range; make it "
            "anew, such as by scipy.sparse.csr_matrix(dense)."
        )
