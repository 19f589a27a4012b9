"""Blocks that were read from a checkpoint, against the objective: compiled code trusts their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structlearn.core.contract import Array
from structlearn.problem.objective import Objective
from structlearn.solvers.bcfw.active_set import ranges
from structlearn.solvers.bcfw.atoms import Store
from structlearn.solvers.bcfw.lead import FOLLOWED
from structlearn.solvers.bcfw.totals import CACHED_GAP

if TYPE_CHECKING:
    from structlearn.solvers.bcfw.blocks import BlockState

#: Entries of atoms that are looked at together.
ENTRIES_AT_ONCE = 1 << 16


def check_state(objective: Objective, state: BlockState) -> None:
    """Raise a ValueError if the arrays that all representations share do not fit the objective."""
    n, d = objective.scoring.n_examples, objective.n_weights
    sizes = {"w": {d}, "gaps": {n}, "totals": {CACHED_GAP + 1}, "lag": {0, d}}
    for name, known in sizes.items():
        _check(_is_vector(getattr(state, name), "f8") and getattr(state, name).size in known, name)
    _check(all(np.isfinite(one) and one > 0.0 for one in state.pace), "pace")
    if state.lead is not None:
        *vectors, scalars = state.lead
        _check(all(_is_vector(array, "f8") and array.size == d for array in vectors), "lead")
        _check(_is_vector(scalars, "f8") and scalars.size == FOLLOWED + 1, "lead")
    _check(_is_vector(state.order, "i8") and _are_between(state.order, n), "blocks")


def check_dense(objective: Objective, z: Array, h: Array) -> None:
    """Raise a ValueError if z or the bounds h have other sizes."""
    n = objective.scoring.n_examples if objective.regularizer.smooth else 0
    _check(_is_vector(z, "f8") and z.size == objective.point_start[-1], "z")
    _check(_is_vector(h, "f8") and h.size == n, "bounds")


def check_store(store: Store, n_parts: Array) -> None:
    """Raise a ValueError unless this is a store of atoms in their regions, with entries below `n_parts`."""
    _check(isinstance(store, Store), "atoms")
    kinds = dict.fromkeys(store._fields, "i8") | dict.fromkeys(("weight", "cost", "value", "gram"), "f8")
    kinds["index"] = "i4"
    _check(all(_is_vector(array, kinds[name]) for name, array in store._asdict().items()), "atoms")
    n, n_atoms, n_entries = len(n_parts), store.weight.size, store.index.size
    for first, size in ((store.atom_first, n_atoms), (store.entry_first, n_entries)):
        _check(first.size == n + 1 and first[0] == 0 and first[-1] == size and _increases(first), "atoms")
    atoms, entries = np.diff(store.atom_first), np.diff(store.entry_first)
    _check(np.array_equal(store.gram_first, np.concatenate([[0], np.cumsum(atoms**2)])), "products")
    _check(store.gram.size == store.gram_first[-1], "products")
    _check(store.cost.size == store.last.size == n_atoms and store.edge.size == n_atoms + n, "atoms")
    _check(store.value.size == n_entries and store.count.size == n, "atoms")
    _check(_are_between(store.count, atoms + 1), "atoms")
    used = _count_entries(store, entries)
    for i in _groups(used):
        index = store.index[ranges(store.entry_first[i], used[i])]
        _check(_are_between(index, np.repeat(n_parts[i], used[i])), "parts")


def _groups(lengths: Array) -> list[Array]:
    """Return the numbers of the blocks, in groups so small that intermediate arrays stay small."""
    last = np.flatnonzero(np.diff(np.cumsum(lengths) // ENTRIES_AT_ONCE))
    return np.split(np.arange(lengths.size), last + 1)


def _count_entries(store: Store, entries: Array) -> Array:
    """Count the entries of each block, after a check that the borders of its atoms increase from zero."""
    first = store.atom_first[:-1] + np.arange(entries.size)
    edges = store.edge[ranges(first, store.count + 1)]
    begins = np.cumsum(store.count + 1) - store.count - 1
    later = np.ones(edges.size, dtype=bool)
    later[begins] = False
    grows = edges[later] >= edges[np.flatnonzero(later) - 1]
    used = store.edge[first + store.count]
    _check(bool(grows.all() and (edges[begins] == 0).all() and (used <= entries).all()), "atoms")
    return used


def _is_vector(array: object, kind: str) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype == kind


def _are_between(numbers: Array, most: int | Array) -> bool:
    """Return whether all are at least zero and below `most`."""
    return bool(((numbers >= 0) & (numbers < most)).all())


def _increases(numbers: Array) -> bool:
    return bool((numbers[1:] >= numbers[:-1]).all())  # differences may overflow


def _check(fits: bool, name: str) -> None:
    if not fits:
        raise ValueError(f"The checkpoint does not fit this training: its {name} differ; begin afresh.")
