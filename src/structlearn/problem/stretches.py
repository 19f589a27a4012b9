"""Long sequences in stretches, between borders at which z is the gold label.

A dual point z_i is a distribution over the label sequences of an example. Held at the gold label of some
positions, its borders, what lies between two of them is independent of the rest: a block of its own, with a
step length of its own. Such a z_i is a point of the whole sequence's polytope, and its entropy is the sum of
those of its stretches. So

    D of the problem of stretches is D of the whole problem, at the same z,

and only P asks for whole sequences. What borders cost is -log p_w(their gold labels), next to nothing where
the model is sure of them. Two stretches merge by adding up their shared parts and their entropies: D stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.rounding import Magnitude
from structlearn.problem.objective import Objective
from structlearn.problem.regularizers import Shannon
from structlearn.scoring.rows.rows import LabelScoring
from structlearn.structures.base import SparseVertices
from structlearn.structures.chain.chain import Chain

#: The score of labels other than the gold one at borders: no finite score makes up for it.
CLAMP = -1e4
#: How far from one the gold label of a border may be, by rounding.
ONE = 1e-11


@dataclass(frozen=True, eq=False)
class Stretches:
    """The sequences of an objective, cut at borders.

    whole : the objective of whole sequences (see `can_be_cut`)
    borders : rows, in increasing order, none of them the first or the last of its sequence
    """

    whole: Objective
    borders: Array

    @classmethod
    def every(cls, whole: Objective, step: int) -> Stretches:
        """Cut at every so many positions."""
        first = scoring_of(whole).first
        owner = np.repeat(np.arange(first.size - 1), np.diff(first))
        place = np.arange(first[-1]) - first[owner]
        inside = (place > 0) & (place < np.diff(first)[owner] - 2)
        return cls(whole, np.flatnonzero(inside & (place % step == 0)))

    # ---- where stretches are ---------------------------------------------------------------------------

    @cached_property
    def begin(self) -> Array:
        """The first row of each stretch."""
        return np.sort(np.concatenate([scoring_of(self.whole).first[:-1], self.borders]))

    @cached_property
    def end(self) -> Array:
        """The last row of each stretch: the border that is the next one's first, or the sequence's last."""
        following = np.append(self.begin[1:], scoring_of(self.whole).first[-1])
        return following - ~np.isin(following, self.borders)

    @cached_property
    def rows(self) -> Array:
        """The rows of all stretches, end to end: those of borders twice."""
        lengths = self.end - self.begin + 1
        offsets = np.cumsum(lengths) - lengths
        return np.arange(lengths.sum()) - np.repeat(offsets - self.begin, lengths)

    @cached_property
    def labels(self) -> Array:
        """The gold label of each row of the whole sequences."""
        return gold_labels(self.whole)

    # ---- their problem ---------------------------------------------------------------------------------

    @cached_property
    def objective(self) -> Objective:
        """The objective of stretches, each with the weight of its sequence."""
        whole = self.whole
        if not self.borders.size:
            return whole
        scoring = scoring_of(whole).of_rows(self.rows, self.end - self.begin + 1)
        labels = self.labels[self.rows]
        gold = whole.structure.encode_many(np.split(labels, scoring.first[1:-1]), scoring.shapes)
        owner = np.searchsorted(scoring_of(whole).first, self.begin, side="right") - 1
        return StretchObjective(whole, scoring, gold, self._clamps(labels).ravel(), owner)

    def _clamps(self, labels: Array) -> Array:
        """Return what is added to scores, of shape (n_rows, n_labels)."""
        clamps = np.zeros((labels.size, scoring_of(self.whole).n_labels))
        held = np.isin(self.rows, self.borders)
        clamps[held] = CLAMP
        clamps[np.flatnonzero(held), labels[held]] = 0.0
        return clamps

    # ---- fewer borders ---------------------------------------------------------------------------------

    def losses(self, w: Array) -> Array:
        """-log p_w(gold label) of each border, times the weight of its sequence."""
        whole, scoring = self.whole, scoring_of(self.whole)
        ones, k = np.ones(scoring.n_examples), scoring.n_labels
        found = np.empty(self.borders.size)
        for asked in whole.oracle.maximizers(w, whole.cost, ones):
            first, last = scoring.first[asked.first], scoring.first[asked.last]
            own = slice(*np.searchsorted(self.borders, [first, last]))
            rows = self.borders[own]
            shares = asked.vertices.reshape(-1, k)[rows - first, self.labels[rows]]
            found[own] = -np.log(np.maximum(shares, np.finfo(float).tiny))
        owner = np.searchsorted(scoring.first, self.borders, side="right") - 1
        return found * whole.weight[owner]

    def merge(self, borders: Array, z: Array, *sums: Array) -> tuple[Stretches, Array, list[Array]]:
        """Keep some borders; return the longer stretches with the same z, and `sums` of what stretches have.

        ValueError if z is not the gold label at a border, as far as rounding goes.
        """
        coarse, n_shared = Stretches(self.whole, borders), self.whole.scoring.n_shared
        places, k = np.searchsorted(self.begin, coarse.begin), scoring_of(self.whole).n_labels
        parts = z_by_rows(z, self.end - self.begin + 1, k, n_shared)
        held = np.flatnonzero(np.isin(self.rows, self.borders))
        if (parts.local[held, self.labels[self.rows[held]]] < 1.0 - ONE).any():
            raise ValueError("The dual point is not the gold label at a border.")
        table = np.empty((scoring_of(self.whole).first[-1], k))
        table[self.rows] = parts.local
        shared = np.add.reduceat(parts.shared, places, axis=0)
        found = join_parts(table[coarse.rows], shared, coarse.end - coarse.begin + 1)
        return coarse, found, [np.add.reduceat(one, places) for one in sums]


class StretchObjective(Objective):
    """The objective of stretches, `owner` being the sequence of each: their weights do not add up to 1."""

    def __init__(
        self, whole: Objective, scoring: LabelScoring, gold: SparseVertices, cost: Array, owner: Array
    ) -> None:
        super().__init__(
            whole.structure,
            scoring,
            gold,
            cost,
            regularization=whole.regularization,
            regularizer=whole.regularizer,
            penalty=whole.penalty,
            n_jobs=whole.oracle.n_jobs,
        )
        self.weight = whole.weight[owner]
        self.active = np.flatnonzero(self.weight > 0)
        self._whole = whole

    @cached_property
    def magnitude(self) -> Magnitude:
        """That of the whole problem: labels which are not allowed at borders take part in no sum."""
        return self._whole.magnitude


@dataclass(frozen=True, eq=False)
class PartsByRow:
    """A dense dual point: local parts (n_rows, n_labels), and shared ones (n_stretches, n_shared)."""

    local: Array
    shared: Array


def z_by_rows(z: Array, lengths: Array, n_labels: int, n_shared: int) -> PartsByRow:
    """Tell the local parts of a dense dual point from the shared ones."""
    is_shared = shared_places(lengths, n_labels, n_shared)
    return PartsByRow(z[~is_shared].reshape(-1, n_labels), z[is_shared].reshape(-1, n_shared))


def join_parts(local: Array, shared: Array, lengths: Array) -> Array:
    """Return the dense dual point of these parts."""
    is_shared = shared_places(lengths, local.shape[1], shared.shape[1])
    z = np.empty(is_shared.size)
    z[~is_shared], z[is_shared] = local.ravel(), shared.ravel()
    return z


def shared_places(lengths: Array, n_labels: int, n_shared: int) -> Array:
    """Return which entries of a dense dual point are shared parts."""
    counts = np.stack([lengths * n_labels, np.full(lengths.size, n_shared)], axis=1).ravel()
    return np.repeat(np.tile([False, True], lengths.size), counts)


def scoring_of(objective: Objective) -> LabelScoring:
    """Return the scoring of an objective that can be cut."""
    assert isinstance(objective.scoring, LabelScoring)  # noqa: S101
    return objective.scoring


def gold_labels(objective: Objective) -> Array:
    """Return the gold label of each row."""
    scoring, gold = scoring_of(objective), objective.gold
    owner = np.repeat(np.arange(scoring.n_examples), np.diff(gold.start))
    local = gold.index < np.diff(scoring.start)[owner]
    parts = scoring.start[owner[local]] + gold.index[local]
    labels = np.empty(scoring.first[-1], dtype=np.int64)
    labels[parts // scoring.n_labels] = parts % scoring.n_labels
    return labels


def can_be_cut(objective: object) -> bool:
    """Whether examples are chains without weights of first and last labels, and the loss is softmax."""
    if not isinstance(objective, Objective):
        return False
    structure = objective.structure
    if type(structure) is not Chain or structure.start or structure.end:
        return False
    return isinstance(objective.scoring, LabelScoring) and isinstance(objective.regularizer, Shannon)
