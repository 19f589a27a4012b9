"""The active-set form of a dual point: every block is a mixture of a few *atoms*, written sparsely.

    z_i = sum_a alpha_a s_a,   alpha_a >= 0,   sum_a alpha_a = 1

An atom is a point of M_i: a vertex that the oracle gave, or a dual point of another solver. Each block keeps
the Gram matrix <Phi_i^T s_a, Phi_i^T s_b> of its atoms, so that steps among them need no scores. Blocks have
regions of flat arrays, as large as they need: a block without room for one more atom gets a larger region
before the next pass.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import DTypeLike

from structlearn.core.contract import Array, scoring_workspace
from structlearn.core.kernels import kernel
from structlearn.core.memory import Memory
from structlearn.core.vectors import sum_of
from structlearn.problem.objective import Objective
from structlearn.problem.oracle import ExampleBlocks
from structlearn.scoring.erased import ErasedScoring
from structlearn.solvers.bcfw.atoms import Store, add_to, append, atoms_of, connect, find, mark
from structlearn.solvers.solution import DualPoint, Solution

#: Blocks that are copied or mixed at a time.
BLOCKS_AT_ONCE = 1 << 13
#: Blocks without room may hold at most this fraction of the gap: they make place by forgetting or mixing,
#: which needs no copy of all the others, but where mixtures are long it may be in vain.
GAP_WITHOUT_ROOM = 0.02


class ActiveSet:
    """A dual point in active-set form; NumPy makes a dense one of it.

    Parameters
    ----------
    store : Store
    objective : Objective
        Its layout, and where it has room.

    Attributes
    ----------
    point_start : int array of shape (n_examples + 1,)
        Where each example begins in a dense dual point.
    """

    def __init__(self, store: Store, objective: Objective) -> None:
        self.store = store
        self.point_start = objective.point_start
        self.memory = objective.memory

    @classmethod
    def of_points(cls, objective: Objective, start: Array, index: Array, value: Array) -> ActiveSet:
        """Make one atom per block, written sparsely: entries start[i]:start[i + 1] are those of block i."""
        n = objective.scoring.n_examples
        ones, lengths = np.ones(n, dtype=np.int64), np.diff(start)
        store = empty_store(ones, lengths, objective.memory)
        store.weight[:], store.count[:] = 1.0, 1
        store.edge[1::2] = lengths
        store.index[:], store.value[:] = index, value
        return cls(store, objective)

    @classmethod
    def of(cls, objective: Objective, point: DualPoint) -> ActiveSet:
        """Copy `point` into this form: an active set keeps its atoms, else every z_i becomes one atom."""
        if not isinstance(point, ActiveSet):
            z = np.asarray(point)
            entries = np.flatnonzero(z)
            start = np.searchsorted(entries, objective.point_start)
            offset = np.repeat(objective.point_start[:-1], np.diff(start))
            return cls.of_points(objective, start, entries - offset, z[entries])
        store = Store(*(_copy(array, objective.memory) for array in point.store))
        store.last[:] = 0
        return cls(store, objective)

    @classmethod
    def start(cls, objective: Objective, warm: Solution | None) -> tuple[ActiveSet, Array, float]:
        """Return z, w(z) and the cost of z: mu, or from there towards another run's point."""
        z, fraction = cls.of_points(objective, *objective.gold), 1.0
        w, cost = np.zeros(objective.n_weights), 0.0
        if warm is not None and warm.point is not None:
            z = cls.of(objective, warm.point)
            w, cost = z.weights(objective)
            fraction = objective.best_fraction(w, cost)
        if fraction < 1.0:
            z.shrink(objective, fraction)
        z.connect(objective)
        return z, fraction * w, fraction * cost

    @property
    def shape(self) -> tuple[int]:
        return (int(self.point_start[-1]),)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        z = np.empty(self.shape, dtype=np.float64)
        for first, last in _pieces(self.store.count.size):
            z[self.point_start[first] : self.point_start[last]] = self.dense_blocks(first, last)
        return z if dtype is None else z.astype(dtype, copy=False)

    def dense_blocks(self, first: int, last: int) -> Array:
        z = np.empty(self.point_start[last] - self.point_start[first])
        fill_points(self.store, self.point_start, first, last, z)
        return z

    def connect(self, objective: Objective) -> None:
        """Compute costs and Gram matrices of all atoms afresh, and let weights add up to one."""

        def part(first: int, last: int) -> None:
            connect_blocks(
                objective.scoring.for_pass(connect_blocks), objective.blocks, self.store, first, last
            )

        objective.team.share_out(self.store.count.size, part)

    def weights(self, objective: Objective) -> tuple[Array, float]:
        """Return w(z) and the cost of z (see `Objective.weights_of`)."""
        return objective.weights_from(lambda *chunk: _write_mixtures(self.store, objective.blocks, *chunk))

    def shrink(self, objective: Objective, fraction: float) -> None:
        """z <- mu + fraction (z - mu): the gold vertex is or becomes an atom; `connect` must follow."""
        every = np.arange(objective.scoring.n_examples)
        self.make_room(objective, every, int(self.store.count.max()) + 1)
        mix_gold(objective.blocks, self.store, objective.scoring.n_shared, fraction)

    def make_room(
        self, objective: Objective, order: Array, most_atoms: int, gaps: Array | None = None
    ) -> None:
        """Make room for a new atom at each visit of `order`; regions at least double, so that copies are few.

        For the same reason, where `gaps` of all blocks are given, those that hold little may stay without.
        """
        store, most_entries = self.store, objective.most_entries
        visits = np.bincount(order, minlength=store.count.size)
        blocks = np.flatnonzero(visits)
        visits = visits[blocks]
        atoms, entries = np.diff(store.atom_first), np.diff(store.entry_first)
        used = store.edge[store.atom_first[blocks] + blocks + store.count[blocks]]
        new = np.minimum(visits, most_atoms)
        wanted = np.minimum(store.count[blocks] + new, most_atoms)
        larger = _double_room(atoms[blocks], wanted, most_atoms)
        longer = _double_room(entries[blocks], used + new * most_entries[blocks], None)
        short = (larger > atoms[blocks]) | (longer > entries[blocks])
        if short.any() and (gaps is None or not _is_small(gaps[blocks[short]], gaps)):
            atoms[blocks], entries[blocks] = larger, longer
            fresh = empty_store(atoms, entries, self.memory)
            objective.team.share_out(store.count.size, partial(copy_blocks, store, fresh))
            self.store = fresh


def _pieces(n: int) -> list[tuple[int, int]]:
    """Return ranges of blocks, so that intermediate arrays stay small."""
    return [(first, min(first + BLOCKS_AT_ONCE, n)) for first in range(0, n, BLOCKS_AT_ONCE)]


def _is_small(some: Array, gaps: Array) -> bool:
    """Return whether some blocks hold so little of the gap; what is infinite is not known yet."""
    return bool(some.sum() <= GAP_WITHOUT_ROOM * gaps.sum() < np.inf)


def _double_room(room: Array, wanted: Array, most: int | None) -> Array:
    """Return `room` where that is enough, else twice as much or what is wanted."""
    larger = np.maximum(2 * room, wanted)
    return np.where(wanted > room, larger if most is None else np.minimum(larger, most), room)


def _copy(array: Array, memory: Memory) -> Array:
    copied = memory.empty(array.size, array.dtype)
    copied[:] = array
    return copied


def empty_store(atoms: Array, entries: Array, memory: Memory) -> Store:
    """Make room for `atoms[i]` atoms and `entries[i]` entries in each block i."""
    atom_first, entry_first, gram_first = (_firsts(sizes) for sizes in (atoms, entries, atoms**2))
    n_atoms, n_entries = int(atom_first[-1]), int(entry_first[-1])
    return Store(
        np.zeros(len(atoms), dtype=np.int64),
        atom_first,
        entry_first,
        gram_first,
        memory.zeros(n_atoms),
        memory.zeros(n_atoms),
        memory.zeros(n_atoms, np.int64),
        memory.zeros(n_atoms + len(atoms), np.int64),
        memory.zeros(n_entries, np.int32),
        memory.zeros(n_entries),
        memory.zeros(gram_first[-1]),
    )


def _firsts(sizes: Array) -> Array:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


# ---- all blocks at once ------------------------------------------------------------------------------


def ranges(begin: Array, length: Array) -> Array:
    """Return begin[0], begin[0] + 1, ..., length[0] numbers in all, then those of the next, and so on."""
    ends = np.cumsum(length)
    return np.arange(int(length.sum())) + np.repeat(begin - (ends - length), length)


@kernel
def copy_blocks(store: Store, fresh: Store, first: int, last: int) -> None:
    """Copy blocks first .. last - 1 into their regions of a store with more room."""
    for i in range(first, last):
        count = store.count[i]
        fresh.count[i] = count
        old, new = atoms_of(store, i), atoms_of(fresh, i)
        for a in range(count):
            new.weight[a], new.cost[a], new.last[a] = old.weight[a], old.cost[a], old.last[a]
            for b in range(count):
                new.gram[a, b] = old.gram[a, b]
        for a in range(count + 1):
            new.edge[a] = old.edge[a]
        for e in range(old.edge[count]):
            new.index[e], new.value[e] = old.index[e], old.value[e]


@kernel
def fill_points(store: Store, start: Array, first: int, last: int, out: Array) -> None:
    """out <- z_i of blocks first .. last - 1, end to end; start : where each block begins among all."""
    out[:] = 0.0
    for i in range(first, last):
        atoms, point = atoms_of(store, i), out[start[i] - start[first] : start[i + 1] - start[first]]
        for a in range(store.count[i]):
            add_to(atoms, a, atoms.weight[a], point)


@kernel
def _write_mixtures(
    store: Store, blocks: ExampleBlocks, first: int, last: int, local: Array, shared: Array
) -> None:
    """local <- p_i z_i of the local parts, end to end; shared <- shared - sum_i p_i z_i of the others."""
    local[:] = 0.0
    for i in range(first, last):
        atoms, at = atoms_of(store, i), blocks.start[i] - blocks.start[first]
        size = blocks.start[i + 1] - blocks.start[i]
        for a in range(store.count[i]):
            weight = blocks.weight[i] * atoms.weight[a]
            for e in range(atoms.edge[a], atoms.edge[a + 1]):
                j = atoms.index[e]
                if j < size:
                    local[at + j] += weight * atoms.value[e]
                else:
                    shared[j - size] -= weight * atoms.value[e]


@kernel
def connect_blocks(
    scoring: ErasedScoring, blocks: ExampleBlocks, store: Store, first: int, last: int
) -> None:
    """Compute weights that add up to one, costs and Gram matrices of blocks first .. last - 1."""
    work = scoring_workspace(scoring)
    points = np.zeros((2, blocks.most_parts + scoring.n_shared))
    marks = np.zeros(blocks.most_parts, dtype=np.bool_)
    for i in range(first, last):
        atoms, count = atoms_of(store, i), store.count[i]
        cost = blocks.cost[blocks.start[i] : blocks.start[i + 1]]
        n_parts = cost.size + scoring.n_shared
        point, out, wanted = points[0, :n_parts], points[1, :n_parts], marks[: cost.size]
        mark(atoms, count, wanted)
        weight = sum_of(atoms.weight[:count])
        for a in range(count):
            atoms.weight[a] /= weight
            point[:] = 0.0
            add_to(atoms, a, 1.0, point)
            connect(scoring, i, atoms, a, count, cost, point, wanted, work, out)


@kernel
def mix_gold(blocks: ExampleBlocks, store: Store, n_shared: int, fraction: float) -> None:
    """Multiply weights by `fraction`; the rest of the weight goes to the gold vertex."""
    mu = np.zeros(blocks.most_parts + n_shared)
    for i in range(store.count.size):
        n_parts = blocks.start[i + 1] - blocks.start[i] + n_shared
        a, b = blocks.gold_start[i], blocks.gold_start[i + 1]
        for e in range(a, b):
            mu[blocks.gold_index[e]] = blocks.gold_value[e]
        atoms = atoms_of(store, i)
        gold = find(atoms, store.count[i], mu, b - a)
        if gold < 0:
            gold = append(store, i, atoms, mu[:n_parts], 0.0, 0)
        for j in range(store.count[i]):
            atoms.weight[j] *= fraction
        atoms.weight[gold] += 1.0 - fraction
        for e in range(a, b):
            mu[blocks.gold_index[e]] = 0.0
