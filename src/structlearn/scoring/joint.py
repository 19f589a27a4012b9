"""Two kinds of features: rows that score labels, and rows that score pairs of labels or whole segments.

The parts of an example are first the local scoring's, then those of the others; so are the weights.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import (
    Array,
    add_pullback,
    gram,
    prefetch,
    score,
    score_subset,
    scoring_workspace,
    squared_norm,
)
from structlearn.core.kernels import implements, jitable, kernel, leaf
from structlearn.scoring.base import Scoring
from structlearn.scoring.rows.kernels import LabelledRows
from structlearn.scoring.rows.rows import LabelScoring, RowScoring
from structlearn.scoring.rows.seen_kernels import SeenRows

#: Scratch memory of both kinds of rows.
JointWork = tuple[tuple[Array, Array], tuple[Array, Array]]


class JointRows(NamedTuple):
    """Compiled form: the records of labels and of pairs, and how many weights the first has."""

    local: LabelledRows | SeenRows
    pairs: LabelledRows
    n_local_weights: int
    n_shared: int


class JointScoring(Scoring):
    """theta_i = (X_i W, P_i V): labels by the rows X_i, pairs of labels or segments by the rows P_i.

    Parameters
    ----------
    local : LabelScoring; pairs : RowScoring
        Over the same examples, of K and of K * K labels, the first without shared parts.
    each : int
        Rows P for each row X: one for the pairs of a position, one for each segment that begins there.
    shapes : int array of shape (n_examples, 2), optional
        Where there is another number of rows P, as of a graph's edges: shapes as the structure counts them.
    """

    def __init__(
        self, local: LabelScoring, pairs: RowScoring, each: int = 1, *, shapes: Array | None = None
    ) -> None:
        if local.n_shared or (shapes is None and not np.array_equal(each * local.first, pairs.first)):
            raise ValueError("Labels and pairs of labels are scored over the same rows of the same examples.")
        if shapes is None:
            n_columns = local.n_labels + each * pairs.n_labels
            shapes = np.stack([np.diff(local.first), np.full(local.n_examples, n_columns)], axis=1)
        self.local = local
        self.pairs = pairs
        self.n_shared = pairs.n_shared
        self.first = local.first
        self.start = local.start + pairs.start
        self.shapes = shapes
        self.n_weights = local.n_weights + pairs.n_weights

    @cached_property
    def record(self) -> JointRows:
        return JointRows(self.local.record, self.pairs.record, self.local.n_weights, self.n_shared)

    @cached_property
    def _bare_record(self) -> JointRows:
        local, pairs = self.local._bare_record, self.pairs._bare_record
        return JointRows(local, pairs, self.local.n_weights, self.n_shared)

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


@leaf
def _n_local(scoring: JointRows, i: int) -> int:
    """Return the number of parts of example i that are labels."""
    return (scoring.local.first[i + 1] - scoring.local.first[i]) * scoring.local.n_labels


@implements(scoring_workspace, JointRows)
@jitable
def joint_workspace(scoring: JointRows) -> tuple[object, object]:
    return scoring_workspace(scoring.local), scoring_workspace(scoring.pairs)


@implements(score, JointRows)
@leaf
def joint_score(scoring: JointRows, i: int, w: Array, work: JointWork, theta: Array) -> None:
    cut, m = _n_local(scoring, i), scoring.n_local_weights
    score(scoring.local, i, w[:m], work[0], theta[:cut])
    score(scoring.pairs, i, w[m:], work[1], theta[cut:])


@implements(score_subset, JointRows)
@kernel
def joint_score_subset(
    scoring: JointRows,
    i: int,
    w: Array,
    wanted: Array,
    work: JointWork,
    theta: Array,
) -> None:
    cut, m = _n_local(scoring, i), scoring.n_local_weights
    score_subset(scoring.local, i, w[:m], wanted[:cut], work[0], theta[:cut])
    score_subset(scoring.pairs, i, w[m:], wanted[cut : theta.size], work[1], theta[cut:])


@implements(prefetch, JointRows)
@leaf
def joint_prefetch(scoring: JointRows, i: int) -> None:
    prefetch(scoring.local, i)


@implements(squared_norm, JointRows)
@leaf
def joint_squared_norm(scoring: JointRows, i: int, delta: Array, work: JointWork) -> float:
    cut = _n_local(scoring, i)
    own = squared_norm(scoring.local, i, delta[:cut], work[0])
    return own + squared_norm(scoring.pairs, i, delta[cut:], work[1])


@implements(add_pullback, JointRows)
@leaf
def joint_add_pullback(
    scoring: JointRows,
    i: int,
    delta: Array,
    scale: float,
    w: Array,
    work: JointWork,
) -> None:
    cut, m = _n_local(scoring, i), scoring.n_local_weights
    add_pullback(scoring.local, i, delta[:cut], scale, w[:m], work[0])
    add_pullback(scoring.pairs, i, delta[cut:], scale, w[m:], work[1])


@implements(gram, JointRows)
@kernel
def joint_gram(
    scoring: JointRows,
    i: int,
    delta: Array,
    wanted: Array,
    work: JointWork,
    out: Array,
) -> None:
    cut = _n_local(scoring, i)
    gram(scoring.local, i, delta[:cut], wanted[:cut], work[0], out[:cut])
    gram(scoring.pairs, i, delta[cut:], wanted[cut:], work[1], out[cut:])
