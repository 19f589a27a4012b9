"""Gold vertices and costs of all examples, made a range at a time: neither need ever be whole in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.scoring import Scoring
from structlearn.structures import Structure
from structlearn.structures.base import SparseVertices


class Sliceable(Protocol):
    """Outputs that a slice gives a list of."""

    def __getitem__(self, key: slice, /) -> Sequence[object] | Array: ...


class Pieces:
    """Outputs that are pieces of one array: a slice is a list of some of them."""

    def __init__(self, whole: Array, lengths: Array) -> None:
        self.whole = whole
        self.first = np.concatenate([[0], np.cumsum(lengths)])

    def __getitem__(self, key: slice) -> list[Array]:
        first = self.first[key.start : key.stop + 1]
        return np.split(self.whole[first[0] : first[-1]], first[1:-1] - first[0])


def gold_and_cost(
    structure: Structure,
    outputs: Sliceable,
    scoring: Scoring,
    memory: Memory,
    *,
    costs: bool = True,
    **options: object,
) -> tuple[SparseVertices, Array]:
    """Return `encode_many` and `cost_many` of all examples. `outputs` gives lists of outputs by slices.

    Where the loss takes no costs they are zeros, which take no memory; options are checked all the same.

    Whatever belongs to single examples is cut where they are: outputs, shapes, and the structure's options.
    """
    start, shapes = scoring.start, scoring.shapes
    most = int(structure.most_entries_many(shapes).sum())
    gold = SparseVertices(
        np.zeros(len(shapes) + 1, dtype=np.int64), memory.empty(most, np.int64), memory.empty(most)
    )
    cost = memory.empty(start[-1]) if costs else np.zeros(start[-1])
    structure.check_examples(shapes, np.diff(start), scoring.n_shared)
    end = 0
    for first, last in scoring.chunks():
        part = structure.encode_many(outputs[first:last], shapes[first:last])
        begin, end = end, end + part.index.size
        gold.start[first + 1 : last + 1] = begin + part.start[1:]
        gold.index[begin:end], gold.value[begin:end] = part.index, part.value
        if not costs and first > 0:
            continue
        own = structure.some_options(options, slice(first, last), len(shapes))
        found = structure.cost_many(part, shapes[first:last], **own)
        if costs:
            cost[start[first] : start[last]] = found
    return gold._replace(index=gold.index[:end], value=gold.value[:end]), cost
