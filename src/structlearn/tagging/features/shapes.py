"""Shapes of words: the kinds of their characters, runs of one kind cut short."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import inline, kernel
from structlearn.core.packed_strings import PackedStrings, hash_slices
from structlearn.tagging.features.views import character_kind


def shape_hashes(packed: PackedStrings, longest: int) -> Array:
    """Return the hash of each string's kinds of characters, runs of one kind cut at `longest`."""
    written = np.empty(packed.text.size, dtype=np.uint8)
    ends = np.zeros(packed.first.size, dtype=np.int64)
    write_shapes(*packed, _kinds(packed.points), longest, written, ends)
    return hash_slices(written, ends[:-1], ends[1:])


def _kinds(points: Array) -> Array:
    """Return the letter of each code point's kind; 0 for one that is a kind by itself."""
    table = np.zeros(int(points.max(initial=0)) + 1, dtype=np.uint8)
    for point in np.flatnonzero(np.bincount(points)).tolist():
        kind = character_kind(chr(point))
        table[point] = ord(kind) if kind in "Xxd" else 0
    return table[points]


@inline
def _same_kind(points: Array, kinds: Array, p: int, q: int) -> bool:
    return kinds[p] == kinds[q] if kinds[p] != 0 or kinds[q] != 0 else points[p] == points[q]


@kernel
def write_shapes(
    text: Array,
    points: Array,
    at: Array,
    first: Array,
    kinds: Array,
    longest: int,
    written: Array,
    ends: Array,
) -> None:
    """written <- the shapes of all strings, end to end; ends <- where each one ends."""
    n = 0
    for i in range(first.size - 1):
        run = 0
        for p in range(first[i], first[i + 1]):
            same = p > first[i] and _same_kind(points, kinds, p - 1, p)
            run = run + 1 if same else 1
            if run > longest:
                continue
            if kinds[p] != 0:
                written[n] = kinds[p]
                n += 1
            else:
                for q in range(at[p], at[p + 1]):
                    written[n] = text[q]
                    n += 1
        ends[i + 1] = n
