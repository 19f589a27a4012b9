"""Spans of many sequences at once: checked, and with the gaps between them as segments of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array


class Tiles(NamedTuple):
    """The segments of many sequences, end to end: gaps are segments of one token, of a label of their own.

    owner, first, size, label : (n_segments,) sequence, first token in it, number of tokens, label
    states : (n_tokens,) the label of each token's segment
    """

    owner: Array
    first: Array
    size: Array
    label: Array
    states: Array


def span_array(y: object) -> Array:
    """Return one output as an int array of rows (start, end, label); ValueError if it is not one."""
    spans = np.asarray(y)
    if spans.size == 0:
        return np.empty((0, 3), dtype=np.int64)
    if spans.ndim != 2 or spans.shape[1] != 3:
        raise ValueError(
            f"A segmentation must be a list of (start, end, label); got the shape {spans.shape}."
        )
    if not np.issubdtype(spans.dtype, np.integer):
        raise ValueError(f"Spans of a part vector must be integers; got {spans.dtype}.")
    return spans.astype(np.int64)


def lay_tiles(
    ys: Iterable[object], lengths: Array, *, n_labels: int, max_length: int, gaps: bool, noun: str = "Output"
) -> Tiles:
    """Return the tiles of outputs; ValueError for the first impossible span, named by `noun` and number."""
    arrays = [span_array(y) for y in ys]
    spans = np.concatenate([np.empty((0, 3), dtype=np.int64), *arrays])
    owner = np.repeat(np.arange(len(arrays)), [len(one) for one in arrays])
    start, end, label = spans.T

    after = np.r_[0, end[:-1]]
    after[np.diff(owner, prepend=-1) > 0] = 0
    for wrong, problem in (
        ((start < 0) | (end > lengths[owner]), "outside its {length} tokens."),
        (start >= end, "which has no token: the end is exclusive."),
        (start < after, "which begins before {after}, where the one before it ends: give spans in order."),
        ((label < 0) | (label >= n_labels), f"whose label {{label}} is outside 0 .. {n_labels - 1}."),
        (end - start > max_length, f"of {{size}} tokens; the longest allowed has {max_length}."),
    ):
        for i in np.flatnonzero(wrong)[:1]:
            said = {
                "length": lengths[owner[i]],
                "after": after[i],
                "label": label[i],
                "size": end[i] - start[i],
            }
            raise ValueError(
                f"{noun} {owner[i]} has the span ({start[i]}, {end[i]}), {problem.format(**said)}"
            )
    return _tiles(spans, owner, lengths, n_labels, gaps, noun)


def _tiles(spans: Array, owner: Array, lengths: Array, outside: int, gaps: bool, noun: str) -> Tiles:
    start, end, label = spans.T
    offset = np.cumsum(lengths) - lengths
    size = end - start
    states = np.full(int(lengths.sum()), outside)
    begins = np.ones(states.size, dtype=bool)
    inside = np.repeat(start + offset[owner] - np.cumsum(size) + size, size) + np.arange(size.sum())
    states[inside] = np.repeat(label, size)
    begins[inside] = False
    begins[start + offset[owner]] = True
    if not gaps and (states == outside).any():
        at = np.flatnonzero(states == outside)[0]
        i = int(np.searchsorted(offset, at, side="right")) - 1
        raise ValueError(
            f"{noun} {i} has a gap at token {at - offset[i]}; without gaps, spans cover every token."
        )
    first = np.flatnonzero(begins)
    sizes = np.diff(np.r_[first, states.size])
    owners = np.repeat(np.arange(lengths.size), lengths)[first]
    return Tiles(owners, first - offset[owners], sizes, states[first], states)
