"""What every scoring is: theta = Phi w for each example, and the adjoint of that map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any

import numpy as np

from structlearn.contract import Array, fetch, score, score_some
from structlearn.kernels import answer, kernel, leaf


class Scoring(ABC):
    """The linear map Phi of a data set. Knows features and weights, never the polytope.

    The last `n_shared` weights are the scores of the shared parts themselves. Solvers that go block by block
    ask `record` (see `structlearn.contract`); solvers that take all examples at once call `scores` and
    `pullback` on ranges of examples.
    """

    #: Whether Phi_i Phi_i^T is a multiple of the identity, of one size, for every example
    isotropic: bool = False
    n_weights: int
    n_shared: int
    #: (n_examples, 2): rows and columns of each example's local parts
    shapes: Array
    #: (n_examples + 1,): where each example's local parts begin
    start: Array

    @property
    @abstractmethod
    def record(self) -> Any:
        """The NamedTuple that answers the questions of `structlearn.contract`."""

    @abstractmethod
    def scores(self, w: Array, first: int, last: int) -> Array:
        """Local parts of Phi_i w for examples first .. last - 1, end to end."""

    @abstractmethod
    def pullback(self, delta: Array, first: int, last: int, out: Array) -> None:
        """out <- out + sum_i Phi_i^T delta_i over local parts of examples first .. last - 1 (end to end)."""

    @abstractmethod
    def part_norms(self, first: int, last: int) -> Array:
        """||Phi_i^T e_j|| of the local parts j of examples first .. last - 1, end to end. Shared: 1."""

    @property
    def n_terms(self) -> int:
        """At most how many products the score of a local part adds up."""
        return self.n_weights

    @property
    def n_examples(self) -> int:
        return len(self.shapes)

    def shared(self, w: Array) -> Array:
        """The shared parts' weights, as a view."""
        return w[self.n_weights - self.n_shared :]

    def chunks(self, parts_at_once: int = 1 << 17) -> list[tuple[int, int]]:
        """Ranges of examples of about `parts_at_once` parts each, to be scored at a time."""
        ends = np.searchsorted(self.start, np.arange(0, self.start[-1], parts_at_once), side="left")
        edges = np.unique(np.concatenate([[0], ends, [self.n_examples]]))
        return [(int(a), int(b)) for a, b in pairwise(edges)]


@answer(score_some, object)
@kernel
def score_all(scoring: Any, i: Any, w: Any, wanted: Any, work: Any, theta: Any) -> None:
    score(scoring, i, w, work, theta)


@answer(fetch, object)
@leaf
def no_fetch(scoring: Any, i: Any) -> None:
    """For a scoring that is read in sequence."""
