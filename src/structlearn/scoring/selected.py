"""Rows times labels, of which some are asked for: each row scores its own candidates.

    theta_i = the candidates' entries of X_i W,   candidates listed row by row

The weights are those of the scoring of all labels. Kernels write the candidates' numbers where the parts of
all labels would be, ask that scoring, and clear what they wrote.
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
from structlearn.core.kernels import implements, jitable, leaf
from structlearn.scoring.base import Scoring
from structlearn.scoring.rows.kernels import LabelledRows, has_gram, sum_of_squares
from structlearn.scoring.rows.rows import LabelScoring
from structlearn.scoring.rows.seen_kernels import SeenRows


class SelectedRows(NamedTuple):
    """Compiled form: row r has the labels label[first[r]:first[r + 1]], in increasing order."""

    whole: LabelledRows | SeenRows
    n_shared: int
    longest: int
    first: Array
    label: Array


class SelectedWork(NamedTuple):
    """Scratch memory: that of all labels; parts of all labels, zero or False between uses; their answers."""

    whole: tuple[Array, Array]
    parts: Array
    wanted: Array
    answer: Array


class SelectedScoring(Scoring):
    """The scores of some labels of each row.

    Parameters
    ----------
    whole : LabelScoring
        The scoring of all labels.
    first : int array of shape (n_rows + 1,), label : int array
        Where the labels of each row begin, and these, in increasing order; at least one per row.
    shapes : int array of shape (n_examples, 2), optional
        Shapes as the structure counts them; (number of labels, number of the example) unless given.
    """

    def __init__(
        self, whole: LabelScoring, first: Array, label: Array, *, shapes: Array | None = None
    ) -> None:
        if first.size != whole.first[-1] + 1 or first[-1] != label.size:
            raise ValueError("There must be a list of labels for each row.")
        self.whole, self.row_first, self.label = whole, first.astype(np.int64), label.astype(np.int64)
        self.n_weights, self.n_shared = whole.n_weights, whole.n_shared
        self.start = self.row_first[whole.first]
        own = np.stack([np.diff(self.start), np.arange(whole.n_examples)], axis=1)
        self.shapes = own if shapes is None else shapes

    @cached_property
    def record(self) -> SelectedRows:
        return self._selected(self.whole.record)

    @cached_property
    def _bare_record(self) -> SelectedRows:
        return self._selected(self.whole._bare_record)

    def _selected(self, whole: LabelledRows | SeenRows) -> SelectedRows:
        longest = int(np.diff(self.whole.first).max(initial=1))
        return SelectedRows(whole, self.n_shared, longest, self.row_first, self.label)

    def _part_norms(self, first: int, last: int) -> Array:
        rows = slice(self.whole.first[first], self.whole.first[last])
        owner = np.repeat(np.arange(rows.stop - rows.start), np.diff(self.row_first)[rows])
        labels = self.label[self.start[first] : self.start[last]]
        return self.whole.part_norms(first, last)[owner * self.whole.n_labels + labels]

    @property
    def n_terms(self) -> int:
        return self.whole.n_terms


@implements(scoring_workspace, SelectedRows)
@jitable
def selected_workspace(scoring: SelectedRows) -> SelectedWork:
    n_local = scoring.longest * scoring.whole.n_labels
    size = n_local + scoring.n_shared
    return SelectedWork(
        scoring_workspace(scoring.whole),  # type: ignore[arg-type]
        np.zeros(size),
        np.zeros(size, dtype=np.bool_),
        np.empty(size),
    )


@leaf
def _n_whole(scoring: SelectedRows, i: int) -> int:
    """Return the number of parts of all labels of example i."""
    return (scoring.whole.first[i + 1] - scoring.whole.first[i]) * scoring.whole.n_labels


@leaf
def _spread(scoring: SelectedRows, i: int, delta: Array, parts: Array) -> int:
    """Write candidates' entries, and the shared ones, where all labels have theirs; return the number."""
    n, row, n_whole = scoring.whole.n_labels, scoring.whole.first[i], _n_whole(scoring, i)
    base = scoring.first[row]
    for t in range(scoring.whole.first[i + 1] - row):
        for p in range(scoring.first[row + t], scoring.first[row + t + 1]):
            parts[t * n + scoring.label[p]] = delta[p - base]
    n_local = scoring.first[scoring.whole.first[i + 1]] - base
    for e in range(delta.size - n_local):
        parts[n_whole + e] = delta[n_local + e]
    return n_whole + delta.size - n_local


@leaf
def _clear(scoring: SelectedRows, i: int, size: int, parts: Array) -> None:
    """Set what `_spread` wrote to zero, or False."""
    n, row = scoring.whole.n_labels, scoring.whole.first[i]
    for t in range(scoring.whole.first[i + 1] - row):
        for p in range(scoring.first[row + t], scoring.first[row + t + 1]):
            parts[t * n + scoring.label[p]] = 0
    for j in range(_n_whole(scoring, i), size):
        parts[j] = 0


@leaf
def _take(scoring: SelectedRows, i: int, parts: Array, theta: Array) -> None:
    """theta <- the candidates' entries of parts of all labels."""
    n, row = scoring.whole.n_labels, scoring.whole.first[i]
    base = scoring.first[row]
    for t in range(scoring.whole.first[i + 1] - row):
        for p in range(scoring.first[row + t], scoring.first[row + t + 1]):
            theta[p - base] = parts[t * n + scoring.label[p]]


@leaf
def _mark(scoring: SelectedRows, i: int, wanted: Array) -> None:
    """Want the candidates of example i."""
    n, row = scoring.whole.n_labels, scoring.whole.first[i]
    for t in range(scoring.whole.first[i + 1] - row):
        for p in range(scoring.first[row + t], scoring.first[row + t + 1]):
            wanted[t * n + scoring.label[p]] = True


@implements(score, SelectedRows)
@leaf
def selected_score(scoring: SelectedRows, i: int, w: Array, work: SelectedWork, theta: Array) -> None:
    n_whole = _n_whole(scoring, i)
    _mark(scoring, i, work.wanted)
    score_subset(scoring.whole, i, w, work.wanted[:n_whole], work.whole, work.answer[:n_whole])
    _clear(scoring, i, n_whole, work.wanted)
    _take(scoring, i, work.answer, theta)


@implements(score_subset, SelectedRows)
@leaf
def selected_score_subset(
    scoring: SelectedRows, i: int, w: Array, wanted: Array, work: SelectedWork, theta: Array
) -> None:
    n_whole = _n_whole(scoring, i)
    _spread(scoring, i, wanted[: theta.size], work.wanted)
    score_subset(scoring.whole, i, w, work.wanted[:n_whole], work.whole, work.answer[:n_whole])
    _clear(scoring, i, n_whole, work.wanted)
    _take(scoring, i, work.answer, theta)


@implements(prefetch, SelectedRows)
@leaf
def selected_prefetch(scoring: SelectedRows, i: int) -> None:
    prefetch(scoring.whole, i)


@implements(add_pullback, SelectedRows)
@leaf
def selected_add_pullback(
    scoring: SelectedRows, i: int, delta: Array, scale: float, w: Array, work: SelectedWork
) -> None:
    size = _spread(scoring, i, delta, work.parts)
    add_pullback(scoring.whole, i, work.parts[:size], scale, w, work.whole)
    _clear(scoring, i, size, work.parts)


@implements(gram, SelectedRows)
@leaf
def selected_gram(
    scoring: SelectedRows, i: int, delta: Array, wanted: Array, work: SelectedWork, out: Array
) -> None:
    size, n_whole = _spread(scoring, i, delta, work.parts), _n_whole(scoring, i)
    _spread(scoring, i, wanted, work.wanted)
    gram(scoring.whole, i, work.parts[:size], work.wanted[:size], work.whole, work.answer[:size])
    _clear(scoring, i, size, work.parts)
    _clear(scoring, i, size, work.wanted)
    _take(scoring, i, work.answer, out)
    for j in range(size - n_whole):
        out[delta.size - (size - n_whole) + j] = work.answer[n_whole + j]


@implements(squared_norm, SelectedRows)
@leaf
def selected_squared_norm(scoring: SelectedRows, i: int, delta: Array, work: SelectedWork) -> float:
    if has_gram(scoring.whole, i):
        return _norm_by_gram(scoring, i, delta, work.parts)
    size = _spread(scoring, i, delta, work.parts)
    found = squared_norm(scoring.whole, i, work.parts[:size], work.whole)
    _clear(scoring, i, size, work.parts)
    return found


@leaf
def _norm_by_gram(scoring: SelectedRows, i: int, delta: Array, own: Array) -> float:
    """sum_{t, u} <x_t, x_u> <delta_t, delta_u>, plus the shared parts, whose features are unit vectors."""
    first, label, row = scoring.first, scoring.label, scoring.whole.first[i]
    length = scoring.whole.first[i + 1] - row
    base, at = first[row], scoring.whole.gram_first[i]
    total = sum_of_squares(delta[first[row + length] - base :])
    for t in range(length):
        for p in range(first[row + t], first[row + t + 1]):
            own[label[p]] = delta[p - base]
        for u in range(t + 1):
            inner = 0.0
            for p in range(first[row + u], first[row + u + 1]):
                inner += own[label[p]] * delta[p - base]
            total += (1.0 if t == u else 2.0) * scoring.whole.gram[at + t * length + u] * inner
        for p in range(first[row + t], first[row + t + 1]):
            own[label[p]] = 0.0
    return total
