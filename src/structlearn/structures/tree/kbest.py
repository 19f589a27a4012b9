"""The k best trees: the best of all, then the best of what is left (Lawler 1972, Murty 1968).

A set of trees is given by the choices of the first words, and by choices that the next one must not make.
When its best tree is taken, the rest falls into one set for each later word: equal to that tree before the
word, different there. Each set costs one `maximize`.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structlearn.core.contract import Array, maximize, workspace
from structlearn.structures.base import nothing_allowed

if TYPE_CHECKING:
    from structlearn.structures.tree.labelled import LabelledTree
    from structlearn.structures.tree.trees import Tree


class _Set(NamedTuple):
    """Trees by their best one; sorts the best first, and equals by age."""

    loss: float
    age: int
    #: the best tree: the choice of each word, head * labels + label
    best: Array
    #: how many words have no choice
    n_fixed: int
    #: what the next one must not choose
    forbidden: tuple[int, ...]


def k_best_trees(structure: Tree | LabelledTree, theta: Array, k: int) -> tuple[Array, Array]:
    """argmax^(1..k)_y <theta, z(y)>: the k best trees, as choices head * labels + label, and their scores."""
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}.")
    theta, shape = structure.read_scores(theta)
    search = _Search(structure, theta, shape)
    first = search.best_of(None, 0, ())
    if first is None:
        raise nothing_allowed("The score table")
    heap = [first]
    found: list[_Set] = []
    while heap and len(found) < k:
        one = heapq.heappop(heap)
        found.append(one)
        for word in range(one.n_fixed, one.best.size):
            taken = (*(one.forbidden if word == one.n_fixed else ()), int(one.best[word]))
            rest = search.best_of(one.best, word, taken)
            if rest is not None:
                heapq.heappush(heap, rest)
    return np.array([one.best for one in found]), np.array([-one.loss for one in found])


class _Search:
    """The best tree of one set after the other; tables are (choices, words)."""

    def __init__(self, structure: Tree | LabelledTree, theta: Array, shape: tuple[int, int]) -> None:
        self.structure, self.shape = structure, shape
        self.table = structure.by_choice(theta)
        self.work = workspace(structure.record, shape)
        self.age = 0

    def best_of(self, fixed: Array | None, n_fixed: int, forbidden: tuple[int, ...]) -> _Set | None:
        """Return the set in which the first words choose as `fixed` does; None if it is empty."""
        table = self.table.copy()
        if fixed is not None and n_fixed:
            words = np.arange(n_fixed)
            kept = table[fixed[:n_fixed], words]
            table[:, :n_fixed] = -np.inf
            table[fixed[:n_fixed], words] = kept
        table[list(forbidden), n_fixed if forbidden else 0] = -np.inf
        theta = self.structure.from_choices(table).ravel()
        vertex = np.zeros(theta.size)
        value = maximize(self.structure.record, self.shape, theta, theta[:0], self.work, vertex)
        if value == -np.inf:
            return None
        choice = np.argmax(self.structure.by_choice(vertex), axis=0)
        self.age += 1
        score = float(self.table[choice, np.arange(choice.size)].sum())
        return _Set(-score, self.age, choice, n_fixed, forbidden)
