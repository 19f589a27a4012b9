"""The k best segmentations, best first: Viterbi with lists of the k best in place of the best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.structures.base import nothing_allowed
from structlearn.structures.segments.viterbi import SegmentScores


class Ranked(NamedTuple):
    """The best candidates of each column of a table, best first, and their rows in it."""

    score: Array
    row: Array


def k_best_segments(scores: SegmentScores, k: int) -> tuple[list[Array], Array]:
    """Return the k best segmentations (all, if fewer are allowed) as rows (start, end, state), and scores."""
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}.")
    n = scores.steps.shape[0]
    ended: list[Ranked] = []  # columns are states
    begun: list[Ranked] = []
    start = scores.start if scores.start.size else np.zeros(n)
    for t in range(len(scores.rows)):
        if t == 0:
            begun.append(Ranked(start[None], np.zeros((1, n), dtype=np.int64)))
        else:
            through = ended[-1].score[:, :, None] + scores.steps
            begun.append(_rank_rows(through.reshape(-1, n), k))
        ended.append(_rank_rows(_candidates(scores, begun, t), k))
    last = ended[-1].score + (scores.end if scores.end.size else 0.0)
    best = np.argsort(-last, axis=None, kind="stable")[:k]
    found = [divmod(int(at), n) for at in best if last.flat[at] > -np.inf]
    if not found:
        raise nothing_allowed("The score vector")
    return [_trace(scores, begun, ended, *one) for one in found], np.array([last[one] for one in found])


def _rank_rows(table: Array, k: int) -> Ranked:
    rows = np.argsort(-table, axis=0, kind="stable")[:k]
    return Ranked(np.take_along_axis(table, rows, axis=0), rows)


def _candidates(scores: SegmentScores, begun: list[Ranked], t: int) -> Array:
    """Return scores of what ends with token t: rows are ranks within lengths, columns states (gaps: 1)."""
    n, (most, n_labels) = scores.steps.shape[0], scores.lengths.shape
    whole = scores.whole.reshape(-1, most, n_labels) if scores.whole.size else None
    inside = np.zeros(n_labels)
    tables = []
    for m in range(min(most, t + 1)):
        s = t - m
        inside = inside + scores.rows[s, :n_labels]
        own = scores.rows[s, n : n + n_labels] + inside + scores.lengths[m] + scores.rows[t, n + n_labels :]
        table = np.full(begun[s].score.shape, -np.inf)
        table[:, :n_labels] = begun[s].score[:, :n_labels] + own + (0.0 if whole is None else whole[s, m])
        if m == 0:
            table[:, n_labels:] = begun[s].score[:, n_labels:] + scores.rows[t, n_labels:n]
        tables.append(table)
    return np.concatenate(tables)


def _trace(scores: SegmentScores, begun: list[Ranked], ended: list[Ranked], rank: int, state: int) -> Array:
    """Trace the segments back, by what each was the best of."""
    n, found, t = scores.steps.shape[0], [], len(scores.rows) - 1
    while t >= 0:
        row = int(ended[t].row[rank, state])
        s = t
        while row >= len(begun[s].row):
            row -= len(begun[s].row)
            s -= 1
        found.append((s, t + 1, state))
        if s > 0:
            rank, state = divmod(int(begun[s].row[row, state]), n)
        t = s - 1
    return np.array(found[::-1], dtype=np.int64)
