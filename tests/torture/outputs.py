"""All corners of small polytopes, by enumeration."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any


def sequences(n_labels: int, length: int) -> list[tuple[int, ...]]:
    return list(product(range(n_labels), repeat=length))


def switches(n_labels: int) -> list[tuple[int, ...]]:
    return sequences(2, n_labels)


def transitions(labels: tuple[int, ...], n_labels: int) -> list[int]:
    """How often each pair (from, to) occurs."""
    pairs = list(pairwise(labels))
    return [pairs.count(pair) for pair in product(range(n_labels), repeat=2)]


def matchings(m: int, n: int, unmatched: bool, capacities: tuple[int, int]) -> list[tuple[int, ...]]:
    """0/1 tables, row by row, within the capacities; all of the smaller side is linked unless unmatched."""

    def allowed(table: tuple[int, ...]) -> bool:
        rows = [sum(table[i * n : (i + 1) * n]) for i in range(m)]
        columns = [sum(table[j::n]) for j in range(n)]
        smaller = rows if m <= n else columns
        return (
            max(rows) <= capacities[0] and max(columns) <= capacities[1] and (unmatched or min(smaller) >= 1)
        )

    return [table for table in switches(m * n) if allowed(table)]


def trees(n_words: int, projective: bool, single_root: bool) -> list[tuple[int, ...]]:
    """Heads of the words 1 .. n, 0 the root: no cycle and, where projective, no crossing arcs."""

    def reaches_root(heads: tuple[int, ...], word: int) -> bool:
        for _ in heads:
            word = word and heads[word - 1]
        return word == 0

    def crosses(heads: tuple[int, ...]) -> bool:
        arcs = [sorted((h, m)) for m, h in enumerate(heads, 1)]
        return any(a < c < b < d for (a, b), (c, d) in product(arcs, arcs))

    return [
        heads
        for heads in product(range(n_words + 1), repeat=n_words)
        if all(reaches_root(heads, m) for m in range(1, n_words + 1))
        and (heads.count(0) == 1 or not single_root)
        and not (projective and crosses(heads))
    ]


def cuts(n_nodes: int, edges: Any) -> list[tuple[int, ...]]:
    """Labels of the nodes, then edges: those between unlike labels are cut, others may be."""
    return [
        (*labels, *cut)
        for labels in switches(n_nodes)
        for cut in product(*((1,) if labels[i] != labels[j] else (0, 1) for i, j in edges))
    ]


def segmentations(
    length: int, n_labels: int, longest: int, *, gaps: bool, first: int = 0
) -> list[tuple[tuple[int, int, int], ...]]:
    """Tiles (start, end, label) of at most so many tokens; a token of a gap has the last label."""
    if first == length:
        return [()]
    ends = range(first + 1, min(first + longest, length) + 1)
    tiles = [(first, end, k) for end in ends for k in range(n_labels)]
    tiles += [(first, first + 1, n_labels)] if gaps else []
    return [
        (tile, *rest)
        for tile in tiles
        for rest in segmentations(length, n_labels, longest, gaps=gaps, first=tile[1])
    ]


def one_hot(chosen: int, size: int) -> list[int]:
    return [int(k == chosen) for k in range(size)]
