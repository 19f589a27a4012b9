"""Selections: some of the parts, as many as are asked for."""

from __future__ import annotations

from functools import cached_property
from operator import index
from typing import NamedTuple, SupportsIndex

import numpy as np

from structlearn.core.contract import Array, Shape, max_value, maximize, workspace
from structlearn.core.kernels import implements, jitable, leaf
from structlearn.structures.decisions.decision import Decisions, stored_decisions
from structlearn.structures.decisions.ranking import rank
from structlearn.structures.instances import of_instances
from structlearn.structures.registry import count


class SubsetBounds(NamedTuple):
    """One instance: how many of the parts may be chosen."""

    n_parts: int
    least: int
    most: int

    @property
    def most_chosen(self) -> int:
        return self.most


@of_instances
class SubsetRecord(NamedTuple):
    """The compiled form of `Subset`: sizes and bounds of the instances."""

    n_parts: Array
    least: Array
    most: Array


@stored_decisions("some of the parts", {"n_parts": count, "least": count, "most": count})
class Subset(Decisions):
    """M = {z in [0, 1]^n : least <= sum z <= most}: between `least` and `most` of n parts.

    Parameters
    ----------
    n_parts : int
    least, most : int
        0 <= least <= most <= n_parts.
    """

    threshold = 0.5

    def __init__(self, n_parts: SupportsIndex, least: SupportsIndex, most: SupportsIndex) -> None:
        n, low, high = index(n_parts), index(least), index(most)
        if n < 1 or not 0 <= low <= high <= n:
            raise ValueError(
                f"{type(self).__name__} needs 0 <= least <= most <= n_parts; got least={low}, most={high} of "
                f"{n} parts."
            )
        self.least, self.most = low, high
        self.instances = (SubsetBounds(n, low, high),)

    @cached_property
    def instance_record(self) -> SubsetRecord:
        return SubsetRecord(*(np.array([one[k] for one in self.instances]) for k in (0, 1, 2)))


@stored_decisions("exactly k of the parts", {"n_parts": count, "k": count})
class TopK(Subset):
    """M = {z in [0, 1]^n : sum z = k}: exactly k of n parts, those of the highest scores.

    Parameters
    ----------
    n_parts, k : int
    """

    def __init__(self, n_parts: SupportsIndex, k: SupportsIndex) -> None:
        super().__init__(n_parts, k, k)
        self.k = self.most


@implements(workspace, SubsetRecord)
@jitable
def subset_workspace(structure: SubsetRecord, shape: Shape) -> Array:
    return np.empty(structure.n_parts.max(), dtype=np.int64)


@implements(max_value, SubsetRecord)
@implements(maximize, SubsetRecord)
@leaf
def subset_maximize(
    structure: SubsetRecord, shape: Shape, theta: Array, shared: Array, work: Array, vertex: Array
) -> float:
    order = work[: theta.size]
    rank(theta, order)
    value = 0.0
    for j in range(theta.size):
        part = order[j]
        taken = j < structure.most[shape[1]] and (j < structure.least[shape[1]] or theta[part] > 0.0)
        vertex[part] = 1.0 if taken else 0.0
        value += theta[part] if taken else 0.0
    return value
