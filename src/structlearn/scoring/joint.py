"""Two kinds of features: rows that score labels, and rows that score pairs of labels.

The parts of an example are first the local scoring's, then those of pairs; so are the weights.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from structlearn.core.contract import (
    Array,
    fetch,
    gram,
    move,
    score,
    score_some,
    scratch,
    squared_norm,
)
from structlearn.core.kernels import answer, kernel, leaf
from structlearn.scoring.base import Scoring
from structlearn.scoring.rows.rows import RowScoring


class JointRows(NamedTuple):
    """Compiled form: the records of labels and of pairs, and how many weights the first has."""

    local: Any
    pairs: Any
    n_local_weights: int
    n_shared: int


class JointScoring(Scoring):
    """theta_i = (X_i W, P_i V): labels by the rows X_i, pairs of labels by as many rows P_i.

    Parameters
    ----------
    local, pairs : RowScoring
        Over the same examples, of K and of K * K labels, without shared parts.
    """

    def __init__(self, local: RowScoring, pairs: RowScoring) -> None:
        if not np.array_equal(local.first, pairs.first):
            raise ValueError("Labels and pairs of labels are scored over the same rows of the same examples.")
        self.local = local
        self.pairs = pairs
        self.n_shared = 0
        n_columns = local.n_labels + pairs.n_labels
        self.first = local.first
        self.start = local.first * n_columns
        self.shapes = np.stack([np.diff(local.first), np.full(local.n_examples, n_columns)], axis=1)
        self.n_weights = local.n_weights + pairs.n_weights

    @cached_property
    def record(self) -> JointRows:
        return JointRows(self.local.record, self.pairs.record, self.local.n_weights, 0)

    @cached_property
    def _bare_record(self) -> JointRows:
        return JointRows(self.local._bare_record, self.pairs._bare_record, self.local.n_weights, 0)

    def _scores(self, w: Array, first: int, last: int) -> Array:
        theta = np.empty(self.start[last] - self.start[first])
        joint_score_range(self._bare_record, self.start, first, last, w, theta)
        return theta

    def _pullback(self, delta: Array, first: int, last: int, out: Array) -> None:
        joint_pull_range(self._bare_record, self.start, first, last, delta, out)

    def _part_norms(self, first: int, last: int) -> Array:
        labels, pairs = self.local.part_norms(first, last), self.pairs.part_norms(first, last)
        norms = [
            norms[one.start[i] - one.start[first] : one.start[i + 1] - one.start[first]]
            for i in range(first, last)
            for one, norms in ((self.local, labels), (self.pairs, pairs))
        ]
        return np.concatenate(norms)

    @property
    def n_terms(self) -> int:
        return max(self.local.n_terms, self.pairs.n_terms)


@kernel
def joint_score_range(scoring: Any, start: Any, first: Any, last: Any, w: Any, theta: Any) -> None:
    work = scratch(scoring)
    for i in range(first, last):
        score(scoring, i, w, work, theta[start[i] - start[first] : start[i + 1] - start[first]])


@kernel
def joint_pull_range(scoring: Any, start: Any, first: Any, last: Any, delta: Any, out: Any) -> None:
    work = scratch(scoring)
    for i in range(first, last):
        move(scoring, i, delta[start[i] - start[first] : start[i + 1] - start[first]], 1.0, out, work)


@leaf
def _n_local(scoring: Any, i: Any) -> Any:
    """How many parts of example i are labels."""
    return (scoring.local.first[i + 1] - scoring.local.first[i]) * scoring.local.n_labels


@answer(scratch, JointRows)
@kernel
def joint_scratch(scoring: Any) -> Any:
    return scratch(scoring.local), scratch(scoring.pairs)


@answer(score, JointRows)
@leaf
def joint_score(scoring: Any, i: Any, w: Any, work: Any, theta: Any) -> None:
    cut, m = _n_local(scoring, i), scoring.n_local_weights
    score(scoring.local, i, w[:m], work[0], theta[:cut])
    score(scoring.pairs, i, w[m:], work[1], theta[cut:])


@answer(score_some, JointRows)
@kernel
def joint_score_some(scoring: Any, i: Any, w: Any, wanted: Any, work: Any, theta: Any) -> None:
    cut, m = _n_local(scoring, i), scoring.n_local_weights
    score_some(scoring.local, i, w[:m], wanted[:cut], work[0], theta[:cut])
    score_some(scoring.pairs, i, w[m:], wanted[cut : theta.size], work[1], theta[cut:])


@answer(fetch, JointRows)
@leaf
def joint_fetch(scoring: Any, i: Any) -> None:
    fetch(scoring.local, i)


@answer(squared_norm, JointRows)
@leaf
def joint_squared_norm(scoring: Any, i: Any, delta: Any, work: Any) -> Any:
    cut = _n_local(scoring, i)
    own = squared_norm(scoring.local, i, delta[:cut], work[0])
    return own + squared_norm(scoring.pairs, i, delta[cut:], work[1])


@answer(move, JointRows)
@leaf
def joint_move(scoring: Any, i: Any, delta: Any, scale: Any, w: Any, work: Any) -> None:
    cut, m = _n_local(scoring, i), scoring.n_local_weights
    move(scoring.local, i, delta[:cut], scale, w[:m], work[0])
    move(scoring.pairs, i, delta[cut:], scale, w[m:], work[1])


@answer(gram, JointRows)
@kernel
def joint_gram(scoring: Any, i: Any, delta: Any, wanted: Any, work: Any, out: Any) -> None:
    cut = _n_local(scoring, i)
    gram(scoring.local, i, delta[:cut], wanted[:cut], work[0], out[:cut])
    gram(scoring.pairs, i, delta[cut:], wanted[cut:], work[1], out[cut:])
