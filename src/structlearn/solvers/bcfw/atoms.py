"""The atoms of one block of an active set (see `active_set`): found, added, connected, removed, merged."""

from __future__ import annotations

from collections import namedtuple
from typing import NamedTuple

from structlearn.core.contract import Array, gram
from structlearn.core.kernels import kernel
from structlearn.core.prefetching import CACHE_LINE, prefetch_line
from structlearn.scoring.erased import ErasedScoring


class Store(NamedTuple):
    """The atoms of all blocks, end to end, each block with some room to grow."""

    #: (n,): atoms of each block
    count: Array  # type: ignore[assignment]
    #: (n + 1,): where each block's atoms, entries and Gram matrix begin
    atom_first: Array
    entry_first: Array
    gram_first: Array
    #: of each atom: its weight alpha, its cost <c_i, s_a>, the last pass that used it
    weight: Array
    cost: Array
    last: Array
    #: entries of atom a of a block are edge[a]:edge[a + 1], counted from the block's first
    edge: Array
    index: Array  # type: ignore[assignment]
    value: Array
    gram: Array


#: The atoms of one block, as views of what a store has of each atom.
Atoms = namedtuple("Atoms", ("weight", "cost", "last", "edge", "index", "value", "gram"))


@kernel
def atoms_of(store: Store, i: int) -> Atoms:
    """Return the atoms of block i."""
    a, b = store.atom_first[i], store.atom_first[i + 1]
    e, f = store.entry_first[i], store.entry_first[i + 1]
    products = store.gram[store.gram_first[i] : store.gram_first[i + 1]].reshape(b - a, b - a)
    return Atoms(
        store.weight[a:b],
        store.cost[a:b],
        store.last[a:b],
        store.edge[a + i : b + i + 1],
        store.index[e:f],
        store.value[e:f],
        products,
    )


@kernel
def most_room(store: Store, order: Array) -> int:
    """Return the number of atoms for which the largest of some blocks has room."""
    most = 1
    for i in order:
        most = max(most, store.atom_first[i + 1] - store.atom_first[i])
    return most


@kernel
def prefetch_atoms(store: Store, i: int) -> None:
    """Bring the atoms of block i near: they will be asked for soon."""
    a, e, g, n = store.atom_first[i], store.entry_first[i], store.gram_first[i], store.count[i]
    room = store.atom_first[i + 1] - a
    for j in range(a, a + n, CACHE_LINE // 8):
        prefetch_line(store.weight, j)
        prefetch_line(store.cost, j)
        prefetch_line(store.last, j)
        prefetch_line(store.edge, j + i)
    last = store.edge[a + i + n]
    for j in range(e, e + last, CACHE_LINE // 8):
        prefetch_line(store.value, j)
    for j in range(e, e + last, CACHE_LINE // 4):
        prefetch_line(store.index, j)
    for j in range(g, g + n * room, CACHE_LINE // 8):
        prefetch_line(store.gram, j)


@kernel
def add_to(atoms: Atoms, a: int, fraction: float, point: Array) -> None:
    """point <- point + share s_a."""
    for e in range(atoms.edge[a], atoms.edge[a + 1]):
        point[atoms.index[e]] += fraction * atoms.value[e]


@kernel
def mark(atoms: Atoms, count: int, wanted: Array) -> None:
    """wanted <- which local parts the atoms use."""
    wanted[:] = False
    for e in range(atoms.edge[count]):
        if atoms.index[e] < wanted.size:
            wanted[atoms.index[e]] = True


@kernel
def find(atoms: Atoms, count: int, point: Array, n_entries: int) -> int:
    """Find the atom that a dense point with `n_entries` non-zeros is; -1 if none."""
    for a in range(count):
        if atoms.edge[a + 1] - atoms.edge[a] != n_entries:
            continue
        same = True
        for e in range(atoms.edge[a], atoms.edge[a + 1]):
            if point[atoms.index[e]] != atoms.value[e]:
                same = False
                break
        if same:
            return a
    return -1


@kernel
def entries_of(point: Array) -> int:
    """Count the entries of a dense point that are not zero."""
    n = 0
    for j in range(point.size):
        n += 1 if point[j] != 0.0 else 0
    return n


@kernel
def append(store: Store, i: int, atoms: Atoms, point: Array, weight: float, now: int) -> int:
    """Append a dense point as the last atom of block i, which has room for it; return its number."""
    a = store.count[i]
    at = atoms.edge[a]
    for j in range(point.size):
        if point[j] != 0.0:
            atoms.index[at] = j
            atoms.value[at] = point[j]
            at += 1
    atoms.edge[a + 1] = at
    atoms.weight[a] = weight
    atoms.last[a] = now
    store.count[i] = a + 1
    return a


@kernel
def connect(
    scoring: ErasedScoring,
    i: int,
    atoms: Atoms,
    a: int,
    count: int,
    cost: Array,
    point: Array,
    wanted: Array,
    work: object,
    out: Array,
) -> None:
    """Compute the cost of atom a, densely `point`, and its products with the first `count` of block i."""
    paid = 0.0
    for e in range(atoms.edge[a], atoms.edge[a + 1]):
        if atoms.index[e] < cost.size:
            wanted[atoms.index[e]] = True
            paid += cost[atoms.index[e]] * atoms.value[e]
    atoms.cost[a] = paid
    gram(scoring, i, point, wanted, work, out)
    for b in range(count):
        product = 0.0
        for e in range(atoms.edge[b], atoms.edge[b + 1]):
            product += out[atoms.index[e]] * atoms.value[e]
        atoms.gram[a, b] = product
        atoms.gram[b, a] = product


@kernel
def remove_atom(store: Store, i: int, atoms: Atoms, gone: int) -> None:
    """Forget an atom of block i: the later ones move up."""
    n = store.count[i] - 1
    length = atoms.edge[gone + 1] - atoms.edge[gone]
    for e in range(atoms.edge[gone + 1], atoms.edge[n + 1]):
        atoms.index[e - length], atoms.value[e - length] = atoms.index[e], atoms.value[e]
    for a in range(gone, n):
        atoms.weight[a], atoms.cost[a] = atoms.weight[a + 1], atoms.cost[a + 1]
        atoms.last[a], atoms.edge[a + 1] = atoms.last[a + 1], atoms.edge[a + 2] - length
    for a in range(n):
        for b in range(n):
            atoms.gram[a, b] = atoms.gram[a + int(a >= gone), b + int(b >= gone)]
    store.count[i] = n


@kernel
def forget_unused_atoms(store: Store, i: int, atoms: Atoms, since: int) -> None:
    """Forget the atoms without weight that no pass after `since` has used."""
    for a in range(store.count[i] - 1, -1, -1):
        if atoms.weight[a] == 0.0 and atoms.last[a] < since:
            remove_atom(store, i, atoms, a)


@kernel
def oldest_unused(atoms: Atoms, count: int) -> int:
    """Return the atom without weight that was last used longest ago; -1 if all have weight."""
    found = -1
    for a in range(count):
        if atoms.weight[a] == 0.0 and (found < 0 or atoms.last[a] < atoms.last[found]):
            found = a
    return found


@kernel
def lightest(atoms: Atoms, count: int) -> tuple[int, int]:
    """Return the two atoms of least weight, the later one first."""
    one, two = 0, 1
    for a in range(1, count):
        if atoms.weight[a] < atoms.weight[one]:
            one, two = a, one
        elif a > 1 and atoms.weight[a] < atoms.weight[two]:
            two = a
    return max(one, two), min(one, two)


@kernel
def make_place(
    scoring: ErasedScoring,
    i: int,
    store: Store,
    atoms: Atoms,
    cost: Array,
    point: Array,
    wanted: Array,
    work: object,
    out: Array,
) -> None:
    """Remove one atom of a full block. z_i stays: where all have weight, the lightest two become one."""
    count = store.count[i]
    unused = oldest_unused(atoms, count)
    if unused >= 0:
        remove_atom(store, i, atoms, unused)
        return
    one, two = lightest(atoms, count)
    weight, now = atoms.weight[one] + atoms.weight[two], max(atoms.last[one], atoms.last[two])
    point[:] = 0.0
    for a in (one, two):
        add_to(atoms, a, atoms.weight[a] / weight, point)
    remove_atom(store, i, atoms, one)
    remove_atom(store, i, atoms, two)
    merged = append(store, i, atoms, point, weight, now)
    mark(atoms, merged + 1, wanted)
    connect(scoring, i, atoms, merged, merged + 1, cost, point, wanted, work, out)
