"""Mixtures of a few points of a polytope, their *atoms*, with the best weights that they can have.

    max_p <s, p> - 1/2 p' G p      over p >= 0 with sum p = 1

for the scores s_i of the atoms and the Gram matrix G of their local parts. Those are kept affinely
independent: then G + 1 1', the Gram matrix of the atoms with a one in front, has a Cholesky factor, which is
kept up to date row by row. (Wolfe 1976, "Finding the nearest point in a polytope".)
"""

from __future__ import annotations

from math import hypot, sqrt
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import jitable, kernel
from structlearn.core.vectors import assign

#: An atom is dependent if its squared distance from the others' affine hull is less, relative to its own.
DEPENDENT = 1e-11
#: Weights below this are rounding errors.
NO_WEIGHT = 1e-14
#: Parts that are mixed together: few enough for fast memory.
MIXED_TOGETHER = 1024


class VertexMixture(NamedTuple):
    """A mixture of points of M. Atom i is in row slot[i] of `parts`; the other arrays are ordered by i."""

    parts: Array
    slot: Array
    #: <theta, v_i> + <shared, v_i>, relative to the first vertex's
    score: Array
    weight: Array
    #: lower Cholesky factor of G + 1 1'
    factor: Array
    #: the weights that would be best without their bounds
    target: Array
    #: room for solving with the factor
    row: Array


@jitable
def make_atoms(most: int, n_parts: int) -> VertexMixture:
    parts, factor = np.empty((most, n_parts)), np.empty((most, most))
    rows = np.empty((4, most))
    return VertexMixture(parts, np.arange(most), rows[0], rows[1], factor, rows[2], rows[3])


@kernel
def inner_product(a: Array, b: Array) -> float:
    """Return <a, b> over the entries that a has."""
    value = 0.0
    for k in range(a.size):
        value += a[k] * b[k]
    return value


@kernel
def start_mixture(atoms: VertexMixture, vertex: Array, n_local: int) -> int:
    assign(atoms.parts[atoms.slot[0]], vertex)
    atoms.score[0] = 0.0
    atoms.weight[0] = 1.0
    grow_factor(atoms, 0, n_local)
    return 1


@kernel
def grow_factor(atoms: VertexMixture, n: int, n_local: int) -> float:
    """Factor row n <- that of the atom in slot[n]; returns the square of its distance from the others' hull.

    It is relative to the atom's own square. `row` keeps what `_dependence` needs.
    """
    newest = atoms.parts[atoms.slot[n], :n_local]
    row = atoms.factor[n]
    square = 1.0 + inner_product(newest, newest)
    left = square
    for i in range(n):
        value = 1.0 + inner_product(newest, atoms.parts[atoms.slot[i]])
        for j in range(i):
            value -= atoms.factor[i, j] * row[j]
        row[i] = value / atoms.factor[i, i]
        left -= row[i] * row[i]
    row[n] = sqrt(max(left, DEPENDENT * square))
    return left / square


@kernel
def _back(atoms: VertexMixture, n: int, x: Array) -> None:
    """x <- L'^-1 x, by rows of L."""
    for i in range(n - 1, -1, -1):
        x[i] /= atoms.factor[i, i]
        for j in range(i):
            x[j] -= atoms.factor[i, j] * x[i]


@kernel
def enter(
    atoms: VertexMixture, n: int, vertex: Array, score: float, gain: float, n_local: int
) -> tuple[int, bool]:
    """Take a vertex in, with weight 0 where its local parts are independent of the other atoms'.

    Else they are sum_i c_i v_i with sum_i c_i = 1, and weight can move from the atoms i to the new one, c_i
    for 1, at no change of z: only the score rises, by `gain` for 1. It moves until an atom is used up.
    Returns the number of atoms, and False if the scores say that there is nothing to gain.
    """
    assign(atoms.parts[atoms.slot[n]], vertex)
    atoms.score[n] = score
    atoms.weight[n] = 0.0
    c = atoms.row
    while grow_factor(atoms, n, n_local) <= DEPENDENT:
        for i in range(n):
            c[i] = atoms.factor[n, i]
        _back(atoms, n, c)
        rise = score
        leaving = 0
        for i in range(n):
            rise -= c[i] * atoms.score[i]
            if c[i] > 1e-9 and (
                c[leaving] <= 1e-9 or atoms.weight[i] * c[leaving] < atoms.weight[leaving] * c[i]
            ):
                leaving = i
        if atoms.weight[n] == 0.0 and rise < 0.5 * gain:
            return n, False
        move = atoms.weight[leaving] / c[leaving]
        for i in range(n):
            atoms.weight[i] = max(atoms.weight[i] - move * c[i], 0.0)
        atoms.weight[n] += move
        _remove(atoms, n + 1, leaving)
        n -= 1
    return n + 1, True


@kernel
def best_weights(atoms: VertexMixture, n: int) -> tuple[int, bool]:
    """weight <- argmax_{p >= 0, sum p = 1} <s, p> - 1/2 p' G p, without the atoms that get nothing.

    Wolfe's minor cycle: go to the best weights without bounds or, if some are negative, as far towards them
    as the bounds allow, then drop the atom that is used up. Returns the number of atoms, and False if the
    newest, of weight 0 so far, should not have been taken in.
    """
    weight, target = atoms.weight, atoms.target
    _solve(atoms, n)
    if weight[n - 1] == 0.0 and target[n - 1] <= NO_WEIGHT:
        return n - 1, False
    while True:
        step, leaving = 1.0, -1
        for i in range(n):
            if target[i] <= NO_WEIGHT:
                room = weight[i] / max(weight[i] - target[i], NO_WEIGHT)
                if leaving < 0 or room < step:
                    step, leaving = min(room, 1.0), i
        for i in range(n):
            weight[i] += step * (target[i] - weight[i])
        if leaving < 0:
            return n, True
        _remove(atoms, n, leaving)
        n -= 1
        if n == 1:  # scores of 1e16 and more would round to anything
            weight[0] = 1.0
            return n, True
        for i in range(n):
            weight[i] = max(weight[i], 0.0)
        _solve(atoms, n)


@kernel
def _solve(atoms: VertexMixture, n: int) -> None:
    """target <- argmax_{sum p = 1} <s, p> - 1/2 p' G p.

    That is (G + 1 1') p = s - tau 1, with tau such that sum p = 1.
    """
    factor, target, ones = atoms.factor, atoms.target, atoms.row
    for i in range(n):
        a, b = atoms.score[i], 1.0
        for j in range(i):
            a -= factor[i, j] * target[j]
            b -= factor[i, j] * ones[j]
        target[i] = a / factor[i, i]
        ones[i] = b / factor[i, i]
    tau = (inner_product(ones[:n], target) - 1.0) / inner_product(ones[:n], ones)
    for i in range(n):
        target[i] -= tau * ones[i]
    _back(atoms, n, target)


@kernel
def _remove(atoms: VertexMixture, n: int, i: int) -> None:
    """Forget atom i of n: the later ones move up, rotations make the factor triangular again."""
    factor = atoms.factor
    slot = atoms.slot[i]
    for r in range(i, n - 1):
        atoms.slot[r] = atoms.slot[r + 1]
        atoms.score[r] = atoms.score[r + 1]
        atoms.weight[r] = atoms.weight[r + 1]
        for c in range(r + 2):
            factor[r, c] = factor[r + 1, c]
    atoms.slot[n - 1] = slot
    # Row by row, since columns would be far apart in memory; the rotations are kept for the rows to come.
    cosine, sine = atoms.target, atoms.row
    for r in range(i, n - 1):
        carried = factor[r, i]
        for c in range(i, r):
            other = factor[r, c + 1]
            factor[r, c] = cosine[c] * carried + sine[c] * other
            carried = cosine[c] * other - sine[c] * carried
        length = hypot(carried, factor[r, r + 1])
        cosine[r], sine[r] = carried / length, factor[r, r + 1] / length
        factor[r, r] = length


@kernel
def merge_lightest(atoms: VertexMixture, n: int, n_local: int) -> int:
    """Make room in a full set: the two atoms of least weight become one, their mixture. z stays."""
    one, two = 0, 1
    for i in range(1, n):
        if atoms.weight[i] < atoms.weight[one]:
            one, two = i, one
        elif i > 1 and atoms.weight[i] < atoms.weight[two]:
            two = i
    one, two = min(one, two), max(one, two)
    weight = atoms.weight[one] + atoms.weight[two]
    share = atoms.weight[one] / weight
    score = share * atoms.score[one] + (1.0 - share) * atoms.score[two]
    a, b = atoms.parts[atoms.slot[one]], atoms.parts[atoms.slot[two]]
    for k in range(a.size):
        a[k] = share * a[k] + (1.0 - share) * b[k]
    _remove(atoms, n, two)
    _remove(atoms, n - 1, one)
    atoms.score[n - 2] = score
    atoms.weight[n - 2] = weight
    grow_factor(atoms, n - 2, n_local)
    return n - 1


@kernel
def _mix_parts(atoms: VertexMixture, n: int, total: float, begin: int, point: Array) -> None:
    most = np.empty(point.size)
    for i in range(n):
        share, atom = atoms.weight[i] / total, atoms.parts[atoms.slot[i], begin:]
        for k in range(point.size):
            mixed = share * atom[k]
            point[k] = mixed if i == 0 else point[k] + mixed
            most[k] = atom[k] if i == 0 else max(most[k], atom[k])
    for k in range(point.size):
        point[k] = min(point[k], most[k])


@kernel
def mix(atoms: VertexMixture, n: int, n_local: int, point: Array) -> float:
    """point <- sum_i p_i v_i, no entry above its largest in the atoms; returns <s, p> - 1/2 ||z||^2."""
    total = 0.0
    for i in range(n):
        total += atoms.weight[i]
    value = 0.0
    for i in range(n):
        value += atoms.weight[i] / total * atoms.score[i]
    for begin in range(0, point.size, MIXED_TOGETHER):
        end = min(begin + MIXED_TOGETHER, point.size)
        _mix_parts(atoms, n, total, begin, point[begin:end])
    local = point[:n_local]
    return value - 0.5 * inner_product(local, local)
